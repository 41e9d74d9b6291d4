//! Counting a table sent as lines.

use std::pin::pin;
use std::time::{Duration, Instant};

use saltern::Error;
use saltern::table::Census;

use super::batch::is_ending;
use super::single::of_account;
use super::{Call, Lines, Numbered};
use crate::api::{Answer, Problem, Stored, Unsound};

/// The most strings that are listed.
const LISTED: usize = 1000;

/// How long lines are counted before other tasks may continue.
const TURN: Duration = Duration::from_millis(1);

/// Counts stored strings, one in each line. A line that cannot be read is counted as bad.
///
/// # Errors
/// If the lines cannot be received, or one is too long.
pub(crate) async fn census(call: &Call, lines: &mut impl Lines) -> Result<Answer, Problem> {
    let (table, mut census) = (call.context.current.passwords.table(), Census::default());
    let (mut unreadable, mut unsound, mut began) = (0, Vec::new(), Instant::now());
    let mut ending = pin!(call.context.state.ending());
    loop {
        let next = tokio::select! {
            next = lines.next() => next?,
            () = &mut ending => return Err(is_ending()),
        };
        let Some(Numbered { number, line, room: _room }) = next else { break };
        match Stored::parse(&line?) {
            // Bad strings are counted there.
            Ok(stored) => match of_account(table, &stored).count(&stored.hash, &mut census) {
                Err(error) if unsound.len() < LISTED && is_unsound(&error) => {
                    let account = stored.account.map(|account| account.to_string());
                    unsound.push(Unsound { line: number, account, why: error.to_string() });
                }
                _ => {}
            },
            Err(_) => unreadable += 1,
        }
        if began.elapsed() > TURN {
            // Logins come first.
            tokio::task::yield_now().await;
            began = Instant::now();
        }
    }
    census.bad += unreadable;
    Ok(Answer::counted(census, unsound))
}

/// Whether a string is not the one sealed for its account, or nobody knows.
fn is_unsound(error: &Error) -> bool {
    matches!(error, Error::Tampered { .. } | Error::Unavailable { .. })
}
