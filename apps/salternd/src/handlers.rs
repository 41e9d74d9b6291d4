//! The processing of requests, independent of the transport.

mod batch;
mod census;
mod forward_auth;
mod single;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use saltern::Passwords;
use saltern_wipe::Zeroizing;
use serde_json::{Value, json};

pub(crate) use self::batch::batch;
pub(crate) use self::census::census;
pub(crate) use self::forward_auth::{Access, Credentials, forward_auth};
pub(crate) use self::single::single;
use crate::api::{Answer, Kind, Op, Problem, Reason};
use crate::site::{Client, Current, Peer, State, UnderWay};

/// A line of a request.
pub(crate) struct Numbered<R> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// The line, or why it cannot be read.
    pub(crate) line: Result<Zeroizing<Vec<u8>>, Problem>,
    /// The memory reserved for it.
    pub(crate) room: R,
}

/// A reservation of memory for a line, and then for its answer until that has been sent.
pub(crate) trait Room: Send + 'static {
    /// Gives back all but this many bytes.
    fn keep(&mut self, bytes: usize);
}

/// The least memory that is reserved for a line: it is processed in a task of its own.
pub(crate) const LINE: usize = 4096;

/// Lines of a request, as they arrive.
pub(crate) trait Lines: Send + 'static {
    type Room: Room;

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    /// Why this line and all after it cannot be read.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<Numbered<Self::Room>>, Problem>> + Send;

    /// The number of the last line that has ended.
    fn number(&self) -> u64;
}

/// The site state and the client for a request, or for a line of one.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) state: Arc<State>,
    pub(crate) current: Arc<Current>,
    pub(crate) client: Arc<Client>,
}

impl RequestContext {
    /// The state and the client of a peer, as currently configured.
    ///
    /// # Errors
    /// *Unavailable* while the service starts, *forbidden* for a stranger.
    pub(crate) fn of(state: &Arc<State>, peer: &Peer) -> Result<Self, Problem> {
        let current = state.ready()?;
        let client = Arc::clone(current.clients.of(peer)?);
        Ok(RequestContext { state: Arc::clone(state), current, client })
    }

    /// The passwords of the site, computed in the share of the client.
    fn passwords(&self) -> Passwords {
        self.current.passwords.share(self.client.share)
    }
}

/// A request in progress: its client, the site state, and its arrival. It is counted when it ends,
/// even if nobody waits for it any more.
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) context: RequestContext,
    pub(crate) peer: Peer,
    pub(crate) received: Instant,
    /// The deadline set by a proxy that passed it on.
    pub(crate) timeout: Option<Duration>,
    /// The trace that it is part of, if given.
    pub(crate) trace: Option<String>,
    ended: bool,
    _under_way: UnderWay,
}

impl Call {
    /// Begins a request.
    ///
    /// # Errors
    /// *Forbidden* if the client may not do this; *overloaded* if it has sent too many requests.
    pub(crate) fn begin(
        op: Op,
        context: RequestContext,
        peer: &Peer,
        received: Instant,
    ) -> Result<Self, Problem> {
        context.client.may_ask(op.rights())?;
        let _under_way = context.client.begin()?;
        let (peer, timeout, trace) = (peer.clone(), None, None);
        Ok(Call { op, context, peer, received, timeout, trace, ended: false, _under_way })
    }

    /// How much time is left of the deadlines of the request, the proxy and the site: the shortest
    /// counts.
    fn left(&self, asked: Option<u64>) -> Result<Duration, Problem> {
        let of_policy = self.context.current.passwords.table().policy().deadline;
        let of_site = of_policy.unwrap_or(self.context.current.timeout);
        let asked = asked.map(Duration::from_millis).into_iter().chain(self.timeout);
        let allowed = asked.fold(of_site, Duration::min);
        let left = allowed.saturating_sub(self.received.elapsed());
        if left.is_zero() {
            return Err(Problem::new(
                Reason::TooLate,
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

    /// Counts the problem for which the request, or a line of it, failed. Faults of the service or
    /// of its site are also logged as warnings.
    fn failed(&self, op: Op, problem: &Problem) {
        let RequestContext { state, client, .. } = &self.context;
        state.metrics.problem(problem);
        if problem.kind == Kind::Overloaded {
            client.overloaded.fetch_add(1, Relaxed);
        }
        if matches!(problem.kind, Kind::Internal | Kind::Unavailable) {
            let fields = [
                ("op", json!(op.name())),
                ("client", json!(client.name)),
                ("reason", json!(problem.reason.word())),
                ("detail", json!(problem.detail)),
                ("trace", json!(self.trace)),
            ];
            state.log.warn_seldom("failed", problem.reason.word(), &fields);
        }
    }

    /// Counts the end of a request without an outcome.
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
        let RequestContext { state, current, client } = &self.context;
        state.metrics.count(self.op, outcome, time);
        client.ended.fetch_add(1, Relaxed);
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
            self.context.state.log.warn("panic", &[("op", json!(self.op.name()))]);
            return self.close("internal", 500);
        }
        self.close("gone", 499);
    }
}
