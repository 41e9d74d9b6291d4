//! Many requests as lines of one: computed while no login waits.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use saltern::json::password;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use super::single::{Login, hash, needs_rehash, rekey, seal, verify};
use super::{Call, LINE, Lines, Numbered, RequestContext, Room};
use crate::api::{Answer, Asked, BatchLine, Line, Op, Problem, Reason};
use crate::body::keeping;

/// How long a line waits if the pool has no room for it.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a line waits for its client's rate limit before it checks for changes by a reload.
const RETRY: Duration = Duration::from_secs(1);

/// A line that was done, with the memory reserved for its answer.
struct Done<R> {
    room: Option<R>,
    number: u64,
    id: Option<Box<RawValue>>,
    result: Result<Answer, Problem>,
}

/// Allows one line of a batch to wait for its client's rate limit: no other is read meanwhile.
type RatePermit = OwnedSemaphorePermit;

/// Processes each line, and sends the answers as they become available, in any order. Stops once
/// nobody receives them.
///
/// The answers contain the number of their line. Lines are never refused because of load: they
/// wait. Each is processed with the rights, keys and limits in force when its turn comes. A problem
/// that ends the request early is the last answer; otherwise a final line marks the answer as
/// complete. Once the service is ending, no more lines are read.
///
/// The memory reserved for a line is kept until its answer has been sent: clients that do not read
/// their answers take no more than that.
pub(crate) async fn batch(call: Call, lines: impl Lines, answers: Sender<Option<Bytes>>) {
    let call = Arc::new(call);
    let stream = Stream { call: Arc::clone(&call), answers: answers.clone(), sent: 0 };
    let ended = tokio::select! {
        () = answers.closed() => Err(Gone),
        ended = stream.run(lines) => ended,
    };
    if let Ok(problem) = ended
        && let Some(call) = Arc::into_inner(call)
    {
        call.streamed(problem.as_ref());
    }
}

/// Nobody receives the answers any more.
struct Gone;

struct Stream {
    call: Arc<Call>,
    answers: Sender<Option<Bytes>>,
    sent: u64,
}

impl Stream {
    /// Processes all lines; returns the problem that has ended the request early, if any.
    async fn run<L: Lines>(mut self, mut lines: L) -> Result<Option<Problem>, Gone> {
        let lines_of_all = Arc::clone(&self.call.context.current.lines);
        // Each batch may have one line, and more while there are places: lines take memory.
        let room = |mine: usize| {
            mine == 0 || mine < lines_of_all.most && lines_of_all.places.available_permits() > 0
        };
        let (mut under_way, mut numbers) = (JoinSet::new(), HashMap::<Id, u64>::new());
        let (mut more, mut early) = (true, None);
        let turns = Arc::new(Semaphore::new(1));
        let state = Arc::clone(&self.call.context.state);
        let mut ending = pin!(state.ending());
        while more || !under_way.is_empty() {
            tokio::select! {
                biased;
                Some(done) = under_way.join_next_with_id() => {
                    let task = done.as_ref().map_or_else(tokio::task::JoinError::id, |done| done.0);
                    let number = numbers.remove(&task).unwrap_or_default();
                    let panicked = |_| {
                        let problem = Problem::new(Reason::Internal, "this line has failed");
                        Done { number, id: None, result: Err(problem), room: None }
                            .counted(&self.call, Op::Batch)
                    };
                    let done = done.map_or_else(panicked, |done| done.1);
                    self.answer(done).await?;
                }
                () = &mut ending, if more => {
                    (more, early) = (false, Some((lines.number() + 1, is_ending())));
                }
                line = in_turn(&turns, &mut lines), if more && room(under_way.len()) => match line {
                    (permit, Ok(Some(line))) => {
                        let number = line.number;
                        let task = under_way.spawn(one(Arc::clone(&self.call), line, permit));
                        numbers.insert(task.id(), number);
                    }
                    (_, Ok(None)) => more = false,
                    (_, Err(problem)) => {
                        (more, early) = (false, Some((lines.number() + 1, problem)));
                    }
                },
            }
        }
        match &early {
            Some((number, problem)) => {
                let result = Err(problem.clone());
                let room = None::<L::Room>;
                self.answer(Done { number: *number, id: None, result, room }).await?;
            }
            None => self.send(&Line::last(self.sent), None::<L::Room>).await?,
        }
        self.answers.send(None).await.map_err(|_| Gone)?;
        Ok(early.map(|early| early.1))
    }

    async fn answer(&mut self, done: Done<impl Room>) -> Result<(), Gone> {
        self.sent += 1;
        let Done { number, id, result, room } = done;
        self.send(&Line::new(number, id.as_deref(), &result), room).await
    }

    async fn send(&self, line: &impl Serialize, room: Option<impl Room>) -> Result<(), Gone> {
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        let mut room = room;
        if let Some(room) = &mut room {
            room.keep(text.capacity());
        }
        self.answers.send(Some(keeping(text, room))).await.map_err(|_| Gone)
    }
}

impl<R> Done<R> {
    /// Counts the line with its result.
    fn counted(self, call: &Call, op: Op) -> Self {
        if let Err(problem) = &self.result {
            call.failed(op, problem);
        }
        let outcome = self.result.as_ref().map_or_else(Problem::outcome, Answer::outcome);
        call.context.state.metrics.line(op, outcome);
        self
    }
}

/// The next line, once the one before it need not wait for the rate limit.
async fn in_turn<L: Lines>(
    turns: &Arc<Semaphore>,
    lines: &mut L,
) -> (Option<RatePermit>, Result<Option<Numbered<L::Room>>, Problem>) {
    // It is never closed.
    let permit = Arc::clone(turns).acquire_owned().await.ok();
    (permit, lines.next().await)
}

pub(super) fn is_ending() -> Problem {
    let detail = "the service is shutting down: no further lines are processed";
    Problem::new(Reason::Ending, detail)
}

async fn one<R: Room>(call: Arc<Call>, line: Numbered<R>, permit: Option<RatePermit>) -> Done<R> {
    let (mut id, Numbered { number, line, mut room }) = (None, line);
    let asked = line.and_then(|line| {
        // The part that has been read takes as much.
        let line = BatchLine::parse(&line)?;
        id = line.id.map(ToOwned::to_owned);
        line.asked()
    });
    let op = asked.as_ref().map_or(Op::Batch, Asked::op);
    let result = match asked {
        Ok(asked) => done(&call, asked, permit).await,
        Err(problem) => Err(problem),
    };
    room.keep(LINE);
    Done { number, id, result, room: Some(room) }.counted(&call, op)
}

impl Asked {
    const fn op(&self) -> Op {
        match self {
            Asked::Hash(_) => Op::Hash,
            Asked::Verify(_) => Op::Verify,
            Asked::NeedsRehash(_) => Op::NeedsRehash,
            Asked::Rekey(_) => Op::Rekey,
            Asked::Seal(_) => Op::Seal,
        }
    }

    /// How long the client waits for the answer, from when the line was read.
    fn time(&self) -> Option<Duration> {
        let asked = match self {
            Asked::Hash(hash) => hash.timeout_ms,
            Asked::Verify(verify) => verify.timeout_ms,
            Asked::NeedsRehash(_) | Asked::Rekey(_) | Asked::Seal(_) => None,
        };
        asked.map(Duration::from_millis)
    }
}

async fn done(call: &Call, asked: Asked, permit: Option<RatePermit>) -> Result<Answer, Problem> {
    let (time, op) = (asked.time(), asked.op());
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let context = by(until, counted(call, op)).await??;
    drop(permit);
    match asked {
        Asked::Hash(asked) => {
            let password = password(asked.password, asked.password_hex)?;
            let account = asked.account.as_ref().map(|account| account.as_str());
            compute_with_retry(call, context, op, (&Work::Hash(account, &password), until)).await
        }
        Asked::Verify(mut asked) => {
            let password = password(asked.password.take(), asked.password_hex.take())?;
            let login = Login::of(&asked, &password);
            compute_with_retry(call, context, op, (&Work::Verify(&login), until)).await
        }
        Asked::NeedsRehash(asked) => needs_rehash(&context, &asked.hash),
        Asked::Rekey(asked) => rekey(&context, &asked),
        Asked::Seal(asked) => seal(&context, &asked),
    }
}

/// The result of some work, if it is available by then.
async fn by<T>(until: Option<Instant>, work: impl Future<Output = T>) -> Result<T, Problem> {
    let Some(until) = until else { return Ok(work.await) };
    let late = |_| Problem::new(Reason::Expired, "the line had no time left").after(PAUSE);
    tokio::time::timeout_at(until, work).await.map_err(late)
}

/// The means for a line that counts as a request of its client: available once the rate limit
/// allows it, if the client has the right at all.
async fn counted(call: &Call, op: Op) -> Result<RequestContext, Problem> {
    loop {
        let context = call.now(op)?;
        let Some(Err(wait)) = context.client.rate.as_ref().map(|rate| rate.take_leaving_half())
        else {
            return Ok(context);
        };
        tokio::select! {
            () = tokio::time::sleep(wait.min(RETRY)) => {}
            () = context.state.ending() => return Err(is_ending()),
        }
    }
}

impl Call {
    /// The current means for a line, if the client still has the right.
    fn now(&self, op: Op) -> Result<RequestContext, Problem> {
        let context = RequestContext::of(&self.context.state, &self.peer)?;
        context.client.may_ask(op.rights())?;
        Ok(context)
    }
}

/// The pool's work for a line.
enum Work<'a> {
    /// With the account, if given.
    Hash(Option<&'a str>, &'a [u8]),
    Verify(&'a Login<'a>),
}

/// Hashes or verifies, retrying until there is room, or until it is too late.
async fn compute_with_retry(
    call: &Call,
    mut context: RequestContext,
    op: Op,
    (work, until): (&Work<'_>, Option<Instant>),
) -> Result<Answer, Problem> {
    loop {
        let lines = Arc::clone(&context.current.lines);
        // It is never closed.
        let _place = by(until, lines.places.acquire()).await?;
        context = call.now(op)?;
        let passwords = context.passwords().bulk();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let result = match work {
            Work::Hash(account, password) => hash(&passwords, (*account, password), left).await,
            Work::Verify(login) => verify(&context, &passwords, login, left).await,
        };
        match result {
            Err(problem) if problem.reason == Reason::QueueFull => {
                by(until, tokio::time::sleep(PAUSE)).await?;
            }
            result => return result,
        }
    }
}
