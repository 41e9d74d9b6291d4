//! What a program did.

use std::path::{Path, PathBuf};
use std::process::Output;

/// Standard output as text.
#[must_use]
#[track_caller]
pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("standard output is UTF-8")
}

/// Standard error as text.
#[must_use]
#[track_caller]
pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("standard error is UTF-8")
}

/// The exit status and both streams, for comparing and for messages.
#[must_use]
#[track_caller]
pub fn seen(output: &Output) -> (Option<i32>, &str, &str) {
    (output.status.code(), stdout(output), stderr(output))
}

/// Asserts that the program ended with status 2, printed nothing and told one line, which begins
/// with its name and contains `part`.
#[track_caller]
pub fn assert_one_error(name: &str, output: &Output, part: &str) {
    let (code, out, err) = seen(output);
    assert_eq!((code, out), (Some(2), ""), "{err}");
    let told = err.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    assert!(err.lines().count() == 1 && told.is_some_and(|told| told.contains(part)), "{err}");
}

/// A file of the repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
