//! No account is passed over without a word, and nothing that is not a string is changed.

use crate::policy::{BCRYPT, CHEAP, Site};
use crate::program::{YESCRYPT, assert_one_error, run, shell, stderr, stdout};

/// The numbers of the lines that are told to be bad.
fn bad(told: &str) -> Vec<usize> {
    let number = |line: &str| line.strip_prefix("saltern: line ")?.split(':').next()?.parse().ok();
    told.lines().filter_map(number).collect()
}

/// Lines in which an account could get lost, whatever is done with them; all of them are bad.
fn doubtful() -> Vec<String> {
    vec![
        format!("#mallory:{BCRYPT}:19000:0:99999:7:::"),
        format!("# formerly {YESCRYPT}"),
        format!("mallory::{BCRYPT}"),
        format!("mallory:!{}", &YESCRYPT[..YESCRYPT.len() - 1]),
        format!("mallory:!!{{key=a}}{}", &YESCRYPT[..40]),
        "mallory:!$sha9$salt$digest".to_owned(),
        "userPassword:: e1NTSEF9SXhlcWN0cjZDZ2Z3V3ZSN3FpNDRqNVhjOXZNeE1qTTBOVFkzT0E9PQ=="
            .to_owned(),
        "userPassword: {SSHA}Ixeqctr6CgfwWvR7qi44j5Xc9vMxMjM0NTY3OA==".to_owned(),
        format!(" {YESCRYPT}"),
        format!("{YESCRYPT} "),
        format!("\u{feff}{YESCRYPT}"),
        format!("{BCRYPT}:mallory"),
        "mallory:x:1000:1000::/home/mallory:/bin/sh".to_owned(),
        "mallory".to_owned(),
        format!("{{\"password\":\"{BCRYPT}\"}}"),
        format!("{{\"user\":{{\"hash\":\"{}\"}}}}", BCRYPT.replace('/', "\\/")),
        format!("{{\"hash\":null,\"old_hash\":\"{BCRYPT}\"}}"),
        format!("{{\"hash\":\"{BCRYPT}\",\"hash\":\"{YESCRYPT}\"}}"),
        format!("{{\"hash\":[\"{BCRYPT}\"]}}"),
        format!("[\"{BCRYPT}\"]"),
        format!("mallory:\0{BCRYPT}"),
        "   ".to_owned(),
    ]
}

/// Lines that hold no string, and none is missed.
const NONE: [&str; 9] = [
    "",
    "# a table of 2026, strings of $y$ and {SSHA}",
    "#",
    "dave::19000:0:99999:7:::",
    "dave:",
    "{\"hash\":null,\"id\":\"5ebe2294ecd0e0f08eab7690d2a6ee69\"}",
    "{\"id\":8}",
    "{\"hash\":\"\"}",
    "{ }",
];

#[test]
fn a_line_in_which_an_account_could_get_lost_is_listed() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let file = &site.policy();
    let good = format!("alice:{YESCRYPT}");
    for (lines, listed) in [(doubtful(), true), (NONE.map(str::to_owned).to_vec(), false)] {
        let input = [&[good.clone()][..], &lines].concat().join("\r\n");
        for command in ["wrap", "reencrypt", "census", "needs-rehash"] {
            let output = run(&[command, "--policy", file], &input);
            let expected: Vec<usize> = if listed { (2..lines.len() + 2).collect() } else { vec![] };
            assert_eq!(bad(stderr(&output)), expected, "{command}: {output:?}");
            assert_eq!(output.status.code() == Some(2), listed, "{command}");
            if ["wrap", "reencrypt"].contains(&command) {
                let rest = |text: &str| text.split_once("\r\n").unwrap().1.to_owned();
                assert_eq!(rest(stdout(&output)), rest(&input), "{command}");
            }
            // Numbers and reasons, and nothing out of the lines.
            for secret in ["mallory", &BCRYPT[7..29], &YESCRYPT[8..30]] {
                assert!(!stderr(&output).contains(secret), "{command}: {output:?}");
            }
        }
    }
}

/// A wrong field or key would otherwise look like a table that is done.
#[test]
fn an_input_without_any_string_is_an_error() {
    let site = Site::new(CHEAP);
    for (args, input) in [
        (&["--json-key", "pw"][..], "{\"hash\":null}\n{\"id\":1}\n"),
        (&["--field", "4"], "a:b:c:\na:b:c:\n"),
        (&[], "# nothing\n\n"),
    ] {
        for command in ["wrap", "reencrypt", "census", "needs-rehash"] {
            let output = run(&[&[command, "--policy", &site.policy()], args].concat(), input);
            assert_eq!(output.status.code(), Some(2), "{command} {args:?}");
            let last = stderr(&output).lines().last().unwrap();
            assert!(last.starts_with("saltern: no line holds a stored string: "), "{output:?}");
        }
    }
}

/// A query that failed upstream leaves nothing to read, which must not look like a table in order.
#[test]
fn an_empty_input_is_an_error() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let empty = site.path("empty");
    std::fs::write(&empty, "").unwrap();
    for command in ["wrap", "reencrypt", "census", "needs-rehash"] {
        for args in [&[][..], &["--field", "2"], &["--json-key", "pw"]] {
            let output = run(&[&[command, "--policy", &site.policy()], args].concat(), "");
            assert_one_error(&output, "standard input is empty");
        }
        // Not only from a pipe.
        let script = "\"$0\" \"$1\" --policy \"$2\" < \"$3\"";
        let output = shell(script, &[command, &site.policy(), &empty]).output().unwrap();
        assert_one_error(&output, "standard input is empty");
    }
    for more in [&["--json"][..], &["--decoy"]] {
        assert_one_error(&run(&[&["census"], more].concat(), ""), "standard input is empty");
    }
    for command in ["verify", "inspect"] {
        for (file, name) in [("-", "standard input"), (&*empty, &*empty)] {
            let output = run(&[command, "--hash-file", file], "");
            assert_one_error(&output, &format!("{name} is empty"));
        }
    }
}

/// All bytes but those of strings stay, whatever they are.
#[test]
fn what_is_no_string_stays_byte_for_byte() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let long = [b"x:".to_vec(), vec![b'y'; 70_000]].concat();
    let exact = [b"z:".to_vec(), vec![b'z'; (64 << 10) - 2]].concat();
    let stored = YESCRYPT.as_bytes();
    let lines: [&[u8]; 9] = [
        b"a:\xff\xfe:\0:\r",
        &[b"\xe9:", stored, b":\0\xff\r"].concat(),
        &long,
        &exact,
        &[b"!:!{cRyPt}", stored, b"::::::"].concat(),
        b"\0",
        b"*:*",
        b"{\"hash\" : null}\t",
        b"b:!!:\r\r",
    ];
    for end in [&b"\n"[..], b"", b"\r\n"] {
        let input = [&lines.join(&b'\n'), end].concat();
        let output = run(&["reencrypt", "--policy", &site.policy()], &input);
        let text = output.stdout;
        let new = text.windows(5).position(|bytes| bytes == b"{key=").unwrap();
        let key = String::from_utf8(text[new..].iter().take(27).copied().collect()).unwrap();
        assert!(key.starts_with("{key=2026+") && key.ends_with('}'), "{key}");
        // The two strings differ in their encryption alone, which is as long as what it hides.
        let find = |part: &[u8]| text.windows(part.len()).position(|bytes| bytes == part);
        for (head, tail) in [(&b"\xe9:"[..], &b":\0\xff\r\n"[..]), (b"!:!{cRyPt}", b"::::::\n")] {
            let at = find(&[head, key.as_bytes()].concat()).unwrap() + head.len();
            let rest = &text[at + key.len() + stored.len()..];
            assert!(rest.starts_with(tail), "{:?}", String::from_utf8_lossy(&rest[..20]));
        }
        let length = input.len() + 2 * key.len();
        assert_eq!((text.len(), text.ends_with(end)), (length, true));
        let numbers = bad(std::str::from_utf8(&output.stderr).unwrap());
        assert_eq!(numbers, [1, 3, 4, 6]);
    }
}

/// The shell has emptied it, or what is written would be read again.
#[cfg(unix)]
#[test]
fn a_file_is_not_rewritten_in_its_place() {
    let site = Site::new(CHEAP);
    let table = site.path("table");
    for (command, redirections) in [
        ("wrap", "< \"$2\" > \"$2\""),
        ("reencrypt", "< \"$2\" >> \"$2\""),
        ("wrap", "< \"$2\" 1<> \"$2\""),
    ] {
        std::fs::write(&table, format!("a:{YESCRYPT}\n")).unwrap();
        let script = format!("\"$0\" {command} --policy \"$1\" {redirections}");
        let output = shell(&script, &[&site.policy(), &table]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{redirections}: {output:?}");
        assert!(stderr(&output).contains("are the same file"), "{output:?}");
    }
}
