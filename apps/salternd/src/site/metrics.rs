//! Counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use saltern::policy::Scheme;

use crate::api::{Kind, OPS, Op, Problem, Reason};

/// The outcomes of requests: those of answers, those of problems, and that nobody waited any more.
pub(super) const OUTCOMES: [&str; 19] = [
    "hashed",
    "match",
    "mismatch",
    "locked",
    "current",
    "outdated",
    "rekeyed",
    "unchanged",
    "sealed",
    "counted",
    "complete",
    "ok",
    "bad-input",
    "over-limit",
    "unavailable",
    "tampered",
    "overloaded",
    "internal",
    "gone",
];

/// The upper bounds of the time buckets, in seconds.
pub(super) const BUCKETS: [f64; 14] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Why the service has ended a connection.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    /// The peer has not proved its identity.
    Unknown = 0,
    /// Its client has too many connections.
    TooMany = 1,
    /// Its client does not read its answers.
    Unread = 2,
}

/// The words for that.
pub(super) const ENDED: [&str; 3] = ["unknown", "too-many", "unread"];

/// Classes of memory: below 2 MiB, from 2 MiB on, from 4 MiB on; the last is from 4 GiB on.
pub(super) const CLASSES: usize = 13;

/// Counts since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(super) requests: [[AtomicU64; OUTCOMES.len()]; OPS],
    pub(super) times: [Times; OPS],
    pub(super) reasons: [AtomicU64; Reason::ALL.len()],
    /// Lines of batches.
    pub(super) lines: [[AtomicU64; OUTCOMES.len()]; OPS],
    /// Stored strings, by scheme and class of memory.
    pub(super) strings: [[AtomicU64; CLASSES]; Scheme::ALL.len()],
    pub(super) updates: AtomicU64,
    pub(super) remembered: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(super) ended: [AtomicU64; ENDED.len()],
    pub(crate) reloads: AtomicU64,
    pub(crate) failed_reloads: AtomicU64,
    /// 1 if the file has changed settings that need a restart.
    pub(crate) restart: AtomicU64,
    /// ROMs that are in memory and whose files cannot be used any more, at the last reload.
    pub(crate) roms_without_files: AtomicU64,
    /// When the first certificate of a listener ends, in seconds since 1970; 0 without any.
    pub(crate) certificate_ends: AtomicU64,
}

#[derive(Default)]
pub(super) struct Times {
    pub(super) buckets: [AtomicU64; BUCKETS.len()],
    pub(super) count: AtomicU64,
    /// Microseconds.
    pub(super) sum: AtomicU64,
}

impl Metrics {
    /// Counts the end of a request.
    pub(crate) fn count(&self, op: Op, outcome: &str, time: Duration) {
        add(&self.requests, op, outcome);
        // A refusal takes microseconds: among the times of answers it would hide those of logins.
        if outcome == "gone" || Kind::WORDS.contains(&outcome) {
            return;
        }
        let Some(times) = self.times.get(op.index()) else { return };
        let seconds = time.as_secs_f64();
        if let Some(at) = BUCKETS.iter().position(|end| seconds <= *end) {
            times.buckets[at].fetch_add(1, Relaxed);
        }
        times.count.fetch_add(1, Relaxed);
        times.sum.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts a problem by its reason.
    pub(crate) fn problem(&self, problem: &Problem) {
        if let Some(count) = self.reasons.get(problem.reason as usize) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Counts a connection that the service has ended.
    pub(crate) fn ended(&self, why: Ended) {
        self.ended[why as usize].fetch_add(1, Relaxed);
    }

    /// Counts a line of a batch.
    pub(crate) fn line(&self, op: Op, outcome: &str) {
        add(&self.lines, op, outcome);
    }

    /// Counts a verified stored string, whose hash takes this many bytes.
    pub(crate) fn string(&self, scheme: Scheme, memory: u64) {
        let at = Scheme::ALL.iter().position(|known| *known == scheme);
        let class = ((memory >> 20).max(1).ilog2() as usize).min(CLASSES - 1);
        if let Some(counts) = at.and_then(|at| self.strings.get(at)) {
            counts[class].fetch_add(1, Relaxed);
        }
    }

    /// Counts an update that was returned.
    pub(crate) fn update(&self) {
        self.updates.fetch_add(1, Relaxed);
    }

    /// Counts a match that was remembered.
    pub(crate) fn remembered(&self) {
        self.remembered.fetch_add(1, Relaxed);
    }
}

/// Counts one more outcome of an operation.
fn add(counts: &[[AtomicU64; OUTCOMES.len()]; OPS], op: Op, outcome: &str) {
    let at = OUTCOMES.iter().position(|known| *known == outcome);
    debug_assert!(at.is_some(), "{outcome}");
    let counts = counts.get(op.index());
    if let Some(count) = at.zip(counts).and_then(|(at, counts)| counts.get(at)) {
        count.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Completion, Counting, Freshness, Hashing, Kind, Rekeying, Sealing, Verdict};

    #[test]
    fn every_word_of_an_answer_or_a_problem_is_counted() {
        let answers = [Hashing::WORDS, Verdict::WORDS, Freshness::WORDS, Rekeying::WORDS];
        let others = [Sealing::WORDS, Counting::WORDS, Completion::WORDS, Kind::WORDS];
        let said: Vec<_> = [answers.concat(), others.concat()].concat();
        assert!(said.iter().all(|word| OUTCOMES.contains(word)), "{said:?}");
        let more = OUTCOMES.iter().filter(|outcome| !said.contains(outcome));
        assert_eq!(more.collect::<Vec<_>>(), [&"ok", &"gone"]);
    }
}
