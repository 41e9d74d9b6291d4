//! Running the program and looking at what came of it.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use assert_cmd::Command;
pub(crate) use saltern_testing::program::{repository, seen, stderr, stdout};
use serde_json::Value;

/// A password that no test prints on purpose.
pub(crate) const PASSWORD: &str = "pleaseletmein";

/// `$y$` of [`PASSWORD`], from the known answers of yescrypt's own test program.
pub(crate) const YESCRYPT: &str =
    "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";

/// `$7$` of [`PASSWORD`], as crypt(3) makes it.
pub(crate) const SCRYPT: &str =
    "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D";

/// `$7X` of [`PASSWORD`], as escrypt 0.5 makes it.
pub(crate) const ESCRYPT: &str =
    "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.";

/// The file of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_saltern");

/// The program.
pub(crate) fn saltern(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args);
    command
}

/// A script for bash, in which `$0` is the program and `$1` the first of these arguments.
pub(crate) fn shell(script: &str, args: &[&str]) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", script, PROGRAM]).args(args);
    shell
}

/// A script of Python in this folder, whose first arguments these are.
pub(crate) fn python(script: &str, args: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.arg(repository("apps/saltern/tests/cli").join(script)).args(args);
    python
}

/// What the program did with standard input `input`.
pub(crate) fn run(args: &[&str], input: impl AsRef<[u8]>) -> Output {
    saltern(args).write_stdin(input.as_ref()).output().expect("the program can be run")
}

/// Starts the program, whose standard streams are pipes.
pub(crate) fn spawn(args: &[&str]) -> Child {
    let mut command = std::process::Command::new(PROGRAM);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program can be run")
}

/// What the program did with this standard input that cannot print, since the disk is full.
#[cfg(target_os = "linux")]
pub(crate) fn run_on_full_disk(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(PROGRAM);
    command.args(args).stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be run");
    // Not every command reads it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Sends a signal such as `TERM`.
#[cfg(unix)]
pub(crate) fn kill(child: &Child, signal: &str) {
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
}

/// Standard output as lines of JSON.
#[track_caller]
pub(crate) fn json_lines(output: &Output) -> Vec<Value> {
    saltern_testing::json_lines(stdout(output))
}

/// Writes a file that, where files have modes, nobody else can read.
pub(crate) fn write_private(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    std::fs::write(&path, content).unwrap();
    saltern_testing::chmod(path, 0o600);
}

/// What the system's own crypt(3) makes of a password under each setting, by way of Perl's function
/// of that name: nothing where it refuses. `None` where it is not here or knows no yescrypt.
#[cfg(target_os = "linux")]
pub(crate) fn crypt3(password: &str, settings: &[&str]) -> Option<Vec<String>> {
    const PERL: &str = r#"while (<STDIN>) { chomp; print(crypt($ARGV[0], $_) // "", "\n") }"#;
    let input: String =
        ["$y$j75$"].iter().chain(settings).map(|line| format!("{line}\n")).collect();
    let mut perl = Command::new("perl");
    let output = perl.args(["-e", PERL, password]).write_stdin(input).output().ok()?;
    let mut made = stdout(&output).lines().map(str::to_owned);
    if !made.next().is_some_and(|made| made.starts_with("$y$")) {
        saltern_testing::skipped("perl is not here, or its crypt(3) has no yescrypt");
        return None;
    }
    Some(made.collect())
}

/// Asserts that the program ended with status 2, printed nothing and told one line that contains
/// `part`.
#[track_caller]
pub(crate) fn assert_one_error(output: &Output, part: &str) {
    saltern_testing::program::assert_one_error("saltern", output, part);
}
