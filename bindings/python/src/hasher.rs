//! `PasswordHasher`: hashing and verifying under a policy.

// Size: the methods of one Python class, with their documentation.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use saltern::policy::{PoolConfig, Scheme, Share};
use saltern::table::{self, Format};
use saltern::{Passwords, Policy, Prepared, Ticket};

use crate::batches::{self, Batch, Column, Terms};
use crate::columns::{self, Operation, Rows, Stored};
use crate::login::{Login, matched, updated};
use crate::pending::Pending;
use crate::secret::{kind, secret, stored};
use crate::wait::{due, wait};
use crate::{errors, process, site};

/// Hashes and verifies passwords under a policy.
///
///     >>> hasher = PasswordHasher()
///     >>> stored = hasher.hash("correct horse")
///     >>> hasher.verify(stored, "correct horse")
///     True
///     >>> hasher.verify_and_update(stored, "battery staple")
///     (False, None)
///
/// `cost` is the cost of new hashes, 1 to 9: 16 MiB at 5, twice the memory and time at each step.
/// `schemes` are the schemes of stored strings to verify (`["yescrypt", "bcrypt"]`; only yescrypt
/// by default), and `deadline` is the number of seconds that a call may take. Everything else is
/// set by a policy: `from_policy`. So are costs of 10 and 11, which need higher `[limits]`.
///
/// A string that is stronger than new hashes, whatever its scheme, is kept: an Argon2 string of
/// 64 MiB has no update at cost 5.
///
/// One object serves all threads. Passwords are str, as UTF-8, or bytes. Hashes are computed
/// without the interpreter, in the threads of one pool for the whole process, which the first hash
/// starts; Ctrl-C interrupts waiting for them. `saltern.exceptions` lists what is raised.
#[pyclass(module = "saltern", frozen)]
pub(crate) struct PasswordHasher {
    policy: Prepared,
    /// Of this process's pool.
    share: Share,
    /// The pool defaults when this policy was read: for instance as many threads as there were
    /// processors then.
    usual: PoolConfig,
    /// Bound to the pool of this process from the first hash on. Locked only while attached, and
    /// never across detaching: see `process`.
    bound: Mutex<Option<Passwords>>,
}

/// Outside of Python.
impl PasswordHasher {
    fn open(py: Python<'_>, policy: Result<Policy, saltern::Error>) -> PyResult<Self> {
        // ROMs may be copied, which takes time.
        let prepared = py.detach(|| policy.and_then(Prepared::new));
        let policy = prepared.map_err(|error| errors::of(py, &error))?;
        let (usual, bound) = (PoolConfig::default(), Mutex::new(None));
        Ok(PasswordHasher { policy, share: Share::default(), usual, bound })
    }

    /// Applies an operation to a column.
    fn each(&self, py: Python<'_>, column: &Stored, operation: Operation) -> PyResult<Rows> {
        columns::each(py, &self.passwords(py)?, &self.policy, column, operation)
    }

    /// Hashing in the pool of this process.
    fn passwords(&self, py: Python<'_>) -> PyResult<Passwords> {
        let bound = || self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let current = bound().clone();
        if let Some(passwords) = current.filter(|passwords| !passwords.pool().is_forked()) {
            return Ok(passwords);
        }
        let pool = process::pool(py, &self.policy, &self.usual)?;
        let passwords = Passwords::in_pool(&self.policy, pool).share(self.share);
        let old = bound().replace(passwords.clone());
        drop(old);
        Ok(passwords)
    }

    /// The passwords of the process, with this many seconds for a call, if given.
    fn within(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Passwords> {
        let until = due(py, seconds)?;
        Ok(Terms { passwords: self.passwords(py)?, until }.now())
    }

    /// The same for an account, if given.
    fn of_account(
        &self,
        py: Python<'_>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Passwords> {
        let passwords = self.within(py, deadline)?;
        Ok(match account {
            Some(account) => passwords.for_account(secret("the account", account)?.as_bytes()),
            None => passwords,
        })
    }

    /// The policy for an account, if given.
    fn policy_of(&self, account: Option<&Bound<'_, PyAny>>) -> PyResult<Prepared> {
        Ok(match account {
            Some(account) => self.policy.for_account(secret("the account", account)?.as_bytes()),
            None => self.policy.clone(),
        })
    }

    fn start_hash(
        password: &Bound<'_, PyAny>,
        salt: Option<&[u8]>,
        passwords: &Passwords,
    ) -> PyResult<Ticket<String>> {
        let password = secret("the password", password)?;
        Ok(match salt {
            Some(salt) => passwords.hash_with_salt(password.as_bytes(), salt),
            None => passwords.hash(password.as_bytes()),
        })
    }
}

#[pymethods]
impl PasswordHasher {
    #[new]
    #[pyo3(signature = (cost = 5, *, schemes = None, deadline = None))]
    fn new(
        py: Python<'_>,
        cost: i64,
        schemes: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Self> {
        let text = format!("[params]\ncost = {cost}\n");
        let mut policy = Policy::parse(&text, "").map_err(|_| {
            let message = format!(
                "cost = {cost}: expected 1 to 9, or a policy with higher [limits] for 10 and 11"
            );
            errors::named(py, "BadInputError", message)
        })?;
        if let Some(names) = schemes {
            policy.schemes = named_schemes(names)?;
        }
        policy.deadline = due(py, deadline)?.map(|until| until.duration_since(Instant::now()));
        Self::open(py, Ok(policy))
    }

    /// A hasher with the policy in a file: costs, limits, schemes, keys, ROMs, the pool, decoys.
    ///
    /// Raises BadInputError with file, line, key, value and what is allowed, and UnavailableError
    /// for a key or a ROM that is missing or is the wrong one.
    #[staticmethod]
    fn from_policy(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        Self::open(py, Policy::read(file))
    }

    /// A hasher with a policy as text; names of files in it are relative to the folder `beside`.
    #[staticmethod]
    #[pyo3(
        signature = (text, *, beside = PathBuf::new()),
        text_signature = "(text, *, beside='')"
    )]
    fn from_policy_text(py: Python<'_>, text: &str, beside: PathBuf) -> PyResult<Self> {
        Self::open(py, Policy::parse(text, beside).map_err(saltern::Error::from))
    }

    /// Hashes a new password into a string to store.
    ///
    /// The salt is random unless it is given: up to 64 bytes, for systems that keep salts
    /// themselves. `account` is the id that the string is sealed for if the policy has an active
    /// key for seals; it never changes. `deadline` is in seconds from now.
    #[pyo3(signature = (password, *, salt = None, account = None, deadline = None))]
    fn hash(
        &self,
        py: Python<'_>,
        password: &Bound<'_, PyAny>,
        salt: Option<&[u8]>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<String> {
        let passwords = self.of_account(py, account, deadline)?;
        wait(py, Self::start_hash(password, salt, &passwords)?)
    }

    /// Returns `True` if the password matches the stored string; raises VerifyMismatchError if not.
    ///
    /// For an account that does not exist, pass `None` as the stored string: as much is computed as
    /// for an existing one. `account` is its id; sealed strings need the one that they were sealed
    /// for, and raise TamperedError for any other.
    #[pyo3(signature = (hash, password, *, account = None, deadline = None))]
    fn verify(
        &self,
        py: Python<'_>,
        hash: Option<&Bound<'_, PyAny>>,
        password: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<bool> {
        let login = Login::new(hash, password, account)?;
        let passwords = self.within(py, deadline)?.without_updates();
        matched(py, &wait(py, login.start(py, &passwords)?)?)
    }

    /// Whether the password matches, and the string to store instead if the old one is outdated.
    ///
    /// Write it only if the old one is still stored. No password matches for a locked account.
    #[pyo3(signature = (hash, password, *, account = None, deadline = None))]
    fn verify_and_update(
        &self,
        py: Python<'_>,
        hash: Option<&Bound<'_, PyAny>>,
        password: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<(bool, Option<String>)> {
        let login = Login::new(hash, password, account)?;
        let passwords = self.within(py, deadline)?;
        Ok(updated(wait(py, login.start(py, &passwords)?)?))
    }

    /// Whether the stored string differs from what a new one would be: whether `rehash_reasons`
    /// has any. Computes nothing.
    fn check_needs_rehash(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(!self.rehash_reasons(py, hash)?.is_empty())
    }

    /// The ways in which the stored string differs from a new one: "scheme", "cost", "floor",
    /// "salt", "key", "seal", "rom", "wrapped". Empty if there are none.
    ///
    /// A string of another scheme that is stronger than a new hash (more memory times work) is not
    /// outdated for that. "scheme" always stands for one that `verify` refuses.
    fn rehash_reasons(
        &self,
        py: Python<'_>,
        hash: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<&'static str>> {
        let reasons = self.policy.table().needs_rehash(&stored(hash)?);
        let reasons = reasons.map_err(|error| invalid_hash(py, &error))?;
        Ok(reasons.words())
    }

    /// The same hash under the active key of the policy; `None` if it already is. No password is
    /// needed. Sealed strings need their `account`.
    #[pyo3(signature = (hash, *, account = None))]
    fn rekey(
        &self,
        py: Python<'_>,
        hash: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<String>> {
        let rekeyed = self.policy_of(account)?.table().rekey(&stored(hash)?);
        rekeyed.map_err(|error| invalid_hash(py, &error))
    }

    /// The same string sealed for an account, given by an id that never changes, with the active
    /// key for seals; `None` if it already is. No password is needed. Raises TamperedError for a
    /// string that is not the one sealed for this account.
    fn seal(
        &self,
        py: Python<'_>,
        hash: &Bound<'_, PyAny>,
        account: &Bound<'_, PyAny>,
    ) -> PyResult<Option<String>> {
        let sealed = self.policy_of(Some(account))?.table().seal(&stored(hash)?);
        sealed.map_err(|error| invalid_hash(py, &error))
    }

    /// Wraps a hash of another scheme in a yescrypt hash, without the password; `None` for a string
    /// that needs no wrapping. Sealed strings need their `account`.
    #[pyo3(signature = (hash, *, account = None, deadline = None))]
    fn wrap(
        &self,
        py: Python<'_>,
        hash: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Option<String>> {
        let hash = stored(hash)?;
        table::scheme(&hash).map_err(|error| invalid_hash(py, &error))?;
        wait(py, self.of_account(py, account, deadline)?.wrap(&hash))
    }

    /// Hashes a column of passwords: returns a list with a string, or an exception, for each, in
    /// order.
    ///
    /// Columns are Arrow columns (objects with `__arrow_c_array__` or `__arrow_c_stream__`) or any
    /// iterables, including NumPy arrays. `accounts` is a column of the ids that the strings are
    /// sealed for. Logins come first. `deadline` applies to the whole call.
    #[pyo3(signature = (passwords, *, accounts = None, deadline = None))]
    fn hash_many<'py>(
        &self,
        py: Python<'py>,
        passwords: &Bound<'py, PyAny>,
        accounts: Option<&Bound<'py, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (column, accounts) = (Column::of(passwords)?, accounts.map(Column::of).transpose()?);
        let columns = (&column, accounts.as_ref());
        batches::hash_many(py, &self.passwords(py)?, columns, due(py, deadline)?)
    }

    /// Verifies a column of stored strings, with `None` for accounts that do not exist, against a
    /// column of passwords: returns a list of `True`, `False` and exceptions, in order. For a
    /// locked account it has an AccountLockedError. `accounts` is a column of their ids, which
    /// sealed strings need.
    #[pyo3(signature = (hashes, passwords, *, accounts = None, deadline = None))]
    fn verify_many<'py>(
        &self,
        py: Python<'py>,
        hashes: &Bound<'py, PyAny>,
        passwords: &Bound<'py, PyAny>,
        accounts: Option<&Bound<'py, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let columns = [Column::of(hashes)?, Column::of(passwords)?];
        let accounts = accounts.map(Column::of).transpose()?;
        let (passwords, until) = (self.passwords(py)?, due(py, deadline)?);
        batches::verify_many(py, &passwords, &columns, accounts.as_ref(), until)
    }

    /// Moves a column of stored strings to the active key, as `rekey` does with one string.
    ///
    /// Returns an Arrow column (`pyarrow.array(rows)`) with three fields: `hash`, the new string,
    /// null if nothing changes; `outcome`, one of "changed", "same", "locked", "empty", "null", or
    /// of the errors "bad", "refused", "unavailable", "tampered", "failed"; and `why`, the error
    /// message. Columns are as for `hash_many`; items that are neither strings nor bytes raise
    /// TypeError. `accounts` is a column of their ids, which sealed strings need. With `json_key`
    /// the items are documents of JSON, with the string under this key or where this JSON pointer
    /// leads, and `hash` is the whole document; all else in it stays as it is. With `keycloak` they
    /// are credentials of Keycloak, as rows of its table. Logins come first. There is no
    /// `deadline`: a row takes microseconds.
    #[pyo3(signature = (hashes, *, accounts = None, json_key = None, keycloak = false))]
    fn rekey_many(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        accounts: Option<&Bound<'_, PyAny>>,
        json_key: Option<&str>,
        keycloak: bool,
    ) -> PyResult<Rows> {
        let rekey: Operation = |prepared, text| prepared.table().rekey(text);
        self.each(py, &column(hashes, accounts, columns::in_json(json_key, keycloak)?)?, rekey)
    }

    /// Seals a column of stored strings for a column of accounts, as `seal` does with one string.
    /// Returns the same as `rekey_many`.
    #[pyo3(signature = (hashes, accounts, *, json_key = None, keycloak = false))]
    fn seal_many(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        accounts: &Bound<'_, PyAny>,
        json_key: Option<&str>,
        keycloak: bool,
    ) -> PyResult<Rows> {
        let seal: Operation = |prepared, text| prepared.table().seal(text);
        self.each(py, &column(hashes, Some(accounts), columns::in_json(json_key, keycloak)?)?, seal)
    }

    /// Wraps each string of another scheme in a column, as `wrap` does with one string. Returns the
    /// same as `rekey_many`; `deadline` applies to the whole call.
    #[pyo3(signature = (hashes, *, accounts = None, deadline = None, json_key = None, keycloak = false))]
    fn wrap_many(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        accounts: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
        json_key: Option<&str>,
        keycloak: bool,
    ) -> PyResult<Rows> {
        let column = column(hashes, accounts, columns::in_json(json_key, keycloak)?)?;
        columns::wrap_many(py, &self.passwords(py)?, &column, due(py, deadline)?)
    }

    /// Checks whether each string of a column could be verified: it can be read, the policy admits
    /// it, its key and its ROM are available, and its seal is right (outcome "same"). Computes no
    /// hash. Returns the same as `rekey_many`.
    #[pyo3(signature = (hashes, *, accounts = None, json_key = None, keycloak = false))]
    fn check_many(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        accounts: Option<&Bound<'_, PyAny>>,
        json_key: Option<&str>,
        keycloak: bool,
    ) -> PyResult<Rows> {
        let check: Operation = |prepared, text| prepared.can_verify(text).map(|_| None);
        self.each(py, &column(hashes, accounts, columns::in_json(json_key, keycloak)?)?, check)
    }

    /// Counts a column of stored strings: returns a dictionary with the names of `saltern census
    /// --json`, and the rows of `check_many`.
    #[pyo3(signature = (hashes, *, accounts = None, json_key = None, keycloak = false))]
    fn count_many<'py>(
        &self,
        py: Python<'py>,
        hashes: &Bound<'py, PyAny>,
        accounts: Option<&Bound<'py, PyAny>>,
        json_key: Option<&str>,
        keycloak: bool,
    ) -> PyResult<(Bound<'py, PyDict>, Rows)> {
        let column = column(hashes, accounts, columns::in_json(json_key, keycloak)?)?;
        let (census, without, rows) =
            columns::count_many(py, &self.passwords(py)?, &self.policy, &column)?;
        Ok((columns::census(py, census, without)?, rows))
    }

    /// The parts of the policy that affect strings, without secrets: parameters, limits, schemes,
    /// names and fingerprints of keys, hashes of ROMs. Machines with the same values treat strings
    /// alike.
    #[getter]
    fn site<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        site::described(py, self.policy.table().policy())
    }

    /// The same hasher for one of several clients, known by any name, that share the threads of
    /// this process: while all of them have hashes waiting, each is given work by its weight, 1 to
    /// 1,000,000, whatever it asks for and whatever its deadlines.
    #[pyo3(signature = (client, weight = 1))]
    fn for_client(&self, client: &str, weight: u32) -> Self {
        let (policy, usual) = (self.policy.clone(), self.usual.clone());
        let share = Share::of(client).weight(weight);
        PasswordHasher { policy, share, usual, bound: Mutex::new(None) }
    }

    /// The number of threads that hash, according to the policy.
    #[getter]
    fn threads(&self) -> usize {
        self.policy.pool_config().threads
    }

    /// For the adapters: whether new hashes can be of this password, according to the policy.
    fn _takes(&self, password: &[u8]) -> bool {
        self.policy.table().policy().limits.admit_password(password).is_ok()
    }

    /// For the adapters: `verify` of a password that the policy may refuse. Then strings of
    /// yescrypt and scrypt are compared with the stand-in, and those of other schemes with it.
    #[pyo3(signature = (hash, password, stand_in))]
    fn _verify_any(
        &self,
        py: Python<'_>,
        hash: &Bound<'_, PyAny>,
        password: &Bound<'_, PyAny>,
        stand_in: &[u8],
    ) -> PyResult<bool> {
        let login = Login::new(Some(hash), password, None)?;
        let passwords = self.passwords(py)?.without_updates();
        matched(py, &wait(py, login.start_any(py, &passwords, stand_in)?)?)
    }

    /// For `AsyncPasswordHasher`.
    #[pyo3(signature = (password, salt, account, deadline))]
    fn _start_hash(
        &self,
        py: Python<'_>,
        password: &Bound<'_, PyAny>,
        salt: Option<&[u8]>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Pending> {
        let passwords = self.of_account(py, account, deadline)?;
        Ok(Pending::hash(Self::start_hash(password, salt, &passwords)?))
    }

    /// For `AsyncPasswordHasher`: the answer of `verify_and_update` or of `verify`.
    #[pyo3(signature = (hash, password, account, deadline, update))]
    fn _start_login(
        &self,
        py: Python<'_>,
        hash: Option<&Bound<'_, PyAny>>,
        password: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        deadline: Option<f64>,
        update: bool,
    ) -> PyResult<Pending> {
        let login = Login::new(hash, password, account)?;
        let passwords = self.within(py, deadline)?;
        if update {
            let ticket = login.start(py, &passwords)?;
            let answer =
                Pending::login(ticket, |py, outcome| updated(outcome).into_bound_py_any(py));
            return Ok(answer);
        }
        let ticket = login.start(py, &passwords.without_updates())?;
        Ok(Pending::login(ticket, |py, outcome| matched(py, &outcome)?.into_bound_py_any(py)))
    }

    /// For `AsyncPasswordHasher`: a batch for these columns, whose items are not inspected.
    #[pyo3(signature = (columns, deadline))]
    fn _batch(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        deadline: Option<f64>,
    ) -> PyResult<Batch> {
        columns.iter().try_for_each(batches::refuse_single)?;
        let until = due(py, deadline)?;
        Ok(Batch::new(&self.passwords(py)?, until))
    }

    /// Remarks for the operator about the files of keys and ROMs: loose permissions, resources that
    /// were not available.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.policy.table().notes().to_vec()
    }

    /// The work of a new hash, in the unit that `inspect` reports for stored ones.
    #[getter]
    fn work(&self) -> u128 {
        self.policy.table().policy().params.work()
    }

    fn __repr__(&self) -> String {
        let params = self.policy.table().policy().params;
        format!("<saltern.PasswordHasher N={} r={} p={}>", params.n, params.r, params.p)
    }
}

/// A column of stored strings, or of documents with them, with the ids of their accounts.
fn column(
    hashes: &Bound<'_, PyAny>,
    accounts: Option<&Bound<'_, PyAny>>,
    format: Option<Format>,
) -> PyResult<Stored> {
    let strings = |column| Column::of(column)?.of_strings();
    Stored::new(strings(hashes)?, accounts.map(strings).transpose()?, format)
}

/// The schemes of these names.
fn named_schemes(names: &Bound<'_, PyAny>) -> PyResult<Vec<Scheme>> {
    let wrong = |object: &Bound<'_, PyAny>| {
        let kind = kind(object);
        PyTypeError::new_err(format!("schemes must be a sequence of names (str), not {kind}"))
    };
    if names.is_instance_of::<PyString>() {
        return Err(wrong(names));
    }
    let scheme = |name: PyResult<Bound<'_, PyAny>>| {
        let name = name?;
        let name = name.cast::<PyString>().map_err(|_| wrong(&name))?.to_string_lossy();
        Scheme::of_name(&name).ok_or_else(|| {
            let all = Scheme::ALL.map(Scheme::name).join(", ");
            let message = format!("schemes = {name:?}: expected {all}");
            errors::named(names.py(), "BadInputError", message)
        })
    };
    names.try_iter().map_err(|_| wrong(names))?.map(scheme).collect()
}

/// Text that is not a stored string has its own exception.
fn invalid_hash(py: Python<'_>, error: &saltern::Error) -> PyErr {
    match error.kind() {
        saltern::ErrorKind::BadInput => errors::named(py, "InvalidHashError", error.to_string()),
        _ => errors::of(py, error),
    }
}
