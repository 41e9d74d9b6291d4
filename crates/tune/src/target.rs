//! The target of a search.

use std::time::Duration;

use saltern::Policy;
use serde::Serialize;

use crate::error::Error;

/// The most load at a peak, as a fraction of a pool's capacity: beyond this, small changes of the
/// machine cause large changes of the latency.
pub(crate) const LOAD: f64 = 0.85;

/// The latency in a trial must be within this fraction of the target, since a trial is shorter than
/// the confirmation.
pub(crate) const MARGIN: f64 = 0.8;

/// The requirements of a site.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Logins per second.
    pub logins: f64,
    /// The load at a peak as a multiple, at least 1. The target must be met for as long as the peak
    /// lasts.
    pub burst: f64,
    /// The time within which 99 of 100 logins must be answered, from their arrival.
    #[serde(rename = "p99_ms", serialize_with = "as_ms")]
    pub p99: Duration,
    /// Bytes of memory for hashing. A ROM in memory comes on top.
    pub memory: u64,
}

fn as_ms<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(1000.0 * time.as_secs_f64())
}

/// A login that has taken this many times the target is given up.
const PATIENCE: u32 = 4;

impl Target {
    /// Logins per second at a peak.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.logins * self.burst
    }

    /// [`Target::p99`] in milliseconds.
    pub(crate) fn p99_ms(&self) -> f64 {
        1000.0 * self.p99.as_secs_f64()
    }

    /// Checks the values of the target.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what, allowed| Err(Error::Target { what, allowed });
        if !(0.01..=1e6).contains(&self.logins) {
            return wrong("logins", "0.01 to 1000000 per second");
        }
        if !(1.0..=1000.0).contains(&self.burst) {
            return wrong("burst", "1 to 1000 times the logins");
        }
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&self.p99) {
            return wrong("p99", "1 ms to 60 s");
        }
        Ok(())
    }

    /// A policy with this memory, and a deadline of four times the target: under overload, logins
    /// that are far too late are not computed.
    #[must_use]
    pub fn policy(&self, base: Policy) -> Policy {
        let mut policy = base;
        policy.pool.memory = self.memory;
        policy.deadline = Some(self.p99 * PATIENCE);
        policy
    }
}
