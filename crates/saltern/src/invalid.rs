//! The error for a policy: what is wrong, and where.

use std::fmt;
use std::path::PathBuf;

/// An invalid value in a policy: the value, its place, and what is allowed there.
///
/// The message is one line, in the form that compilers use: `saltern.toml:12: pool.threads = 0:
/// expected 1 to 1024`. It never contains a secret key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Invalid {
    /// The file, if the policy was read from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1, if the policy was parsed from text.
    pub line: Option<u32>,
    /// The key with the tables around it, such as `pool.threads`. Empty if the text is not TOML.
    pub key: String,
    /// The value as written there. Empty if there is none.
    pub value: String,
    /// What is allowed there.
    pub allowed: String,
}

impl Invalid {
    pub(crate) fn new(
        key: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        let (key, value, allowed) = (key.into(), value.to_string(), allowed.into());
        Invalid { file: None, line: None, key, value, allowed }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:", file.display())?,
            None => f.write_str("policy:")?,
        }
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        match (&*self.key, &*self.value) {
            ("", "") => {}
            ("", value) => write!(f, " {value}:")?,
            (key, "") => write!(f, " {key}:")?,
            (key, value) => write!(f, " {key} = {value}:")?,
        }
        write!(f, " expected {}", self.allowed)
    }
}

impl std::error::Error for Invalid {}
