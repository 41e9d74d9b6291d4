//! One line of input.

use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::hex;
use crate::password::Password;

/// What a line asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Anything; the answer repeats it as it is.
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(default)]
    password: Option<Secret>,
    /// Passwords that are not Unicode.
    #[serde(default)]
    password_hex: Option<Secret>,
    /// To hash with.
    #[serde(default)]
    pub(super) setting: Option<String>,
    /// To verify.
    #[serde(default)]
    pub(super) hash: Option<String>,
}

/// A text that is wiped when dropped.
#[derive(Deserialize)]
#[serde(from = "String")]
struct Secret(Zeroizing<String>);

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }
}

/// The one field that an answer to a bad line needs.
#[derive(Deserialize)]
struct IdAlone {
    id: Option<Box<RawValue>>,
}

impl Request {
    /// The line's id, as far as it can be made out, and what it asks for.
    ///
    /// What is wrong is told by place only: the words of the JSON library quote the line, which holds a password.
    pub(super) fn parse(line: &[u8]) -> (Option<Box<RawValue>>, Result<Request, String>) {
        match serde_json::from_slice::<Request>(line) {
            Ok(mut request) => (request.id.take(), Ok(request)),
            Err(error) if error.is_data() => {
                let id = serde_json::from_slice::<IdAlone>(line).ok().and_then(|line| line.id);
                let expected =
                    "an object of `id`, `password` or `password_hex`, and `setting` or `hash`";
                let column = error.column();
                (
                    id,
                    Err(format!(
                        "expected {expected}, each once and a string but for `id`: column {column}"
                    )),
                )
            }
            Err(error) => (None, Err(format!("this is not JSON: column {}", error.column()))),
        }
    }

    /// The password, which has to be given in one of its two forms.
    pub(super) fn password(&self) -> Result<Password, String> {
        match (&self.password, &self.password_hex) {
            (Some(Secret(text)), None) => Ok(Zeroizing::new(text.as_bytes().to_vec())),
            (None, Some(Secret(digits))) => {
                let mut password = Zeroizing::new(vec![0; digits.len() / 2]);
                hex::decode_into(digits.as_bytes(), &mut password)
                    .ok_or("`password_hex` has to be an even number of hexadecimal digits")?;
                Ok(password)
            }
            (None, None) => Err("`password` is missing, or `password_hex`".to_owned()),
            (Some(_), Some(_)) => {
                Err("`password` and `password_hex` exclude each other".to_owned())
            }
        }
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
            (r#"{"id":"i"}"#, "missing"),
            (r#"{"id":"i","password":null}"#, "missing"),
            (r#"{"id":"i","password":"hunter2","password_hex":"00"}"#, "exclude"),
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
