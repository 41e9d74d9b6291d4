//! What is left in the memory of the process once it has answered, and when it ends: no password,
//! no key, no seed.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write, pipe};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use saltern_testing::hex::hex;

use crate::program::{PROGRAM, python, run, spawn};

/// Where these bytes are in the memory of a process, which its parent may read.
fn places(child: &Child, wanted: &[u8]) -> Vec<String> {
    saltern_testing::process::find(child.id(), &[wanted]).unwrap().0
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

#[test]
fn lines_of_json() {
    let secret = "qv5-unheard-of-password-x9z";
    let escaped = secret.replace("heard", "\\u0068eard");
    let hex = hex(secret.as_bytes());
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
                // Longer than what is read at once.
                format!("{{\"password\":\"{}{secret}\"}}", "x".repeat(70_000)),
            ],
        ),
        (
            &["hash", "--jsonl", "--n", "16", "--r", "8", "--threads", "2"],
            [
                format!("{{\"password\":\"{secret}\"}}"),
                format!("{{\"password\":\"{}{secret}\"}}", "x".repeat(70_000)),
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
        let mut child = spawn(args);
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
    let mut command = Command::new(PROGRAM);
    command.args(["hash", "--stdin", "--n", "16", "--r", "8"]);
    let mut child = command.stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
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

/// What a core dump of the program would hold as it exits, with memory and registers as they were
/// (memory/core.py says how that is seen): none of the secrets, nor 16 bytes of one.
#[track_caller]
fn assert_no_trace(secrets: &[&[u8]], typed: &[&str], args: &[&str], input: &str) -> String {
    let secrets: Vec<String> = secrets.iter().map(|secret| hex(secret)).collect();
    let mut python = python("memory/core.py", &[&secrets.join(",")]);
    python.args(typed.iter().flat_map(|line| ["--type", line]));
    python.args(["--", PROGRAM]).args(args);
    let output = python.write_stdin(input).output().expect("python3 can be run");
    let (told, shown) =
        (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success(), "{args:?}: {told}{shown}");
    shown
}

/// Two keys, one in each form of a key file, and their files.
struct Keys {
    folder: tempfile::TempDir,
    bytes: [[u8; 32]; 2],
    digits: [String; 2],
}

impl Keys {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bytes = [1, 2].map(|n| std::array::from_fn(|i| (i as u8).wrapping_mul(59) ^ (n * 85)));
        let digits = bytes.map(|key: [u8; 32]| hex(&key));
        std::fs::write(folder.path().join("a"), bytes[0]).unwrap();
        std::fs::write(folder.path().join("b"), &digits[1]).unwrap();
        Keys { folder, bytes, digits }
    }

    /// As `--key` takes it.
    fn option(&self, name: &str) -> String {
        format!("--key={name}={}", self.folder.path().join(name).display())
    }

    /// All that must not be found.
    fn secrets<'s>(&'s self, password: &'s str) -> Vec<&'s [u8]> {
        let keys = self.bytes.iter().map(|key| &key[..]);
        keys.chain(self.digits.iter().map(String::as_bytes)).chain([password.as_bytes()]).collect()
    }
}

const SECRET: &str = "qv5-unheard-of-password-x9z";
const TINY: [&str; 4] = ["--n", "16", "--r", "8"];

#[test]
fn a_core_dump_of_hash_and_verify_holds_no_password_and_no_key() {
    let keys = Keys::new();
    let secrets = keys.secrets(SECRET);
    let (a, b) = (keys.option("a"), keys.option("b"));
    let stored =
        assert_no_trace(&secrets, &[], &[&["hash", "--stdin", &b], &TINY[..]].concat(), SECRET);
    let stored = stored.trim_end();
    assert!(stored.starts_with("{key=b+"), "{stored}");
    let verify = ["verify", "--stdin", &a, &b, stored];
    assert_eq!(assert_no_trace(&secrets, &[], &verify, SECRET), "match\n");
    assert_eq!(assert_no_trace(&secrets, &[], &verify, &format!("{SECRET}!")), "mismatch\n");
    let list = keys.folder.path().join("list");
    std::fs::write(&list, format!("{stored}\n{stored}\n")).unwrap();
    let list = ["verify", "--stdin", &a, &b, "--hash-file", list.to_str().unwrap()];
    assert_eq!(assert_no_trace(&secrets, &[], &list, SECRET).matches(": match").count(), 2);
    let moved = assert_no_trace(&secrets, &[], &["reencrypt", &a, &b, "--to", "a"], stored);
    assert!(moved.starts_with("{key=a+"), "{moved}");
}

#[test]
fn a_core_dump_after_lines_of_json_holds_no_password_and_no_key() {
    let keys = Keys::new();
    let secrets = keys.secrets(SECRET);
    let a = keys.option("a");
    let line = serde_json::json!({ "password": SECRET }).to_string();
    let hash = [&["hash", "--jsonl", "--threads", "2", &a], &TINY[..]].concat();
    let answer = assert_no_trace(&secrets, &[], &hash, &line);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let lines = [SECRET, "qv5-unheard-of-password-x9y"]
        .map(|word| serde_json::json!({ "password": word, "hash": answer["hash"] }).to_string());
    let verify = ["verify", "--jsonl", "--threads", "2", &a];
    let answers = assert_no_trace(&secrets, &[], &verify, &lines.join("\n"));
    assert!(answers.contains("true") && answers.contains("false"), "{answers}");
}

#[test]
fn a_core_dump_after_the_prompt_holds_no_password() {
    let secrets = [SECRET.as_bytes()];
    let hash = [&["hash"], &TINY[..]].concat();
    let shown = assert_no_trace(&secrets, &[SECRET, SECRET], &hash, "");
    let stored = shown.lines().last().unwrap();
    let shown = assert_no_trace(&secrets, &[SECRET], &["verify", stored], "");
    assert!(shown.ends_with("match\r\n"), "{shown}");
}

#[test]
fn a_core_dump_after_a_rom_was_made_holds_no_seed() {
    let folder = tempfile::tempdir().unwrap();
    let [seed, rom] = ["seed", "site.rom"].map(|name| folder.path().join(name));
    let text = b"a seed that nobody has heard of, 91834";
    std::fs::write(&seed, text).unwrap();
    let (seed, rom) = (seed.to_str().unwrap(), rom.to_str().unwrap());
    let create = ["rom", "create", rom, "--size", "1MiB", "--seed-file", seed];
    assert_no_trace(&[text], &[], &create, "");
}

#[test]
fn a_core_dump_under_a_policy_holds_no_password_and_no_key() {
    let keys = Keys::new();
    let secrets = keys.secrets(SECRET);
    let mut text = "schemes = [\"yescrypt\", \"bcrypt\"]\n[params]\ncost = 1\n".to_owned();
    for (name, active) in [("a", false), ("b", true)] {
        let file = keys.folder.path().join(name);
        let fingerprint = run(&["key", "fingerprint", file.to_str().unwrap()], "").stdout;
        let fingerprint = String::from_utf8(fingerprint).unwrap();
        text += &format!(
            "[[keys]]\nname = \"{name}\"\nfile = \"{name}\"\nfingerprint = \"{}\"\nactive = {active}\n",
            fingerprint.trim_end()
        );
    }
    let policy = keys.folder.path().join("saltern.toml");
    std::fs::write(&policy, text).unwrap();
    let policy = ["--policy", policy.to_str().unwrap()];
    let trace = |args: &[&str], input: &str| {
        assert_no_trace(&secrets, &[], &[args, &policy[..]].concat(), input)
    };
    assert!(trace(&["hash", "--stdin"], SECRET).starts_with("{key=b+"));
    let weak = run(&[&["hash", "--stdin", &keys.option("a")], &TINY[..]].concat(), SECRET);
    let weak = String::from_utf8(weak.stdout).unwrap();
    let weak = weak.trim_end();
    assert!(trace(&["verify", "--stdin", "--update", weak], SECRET).contains("update: {key=b+"));
    let mismatch = trace(&["verify", "--stdin", crate::policy::BCRYPT], SECRET);
    assert_eq!(mismatch, "mismatch\n");
    let lines = serde_json::json!({ "password": SECRET, "hash": weak }).to_string();
    assert!(trace(&["verify", "--jsonl", "--update"], &lines).contains("\"update\":\"{key=b+"));
    assert!(trace(&["reencrypt"], weak).starts_with("{key=b+"));
    trace(&["wrap"], crate::policy::BCRYPT);
}
