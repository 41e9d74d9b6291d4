//! Columns of stored strings, for work that needs no password: moving to another key, wrapping,
//! checking, counting. One call processes a column without the interpreter, in the threads of the
//! pool, where logins come first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, LargeStringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use saltern::table::{self, Census, Format, Located, locate};
use saltern::{Error, ErrorKind, Passwords, Prepared, Ticket};

use crate::arrow::{self, Column};
use crate::batches::{Open, Terms};
use crate::errors;
use crate::secret::NOT_TEXT;
use crate::wait::SLICE;

/// The result of `rekey_many`, `seal_many`, `wrap_many`, `check_many` and `count_many`: an Arrow
/// column whose items have three fields. `hash` is the new string, null if nothing changes.
/// `outcome` is one of "changed", "same", "locked" (a locked account without a hash), "empty" and
/// "null", or for an error "bad", "refused", "unavailable", "tampered" or "failed". `why` is the
/// error message.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Rows(StructArray);

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<saltern.Rows of {} strings: pyarrow.array(rows) has them>", self.0.len())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // There is only one type; for another one, cast it.
        let _ = requested_schema;
        arrow::export(py, &self.0)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(arrow::export(py, &self.0)?.0)
    }
}

/// The result for a string.
struct Row {
    new: Option<String>,
    outcome: &'static str,
    why: Option<String>,
}

impl Row {
    fn of(cell: &str, result: Result<Option<String>, Error>) -> Self {
        match result {
            Ok(Some(new)) => Row { new: Some(new), outcome: "changed", why: None },
            Ok(None) if matches!(table::scheme(cell), Ok(None)) => Row::without("locked"),
            Ok(None) => Row::without("same"),
            Err(error) => {
                let outcome = match error.kind() {
                    ErrorKind::BadInput => "bad",
                    ErrorKind::OverLimit => "refused",
                    ErrorKind::Unavailable => "unavailable",
                    ErrorKind::Tampered => "tampered",
                    ErrorKind::Overloaded | ErrorKind::Internal => "failed",
                };
                Row { new: None, outcome, why: Some(error.to_string()) }
            }
        }
    }

    fn without(outcome: &'static str) -> Self {
        Row { new: None, outcome, why: None }
    }

    /// The string of a cell, or the result for a cell without one.
    fn of_none(cell: Option<&[u8]>) -> Result<&str, Self> {
        match cell.map(str::from_utf8) {
            None => Err(Row::without("null")),
            Some(Ok("")) => Err(Row::without("empty")),
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err(Row { new: None, outcome: "bad", why: Some(NOT_TEXT.to_owned()) }),
        }
    }
}

impl Rows {
    fn new(rows: &[Row]) -> Self {
        // Large arrays: the others have room for only 2 GiB of text.
        let hash: LargeStringArray = rows.iter().map(|row| row.new.as_deref()).collect();
        let outcome: LargeStringArray = rows.iter().map(|row| Some(row.outcome)).collect();
        let why: LargeStringArray = rows.iter().map(|row| row.why.as_deref()).collect();
        let field = |name, nullable| Field::new(name, DataType::LargeUtf8, nullable);
        let fields = [field("hash", true), field("outcome", false), field("why", true)];
        let columns: Vec<ArrayRef> = vec![Arc::new(hash), Arc::new(outcome), Arc::new(why)];
        Rows(StructArray::new(Fields::from_iter(fields), columns, None))
    }
}

/// A column of stored strings, and the ids of their accounts, if given.
pub(crate) struct Stored {
    strings: Column,
    accounts: Option<Column>,
    /// Where a string is in its cell, if cells are documents.
    format: Option<Arc<Format>>,
}

impl Stored {
    /// Both columns are equally long.
    pub(crate) fn new(
        strings: Column,
        accounts: Option<Column>,
        format: Option<Format>,
    ) -> PyResult<Self> {
        let missing = accounts.as_ref().is_some_and(|accounts| accounts.len() != strings.len());
        let error = || PyValueError::new_err("as many accounts as stored strings are needed");
        let format = format.map(Arc::new);
        if missing { Err(error()) } else { Ok(Stored { strings, accounts, format }) }
    }

    fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let accounts = self.accounts.as_ref().map(|accounts| accounts.slice(range.clone()));
        Stored { strings: self.strings.slice(range), accounts, format: self.format.clone() }
    }

    /// The strings, each with its account if there is one.
    fn cells(&self) -> impl Iterator<Item = (Option<&[u8]>, Option<&[u8]>)> {
        let accounts = self.accounts.iter().flat_map(Column::cells);
        self.strings.cells().into_iter().zip(accounts.chain(std::iter::repeat(None)))
    }
}

/// Where the string is in a document of JSON: where a key or a JSON pointer says, or where Keycloak
/// has it; `None` for strings that are in no document.
pub(crate) fn in_json(json_key: Option<&str>, keycloak: bool) -> PyResult<Option<Format>> {
    match json_key {
        Some(_) if keycloak => Err(PyValueError::new_err("json_key or keycloak, not both")),
        Some(key) => Ok(Some(Format::Json { stored: key.to_owned(), account: None })),
        None => Ok(keycloak.then_some(Format::Keycloak)),
    }
}

/// The string of a cell.
enum Found<'c> {
    Whole(&'c str),
    Part(Located<'c>),
}

impl<'c> Found<'c> {
    /// Finds it; or the result for a cell without one.
    fn new(cell: Option<&'c [u8]>, format: Option<&Format>) -> Result<Self, Row> {
        let text = Row::of_none(cell)?;
        match format.map(|format| locate(text, format)) {
            None => Ok(Found::Whole(text)),
            Some(Ok(Some(found))) => Ok(Found::Part(found)),
            Some(Ok(None)) => Err(Row::without("empty")),
            Some(Err(error)) => Err(Row::of(text, Err(error))),
        }
    }

    fn stored(&self) -> &str {
        match self {
            Found::Whole(text) => text,
            Found::Part(found) => found.stored(),
        }
    }

    /// The result for the cell, from that for its string.
    fn row(self, result: Result<Option<String>, Error>) -> Row {
        let row = Row::of(self.stored(), result);
        match (self, &row.new) {
            (Found::Part(found), Some(new)) => Row { new: Some(found.replaced(new)), ..row },
            _ => row,
        }
    }
}

/// The operation on a single string.
pub(crate) type Operation = fn(&Prepared, &str) -> Result<Option<String>, Error>;

/// What has the handle of an account: a policy for each of its strings.
fn of(prepared: &Prepared, account: Option<&[u8]>) -> Prepared {
    account.map_or_else(|| prepared.clone(), |account| prepared.for_account(account))
}

/// Applies an operation to a column.
pub(crate) fn each(
    py: Python<'_>,
    passwords: &Passwords,
    prepared: &Prepared,
    column: &Stored,
    operation: Operation,
) -> PyResult<Rows> {
    let prepared = prepared.clone();
    let rows = in_pieces(py, passwords, column, move |cells| {
        let row = |(cell, account)| match Found::new(cell, cells.format.as_deref()) {
            Ok(found) => {
                let result = operation(&of(&prepared, account), found.stored());
                found.row(result)
            }
            Err(row) => row,
        };
        cells.cells().map(row).collect::<Vec<_>>()
    })?;
    Ok(py.detach(|| Rows::new(&rows.into_iter().flatten().collect::<Vec<_>>())))
}

/// Counts a column, as `saltern census` does, and checks it, as `check_many` does.
pub(crate) fn count_many(
    py: Python<'_>,
    passwords: &Passwords,
    prepared: &Prepared,
    column: &Stored,
) -> PyResult<(Census, u64, Rows)> {
    let counting = prepared.clone();
    let pieces = in_pieces(py, passwords, column, move |cells| {
        let (mut census, mut others) = (Census::default(), 0);
        let row = |(cell, account)| match Found::new(cell, cells.format.as_deref()) {
            Ok(found) => {
                let text = found.stored();
                let counting = of(&counting, account);
                let can_verify = counting.can_verify(text);
                // A string that is bad for one is bad for the other.
                let _ = counting.table().count(text, &mut census);
                Row::of(text, can_verify.map(|_| None))
            }
            Err(row) => {
                // What cannot be read is bad; the others are accounts without a string.
                if row.outcome == "bad" {
                    census.bad += 1
                } else {
                    others += 1
                }
                row
            }
        };
        let rows = cells.cells().map(row).collect::<Vec<_>>();
        (census, others, rows)
    })?;
    let (mut census, mut others, mut rows) = (Census::default(), 0, Vec::new());
    for (more, without, piece) in pieces {
        prepared.table().merge(&mut census, more);
        others += without;
        rows.extend(piece);
    }
    Ok((census, others, Rows::new(&rows)))
}

/// A census for Python, with the names of `saltern census --json`.
pub(crate) fn census<'py>(
    py: Python<'py>,
    census: Census,
    without: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    for (name, number) in census.numbers() {
        counts.set_item(name, number)?;
    }
    counts.set_item("without_string", without)?;
    let schemes = census.schemes.into_iter().map(|(scheme, count)| (scheme.to_string(), count));
    counts.set_item("schemes", schemes.collect::<std::collections::BTreeMap<_, _>>())?;
    counts.set_item("unsupported", census.unsupported)?;
    counts.set_item("seals", census.seals)?;
    counts.set_item("keys", census.keys)?;
    counts.set_item("roms", census.roms)?;
    counts.set_item("costs", census.costs)?;
    Ok(counts)
}

/// Wraps each string of another scheme in a yescrypt hash.
pub(crate) fn wrap_many(
    py: Python<'_>,
    passwords: &Passwords,
    column: &Stored,
    until: Option<Instant>,
) -> PyResult<Rows> {
    let terms = Terms { passwords: passwords.bulk(), until };
    let cells: Vec<_> = column.cells().collect();
    let mut left = cells.iter();
    let submit = || {
        let (cell, account) = *left.next()?;
        let cell = Found::new(cell, column.format.as_deref());
        let ticket = match (&cell, account) {
            (Ok(text), Some(account)) => terms.now().for_account(account).wrap(text.stored()),
            (Ok(text), None) => terms.now().wrap(text.stored()),
            (Err(_), _) => Ticket::from(Ok(None)),
        };
        Some((cell, ticket))
    };
    let mut rows = Vec::with_capacity(cells.len());
    drive(py, terms.window(), submit, |cell, result| {
        rows.push(cell.map_or_else(|row| row, |found| found.row(result)));
    })?;
    Ok(py.detach(|| Rows::new(&rows)))
}

/// The number of strings in one task of the pool: a few milliseconds.
const PIECE: usize = 512;

/// Applies a function to pieces of a column in the pool; returns the results in order.
fn in_pieces<T: Send + 'static>(
    py: Python<'_>,
    passwords: &Passwords,
    column: &Stored,
    function: impl Fn(&Stored) -> T + Clone + Send + Sync + 'static,
) -> PyResult<Vec<T>> {
    let terms = Terms { passwords: passwords.bulk(), until: None };
    let count = column.strings.len();
    let mut starts = (0..count).step_by(PIECE);
    let submit = || {
        let start = starts.next()?;
        let range = start..count.min(start + PIECE);
        let (column, function) = (column.slice(range), function.clone());
        let run = move || function(&column);
        Some(((), terms.passwords.run(run)))
    };
    let mut pieces = Vec::new();
    let mut failed = None;
    drive(py, terms.window(), submit, |(), result| match result {
        Ok(piece) => pieces.push(piece),
        Err(error) => failed = Some(error),
    })?;
    failed.map_or(Ok(pieces), |error| Err(errors::of(py, &error)))
}

/// Waits for tickets in order, with as many open at a time as there is room for. Detached, except
/// to check signals, which end it.
fn drive<K: Send, T: Send + 'static>(
    py: Python<'_>,
    window: usize,
    mut submit: impl FnMut() -> Option<(K, Ticket<T>)> + Send,
    mut take: impl FnMut(K, Result<T, Error>) + Send,
) -> PyResult<()> {
    let (mut waiting, mut open) = (VecDeque::new(), Open::none());
    let mut until_done = || {
        let until = Instant::now() + SLICE;
        loop {
            while open.has_room(window) {
                let Some(next) = submit() else { break };
                waiting.push_back(next);
                open.add();
            }
            let Some((key, ticket)) = waiting.pop_front() else { return true };
            match ticket.wait_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(result) => {
                    open.remove();
                    take(key, result);
                }
                Err(ticket) => {
                    waiting.push_front((key, ticket));
                    return false;
                }
            }
        }
    };
    while !py.detach(&mut until_done) {
        py.check_signals()?;
    }
    Ok(())
}
