//! What tests of several crates need. Everything here panics instead of returning an error: a test
//! is to fail where something is not as it should be.

pub mod damage;
pub mod hex;
pub mod process;
pub mod program;
mod random;
pub mod vectors;

pub use random::Random;

/// Says what could not be tested here, past the test runner, which keeps what passing tests print
/// to itself.
pub fn skipped(what: &str) {
    use std::io::Write;
    let mut stderr = std::io::stderr();
    stderr.write_all(format!("SKIPPED: {what}\n").as_bytes()).unwrap();
}
