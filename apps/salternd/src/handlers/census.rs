//! Counting a table sent as lines.

use std::pin::pin;
use std::time::{Duration, Instant};

use saltern::table::Census;

use super::batch::is_ending;
use super::{Call, Lines, Numbered};
use crate::api::{Answer, Problem, Stored};

/// How long lines are counted before other tasks may continue.
const TURN: Duration = Duration::from_millis(1);

/// Counts stored strings, one in each line. A line that cannot be read is counted as bad.
///
/// # Errors
/// If the lines cannot be received, or one is too long.
pub(crate) async fn census(call: &Call, lines: &mut impl Lines) -> Result<Answer, Problem> {
    let (table, mut census) = (call.context.current.passwords.table(), Census::default());
    let (mut unreadable, mut began) = (0, Instant::now());
    let mut ending = pin!(call.context.state.ending());
    loop {
        let next = tokio::select! {
            next = lines.next() => next?,
            () = &mut ending => return Err(is_ending()),
        };
        let Some(Numbered { line, room: _room, .. }) = next else { break };
        match Stored::parse(&line?) {
            // Bad strings are counted there.
            Ok(stored) => drop(table.count(&stored.hash, &mut census)),
            Err(_) => unreadable += 1,
        }
        if began.elapsed() > TURN {
            // Logins come first.
            tokio::task::yield_now().await;
            began = Instant::now();
        }
    }
    census.bad += unreadable;
    Ok(Answer::counted(census))
}
