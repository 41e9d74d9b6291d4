//! Batches: columns of passwords, with one result per item, in order.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString};
use saltern::{Passwords, Ticket};

use crate::buffer::Bytes;
use crate::login::{Login, whether};
use crate::pending::Pending;
use crate::secret::{not_a_string, secret, stored, stored_bytes};
use crate::{arrow, errors, process, wait};

/// A column: an Arrow column, or any iterable.
pub(crate) enum Column<'py> {
    Arrow(arrow::Column),
    Items(Bound<'py, PyAny>),
}

/// An item of a column.
enum Cell<'a, 'py> {
    Null,
    Raw(&'a [u8]),
    Object(Bound<'py, PyAny>),
}

type Cells<'a, 'py> = Box<dyn Iterator<Item = PyResult<Cell<'a, 'py>>> + 'a>;

impl<'py> Column<'py> {
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_single(object)?;
        let column = arrow::Column::import(object)?;
        Ok(column.map_or_else(|| Column::Items(object.clone()), Column::Arrow))
    }

    /// As an Arrow column of stored strings.
    pub(crate) fn of_strings(self) -> PyResult<arrow::Column> {
        let objects = match self {
            Column::Arrow(column) => return Ok(column),
            Column::Items(objects) => objects.try_iter()?.collect::<PyResult<Vec<_>>>()?,
        };
        let texts = objects.iter().map(|object| {
            if object.is_none() {
                return Ok(None);
            }
            if let Ok(bytes) = object.cast::<PyBytes>() {
                return Ok(Some(Cow::Borrowed(bytes.as_bytes())));
            }
            let text = object.cast::<PyString>().map_err(|_| not_a_string(object))?;
            // Text that cannot be encoded in UTF-8 is an error of its row, as bytes that are not
            // UTF-8 are.
            Ok(Some(
                text.to_str().map_or(Cow::Borrowed(&b"\xff"[..]), |text| text.as_bytes().into()),
            ))
        });
        let texts = texts.collect::<PyResult<Vec<_>>>()?;
        Ok(arrow::Column::of(texts.iter().map(Option::as_deref)))
    }

    fn cells(&self) -> PyResult<Cells<'_, 'py>> {
        Ok(match self {
            Column::Arrow(column) => {
                let cells = column.cells().into_iter();
                Box::new(cells.map(|cell| Ok(cell.map_or(Cell::Null, Cell::Raw))))
            }
            Column::Items(object) => Box::new(object.try_iter()?.map(|item| item.map(Cell::of))),
        })
    }
}

impl<'py> Cell<'_, 'py> {
    fn of(object: Bound<'py, PyAny>) -> Self {
        if object.is_none() { Cell::Null } else { Cell::Object(object) }
    }

    /// As a password.
    fn secret(&self, py: Python<'py>) -> PyResult<Bytes<'_>> {
        match self {
            Cell::Null => Err(errors::named(py, "BadInputError", "a null is no password")),
            Cell::Raw(bytes) => Ok(Bytes::Own(bytes)),
            Cell::Object(object) => secret("the password", object),
        }
    }

    /// As the id of an account; `None` if it is not given.
    fn account(&self) -> PyResult<Option<Bytes<'_>>> {
        match self {
            Cell::Null => Ok(None),
            Cell::Raw(bytes) => Ok(Some(Bytes::Own(bytes))),
            Cell::Object(object) => secret("the account", object).map(Some),
        }
    }

    /// As a stored string; `None` for an account that does not exist.
    fn stored(&self, py: Python<'py>) -> PyResult<Option<Cow<'_, str>>> {
        match self {
            Cell::Null => Ok(None),
            Cell::Raw(bytes) => stored_bytes(py, bytes).map(|text| Some(Cow::Borrowed(text))),
            Cell::Object(object) => stored(object).map(Some),
        }
    }
}

/// Refuses iterables that are a single password or string.
pub(crate) fn refuse_single(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let single = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>();
    let error = || PyTypeError::new_err("a single item, not a column of them");
    if single { Err(error()) } else { Ok(()) }
}

/// Cells of a column with those of another one, which is as long, if there is one.
fn beside<'a, 'py: 'a>(
    cells: impl Iterator<Item = PyResult<Cell<'a, 'py>>> + 'a,
    others: Option<&'a Column<'py>>,
    short: &'static str,
) -> PyResult<impl Iterator<Item = PyResult<(Cell<'a, 'py>, Cell<'a, 'py>)>> + 'a> {
    let (mut cells, mut others) = (cells, others.map(Column::cells).transpose()?);
    Ok(std::iter::from_fn(move || match (cells.next(), others.as_mut()) {
        (None, None) => None,
        (Some(cell), None) => Some(cell.map(|cell| (cell, Cell::Null))),
        (cell, Some(others)) => match (cell, others.next()) {
            (None, None) => None,
            (Some(cell), Some(other)) => Some(cell.and_then(|cell| Ok((cell, other?)))),
            _ => Some(Err(PyValueError::new_err(short))),
        },
    }))
}

/// For columns that are not equally long.
const ACCOUNTS: &str = "as many accounts as there are other items are needed";

/// Hashes a column: a list of strings, with exceptions for failed items.
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    passwords: &Passwords,
    (column, accounts): (&Column<'py>, Option<&Column<'py>>),
    until: Option<Instant>,
) -> PyResult<Bound<'py, PyList>> {
    let terms = Terms { passwords: passwords.bulk(), until };
    let tickets = beside(column.cells()?, accounts, ACCOUNTS)?.map(|pair| {
        let (cell, account) = pair?;
        let password = cell.secret(py).and_then(|password| Ok((password, account.account()?)));
        Ok(password.map(|(password, account)| match account {
            Some(account) => terms.now().for_account(account.as_bytes()).hash(password.as_bytes()),
            None => terms.now().hash(password.as_bytes()),
        }))
    });
    let text = |text: String| Ok(PyString::new(py, &text).into_any());
    in_order(py, terms.window(), tickets, text)
}

/// Verifies a column of stored strings, with `None` for accounts that do not exist, against one of
/// passwords.
pub(crate) fn verify_many<'py>(
    py: Python<'py>,
    passwords: &Passwords,
    columns: &[Column<'py>; 2],
    accounts: Option<&Column<'py>>,
    until: Option<Instant>,
) -> PyResult<Bound<'py, PyList>> {
    const PASSWORDS: &str = "as many passwords as stored strings are needed";
    let terms = Terms { passwords: passwords.bulk().without_updates(), until };
    let [hashes, secrets] = columns;
    let mut secrets = beside(secrets.cells()?, accounts, ACCOUNTS)?;
    let mut hashes = hashes.cells()?;
    let logins = std::iter::from_fn(|| match (hashes.next(), secrets.next()) {
        (None, None) => None,
        (Some(hash), Some(secret)) => Some(hash.and_then(|hash| Ok((hash, secret?)))),
        _ => Some(Err(PyValueError::new_err(PASSWORDS))),
    });
    let tickets = logins.map(|login| {
        let (hash, (password, account)) = login?;
        let login = hash
            .stored(py)
            .and_then(|hash| Ok(Login::of(hash, password.secret(py)?, account.account()?)));
        Ok(login.and_then(|login| login.start(py, &terms.now())))
    });
    in_order(py, terms.window(), tickets, |outcome| whether(py, outcome))
}

/// A batch for asyncio, whose items are submitted one by one.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct Batch {
    terms: Terms,
    open: Mutex<Open>,
}

impl Batch {
    pub(crate) fn new(passwords: &Passwords, until: Option<Instant>) -> Self {
        let terms = Terms { passwords: passwords.bulk().without_updates(), until };
        Batch { terms, open: Mutex::new(Open::none()) }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Batch {
    /// Whether another item may be in the queue.
    fn has_room(&self) -> bool {
        self.open().has_room(self.terms.window())
    }

    /// Counts an item that is in the queue from now on, or has failed already.
    fn add(&self) {
        self.open().add();
    }

    /// Counts an item that is no longer in the queue.
    fn remove(&self) {
        self.open().remove();
    }

    /// Removes all of its items from the count.
    fn close(&self) {
        *self.open() = Open::none();
    }

    fn hash(&self, py: Python<'_>, password: Bound<'_, PyAny>) -> PyResult<Pending> {
        let password = Cell::of(password);
        Ok(Pending::hash(self.terms.now().hash(password.secret(py)?.as_bytes())))
    }

    fn verify(
        &self,
        py: Python<'_>,
        hash: Bound<'_, PyAny>,
        password: Bound<'_, PyAny>,
    ) -> PyResult<Pending> {
        let (hash, password) = (Cell::of(hash), Cell::of(password));
        let login = Login::of(hash.stored(py)?, password.secret(py)?, None);
        Ok(Pending::login(login.start(py, &self.terms.now())?, whether))
    }
}

/// The terms for each item.
pub(crate) struct Terms {
    pub(crate) passwords: Passwords,
    /// The deadline for the whole batch.
    pub(crate) until: Option<Instant>,
}

impl Terms {
    pub(crate) fn now(&self) -> Passwords {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        self.until.map_or(self.passwords.clone(), |until| self.passwords.within(left(until)))
    }

    /// How many items may be in the queue at once: enough for threads to form groups, but few
    /// compared to the room for logins.
    pub(crate) fn window(&self) -> usize {
        let config = self.passwords.pool().config();
        (16 * config.threads).max(64).min(config.max_waiting / 2).max(1)
    }
}

/// Items in the queue, of all batches of this process together.
pub(crate) struct Open {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Open {
    pub(crate) fn none() -> Self {
        Open { all: process::batched(), own: 0 }
    }

    /// Whether there is room for another one; each batch always has room for at least one.
    pub(crate) fn has_room(&self, window: usize) -> bool {
        self.own == 0 || self.all.load(Ordering::Relaxed) < window
    }

    pub(crate) fn add(&mut self) {
        self.all.fetch_add(1, Ordering::Relaxed);
        self.own += 1;
    }

    pub(crate) fn remove(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
        self.own -= 1;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// The answers of tickets, with exceptions for those that could not be submitted or computed. The
/// number of open tickets is limited for the whole process, with at least one for each batch.
/// Signals end the wait.
fn in_order<'py, T: Send + 'static>(
    py: Python<'py>,
    window: usize,
    tickets: impl Iterator<Item = PyResult<PyResult<Ticket<T>>>>,
    answer: impl Fn(T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let answers = PyList::empty(py);
    let finish = |ticket: PyResult<Ticket<T>>| -> PyResult<()> {
        let computed = match ticket {
            Ok(ticket) => wait::result(py, ticket)?.map_err(|error| errors::of(py, &error)),
            Err(error) => Err(error),
        };
        match computed.and_then(&answer) {
            Ok(answer) => answers.append(answer),
            Err(error) if errors::is_of_an_item(py, &error) => answers.append(error.into_value(py)),
            Err(error) => Err(error),
        }
    };
    let (mut waiting, mut open) = (VecDeque::new(), Open::none());
    for (number, ticket) in tickets.enumerate() {
        if number % SIGNALS == 0 {
            // Items that fail at once do not wait, but other threads must get to run, too.
            py.detach(|| ());
            py.check_signals()?;
        }
        while !open.has_room(window) {
            waiting.pop_front().map_or(Ok(()), &finish)?;
            open.remove();
        }
        waiting.push_back(ticket?);
        open.add();
    }
    for ticket in waiting {
        finish(ticket)?;
        open.remove();
    }
    Ok(answers)
}

/// Signals are checked after this many items.
const SIGNALS: usize = 256;
