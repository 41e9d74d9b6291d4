//! The common base of all objects: a state behind a lock, and releasing the interpreter for long
//! messages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;

use crate::buffer::Bytes;

/// Messages from this length on are hashed without the interpreter, as in `hashlib`.
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

/// Generates a Python type: the common methods, and its own.
macro_rules! object {
    ($type:ident, $state:ty, $name:tt, $doc:tt, $block:expr, { $($own:tt)* }) => {
        #[doc = $doc]
        #[pyclass(name = $name, module = "saltern", frozen)]
        pub(crate) struct $type($crate::blake2::running::Running<$state>);

        #[pymethods]
        impl $type {
            $($own)*

            /// Appends a piece of the message: anything that lends its bytes.
            #[pyo3(signature = (data, /))]
            fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
                self.0.update(py, data)
            }

            /// Another object with the same message so far.
            fn copy(&self, py: Python<'_>) -> Self {
                Self(self.0.copy(py))
            }

            /// Bytes of the digest.
            #[getter]
            fn digest_size(&self) -> usize {
                self.0.digest_size
            }

            /// Bytes of a block, as HMAC needs them.
            #[getter]
            fn block_size(&self) -> usize {
                $block
            }

            /// The name of the function.
            #[getter]
            fn name(&self) -> &'static str {
                $name
            }
        }
    };
}
pub(super) use object;

impl<S: State> Running<S> {
    /// Begins with the first piece, the only positional argument, if there is one. No other thread
    /// knows the state yet, so no lock is needed.
    #[inline]
    pub(crate) fn begin(
        mut state: S,
        digest_size: usize,
        name: &str,
        args: &Bound<'_, PyTuple>,
    ) -> PyResult<Self> {
        let py = args.py();
        match args.len() {
            0 => {}
            1 => {
                let data = args.get_borrowed_item(0)?;
                let data = Bytes::message(&data)?;
                match data.as_bytes() {
                    data if data.len() < RELEASED => state.absorb(data),
                    data => py.detach(|| state.absorb(data)),
                }
            }
            count => {
                let message =
                    format!("{name}() takes at most 1 positional argument ({count} given)");
                return Err(PyTypeError::new_err(message));
            }
        }
        Ok(Running { state: Mutex::new(state), digest_size })
    }

    pub(crate) fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = Bytes::message(data)?;
        let data = data.as_bytes();
        if data.len() < RELEASED {
            self.lock(py).absorb(data);
        } else {
            let state = &self.state;
            py.detach(|| state.lock().unwrap_or_else(PoisonError::into_inner).absorb(data));
        }
        Ok(())
    }

    /// Reads the state, waiting for other threads that use it.
    #[inline]
    pub(crate) fn look<T>(&self, py: Python<'_>, see: impl FnOnce(&S) -> T) -> T {
        see(&self.lock(py))
    }

    #[inline]
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, S> {
        self.state.try_lock().unwrap_or_else(|_| self.wait(py))
    }

    #[cold]
    fn wait(&self, py: Python<'_>) -> MutexGuard<'_, S> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        let state = Mutex::new(self.look(py, S::clone));
        Running { state, digest_size: self.digest_size }
    }
}
