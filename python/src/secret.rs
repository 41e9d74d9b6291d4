//! Passwords and stored strings as Python gives them.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::buffer::Bytes;
use crate::errors;

/// The bytes of a password, or of an account's name: those of `str` are UTF-8.
///
/// They stay where Python has them; what is hashed is a copy, which is wiped.
pub(crate) fn secret<'a>(what: &str, object: &'a Bound<'_, PyAny>) -> PyResult<Bytes<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        // The exception of Python would hold the password.
        let text = text.to_str().map_err(|error| surrogate(object.py(), what, &error))?;
        return Ok(Bytes::Own(text.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Bytes::Own(bytes.as_bytes()));
    }
    let wrong = || {
        let kind = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!("{what} has to be str or bytes, not {kind}"))
    };
    crate::buffer::View::bytes(object).map(Bytes::Lent).map_err(|_| wrong())
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
    let none = |why: &str| {
        let message = format!("malformed stored string: {why}");
        errors::named(object.py(), "InvalidHashError", message)
    };
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_str().map(Cow::Borrowed).map_err(|_| none("it has a lone surrogate"));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes());
        return text.map(Cow::Borrowed).map_err(|_| none("it is not text"));
    }
    let kind = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("the stored string has to be str or bytes, not {kind}")))
}
