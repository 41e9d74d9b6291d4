//! What is left in the memory of the process once it has answered: no password.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write, pipe};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::run;

/// Where these bytes are in the memory of a process, which its parent may read.
fn places(child: &Child, wanted: &[u8]) -> Vec<String> {
    let process = format!("/proc/{}", child.id());
    let memory = File::open(format!("{process}/mem")).unwrap();
    let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
    let mut found = Vec::new();
    for map in maps.lines().filter(|map| map.split(' ').nth(1).unwrap().starts_with("rw")) {
        let (start, end) = map.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
        // Some of the kernel's own cannot be read.
        let length = memory.read_at(&mut bytes, start).unwrap_or(0);
        if bytes[..length].windows(wanted.len()).any(|window| window == wanted) {
            found.push(map.to_owned());
        }
    }
    found
}

fn settled(child: &Child, wanted: &[u8]) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = places(child, wanted);
        if found.is_empty() || Instant::now() > end {
            return found;
        }
        // A thread may be about to wipe it.
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn saltern(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

#[test]
fn lines_of_json() {
    let secret = "qv5-unheard-of-password-x9z";
    let escaped = secret.replace("heard", "\\u0068eard");
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let stored = run(&["hash", "--stdin", "--n", "16", "--r", "8"], secret);
    let stored = String::from_utf8(stored.stdout).unwrap();
    let hash = format!("\"hash\":\"{}\"", stored.trim_end());
    for (args, lines) in [
        (
            &["verify", "--jsonl", "--threads", "2"][..],
            [
                format!("{{\"password\":\"{secret}\",{hash}}}"),
                format!("{{\"password\":\"{escaped}\",{hash}}}"),
                format!("{{\"password_hex\":\"{hex}\",{hash}}}"),
                format!("{{\"password\":\"{secret}\",\"password\":7,{hash}}}"),
                format!("{{\"password\":\"{secret}\",\"{secret}\":7,{hash}}}"),
                format!("[\"{secret}\"]"),
                format!("\"{secret}\""),
                format!("{{\"password\":\"{secret}"),
            ],
        ),
        (
            &["hash", "--jsonl", "--n", "16", "--r", "8", "--threads", "2"],
            [
                format!("{{\"password\":\"{secret}\"}}"),
                format!("{{\"password\":\"{escaped}\"}}"),
                format!("{{\"password_hex\":\"{hex}\"}}"),
                format!("{{\"password\":[\"{secret}\"]}}"),
                format!("{{\"password\":\"{secret}\",{hash}}}"),
                format!("{{\"password\":\"{secret}\",\"setting\":\"$y$\"}}"),
                format!("{{\"password\":\"{secret}\\u0000\"}}"),
                format!("{{\"id\":1,\"setting\":\"{secret}\",\"setting\":\"\"}}"),
            ],
        ),
    ] {
        let mut child = saltern(args).spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut stdin = child.stdin.take().unwrap();
        for line in &lines {
            writeln!(stdin, "{line}").unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(answer.starts_with("{\"line\":") && !answer.contains(secret), "{answer}");
            for wanted in [secret, &hex] {
                let found = settled(&child, wanted.as_bytes());
                assert!(found.is_empty(), "{line} is still in {found:#?}");
            }
        }
        drop(stdin);
        child.wait().unwrap();
    }
}

/// The program is caught while it writes the string, which nobody reads.
#[test]
fn one_password() {
    let secret = "qv5-unheard-of-password-x9z";
    let (reader, mut writer) = pipe().unwrap();
    writer.write_all(&[b'x'; 65_536]).unwrap();
    let mut command = saltern(&["hash", "--stdin", "--n", "16", "--r", "8"]);
    let mut child = command.stdout(writer).spawn().unwrap();
    child.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
    let system_call = format!("/proc/{}/syscall", child.id());
    let end = Instant::now() + Duration::from_secs(60);
    // `write` to descriptor 1.
    let writes = if cfg!(target_arch = "x86_64") { "1 0x1 " } else { "64 0x1 " };
    while !std::fs::read_to_string(&system_call).unwrap().starts_with(writes) {
        assert!(Instant::now() < end, "it never comes to write");
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = places(&child, secret.as_bytes());
    assert!(found.is_empty(), "the password is still in {found:#?}");
    drop(reader);
    child.wait().unwrap();
}
