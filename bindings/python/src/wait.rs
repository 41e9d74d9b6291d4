//! Waiting for tickets: detached from the interpreter, and in slices, between which signals are
//! handled.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use saltern::{Error, Ticket};

use crate::errors;

/// The longest delay before Ctrl-C takes effect.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// The result of a ticket; its error as an exception. An exception from a signal handler, such as
/// `KeyboardInterrupt`, cancels the ticket.
pub(crate) fn wait<T: Send + 'static>(py: Python<'_>, ticket: Ticket<T>) -> PyResult<T> {
    result(py, ticket)?.map_err(|error| errors::of(py, &error))
}

/// The result of a ticket, its error unconverted: exceptions are only those of signal handlers.
pub(crate) fn result<T: Send + 'static>(
    py: Python<'_>,
    ticket: Ticket<T>,
) -> PyResult<Result<T, Error>> {
    let mut ticket = ticket;
    loop {
        match py.detach(move || ticket.wait_timeout(SLICE)) {
            Ok(result) => return Ok(result),
            Err(left) => ticket = left,
        }
        py.check_signals()?;
    }
}

/// The deadline of a call, given in Python as seconds from now.
pub(crate) fn due(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        let message = format!("deadline = {seconds}: expected seconds, at least 0");
        return Err(errors::named(py, "BadInputError", message));
    };
    Ok(Instant::now().checked_add(time))
}
