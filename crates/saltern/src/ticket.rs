//! Tickets, which callers hold while something is computed, in one step or in several.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use saltern_pool::OneTicket;

use crate::error::Error;
use crate::scheme::Scheme;

/// A result that is being computed. It can be waited for, or awaited under any executor.
///
/// Dropping the ticket cancels work that has not begun. If one step follows another, as the new
/// hash follows a match, the second is submitted once the first has ended and somebody waits for
/// the ticket or polls it.
#[must_use = "dropping a ticket cancels what it stands for"]
pub struct Ticket<T> {
    state: State<T>,
    /// Of the stored string that a login is compared with: its scheme and memory.
    pub(crate) cost: Option<(Scheme, u64)>,
}

enum State<T> {
    Done(Result<T, Error>),
    Running(Box<dyn Step<T>>),
    /// A future that has given its result.
    Over,
}

/// A step towards a result.
trait Step<T>: Send {
    fn wait(self: Box<Self>) -> Ticket<T>;
    fn wait_until(self: Box<Self>, until: Instant) -> Result<Ticket<T>, Box<dyn Step<T>>>;
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ticket<T>>;
    fn known(self: Box<Self>) -> Option<T>;
}

/// An item of the pool, and what to do with its result.
struct Then<S: Send + 'static, T> {
    item: OneTicket<S>,
    next: Option<Next<S, T>>,
    /// A result to which the item can only add, and how long to wait for that.
    known: Option<(T, Option<Instant>)>,
}

type Next<S, T> = Box<dyn FnOnce(Result<S, Error>) -> Ticket<T> + Send>;

impl<T: Send + 'static> Ticket<T> {
    /// A ticket with a result.
    pub(crate) fn done(result: Result<T, Error>) -> Self {
        State::Done(result).into()
    }

    /// An item of the pool, if it was accepted, and then what follows from its result.
    pub(crate) fn then<S: Send + 'static>(
        item: Result<OneTicket<S>, saltern_pool::Error>,
        next: impl FnOnce(Result<S, Error>) -> Ticket<T> + Send + 'static,
    ) -> Self {
        match item {
            Ok(item) => Self::step(item, next, None),
            Err(error) => next(Err(error.into())),
        }
    }

    /// A result that is known, to which an item of the pool may add something until then.
    pub(crate) fn known<S: Send + 'static>(
        known: T,
        until: Option<Instant>,
        item: Result<OneTicket<S>, saltern_pool::Error>,
        next: impl FnOnce(Result<S, Error>) -> Ticket<T> + Send + 'static,
    ) -> Self {
        match item {
            Ok(item) => Self::step(item, next, Some((known, until))),
            Err(_) => Ticket::done(Ok(known)),
        }
    }

    fn step<S: Send + 'static>(
        item: OneTicket<S>,
        next: impl FnOnce(Result<S, Error>) -> Ticket<T> + Send + 'static,
        known: Option<(T, Option<Instant>)>,
    ) -> Self {
        State::Running(Box::new(Then { item, next: Some(Box::new(next)), known })).into()
    }

    /// An item of the pool whose result is the ticket's result.
    pub(crate) fn of(item: Result<OneTicket<T>, saltern_pool::Error>) -> Self {
        Self::then(item, Ticket::done)
    }

    /// The error of a call that was refused at once, before anything was computed.
    ///
    /// ```
    /// # use saltern::{Passwords, Policy};
    /// # let passwords = Passwords::new(Policy::default())?;
    /// let ticket = passwords.verify("alice", "secret", Some("no hash"));
    /// assert!(ticket.refused().is_some());
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn refused(&self) -> Option<&Error> {
        match &self.state {
            State::Done(result) => result.as_ref().err(),
            State::Running(_) | State::Over => None,
        }
    }

    /// Waits for the result, however long it takes.
    ///
    /// # Errors
    /// The errors documented for the call that made the ticket.
    pub fn wait(self) -> Result<T, Error> {
        let mut ticket = self;
        loop {
            match ticket.state {
                State::Done(result) => return result,
                State::Running(step) => ticket = step.wait(),
                State::Over => return Err(saltern_pool::Error::Cancelled.into()),
            }
        }
    }

    /// Waits for the result for at most this long.
    ///
    /// # Errors
    /// The ticket itself, to wait again or to drop, if there is no result in time.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Result<T, Error>, Self> {
        let until = Instant::now().checked_add(timeout);
        let Some(until) = until else { return Ok(self.wait()) };
        let Ticket { mut state, cost } = self;
        loop {
            match state {
                State::Running(step) => match step.wait_until(until) {
                    Ok(next) => state = next.state,
                    Err(step) => return Err(Ticket { state: State::Running(step), cost }),
                },
                _ => return Ok(Ticket { state, cost }.wait()),
            }
        }
    }

    /// Gives up what is still being computed, and returns what is known without it: the match of a
    /// login whose update is not ready yet. `None` if nothing is known. [`Ticket::wait`] returns it
    /// at the login's deadline by itself; a future has no clock, so call this.
    ///
    /// ```
    /// # use saltern::{Outcome, Passwords, Policy};
    /// # let passwords = Passwords::new(Policy::default())?;
    /// # let stored = passwords.hash("secret").wait()?;
    /// let ticket = passwords.verify("alice", "secret", Some(&stored));
    /// let outcome = match ticket.wait_timeout(std::time::Duration::from_secs(5)) {
    ///     Ok(outcome) => Some(outcome),
    ///     Err(late) => late.known_now(),
    /// };
    /// assert!(outcome.is_some_and(|outcome| outcome.is_ok_and(|outcome| outcome.is_match())));
    /// # Ok::<(), saltern::Error>(())
    /// ```
    pub fn known_now(self) -> Option<Result<T, Error>> {
        match self.wait_timeout(Duration::ZERO) {
            Ok(result) => Some(result),
            Err(Ticket { state: State::Running(step), .. }) => step.known().map(Ok),
            Err(_) => None,
        }
    }
}

impl<T> Ticket<T> {
    /// The same ticket, of a login that is compared with such a hash.
    pub(crate) fn with_cost(self, cost: (Scheme, u64)) -> Self {
        Ticket { cost: Some(cost), ..self }
    }
}

impl<T> From<State<T>> for Ticket<T> {
    fn from(state: State<T>) -> Self {
        Ticket { state, cost: None }
    }
}

impl<S: Send + 'static, T: Send + 'static> Then<S, T> {
    fn follow(next: Option<Next<S, T>>, result: Result<S, saltern_pool::Error>) -> Ticket<T> {
        let cancelled = || Ticket::done(Err(saltern_pool::Error::Cancelled.into()));
        next.map_or_else(cancelled, |next| next(result.map_err(Error::from)))
    }
}

impl<S: Send + 'static, T: Send + 'static> Step<T> for Then<S, T> {
    fn wait(self: Box<Self>) -> Ticket<T> {
        match *self {
            Then { item, next, known: Some((known, Some(until))) } => {
                let left = until.saturating_duration_since(Instant::now());
                match item.wait_timeout(left) {
                    Ok(result) => Self::follow(next, result),
                    Err(_) => Ticket::done(Ok(known)),
                }
            }
            Then { item, next, .. } => Self::follow(next, item.wait()),
        }
    }

    fn wait_until(self: Box<Self>, until: Instant) -> Result<Ticket<T>, Box<dyn Step<T>>> {
        if matches!(&self.known, Some((_, Some(first))) if *first <= until) {
            return Ok(self.wait());
        }
        let Then { item, next, known } = *self;
        match item.wait_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(result) => Ok(Self::follow(next, result)),
            Err(item) => Err(Box::new(Then { item, next, known })),
        }
    }

    fn known(self: Box<Self>) -> Option<T> {
        self.known.map(|(known, _)| known)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ticket<T>> {
        let result = Pin::new(&mut self.item).poll(context);
        result.map(|result| Self::follow(self.next.take(), result))
    }
}

/// A ticket with a result, for operations that compute nothing.
impl<T: Send + 'static> From<Result<T, Error>> for Ticket<T> {
    fn from(result: Result<T, Error>) -> Self {
        Ticket::done(result)
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Ticket<T> {}

impl<T: Send + 'static> Future for Ticket<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Done(result) => return Poll::Ready(result),
                State::Running(mut step) => match step.poll(context) {
                    Poll::Ready(next) => self.state = next.state,
                    Poll::Pending => {
                        self.state = State::Running(step);
                        return Poll::Pending;
                    }
                },
                State::Over => return Poll::Ready(Err(saltern_pool::Error::Cancelled.into())),
            }
        }
    }
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Done(_) => "Ticket { done }",
            State::Running(_) => "Ticket { running }",
            State::Over => "Ticket { over }",
        })
    }
}
