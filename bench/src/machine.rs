//! What has to be known about a run to read its numbers.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// The machine, the compiler, the commit and the time, as they go into every JSON report.
#[must_use]
pub fn describe() -> Value {
    json!({
        "cpu": cpu(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "level": saltern_simd::Level::detect().name(),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "rustc": output_of("rustc", &["--version"]),
        "commit": output_of("git", &["describe", "--always", "--dirty"]),
        "unix_time": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
    })
}

/// The same in one line for people.
#[must_use]
pub fn line() -> String {
    let about = describe();
    let text = |name: &str| about[name].as_str().unwrap_or("unknown").to_owned();
    let (cpu, level, rustc) = (text("cpu"), text("level"), text("rustc"));
    format!("{cpu}, {} cores, level {level}, {rustc}, commit {}", about["cores"], text("commit"))
}

fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
