//! `saltern policy`, and `--policy` of `hash` and `verify`.

#[cfg(target_os = "linux")]
mod roms;

use std::fs;

use crate::program::{YESCRYPT, assert_one_error, json_lines, run, seen, shell, stderr, stdout};

/// bcrypt of `U*U`, from the tests of crypt_blowfish.
pub(crate) const BCRYPT: &str = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

/// A folder with a policy `saltern.toml` and a key `key`, whose name is `2026`.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    /// With this in its policy; `{key}` stands for the table of the key.
    pub(crate) fn new(policy: &str) -> Site {
        let site = Site { folder: tempfile::tempdir().unwrap() };
        let made = run(&["key", "new", "2026", &site.path("key")], "");
        let fingerprint = stdout(&made).trim_end().strip_prefix("2026+").unwrap();
        let key = format!(
            "[[keys]]\nname = \"2026\"\nfile = \"key\"\nfingerprint = \"{fingerprint}\"\nactive = true\n"
        );
        site.write(&policy.replace("{key}", &key));
        site
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn policy(&self) -> String {
        self.path("saltern.toml")
    }

    pub(crate) fn write(&self, policy: &str) {
        fs::write(self.policy(), policy).unwrap();
    }
}

/// Cheap hashes, and two schemes to come from.
pub(crate) const CHEAP: &str =
    "schemes = [\"yescrypt\", \"bcrypt\", \"hex\"]\n[params]\ncost = 1\n";

#[test]
fn a_good_policy_is_good() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let file = &site.policy();
    let good = format!("{file}: good\n");
    assert_eq!(seen(&run(&["policy", "check", file], "")), (Some(0), &*good, ""));
    fs::remove_file(site.path("key")).unwrap();
    assert_one_error(&run(&["policy", "check", file], ""), "No such file");
    assert_eq!(seen(&run(&["policy", "check", "--text", file], "")), (Some(0), &*good, ""));
    fs::write(site.path("key"), [7; 32]).unwrap();
    let other = run(&["policy", "check", file], "");
    assert!(stderr(&other).contains("is not the one in the file beside it"), "{other:?}");
    assert_eq!(other.status.code(), Some(2));
    let site = Site::new(&format!("{CHEAP}[decoy]\nkey = \"nowhere\"\n"));
    assert_one_error(&run(&["policy", "check", &site.policy()], ""), "nowhere");
    // A full disk leaves an empty file behind.
    site.write("");
    for text in [&["--text"][..], &[]] {
        let empty = run(&[&["policy", "check", &site.policy()], text].concat(), "");
        assert_one_error(&empty, "the file is empty");
    }
}

/// File, line, key, value, and what is allowed, for whatever takes a policy.
#[test]
fn a_wrong_policy_is_told_exactly() {
    let site = Site::new("");
    let file = &site.policy();
    for (text, told) in [
        ("[pool]\nthreads = 0\n", ":2: pool.threads = 0: expected 1 to 1024"),
        ("\n[params]\ncost = 12\n", ":3: params.cost = 12: expected 1 to 11"),
        ("schemes = [\"yescrypt\",\n\"crypt\"]\n", ":2: schemes[1] = \"crypt\": expected \"yes"),
        ("[params]\ncosts = 5\n", ":2: params.costs"),
        ("[limits]\nmemory = \"1MB\"\n", ":2: limits.memory = \"1MB\": expected bytes, or"),
        ("[limits]\nmemory = \"8MiB\"\n", "a cost that [limits] admits for new hashes"),
        ("[[keys]]\nname = \"a key\"\n", ":2: keys[0].name = \"a key\": expected a name of"),
        ("[params\n", ":1: "),
    ] {
        site.write(text);
        for args in [
            &["policy", "check", file][..],
            &["policy", "show", file],
            &["hash", "--stdin", "--policy", file],
            &["verify", "--stdin", "--policy", file, YESCRYPT],
            &["census", "--policy", file],
            &["needs-rehash", "--policy", file],
            &["wrap", "--policy", file],
            &["reencrypt", "--policy", file],
        ] {
            let output = run(args, "x");
            assert_one_error(&output, told);
            assert!(stderr(&output).starts_with(&format!("saltern: {file}:")), "{output:?}");
        }
    }
    assert_one_error(&run(&["policy", "check", "/nowhere.toml"], ""), "/nowhere.toml");
}

/// What is shown says the same, wherever it is read.
#[test]
fn what_is_shown_is_the_policy() {
    let all = format!(
        "{CHEAP}[floor]\nn = 512\nr = 8\nsalt = 12\n[limits]\npassword = 100\nwork = \"1GiB\"\n{{key}}\
         [pool]\nthreads = 3\nprocessors = [0]\ndeadline = \"2s\"\nwipe = \"after-each\"\nprepare = true\n\
         huge_pages = false\n[decoy]\nkey = \"key\"\n[[decoy.costs]]\nlike = \"{BCRYPT}\"\nshare = 3\n\
         [[decoy.costs]]\nlike = \"$y$j75$......................\"\nshare = 97\n"
    );
    let site = Site::new(&all);
    for shown in [run(&["policy", "show"], ""), run(&["policy", "show", &site.policy()], "")] {
        assert_eq!((shown.status.code(), stderr(&shown)), (Some(0), ""));
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("copy.toml");
        fs::write(&copy, &shown.stdout).unwrap();
        let copy = copy.to_str().unwrap();
        let again = run(&["policy", "show", copy], "");
        assert_eq!(seen(&again), (Some(0), stdout(&shown), ""));
        assert_eq!(run(&["policy", "check", copy], "").status.code(), Some(0));
    }
    let shown = run(&["policy", "show", &site.policy()], "");
    for line in [
        "schemes = [\"yescrypt\", \"bcrypt\", \"hex\"]",
        "salt = 12",
        "password = 100",
        "work = \"1 GiB\"",
        "deadline = \"2000ms\"",
        "wipe = \"after-each\"",
        "processors = [0]",
        "prepare = true",
        "huge_pages = false",
        "share = 97",
    ] {
        assert!(stdout(&shown).lines().any(|shown| shown == line), "{line}");
    }
}

#[test]
fn hashes_are_those_of_the_policy() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let file = &site.policy();
    let made = run(&["hash", "--stdin", "--policy", file], "secret");
    let stored = stdout(&made).trim_end();
    assert!(stored.starts_with("{key=2026+") && stored.contains("}$y$j75$"), "{made:?}");
    let verify = |password| run(&["verify", "--stdin", "--policy", file, stored], password);
    assert_eq!(seen(&verify("secret")), (Some(0), "match\n", ""));
    assert_eq!(seen(&verify("Secret")), (Some(1), "mismatch\n", ""));
    assert_one_error(&run(&["hash", "--stdin", "--policy", file], "\n"), "the password is empty");
    for other in [&["--cost", "3"][..], &["--key", "a=b"], &["-m", "scrypt"], &["--beyond-crypt3"]]
    {
        let output = run(&[&["hash", "--stdin", "--policy", file], other].concat(), "x");
        assert_eq!(output.status.code(), Some(2), "{other:?}");
    }
}

#[test]
fn a_match_says_whether_an_update_is_due() {
    let site = Site::new(CHEAP);
    let file = &site.policy();
    let verify = |args: &[&str], stored: &str, password: &str| {
        run(&[&["verify", "--stdin", "--policy", file, stored], args].concat(), password)
    };
    let stored = format!("{{CRYPT}}{BCRYPT}");
    let output = verify(&[], &stored, "U*U");
    assert_eq!(seen(&output), (Some(0), "match, an update is due: scheme, cost, floor\n", ""));
    assert_eq!(seen(&verify(&["--update"], &stored, "U*X")), (Some(1), "mismatch\n", ""));
    let output = verify(&["--update"], &stored, "U*U");
    let (told, new) = stdout(&output).split_once("\nupdate: ").unwrap();
    assert!(told.starts_with("match, ") && new.starts_with("{CRYPT}$y$j75$"), "{output:?}");
    assert_eq!(seen(&verify(&["--update"], new.trim_end(), "U*U")), (Some(0), "match\n", ""));
    let json = verify(&["--update", "--json"], BCRYPT, "U*U");
    let json: serde_json::Value = serde_json::from_str(stdout(&json)).unwrap();
    assert_eq!(json["result"], "match");
    assert_eq!(json["outdated"], serde_json::json!(["scheme", "cost", "floor"]));
    assert!(json["update"].as_str().unwrap().starts_with("$y$j75$"), "{json}");
    // Of a wrapped one the scheme is that of the hash around the other, as in `inspect`.
    let wrapped = stdout(&run(&["wrap", "--policy", file], BCRYPT)).trim_end().to_owned();
    let json = verify(&["--json"], &wrapped, "U*U");
    let json: serde_json::Value = serde_json::from_str(stdout(&json)).unwrap();
    assert_eq!((&json["scheme"], &json["result"]), (&"yescrypt".into(), &"match".into()), "{json}");
    // Without asking for the password.
    let locked = verify(&[], &format!("!{BCRYPT}"), "");
    assert_one_error(&locked, "the account is locked");
    assert_one_error(&verify(&[], "$6$salt$hash", "x"), "");
    // In a file, each account by itself.
    let users = site.path("users");
    let lines = format!("a:{BCRYPT}:1\nb:!{BCRYPT}:\nc::\nd:{}:\n", new.trim_end());
    fs::write(&users, lines).unwrap();
    let output = run(&["verify", "--stdin", "--policy", file, "--hash-file", &users], "U*U");
    let expected =
        "a: match, an update is due: scheme, cost, floor\nb: locked\nc: no-password\nd: match\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
}

/// The hash of an update would take 512 MiB, which the process cannot have: nobody asked for it.
#[cfg(target_os = "linux")]
#[test]
fn an_update_that_nobody_asked_for_is_not_computed() {
    let site = Site::new(
        "[params]\ncost = 10\n[limits]\nmemory = \"1GiB\"\nwork = \"8GiB\"\n[pool]\nmemory = \"1GiB\"\n",
    );
    let stored = stdout(&run(&["hash", "--stdin", "--cost", "1"], "secret")).trim_end().to_owned();
    let run = |script: &str| {
        let script = format!("ulimit -v 400000; \"$0\" {script}");
        let args = [&*site.policy(), &stored];
        shell(&script, &args).write_stdin("secret\n").output().unwrap()
    };
    let output = run("verify --stdin --policy \"$1\" \"$2\"");
    assert_eq!(seen(&output), (Some(0), "match, an update is due: cost\n", ""));
    let json = run("verify --stdin --json --policy \"$1\" \"$2\"");
    assert!(stdout(&json).contains("\"outdated\":[\"cost\"]}"), "{json:?}");
    let lines = r#"read -r password; printf '{"password":"%s","hash":"%s"}\n' "$password" "$2""#;
    let output = run(&format!("-V > /dev/null; {lines} | \"$0\" verify --jsonl --policy \"$1\""));
    let answer = "{\"line\":1,\"match\":true,\"outdated\":[\"cost\"]}\n";
    assert_eq!(seen(&output), (Some(0), answer, ""));
}

/// Whoever asks in JSON is told what is told on the terminal.
#[test]
fn notes_under_a_policy_are_those_without_one() {
    let site = Site::new(&format!("{CHEAP}[limits]\nsyntax = \"wide\"\npassword = 600\n{{key}}"));
    let file = &site.policy();
    let long = "x".repeat(512);
    let one = run(&["hash", "--stdin", "--policy", file], &long);
    let told: Vec<String> = stderr(&one)
        .lines()
        .map(|line| line.strip_prefix("saltern: note: ").unwrap().to_owned())
        .collect();
    assert!(told.len() == 2 && told[0].contains("encrypted with the key 2026"), "{told:?}");
    let many = run(&["hash", "--jsonl", "--policy", file], format!("{{\"password\":\"{long}\"}}"));
    let answer: serde_json::Value = serde_json::from_str(stdout(&many)).unwrap();
    assert_eq!(answer["notes"], serde_json::json!(told));
}

/// One reader for all: what is beside a key file counts with and without a policy.
#[test]
fn a_key_file_is_read_in_one_way() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let (file, key) = (&site.policy(), &site.path("key"));
    let named = format!("2026={key}");
    let readers = [
        &["hash", "--stdin", "--policy", file][..],
        &["hash", "--stdin", "--cost", "1", "--key", &named],
        &["reencrypt", "--key", &named, "--to", "2026"],
        &["key", "fingerprint", key],
    ];
    for (beside, content, told) in [
        ("key.fingerprint", &b"0011223344556677\n"[..], "is not the one in the file beside it"),
        ("key", &[7; 31], "it must hold 32 bytes or 64 hexadecimal digits"),
        ("key", &[b'7'; 99], "it must hold 32 bytes or 64 hexadecimal digits"),
    ] {
        fs::write(site.path(beside), content).unwrap();
        for args in readers {
            assert_one_error(&run(args, YESCRYPT), told);
        }
        fs::remove_file(site.path("key.fingerprint")).unwrap_or_default();
    }
}

#[test]
fn schemes_are_listed_as_mkpasswd_lists_them() {
    let output = run(&["hash", "-m", "help"], "");
    let (code, out, err) = seen(&output);
    assert_eq!((code, err), (Some(0), ""));
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("Available methods:"));
    for method in lines.map(|line| line.split_whitespace().next().unwrap()) {
        let hash = run(&["hash", "--stdin", "-m", method, "--cost", "6"], "x");
        assert_eq!(hash.status.code(), Some(0), "{method}");
    }
}

#[test]
fn strings_of_ldap_are_taken_without_their_mark() {
    for mark in ["{CRYPT}", "{crypt}"] {
        let stored = format!("{mark}{YESCRYPT}");
        let output = run(&["verify", "--stdin", &stored], crate::program::PASSWORD);
        assert_eq!(seen(&output), (Some(0), "match\n", ""));
        let line = format!("{{\"password\":\"x\",\"hash\":\"{stored}\"}}");
        let output = run(&["verify", "--jsonl"], line);
        assert_eq!(seen(&output), (Some(1), "{\"line\":1,\"match\":false}\n", ""));
        assert_eq!(run(&["inspect", &stored], "").status.code(), Some(0));
    }
}

#[test]
fn lines_of_json_are_answered_under_the_policy() {
    let site = Site::new(&format!("{CHEAP}[pool]\nqueue = 1\n"));
    let file = &site.policy();
    let hashed = run(&["hash", "--jsonl", "--policy", file], "{\"password\":\"U*U\"}\n{}\n");
    let lines = json_lines(&hashed);
    let own = lines[0]["hash"].as_str().unwrap();
    assert!(own.starts_with("$y$j75$") && hashed.status.code() == Some(2), "{hashed:?}");
    let lines: String = [own, BCRYPT, &format!("!{BCRYPT}"), "$6$a$b", ""]
        .map(|hash| format!("{{\"password\":\"U*U\",\"hash\":\"{hash}\"}}\n"))
        .concat();
    let output = run(&["verify", "--jsonl", "--update", "--policy", file], lines);
    let answers = json_lines(&output);
    assert_eq!(answers[0], serde_json::json!({"line": 1, "match": true}));
    assert_eq!(answers[1]["outdated"], serde_json::json!(["scheme", "cost", "floor"]));
    assert!(answers[1]["match"] == true && answers[1]["update"].is_string(), "{output:?}");
    assert!(answers[2..].iter().all(|answer| answer["error"].is_string()), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
    // More than the queue for logins is long.
    let many = "{\"password\":\"x\"}\n".repeat(300);
    let output = run(&["hash", "--jsonl", "--policy", file], many);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 300));
}
