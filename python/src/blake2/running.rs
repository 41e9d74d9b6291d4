//! What all objects have in common: a state behind a lock, and the interpreter released for long
//! messages.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::buffer::Bytes;

/// Messages from this length on are hashed without the interpreter, as those of `hashlib`.
const RELEASED: usize = 2048;

/// A state that takes a message in pieces.
pub(crate) trait State: Clone + Send {
    fn absorb(&mut self, data: &[u8]);
}

/// A hash in progress.
pub(crate) struct Running<S> {
    state: Mutex<S>,
    /// In bytes.
    pub(crate) digest_size: usize,
}

impl<S: State> Running<S> {
    pub(crate) fn new(state: S, digest_size: usize) -> Self {
        Running { state: Mutex::new(state), digest_size }
    }

    /// The first piece: the only argument that has no name.
    pub(crate) fn begin(self, name: &str, args: &Bound<'_, PyTuple>) -> PyResult<Self> {
        match args.len() {
            0 => {}
            1 => self.update(args.py(), &args.get_item(0)?)?,
            count => {
                let message =
                    format!("{name}() takes at most 1 positional argument ({count} given)");
                return Err(PyTypeError::new_err(message));
            }
        }
        Ok(self)
    }

    pub(crate) fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = Bytes::message(data)?;
        let data = data.as_bytes();
        if data.len() < RELEASED {
            self.look(py, |state| state.absorb(data));
        } else {
            let state = &self.state;
            py.detach(|| state.lock().unwrap_or_else(PoisonError::into_inner).absorb(data));
        }
        Ok(())
    }

    /// With the state, which another thread may be at work on.
    pub(crate) fn look<T>(&self, py: Python<'_>, see: impl FnOnce(&mut S) -> T) -> T {
        see(&mut self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self::new(self.look(py, |state| state.clone()), self.digest_size)
    }
}

pub(crate) fn bytes<'py>(py: Python<'py>, digest: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, digest)
}

pub(crate) fn hex<'py>(py: Python<'py>, digest: &[u8]) -> Bound<'py, PyString> {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let digits = digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    PyString::new(py, &digits.collect::<String>())
}
