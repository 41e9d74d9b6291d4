//! What tests of several crates need. Everything here panics instead of returning an error: a test
//! is to fail where something is not as it should be.

pub mod allocator;
pub mod damage;
pub mod hex;
pub mod process;
pub mod program;
mod random;
pub mod secrecy;
pub mod vectors;

pub use random::Random;

/// Says what could not be tested here, past the test runner, which keeps what passing tests print
/// to itself.
pub fn skipped(what: &str) {
    use std::io::Write;
    let mut stderr = std::io::stderr();
    stderr.write_all(format!("SKIPPED: {what}\n").as_bytes()).unwrap();
}

/// Lines of JSON.
#[must_use]
#[track_caller]
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Gives a file or a folder this mode, such as `0o600`, where there are modes.
#[track_caller]
pub fn chmod(path: impl AsRef<std::path::Path>, mode: u32) {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
}

/// What is in a folder, by name.
#[must_use]
pub fn names(folder: &std::path::Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
    names.sort();
    names
}
