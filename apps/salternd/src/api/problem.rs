//! Answers to failed requests: problem details (RFC 9457), for both sides.

use std::time::Duration;

use serde_json::Value;

use super::protocol::protocol_enum;

protocol_enum! {
    /// The five kinds of problems.
    enum Kind {
        /// The request, the string or the password cannot be used: it will not succeed as it is.
        BadInput = "bad-input",
        /// A limit does not allow it.
        OverLimit = "over-limit",
        /// A key or a ROM is not available.
        Unavailable = "unavailable",
        /// There is too much to do: later, the same request may succeed.
        Overloaded = "overloaded",
        /// Something is wrong with the service itself.
        Internal = "internal",
    }
}

/// Why a request failed. A wrong password is not one of these reasons.
///
/// A problem has one of five kinds, which is its outcome, and a more specific reason. Its text
/// contains names, numbers and places, never passwords, salts, keys or hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status of the answer.
    pub status: u16,
    /// The kind of the problem.
    pub kind: Kind,
    /// The last part of its type; `other` for one unknown to this version of the client.
    pub reason: &'static str,
    /// What happened, for people.
    pub detail: String,
    /// The time after which the same request may succeed.
    pub retry_after: Option<Duration>,
}

/// The prefix of every problem type.
pub(crate) const TYPE: &str = "urn:saltern:problem:";

/// All reasons, each with its status, its kind, and its meaning.
pub(crate) const REASONS: &[(&str, u16, Kind, &str)] = &[
    ("malformed", 400, Kind::BadInput, "The request does not match the OpenAPI document"),
    ("forbidden", 403, Kind::BadInput, "The client may not do this"),
    ("not-found", 404, Kind::BadInput, "There is nothing at this path"),
    ("method", 405, Kind::BadInput, "This needs another method"),
    ("slow", 408, Kind::BadInput, "The request did not arrive in time"),
    ("too-large", 413, Kind::OverLimit, "The request is too large"),
    ("media-type", 415, Kind::BadInput, "This needs another content type"),
    ("bad-input", 422, Kind::BadInput, "The string or the password cannot be used"),
    ("over-limit", 422, Kind::OverLimit, "The policy does not allow this"),
    ("account-rate", 429, Kind::Overloaded, "Too many logins to this account"),
    ("client-connections", 503, Kind::Overloaded, "Too many connections from this client"),
    ("client-rate", 429, Kind::Overloaded, "Too many requests from this client"),
    ("internal", 500, Kind::Internal, "Something is wrong with the service"),
    ("too-late", 503, Kind::Overloaded, "There is not enough time for the request"),
    ("expired", 503, Kind::Overloaded, "The request was not done in time"),
    ("queue-full", 503, Kind::Overloaded, "Too many requests are waiting"),
    ("ending", 503, Kind::Overloaded, "The service is shutting down"),
    ("starting", 503, Kind::Unavailable, "The service is not ready yet"),
    ("unavailable", 503, Kind::Unavailable, "A key or a ROM is missing"),
];

impl Problem {
    /// A problem with one of the known reasons.
    pub(crate) fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        let found = REASONS.iter().find(|known| known.0 == reason);
        let (status, kind) = found.map_or((500, Kind::Internal), |known| (known.1, known.2));
        // Room, time, or keys and ROMs may soon be available.
        let passes = kind == Kind::Overloaded || reason == "starting";
        let retry_after = passes.then_some(Duration::from_secs(1));
        Problem { status, kind, reason, detail: detail.into(), retry_after }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new("malformed", detail)
    }

    /// The name of its kind.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        self.kind.word()
    }

    /// Reads a problem from a service; `None` for anything else. A service may be newer than its
    /// client, and have reasons that the client does not know.
    pub(crate) fn read(status: u16, text: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(text).ok()?;
        let word = |name: &str| value.get(name).and_then(Value::as_str);
        let reason = word("type")?.strip_prefix(TYPE)?;
        let reason =
            REASONS.iter().find(|known| known.0 == reason).map_or("other", |known| known.0);
        let kind = serde_json::from_value(value.get("outcome")?.clone()).ok()?;
        let detail = word("detail")?.to_owned();
        let wait = value.get("retry_after_ms").and_then(Value::as_u64).map(Duration::from_millis);
        Some(Problem { status, kind, reason, detail, retry_after: wait })
    }
}
