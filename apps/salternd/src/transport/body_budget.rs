//! The memory of bodies and lines: for all clients together, and for each one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::limits::Limits;
use super::quota::{Holder, Quota, Share};
use crate::api::{Problem, Reason};
use crate::handlers::{LINE, Room};

/// How long a line waits for memory before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes that bodies may take.
pub(super) struct BodyBudget {
    all: Arc<Semaphore>,
    of_one: Arc<Quota>,
    /// The most bytes of all together.
    most: usize,
    /// The most bytes of one body or line.
    pub(super) body: usize,
}

/// Bytes reserved for a body until this is dropped.
pub(super) struct Reservation {
    all: OwnedSemaphorePermit,
    of_one: Share,
}

impl BodyBudget {
    /// One client may have half of the memory.
    pub(super) fn new(limits: &Limits) -> Self {
        let (most, body) = (limits.bodies, limits.body);
        let of_one = Quota::new(most / 2);
        BodyBudget { all: Arc::new(Semaphore::new(most)), of_one, most, body }
    }

    /// Reserves bytes for a body of the client with this name, at most those of the longest.
    ///
    /// # Errors
    /// *Overloaded* if the bodies of this client, or of all, take too much already.
    pub(super) fn take(&self, client: &str, bytes: usize) -> Result<Reservation, Problem> {
        self.reserve(client, bytes.min(self.body))
    }

    fn reserve(&self, client: &str, bytes: usize) -> Result<Reservation, Problem> {
        let full = |whose: &str| {
            let detail =
                format!("the bodies of {whose} take up all the memory reserved for bodies");
            Problem::new(Reason::QueueFull, detail)
        };
        let of_one = self.of_one.take(Holder::Client(client.to_owned()), bytes);
        let of_one = of_one.ok_or_else(|| full("other requests of this client"))?;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let all = Arc::clone(&self.all).try_acquire_many_owned(bytes);
        let all = all.map_err(|_| full("other requests"))?;
        Ok(Reservation { all, of_one })
    }

    /// Reserves bytes for the longest line as soon as they are available. Lines that have begun
    /// never wait for more, so they end or time out, and memory becomes free once their answers
    /// have been sent.
    pub(super) async fn take_for_line(&self, client: &str) -> Reservation {
        let longest = self.body.max(LINE).min(self.most / 4);
        loop {
            match self.reserve(client, longest) {
                Ok(taken) => return taken,
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

impl Room for Reservation {
    fn keep(&mut self, bytes: usize) {
        let rest = self.all.num_permits().saturating_sub(bytes);
        drop(self.all.split(rest));
        self.of_one.give_back(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(body: usize, bodies: usize) -> Limits {
        let second = Duration::from_secs(1);
        Limits {
            body,
            bodies,
            head: 8192,
            head_time: second,
            body_time: second,
            answer_time: second,
            connections: 1,
            client_connections: 1,
        }
    }

    #[test]
    fn one_client_has_half_of_the_memory_and_others_have_the_rest() {
        let bodies = BodyBudget::new(&limits(100, 400));
        let user = |number: u32, bytes| bodies.take(&number.to_string(), bytes);
        let mut mine = [user(1, 100).unwrap(), user(1, 1000).unwrap()];
        assert!(user(1, 1).is_err());
        let other = user(2, 100).unwrap();
        mine[0].keep(30);
        let more = user(1, 70).unwrap();
        assert!(user(1, 1).is_err());
        drop(mine);
        let _all = [user(2, 100).unwrap(), user(1, 100).unwrap()];
        assert!(user(2, 1).is_err() && user(3, 30).is_ok() && user(3, 31).is_err());
        drop((other, more));
        assert!(user(3, 100).is_ok());
    }
}
