//! What is asked for.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::fields::{Any, Fields, Hex, Secret, Stored, request};
use super::problem::Problem;
use super::schema::Schema;

request! {
    /// A new password.
    struct Hash {
        /// The password, not empty.
        password: Option<Secret>,
        /// The password, if it is not Unicode, in hexadecimal digits, instead of `password`.
        password_hex: Option<Hex>,
        /// How long the client waits for the answer, in milliseconds from the arrival of the
        /// request. What cannot be done in this time is refused at once.
        timeout_ms: Option<u64>,
    }
}

request! {
    /// A login.
    struct Verify {
        /// The id of the account, or its name exactly as in the table, not as it was typed: for
        /// rate limits, `Alice` and `alice` are two accounts. It is not part of any hash; if there
        /// is no such account, it decides what the login costs. Where logins are limited per
        /// account, it must not be missing, null or empty.
        account: Option<Secret>,
        /// The password that was typed in.
        password: Option<Secret>,
        /// The password, if it is not Unicode, in hexadecimal digits, instead of `password`.
        password_hex: Option<Hex>,
        /// The stored string of the account, or null if there is no such account: the service then
        /// computes as much, so that the response time does not reveal it.
        hash: Stored,
        /// Whether an update is wanted if the string is outdated (true): only if it is stored.
        update: Option<bool>,
        /// How long the client waits for the answer, in milliseconds from the arrival of the
        /// request. What cannot be done in this time is refused at once.
        timeout_ms: Option<u64>,
    }
}

request! {
    /// A stored string.
    struct Census {
        /// The stored string.
        hash: Secret,
    }
}

/// One line of a batch: what is to be done, and the fields of that request.
pub(crate) struct BatchLine<'a> {
    /// Comes back in the answer, whatever it is.
    pub(crate) id: Option<Any>,
    fields: Fields<'a>,
}

/// What a line asks for.
pub(crate) enum Asked {
    Hash(Hash),
    Verify(Verify),
    NeedsRehash(Census),
    Rekey(Census),
}

impl<'a> BatchLine<'a> {
    /// Reads a line up to what comes back in its answer.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, Problem> {
        let mut fields = Fields::parse(line)?;
        let id = fields.take("id")?;
        Ok(BatchLine { id, fields })
    }

    /// Reads the rest.
    pub(crate) fn asked(self) -> Result<Asked, Problem> {
        let mut fields = self.fields;
        let op: Secret = fields.take("op")?;
        Ok(match op.0.as_str() {
            "hash" => Asked::Hash(Hash::take(fields)?),
            "verify" => Asked::Verify(Verify::take(fields)?),
            "needs-rehash" => Asked::NeedsRehash(Census::take(fields)?),
            "rekey" => Asked::Rekey(Census::take(fields)?),
            _ => {
                let allowed = "`op` must be `hash`, `verify`, `needs-rehash` or `rekey`";
                return Err(Problem::malformed(allowed));
            }
        })
    }

    /// Its schema: that of each request, with what is to be done.
    pub(crate) fn schema() -> Value {
        let line = |op: &str, mut request: Value| {
            request["properties"]["op"] = json!({ "const": op });
            request["properties"]["id"] = json!({ "description": "Repeated in the answer." });
            if let Some(required) = request["required"].as_array_mut() {
                required.push(json!("op"));
            }
            request
        };
        json!({ "oneOf": [
            line("hash", Hash::schema()),
            line("verify", Verify::schema()),
            line("needs-rehash", Census::schema()),
            line("rekey", Census::schema()),
        ] })
    }
}

/// The password of a request, which has to have one of its two forms.
pub(crate) fn password(
    text: Option<Secret>,
    hex: Option<Hex>,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    match (text, hex) {
        (Some(Secret(mut text)), None) => {
            // The bytes themselves, not a copy.
            Ok(Zeroizing::new(std::mem::take(&mut *text).into_bytes()))
        }
        (None, Some(Hex(bytes))) => Ok(bytes),
        (None, None) => Err(Problem::malformed("`password` or `password_hex` is missing")),
        (Some(_), Some(_)) => {
            Err(Problem::malformed("give `password` or `password_hex`, not both"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<u8>, String> {
        let request = Verify::parse(body.as_bytes());
        let password = request.and_then(|verify| password(verify.password, verify.password_hex));
        password.map(|password| password.to_vec()).map_err(|problem| problem.detail)
    }

    #[test]
    fn both_forms_of_password_are_read() {
        assert_eq!(read(r#"{"hash":null,"password":"p\u00e9\n"}"#), Ok("pé\n".into()));
        assert_eq!(read(r#" {"password_hex":"00fF","hash":"x","account":null}"#), Ok(vec![0, 255]));
        for time in ["7", "7.0", "7e2", "null"] {
            let body = format!(r#"{{"hash":"","password":"","timeout_ms":{time}}}"#);
            assert_eq!(read(&body), Ok(vec![]));
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        for (body, reason) in [
            ("", "not JSON"),
            (r#"{"hash":null,"password":"hunter2""#, "not JSON"),
            (r#"{"hash":null,"password":"hunter2"} x"#, "not JSON"),
            (r#""hunter2""#, "a JSON object"),
            (r#"["hunter2"]"#, "a JSON object"),
            ("1234567", "a JSON object"),
            (r#"{"hash":null,"password":1234567}"#, "`password` must be"),
            (r#"{"hash":null,"hunter2":1}"#, "a JSON object"),
            (r#"{"hash":null,"password":"hunter2","password":"a"}"#, "a JSON object"),
            (r#"{"hash":null,"password":["hunter2"]}"#, "`password` must be"),
            (r#"{"hash":null,"password":"hunter2\ud800"}"#, "`password` must be"),
            (r#"{"hash":null,"password":"hunter2","timeout_ms":-1}"#, "`timeout_ms` must be"),
            (r#"{"hash":null,"password":"hunter2","timeout_ms":1.5}"#, "`timeout_ms` must be"),
            (r#"{"hash":null,"password":"hunter2","timeout_ms":1e40}"#, "`timeout_ms` must be"),
            (r#"{"password":"hunter2"}"#, "`hash` is missing"),
            (r#"{"hash":null}"#, "`password` is missing"),
            (r#"{"hash":null,"password":"hunter2","password_hex":"00"}"#, "not both"),
            (r#"{"hash":null,"password_hex":"hunter2"}"#, "`password_hex` must be"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.contains(reason), "{body}: {error}");
            assert!(!error.contains("hunter2") && !error.contains("1234567"), "{error}");
        }
        let many = (0..100).map(|at| format!("\"f{at}\":1")).collect::<Vec<_>>().join(",");
        assert!(read(&format!("{{{many}}}")).unwrap_err().contains("a JSON object"));
    }
}
