//! The result of `hash_many`.
#![allow(unsafe_code, reason = "the buffer protocol")]

use std::ffi::c_int;

use arrow_array::{Array, FixedSizeBinaryArray};
use pyo3::exceptions::{PyBufferError, PyIndexError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::{arrow, buffer};

/// The digests of `hash_many`: a sequence of bytes objects; for NumPy (`numpy.asarray(digests)`)
/// and `memoryview`, an array of bytes with a row for each, without a copy; for users of Arrow
/// (`pyarrow.array(digests)`), a column of fixed-size binary. `None` means null.
#[pyclass(module = "saltern", frozen, sequence)]
pub(crate) struct Digests {
    array: FixedSizeBinaryArray,
    /// Rows, and bytes of one.
    shape: [isize; 2],
    strides: [isize; 2],
}

impl Digests {
    pub(crate) fn new(array: FixedSizeBinaryArray) -> Self {
        let width = array.value_length() as isize;
        let shape = [array.len() as isize, width];
        Digests { array, shape, strides: [width, 1] }
    }
}

#[pymethods]
impl Digests {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: isize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let at = if index < 0 { index + self.array.len() as isize } else { index };
        let at = usize::try_from(at).ok().filter(|&at| at < self.array.len());
        let at = at.ok_or_else(|| PyIndexError::new_err("index out of range"))?;
        Ok(self.array.is_valid(at).then(|| PyBytes::new(py, self.array.value(at))))
    }

    /// Bytes of each.
    #[getter]
    fn digest_size(&self) -> i32 {
        self.array.value_length()
    }

    /// Lends the digests.
    ///
    /// # Safety
    /// As in the buffer protocol: `view` is null or points to a structure to be filled.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        if this.array.null_count() > 0 {
            let message = "there are nulls: take a list or a column of Arrow";
            return Err(PyBufferError::new_err(message));
        }
        let rows = buffer::Rows {
            bytes: this.array.value_data(),
            shape: &this.shape,
            strides: &this.strides,
        };
        // SAFETY: of the structure, as above; the rows belong to the object, and do not change.
        unsafe { rows.lend(slf.clone().into_any(), view, flags) }
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // There is only one type; for another one, cast it.
        let _ = requested_schema;
        arrow::export(py, &self.array)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(arrow::export(py, &self.array)?.0)
    }

    fn __repr__(&self) -> String {
        format!("<saltern.Digests: {} of {} bytes>", self.array.len(), self.array.value_length())
    }
}
