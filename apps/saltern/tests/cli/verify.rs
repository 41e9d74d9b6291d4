//! `saltern verify`, above all with files in the form of /etc/shadow.

use std::fs;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::program::{
    ESCRYPT, PASSWORD, SCRYPT, YESCRYPT, assert_one_error, json_lines, run, seen, stderr, stdout,
};

/// `$y$` of "other".
const OTHER: &str = "$y$j75$abcd$";

fn shadow(lines: &[String]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}

/// A file with one account of every sort, without those that make an error.
fn mixed() -> NamedTempFile {
    let other = run(&["hash", "-s", "--setting", OTHER], "other");
    let other = stdout(&other).trim_end();
    let field = |user: &str, field: &str| format!("{user}:{field}:20000:0:99999:7:::");
    shadow(&[
        field("root", "*"),
        field("alice", YESCRYPT),
        field("bob", other),
        field("carol", SCRYPT),
        field("dave", &format!("!{YESCRYPT}")),
        String::new(),
        field("erin", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJu"),
        field("frank", ""),
        field("grace", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        field("heidi", "x"),
    ])
}

fn verify(file: &NamedTempFile, args: &[&str], password: &str) -> std::process::Output {
    let path = file.path().to_str().unwrap();
    run(&[&["verify", "--stdin", "--hash-file", path], args].concat(), password)
}

#[test]
fn each_account_is_verified_or_named() {
    let output = verify(&mixed(), &[], PASSWORD);
    let expected = "root: locked\n\
        alice: match\n\
        bob: mismatch\n\
        carol: match\n\
        dave: locked\n\
        erin: unsupported: sha512crypt ($6$) can be verified only with --policy\n\
        frank: no-password\n\
        grace: unsupported: bcrypt ($2b$) can be verified only with --policy\n\
        heidi: unsupported: the string is in the shadow file\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
    assert_eq!(verify(&mixed(), &[], "nobody's").status.code(), Some(1));
}

#[test]
fn lines_of_json() {
    let output = verify(&mixed(), &["--json"], PASSWORD);
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 9);
    let alice =
        json!({"line": 2, "user": "alice", "scheme": "yescrypt", "result": "match", "match": true});
    assert_eq!(lines[1], alice);
    let bob = json!({"line": 3, "user": "bob", "scheme": "yescrypt", "result": "mismatch", "match": false});
    assert_eq!(lines[2], bob);
    assert_eq!((&lines[5]["line"], &lines[5]["scheme"]), (&json!(7), &json!("sha512crypt")));
    assert_eq!((&lines[5]["result"], &lines[5]["match"]), (&json!("unsupported"), &Value::Null));
    assert_eq!((&lines[0]["result"], &lines[0]["scheme"]), (&json!("locked"), &Value::Null));
    assert_eq!(lines[0]["match"], Value::Null, "no password was tried");
}

#[test]
fn one_user() {
    for (user, code, out) in [
        ("alice", 0, "alice: match\n"),
        ("bob", 1, "bob: mismatch\n"),
        ("root", 2, "root: locked\n"),
        ("dave", 2, "dave: locked\n"),
        ("erin", 2, "erin: unsupported: sha512crypt ($6$) can be verified only with --policy\n"),
        ("frank", 2, "frank: no-password\n"),
    ] {
        let output = verify(&mixed(), &["--user", user], PASSWORD);
        assert_eq!((output.status.code(), stdout(&output)), (Some(code), out));
    }
    assert_one_error(
        &verify(&mixed(), &["--user", "mallory"], PASSWORD),
        "no line for user mallory\n",
    );
    // Hers may be a line that cannot be read.
    let twice = r#"{"username":"alice","username":"mallory"}"#;
    let file =
        shadow(&[format!(r#"{{"username":"alice","hash":"{YESCRYPT}"}}"#), twice.to_owned()]);
    let of = |user| verify(&file, &["--id-key", "username", "--user", user], PASSWORD);
    assert_eq!(of("alice").status.code(), Some(0));
    assert_one_error(
        &of("mallory"),
        "no line for user mallory, unless it is line 2: malformed line: expected a JSON object",
    );
}

#[test]
fn a_line_in_error_does_not_stop_the_rest() {
    let cut = &YESCRYPT[..YESCRYPT.len() - 1];
    let file =
        shadow(&[format!("eve:{cut}:1"), format!("alice:{YESCRYPT}:1"), "zoe:§:1".to_owned()]);
    let output = verify(&file, &[], PASSWORD);
    let lines: Vec<_> = stdout(&output).lines().collect();
    assert!(
        lines[0].starts_with("eve: error: ") && lines[2].starts_with("zoe: error: "),
        "{lines:?}"
    );
    assert_eq!((lines[1], lines.len()), ("alice: match", 3));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "saltern: 2 of 3 strings are in error\n");
}

#[test]
fn bare_strings() {
    let file = shadow(&[
        YESCRYPT.to_owned(),
        SCRYPT.to_owned() + "\r",
        OTHER.to_owned() + &"/".repeat(43),
    ]);
    let output = verify(&file, &[], PASSWORD);
    assert_eq!(seen(&output), (Some(0), "line 1: match\nline 2: match\nline 3: mismatch\n", ""));
    let file = shadow(&[YESCRYPT.to_owned()]);
    assert_eq!(
        seen(&verify(&file, &[], PASSWORD)),
        (Some(0), "match\n", ""),
        "one string is no list"
    );
    let file = shadow(&["!".to_owned()]);
    assert_one_error(&verify(&file, &[], PASSWORD), "locked");
    let output = run(&["verify", "--hash-file", "-", "--password-fd", "0"], YESCRYPT);
    assert_one_error(&output, "cannot both come from standard input");
}

#[test]
fn exit_statuses_of_a_single_string() {
    assert_eq!(seen(&run(&["verify", "-s", YESCRYPT], PASSWORD)), (Some(0), "match\n", ""));
    assert_eq!(seen(&run(&["verify", "-s", SCRYPT], "wrong")), (Some(1), "mismatch\n", ""));
    assert_eq!(seen(&run(&["verify", "-s", ESCRYPT], PASSWORD)), (Some(0), "match\n", ""));
    assert_eq!(seen(&run(&["verify", "-s", ESCRYPT], "wrong")), (Some(1), "mismatch\n", ""));
    assert_eq!(seen(&run(&["verify", "-s", "-q", YESCRYPT], PASSWORD)), (Some(0), "", ""));
    assert_eq!(seen(&run(&["verify", "-s", "-q", YESCRYPT], "wrong")), (Some(1), "", ""));
    for (hash, part) in [
        ("$6$salt$hash", "sha512crypt"),
        ("$1$salt$hash", "md5crypt"),
        ("$gy$j9T$salt$hash", "gost-yescrypt"),
        ("", "no password"),
        ("!", "locked"),
        ("x", "shadow file"),
        ("$P$9IQRaTwmf", "phpass ($P$) can be verified only with --policy"),
        (
            "{SASL}a@b",
            "does not compute OpenLDAP's pass-through authentication ({SASL}): the password",
        ),
        ("something", "expected the beginning of a known scheme"),
        ("$y$j9T$abcd", "cannot verify"),
    ] {
        assert_one_error(&run(&["verify", "-s", hash], PASSWORD), part);
    }
    let output = run(&["verify", "-s", "--json", "$6$salt$hash"], PASSWORD);
    let value: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&value["result"], output.status.code()), (&json!("unsupported"), Some(2)));
    assert_eq!(run(&["verify", "-s"], PASSWORD).status.code(), Some(2), "a string has to be given");
    assert_one_error(&run(&["verify", "--hash-file", "/nowhere"], ""), "/nowhere");
}

#[test]
fn a_cut_off_hash_never_matches() {
    for hash in [YESCRYPT, SCRYPT, ESCRYPT] {
        for length in hash.rfind('$').unwrap()..hash.len() {
            assert_one_error(&run(&["verify", "-s", &hash[..length]], PASSWORD), "cannot verify");
        }
        assert_one_error(&run(&["verify", "-s", &format!("{hash}.")], PASSWORD), "cannot verify");
    }
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let file = shadow(&["ev\x1b[2Jil:!:1".to_owned()]);
    assert_eq!(stdout(&verify(&file, &[], "x")), "ev\\u{1b}[2Jil: locked\n");
}

#[test]
fn an_error_comes_before_the_password_is_read() {
    // Without a terminal and with an empty standard input, reading a password would be the error.
    assert_one_error(&run(&["verify", "$6$salt$hash"], ""), "sha512crypt");
    assert_one_error(&run(&["verify", "-s", "$y$jzzz"], ""), "cannot verify");
}
