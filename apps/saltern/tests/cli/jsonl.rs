//! `saltern hash --jsonl` and `saltern verify --jsonl`.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use saltern_testing::hex::hex;
use serde_json::{Value, json};

use crate::policy::{CHEAP, Site};
use crate::program::{
    ESCRYPT, PASSWORD, SCRYPT, YESCRYPT, assert_one_error, json_lines, run, seen, spawn, stdout,
};

/// The smallest parameters that there are.
const TINY: [&str; 4] = ["--n", "4", "--r", "8"];

fn input(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

#[test]
fn ten_thousand_go_there_and_back() {
    const COUNT: usize = 10_000;
    let passwords: Vec<String> = (0..COUNT).map(|i| format!("password ü {i}")).collect();
    let hashing = [&["hash", "--jsonl"][..], &TINY].concat();
    let texts = passwords.iter().enumerate().map(|(i, p)| json!({ "id": i, "password": p }));
    let output = run(&hashing, input(texts));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let hashed = json_lines(&output);
    assert_eq!(hashed.len(), COUNT);
    // Every third time another password.
    let pairs = hashed.iter().enumerate().map(|(i, answer)| {
        assert_eq!((&answer["line"], &answer["id"]), (&json!(i + 1), &json!(i)));
        let password = &passwords[if i % 3 == 2 { i - 1 } else { i }];
        json!({ "password": password, "hash": answer["hash"] })
    });
    let pairs = input(pairs);
    for threads in ["1", "3"] {
        let output = run(&["verify", "--jsonl", "--threads", threads], &pairs);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
        let answers = json_lines(&output);
        assert_eq!(answers.len(), COUNT);
        for (i, answer) in answers.iter().enumerate() {
            assert_eq!(*answer, json!({ "line": i + 1, "match": i % 3 != 2 }));
        }
    }
    let salts: std::collections::HashSet<_> = hashed.iter().map(|a| a["hash"].as_str()).collect();
    assert_eq!(salts.len(), COUNT);
}

#[test]
fn known_answers_and_mixed_parameters() {
    let items =
        [YESCRYPT, ESCRYPT, SCRYPT, "$y$j75$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8"];
    let settings = items.map(|hash| json!({ "password": PASSWORD, "setting": hash }));
    let output = run(&["hash", "--jsonl"], input(settings.clone().into_iter().cycle().take(30)));
    assert_eq!(output.status.code(), Some(0));
    let answers = json_lines(&output);
    for (i, answer) in answers.iter().enumerate() {
        let one = run(&["hash", "--stdin", "--setting", items[i % 4]], PASSWORD);
        assert_eq!(answer["hash"], json!(stdout(&one).trim_end()), "{i}");
        if i >= 4 {
            assert_eq!(answer["hash"], answers[i - 4]["hash"]);
        }
    }
    assert_eq!((&answers[0]["hash"], &answers[1]["hash"]), (&json!(YESCRYPT), &json!(ESCRYPT)));
    let hex = hex(PASSWORD.as_bytes());
    let pairs = input([YESCRYPT, ESCRYPT].map(|hash| json!({ "password_hex": hex, "hash": hash })));
    let output = run(&["verify", "--jsonl"], pairs);
    let expected = "{\"line\":1,\"match\":true}\n{\"line\":2,\"match\":true}\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
}

#[test]
fn the_options_of_one_hash_hold_for_many() {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&key, [1; 32]).unwrap();
    let key = key.path().to_str().unwrap();
    let empty = r#"{"password":""}"#;
    for (options, prefix) in [
        (&["--cost", "1"][..], "$y$j75$"),
        (&["--cost", "6", "--scheme", "scrypt"], "$7$B"),
        (&["--n", "16", "--r", "8", "--t", "1", "--allow-empty"], "$y$j15"),
        (&["--n", "16", "--r", "8", "--assume-unnamed-key", key], "$y$j15$"),
        (&["--n", "16", "--r", "8", "--level", "portable"], "$y$j15$"),
    ] {
        let output = run(&[&["hash", "--jsonl"], options].concat(), "{\"password\":\"p\"}");
        let hash = &json_lines(&output)[0]["hash"];
        assert!(hash.as_str().unwrap().starts_with(prefix), "{options:?}: {hash}");
        let pair = input([json!({ "password": "p", "hash": hash })]);
        let with_key = options.contains(&"--assume-unnamed-key");
        let key_args = if with_key { &["--assume-unnamed-key", key][..] } else { &[] };
        let output = run(&[&["verify", "--jsonl"], key_args].concat(), &pair);
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        let without = run(&["verify", "--jsonl"], &pair);
        assert_eq!(without.status.code(), Some(i32::from(with_key)));
        let output = run(&[&["hash", "--jsonl"], options].concat(), empty);
        let allowed = options.contains(&"--allow-empty");
        assert_eq!(output.status.code(), Some(if allowed { 0 } else { 2 }));
    }
}

/// As long as a line may be, however it ends.
#[test]
fn a_line_of_exactly_the_limit_is_read() {
    let line = |length: usize| {
        let line = format!(r#"{{"password":"{PASSWORD}","hash":"{YESCRYPT}""#);
        line.clone() + &" ".repeat(length - line.len() - 1) + "}"
    };
    for end in ["\n", ""] {
        let output = run(&["verify", "--jsonl"], line(65536) + end);
        assert_eq!(json_lines(&output), [json!({ "line": 1, "match": true })]);
        let output = run(&["verify", "--jsonl"], line(65537) + end);
        assert_eq!(json_lines(&output)[0]["error"], "the line is longer than 65536 bytes");
    }
}

#[test]
fn bad_lines_are_answered_in_their_place() {
    let long = format!("{{\"password\":\"{}\"}}", "x".repeat(200_000));
    let too_long_password = format!("{{\"password\":\"{}\"}}", "x".repeat(5000));
    let text = [
        &format!(r#"{{"password":"{PASSWORD}","hash":"{YESCRYPT}"}}"#),
        "no JSON",
        "",
        r#"{"id":[1],"password":"secret"}"#,
        "  ",
        &long,
        r#"{"id":"x","password":"secret","hash":"$6$salt$hash"}"#,
        r#"{"password":"secret","hash":"!locked"}"#,
        r#"{"password":"secret","hash":"$y$j9T$cut"}"#,
        r#"{"password":"secret","hash":"$y$jLT$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8"}"#,
        r#"{"password":"secret","setting":"$y$j75$"}"#,
        &too_long_password.replace('}', &format!(",\"hash\":\"{YESCRYPT}\"}}")),
        "\u{fffd}",
        &format!("{{\"password\":\"wrong\",\"hash\":\"{YESCRYPT}\"}}"),
    ]
    .join("\r\n");
    let output = run(&["verify", "--jsonl"], &text);
    let (code, out, err) = seen(&output);
    assert_eq!((code, err), (Some(2), "saltern: 10 of 12 lines have errors\n"));
    assert!(!out.contains("secret"), "{out}");
    let answers = json_lines(&output);
    let numbers: Vec<_> = answers.iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert_eq!(answers[0], json!({ "line": 1, "match": true }));
    assert_eq!(answers[11], json!({ "line": 14, "match": false }));
    let ids: Vec<_> = answers.iter().filter_map(|answer| answer.get("id")).collect();
    assert_eq!(ids, [&json!([1]), &json!("x")]);
    for (answer, part) in answers[1..11].iter().zip([
        "not JSON",
        "`hash` is missing",
        "longer than 65536",
        "sha512crypt ($6$)",
        "locked",
        "malformed",
        "--max-memory",
        "`setting` is not allowed here",
        "password length 5000",
        "not JSON",
    ]) {
        assert!(answer["error"].as_str().unwrap().contains(part), "{answer}");
    }
}

#[test]
fn the_budget_of_memory_holds_for_each_line() {
    // 16 MiB, 1 MiB, 16 MiB.
    let texts = ["$y$j9T$abcd", "$y$j75$abcd", "$y$j9T$abcd"]
        .map(|s| json!({ "password": "p", "setting": s }));
    let output = run(&["hash", "--jsonl", "--memory", "8"], input(texts));
    assert_eq!(output.status.code(), Some(2));
    let answers = json_lines(&output);
    let error = "this takes 17 MiB of memory, more than --memory 8 allows";
    assert_eq!(answers[0], json!({ "line": 1, "error": error }));
    assert!(answers[1]["hash"].as_str().unwrap().starts_with("$y$j75$abcd$"));
    assert_eq!(answers[2], json!({ "line": 3, "error": error }));
}

/// A program that asks and waits for each answer gets it without sending more.
#[test]
fn answers_do_not_wait_for_more_input() {
    let mut child = spawn(&[&["hash", "--jsonl"][..], &TINY].concat());
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().try_for_each(|line| sender.send(line.unwrap()))
    });
    for round in 1..=20 {
        writeln!(stdin, "{{\"password\":\"p\"}}").unwrap();
        let answer = receiver.recv_timeout(Duration::from_secs(60)).expect("an answer in time");
        assert!(answer.starts_with(&format!("{{\"line\":{round},\"hash\":")), "{answer}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// With far more input than a pipe or the queue holds, and an output that nobody reads, the program
/// stops reading; when the output goes away, it ends quietly.
#[test]
fn input_is_read_as_answers_are_taken() {
    let mut child = spawn(&[&["hash", "--jsonl"][..], &TINY].concat());
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let line = format!("{{\"id\":\"{}\",\"password\":\"p\"}}\n", "i".repeat(10_000));
        let mut sent = 0_u64;
        while stdin.write_all(line.as_bytes()).is_ok() {
            sent += 1;
            let _ = sender.send(sent);
        }
    });
    let mut sent = 0;
    while let Ok(number) = receiver.recv_timeout(Duration::from_secs(3)) {
        sent = number;
        assert!(sent < 5000, "50 MB were taken in without one answer read");
    }
    assert!(sent > 0, "nothing was read");
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*stderr), (Some(2), ""));
}

#[test]
fn an_input_without_a_request_is_an_error() {
    for command in ["hash", "verify"] {
        for policy in [&[][..], &["--policy", &Site::new(CHEAP).policy()]] {
            let args = [&[command, "--jsonl"], policy].concat();
            assert_one_error(&run(&args, ""), "standard input is empty");
            assert_one_error(&run(&args, "\n\n"), "standard input holds no line");
        }
    }
}

#[test]
fn options_that_contradict_are_refused() {
    for args in [
        &["hash", "--jsonl", "--stdin"][..],
        &["hash", "--jsonl", "--setting", "$y$j75$a"],
        &["hash", "--jsonl", "--password-fd", "3"],
        &["hash", "--threads", "2"],
        &["hash", "--jsonl", "--threads", "0"],
        &["verify", "--jsonl", YESCRYPT],
        &["verify", "--jsonl", "--hash-file", "-"],
        &["verify", "--jsonl", "--json"],
        &["verify", "--jsonl", "--quiet"],
        &["verify", "--jsonl", "--stdin"],
        &["verify"],
        &["inspect"],
    ] {
        let output = run(args, "");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{args:?}");
    }
    assert_one_error(
        &run(&["hash", "--jsonl", "--cost", "11", "--max-memory", "8"], ""),
        "--max-memory",
    );
}

/// About a second of work, and a string that takes none.
const COSTLY: &str = r#"{"id":"slow","password":"p","setting":"$y$jBT$abcd"}"#;

#[test]
fn unordered_answers_wait_for_nobody() {
    let mut child = spawn(&["hash", "--jsonl", "--unordered", "--threads", "2"]);
    // Several times as much work as all the others together.
    let mut text = format!("{}\n", COSTLY.replace("$jBT$", "$jDT$"));
    for number in 0..50 {
        text += &format!("{{\"id\":{number},\"password\":\"p\",\"setting\":\"$y$j75$abcd\"}}\n");
    }
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers = json_lines(&output);
    assert_eq!((output.status.code(), answers.len()), (Some(0), 51));
    let place = |id: Value| answers.iter().position(|answer| answer["id"] == id).unwrap();
    // The last one, unless the other thread was kept from running; in order, it would be the first.
    assert!(place(json!("slow")) > 0, "the costly one comes later, though it was the first");
    let numbers: std::collections::HashSet<_> =
        answers.iter().map(|answer| answer["line"].as_u64()).collect();
    assert_eq!(numbers.len(), 51, "each is answered once");
}

#[test]
fn a_deadline_bounds_what_one_line_holds_up() {
    let soon = r#"{"id":"soon","password":"p","setting":"$y$j75$abcd","timeout_ms":60000}"#;
    for (options, line) in [
        (&["--deadline", "20"][..], COSTLY.to_owned()),
        (&[], COSTLY.replace("}", r#","timeout_ms":20}"#)),
    ] {
        let args = [&["hash", "--jsonl", "--threads", "2"], options].concat();
        let output = run(&args, format!("{line}\n{soon}\n"));
        let answers = json_lines(&output);
        assert_eq!((output.status.code(), answers.len()), (Some(2), 2));
        assert!(answers[0]["error"].as_str().unwrap().contains("deadline"), "{answers:?}");
        assert!(answers[1]["hash"].is_string(), "{answers:?}");
    }
}

/// Once the pool knows how fast it is, what cannot be in time is refused on arrival; and what
/// became due while it waited is not computed for nobody.
#[cfg(target_os = "linux")]
#[test]
fn work_that_would_be_late_is_never_begun() {
    let mut child = spawn(&["hash", "--jsonl", "--threads", "1"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap() };
    let hasty = COSTLY.replace("}", r#","timeout_ms":20}"#);
    let quick = r#"{"id":"quick","password":"p","setting":"$y$j75$abcd"}"#;
    let start = Instant::now();
    writeln!(stdin, "{COSTLY}").unwrap();
    // Once its 64 MiB are there it has begun: what comes later cannot go along or go first.
    let status = format!("/proc/{}/statm", child.id());
    let resident = || std::fs::read_to_string(&status).unwrap().split(' ').nth(1).unwrap().parse();
    while resident().is_ok_and(|pages: u64| pages < 8192) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Nothing is known of the speed yet, so that the second is taken on, and waits for the first.
    write!(stdin, "{hasty}\n{quick}\n").unwrap();
    assert!(next()["hash"].is_string());
    let one = start.elapsed();
    assert!(next()["error"].as_str().unwrap().contains("deadline"));
    assert!(next()["hash"].is_string());
    let rest = start.elapsed() - one;
    assert!(rest < one / 2, "{rest:?} after {one:?}: it was computed, though nobody waits for it");
    writeln!(stdin, "{hasty}").unwrap();
    let refused = next();
    assert!(refused["error"].as_str().unwrap().contains("would take"), "{refused}");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn what_is_noted_on_the_terminal_stands_in_the_answer() {
    let long = "x".repeat(600);
    let text = input([
        json!({ "password": long }),
        json!({ "password": "p" }),
        json!({ "password": "p\0q" }),
    ]);
    let output = run(&[&["hash", "--jsonl", "--beyond-crypt3"], &TINY[..]].concat(), text);
    let answers = json_lines(&output);
    let notes = |at: usize| answers[at]["notes"].to_string();
    assert!(notes(0).contains("511 bytes") && notes(2).contains("zero byte"), "{answers:?}");
    for (at, password) in [long.as_str(), "p", "p\0q"].into_iter().enumerate() {
        let alone = run(&[&["hash", "--stdin", "--beyond-crypt3"], &TINY[..]].concat(), password);
        let told = String::from_utf8(alone.stderr).unwrap();
        let noted = answers[at]["notes"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(told.lines().count(), noted.len(), "{told} {answers:?}");
        assert!(noted.iter().all(|note| told.contains(note.as_str().unwrap())), "{told} {noted:?}");
    }
}
