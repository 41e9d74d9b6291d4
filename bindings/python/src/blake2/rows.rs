//! The messages of `hash_many`: a list of buffers, an array of rows, or an Arrow column.

use arrow_buffer::NullBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::arrow;
use crate::buffer::{Bytes, View};

/// Messages, and the objects that keep them in place.
pub(crate) enum Rows<'py> {
    Column(arrow::Column),
    Array(Array),
    /// `bytes`, and views of everything else in the same order.
    Items(Vec<Bound<'py, PyAny>>, Vec<View>),
}

/// Rows of equal lengths, one after the other.
pub(crate) struct Array {
    view: View,
    count: usize,
    length: usize,
    /// Zeros at the ends are not part of the rows: NumPy strings are padded with them.
    padded: bool,
}

impl<'py> Rows<'py> {
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(single());
        }
        if let Some(column) = arrow::Column::import(object)? {
            return Ok(Rows::Column(column));
        }
        if let Ok(view) = View::items(object)
            && let Some(array) = Array::of(view)?
        {
            return Ok(Rows::Array(array));
        }
        let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let mut views = Vec::new();
        for item in items.iter().filter(|item| !item.is_instance_of::<PyBytes>()) {
            if let Bytes::Lent(view) = Bytes::message(item)? {
                views.push(view);
            }
        }
        Ok(Rows::Items(items, views))
    }

    /// The messages in memory.
    pub(crate) fn table<'a>(&'a self) -> Table<'a> {
        match self {
            Rows::Column(column) => match column.even() {
                Some((bytes, length)) => Table::Even { bytes, length, count: column.len() },
                None => Table::Cells(column.cells()),
            },
            Rows::Array(array) if !array.padded => {
                let Array { view, count, length, .. } = array;
                Table::Even { bytes: view.as_bytes(), length: *length, count: *count }
            }
            Rows::Array(array) => Table::Cells(array.cells()),
            Rows::Items(items, views) => {
                let mut views = views.iter();
                let cell = |item: &'a Bound<'py, PyAny>| match item.cast::<PyBytes>() {
                    Ok(bytes) => Some(bytes.as_bytes()),
                    Err(_) => views.next().map(View::as_bytes),
                };
                Table::Cells(items.iter().map(cell).collect())
            }
        }
    }
}

/// Messages in memory, which any thread may read.
pub(crate) enum Table<'a> {
    /// One after the other, of equal lengths.
    Even { bytes: &'a [u8], length: usize, count: usize },
    /// Anywhere; `None` means null.
    Cells(Vec<Option<&'a [u8]>>),
}

impl<'a> Table<'a> {
    /// The number of messages.
    pub(crate) fn len(&self) -> usize {
        match self {
            Table::Even { count, .. } => *count,
            Table::Cells(cells) => cells.len(),
        }
    }

    /// Bytes of all messages together.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Table::Even { bytes, .. } => bytes.len(),
            Table::Cells(cells) => cells.iter().flatten().map(|cell| cell.len()).sum(),
        }
    }

    /// Which of them are null; `None` if none is.
    pub(crate) fn nulls(&self) -> Option<NullBuffer> {
        let Table::Cells(cells) = self else { return None };
        let nulls = cells.iter().any(Option::is_none);
        nulls.then(|| cells.iter().map(Option::is_some).collect())
    }

    /// At most `count` messages from `first` on; nulls are empty.
    pub(crate) fn part(&self, first: usize, count: usize) -> Vec<&'a [u8]> {
        let last = self.len().min(first.saturating_add(count));
        match self {
            Table::Even { length: 0, .. } => vec![&[]; last - first],
            Table::Even { bytes, length, .. } => {
                bytes[first * length..last * length].chunks_exact(*length).collect()
            }
            Table::Cells(cells) => {
                cells[first..last].iter().map(|cell| cell.unwrap_or_default()).collect()
            }
        }
    }
}

impl Array {
    /// An array whose items are bytes (two dimensions) or byte strings; `None` for others, whose
    /// items are Python objects.
    fn of(view: View) -> PyResult<Option<Self>> {
        let extent = |at: usize| view.shape().get(at).map_or(0, |&extent| extent.max(0) as usize);
        let (count, width, item) = (extent(0), extent(1), view.item_size());
        let format = view.format();
        let strings = format.ends_with(b"s");
        let (length, padded) = match (view.dimensions(), format.last()) {
            (1, Some(b's')) => (item, true),
            (1, Some(b'x')) => (item, false),
            // Objects, and text, which is refused item by item.
            (_, Some(b'O' | b'w')) => return Ok(None),
            _ if item != 1 || strings => return Err(numbers(format)),
            (2, _) => (width, false),
            (1, _) => return Err(single()),
            _ => return Err(numbers(format)),
        };
        Ok(Some(Array { view, count, length, padded }))
    }

    fn cells(&self) -> Vec<Option<&[u8]>> {
        let bytes = self.view.as_bytes();
        let row = |at: usize| {
            let row = bytes.get(at * self.length..(at + 1) * self.length).unwrap_or_default();
            let zeros = row.iter().rev().take_while(|&&byte| self.padded && byte == 0).count();
            Some(&row[..row.len() - zeros])
        };
        (0..self.count).map(row).collect()
    }
}

/// Their bytes would differ on another machine.
fn numbers(format: &[u8]) -> PyErr {
    PyTypeError::new_err(format!(
        "an array of items {:?}: expected a two-dimensional array of bytes or an array of byte \
         strings",
        String::from_utf8_lossy(format)
    ))
}

fn single() -> PyErr {
    PyTypeError::new_err("a single message: expected a list of buffers, an array, or a column")
}
