//! Tickets for asyncio: no thread waits for them. The pool thread that finishes one writes a byte
//! to a pipe, which the event loop watches; it does not touch the interpreter.

use std::future::Future;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use saltern::{Error, Outcome, Ticket};

use crate::errors;

/// Something that is being computed.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Pending(Mutex<Work>);

enum Work {
    Hash(Ticket<String>),
    Login(Ticket<Outcome>, Answer),
    Cancelled,
}

/// The conversion of an outcome for Python.
type Answer = for<'py> fn(Python<'py>, Outcome) -> PyResult<Bound<'py, PyAny>>;

impl Pending {
    pub(crate) fn hash(ticket: Ticket<String>) -> Self {
        Pending(Mutex::new(Work::Hash(ticket)))
    }

    pub(crate) fn login(ticket: Ticket<Outcome>, answer: Answer) -> Self {
        Pending(Mutex::new(Work::Login(ticket, answer)))
    }
}

#[pymethods]
impl Pending {
    /// The result in a tuple if it is ready; otherwise `None`, and `wakeup` will return `key` once
    /// it is.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        wakeup: &Wakeup,
        key: u64,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let signal = Signal { told: Arc::clone(&wakeup.told), key };
        let waker = Waker::from(Arc::new(signal));
        let mut context = Context::from_waker(&waker);
        // Making an answer may let other Python threads run, so the lock must not be held.
        let polled = match &mut *lock(&self.0) {
            Work::Hash(ticket) => Pin::new(ticket).poll(&mut context).map(Done::Hash),
            Work::Login(ticket, answer) => {
                Pin::new(ticket).poll(&mut context).map(|outcome| Done::Login(outcome, *answer))
            }
            Work::Cancelled => Poll::Pending,
        };
        let Poll::Ready(done) = polled else { return Ok(None) };
        let raised = |error: Error| errors::of(py, &error);
        let answer = match done {
            Done::Hash(text) => PyString::new(py, &text.map_err(raised)?).into_any(),
            Done::Login(outcome, answer) => answer(py, outcome.map_err(raised)?)?,
        };
        PyTuple::new(py, [answer]).map(Some)
    }

    /// Gives up the work, unless it has begun, whoever else holds this object.
    fn cancel(&self) {
        let work = std::mem::replace(&mut *lock(&self.0), Work::Cancelled);
        // Without the lock.
        drop(work);
    }
}

/// The result.
enum Done {
    Hash(Result<String, Error>),
    Login(Result<Outcome, Error>, Answer),
}

/// The object that an event loop watches.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Wakeup {
    told: Arc<Told>,
}

/// Keys of tickets that can make progress, and one byte in a pipe as long as there are any.
struct Told {
    keys: Mutex<Vec<u64>>,
    /// Kept open as long as the other end: writing to a pipe without a reader raises a signal.
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

    /// The descriptor that becomes readable when there are keys.
    #[cfg(unix)]
    fn fileno(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.told.reader)
    }

    /// The keys.
    fn take(&self) -> PyResult<Vec<u64>> {
        let mut keys = lock(&self.told.keys);
        if !keys.is_empty() {
            // The byte is there, so this does not block.
            (&self.told.reader).read_exact(&mut [0])?;
        }
        Ok(std::mem::take(&mut *keys))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
