//! `saltern reencrypt`.

use std::fs;
use std::path::Path;

use crate::program::{SCRYPT, YESCRYPT, run, seen, stderr, stdout};

struct Keys {
    _dir: tempfile::TempDir,
    old: String,
    new: String,
}

fn keys() -> Keys {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        make_private(&path);
        path.to_str().unwrap().to_owned()
    };
    let old = file("old", &[0x0f; 32]);
    let new = file("new", ("c3".repeat(32) + "\n").as_bytes());
    Keys { old, new, _dir: dir }
}

fn make_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[test]
fn there_and_back() {
    let Keys { old, new, _dir } = &keys();
    let plain: String = ["secret1", "secret2", "secret3"]
        .map(|password| stdout(&run(&["hash", "-s", "--cost", "1"], password)).to_owned())
        .concat();
    let encrypted = run(&["reencrypt", "--to-key", old], &plain);
    let counts = "saltern: 3 lines, 3 re-encrypted, 0 bad and left as they were\n";
    assert_eq!((encrypted.status.code(), stderr(&encrypted)), (Some(0), counts));
    let changed = run(&["reencrypt", "--from-key", old, "--to-key", new], &encrypted.stdout);
    for (lines, key) in [(&encrypted, old), (&changed, new)] {
        for (at, hash) in stdout(lines).lines().enumerate() {
            assert!(hash.len() == 73 && !plain.contains(hash));
            let password = format!("secret{}", at + 1);
            let output = run(&["verify", "-s", hash, "--key-file", key], password);
            assert_eq!(seen(&output), (Some(0), "match\n", ""));
        }
    }
    let back = run(&["reencrypt", "--from-key", new], &changed.stdout);
    assert_eq!((back.status.code(), stdout(&back)), (Some(0), &plain[..]));
}

#[test]
fn bad_lines_pass_through_and_are_told() {
    let Keys { new, .. } = &keys();
    let long = "x".repeat(200_000);
    let input = [
        YESCRYPT.as_bytes(),
        SCRYPT.as_bytes(),
        b"",
        b"alice:$y$j9T$a$b",
        b"\xff\xfe\0 not text",
        long.as_bytes(),
        YESCRYPT.as_bytes(),
        &YESCRYPT.as_bytes()[..YESCRYPT.len() - 1],
    ]
    .join(&b'\n');
    let output = run(&["reencrypt", "--to-key", new], &input);
    assert_eq!(output.status.code(), Some(2));
    let (before, after): (Vec<_>, Vec<_>) =
        (input.split(|&b| b == b'\n').collect(), output.stdout.split(|&b| b == b'\n').collect());
    assert_eq!(before.len(), after.len(), "no line is lost, and no newline added at the end");
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before == after, !matches!(at, 0 | 6), "line {}", at + 1);
    }
    assert_eq!(after[0], after[6]);
    let err = stderr(&output);
    let told: Vec<_> = err.lines().collect();
    assert_eq!(told.len(), 7, "{err}");
    for (told, number) in told.iter().zip([2, 3, 4, 5, 6, 8]) {
        assert!(told.starts_with(&format!("saltern: line {number}: ")), "{told}");
    }
    assert_eq!(told[6], "saltern: 8 lines, 2 re-encrypted, 6 bad and left as they were");
}

#[test]
fn keys_are_required_and_checked() {
    let Keys { new, .. } = &keys();
    assert_eq!(run(&["reencrypt"], "").status.code(), Some(2));
    let output = run(&["reencrypt", "--from-key", "/nowhere", "--to-key", new], YESCRYPT);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    assert_eq!(run(&["reencrypt", "--to-key", new], "").status.code(), Some(0), "nothing to do");
}
