//! A line whose answer is being computed.

use std::time::Duration;

use saltern::{Outcome, Ticket};
use saltern_pool::OneTicket;
use saltern_yescrypt::HashString;

use crate::compute::wait_for;

/// What is said of a line that is not answered.
pub(super) const TOO_LATE: &str = "the deadline passed before there was an answer";

/// What comes of a line.
pub(super) enum Answer {
    Hash(String),
    Match(bool),
    /// A match, with the update that is due under a policy.
    Outdated {
        reasons: Vec<&'static str>,
        update: Option<String>,
    },
}

/// What is told of an outdated string.
pub(super) struct Told {
    pub(super) reasons: Vec<&'static str>,
    /// Whether to tell what is to take its place.
    pub(super) update: bool,
}

/// An answer that is being computed.
pub(super) enum Pending {
    Hash(OneTicket<HashString>),
    Verify(OneTicket<bool>),
    New(Ticket<String>),
    Login(Ticket<Outcome>, Told),
}

impl Pending {
    /// The answer, if it is there within this time.
    pub(super) fn wait(self, time: Duration) -> Result<Result<Answer, String>, Pending> {
        match self {
            Pending::Hash(ticket) => match wait_for(ticket, time) {
                Ok(answer) => Ok(answer.and_then(text)),
                Err(ticket) => Err(Pending::Hash(ticket)),
            },
            Pending::Verify(ticket) => match wait_for(ticket, time) {
                Ok(answer) => Ok(answer.map(Answer::Match)),
                Err(ticket) => Err(Pending::Verify(ticket)),
            },
            Pending::New(ticket) => match ticket.wait_timeout(time) {
                Ok(answer) => Ok(answer.map(Answer::Hash).map_err(|error| error.to_string())),
                Err(ticket) => Err(Pending::New(ticket)),
            },
            Pending::Login(ticket, told) => match ticket.wait_timeout(time) {
                Ok(Ok(outcome)) => Ok(told.answer(outcome)),
                Ok(Err(error)) => Ok(Err(error.to_string())),
                Err(ticket) => Err(Pending::Login(ticket, told)),
            },
        }
    }
}

impl Told {
    fn answer(self, outcome: Outcome) -> Result<Answer, String> {
        match outcome {
            Outcome::Match { update: Some(update) } => {
                let update = self.update.then_some(update.new);
                Ok(Answer::Outdated { reasons: self.reasons, update })
            }
            Outcome::Match { update: None } => Ok(Answer::Match(true)),
            Outcome::Mismatch => Ok(Answer::Match(false)),
            Outcome::Locked => Err("the account is locked, no password matches".to_owned()),
        }
    }
}

fn text(hash: HashString) -> Result<Answer, String> {
    let text = hash.to_str().map(str::to_owned);
    text.map(Answer::Hash).map_err(|_| "the string is not UTF-8".to_owned())
}
