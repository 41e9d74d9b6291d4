//! What is done for each request, whichever way it came.

mod batch;
mod census;
mod single;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zeroize::Zeroizing;

pub(crate) use self::batch::batch;
pub(crate) use self::census::census;
pub(crate) use self::single::single;
use crate::api::{Answer, Kind, Op, Problem};
use crate::site::{Client, Current, Peer, State, UnderWay};

/// A line and the room that is kept for it, or why it cannot be read, and its number, counted
/// from 1.
pub(crate) type Numbered<R> = (u64, Result<(Zeroizing<Vec<u8>>, R), Problem>);

/// Lines of a request, as they come.
pub(crate) trait Lines: Send + 'static {
    /// What stands for the memory of a line, and is to be kept until the line is done.
    type Room: Send + 'static;

    /// The next line that is not blank; nothing at the end.
    ///
    /// # Errors
    /// What keeps this line and all after it from being read.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<Numbered<Self::Room>>, Problem>> + Send;

    /// The number of the last line that has ended.
    fn number(&self) -> u64;
}

/// What a request, or a line of one, is done with, and for whom.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) state: Arc<State>,
    pub(crate) current: Arc<Current>,
    pub(crate) client: Arc<Client>,
}

impl Means {
    /// Those of a peer as the files are now.
    ///
    /// # Errors
    /// *Unavailable* while the service starts, *forbidden* for a stranger.
    pub(crate) fn of(state: &Arc<State>, peer: &Peer) -> Result<Self, Problem> {
        let current = state.ready()?;
        let client = Arc::clone(current.clients.of(peer)?);
        Ok(Means { state: Arc::clone(state), current, client })
    }
}

/// A request on its way: whose it is, what it is done with, and when it came. It is counted when it
/// ends, also if that is because nobody waits for it any more.
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) means: Means,
    pub(crate) peer: Peer,
    pub(crate) received: Instant,
    /// The deadline that whoever passed it on has set.
    pub(crate) timeout: Option<Duration>,
    /// The trace that it is part of, if it says so.
    pub(crate) trace: Option<String>,
    ended: bool,
    _under_way: UnderWay,
}

impl Call {
    /// A request that is taken on.
    ///
    /// # Errors
    /// *Forbidden* if the client may not do this; *overloaded* if it has asked for too much.
    pub(crate) fn begin(
        op: Op,
        means: Means,
        peer: &Peer,
        received: Instant,
    ) -> Result<Self, Problem> {
        means.client.may_ask(op.rights())?;
        let _under_way = means.client.begin()?;
        let (peer, timeout, trace) = (peer.clone(), None, None);
        Ok(Call { op, means, peer, received, timeout, trace, ended: false, _under_way })
    }

    /// How much time is left of what the request, whoever passed it on, and the site allow: the
    /// shortest counts.
    fn left(&self, asked: Option<u64>) -> Result<Duration, Problem> {
        let of_policy = self.means.current.passwords.table().policy().deadline;
        let of_site = of_policy.unwrap_or(self.means.current.timeout);
        let asked = asked.map(Duration::from_millis).into_iter().chain(self.timeout);
        let allowed = asked.fold(of_site, Duration::min);
        let left = allowed.saturating_sub(self.received.elapsed());
        if left.is_zero() {
            return Err(Problem::new(
                "too-late",
                "there was no time left when the request was read",
            ));
        }
        Ok(left)
    }

    /// Counts the end.
    pub(crate) fn end(mut self, result: &Result<Answer, Problem>) {
        match result {
            Ok(answer) => self.close(answer.outcome(), 200),
            Err(problem) => {
                self.failed(self.op, problem);
                self.close(problem.outcome(), problem.status);
            }
        }
    }

    /// Counts what the request, or a line of it, was not done for. What is the fault of the service
    /// or of its site is warned about, too.
    fn failed(&self, op: Op, problem: &Problem) {
        let Means { state, client, .. } = &self.means;
        state.metrics.problem(problem);
        if matches!(problem.kind, Kind::Internal | Kind::Unavailable) {
            let fields = [
                ("op", json!(op.name())),
                ("client", json!(client.name)),
                ("reason", json!(problem.reason)),
                ("detail", json!(problem.detail)),
            ];
            state.log.warn_seldom("failed", problem.reason, &fields);
        }
    }

    /// Counts the end of a request that has no outcome of its own.
    pub(crate) fn done(mut self) {
        self.close("ok", 200);
    }

    /// Counts the end of a request whose answers were lines: all of them, or up to a problem.
    fn streamed(mut self, problem: Option<&Problem>) {
        if let Some(problem) = problem {
            self.failed(self.op, problem);
        }
        self.close(problem.map_or("complete", Problem::outcome), 200);
    }

    fn close(&mut self, outcome: &'static str, status: u16) {
        self.ended = true;
        let time = self.received.elapsed();
        let Means { state, current, client } = &self.means;
        state.metrics.count(self.op, outcome, time);
        if current.log_requests {
            let fields: [(&str, Value); 6] = [
                ("op", json!(self.op.name())),
                ("client", json!(client.name)),
                ("outcome", json!(outcome)),
                ("status", json!(status)),
                ("ms", json!((time.as_secs_f64() * 1e6).round() / 1e3)),
                ("trace", json!(self.trace)),
            ];
            state.log.info("request", &fields);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if std::thread::panicking() {
            self.means.state.log.warn("panic", &[("op", json!(self.op.name()))]);
            return self.close("internal", 500);
        }
        self.close("gone", 499);
    }
}
