//! The fields of a JSON object that may hold a password.

use std::fmt;

use saltern_wipe::Zeroizing;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::decode;

/// The most fields accepted; no request has as many.
const MOST: usize = 16;

/// The fields of a JSON object, as they are written: callers take fields out, and may refuse any
/// others. Only values that are taken are copied, into memory that is wiped.
///
/// ```
/// use saltern::json::{Fields, password};
/// let line = br#"{"password":"caf\u00e9","timeout_ms":100}"#;
/// let mut fields = Fields::parse(line)?;
/// fields.only(&["password", "password_hex", "timeout_ms"])?;
/// let secret = password(fields.take("password")?, fields.take("password_hex")?)?;
/// assert_eq!(secret.as_slice(), "café".as_bytes());
/// assert_eq!(fields.take("timeout_ms"), Ok(Some(100_u64)));
/// # Ok::<(), saltern::json::Malformed>(())
/// ```
pub struct Fields<'a> {
    found: Vec<(&'a RawValue, &'a RawValue)>,
    taken: Vec<&'static str>,
}

/// What is wrong with a request, by kind and place. Nothing is quoted from it, since it may be a
/// password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// The value of a field.
pub trait Read: Sized {
    /// What is expected, in words.
    const EXPECTED: &str;

    /// The value, if the text, which is JSON, represents one.
    fn read(raw: &str) -> Option<Self>;

    /// The value for a missing field, if it may be left out.
    fn absent() -> Option<Self> {
        None
    }
}

impl<'a> Fields<'a> {
    /// Reads an object of at most 16 fields.
    ///
    /// # Errors
    /// If it is not JSON, or not such an object.
    pub fn parse(text: &'a [u8]) -> Result<Self, Malformed> {
        let wrong = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            Malformed(match error.classify() {
                Category::Data => {
                    format!(
                        "expected a JSON object with at most 16 fields (line {line}, column {column})"
                    )
                }
                _ => format!("this is not JSON (line {line}, column {column})"),
            })
        };
        // If it is a string, the JSON library would copy it to quote it.
        let object = text.trim_ascii_start().starts_with(b"{");
        if !object {
            serde_json::from_slice::<IgnoredAny>(text).map_err(wrong)?;
            return Err(Malformed("expected a JSON object".to_owned()));
        }
        let Object(found) = serde_json::from_slice(text).map_err(wrong)?;
        Ok(Fields { found, taken: Vec::new() })
    }

    /// Refuses an object that has fields other than these and those that were taken out, or has one
    /// of them twice.
    ///
    /// # Errors
    /// With the allowed names.
    pub fn only(&self, known: &[&'static str]) -> Result<(), Malformed> {
        let mut names = self.found.iter().map(|(name, _)| name.get()).enumerate();
        let allowed = |name: &str| known.iter().any(|known| is(name, known));
        let once =
            |at: usize, name: &str| self.found[..at].iter().all(|(one, _)| one.get() != name);
        let Some((_, wrong)) = names.find(|(at, name)| !allowed(name) || !once(*at, name)) else {
            return Ok(());
        };
        // As it is written, but not all of it: it may be anything, a password included.
        let taken = self.taken.iter().copied().find(|known| is(wrong, known));
        let twice = taken.or_else(|| known.iter().copied().find(|known| is(wrong, known)));
        let allowed = [&self.taken, known].concat().join(", ");
        Err(Malformed(match twice {
            Some(name) => format!("the field {name} occurs twice"),
            None => format!("unknown field: expected a JSON object of {allowed}"),
        }))
    }

    /// Takes a field out as it is written; `None` if it is missing.
    pub fn raw(&mut self, name: &'static str) -> Option<&'a RawValue> {
        self.taken.push(name);
        let at = self.found.iter().position(|(key, _)| is(key.get(), name))?;
        Some(self.found.swap_remove(at).1)
    }

    /// Takes the value of a field out.
    ///
    /// # Errors
    /// If it is missing, or has another type.
    pub fn take<T: Read>(&mut self, name: &'static str) -> Result<T, Malformed> {
        let found = self.raw(name);
        let value = found.map_or_else(T::absent, |raw| T::read(raw.get()));
        value.ok_or_else(|| {
            let what = if found.is_some() { "must be" } else { "is missing:" };
            Malformed(format!("`{name}` {what} {}", T::EXPECTED))
        })
    }
}

/// Whether a key is this name. There is one spelling: no name needs an escape.
fn is(key: &str, name: &str) -> bool {
    key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) == Some(name)
}

/// Keys and values, as they are written.
struct Object<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut object = Vec::with_capacity(MOST);
                while let Some(name) = map.next_key::<&'de RawValue>()? {
                    if object.len() == MOST {
                        map.next_value::<IgnoredAny>()?;
                        return Err(A::Error::custom("too many fields"));
                    }
                    object.push((name, map.next_value::<&'de RawValue>()?));
                }
                Ok(Object(object))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// Text, wiped on drop.
impl Read for Zeroizing<String> {
    const EXPECTED: &str = "a string";

    fn read(raw: &str) -> Option<Self> {
        decode(raw)
    }
}

/// Bytes in hexadecimal digits, wiped on drop.
impl Read for Zeroizing<Vec<u8>> {
    const EXPECTED: &str = "a string with an even number of hexadecimal digits";

    fn read(raw: &str) -> Option<Self> {
        let digits = decode(raw)?;
        let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
        base16ct::mixed::decode(digits.as_bytes(), &mut bytes).ok()?;
        Some(bytes)
    }
}

impl Read for u64 {
    const EXPECTED: &str = "a whole number of at least 0";

    /// Also accepts a zero fraction, as some languages write all numbers: `1000.0`.
    fn read(raw: &str) -> Option<Self> {
        let whole = || raw.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
        let exact = |number: &f64| (0.0..=9_007_199_254_740_992.0).contains(number);
        raw.parse().ok().or_else(|| whole().filter(exact).map(|number| number as u64))
    }
}

impl Read for bool {
    const EXPECTED: &str = "true or false";

    fn read(raw: &str) -> Option<Self> {
        raw.parse().ok()
    }
}

/// A field that may be left out, or null.
impl<T: Read> Read for Option<T> {
    const EXPECTED: &str = T::EXPECTED;

    fn read(raw: &str) -> Option<Self> {
        if raw == "null" { Some(None) } else { T::read(raw).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// The password of a request, which must have one of its two forms: `password`, or `password_hex`
/// if it is not Unicode.
///
/// # Errors
/// If neither is given, or both are.
pub fn password(
    text: Option<Zeroizing<String>>,
    hex: Option<Zeroizing<Vec<u8>>>,
) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    let wrong = |why: &str| Err(Malformed(why.to_owned()));
    match (text, hex) {
        // The bytes themselves, not a copy.
        (Some(mut text), None) => Ok(Zeroizing::new(std::mem::take(&mut *text).into_bytes())),
        (None, Some(bytes)) => Ok(bytes),
        (None, None) => wrong("`password` or `password_hex` is missing"),
        (Some(_), Some(_)) => wrong("`password` and `password_hex` cannot both be given"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> (Option<String>, Result<Vec<u8>, String>) {
        let mut fields = match Fields::parse(line) {
            Ok(fields) => fields,
            Err(error) => return (None, Err(error.to_string())),
        };
        let id = fields.raw("id").map(|id| id.get().to_owned());
        let mut secret = || {
            fields.only(&["password", "password_hex", "hash", "timeout_ms"])?;
            let _: Option<Zeroizing<String>> = fields.take("hash")?;
            let _: Option<u64> = fields.take("timeout_ms")?;
            password(fields.take("password")?, fields.take("password_hex")?)
        };
        (id, secret().map(|secret| secret.to_vec()).map_err(|error| error.to_string()))
    }

    #[test]
    fn both_forms_of_password_and_any_id() {
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(read(br#"{"password":"p\u00e9\n"}"#), (None, Ok("pé\n".into())));
        assert_eq!(read(br#" {"id": 7, "password_hex":"00fF"}"#), (id("7"), Ok(vec![0, 255])));
        let large = "123456789012345678901234567890.50";
        let line = format!(r#"{{"id":{large},"password":""}}"#);
        assert_eq!(read(line.as_bytes()), (id(large), Ok(vec![])));
        let list = br#"{"id":[1,{"a":null}],"password":"p","password_hex":null,"hash":"h"}"#;
        assert_eq!(read(list), (id(r#"[1,{"a":null}]"#), Ok(b"p".to_vec())));
        for time in ["7", "7.0", "7e2", "null"] {
            let line = format!(r#"{{"password":"","timeout_ms":{time}}}"#);
            assert_eq!(read(line.as_bytes()), (None, Ok(vec![])));
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        let object = "expected a JSON object of id, password, password_hex, hash, timeout_ms";
        for (line, reason) in [
            ("", "not JSON"),
            (r#"{"id":"i","password":"hunter2""#, "not JSON (line 1, column "),
            (r#"{"id":"i","password":"hunter2"} x"#, "not JSON"),
            ("\u{1}", "not JSON"),
            (r#""hunter2""#, "a JSON object"),
            (r#"["hunter2",7,"a","b"]"#, "a JSON object"),
            ("1234567", "a JSON object"),
            (r#"{"id":"i","password":1234567}"#, "`password` must be"),
            (r#"{"id":"i","password":["hunter2"]}"#, "`password` must be"),
            (r#"{"id":"i","password":"hunter2\ud800"}"#, "`password` must be"),
            (r#"{"id":"i","hunter2":1}"#, object),
            (r#"{"id":"i","id":"hunter2"}"#, "the field id occurs twice"),
            (
                r#"{"id":"i","password":"hunter2","password":"a"}"#,
                "the field password occurs twice",
            ),
            (r#"{"id":"i","p\u0061ssword":"hunter2"}"#, object),
            (r#"{"id":"i","password":"hunter2","timeout_ms":-1}"#, "`timeout_ms` must be"),
            (r#"{"id":"i","password":"hunter2","timeout_ms":1.5}"#, "`timeout_ms` must be"),
            (r#"{"id":"i","password":"hunter2","timeout_ms":1e40}"#, "`timeout_ms` must be"),
            (r#"{"id":"i"}"#, "missing"),
            (r#"{"id":"i","password":null}"#, "missing"),
            (r#"{"id":"i","password":"hunter2","password_hex":"00"}"#, "cannot both"),
            (r#"{"id":"i","password_hex":"hunter2"}"#, "hexadecimal"),
        ] {
            let (id, secret) = read(line.as_bytes());
            let error = secret.unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
            assert!(!error.contains("hunter2") && !error.contains("1234567"), "{error}");
            let known = !reason.contains("not JSON") && line.contains("\"id\"");
            assert_eq!(id.as_deref(), known.then_some("\"i\""), "{line}");
        }
        let many = (0..100).map(|at| format!("\"f{at}\":1")).collect::<Vec<_>>().join(",");
        assert!(read(format!("{{{many}}}").as_bytes()).1.unwrap_err().contains("a JSON object"));
    }
}
