//! A login: a stored string and a password, and the outcome for Python.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyBool;
use saltern::table;
use saltern::{ErrorKind, Outcome, Passwords, Ticket};

use crate::buffer::Bytes;
use crate::errors;
use crate::secret::{secret, stored};

/// The inputs of a verification.
pub(crate) struct Login<'a> {
    /// `None` for an account that does not exist.
    hash: Option<Cow<'a, str>>,
    password: Bytes<'a>,
    account: Option<Bytes<'a>>,
}

impl<'a> Login<'a> {
    pub(crate) fn new(
        hash: Option<&'a Bound<'_, PyAny>>,
        password: &'a Bound<'_, PyAny>,
        account: Option<&'a Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let hash = hash.map(stored).transpose()?;
        let password = secret("the password", password)?;
        let account = account.map(|name| secret("the account", name)).transpose()?;
        Ok(Login { hash, password, account })
    }

    /// A login from columns.
    pub(crate) fn of(
        hash: Option<Cow<'a, str>>,
        password: Bytes<'a>,
        account: Option<Bytes<'a>>,
    ) -> Self {
        Login { hash, password, account }
    }

    /// Submits it. Text that is not a stored string is refused here, with a hint if the arguments
    /// seem to be in the wrong order.
    pub(crate) fn start(&self, py: Python<'_>, passwords: &Passwords) -> PyResult<Ticket<Outcome>> {
        let account = self.account.as_ref().map_or(&[][..], Bytes::as_bytes);
        let (password, hash) = (self.password.as_bytes(), self.hash.as_deref());
        self.told(py, passwords.verify(account, password, hash))
    }

    /// Submits it, with what stands in for a password that the policy refuses.
    pub(crate) fn start_any(
        &self,
        py: Python<'_>,
        passwords: &Passwords,
        stand_in: &[u8],
    ) -> PyResult<Ticket<Outcome>> {
        let (password, hash) = (self.password.as_bytes(), self.hash.as_deref());
        self.told(py, passwords.verify_any("", password, stand_in, hash))
    }

    /// Raises what is wrong with a string that cannot be read.
    fn told(&self, py: Python<'_>, ticket: Ticket<Outcome>) -> PyResult<Ticket<Outcome>> {
        let is_bad = ticket.refused().is_some_and(|error| error.kind() == ErrorKind::BadInput);
        match self.hash.as_deref().filter(|_| is_bad) {
            Some(hash) => refuse(py, hash, self.password.as_bytes()).map(|()| ticket),
            None => Ok(ticket),
        }
    }
}

/// Refuses text that is not a stored string.
fn refuse(py: Python<'_>, hash: &str, password: &[u8]) -> PyResult<()> {
    let Err(error) = table::scheme(hash) else { return Ok(()) };
    let password = std::str::from_utf8(password).unwrap_or_default();
    let message = match table::scheme(password) {
        Ok(Some(_)) => {
            "the arguments are in the wrong order: the password stands where the stored \
             string belongs, and the other way round"
                .to_owned()
        }
        _ => error.to_string(),
    };
    Err(errors::named(py, "InvalidHashError", message))
}

/// `True`, or the exception for the other outcomes.
pub(crate) fn matched(py: Python<'_>, outcome: &Outcome) -> PyResult<bool> {
    match outcome {
        Outcome::Match { .. } => Ok(true),
        Outcome::Mismatch => {
            let message = "the password does not match the stored string";
            Err(errors::named(py, "VerifyMismatchError", message))
        }
        Outcome::Locked => {
            let message = "the account is locked: no password matches";
            Err(errors::named(py, "AccountLockedError", message))
        }
    }
}

/// Whether it matched, and the string to store instead.
pub(crate) fn updated(outcome: Outcome) -> (bool, Option<String>) {
    match outcome {
        Outcome::Match { update, .. } => (true, update.map(|update| update.new)),
        Outcome::Mismatch | Outcome::Locked => (false, None),
    }
}

/// Whether it matched, as an item of a column, where locked accounts are told apart.
pub(crate) fn whether(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyAny>> {
    let answer = match outcome {
        Outcome::Mismatch => false,
        outcome => matched(py, &outcome)?,
    };
    Ok(PyBool::new(py, answer).to_owned().into_any())
}
