//! Faults in real processes and files: each ends in a right answer or in one clear error.
//!
//! A child process is this test program again, controlled by its environment.

mod faults {
    mod child;
    mod creation;
    mod reading;
}
