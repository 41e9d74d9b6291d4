//! `saltern users`: files of users.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::program::{assert_one_error, run, seen, stderr, stdout};

/// A policy whose hashes take a millisecond.
const CHEAP: &str = "schemes = [\"yescrypt\", \"bcrypt\"]\n[params]\nn = 16\nr = 8\n";

#[test]
fn users_are_added_changed_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let [file, policy] = ["site.users", "saltern.toml"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::write(&policy, CHEAP).unwrap();
    let users = |arguments: &[&str], password: &str| {
        let (verb, rest) = arguments.split_first().unwrap();
        let mut all = vec!["users", verb, &file];
        all.extend(rest);
        if matches!(*verb, "add" | "passwd") {
            all.extend(["--policy", &policy, "--stdin"]);
        }
        run(&all, password)
    };
    let done = |output: std::process::Output| {
        assert_eq!(seen(&output), (Some(0), "", ""));
        fs::read_to_string(&file).unwrap()
    };
    assert_one_error(&users(&["add", "alice"], "secret\n"), "No such file");
    let first = done(users(&["add", "alice", "--create"], "secret\n"));
    assert!(first.starts_with("alice:$y$j15$") && first.ends_with('\n'), "{first}");
    assert_one_error(&users(&["add", "alice", "--create"], "x\n"), "`saltern users passwd`");
    let both = done(users(&["add", "bob", "--create"], "hidden\n"));
    assert!(both.starts_with(&first) && both.lines().count() == 2);
    let more = format!("# staff\n{both}eve:$apr1$x$y\nold:!\nnone:\n");
    fs::write(&file, &more).unwrap();
    let listed = users(&["list"], "");
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    let names: Vec<&str> = stdout(&listed).lines().map(|l| l.split_once(": ").unwrap().0).collect();
    assert_eq!(names, ["alice", "bob", "eve", "old", "none"]);
    assert!(stdout(&listed).contains("old: locked\nnone: no password\n"), "{}", stdout(&listed));
    let changed = done(users(&["passwd", "bob"], "other\n"));
    let others = |text: &str| text.lines().filter(|l| !l.starts_with("bob:")).count();
    assert_eq!((others(&changed), changed.len()), (others(&more), more.len()));
    let bob = changed.lines().find_map(|line| line.strip_prefix("bob:")).unwrap().to_owned();
    assert_eq!(run(&["verify", "--stdin", &bob], "other\n").status.code(), Some(0));
    let less = done(users(&["remove", "alice"], ""));
    assert!(!less.contains("alice") && less.lines().count() == 5);
    for (arguments, told) in [
        (&["remove", "alice"][..], "has no user \"alice\""),
        (&["passwd", "alice"], "`saltern users add` adds one"),
        (&["add", "a:b"], "a name of 1 to 255 bytes without colons"),
        (&["add", ""], "a name of 1 to 255 bytes"),
    ] {
        assert_one_error(&users(arguments, "secret\n"), told);
        assert_eq!(fs::read_to_string(&file).unwrap(), less);
    }
    assert_one_error(&users(&["add", "carl"], "\n"), "the password is empty");
    fs::write(&file, "alice\n").unwrap();
    assert_one_error(&users(&["list"], ""), "1: expected a name, a colon and a stored string");
}

/// With an active key for seals, a string belongs to the name that it was made for.
#[test]
fn new_strings_are_sealed_for_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let [file, policy, key] = ["site.users", "saltern.toml", "seal.key"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let made = run(&["key", "new", "2026", &key], "");
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let (_, fingerprint) = stdout(&made).trim().split_once('+').unwrap();
    let entry = format!(
        "[[seal.keys]]\nname = \"2026\"\nfile = \"seal.key\"\nfingerprint = \"{fingerprint}\"\nactive = true\n"
    );
    fs::write(&policy, format!("{CHEAP}[seal]\nrequired = true\n{entry}")).unwrap();
    let add = ["users", "add", &file, "alice", "--create", "--policy", &policy, "--stdin"];
    assert_eq!(seen(&run(&add, "secret\n")), (Some(0), "", ""));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("alice:{seal=2026+"), "{text}");
    fs::write(&file, format!("{text}{}", text.replacen("alice", "bob", 1))).unwrap();
    let verify = |name| {
        run(
            &["verify", "--hash-file", &file, "--policy", &policy, "--user", name, "--stdin"],
            "secret\n",
        )
    };
    assert_eq!(verify("alice").status.code(), Some(0), "{}", stderr(&verify("alice")));
    let bob = verify("bob");
    assert_eq!(bob.status.code(), Some(2));
    assert!(
        stdout(&bob).contains("bob: error: the stored string is not the one sealed"),
        "{}",
        stdout(&bob)
    );
    let listed = stdout(&run(&["users", "list", &file], "")).to_owned();
    assert_eq!(listed, "alice: yescrypt ($y$), sealed\nbob: yescrypt ($y$), sealed\n");
    let stored = text.trim().strip_prefix("alice:").unwrap();
    let inspected = stdout(&run(&["inspect", stored], "")).to_owned();
    assert!(inspected.contains("sealed with 2026+"), "{inspected}");
    assert!(inspected.contains("cannot verify it: it does not know seals"), "{inspected}");
    assert_one_error(&run(&["inspect", &stored.replacen("2026+", "2026", 1)], ""), "{seal=");
    // One string alone, and lines of JSON.
    let hash = |account: &[&str]| {
        run(&[&["hash", "--policy", &policy, "--stdin"], account].concat(), "secret\n")
    };
    assert_one_error(&hash(&[]), "--account");
    let made = stdout(&hash(&["--account", "carol"])).trim().to_owned();
    assert!(made.starts_with("{seal=2026+"), "{made}");
    let check = |account: &[&str]| {
        run(&[&["verify", "--policy", &policy, "--stdin", &made], account].concat(), "secret\n")
    };
    assert_eq!(check(&["--account", "carol"]).status.code(), Some(0));
    assert_one_error(&check(&["--account", "dave"]), "not the one sealed for this account");
    assert_one_error(&check(&[]), "--account");
    let line = "{\"password\":\"secret\",\"account\":\"carol\"}\n";
    let answer = run(&["hash", "--policy", &policy, "--jsonl"], line);
    let answer: serde_json::Value = serde_json::from_str(stdout(&answer)).unwrap();
    let lines = ["carol", "dave"].map(|account| {
        let line = json!({ "password": "secret", "account": account, "hash": answer["hash"] });
        line.to_string() + "\n"
    });
    let answers = run(&["verify", "--policy", &policy, "--jsonl"], lines.concat());
    let answers: Vec<&str> = stdout(&answers).lines().collect();
    assert_eq!(answers[0], "{\"line\":1,\"match\":true}");
    assert!(answers[1].contains("not the one sealed"), "{answers:?}");
}

/// What htpasswd has made is read, and it reads what is made here.
#[test]
fn htpasswd_and_this_program_edit_the_same_file() {
    if Command::new("htpasswd").output().is_err() {
        eprintln!("SKIPPED: no htpasswd here (Debian: apache2-utils)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [file, policy] = ["site.users", "saltern.toml"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::write(&policy, CHEAP).unwrap();
    let htpasswd = |arguments: &[&str]| {
        Command::new("htpasswd").args(arguments).output().unwrap().status.code()
    };
    assert_eq!(htpasswd(&["-cbB", "-C", "4", &file, "alice", "secret"]), Some(0));
    let add = ["users", "add", &file, "bob", "--policy", &policy, "--stdin"];
    assert_eq!(run(&add, "hidden\n").status.code(), Some(0));
    assert_eq!(htpasswd(&["-vb", &file, "alice", "secret"]), Some(0));
    // The system's crypt(3) computes ours.
    assert_eq!(htpasswd(&["-vb", &file, "bob", "hidden"]), Some(0));
    assert_eq!(htpasswd(&["-vb", &file, "bob", "Hidden"]), Some(3));
    let verify =
        ["verify", "--hash-file", &file, "--policy", &policy, "--user", "alice", "--stdin"];
    assert_eq!(run(&verify, "secret\n").status.code(), Some(0));
    assert_eq!(htpasswd(&["-D", &file, "bob"]), Some(0));
    assert_eq!(stdout(&run(&["users", "list", &file], "")).lines().count(), 1);
}
