//! Errors, in six kinds.

use std::fmt;

pub use saltern_yescrypt::ErrorKind;

use crate::invalid::Invalid;
use crate::scheme::Scheme;

/// Why something was refused or could not be computed. A wrong password is never an error.
///
/// [`Error::kind`] tells what the caller can do about it. Errors carry names, numbers and places,
/// never passwords, salts, keys or hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The pool or a yescrypt hash refused or failed: a full queue, a deadline, a limit, a missing
    /// key or ROM, a damaged `$y$` or `$7$` string.
    Pool(saltern_pool::Error),
    /// The policy is not valid.
    Policy(Box<Invalid>),
    /// A stored string is damaged, or is of no known scheme.
    Malformed {
        /// The scheme that the string's beginning suggests, or what was expected.
        what: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// The policy does not accept the scheme of a stored string.
    NotAccepted {
        /// The scheme.
        scheme: Scheme,
    },
    /// The scheme of a stored string is known only by name.
    NoVerifier {
        /// The name that the scheme's own documentation uses.
        name: &'static str,
        /// What to do about such strings.
        advice: &'static str,
    },
    /// A stored string of another scheme costs more than the policy's limits allow.
    OverLimit {
        /// The scheme.
        scheme: Scheme,
        /// Which limit: `memory`, in bytes, or `work`, in the unit of
        /// [`Params::work`](crate::policy::Params::work).
        what: &'static str,
        /// The cost of the string, or `u64::MAX` if it is larger.
        value: u64,
        /// The limit of the policy.
        limit: u64,
    },
    /// A key, a ROM, a file or a library is missing, or is the wrong one.
    Unavailable {
        /// What is unavailable.
        what: String,
        /// Why it is unavailable.
        why: String,
    },
    /// A key or a ROM cannot be retired because it is still needed.
    InUse {
        /// The key or the ROM.
        what: String,
        /// What still needs it.
        why: String,
    },
    /// A stored string is not the one that was sealed for its account, or is not sealed although
    /// the policy requires it: somebody who has no key has moved, altered or inserted it. The
    /// password was not checked.
    Tampered {
        /// What shows that.
        why: &'static str,
    },
    /// A hash of another scheme could not be computed.
    Failed {
        /// The scheme.
        scheme: Scheme,
        /// The reason.
        why: &'static str,
    },
}

impl Error {
    /// What the caller can do about the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Pool(error) => error.kind(),
            Error::Policy(_) | Error::Malformed { .. } | Error::InUse { .. } => ErrorKind::BadInput,
            Error::NotAccepted { .. } | Error::NoVerifier { .. } | Error::OverLimit { .. } => {
                ErrorKind::OverLimit
            }
            Error::Unavailable { .. } => ErrorKind::Unavailable,
            Error::Tampered { .. } => ErrorKind::Tampered,
            Error::Failed { .. } => ErrorKind::Internal,
        }
    }

    pub(crate) const fn malformed(what: &'static str, expected: &'static str) -> Self {
        Error::Malformed { what, expected }
    }

    #[allow(dead_code, reason = "which features there are decides")]
    pub(crate) fn unavailable(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Error::Unavailable { what: what.to_string(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Pool(error) => error.fmt(f),
            Error::Policy(invalid) => invalid.fmt(f),
            Error::Malformed { what, expected } => {
                write!(f, "malformed {what}: expected {expected}")
            }
            Error::NotAccepted { scheme } => {
                write!(
                    f,
                    "the policy does not accept {scheme}: add it to `schemes` if such strings are \
                     to be verified"
                )?;
                let fast = ", and wrap them at once: a fast digest hardly protects a password";
                f.write_str(if scheme.is_fast() { fast } else { "" })
            }
            Error::NoVerifier { name, advice } => {
                write!(f, "Saltern does not compute {name}: {advice}")
            }
            Error::OverLimit { scheme, what, value, limit } => write!(
                f,
                "{what} {value} of {scheme}, with the longest password that the policy takes, is \
                 above the limit of {limit}: raise `limits.{what}` if this cost is intended, or lower \
                 `limits.password`"
            ),
            Error::Unavailable { what, why } => write!(f, "{what} is unavailable: {why}"),
            Error::Tampered { why } => {
                write!(f, "the stored string is not the one sealed for this account: {why}")
            }
            Error::InUse { what, why } => write!(f, "{what} cannot be retired: {why}"),
            Error::Failed { scheme, why } => write!(f, "{scheme} could not be computed: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Pool(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<saltern_pool::Error> for Error {
    fn from(error: saltern_pool::Error) -> Self {
        Error::Pool(error)
    }
}

impl From<saltern_yescrypt::Error> for Error {
    fn from(error: saltern_yescrypt::Error) -> Self {
        Error::Pool(error.into())
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Error::Policy(Box::new(invalid))
    }
}
