//! One line of input.

use std::fmt;
use std::time::Duration;

use saltern::json;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::password::Password;

/// What a line asks for.
#[derive(Default)]
pub(crate) struct Request {
    password: Option<Zeroizing<String>>,
    /// Passwords that are not Unicode.
    password_hex: Option<Zeroizing<String>>,
    /// To hash with.
    pub(super) setting: Option<Zeroizing<String>>,
    /// To verify.
    pub(super) hash: Option<Zeroizing<String>>,
    /// How long the answer is waited for.
    pub(super) deadline: Option<Duration>,
}

/// The fields of a line, as they are written there.
#[derive(Default)]
struct Fields<'a> {
    id: Option<&'a RawValue>,
    password: Option<&'a RawValue>,
    password_hex: Option<&'a RawValue>,
    setting: Option<&'a RawValue>,
    hash: Option<&'a RawValue>,
    deadline_ms: Option<&'a RawValue>,
    /// There is another one, or one of these twice.
    odd: bool,
}

const EXPECTED: &str = "expected an object with `id`, `password` or `password_hex`, `setting` or `hash`, \
                        and `deadline_ms`, each at most once, and all strings except `id` and the number \
                        `deadline_ms`";

impl Request {
    /// The line's id, as far as it can be made out, and what it asks for.
    ///
    /// What is wrong is told by kind and place only, and no copy is made of what is not known to be
    /// harmless: the line holds a password, and the JSON library would quote it.
    pub(super) fn parse(line: &[u8]) -> (Option<Box<RawValue>>, Result<Request, String>) {
        let syntax =
            |error: serde_json::Error| format!("this is not JSON: column {}", error.column());
        if !line.trim_ascii_start().starts_with(b"{") {
            let any = serde_json::from_slice::<IgnoredAny>(line);
            return (None, Err(any.map_or_else(syntax, |_| format!("{EXPECTED}: column 1"))));
        }
        let fields = match serde_json::from_slice::<Fields<'_>>(line) {
            Ok(fields) => fields,
            Err(error) => return (None, Err(syntax(error))),
        };
        (fields.id.map(ToOwned::to_owned), fields.request(line))
    }

    /// The password, which has to be given in one of its two forms.
    pub(super) fn password(&self) -> Result<Password, String> {
        match (&self.password, &self.password_hex) {
            (Some(text), None) => Ok(Zeroizing::new(text.as_bytes().to_vec())),
            (None, Some(digits)) => {
                let mut password = Zeroizing::new(vec![0; digits.len() / 2]);
                base16ct::mixed::decode(digits.as_bytes(), &mut password)
                    .map_err(|_| "`password_hex` has to be an even number of hexadecimal digits")?;
                Ok(password)
            }
            (None, None) => Err("`password` or `password_hex` is missing".to_owned()),
            (Some(_), Some(_)) => Err("give `password` or `password_hex`, not both".to_owned()),
        }
    }
}

impl Fields<'_> {
    fn request(&self, line: &[u8]) -> Result<Request, String> {
        if self.odd {
            return Err(EXPECTED.to_owned());
        }
        let wrong = |raw: &RawValue| {
            let column = raw.get().as_ptr().addr().wrapping_sub(line.as_ptr().addr()) + 1;
            format!("{EXPECTED}: column {column}")
        };
        let string = |raw: Option<&RawValue>| match raw {
            None => Ok(None),
            Some(raw) if raw.get() == "null" => Ok(None),
            Some(raw) => json::decode(raw.get()).map(Some).ok_or_else(|| wrong(raw)),
        };
        let deadline = match self.deadline_ms {
            Some(raw) if raw.get() != "null" => {
                let number = raw.get().parse().map_err(|_| wrong(raw))?;
                Some(Duration::from_millis(number))
            }
            _ => None,
        };
        Ok(Request {
            password: string(self.password)?,
            password_hex: string(self.password_hex)?,
            setting: string(self.setting)?,
            hash: string(self.hash)?,
            deadline,
        })
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<&RawValue>()? {
            let field = match name.get() {
                "\"id\"" => &mut fields.id,
                "\"password\"" => &mut fields.password,
                "\"password_hex\"" => &mut fields.password_hex,
                "\"setting\"" => &mut fields.setting,
                "\"hash\"" => &mut fields.hash,
                "\"deadline_ms\"" => &mut fields.deadline_ms,
                _ => {
                    fields.odd = true;
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let value = map.next_value::<&RawValue>()?;
            fields.odd |= field.replace(value).is_some();
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Option<String>, Result<Vec<u8>, String>) {
        let (id, request) = Request::parse(line.as_bytes());
        let password = request.and_then(|request| request.password());
        (id.map(|id| id.get().to_owned()), password.map(|password| password.to_vec()))
    }

    #[test]
    fn both_forms_of_password_and_any_id() {
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(parse(r#"{"password":"p\u00e9\n"}"#), (None, Ok("pé\n".into())));
        assert_eq!(parse(r#"{"id": 7, "password_hex":"00fF"}"#), (id("7"), Ok(vec![0, 255])));
        let large = "123456789012345678901234567890.50";
        assert_eq!(parse(&format!(r#"{{"id":{large},"password":""}}"#)), (id(large), Ok(vec![])));
        let list = r#"{"id":[1,{"a":null}],"password":"p","hash":"h","setting":"s"}"#;
        assert_eq!(parse(list), (id(r#"[1,{"a":null}]"#), Ok(b"p".to_vec())));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        for (line, reason) in [
            ("", "not JSON"),
            (r#"{"id":"i","password":"hunter2""#, "not JSON"),
            (r#"{"id":"i","password":"hunter2"} x"#, "not JSON"),
            ("\u{1}", "not JSON"),
            (r#""hunter2""#, "expected an object"),
            (r#"{"id":"i","password":1234567}"#, "expected an object"),
            (r#"{"id":"i","hunter2":1}"#, "expected an object"),
            (r#"{"id":"i","password":"hunter2","password":"a"}"#, "expected an object"),
            (r#"["hunter2",7,"a","b"]"#, "expected an object"),
            ("1234567", "expected an object"),
            (r#"{"id":"i","password":["hunter2"]}"#, "expected an object"),
            (r#"{"id":"i","password":"hunter2\ud800"}"#, "expected an object"),
            (r#"{"id":"i","password":"hunter2","deadline_ms":-1}"#, "expected an object"),
            (r#"{"id":"i"}"#, "missing"),
            (r#"{"id":"i","password":null}"#, "missing"),
            (r#"{"id":"i","password":"hunter2","password_hex":"00"}"#, "not both"),
            (r#"{"id":"i","password_hex":"hunter2"}"#, "hexadecimal"),
        ] {
            let (id, password) = parse(line);
            let error = password.unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
            assert!(!error.contains("hunter2") && !error.contains("1234567"), "{error}");
            let known = reason != "not JSON" && line.contains("\"id\"");
            assert_eq!(id.as_deref(), known.then_some("\"i\""), "{line}");
        }
    }
}
