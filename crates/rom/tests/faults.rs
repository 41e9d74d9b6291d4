//! What goes wrong in real life, with real processes and files: it ends in a right answer or in one
//! clear error.
//!
//! A child is this test program again, told by its environment what to do.

mod faults {
    mod child;
    mod creation;
    mod reading;
}

/// Says what could not be tested here, past the test runner, which keeps what passing tests print
/// to itself.
fn skipped(what: &str) {
    use std::io::Write;
    let mut stderr = std::io::stderr();
    stderr.write_all(format!("SKIPPED: {what}\n").as_bytes()).unwrap();
}
