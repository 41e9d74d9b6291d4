//! Parameters that are refused.

use std::fmt;

/// A parameter that cannot be used, with its value and what it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    parameter: &'static str,
    value: u64,
    allowed: &'static str,
}

impl Error {
    pub(super) fn new(
        parameter: &'static str,
        value: impl Into<u64>,
        allowed: &'static str,
    ) -> Self {
        Self { parameter, value: value.into(), allowed }
    }

    /// The parameter's name in the candidates' papers, as in `startMemCost`.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} is not possible: use {}", self.parameter, self.value, self.allowed)
    }
}

impl std::error::Error for Error {}
