//! The messages of `hash_many`: a list of buffers, an array of rows, or a column of Arrow.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::arrow;
use crate::buffer::{Bytes, View};

/// Messages, and whatever keeps them where they are.
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
    /// Zeros at the ends are no part of the rows: NumPy's strings have none.
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

    /// The messages; none for nulls.
    pub(crate) fn cells<'a>(&'a self) -> Vec<Option<&'a [u8]>> {
        match self {
            Rows::Column(column) => column.cells(),
            Rows::Array(array) => array.cells(),
            Rows::Items(items, views) => {
                let mut views = views.iter();
                let cell = |item: &'a Bound<'py, PyAny>| match item.cast::<PyBytes>() {
                    Ok(bytes) => Some(bytes.as_bytes()),
                    Err(_) => views.next().map(View::as_bytes),
                };
                items.iter().map(cell).collect()
            }
        }
    }
}

impl Array {
    /// An array whose items are bytes (two dimensions) or strings of bytes; none for others, whose
    /// items are objects of Python.
    fn of(view: View) -> PyResult<Option<Self>> {
        let extent = |at: usize| view.shape().get(at).map_or(0, |&extent| extent.max(0) as usize);
        let (count, width, item) = (extent(0), extent(1), view.item_size());
        let strings = view.format().ends_with(b"s");
        let (length, padded) = match (view.dimensions(), item) {
            (2, 1) => (width, false),
            (1, 1) if !strings => return Err(single()),
            (1, _) if strings => (item, true),
            (1, _) if view.format().ends_with(b"x") => (item, false),
            _ => return Ok(None),
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

fn single() -> PyErr {
    PyTypeError::new_err("a single message: allowed are a list of buffers, an array, or a column")
}
