//! Tickets for asyncio: no thread waits for them. A thread of the pool that ends one writes a byte
//! to a pipe, which the event loop watches; it does not touch the interpreter.

use std::future::Future;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use saltern::{Error, Outcome, Ticket};

use crate::errors;
use crate::login::{matched, updated};

/// Something that is being computed. Dropping it gives up what has not begun.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Pending(Mutex<Work>);

enum Work {
    Hash(Ticket<String>),
    Verify(Ticket<Outcome>),
    Update(Ticket<Outcome>),
}

impl Pending {
    pub(crate) fn hash(ticket: Ticket<String>) -> Self {
        Pending(Mutex::new(Work::Hash(ticket)))
    }

    pub(crate) fn verify(ticket: Ticket<Outcome>) -> Self {
        Pending(Mutex::new(Work::Verify(ticket)))
    }

    pub(crate) fn update(ticket: Ticket<Outcome>) -> Self {
        Pending(Mutex::new(Work::Update(ticket)))
    }
}

#[pymethods]
impl Pending {
    /// The result in a tuple if it is there; otherwise `None`, and `key` will be among those that
    /// the other object tells.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        wakeup: &Wakeup,
        key: u64,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let signal = Signal { told: Arc::clone(&wakeup.told), key };
        let waker = Waker::from(Arc::new(signal));
        let mut context = Context::from_waker(&waker);
        // Making an answer may let other threads of Python run: not while the lock is held.
        let polled = match &mut *lock(&self.0) {
            Work::Hash(ticket) => poll(ticket, &mut context).map(Answer::Hash),
            Work::Verify(ticket) => poll(ticket, &mut context).map(Answer::Verify),
            Work::Update(ticket) => poll(ticket, &mut context).map(Answer::Update),
        };
        match polled {
            Poll::Pending => Ok(None),
            Poll::Ready(Answer::Hash(text)) => answer(py, text, Ok),
            Poll::Ready(Answer::Verify(outcome)) => {
                answer(py, outcome, |outcome| matched(py, &outcome))
            }
            Poll::Ready(Answer::Update(outcome)) => {
                answer(py, outcome, |outcome| updated(py, outcome))
            }
        }
    }
}

/// What has come of it.
enum Answer {
    Hash(Result<String, Error>),
    Verify(Result<Outcome, Error>),
    Update(Result<Outcome, Error>),
}

fn poll<T: Send + 'static>(
    ticket: &mut Ticket<T>,
    context: &mut Context<'_>,
) -> Poll<Result<T, Error>> {
    Pin::new(ticket).poll(context)
}

fn answer<'py, T, A: IntoPyObject<'py>>(
    py: Python<'py>,
    result: Result<T, Error>,
    answer: impl FnOnce(T) -> PyResult<A>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let answer = answer(result.map_err(|error| errors::of(py, &error))?)?;
    PyTuple::new(py, [answer]).map(Some)
}

/// What an event loop watches.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Wakeup {
    told: Arc<Told>,
}

/// Keys of what has come on, and one byte in a pipe as long as there are any.
struct Told {
    keys: Mutex<Vec<u64>>,
    /// Kept as long as the other end: writing to a pipe without a reader raises a signal.
    reader: PipeReader,
    writer: PipeWriter,
}

struct Signal {
    told: Arc<Told>,
    key: u64,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        let mut keys = lock(&self.told.keys);
        if keys.is_empty() {
            // There is room for it: no other byte is in the pipe.
            let _ = (&self.told.writer).write(&[0]);
        }
        keys.push(self.key);
    }
}

#[pymethods]
impl Wakeup {
    #[new]
    fn new() -> PyResult<Self> {
        let (reader, writer) = std::io::pipe()?;
        Ok(Wakeup { told: Arc::new(Told { keys: Mutex::new(Vec::new()), reader, writer }) })
    }

    /// What becomes readable when there are keys.
    #[cfg(unix)]
    fn fileno(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.told.reader)
    }

    /// The keys.
    fn take(&self) -> PyResult<Vec<u64>> {
        let mut keys = lock(&self.told.keys);
        if !keys.is_empty() {
            // The byte is there: it does not wait.
            (&self.told.reader).read_exact(&mut [0])?;
        }
        Ok(std::mem::take(&mut *keys))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
