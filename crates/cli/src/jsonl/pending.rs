//! A line whose answer is being computed.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use saltern_pool::OneTicket;
use saltern_yescrypt::HashString;

use crate::aside::Aside;
use crate::compute::wait_for;
use crate::rom::Again;

/// What comes of a line.
pub(super) enum Answer {
    Hash(String),
    Match(bool),
}

/// An answer that is being computed.
pub(super) enum Pending {
    Hash(OneTicket<HashString>),
    /// With what is computed, every block of its ROMs checked, before a mismatch is told.
    Verify(OneTicket<bool>, Option<Box<Again>>),
    /// Computed like that in the first place.
    Checked(Box<Again>),
    /// Another thread will tell.
    Elsewhere(Receiver<Result<Answer, String>>),
}

impl Pending {
    /// The answer, if it is there within this time.
    pub(super) fn wait(
        self,
        time: Duration,
        aside: &Aside,
    ) -> Result<Result<Answer, String>, Pending> {
        match self {
            Pending::Hash(ticket) => match wait_for(ticket, time) {
                Ok(answer) => Ok(answer.and_then(text)),
                Err(ticket) => Err(Pending::Hash(ticket)),
            },
            Pending::Verify(ticket, again) => match wait_for(ticket, time) {
                Ok(Ok(false)) => match again {
                    Some(again) => {
                        let matches = move || again.matches().map(Answer::Match);
                        Err(Pending::Elsewhere(aside.ask(matches)))
                    }
                    None => Ok(Ok(Answer::Match(false))),
                },
                Ok(answer) => Ok(answer.map(Answer::Match)),
                Err(ticket) => Err(Pending::Verify(ticket, again)),
            },
            Pending::Checked(again) => {
                Err(Pending::Elsewhere(aside.ask(move || again.hash().and_then(text))))
            }
            Pending::Elsewhere(receiver) => match receiver.recv_timeout(time) {
                Ok(answer) => Ok(answer),
                Err(RecvTimeoutError::Timeout) => Err(Pending::Elsewhere(receiver)),
                Err(RecvTimeoutError::Disconnected) => {
                    Ok(Err("the thread that checks ROMs has failed".to_owned()))
                }
            },
        }
    }
}

fn text(hash: HashString) -> Result<Answer, String> {
    let text = hash.to_str().map(str::to_owned);
    text.map(Answer::Hash).map_err(|_| "the string is not UTF-8".to_owned())
}
