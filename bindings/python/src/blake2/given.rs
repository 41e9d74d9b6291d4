//! The parameters of a hash as in `hashlib`: names, ranges and errors.

use std::num::NonZero;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use saltern_blake2::{Error, Function};

use crate::buffer::{Bytes, View};

/// Passes on the keyword arguments one at a time: `take` returns whether it knows one.
pub(crate) fn each<'py>(
    function: &str,
    kwargs: Option<&Bound<'py, PyDict>>,
    mut take: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<()> {
    for (name, value) in kwargs.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_str()?;
        let known = match name {
            // Nothing depends on it.
            "usedforsecurity" => value.is_truthy().map(|_| true)?,
            _ => take(name, &value)?,
        };
        if !known {
            let message = format!("'{name}' is an invalid keyword argument for {function}()");
            return Err(PyTypeError::new_err(message));
        }
    }
    Ok(())
}

/// A size of the digest.
pub(crate) fn digest_size<F: Function>(
    function: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let (size, most) = (value.extract::<i32>()?, F::OUT_BYTES);
    match usize::try_from(size) {
        Ok(size) if (1..=most).contains(&size) => Ok(size),
        _ => Err(PyValueError::new_err(format!(
            "digest_size for {function} must be between 1 and {most} bytes, here it is {size}"
        ))),
    }
}

/// A number of one byte in the parameter block.
pub(crate) fn byte(name: &str, value: &Bound<'_, PyAny>, least: u8, most: u8) -> PyResult<u8> {
    let number = value.extract::<i32>()?;
    let fits = u8::try_from(number).ok().filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| {
        PyValueError::new_err(format!(
            "{name} must be between {least} and {most}, here it is {number}"
        ))
    })
}

/// A number of several bytes.
pub(crate) fn long(name: &str, value: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let number = value.extract::<u64>().map_err(|error| {
        let py = value.py();
        let overflow = error.is_instance_of::<PyOverflowError>(py);
        match overflow && value.lt(0).unwrap_or(false) {
            true => PyValueError::new_err("value must be positive"),
            false => error,
        }
    })?;
    let too_large = || PyOverflowError::new_err(format!("{name} is too large"));
    if number <= most { Ok(number) } else { Err(too_large()) }
}

/// A key, a salt or a personalisation.
pub(crate) fn short<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Bytes<'a>> {
    if let Ok(bytes) = value.cast::<pyo3::types::PyBytes>() {
        return Ok(Bytes::Own(bytes.as_bytes()));
    }
    View::bytes(value).map(Bytes::Lent)
}

/// An error of the library in the words of `hashlib`.
pub(crate) fn refused(error: Error) -> PyErr {
    PyValueError::new_err(match error {
        Error::KeyLength { max, .. } => format!("maximum key length is {max} bytes"),
        Error::SaltLength { max, .. } => format!("maximum salt length is {max} bytes"),
        Error::PersonalLength { max, .. } => format!("maximum person length is {max} bytes"),
        other => other.to_string(),
    })
}

/// The number of threads: `None` for as many as there are processors.
pub(crate) fn threads(value: &Bound<'_, PyAny>) -> PyResult<Option<NonZero<usize>>> {
    let Some(count) = value.extract::<Option<usize>>()? else { return Ok(None) };
    let none = || PyValueError::new_err("threads = 0: expected 1 or more, or None");
    NonZero::new(count).ok_or_else(none).map(Some)
}
