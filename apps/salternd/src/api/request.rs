//! The requests.

use saltern::json::Fields;
use saltern_wipe::Zeroizing;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fields::{MaybeStored, request};
use super::problem::{Problem, Reason};
use super::schema::Schema;

request! {
    /// A new password.
    struct Hash {
        /// The id of the account, for which the string is sealed if the policy has an active key
        /// for seals. Where seals are required, it must not be missing.
        account: Option<Zeroizing<String>>,
        /// The password, not empty.
        password: Option<Zeroizing<String>>,
        /// The password, if it is not Unicode, in hexadecimal digits, instead of `password`.
        password_hex: Option<Zeroizing<Vec<u8>>>,
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
        /// account, or strings are sealed, it must not be missing, null or empty; sealed strings
        /// need the id that they were sealed for.
        account: Option<Zeroizing<String>>,
        /// The password that was typed in.
        password: Option<Zeroizing<String>>,
        /// The password, if it is not Unicode, in hexadecimal digits, instead of `password`.
        password_hex: Option<Zeroizing<Vec<u8>>>,
        /// The stored string of the account, or null if there is no such account: the service then
        /// computes as much, so that the response time does not reveal it.
        hash: MaybeStored,
        /// Whether an update is wanted if the string is outdated (true): only if it is stored.
        update: Option<bool>,
        /// How long the client waits for the answer, in milliseconds from the arrival of the
        /// request. What cannot be done in this time is refused at once.
        timeout_ms: Option<u64>,
    }
}

request! {
    /// A stored string.
    struct Stored {
        /// The id of the account, with which the seal of a string is checked and made.
        account: Option<Zeroizing<String>>,
        /// The stored string.
        hash: Zeroizing<String>,
    }
}

/// The most bytes of an `id`, as it is written.
const ID: usize = 256;

/// One line of a batch: the operation, and the fields of that request.
pub(crate) struct BatchLine<'a> {
    /// Any value of at most [`ID`] bytes, repeated in the answer.
    pub(crate) id: Option<&'a RawValue>,
    fields: Fields<'a>,
}

/// The request in a line.
pub(crate) enum Asked {
    Hash(Hash),
    Verify(Verify),
    NeedsRehash(Stored),
    Rekey(Stored),
    Seal(Stored),
}

impl<'a> BatchLine<'a> {
    /// Reads the parts of a line that are repeated in its answer.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, Problem> {
        let mut fields = Fields::parse(line)?;
        let id = fields.raw("id");
        if let Some(long) = id.map(|id| id.get().len()).filter(|length| *length > ID) {
            let detail = format!("`id` takes {long} bytes as it is written: at most {ID} may");
            return Err(Problem::new(Reason::TooLarge, detail));
        }
        Ok(BatchLine { id, fields })
    }

    /// Reads the rest.
    pub(crate) fn asked(self) -> Result<Asked, Problem> {
        let mut fields = self.fields;
        let op: Zeroizing<String> = fields.take("op")?;
        Ok(match op.as_str() {
            "hash" => Asked::Hash(Hash::take(fields)?),
            "verify" => Asked::Verify(Verify::take(fields)?),
            "needs-rehash" => Asked::NeedsRehash(Stored::take(fields)?),
            "rekey" => Asked::Rekey(Stored::take(fields)?),
            "seal" => Asked::Seal(Stored::take(fields)?),
            _ => {
                let allowed = "`op` must be `hash`, `verify`, `needs-rehash`, `rekey` or `seal`";
                return Err(Problem::malformed(allowed));
            }
        })
    }

    /// Its schema: that of each request, with the operation.
    pub(crate) fn schema() -> Value {
        let line = |op: &str, mut request: Value| {
            request["properties"]["op"] = json!({ "const": op });
            let id = format!("Any value of at most {ID} bytes as written, repeated in the answer.");
            request["properties"]["id"] = json!({ "description": id });
            if let Some(required) = request["required"].as_array_mut() {
                required.push(json!("op"));
            }
            request
        };
        json!({ "oneOf": [
            line("hash", Hash::schema()),
            line("verify", Verify::schema()),
            line("needs-rehash", Stored::schema()),
            line("rekey", Stored::schema()),
            line("seal", Stored::schema()),
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_stand_in_a_line_is_told_with_its_id() {
        let line = br#"{"id":7,"op":"rekey","hash":"h","secret":1}"#;
        let line = BatchLine::parse(line).unwrap();
        assert_eq!(line.id.map(RawValue::get), Some("7"));
        let Err(problem) = line.asked() else { panic!("it was taken") };
        let said = "unknown field: expected a JSON object of id, op, account, hash";
        assert_eq!((problem.reason, &*problem.detail), (Reason::Malformed, said));
    }

    #[test]
    fn no_account_has_to_be_said() {
        let hash =
            |body: &str| Verify::parse(body.as_bytes()).map(|verify| verify.hash.0.is_some());
        assert_eq!(hash(r#"{"password":"p","hash":null}"#), Ok(false));
        assert_eq!(hash(r#"{"password":"p","hash":""}"#), Ok(true));
        let missing = hash(r#"{"password":"p"}"#).unwrap_err().to_string();
        assert!(missing.starts_with("`hash` is missing: the stored string, or null"), "{missing}");
    }
}
