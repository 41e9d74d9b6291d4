//! Answers to failed requests: problem details (RFC 9457), for both sides.

use std::time::Duration;

use serde_json::Value;

use super::protocol::protocol_enum;

protocol_enum! {
    /// The six kinds of problems.
    enum Kind {
        /// The request, the string or the password cannot be used: it will not succeed as it is.
        BadInput = "bad-input",
        /// A limit does not allow it.
        OverLimit = "over-limit",
        /// A key or a ROM is not available.
        Unavailable = "unavailable",
        /// A stored string is not the one that was sealed for its account: somebody has to look at
        /// the table.
        Tampered = "tampered",
        /// There is too much to do: later, the same request may succeed.
        Overloaded = "overloaded",
        /// Something is wrong with the service itself.
        Internal = "internal",
    }
}

macro_rules! reasons {
    ($($reason:ident = ($word:literal, $status:literal, $kind:ident, $title:literal),)*) => {
        /// The specific reason for a problem: the last part of its type.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = concat!($title, ".")] $reason,)*
            /// The client itself did not send it, since most of its requests are refused.
            Throttled,
            /// One that this version of the client does not know.
            Other,
        }

        impl Reason {
            /// All reasons of the service.
            pub(crate) const ALL: &[Reason] = &[$(Reason::$reason),*];

            /// The word for it in the type of a problem.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Reason::$reason => $word,)*
                    Reason::Throttled => "throttled",
                    Reason::Other => "other",
                }
            }

            /// The type of a problem, as in its document.
            #[cfg(feature = "server")]
            pub(crate) const fn urn(self) -> &'static str {
                match self {
                    $(Reason::$reason => concat!("urn:saltern:problem:", $word),)*
                    Reason::Throttled => "urn:saltern:problem:throttled",
                    Reason::Other => "urn:saltern:problem:other",
                }
            }

            /// The HTTP status of its answers, their kind, and what it means.
            pub(crate) const fn meaning(self) -> (u16, Kind, &'static str) {
                match self {
                    $(Reason::$reason => ($status, Kind::$kind, $title),)*
                    Reason::Throttled => (503, Kind::Overloaded, "Not sent by the client"),
                    Reason::Other => (500, Kind::Internal, ""),
                }
            }
        }
    };
}

reasons! {
    Malformed = ("malformed", 400, BadInput, "The request does not match the OpenAPI document"),
    Forbidden = ("forbidden", 403, BadInput, "The client may not do this"),
    NotFound = ("not-found", 404, BadInput, "There is nothing at this path"),
    Method = ("method", 405, BadInput, "This needs another method"),
    Slow = ("slow", 408, BadInput, "The request did not arrive in time"),
    TooLarge = ("too-large", 413, OverLimit, "The request is too large"),
    MediaType = ("media-type", 415, BadInput, "This needs another content type"),
    BadInput = ("bad-input", 422, BadInput, "The string or the password cannot be used"),
    OverLimit = ("over-limit", 422, OverLimit, "The policy does not allow this"),
    Tampered = ("tampered", 422, Tampered, "The string is not the one sealed for this account"),
    AccountRate = ("account-rate", 429, Overloaded, "Too many logins to this account"),
    ClientConnections = ("client-connections", 503, Overloaded, "Too many connections from this client"),
    ClientRate = ("client-rate", 429, Overloaded, "Too many requests from this client"),
    Internal = ("internal", 500, Internal, "Something is wrong with the service"),
    TooLate = ("too-late", 503, Overloaded, "There is not enough time for the request"),
    Expired = ("expired", 503, Overloaded, "The request was not done in time"),
    QueueFull = ("queue-full", 503, Overloaded, "Too many requests are waiting"),
    Ending = ("ending", 503, Overloaded, "The service is shutting down"),
    Starting = ("starting", 503, Unavailable, "The service is not ready yet"),
    Unavailable = ("unavailable", 503, Unavailable, "A key or a ROM is missing"),
}

/// Why a request failed. A wrong password is not one of these reasons.
///
/// A problem has one of six kinds, which is its outcome, and a more specific reason. Its text
/// contains names, numbers and places, never passwords, salts, keys or hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status of the answer.
    pub status: u16,
    /// The kind of the problem.
    pub kind: Kind,
    /// The specific reason.
    pub reason: Reason,
    /// What happened, for people.
    pub detail: String,
    /// The time after which the same request may succeed.
    pub retry_after: Option<Duration>,
}

/// The prefix of every problem type.
pub(crate) const TYPE: &str = "urn:saltern:problem:";

impl Problem {
    /// A problem with the status and the kind of its reason.
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        let (status, kind, _) = reason.meaning();
        // Room, time, or keys and ROMs may soon be available.
        let passes = kind == Kind::Overloaded || reason == Reason::Starting;
        let retry_after = passes.then_some(Duration::from_secs(1));
        Problem { status, kind, reason, detail: detail.into(), retry_after }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(Reason::Malformed, detail)
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
        let known = Reason::ALL.iter().find(|known| known.word() == reason);
        let reason = known.copied().unwrap_or(Reason::Other);
        let kind = serde_json::from_value(value.get("outcome")?.clone()).ok()?;
        let detail = word("detail")?.to_owned();
        let wait = value.get("retry_after_ms").and_then(Value::as_u64).map(Duration::from_millis);
        Some(Problem { status, kind, reason, detail, retry_after: wait })
    }
}
