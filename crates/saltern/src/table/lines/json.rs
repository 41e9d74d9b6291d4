//! Lines that are objects of JSON, and JSON in their texts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Place, Written};
use crate::error::Error;
use crate::foreign::decimal;

/// A key, with or without escapes.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

/// An object, as it is written.
struct Object<'l>(HashMap<Name<'l>, &'l RawValue>);

pub(super) const MALFORMED: Error =
    Error::malformed("line", "a JSON object with each key once and a stored string that is text");

/// Where the string and the account are: the values of keys, or what pointers lead to.
pub(super) fn find(line: &[u8], key: &str, account: Option<&str>) -> Result<Option<Place>, Error> {
    let Some(document) = Node::of_line(line)? else { return Ok(None) };
    let find = |key: &str| match key.strip_prefix('/') {
        None => document.get(key),
        Some(path) => document.follow(path),
    };
    let Some(text) = find(key)?.map(|found| found.text()).transpose()?.flatten() else {
        return Ok(None);
    };
    let account = account.map(find).transpose()?.flatten();
    let account = account.map(|found| found.account()).transpose()?;
    let (range, times) = text.place();
    Ok(Some(Place { range, account, written: Written::Json(times), ..Place::default() }))
}

/// A document: a line, or a text in one that is JSON itself.
#[derive(Clone)]
struct Document<'l> {
    text: Cow<'l, str>,
    /// Where each byte of a text is written in the line, and where it ends; empty for a line.
    at: Vec<usize>,
    /// How many texts it is within.
    depth: u32,
}

/// A value in a document.
#[derive(Clone)]
pub(super) struct Node<'l> {
    document: Document<'l>,
    range: Range<usize>,
}

impl<'l> Node<'l> {
    /// The value that a line is; `None` for an empty line.
    pub(super) fn of_line(line: &'l [u8]) -> Result<Option<Self>, Error> {
        let text = str::from_utf8(line).map_err(|_| MALFORMED)?;
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        let document = Document { text: text.into(), at: Vec::new(), depth: 0 };
        Ok(Some(Node { document, range: 0..text.len() }))
    }

    fn raw(&self) -> &str {
        self.document.text.get(self.range.clone()).unwrap_or_default()
    }

    /// A part of this value.
    fn part(&self, raw: &str) -> Self {
        let start = raw.as_ptr().addr() - self.document.text.as_ptr().addr();
        Node { document: self.document.clone(), range: start..start + raw.len() }
    }

    /// The value of a key, in an object or in a text that has one; `None` if there is none, or
    /// null.
    pub(super) fn get(&self, key: &str) -> Result<Option<Self>, Error> {
        let node = self.entered()?;
        let Object(object) = serde_json::from_str(node.raw()).map_err(|_| MALFORMED)?;
        let found = object.get(&Name(Cow::Borrowed(key))).map(|value| value.get());
        Ok(found.filter(|raw| *raw != "null").map(|raw| node.part(raw)))
    }

    /// The values of an array, or of a text that has one.
    pub(super) fn items(&self) -> Result<Vec<Self>, Error> {
        let node = self.entered()?;
        let items: Vec<&RawValue> = serde_json::from_str(node.raw()).map_err(|_| MALFORMED)?;
        Ok(items.into_iter().map(|item| node.part(item.get())).collect())
    }

    /// What a pointer leads to, without its first slash.
    fn follow(&self, path: &str) -> Result<Option<Self>, Error> {
        let mut node = self.clone();
        for token in path.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            node = node.entered()?;
            let next = if node.raw().starts_with('[') {
                let at = decimal(&token).and_then(|at| usize::try_from(at).ok());
                node.items()?.into_iter().nth(at.unwrap_or(usize::MAX))
            } else {
                node.get(&token)?
            };
            let Some(next) = next else { return Ok(None) };
            node = next;
        }
        Ok(Some(node))
    }

    /// The document in a text, or else the value itself.
    fn entered(&self) -> Result<Self, Error> {
        let Some(text) = self.text_range() else { return Ok(self.clone()) };
        let document = self.document.inner(text).ok_or(MALFORMED)?;
        let range = 0..document.text.len();
        Ok(Node { document, range })
    }

    /// What is between the quotes of a text.
    fn text_range(&self) -> Option<Range<usize>> {
        let quoted = self.raw().len() >= 2 && self.raw().starts_with('"');
        quoted.then(|| self.range.start + 1..self.range.end - 1)
    }

    /// This text; `None` for null.
    pub(super) fn text(&self) -> Result<Option<Self>, Error> {
        match self.text_range() {
            Some(range) => Ok(Some(Node { range, ..self.clone() })),
            None if self.raw() == "null" => Ok(None),
            None => Err(MALFORMED),
        }
    }

    /// Where a text is in the line, and how often it has escapes there.
    pub(super) fn place(&self) -> (Range<usize>, u32) {
        let Document { at, depth, .. } = &self.document;
        let of_line = |place: usize| at.get(place).copied().unwrap_or(place);
        (of_line(self.range.start)..of_line(self.range.end), depth + 1)
    }

    /// What an account is called: what a text says, or the digits of a whole number.
    pub(super) fn account(&self) -> Result<Vec<u8>, Error> {
        const EXPECTED: &str = "an account that is text or a whole number";
        let raw = self.raw();
        if raw.strip_prefix('-').unwrap_or(raw).bytes().all(|c| c.is_ascii_digit()) {
            return Ok(raw.as_bytes().to_vec());
        }
        let text = serde_json::from_str::<String>(raw).map(String::into_bytes);
        text.map_err(|_| Error::malformed("line", EXPECTED))
    }

    /// What a text says, or how a number is written.
    pub(super) fn value(&self) -> Result<String, Error> {
        match serde_json::from_str(self.raw()).map_err(|_| MALFORMED)? {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(MALFORMED),
        }
    }
}

impl<'l> Document<'l> {
    /// The document that is written between these quotes.
    fn inner(&self, range: Range<usize>) -> Option<Document<'l>> {
        let of_line = |place: usize| self.at.get(place).copied().unwrap_or(place);
        let (mut text, mut at) = (String::new(), Vec::new());
        let mut place = range.start;
        while place < range.end {
            let rest = self.text.get(place..range.end)?;
            let length = escape(rest);
            let piece = rest.get(..length)?;
            let read: Cow<'_, str> = match piece.starts_with('\\') {
                true => serde_json::from_str::<String>(&format!("\"{piece}\"")).ok()?.into(),
                false => piece.into(),
            };
            at.extend(read.bytes().map(|_| of_line(place)));
            text.push_str(&read);
            place += length;
        }
        at.push(of_line(range.end));
        Some(Document { text: text.into(), at, depth: self.depth + 1 })
    }
}

/// The length of the character, or the escape of one, that a text begins with.
fn escape(text: &str) -> usize {
    let is_surrogate = |text: &str| {
        let digits = text.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        digits.is_some_and(|digits| matches!(u32::from_str_radix(digits, 16), Ok(0xd800..=0xdbff)))
    };
    match text.as_bytes() {
        [b'\\', b'u', ..] if is_surrogate(text) => 12,
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => text.chars().next().map_or(1, char::len_utf8),
    }
}

/// Whether there is such a text in an object, at any depth; `None` for what is no object.
pub(super) fn has_text(line: &[u8], is_such: fn(&str) -> bool) -> Option<bool> {
    fn any(value: &Value, is_such: fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => is_such(text),
            Value::Array(values) => values.iter().any(|value| any(value, is_such)),
            Value::Object(values) => values.values().any(|value| any(value, is_such)),
            _ => false,
        }
    }
    let value = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object)?;
    Some(any(&value, is_such))
}

impl<'de: 'l, 'l> Deserialize<'de> for Object<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut object = HashMap::new();
                while let Some((name, value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    // A reader of the line may use the other one.
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom("a key twice"));
                    }
                }
                Ok(Object(object))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}
