//! One line of input.

use std::time::Duration;

use saltern::json::{self, Fields, Malformed};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::password::Password;

/// What a line asks for.
pub(crate) struct Request {
    pub(super) password: Password,
    /// To hash with.
    pub(super) setting: Option<Zeroizing<String>>,
    /// To verify.
    pub(super) hash: Option<Zeroizing<String>>,
    /// How long the answer is waited for.
    pub(super) timeout: Option<Duration>,
}

impl Request {
    /// The line's id, as far as it can be made out, and what it asks for.
    pub(super) fn parse(line: &[u8]) -> (Option<Box<RawValue>>, Result<Request, Malformed>) {
        match Fields::parse(line) {
            Ok(mut fields) => {
                let id = fields.raw("id").map(ToOwned::to_owned);
                (id, Self::take(fields))
            }
            Err(error) => (None, Err(error)),
        }
    }

    fn take(mut fields: Fields<'_>) -> Result<Request, Malformed> {
        fields.only(&["password", "password_hex", "setting", "hash", "timeout_ms"])?;
        let timeout: Option<u64> = fields.take("timeout_ms")?;
        Ok(Request {
            password: json::password(fields.take("password")?, fields.take("password_hex")?)?,
            setting: fields.take("setting")?,
            hash: fields.take("hash")?,
            timeout: timeout.map(Duration::from_millis),
        })
    }
}
