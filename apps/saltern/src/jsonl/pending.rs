//! A line whose answer is being computed.

use std::time::Duration;

use saltern::{Error, Outcome, Ticket};
use saltern_pool::OneTicket;
use saltern_yescrypt::HashString;

use crate::compute::wait_for;
use crate::crypt3;
use crate::policy::Due;

/// The error for a line that is not answered in time.
pub(super) const TOO_LATE: &str = "the deadline passed before there was an answer";

/// The result of a line.
pub(super) enum Answer {
    Hash(String),
    /// A new string, with notes on it.
    New {
        hash: String,
        notes: Vec<String>,
    },
    /// With the update that is due under a policy.
    Match(Option<Due>),
    Mismatch,
}

/// An answer that is being computed.
pub(super) enum Pending {
    Hash(OneTicket<HashString>),
    Verify(OneTicket<bool>),
    New(Ticket<String>),
    Login(Ticket<Outcome>),
}

impl Pending {
    /// The answer, if it is available within this time.
    pub(super) fn wait(self, time: Duration) -> Result<Result<Answer, String>, Pending> {
        match self {
            Pending::Hash(ticket) => match wait_for(ticket, time) {
                Ok(answer) => Ok(answer.and_then(text)),
                Err(ticket) => Err(Pending::Hash(ticket)),
            },
            Pending::Verify(ticket) => match wait_for(ticket, time) {
                Ok(answer) => {
                    Ok(answer.map(|is| if is { Answer::Match(None) } else { Answer::Mismatch }))
                }
                Err(ticket) => Err(Pending::Verify(ticket)),
            },
            Pending::New(ticket) => match ticket.wait_timeout(time) {
                Ok(answer) => Ok(answer.map(new).map_err(|error| error.to_string())),
                Err(ticket) => Err(Pending::New(ticket)),
            },
            Pending::Login(ticket) => match ticket.wait_timeout(time) {
                Ok(outcome) => Ok(login(outcome)),
                Err(ticket) => Err(Pending::Login(ticket)),
            },
        }
    }

    /// What is known at the deadline: a match is known before its update.
    pub(super) fn known_now(self) -> Option<Result<Answer, String>> {
        match self {
            Pending::Login(ticket) => ticket.known_now().map(login),
            Pending::Hash(_) | Pending::Verify(_) | Pending::New(_) => None,
        }
    }
}

fn login(outcome: Result<Outcome, Error>) -> Result<Answer, String> {
    match outcome.map_err(|error| error.to_string())? {
        Outcome::Match { outdated, update, .. } => {
            Ok(Answer::Match(Due::of(outdated.words(), update)))
        }
        Outcome::Mismatch => Ok(Answer::Mismatch),
        Outcome::Locked => Err("the account is locked, no password matches".to_owned()),
    }
}

fn new(hash: String) -> Answer {
    let notes = crypt3::notes(hash.as_bytes(), false, b"");
    Answer::New { hash, notes }
}

fn text(hash: HashString) -> Result<Answer, String> {
    let text = hash.to_str().map(str::to_owned);
    text.map(Answer::Hash).map_err(|_| "the string is not UTF-8".to_owned())
}
