//! Errors of the libraries as the exceptions of `saltern.exceptions`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use saltern::{Error, ErrorKind};
use saltern_pool::Error as Pooled;
use saltern_yescrypt::Error as Hashing;

/// The exception of an error, by its kind; deadlines and memory have one of their own.
pub(crate) fn of(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Pool(Pooled::Expired | Pooled::TooLate { .. }) => "DeadlineError",
        Error::Pool(Pooled::Hash(Hashing::OutOfMemory { .. })) => "OutOfMemoryError",
        _ => match error.kind() {
            ErrorKind::BadInput => "BadInputError",
            ErrorKind::OverLimit => "OverLimitError",
            ErrorKind::Unavailable => "UnavailableError",
            ErrorKind::Overloaded => "OverloadedError",
            ErrorKind::Internal => "InternalError",
        },
    };
    named(py, name, error.to_string())
}

/// The exception of this name in `saltern.exceptions`.
pub(crate) fn named(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    static EXCEPTIONS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let import = || PyModule::import(py, "saltern.exceptions").map(Bound::unbind);
    let made = EXCEPTIONS
        .get_or_try_init(py, import)
        .and_then(|module| module.bind(py).getattr(name))
        .and_then(|class| class.call1((message.into(),)));
    made.map_or_else(|error| error, PyErr::from_value)
}
