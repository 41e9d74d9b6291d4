//! Problems on the side of the service: from library errors, as JSON, and for the document.

use std::time::Duration;

use saltern::{Error, ErrorKind};
use saltern_pool::Error as PoolError;
use serde::Serialize;
use serde_json::{Value, json};

use super::problem::{Kind, Problem, Reason};
use super::schema::{Field, Schema, object};

impl Problem {
    /// Sets the time after which the same request may succeed.
    #[must_use]
    pub(crate) fn after(self, time: Duration) -> Self {
        Problem { retry_after: Some(time), ..self }
    }

    /// The seconds for `Retry-After`, at least 1.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        self.retry_after.map(|time| time.as_secs_f64().ceil().clamp(1.0, 3600.0) as u64)
    }

    /// As text in JSON. It is made without anything in between: in an overload there are many.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(256 + 2 * self.detail.len());
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(&mut text, &self.document());
        text
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::to_value(self.document()).unwrap_or_default()
    }

    fn document(&self) -> Document<'_> {
        let (_, _, title) = self.reason.meaning();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Document {
            r#type: self.reason.urn(),
            title,
            status: self.status,
            detail: &self.detail,
            outcome: self.outcome(),
            retry_after_ms: self.retry_after.map(milliseconds),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::BadInput => Kind::BadInput,
            ErrorKind::OverLimit => Kind::OverLimit,
            ErrorKind::Unavailable => Kind::Unavailable,
            ErrorKind::Tampered => Kind::Tampered,
            ErrorKind::Overloaded => Kind::Overloaded,
            ErrorKind::Internal => Kind::Internal,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let reason = match (error.kind(), &error) {
            (ErrorKind::BadInput, _) => Reason::BadInput,
            (ErrorKind::OverLimit, _) => Reason::OverLimit,
            (ErrorKind::Unavailable, _) => Reason::Unavailable,
            (ErrorKind::Tampered, _) => Reason::Tampered,
            (ErrorKind::Overloaded, Error::Pool(PoolError::TooLate { .. })) => Reason::TooLate,
            (ErrorKind::Overloaded, Error::Pool(PoolError::Expired)) => Reason::Expired,
            (ErrorKind::Overloaded, Error::Pool(PoolError::Cancelled)) => Reason::Ending,
            (ErrorKind::Overloaded, _) => Reason::QueueFull,
            (ErrorKind::Internal, _) => Reason::Internal,
        };
        let problem = Self::new(reason, error.to_string());
        match error {
            // Once the items ahead of it have been computed, there would be time.
            Error::Pool(PoolError::TooLate { predicted, allowed }) => {
                problem.after(predicted.saturating_sub(allowed).max(Duration::from_millis(1)))
            }
            _ => problem,
        }
    }
}

impl Schema for Problem {
    fn schema() -> Value {
        let types: Vec<_> = Reason::ALL.iter().map(|known| known.urn()).collect();
        let integer = || json!({ "type": "integer" });
        let text = || json!({ "type": "string" });
        let field = |name, about: &str, schema, optional| -> Field {
            (name, about.to_owned(), schema, optional)
        };
        object(
            "Why a request failed (RFC 9457). A wrong password is not one of these reasons.",
            vec![
                field("type", "The reason.", json!({ "type": "string", "enum": types }), false),
                field("title", "What the reason means.", text(), false),
                field("status", "The status of the answer.", integer(), false),
                field("detail", "What happened, for people.", text(), false),
                field("outcome", "Which of the six kinds of error it is.", Kind::schema(), false),
                field("retry_after_ms", "Milliseconds until a retry may succeed.", integer(), true),
            ],
        )
    }
}

/// The statuses of problems, and their meanings, for the document.
pub(crate) fn statuses() -> std::collections::BTreeMap<u16, Vec<&'static str>> {
    let mut statuses = std::collections::BTreeMap::<u16, Vec<&'static str>>::new();
    for (status, _, title) in Reason::ALL.iter().map(|reason| reason.meaning()) {
        statuses.entry(status).or_default().push(title);
    }
    statuses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_to_be_tried_again() {
        for &reason in Reason::ALL {
            let passes = reason.meaning().1 == Kind::Overloaded || reason == Reason::Starting;
            let wait = Problem::new(reason, "").retry_seconds();
            assert_eq!(wait, passes.then_some(1), "{reason:?}");
        }
    }

    #[test]
    fn every_error_of_the_library_is_a_problem_of_its_kind() {
        let errors: [Error; 4] = [
            PoolError::Expired.into(),
            PoolError::Overloaded { waiting: 3, limit: 3 }.into(),
            PoolError::OverBudget { needed: 2, limit: 1 }.into(),
            PoolError::Panicked.into(),
        ];
        for error in errors {
            let (kind, problem) = (Kind::from(error.kind()), Problem::from(error));
            assert_eq!(problem.kind, kind);
            let helps = kind == Kind::Overloaded;
            assert_eq!(problem.retry_seconds().is_some(), helps, "{problem:?}");
        }
        let (predicted, allowed) = (Duration::from_millis(2600), Duration::from_millis(500));
        let late = Problem::from(Error::from(PoolError::TooLate { predicted, allowed }));
        assert_eq!((late.status, late.retry_seconds()), (503, Some(3)));
        assert_eq!(late.json()["retry_after_ms"], 2100);
        assert_eq!(Problem::read(503, &late.text()), Some(late));
    }
}
