//! The form of the files: groups of numbered tests, with flags that the file explains.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// What an implementation should do.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// Compute this result.
    Valid,
    /// Compute this result or refuse the input.
    Acceptable,
    /// Refuse the input, or say that it does not match.
    Invalid,
}

/// One test; its number is its place in the file.
pub(super) struct Test {
    pub(super) comment: String,
    pub(super) flags: Vec<&'static str>,
    pub(super) fields: Map<String, Value>,
    pub(super) result: Outcome,
}

/// Tests that one function answers.
pub(super) struct Group {
    pub(super) kind: &'static str,
    pub(super) tests: Vec<Test>,
}

/// A file.
pub(super) struct File {
    pub(super) algorithm: &'static str,
    pub(super) schema: &'static str,
    pub(super) header: &'static [&'static str],
    pub(super) notes: &'static [(&'static str, &'static str)],
    pub(super) groups: Vec<Group>,
}

impl File {
    /// The text of the file, with one test in each line.
    pub(super) fn to_json(&self) -> anyhow::Result<String> {
        let count: usize = self.groups.iter().map(|group| group.tests.len()).sum();
        let notes: BTreeMap<_, _> = self.notes.iter().copied().collect();
        let mut out = String::new();
        writeln!(out, "{{\n\"algorithm\": {},", json!(self.algorithm))?;
        writeln!(out, "\"schema\": {},\n\"numberOfTests\": {count},", json!(self.schema))?;
        writeln!(out, "\"header\": {},", serde_json::to_string_pretty(self.header)?)?;
        writeln!(out, "\"notes\": {},", serde_json::to_string_pretty(&notes)?)?;
        writeln!(out, "\"testGroups\": [")?;
        let mut number = 0;
        for (at, group) in self.groups.iter().enumerate() {
            writeln!(out, "{{\"type\": {}, \"tests\": [", json!(group.kind))?;
            for (at, test) in group.tests.iter().enumerate() {
                number += 1;
                anyhow::ensure!(
                    test.flags.iter().all(|flag| notes.contains_key(flag)),
                    "test {number} has a flag without a note: {:?}",
                    test.flags
                );
                let end = if at + 1 < group.tests.len() { "," } else { "" };
                writeln!(out, "{}{end}", test.line(number)?)?;
            }
            writeln!(out, "]}}{}", if at + 1 < self.groups.len() { "," } else { "" })?;
        }
        out.push_str("]\n}\n");
        Ok(out)
    }
}

impl Test {
    fn line(&self, number: usize) -> anyhow::Result<String> {
        let mut line =
            json!({ "tcId": number, "comment": self.comment, "flags": self.flags }).to_string();
        line.pop();
        for (name, value) in &self.fields {
            write!(line, ",{}:{value}", json!(name))?;
        }
        write!(line, ",\"result\":{}}}", serde_json::to_string(&self.result)?)?;
        Ok(line)
    }
}

/// Text under `name`, or, if it is not ASCII, in hexadecimal under `nameHex`.
pub(super) fn put_text(fields: &mut Map<String, Value>, name: &str, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(plain) if text.is_ascii() => _ = fields.insert(name.to_owned(), json!(plain)),
        _ => _ = fields.insert(format!("{name}Hex"), hex(text)),
    }
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> Value {
    json!(base16ct::lower::encode_string(bytes))
}
