//! Columns of Arrow, taken and given through PyCapsules (the Arrow C data interface).
#![allow(unsafe_code, reason = "structures of C in capsules")]

use std::ffi::CStr;
use std::fmt::Display;
use std::ptr::NonNull;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, make_array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

/// A column of strings or bytes, in as many pieces as it came in.
pub(crate) struct Column(Vec<ArrayRef>);

impl Column {
    /// The column that an object is; none if it knows nothing of Arrow.
    pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let pieces = if object.hasattr("__arrow_c_array__")? {
            vec![array(object)?]
        } else if object.hasattr("__arrow_c_stream__")? {
            stream(object)?
        } else {
            return Ok(None);
        };
        let column = Column(pieces);
        match column.0.iter().find(|piece| !is_readable(piece.data_type())) {
            None => Ok(Some(column)),
            Some(other) => Err(PyTypeError::new_err(format!(
                "an Arrow column of {}: allowed are strings and binary",
                other.data_type()
            ))),
        }
    }

    /// Its items; none for nulls.
    pub(crate) fn cells(&self) -> Vec<Option<&[u8]>> {
        let mut cells = Vec::with_capacity(self.0.iter().map(|piece| piece.len()).sum());
        for piece in &self.0 {
            match piece.data_type() {
                DataType::Utf8 => cells.extend(text(piece.as_string::<i32>())),
                DataType::LargeUtf8 => cells.extend(text(piece.as_string::<i64>())),
                DataType::Utf8View => cells.extend(text(piece.as_string_view())),
                DataType::Binary => cells.extend(piece.as_binary::<i32>()),
                DataType::LargeBinary => cells.extend(piece.as_binary::<i64>()),
                DataType::BinaryView => cells.extend(piece.as_binary_view()),
                _ => cells.extend(piece.as_fixed_size_binary()),
            }
        }
        cells
    }
}

fn is_readable(kind: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let fixed = matches!(kind, FixedSizeBinary(_));
    fixed || matches!(kind, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
}

fn text<'a>(
    items: impl IntoIterator<Item = Option<&'a str>>,
) -> impl Iterator<Item = Option<&'a [u8]>> {
    items.into_iter().map(|item| item.map(str::as_bytes))
}

/// Gives an array away: schema and array.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &FixedSizeBinaryArray,
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
    piece(array, unsafe { schema.as_ref() })
}

fn stream(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(STREAM))?.cast();
    // SAFETY: a capsule of this name holds such a structure, which is taken out of it.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let ended = || PyValueError::new_err("an Arrow stream that has ended");
    let (describe, next) =
        (stream.get_schema.ok_or_else(ended)?, stream.get_next.ok_or_else(ended)?);
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a function of the stream, with the stream and a place for what it gives.
    went_well(unsafe { describe(&raw mut stream, &raw mut schema) })?;
    let mut pieces = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        went_well(unsafe { next(&raw mut stream, &raw mut array) })?;
        if array.is_released() {
            return Ok(pieces);
        }
        pieces.push(piece(array, &schema)?);
    }
}

fn went_well(status: i32) -> PyResult<()> {
    match status {
        0 => Ok(()),
        status => Err(broken(std::io::Error::from_raw_os_error(status))),
    }
}

fn piece(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    // SAFETY: who exports an array promises that it is as its schema says.
    let data = unsafe { from_ffi(array, schema) }.map_err(broken)?;
    Ok(make_array(data))
}

fn broken(error: impl Display) -> PyErr {
    PyValueError::new_err(format!("an Arrow array that cannot be read: {error}"))
}
