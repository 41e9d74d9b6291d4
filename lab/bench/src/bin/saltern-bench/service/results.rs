//! What became of many logins.

use std::time::Duration;

use saltern_server::api::{Kind, Reason, Verdict, Verified};
use saltern_server::client::Error;

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Match,
    Mismatch,
    /// At once: there would not be time, or no room.
    Refused,
    /// In the end: there was no time after all.
    Expired,
    /// By the client itself, which did not send it.
    Throttled,
    /// Anything else, and connections that broke.
    Other,
}

impl End {
    /// Whether a login of the right password may end so.
    pub(super) fn is_right(self) -> bool {
        matches!(self, End::Match | End::Refused | End::Expired | End::Throttled)
    }

    pub(super) fn of(answer: &Result<Verified, Error>) -> Self {
        match answer {
            Ok(verified) if verified.outcome == Verdict::Match => End::Match,
            Ok(verified) if verified.outcome == Verdict::Mismatch => End::Mismatch,
            Err(Error::Problem(problem)) => match problem.reason {
                Reason::Throttled => End::Throttled,
                Reason::Expired => End::Expired,
                _ if problem.kind == Kind::Overloaded => End::Refused,
                _ => End::Other,
            },
            _ => End::Other,
        }
    }
}

/// A login that has ended; times in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Login {
    /// Seconds from the start of the load until it was due.
    pub(super) at: f64,
    /// From then until it was sent.
    pub(super) lag: f64,
    /// From then until it was answered.
    pub(super) time: f64,
    pub(super) end: End,
}

/// What became of many logins.
#[derive(Default)]
pub(super) struct Load {
    pub(super) logins: Vec<Login>,
    pub(super) wrong: usize,
    pub(super) expired: usize,
    pub(super) seconds: f64,
}

impl Load {
    /// Matches that were answered at these seconds, a moment after they were due.
    #[cfg(test)]
    pub(super) fn of_matches(answered: impl Iterator<Item = f64>, seconds: f64) -> Self {
        let login = |at| Login { at, lag: 0.0, time: 0.0, end: End::Match };
        Load { logins: answered.map(login).collect(), seconds, ..Load::default() }
    }

    /// Adds those of another load.
    pub(super) fn join(&mut self, other: Load) {
        self.logins.extend(other.logins);
        self.wrong += other.wrong;
        self.expired += other.expired;
        self.seconds += other.seconds;
    }

    fn of(&self, end: End, from: f64, to: f64) -> Vec<f64> {
        let wanted = |login: &&Login| login.end == end && (from..to).contains(&login.at);
        self.logins.iter().filter(wanted).map(|login| login.time).collect()
    }

    /// Of those that matched.
    pub(super) fn times(&self) -> Vec<f64> {
        self.of(End::Match, 0.0, f64::INFINITY)
    }

    /// Of those that matched and were due in these seconds.
    pub(super) fn times_between(&self, from: f64, to: f64) -> Vec<f64> {
        self.of(End::Match, from, to)
    }

    /// Those that our client has not sent.
    pub(super) fn throttled(&self) -> usize {
        self.of(End::Throttled, 0.0, f64::INFINITY).len()
    }

    /// Of refusals.
    pub(super) fn refused(&self) -> Vec<f64> {
        self.of(End::Refused, 0.0, f64::INFINITY)
    }

    pub(super) fn refused_between(&self, from: f64, to: f64) -> usize {
        self.of(End::Refused, from, to).len()
    }

    pub(super) fn lags(&self) -> Vec<f64> {
        self.logins.iter().map(|login| login.lag).collect()
    }

    pub(super) fn sent(&self) -> usize {
        self.logins.len()
    }

    /// Of those that matched in time, how many a second were answered from one of these seconds to
    /// the other.
    pub(super) fn goodput(&self, within: Duration, from: f64, to: f64) -> f64 {
        let most = 1e3 * within.as_secs_f64();
        let good = |login: &&Login| {
            let answered = login.at + login.time / 1e3;
            login.end == End::Match
                && login.time - login.lag <= most
                && (from..to).contains(&answered)
        };
        self.logins.iter().filter(good).count() as f64 / (to - from)
    }

    /// Those that matched more than so long after they were sent.
    pub(super) fn late(&self, within: Duration) -> usize {
        let most = 1e3 * within.as_secs_f64();
        let late = |login: &&Login| login.end == End::Match && login.time - login.lag > most;
        self.logins.iter().filter(late).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_what_was_answered_in_time_within_these_seconds() {
        let login = |at, time, end| Login { at, lag: 1.0, time, end };
        let logins = vec![
            login(0.5, 400.0, End::Match),
            login(0.9, 400.0, End::Match),
            login(1.0, 600.0, End::Match),
            login(1.2, 300.0, End::Refused),
            login(1.9, 400.0, End::Match),
        ];
        let load = Load { logins, ..Load::default() };
        let within = Duration::from_millis(500);
        assert_eq!(load.goodput(within, 1.0, 2.0), 1.0);
        assert_eq!((load.late(within), load.refused()), (1, vec![300.0]));
        assert_eq!(load.times_between(1.0, 1.5), [600.0]);
    }
}
