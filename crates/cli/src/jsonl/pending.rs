//! A line whose answer is being computed.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use saltern_pool::OneTicket;
use saltern_yescrypt::HashString;

use crate::aside::Aside;
use crate::compute::wait_for;
use crate::rom::Again;

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
    /// With what is computed, every block of its ROMs checked, before a mismatch is told.
    Verify(OneTicket<bool>, Option<Box<Again>>),
    /// Computed like that in the first place.
    Checked(Box<Again>),
    /// Another thread will tell.
    Elsewhere(Receiver<Result<Answer, String>>),
}

impl Pending {
    /// The answer, if it is there within this time. What has to be done elsewhere is not begun any
    /// more once it is due.
    pub(super) fn wait(
        self,
        time: Duration,
        due: Option<Instant>,
        aside: &Aside,
    ) -> Result<Result<Answer, String>, Pending> {
        let in_time = move || match due {
            Some(due) if due <= Instant::now() => Err(TOO_LATE.to_owned()),
            _ => Ok(()),
        };
        match self {
            Pending::Hash(ticket) => match wait_for(ticket, time) {
                Ok(answer) => Ok(answer.and_then(text)),
                Err(ticket) => Err(Pending::Hash(ticket)),
            },
            Pending::Verify(ticket, again) => match wait_for(ticket, time) {
                Ok(Ok(false)) => match again {
                    Some(again) => {
                        let matches = move || in_time().and_then(|()| again.matches());
                        let matches = move || matches().map(Answer::Match);
                        Err(Pending::Elsewhere(aside.ask(matches)))
                    }
                    None => Ok(Ok(Answer::Match(false))),
                },
                Ok(answer) => Ok(answer.map(Answer::Match)),
                Err(ticket) => Err(Pending::Verify(ticket, again)),
            },
            Pending::Checked(again) => {
                let hash = move || in_time().and_then(|()| again.hash()).and_then(text);
                Err(Pending::Elsewhere(aside.ask(hash)))
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
