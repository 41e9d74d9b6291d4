//! Standard streams that are closed, full or gone.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::{PASSWORD, YESCRYPT, assert_one_error, repository};

fn saltern(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern"));
    command.args(args).stderr(Stdio::piped());
    command
}

#[test]
fn a_reader_that_went_away() {
    let mut command = saltern(&["verify", "--jsonl"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // Only now is there anything to write, so the pipe is surely closed.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"id\":1}\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&key, [1; 32]).unwrap();
    let key = key.path().to_str().unwrap();
    for args in [
        &["inspect", YESCRYPT][..],
        &["inspect", "--json", YESCRYPT],
        &["completions", "bash"],
        &["man"],
        &["verify", "--stdin", "$y$j75$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8"],
        &["hash", "--stdin", "--cost", "1"],
        &["reencrypt", "--to-key", key],
    ] {
        let mut command = saltern(args);
        command
            .stdin(Stdio::piped())
            .stdout(File::options().write(true).open("/dev/full").unwrap());
        let mut child = command.spawn().unwrap();
        // Some of these do not read it.
        let _ = child.stdin.take().unwrap().write_all(YESCRYPT.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("cannot write to standard output"), "{args:?}: {error}");
    }
}

/// Nowhere to tell an error is no reason to panic: the status is the same.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error() {
    for args in [&["verify", "$6$"][..], &["hash", "--key-file", "/nowhere"], &["inspect", "?"]] {
        let mut command = saltern(args);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = command.stdin(Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(2), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn closed_standard_input() {
    let program = assert_cmd::cargo::cargo_bin!("saltern");
    for arguments in
        ["hash --stdin", "verify --stdin \"$1\"", "hash --password-fd 0", "hash --password-fd 77"]
    {
        let script = format!("exec \"$0\" {arguments} <&-");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(program).arg(YESCRYPT);
        assert_one_error(&shell.output().unwrap(), "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn passwords_from_descriptors() {
    let program = assert_cmd::cargo::cargo_bin!("saltern");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, format!("{PASSWORD}\nnext\n")).unwrap();
    let run = |script: &str| {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).arg(program).arg(YESCRYPT).arg(file.path());
        let output = shell.output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        output.status.code()
    };
    assert_eq!(run("\"$0\" verify \"$1\" --password-fd 3 3< \"$2\""), Some(0));
    assert_eq!(run("\"$0\" verify \"$1\" -P 9 9< <(head -1 \"$2\")"), Some(0), "a pipe");
    assert_eq!(run("exec 3< \"$2\"; read x <&3; \"$0\" verify \"$1\" -P 3"), Some(1), "line 2");
    // Both commands take their line of the same input.
    assert_eq!(run("{ \"$0\" verify -s \"$1\" && ! \"$0\" verify -s \"$1\"; } < \"$2\""), Some(0));
}

#[test]
fn a_directory_is_no_file() {
    let vectors = repository("vectors");
    for args in
        [&["verify", "--hash-file"][..], &["inspect", "--hash-file"], &["hash", "--key-file"]]
    {
        let mut command = saltern(args);
        let output = command.arg(&vectors).stdin(Stdio::null()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains("vectors"), "{message}");
    }
}
