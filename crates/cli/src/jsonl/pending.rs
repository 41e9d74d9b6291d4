//! A line whose answer is being computed.

use std::time::Duration;

use saltern_pool::OneTicket;
use saltern_yescrypt::HashString;

use crate::compute::wait_for;

/// What is said of a line that is not answered.
pub(super) const TOO_LATE: &str = "the deadline passed before there was an answer";

/// What comes of a line.
pub(super) enum Answer {
    Hash(String),
    Match(bool),
}

/// An answer that is being computed.
pub(super) enum Pending {
    Hash(OneTicket<HashString>),
    Verify(OneTicket<bool>),
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
        }
    }
}

fn text(hash: HashString) -> Result<Answer, String> {
    let text = hash.to_str().map(str::to_owned);
    text.map(Answer::Hash).map_err(|_| "the string is not UTF-8".to_owned())
}
