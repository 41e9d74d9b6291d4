//! Lines that are objects of JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Place;
use crate::error::Error;

/// A key, with or without escapes.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

/// An object, as it is written.
struct Object<'l>(HashMap<Name<'l>, &'l RawValue>);

/// Where the string and the account are: the values of keys.
pub(super) fn find(
    line: &[u8],
    stored: &str,
    account: Option<&str>,
) -> Result<Option<Place>, Error> {
    const EXPECTED: &str = "a JSON object with each key once, a stored string that is text, and an \
                            account that is text or a whole number";
    let malformed = Error::malformed("line", EXPECTED);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let text = str::from_utf8(line).map_err(|_| malformed.clone())?;
    let Object(object) = serde_json::from_str(text).map_err(|_| malformed.clone())?;
    let value = |key| object.get(&Name(Cow::Borrowed(key))).map(|value| value.get());
    let value = |key| value(key).filter(|raw| *raw != "null");
    let start = |raw: &str| raw.as_ptr().addr() - text.as_ptr().addr();
    let within = |raw: &str| {
        let is_text = raw.len() >= 2 && raw.starts_with('"');
        is_text.then(|| start(raw) + 1..start(raw) + raw.len() - 1)
    };
    let whole = |raw: &str| {
        let digits = raw.strip_prefix('-').unwrap_or(raw).bytes().all(|c| c.is_ascii_digit());
        digits.then(|| start(raw)..start(raw) + raw.len())
    };
    let Some(raw) = value(stored) else { return Ok(None) };
    let range = within(raw).ok_or(malformed.clone())?;
    let account = account.and_then(value);
    let account = account.map(|raw| within(raw).or(whole(raw)).ok_or(malformed)).transpose()?;
    Ok(Some(Place { range, account, escaped: true }))
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
