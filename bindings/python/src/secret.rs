//! Passwords and stored strings from Python.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::buffer::{Bytes, View};
use crate::errors;

/// The bytes of a password, or of an account name; `str` is encoded as UTF-8.
///
/// They stay in Python's memory; a copy is hashed and wiped.
pub(crate) fn secret<'a>(what: &str, object: &'a Bound<'_, PyAny>) -> PyResult<Bytes<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        // Python's own exception would contain the password.
        let text = text.to_str().map_err(|error| surrogate(object.py(), what, &error))?;
        return Ok(Bytes::Own(text.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Bytes::Own(bytes.as_bytes()));
    }
    let wrong = || {
        let kind = kind(object);
        PyTypeError::new_err(format!("{what} must be str or bytes, not {kind}"))
    };
    let lends = object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>();
    let view = lends.then(|| View::items(object).ok()).flatten();
    let view = view.filter(|view| view.item_size() == 1 && view.dimensions() == 1);
    view.map(Bytes::Lent).ok_or_else(wrong)
}

fn surrogate(py: Python<'_>, what: &str, error: &PyErr) -> PyErr {
    let at = error.value(py).getattr("start").and_then(|at| at.extract::<usize>());
    let at = at.map_or_else(|_| String::new(), |at| format!(" at index {at}"));
    let message = format!(
        "{what} has a lone surrogate{at}, which UTF-8 cannot encode: pass bytes if that is intended"
    );
    errors::named(py, "BadInputError", message)
}

/// A stored string, which is text or the bytes of text.
pub(crate) fn stored<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_str().map(Cow::Borrowed).map_err(|_| malformed(object.py()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return stored_bytes(object.py(), bytes.as_bytes()).map(Cow::Borrowed);
    }
    Err(not_a_string(object))
}

/// The error for anything else.
pub(crate) fn not_a_string(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = kind(object);
    PyTypeError::new_err(format!("the hash must be str or bytes, not {kind}"))
}

/// The message for bytes that are not text.
pub(crate) const NOT_TEXT: &str = "malformed stored string: it is not text";

/// A stored string that was given as bytes.
pub(crate) fn stored_bytes<'a>(py: Python<'_>, bytes: &'a [u8]) -> PyResult<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| errors::named(py, "InvalidHashError", NOT_TEXT))
}

fn malformed(py: Python<'_>) -> PyErr {
    let message = "malformed stored string: it has a lone surrogate";
    errors::named(py, "InvalidHashError", message)
}

/// The name of an object's type. (Formatting it as Python does would run signal handlers.)
pub(crate) fn kind(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "?".into(), |name| name.to_string_lossy().into_owned())
}
