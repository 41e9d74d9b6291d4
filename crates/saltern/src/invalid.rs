//! What is wrong with a policy, and where.

use std::fmt;
use std::path::PathBuf;

/// A policy that cannot be: which value, where it stands, and what is allowed there.
///
/// Its text is one line, as compilers write theirs: `saltern.toml:12: pool.threads = 0: allowed is
/// 1 to 1024`. It never contains a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Invalid {
    /// The file, if the policy is from one.
    pub file: Option<PathBuf>,
    /// The line, from 1 on, if it is from a text.
    pub line: Option<u32>,
    /// The key, with its tables before it: `pool.threads`. Empty for a text that is no TOML.
    pub key: String,
    /// The value as it stands there; empty if there is none.
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
        write!(f, " allowed is {}", self.allowed)
    }
}

impl std::error::Error for Invalid {}
