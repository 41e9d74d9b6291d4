//! `saltern reencrypt`.

use crate::program::{SCRYPT, YESCRYPT, run, seen, stderr, stdout, write_private};

struct Keys {
    _dir: tempfile::TempDir,
    old: String,
    new: String,
}

fn keys() -> Keys {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        write_private(&path, content);
        path.to_str().unwrap().to_owned()
    };
    let old = file("old", &[0x0f; 32]);
    let new = file("new", ("c3".repeat(32) + "\n").as_bytes());
    Keys { old, new, _dir: dir }
}

#[test]
fn there_and_back() {
    let Keys { old, new, _dir } = &keys();
    let (old_named, new_named) = (&format!("old={old}"), &format!("new={new}"));
    let plain: String = ["secret1", "secret2", "secret3"]
        .map(|password| stdout(&run(&["hash", "-s", "--cost", "1"], password)).to_owned())
        .concat();
    let to_old = ["reencrypt", "--key", old_named, "--to", "old"];
    let encrypted = run(&to_old, &plain);
    let counts = "saltern: 3 lines, 3 re-encrypted, 0 already done, 0 bad and left unchanged\n";
    assert_eq!((encrypted.status.code(), stderr(&encrypted)), (Some(0), counts));
    // Once more is the same.
    let again = run(&to_old, &encrypted.stdout);
    let counts = "saltern: 3 lines, 0 re-encrypted, 3 already done, 0 bad and left unchanged\n";
    assert_eq!((again.status.code(), stderr(&again)), (Some(0), counts));
    assert_eq!(again.stdout, encrypted.stdout);
    let both = ["--key", old_named, "--key", new_named];
    let changed = run(&[&["reencrypt", "--to", "new"], &both[..]].concat(), &encrypted.stdout);
    for (lines, key) in [(&encrypted, old_named), (&changed, new_named)] {
        for (at, hash) in stdout(lines).lines().enumerate() {
            assert!(hash.len() == 73 + "{key=new+0123456789abcdef}".len() && !plain.contains(hash));
            let password = format!("secret{}", at + 1);
            let output = run(&["verify", "-s", hash, "--key", key], password);
            assert_eq!(seen(&output), (Some(0), "match\n", ""));
        }
    }
    for _ in 0..2 {
        let back = [&["reencrypt", "--to-plain"], &both[..]].concat();
        let back = run(&back, &changed.stdout);
        assert_eq!((back.status.code(), stdout(&back)), (Some(0), &plain[..]));
    }
}

/// Strings that are encrypted and do not say so get a name once, and keep it.
#[test]
fn an_assumption_is_made_once() {
    let Keys { old, new, _dir } = &keys();
    let hash = ["hash", "-s", "--cost", "1", "--assume-unnamed-key", old];
    let stored = stdout(&run(&hash, "secret")).to_owned();
    assert!(stored.starts_with("$y$"));
    let named = format!("new={new}");
    let to_new = ["reencrypt", "--assume-unnamed-key", old, "--key", &named, "--to", "new"];
    let first = run(&to_new, &stored);
    let second = run(&to_new, &first.stdout);
    assert_eq!(stdout(&first), stdout(&second));
    let output = run(&["verify", "-s", stdout(&second).trim_end(), "--key", &named], "secret");
    assert_eq!(seen(&output), (Some(0), "match\n", ""));
    // To plain, twice would be once too often.
    let refused = ["reencrypt", "--assume-unnamed-key", old, "--key", &named, "--to-plain"];
    assert_eq!(run(&refused, &stored).status.code(), Some(2));
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
    let output = run(&["reencrypt", "--to", "new", "--key", &format!("new={new}")], &input);
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
    assert_eq!(told.len(), 6, "{err}");
    for (told, number) in told.iter().zip([2, 4, 5, 6, 8]) {
        assert!(told.starts_with(&format!("saltern: line {number}: ")), "{told}");
    }
    assert_eq!(
        told[5],
        "saltern: 8 lines, 2 re-encrypted, 0 already done, 1 without a string, 5 bad and left \
         unchanged"
    );
}

#[test]
fn keys_are_required_and_checked() {
    let Keys { new, .. } = &keys();
    assert_eq!(run(&["reencrypt"], "").status.code(), Some(2));
    let output = run(&["reencrypt", "--key", "new=/nowhere", "--to", "new"], YESCRYPT);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    let named = format!("new={new}");
    let output = run(&["reencrypt", "--key", &named, "--to", "old"], YESCRYPT);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    let output = run(&["reencrypt", "--key", &named, "--to", "new"], "");
    assert_eq!(output.status.code(), Some(2), "nothing was read");
}
