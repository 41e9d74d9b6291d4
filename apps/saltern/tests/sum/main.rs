//! `saltern sum` as a user meets it: the real program, beside the `b2sum` of GNU coreutils,
//! `openssl` and Python's `hashlib` on the same files.
#![cfg(target_os = "linux")]

mod check_files;
mod files;
mod gnu;
mod keyed;
mod oracles;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

/// A directory for one test, removed with it.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// An empty one with these files in it.
    fn with(files: &[(&str, &[u8])]) -> Self {
        let bench = Self::new();
        for (name, content) in files {
            bench.write(name.as_bytes(), content);
        }
        bench
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &[u8], content: &[u8]) -> PathBuf {
        let path = self.path().join(OsStr::from_bytes(name));
        std::fs::write(&path, content).expect("the file can be written");
        path
    }

    /// A command that runs here, in the C locale.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env("LC_ALL", "C");
        command
    }

    /// Our program, with arguments of any bytes.
    fn saltern<A: AsRef<OsStr>>(&self, args: &[A], stdin: &[u8]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_saltern"));
        run(command.arg("sum").args(args), stdin)
    }

    fn b2sum<A: AsRef<OsStr>>(&self, args: &[A], stdin: &[u8]) -> Output {
        run(self.command("b2sum").args(args), stdin)
    }

    /// Run both, and insist on the same bytes on both outputs and the same exit code.
    #[track_caller]
    fn same<A: AsRef<OsStr>>(&self, args: &[A], stdin: &[u8]) -> Output {
        let (ours, theirs) = (self.saltern(args, stdin), self.b2sum(args, stdin));
        let shown: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        assert_eq!(text(&ours.stdout), text(&theirs.stdout), "stdout of {shown:?}");
        assert_eq!(complaints(&ours), text(&theirs.stderr), "stderr of {shown:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "status of {shown:?}");
        ours
    }
}

/// Run a command to its end with `stdin` to read.
fn run(command: &mut Command, stdin: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| {
        panic!("{:?} is needed here and does not start: {error}", command.get_program())
    });
    let mut pipe = child.stdin.take().expect("a pipe was asked for");
    thread::scope(|scope| {
        scope.spawn(move || {
            // A program may well end without reading; then there is nobody to write to.
            let _ = pipe.write_all(stdin);
        });
        child.wait_with_output().expect("the child was started here")
    })
}

/// Bytes as readable text that keeps all differences.
fn text(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let text: String = lines.map(|line| format!("{}\n", line.escape_ascii())).collect();
    text.replace("\\'", "'").replace("\\\"", "\"")
}

/// What our program complains about, as if its name were `b2sum`.
fn complaints(output: &Output) -> String {
    text(&output.stderr).replace("saltern sum", "b2sum")
}

/// An argument of any bytes.
fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Standard output of a run that must have gone well.
#[track_caller]
fn stdout(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    output.stdout
}

#[test]
fn the_b2sum_here_is_the_one_to_compare_with() {
    let version = stdout(Bench::new().b2sum(&["--version"], b""));
    assert!(text(&version).contains("GNU coreutils"), "install GNU coreutils: {}", text(&version));
}
