//! `saltern-dev vectors` over the repository's own files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use assert_cmd::Command;
use saltern_testing::json_lines;
use saltern_testing::program::{repository, seen, stderr, stdout};
use serde_json::{Value, json};

/// The program.
fn program(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern-dev"));
    command.args(args);
    command
}

fn run(args: &[&str], input: impl AsRef<[u8]>) -> Output {
    program(args).write_stdin(input.as_ref()).output().expect("the program can be run")
}

/// The counts that `check` prints for a file.
#[track_caller]
fn check(file: &str) -> BTreeMap<String, String> {
    let path = repository("lab/vectors").join(file);
    let output = program(&["vectors", "check"]).arg(path).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{}", stdout(&output));
    let counts = stdout(&output).lines().filter_map(|line| line.split_once(": "));
    counts.map(|(kind, words)| (kind.to_owned(), words.to_owned())).collect()
}

#[track_caller]
fn assert_counts(file: &str, expected: &[(&str, &str)]) {
    let expected: BTreeMap<_, _> =
        expected.iter().map(|(kind, words)| ((*kind).to_owned(), (*words).to_owned())).collect();
    assert_eq!(check(file), expected);
}

#[test]
fn kdf() {
    let all = "270 passed, 0 failed";
    assert_counts("yescrypt_kdf.jsonl", &[("kdf", all), ("total", all)]);
}

#[test]
fn strings() {
    let expected = [
        ("crypt", "158 passed, 0 failed"),
        ("encode", "63 passed, 0 failed"),
        ("gensalt", "34 passed, 0 failed"),
        ("gost", "0 passed, 0 failed, 12 unsupported"),
        ("total", "255 passed, 0 failed, 12 unsupported"),
    ];
    assert_counts("yescrypt_strings.jsonl", &expected);
}

/// All but the four cases with a ROM of 3 GiB, which `scripts/test vectors` computes.
#[test]
fn escrypt() {
    let text = fs::read_to_string(repository("lab/vectors/escrypt_0_5.jsonl")).unwrap();
    let small = |line: &&str| !line.contains("3 GiB ROM");
    let cases: String = text.lines().filter(small).map(|line| format!("{line}\n")).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, cases).unwrap();
    let output = run(&["vectors", "check", file.path().to_str().unwrap()], "");
    let expected = "crypt05: 45 passed, 0 failed\n\
        crypt05_reject: 10 passed, 0 failed\n\
        gensalt05: 9 passed, 0 failed\n\
        gensalt05_reject: 3 passed, 0 failed\n\
        kdf05: 268 passed, 0 failed\n\
        kdf05_reject: 11 passed, 0 failed\n\
        rom05: 14 passed, 0 failed\n\
        total: 360 passed, 0 failed\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
}

#[test]
fn blake2() {
    let kinds = |names: &[&'static str], each: &'static str, total: &'static str| {
        names.iter().map(|name| (*name, each)).chain([("total", total)]).collect::<Vec<_>>()
    };
    let four = ["blake2b", "blake2s", "blake2bp", "blake2sp"];
    let expected = kinds(&four, "512 passed, 0 failed", "2048 passed, 0 failed");
    assert_counts("blake2_kat.jsonl", &expected);
    let expected = [
        ("blake2b", "450 passed, 0 failed"),
        ("blake2s", "370 passed, 0 failed"),
        ("total", "820 passed, 0 failed"),
    ];
    assert_counts("blake2_params.jsonl", &expected);
    let expected = kinds(&four[2..], "60 passed, 0 failed", "120 passed, 0 failed");
    assert_counts("blake2_tree.jsonl", &expected);
    let expected = kinds(&["blake2xb", "blake2xs"], "256 passed, 0 failed", "512 passed, 0 failed");
    assert_counts("blake2_xof.jsonl", &expected);
}

#[test]
fn blake2_answers() {
    let case = |kind, size: Option<u64>| json!({"id": 1, "kind": kind, "in": "616263", "digest_size": size});
    for (case, expected) in [
        // RFC 7693, appendices A and B, and a length that the function does not have.
        (case("blake2b", None), "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"),
        (case("blake2s", None), "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
        (case("blake2s", Some(33)), "error"),
        (case("blake2xb", None), "error"),
        (case("blake2xs", Some(65_535)), "error"),
        (case("blake2xb", Some(u64::MAX)), "error"),
        (case("blake2y", None), "unsupported"),
    ] {
        let output = run(&["vectors", "answer"], case.to_string());
        assert!(stdout(&output).contains(expected), "{case}: {}", stdout(&output));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn encrypt() {
    let expected = [
        ("crypt", "34 passed, 0 failed"),
        ("reencrypt", "50 passed, 0 failed"),
        ("total", "84 passed, 0 failed"),
    ];
    assert_counts("yescrypt_encrypt.jsonl", &expected);
}

#[test]
fn rom() {
    let expected = [
        ("crypt", "13 passed, 0 failed"),
        ("kdf", "80 passed, 0 failed"),
        ("rom", "20 passed, 0 failed"),
        ("total", "113 passed, 0 failed"),
    ];
    assert_counts("yescrypt_rom.jsonl", &expected);
}

#[test]
fn flavors() {
    let expected = [
        ("kdf", "177 passed, 0 failed"),
        ("kdf_reject", "11 passed, 0 failed"),
        ("rom", "7 passed, 0 failed"),
        ("total", "195 passed, 0 failed"),
    ];
    assert_counts("yescrypt_flavors.jsonl", &expected);
}

#[test]
fn reject() {
    let expected = [
        ("crypt_reject", "80 passed, 0 failed, 3 computed that builds with one flavour refuse"),
        ("encode_reject", "21 passed, 0 failed"),
        ("gensalt_reject", "10 passed, 0 failed"),
        ("kdf_reject", "150 passed, 0 failed, 15 computed that builds with one flavour refuse"),
        ("reencrypt_reject", "22 passed, 0 failed"),
        ("rom_reject", "12 passed, 0 failed, 1 computed that builds with one flavour refuse"),
        ("total", "295 passed, 0 failed, 19 computed that builds with one flavour refuse"),
    ];
    assert_counts("yescrypt_reject.jsonl", &expected);
}

/// `answer` sees the inputs alone: without the results, the lines come to the same results.
#[test]
fn answers_come_from_the_inputs_alone() {
    let text = fs::read_to_string(repository("lab/vectors/yescrypt_encrypt.jsonl")).unwrap();
    let cases = json_lines(&text);
    let input: String = cases
        .iter()
        .map(|case| {
            let mut case = case.clone();
            case.as_object_mut().unwrap().retain(|name, _| name != "out");
            format!("{case}\n")
        })
        .collect();
    let output = run(&["vectors", "answer"], input);
    let answers = json_lines(stdout(&output));
    assert_eq!((answers.len(), output.status.code()), (84, Some(0)));
    for (case, answer) in cases[1..].iter().zip(&answers) {
        assert_eq!(*answer, json!({"id": case["id"], "out": case["out"]}));
    }
}

#[test]
fn the_forms_of_an_answer() {
    let input = concat!(
        r#"{"kind":"header","about":"passed over"}"#,
        "\n\n",
        r#"{"id":"a","kind":"gost","password":"","setting":"$gy$j75$"}"#,
        "\n",
        r#"{"id":"b","kind":"crypt","password":"736576656e","setting_hex":"243724332f2e2e2e2e2f2e2e2e2e7f80ff"}"#,
        "\n",
        r#"{"id":"c","kind":"kdf","flags":0,"N":16,"r":1,"p":1,"dkLen":0}"#,
        "\n",
        r#"{"id":"d","kind":"kdf","flags":0,"N":16,"r":1,"p":1,"dkLen":18446744073709551615}"#,
        "\n",
        r#"{"id":"e","kind":"kdf","flags":0,"N":1073741824,"r":8,"p":1,"dkLen":32}"#,
        "\n",
        r#"{"id":7,"kind":"crypt","password":"70","setting":"$y$j2/$abcd","buflen":55}"#,
        "\n",
        r#"{"id":"g","kind":"rom","seed":"6c6f63616c20706172616d","flags":182,"NROM":512,"r":1,"p":1,"t":0}"#,
        "\nnot JSON\n",
        r#"{"id":"i","kind":"kdf","flags":-1}"#,
    );
    let output = run(&["vectors", "answer"], input);
    let answers = json_lines(stdout(&output));
    assert_eq!((answers.len(), output.status.code()), (9, Some(2)), "a line is no case");
    assert_eq!(answers[0], json!({"id": "a", "error": "unsupported"}));
    assert_eq!(answers[1]["out_hex"].as_str().unwrap().len(), 2 * (17 + 44));
    assert_eq!(answers[2], json!({"id": "c", "out": ""}));
    for (at, part) in
        [(3, "output length"), (4, "--max-memory"), (5, "buflen"), (7, "line 10"), (8, "line 11")]
    {
        assert!(answers[at]["error"].as_str().unwrap().contains(part), "{}", answers[at]);
    }
    assert_eq!((&answers[5]["id"], &answers[7]["id"]), (&json!(7), &Value::Null));
    assert_eq!(answers[8]["id"], json!("i"));
    let digest = "ee711ab078f14b24a381e471db9051ca7dc71a02e768230f3f9024ad0c94a02e";
    let image = "4367f1b916a03da8053deeff8b2001fbba479733bfdc68509b017084f4d7a8c8";
    assert_eq!(answers[6], json!({"id": "g", "digest": digest, "image_sha256": image}));
}

/// A check that cannot fail would show nothing.
#[test]
fn wrong_results_are_noticed() {
    let right =
        r#"{"id":"x","kind":"encode","flags":182,"N":16,"r":1,"p":1,"salt":"","out":"$y$j1.$"}"#;
    let file = tempfile::NamedTempFile::new().unwrap();
    for (line, code, part) in [
        (right.to_owned(), 0, "total: 1 passed, 0 failed"),
        (right.replace("j1.", "j2."), 1, "computed $y$j1.$, stated $y$j2.$"),
        (right.replace("out", "remark"), 1, "states no result"),
        (right.replace("\"N\":16", "\"N\":15"), 1, "0 passed, 1 failed"),
        (right.replace("encode", "encode_reject"), 1, "had to be refused"),
        (right.replace("encode", "encoding"), 1, "unsupported"),
    ] {
        fs::write(&file, line).unwrap();
        let output = run(&["vectors", "check", file.path().to_str().unwrap()], "");
        assert_eq!(output.status.code(), Some(code), "{:?}", seen(&output));
        assert!(stdout(&output).contains(part), "{:?}", seen(&output));
    }
    for content in ["", "{", "{\"kind\":\"header\"}\n"] {
        fs::write(&file, content).unwrap();
        let output = run(&["vectors", "check", file.path().to_str().unwrap()], "");
        assert_eq!(output.status.code(), Some(2), "{content}");
    }
}

#[test]
fn every_level_of_this_machine() {
    let paths = ["encrypt", "params", "tree"].map(|name| {
        let function = if name == "encrypt" { "yescrypt" } else { "blake2" };
        repository(&format!("lab/vectors/{function}_{name}.jsonl"))
    });
    let mut tried = Vec::new();
    for level in ["portable", "sse2", "sse41", "avx2", "avx512", "neon"] {
        let output =
            program(&["vectors", "check", "--level", level]).args(&paths).output().unwrap();
        if stderr(&output).contains("cannot run level") {
            assert_eq!(output.status.code(), Some(2));
            continue;
        }
        assert!(
            stdout(&output).contains("total: 1024 passed, 0 failed"),
            "{level}: {:?}",
            seen(&output)
        );
        tried.push(level);
    }
    assert!(tried.contains(&"portable") && tried.len() > 1, "{tried:?}");
}

/// Streams that are gone, closed or no files.
#[cfg(unix)]
#[test]
fn streams() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("saltern-dev"))
        .args(["vectors", "answer"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    // Only now is there anything to write, so the pipe is surely closed.
    let line = b"{\"id\":1,\"kind\":\"none\"}\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0), "{output:?}");

    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" vectors answer <&-"]);
    let output = shell.arg(assert_cmd::cargo::cargo_bin!("saltern-dev")).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());

    let directory = repository("lab/vectors");
    let output = run(&["vectors", "check", directory.to_str().unwrap()], "");
    assert!(output.status.code() == Some(2) && stderr(&output).contains("vectors"), "{output:?}");
}
