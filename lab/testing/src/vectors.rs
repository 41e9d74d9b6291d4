//! The vector files: a header line that says how many cases there are, and a line for each.

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
