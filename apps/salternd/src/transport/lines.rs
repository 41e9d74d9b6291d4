//! Request bodies as lines.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use saltern_wipe::Zeroizing;
use tokio::time::timeout;

use super::body_budget::{BodyBudget, Reservation};
use crate::api::{Problem, Reason};
use crate::body::piece;
use crate::handlers::{LINE, Lines, Numbered, Room};

/// A body as lines.
pub(super) struct BodyLines {
    body: Incoming,
    /// The time for a line that is not blank.
    time: Duration,
    bodies: Arc<BodyBudget>,
    client: String,
    /// The bytes of a line that has not ended yet.
    begun: Zeroizing<Vec<u8>>,
    /// Room for that line; `None` between lines, so that a silent client holds no room.
    taken: Option<Reservation>,
    /// Whether that line is too long, so that its bytes are not kept.
    long: bool,
    /// Bytes that have arrived but have not been processed.
    rest: Bytes,
    number: u64,
    /// How long the service has waited for this line.
    waited: Duration,
    ended: bool,
}

impl BodyLines {
    /// Lines from a client, each of which must arrive within this time.
    pub(super) fn new(
        body: Incoming,
        time: Duration,
        bodies: &Arc<BodyBudget>,
        client: &str,
    ) -> Self {
        BodyLines {
            body,
            time,
            bodies: Arc::clone(bodies),
            client: client.to_owned(),
            begun: Zeroizing::default(),
            taken: None,
            long: false,
            rest: Bytes::new(),
            number: 0,
            waited: Duration::ZERO,
            ended: false,
        }
    }

    /// The line that has ended, unless it is blank.
    fn line(&mut self) -> Option<Numbered<Reservation>> {
        self.number += 1;
        let (number, most) = (self.number, self.bodies.body);
        let (line, taken) = (std::mem::take(&mut self.begun), self.taken.take());
        let long = std::mem::take(&mut self.long);
        // There is none at the end, after the last line.
        let mut room = taken.filter(|_| long || !line.trim_ascii().is_empty())?;
        room.keep(line.capacity().max(LINE));
        let too_long = || {
            let detail = format!("line {number} is longer than {most} bytes");
            Problem::new(Reason::TooLarge, detail)
        };
        let line = if long { Err(too_long()) } else { Ok(line) };
        Some(Numbered { number, line, room })
    }

    /// Takes bytes up to the end of a line; returns whether the end has arrived.
    fn fill(&mut self) -> bool {
        let most = self.bodies.body;
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let part = self.rest.split_to(end.unwrap_or(self.rest.len()));
        let length = self.begun.len() + part.len();
        if self.long || length > most {
            (self.long, self.begun) = (true, Zeroizing::default());
        } else {
            if length > self.begun.capacity() {
                // A growing buffer would leave copies of a password behind. The whole capacity is
                // wiped: no more than twice the line.
                let room = if end.is_some() { length } else { (2 * length).min(most) };
                let mut larger = Zeroizing::new(Vec::with_capacity(room));
                larger.extend_from_slice(&self.begun);
                self.begun = larger;
            }
            self.begun.extend_from_slice(&part);
        }
        if end.is_some() {
            let _ = self.rest.split_to(1);
        }
        end.is_some()
    }

    /// Waits for more of the body, up to the time for a line.
    async fn more(&mut self) -> Result<(), Problem> {
        let time = self.time;
        let slow = || Problem::new(Reason::Slow, format!("no line arrived within {time:?}"));
        let left = time.saturating_sub(self.waited);
        let _waiting = Waiting { waited: &mut self.waited, since: Instant::now() };
        match timeout(left, piece(&mut self.body)).await.map_err(|_| slow())?? {
            Some(piece) => self.rest = piece,
            None => self.ended = true,
        }
        Ok(())
    }
}

/// Adds the time until it is dropped, even if the future is dropped early.
struct Waiting<'a> {
    waited: &'a mut Duration,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.waited += self.since.elapsed();
    }
}

impl Lines for BodyLines {
    type Room = Reservation;

    /// Loses nothing if the future is dropped before it is done.
    async fn next(&mut self) -> Result<Option<Numbered<Reservation>>, Problem> {
        loop {
            if !self.rest.is_empty() {
                if self.taken.is_none() {
                    self.taken = Some(self.bodies.take_for_line(&self.client).await);
                }
                if self.fill()
                    && let Some(line) = self.line()
                {
                    self.waited = Duration::ZERO;
                    return Ok(Some(line));
                }
                continue;
            }
            if self.ended {
                return Ok(self.line());
            }
            self.more().await?;
        }
    }

    fn number(&self) -> u64 {
        self.number
    }
}
