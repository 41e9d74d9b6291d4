//! Memory borrowed from Python objects: `bytes`, `bytearray`, `memoryview`, arrays.
#![allow(unsafe_code, reason = "the buffer protocol")]

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{CStr, c_int};
use std::ptr::{NonNull, null_mut};

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Memory borrowed from an object until this is dropped. It is neither freed nor moved meanwhile.
///
/// Not `Send`, so that it is dropped where the thread is attached.
pub(crate) struct View(Box<ffi::Py_buffer>);

impl View {
    /// All bytes of an object, one after the other.
    pub(crate) fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::lend(object, ffi::PyBUF_SIMPLE)
    }

    /// All bytes of an object, with their division into items.
    pub(crate) fn items(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::lend(object, ffi::PyBUF_C_CONTIGUOUS | ffi::PyBUF_FORMAT)
    }

    fn lend(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = View(Box::new(ffi::Py_buffer::new()));
        // SAFETY: the thread is attached, as `object` shows; both pointers are valid.
        let status = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view.0, flags) };
        // After a failure the view has no owner, so releasing it does nothing.
        if status == 0 { Ok(view) } else { Err(PyErr::fetch(object.py())) }
    }

    /// The bytes. Python does not guarantee that nobody writes to them meanwhile: if somebody does,
    /// the result is a hash of an arbitrary message.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        if self.0.buf.is_null() || self.0.len <= 0 {
            return &[];
        }
        // SAFETY: contiguous as asked for, and lent until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.0.buf.cast::<u8>(), self.0.len as usize) }
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.0.ndim.max(0) as usize
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        if self.0.shape.is_null() {
            return &[];
        }
        // SAFETY: as many as there are dimensions, and lent until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.0.shape, self.dimensions()) }
    }

    /// Bytes of an item.
    pub(crate) fn item_size(&self) -> usize {
        self.0.itemsize.max(0) as usize
    }

    /// The format of an item, as in the module `struct`.
    pub(crate) fn format(&self) -> &[u8] {
        if self.0.format.is_null() {
            return b"B";
        }
        // SAFETY: a string with its end, lent until `self` is dropped.
        unsafe { CStr::from_ptr(self.0.format) }.to_bytes()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the thread is attached, since this is not `Send` and made where it was; Python
        // ignores a buffer without an owner.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}

/// Rows of bytes to lend to others, read-only.
pub(crate) struct Rows<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) shape: &'a [isize; 2],
    pub(crate) strides: &'a [isize; 2],
}

impl Rows<'_> {
    /// Fills a requested buffer structure.
    ///
    /// # Safety
    /// `view` is null or valid for writing, and the rows live, unchanged, as long as `owner`.
    pub(crate) unsafe fn lend(
        self,
        owner: Bound<'_, PyAny>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: as promised to this function.
        let view = unsafe { view.as_mut() };
        let view = view.ok_or_else(|| PyBufferError::new_err("no view to fill"))?;
        let asks = |flag: c_int| flags & flag == flag;
        view.obj = null_mut();
        if asks(ffi::PyBUF_WRITABLE) {
            return Err(PyBufferError::new_err("digests are read-only"));
        }
        // Row-major order equals column-major order only if a dimension has at most one item.
        if asks(ffi::PyBUF_F_CONTIGUOUS) && self.shape.iter().all(|&count| count > 1) {
            return Err(PyBufferError::new_err("digests are C-contiguous"));
        }
        view.buf = self.bytes.as_ptr().cast_mut().cast();
        (view.len, view.itemsize, view.readonly) = (self.bytes.len() as isize, 1, 1);
        view.format = if asks(ffi::PyBUF_FORMAT) { c"B".as_ptr().cast_mut() } else { null_mut() };
        let shape = self.shape.as_ptr().cast_mut();
        view.ndim = if asks(ffi::PyBUF_ND) { 2 } else { 1 };
        view.shape = if asks(ffi::PyBUF_ND) { shape } else { null_mut() };
        let strides = self.strides.as_ptr().cast_mut();
        view.strides = if asks(ffi::PyBUF_STRIDES) { strides } else { null_mut() };
        (view.suboffsets, view.internal) = (null_mut(), null_mut());
        view.obj = owner.into_ptr();
        Ok(())
    }
}

/// This many zeros, in untouched pages; `None` if the system refuses them.
pub(crate) fn zeros(count: usize) -> Option<Vec<u8>> {
    let layout = Layout::array::<u8>(count).ok().filter(|_| count > 0);
    let Some(layout) = layout else { return (count == 0).then(Vec::new) };
    // SAFETY: the layout is not of size 0.
    let zeros = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    // SAFETY: memory of the global allocator, of this size and alignment, with values in it.
    Some(unsafe { Vec::from_raw_parts(zeros.as_ptr(), count, count) })
}

/// The bytes of an object: immutable ones in place, others as a view.
pub(crate) enum Bytes<'a> {
    Own(&'a [u8]),
    Lent(View),
}

impl<'a> Bytes<'a> {
    /// A message for a hash. Strings and arrays of several dimensions are refused as in `hashlib`.
    pub(crate) fn message(object: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Bytes::Own(bytes.as_bytes()));
        }
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("Strings must be encoded before hashing"));
        }
        let view = View::bytes(object).map_err(|error| {
            let py = object.py();
            match error.is_instance_of::<PyTypeError>(py) {
                true => PyTypeError::new_err("object supporting the buffer API required"),
                false => error,
            }
        })?;
        if view.dimensions() > 1 {
            return Err(PyBufferError::new_err("Buffer must be single dimension"));
        }
        Ok(Bytes::Lent(view))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Bytes::Own(bytes) => bytes,
            Bytes::Lent(view) => view.as_bytes(),
        }
    }
}
