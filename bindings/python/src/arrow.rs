//! Arrow columns, imported and exported through PyCapsules (the Arrow C data interface).
#![allow(unsafe_code, reason = "structures of C in capsules")]

use std::ffi::CStr;
use std::fmt::Display;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, make_array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

/// A column of strings or bytes, in the pieces in which it arrived. Clones share them.
#[derive(Clone)]
pub(crate) struct Column(Vec<ArrayRef>);

impl Column {
    /// An object as a column; `None` if it does not support Arrow.
    pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let pieces = if object.hasattr("__arrow_c_array__")? {
            vec![array(object)?]
        } else if object.hasattr("__arrow_c_stream__")? {
            stream(object)?
        } else {
            return Ok(None);
        };
        Ok(Some(Column(pieces)))
    }

    /// A column of these items; `None` means null.
    pub(crate) fn of<'a>(items: impl Iterator<Item = Option<&'a [u8]>>) -> Self {
        Column(vec![Arc::new(items.collect::<LargeBinaryArray>())])
    }

    /// How many items it has.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    /// Its bytes and the length of an item, if all items have the same length and are in one piece.
    pub(crate) fn even(&self) -> Option<(&[u8], usize)> {
        let [piece] = &self.0[..] else { return None };
        let items = piece.as_fixed_size_binary_opt().filter(|items| items.null_count() == 0)?;
        Some((items.value_data(), items.value_length() as usize))
    }

    /// Its items; `None` means null.
    pub(crate) fn cells(&self) -> Vec<Option<&[u8]>> {
        let mut cells = Vec::with_capacity(self.len());
        for piece in &self.0 {
            cells_of(piece, &mut cells);
        }
        cells
    }

    /// A range of its items, as a column.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let (mut pieces, mut start) = (Vec::new(), 0);
        for piece in &self.0 {
            let end = start + piece.len();
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                pieces.push(piece.slice(from - start, to - from));
            }
            start = end;
        }
        Column(pieces)
    }
}

fn cells_of<'a>(piece: &'a ArrayRef, cells: &mut Vec<Option<&'a [u8]>>) {
    match piece.data_type() {
        DataType::Binary => cells.extend(piece.as_binary::<i32>()),
        DataType::LargeBinary => cells.extend(piece.as_binary::<i64>()),
        DataType::BinaryView => cells.extend(piece.as_binary_view()),
        _ => cells.extend(piece.as_fixed_size_binary()),
    }
}

/// Exports an array: schema and array.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &dyn Array,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(broken)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    Ok((schema, PyCapsule::new_with_value(py, array, ARRAY)?))
}

fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
    let schema: NonNull<FFI_ArrowSchema> = schema.pointer_checked(Some(SCHEMA))?.cast();
    let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(ARRAY))?.cast();
    // SAFETY: a capsule of this name holds such a structure, which is taken out of it.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: as above; it belongs to the capsule, which is held until the end of this function.
    let schema = unsafe { schema.as_ref() };
    if array.is_released() || schema.release.is_none() {
        return Err(PyValueError::new_err("an Arrow array that was taken out of its capsule"));
    }
    piece(array, schema)
}

/// The producer of a stream may need the interpreter, in its own threads: it is called while this
/// thread is detached.
fn stream(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let py = object.py();
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(STREAM))?.cast();
    // SAFETY: a capsule of this name holds such a structure, which is taken out of it.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let pieces = read(py, &mut stream);
    py.detach(|| drop(stream));
    pieces
}

fn read(py: Python<'_>, stream: &mut FFI_ArrowArrayStream) -> PyResult<Vec<ArrayRef>> {
    let ended = || PyValueError::new_err("an Arrow stream that has ended");
    let (describe, next) =
        (stream.get_schema.ok_or_else(ended)?, stream.get_next.ok_or_else(ended)?);
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a function of the stream, with the stream and a place for its result.
    let status = py.detach(|| unsafe { describe(&raw mut *stream, &raw mut schema) });
    went_well(status, stream)?;
    let mut pieces = Vec::new();
    loop {
        py.check_signals()?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let status = py.detach(|| unsafe { next(&raw mut *stream, &raw mut array) });
        went_well(status, stream)?;
        if array.is_released() {
            return Ok(pieces);
        }
        pieces.push(piece(array, &schema)?);
    }
}

fn went_well(status: i32, stream: &mut FFI_ArrowArrayStream) -> PyResult<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: a function of the stream, after one of its functions has failed.
    let text = stream.get_last_error.map(|told| unsafe { told(stream) }).filter(|at| !at.is_null());
    // SAFETY: not null, and a string until the next call of the stream.
    let text = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    let told = text.unwrap_or_else(|| std::io::Error::from_raw_os_error(status).to_string());
    Err(broken(told))
}

/// An array whose offsets have been checked to be within it. Text is treated as bytes: it need not
/// be UTF-8.
fn piece(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let bytes = match DataType::try_from(schema).map_err(broken)? {
        Binary | Utf8 => Binary,
        LargeBinary | LargeUtf8 => LargeBinary,
        BinaryView | Utf8View => BinaryView,
        FixedSizeBinary(width) => FixedSizeBinary(width),
        other => {
            let message = format!("an Arrow column of {other}: expected strings or binary");
            return Err(PyTypeError::new_err(message));
        }
    };
    // SAFETY: the exporter of an array promises that its buffers are as long as its schema says.
    let data = unsafe { from_ffi(array, schema) }.map_err(broken)?;
    Ok(make_array(data.into_builder().data_type(bytes).build().map_err(broken)?))
}

fn broken(error: impl Display) -> PyErr {
    PyValueError::new_err(format!("an Arrow array that cannot be read: {error}"))
}
