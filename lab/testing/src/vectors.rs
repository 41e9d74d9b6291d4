//! The vector files: a header line that says how many cases there are, and a line for each; and
//! those in `lab/vectors/field`, which have the form of Project Wycheproof.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::hex::unhex;
use crate::json_lines;
use crate::program::repository;

/// The cases of `lab/vectors/NAME.jsonl`, which have to be as many as the header says, of each kind
/// if it says that, and as many of each kind as `expected` says.
#[must_use]
#[track_caller]
pub fn cases(name: &str, expected: &[(&str, usize)]) -> Vec<Value> {
    let path = repository("lab/vectors").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut cases = json_lines(&text);
    let header = cases.remove(0);
    assert_eq!(header["kind"], "header", "{name}");
    let mut counts = BTreeMap::new();
    for case in &cases {
        *counts.entry(case["kind"].as_str().expect("a kind")).or_insert(0_usize) += 1;
    }
    assert_eq!(counts, expected.iter().copied().collect(), "{name}: cases of each kind");
    match &header["cases"] {
        Value::Number(all) => assert_eq!(all.as_u64(), Some(cases.len() as u64), "{name}"),
        each => assert_eq!(*each, serde_json::json!(counts), "{name}"),
    }
    cases
}

/// The tests of `lab/vectors/field/NAME_test.json`, each with the type of its group, which have to
/// be as many as `expected` says of each type and result.
#[must_use]
#[track_caller]
pub fn field(name: &str, expected: &[(&str, &str, usize)]) -> Vec<(String, Value)> {
    let path = repository("lab/vectors/field").join(format!("{name}_test.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file: Value = serde_json::from_str(&text).expect(name);
    let mut tests = Vec::new();
    let mut counts = BTreeMap::new();
    for group in file["testGroups"].as_array().expect("groups") {
        for test in group["tests"].as_array().expect("tests") {
            let kind = self::text(group, "type");
            *counts.entry((kind, self::text(test, "result"))).or_insert(0_usize) += 1;
            tests.push((kind.to_owned(), test.clone()));
        }
    }
    let expected = expected.iter().map(|&(kind, result, count)| ((kind, result), count)).collect();
    assert_eq!(counts, expected, "{name}: tests of each type and result");
    assert_eq!(number(&file, "numberOfTests"), tests.len() as u64, "{name}");
    tests
}

/// A text of such a test, given as it is or in hexadecimal; `None` if there is neither.
#[must_use]
pub fn field_text(test: &Value, name: &str) -> Option<Vec<u8>> {
    match test[name].as_str() {
        Some(plain) => Some(plain.as_bytes().to_vec()),
        None => test[format!("{name}Hex")].as_str().map(unhex),
    }
}

/// A number of a case.
#[must_use]
#[track_caller]
pub fn number(case: &Value, name: &str) -> u64 {
    case[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {case}"))
}

/// A text of a case.
#[must_use]
#[track_caller]
pub fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap_or_else(|| panic!("no text {name} in {case}"))
}

/// What the hexadecimal digits of a case stand for.
#[must_use]
#[track_caller]
pub fn bytes(case: &Value, name: &str) -> Vec<u8> {
    unhex(text(case, name))
}
