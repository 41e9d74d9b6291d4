//! Errors of the libraries as the exceptions of `saltern.exceptions`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use saltern::{Error, ErrorKind};
use saltern_pool::Error as Pooled;
use saltern_yescrypt::Error as Hashing;

/// The exception for an error, by its kind; deadlines and memory have their own.
pub(crate) fn of(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Pool(Pooled::Expired | Pooled::TooLate { .. }) => "DeadlineError",
        Error::Pool(Pooled::Hash(Hashing::OutOfMemory { .. })) => "OutOfMemoryError",
        _ => match error.kind() {
            ErrorKind::BadInput => "BadInputError",
            ErrorKind::OverLimit => "OverLimitError",
            ErrorKind::Unavailable => "UnavailableError",
            ErrorKind::Tampered => "TamperedError",
            ErrorKind::Overloaded => "OverloadedError",
            ErrorKind::Internal => "InternalError",
        },
    };
    named(py, name, error.to_string())
}

/// The exception of this name in `saltern.exceptions`. (Or one raised by a signal handler, which
/// may run wherever Python code does.)
pub(crate) fn named(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    let made = class(py, name).and_then(|class| class.call1((message.into(),)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Whether an exception is the answer to an item of a batch. All others end the batch, in
/// particular those of signal handlers.
pub(crate) fn is_of_an_item(py: Python<'_>, error: &PyErr) -> bool {
    let ours =
        class(py, "SalternError").is_ok_and(|class| error.matches(py, class).unwrap_or(false));
    ours || error.is_instance_of::<PyTypeError>(py)
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static EXCEPTIONS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let import = || PyModule::import(py, "saltern.exceptions").map(Bound::unbind);
    EXCEPTIONS.get_or_try_init(py, import)?.bind(py).getattr(name)
}
