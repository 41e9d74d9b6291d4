//! What `hash_many` returns.

use arrow_array::{Array, FixedSizeBinaryArray};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::arrow;

/// The digests of `hash_many`: a sequence of bytes, and an Arrow array of fixed-size binary for
/// whoever takes one (`pyarrow.array(digests)`). `None` stands for nulls of the column.
#[pyclass(module = "saltern", frozen, sequence)]
pub(crate) struct Digests(FixedSizeBinaryArray);

impl Digests {
    pub(crate) fn new(array: FixedSizeBinaryArray) -> Self {
        Digests(array)
    }
}

#[pymethods]
impl Digests {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: isize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let at = if index < 0 { index + self.0.len() as isize } else { index };
        let at = usize::try_from(at).ok().filter(|&at| at < self.0.len());
        let at = at.ok_or_else(|| PyIndexError::new_err("index out of range"))?;
        Ok(self.0.is_valid(at).then(|| PyBytes::new(py, self.0.value(at))))
    }

    /// Bytes of each.
    #[getter]
    fn digest_size(&self) -> i32 {
        self.0.value_length()
    }

    /// All of them one after the other, a copy: `numpy.frombuffer(digests.data, "V64")`.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.value_data())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // There is one type that it can have; who wants another one casts.
        let _ = requested_schema;
        arrow::export(py, &self.0)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(arrow::export(py, &self.0)?.0)
    }

    fn __repr__(&self) -> String {
        format!("<saltern.Digests: {} of {} bytes>", self.0.len(), self.0.value_length())
    }
}
