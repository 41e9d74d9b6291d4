//! The result of `hash_many`.
#![allow(unsafe_code, reason = "the buffer protocol")]

use std::ffi::c_int;
use std::ops::Range;

use arrow_array::{Array, FixedSizeBinaryArray};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyIterator, PySlice};

use crate::{arrow, buffer};

/// The digests of `hash_many`: a sequence of bytes objects; for NumPy (`numpy.asarray(digests)`)
/// and `memoryview`, an array of bytes with a row for each, without a copy; for users of Arrow
/// (`pyarrow.array(digests)`), a column of fixed-size binary. `None` means null. Slices are such
/// sequences, too, and share the memory unless they have a step.
#[pyclass(module = "saltern", frozen)]
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

    fn slice(&self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let range = slice.indices(self.array.len() as isize)?;
        if range.step == 1 {
            return Ok(Digests::new(self.array.slice(range.start as usize, range.slicelength)));
        }
        let places =
            (0..range.slicelength as isize).map(|n| (range.start + n * range.step) as usize);
        let (rows, width) = (places.map(|at| self.get(at)), self.array.value_length());
        let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows, width);
        Ok(Digests::new(array.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        self.array.is_valid(at).then(|| self.array.value(at))
    }

    /// The places of a digest, or of the nulls.
    fn places(&self, digest: Option<&[u8]>, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(move |&at| self.get(at) == digest)
    }
}

/// What may stand in brackets.
#[derive(FromPyObject)]
enum Index<'py> {
    One(isize),
    Slice(Bound<'py, PySlice>),
}

/// A digest, or `None` for a null, to be searched for; anything else is equal to none.
fn wanted<'a>(value: &'a Bound<'_, PyAny>) -> Option<Option<&'a [u8]>> {
    match value.is_none() {
        true => Some(None),
        false => value.cast::<PyBytes>().ok().map(|bytes| Some(bytes.as_bytes())),
    }
}

#[pymethods]
impl Digests {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: Index<'py>) -> PyResult<Bound<'py, PyAny>> {
        let index = match index {
            Index::One(index) => index,
            Index::Slice(slice) => return self.slice(&slice)?.into_bound_py_any(py),
        };
        let at = if index < 0 { index + self.array.len() as isize } else { index };
        let at = usize::try_from(at).ok().filter(|&at| at < self.array.len());
        let at = at.ok_or_else(|| PyIndexError::new_err("index out of range"))?;
        self.get(at).map(|digest| PyBytes::new(py, digest)).into_bound_py_any(py)
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let last = self.array.len() as isize - 1;
        self.slice(&PySlice::new(py, last, isize::MIN, -1))?.into_bound_py_any(py)?.try_iter()
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        self.count(value) > 0
    }

    /// The first place of a digest; raises ValueError if it is not there.
    #[pyo3(signature = (value, start = 0, stop = isize::MAX, /))]
    fn index(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> PyResult<usize> {
        let count = self.array.len();
        let at = |index: isize| match index {
            0.. => count.min(index as usize),
            _ => count.saturating_sub(index.unsigned_abs()),
        };
        let found =
            wanted(value).and_then(|digest| self.places(digest, at(start)..at(stop)).next());
        found.ok_or_else(|| PyValueError::new_err("there is no such digest"))
    }

    /// How often a digest is there.
    #[pyo3(signature = (value, /))]
    fn count(&self, value: &Bound<'_, PyAny>) -> usize {
        wanted(value).map_or(0, |digest| self.places(digest, 0..self.array.len()).count())
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
