//! Which code was measured: what a report says beside the machine.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Compiler, commit and time of a run.
#[derive(Clone, Debug, Serialize)]
pub struct BuildInfo {
    /// `rustc --version` of the compiler on the path.
    pub rustc: Option<String>,
    /// The commit of the working directory, with `-dirty` if it is not all of it.
    pub commit: Option<String>,
    /// Seconds since 1970.
    pub unix_time: u64,
}

impl BuildInfo {
    /// Asks the compiler and git; what cannot be had is left out.
    #[must_use]
    pub fn here() -> BuildInfo {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        BuildInfo {
            rustc: output_of("rustc", &["--version"]),
            commit: output_of("git", &["describe", "--always", "--dirty"]),
            unix_time: since.map_or(0, |time| time.as_secs()),
        }
    }
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
