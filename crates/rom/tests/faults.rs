//! What goes wrong in real life, with real processes and files: it ends in a right answer or in one
//! clear error.
//!
//! A child is this test program again, told by its environment what to do.

mod faults {
    mod child;
    mod creation;
    mod reading;
}
