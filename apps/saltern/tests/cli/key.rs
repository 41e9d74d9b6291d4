//! `saltern key`, and what becomes of strings whose key is another.

use std::fs;

#[cfg(unix)]
use crate::program::shell;
use crate::program::{assert_one_error, run, seen, stderr, stdout};

#[test]
fn a_new_key_has_a_fingerprint_and_a_private_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pepper.key");
    let file = path.to_str().unwrap();
    let made = run(&["key", "new", "2026", file], "");
    assert_eq!((made.status.code(), stderr(&made)), (Some(0), ""));
    let id = stdout(&made).trim_end();
    let fingerprint = id.strip_prefix("2026+").unwrap();
    let told = run(&["key", "fingerprint", file], "");
    assert_eq!(seen(&told), (Some(0), &*format!("{fingerprint}\n"), ""));
    let content = fs::read_to_string(&path).unwrap();
    assert_eq!(content.len(), 65);
    assert!(!content.contains(fingerprint), "no part of the key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_one_error(&run(&["key", "new", "2026", file], ""), "never overwritten");
    // Another key under this name is noticed wherever it is read.
    let beside = folder.path().join("pepper.key.fingerprint");
    assert_eq!(fs::read_to_string(&beside).unwrap(), format!("{fingerprint}\n"));
    let other = folder.path().join("other.key");
    fs::write(folder.path().join("other.key.fingerprint"), "").unwrap();
    assert_one_error(&run(&["key", "new", "a", other.to_str().unwrap()], ""), "never overwritten");
    assert!(!other.exists(), "no key without its fingerprint");
    fs::write(&path, [7; 32]).unwrap();
    assert_one_error(&run(&["key", "fingerprint", file], ""), "not the one in the file beside it");
    fs::write(&path, &content).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), content);
    assert_one_error(&run(&["key", "new", "2026", "/nowhere/key"], ""), "/nowhere/key");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing incomplete");
    assert_eq!(run(&["key", "new", "a key", "x"], "").status.code(), Some(2));
    for wrong in ["2026+0011223344556677", id] {
        let other = folder.path().join("other");
        assert_one_error(&run(&["key", "new", wrong, other.to_str().unwrap()], ""), "name alone");
    }
}

/// Whatever the umask: who may write the fingerprint could make the key look like another one.
#[cfg(unix)]
#[test]
fn what_is_written_beside_a_key_is_as_private_as_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for (umask, name) in [("000", "open.key"), ("022", "usual.key"), ("077", "closed.key")] {
        let path = folder.path().join(name);
        let script = format!("umask {umask}; exec \"$0\" key new 2026 \"$1\"");
        let output = shell(&script, &[path.to_str().unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for file in [path.clone(), folder.path().join(format!("{name}.fingerprint"))] {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{} under {umask}", file.display());
        }
    }
}

#[test]
fn another_file_under_the_right_name_is_no_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (right, wrong) = (path("right"), path("wrong"));
    let id = stdout(&run(&["key", "new", "2026", &right], "")).trim_end().to_owned();
    run(&["key", "new", "2026", &wrong], "");
    let named = |file: &str| format!("--key=2026={file}");
    let stored = run(&["hash", "--stdin", "--cost", "1", &named(&right)], "secret");
    let stored = stdout(&stored).trim_end();
    assert!(stored.starts_with(&format!("{{key={id}}}$y$")), "{stored}");
    let verify = |key: &str| run(&["verify", "--stdin", stored, key], "secret");
    assert_eq!(seen(&verify(&named(&right))), (Some(0), "match\n", ""));
    assert_one_error(&verify(&named(&wrong)), &format!("the key {id} is needed"));
    // A file can be held against a fingerprint before anything is verified.
    let full = |file: &str| format!("--key={id}={file}");
    assert_eq!(seen(&verify(&full(&right))), (Some(0), "match\n", ""));
    let other = "wrong holds the key 2026+";
    assert_one_error(&verify(&full(&wrong)), other);
    assert_one_error(&run(&["reencrypt", "--to", "2026", &full(&wrong)], stored), other);
    let twice = ["verify", "--stdin", stored, &named(&right), &full(&wrong)];
    assert_one_error(&run(&twice, "secret"), &format!("the key {id} is given twice"));
    let line = format!("{{\"password\":\"secret\",\"hash\":\"{stored}\"}}");
    let many = run(&["verify", "--jsonl", &named(&wrong)], &line);
    assert!(many.status.code() == Some(2) && stdout(&many).contains("is needed"), "{many:?}");
    let moved = run(&["reencrypt", "--to-plain", &named(&wrong)], stored);
    assert_eq!((moved.status.code(), stdout(&moved)), (Some(2), stored));
}

/// With a key assumed, a plain string does not match; that is said wherever it is answered.
#[test]
fn a_mismatch_under_an_assumption_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let key = key.to_str().unwrap();
    run(&["key", "new", "a", key], "");
    let plain = run(&["hash", "--stdin", "--cost", "1"], "secret");
    let plain = stdout(&plain).trim_end();
    let output = run(&["verify", "--stdin", plain, "--assume-unnamed-key", key], "secret");
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), "mismatch\n"));
    assert!(stderr(&output).contains("names no key"), "{output:?}");
    let line = format!("{{\"password\":\"secret\",\"hash\":\"{plain}\"}}");
    let many = run(&["verify", "--jsonl", "--assume-unnamed-key", key], &line);
    assert_eq!(many.status.code(), Some(1));
    assert!(stdout(&many).contains("\"notes\":[\"the string names no key"), "{many:?}");
    let output = run(&["verify", "--stdin", plain], "Secret");
    assert_eq!(seen(&output), (Some(1), "mismatch\n", ""));
}

/// Such a string is not encrypted, and was said to be.
#[test]
fn a_setting_has_to_use_what_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let key = key.to_str().unwrap();
    let id = run(&["key", "new", "a", key], "");
    let id = stdout(&id).trim_end();
    let named = format!("--key=a={key}");
    let hash = |args: &[&str]| run(&[&["hash", "--stdin"], args].concat(), "secret");
    assert_one_error(&hash(&["--setting", "$y$j75$abcd", &named]), "names no key");
    assert_one_error(&hash(&["--setting", "$7$36..../....a", &named]), "yescrypt strings only");
    let with = format!("{{key={id}}}$y$j75$abcd");
    let encrypted = hash(&["--setting", &with, &named]);
    let plain = hash(&["--setting", "$y$j75$abcd"]);
    assert!(stdout(&encrypted).starts_with(&format!("{{key={id}}}$y$j75$")), "{encrypted:?}");
    assert_ne!(stdout(&encrypted).split_once('}').unwrap().1, stdout(&plain));
    // What is assumed is used, and said.
    let assumed = hash(&["--setting", "$y$j75$abcd", "--assume-unnamed-key", key]);
    assert_ne!(stdout(&assumed), stdout(&plain));
    assert!(stderr(&assumed).contains("it is encrypted with a key"), "{assumed:?}");
    // In lines, too; those that name the key, and new ones, are made.
    let line = |setting: &str| format!("{{\"password\":\"secret\",\"setting\":\"{setting}\"}}\n");
    let lines = line("$y$j75$abcd") + &line(&with) + "{\"password\":\"secret\"}\n";
    let many = run(&["hash", "--jsonl", "--cost", "1", &named], &lines);
    let answers: Vec<_> = stdout(&many).lines().collect();
    assert_eq!((many.status.code(), answers.len()), (Some(2), 3), "{many:?}");
    assert!(answers[0].contains("names no key"), "{}", answers[0]);
    assert!(answers[1].contains("\"hash\":\"{key=a") && answers[2].contains("\"hash\":\"{key=a"));
}
