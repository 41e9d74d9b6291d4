//! `saltern vectors` over the repository's own files.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::program::{repository, run, saltern, seen, stderr, stdout};

/// The counts that `check` prints for a file.
#[track_caller]
fn check(file: &str) -> BTreeMap<String, String> {
    let path = repository("vectors").join(file);
    let output = saltern(&["vectors", "check"]).arg(path).output().unwrap();
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
    let text = fs::read_to_string(repository("vectors/yescrypt_encrypt.jsonl")).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let input: String = cases
        .iter()
        .map(|case| {
            let mut case = case.clone();
            case.as_object_mut().unwrap().retain(|name, _| name != "out");
            format!("{case}\n")
        })
        .collect();
    let output = run(&["vectors", "answer"], input);
    let answers: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
    let answers: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
    let path = repository("vectors/yescrypt_encrypt.jsonl");
    let mut tried = Vec::new();
    for level in ["portable", "sse2", "sse41", "avx2", "avx512", "neon"] {
        let output = saltern(&["vectors", "check", "--level", level]).arg(&path).output().unwrap();
        if stderr(&output).contains("cannot run level") {
            assert_eq!(output.status.code(), Some(2));
            continue;
        }
        assert!(
            stdout(&output).contains("total: 84 passed, 0 failed"),
            "{level}: {:?}",
            seen(&output)
        );
        tried.push(level);
    }
    assert!(tried.contains(&"portable") && tried.len() > 1, "{tried:?}");
}
