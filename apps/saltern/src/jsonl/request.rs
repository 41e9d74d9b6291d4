//! One line of input.

use std::time::Duration;

use saltern::json::{self, Fields, Malformed};
use saltern_wipe::Zeroizing;
use serde_json::value::RawValue;

use crate::password::Password;

/// The request in a line.
pub(crate) struct Request {
    pub(super) password: Password,
    /// The setting to hash with.
    pub(super) setting: Option<Zeroizing<String>>,
    /// The string to verify.
    pub(super) hash: Option<Zeroizing<String>>,
    /// The id of the account that the string belongs to.
    pub(super) account: Option<Zeroizing<String>>,
    /// How long to wait for the answer.
    pub(super) timeout: Option<Duration>,
}

impl Request {
    /// The line's id, if it can be read, and its request.
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
        fields.only(&["password", "password_hex", "setting", "hash", "account", "timeout_ms"])?;
        let timeout: Option<u64> = fields.take("timeout_ms")?;
        Ok(Request {
            password: json::password(fields.take("password")?, fields.take("password_hex")?)?,
            setting: fields.take("setting")?,
            hash: fields.take("hash")?,
            account: fields.take("account")?,
            timeout: timeout.map(Duration::from_millis),
        })
    }
}
