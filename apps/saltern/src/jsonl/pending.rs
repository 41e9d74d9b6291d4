//! A line whose answer is being computed.

use std::time::Duration;

use saltern::{Error, Outcome, Ticket};

use crate::site::Origin;
use crate::verdict::{Due, Verdict};

/// The error for a line that is not answered in time.
pub(super) const TOO_LATE: &str = "the deadline passed before there was an answer";

/// The result of a line.
pub(super) enum Answer {
    Hash(String),
    /// With the update that is due under the policy of a file.
    Match(Option<Due>),
    Mismatch,
}

/// An answer that is being computed.
pub(super) enum Pending {
    Hash(Ticket<String>),
    Verify(Ticket<Outcome>),
}

impl Pending {
    /// The answer, if it is available within this time.
    pub(super) fn wait(
        self,
        time: Duration,
        origin: Origin,
    ) -> Result<Result<Answer, String>, Pending> {
        match self {
            Pending::Hash(ticket) => match ticket.wait_timeout(time) {
                Ok(hash) => Ok(hash.map(Answer::Hash).map_err(|error| origin.words(&error))),
                Err(ticket) => Err(Pending::Hash(ticket)),
            },
            Pending::Verify(ticket) => match ticket.wait_timeout(time) {
                Ok(outcome) => Ok(verdict(outcome, origin)),
                Err(ticket) => Err(Pending::Verify(ticket)),
            },
        }
    }

    /// What is known at the deadline: a match is known before its update.
    pub(super) fn known_now(self, origin: Origin) -> Option<Result<Answer, String>> {
        match self {
            Pending::Hash(_) => None,
            Pending::Verify(ticket) => ticket.known_now().map(|outcome| verdict(outcome, origin)),
        }
    }
}

fn verdict(outcome: Result<Outcome, Error>, origin: Origin) -> Result<Answer, String> {
    match Verdict::of(outcome, origin) {
        Verdict::Match(due) => Ok(Answer::Match(due)),
        Verdict::Mismatch => Ok(Answer::Mismatch),
        other => Err(other.reason().to_owned()),
    }
}
