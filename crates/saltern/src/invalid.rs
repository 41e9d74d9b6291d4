//! The error for a file of settings, such as a policy: what is wrong, and where.

use std::fmt;
use std::path::PathBuf;

/// An invalid value in a policy or in another file of settings: the value, its place, and what is
/// allowed there.
///
/// The message is one line, in the form that compilers use: `saltern.toml:12: pool.threads = 0:
/// expected 1 to 1024`. It never contains a secret key.
///
/// ```
/// # #[cfg(feature = "file")] {
/// use saltern::policy::Invalid;
/// let invalid = Invalid::new("pool.threads", "", "1 to 1024").placed("[pool]\nthreads = 0\n");
/// assert_eq!(invalid.to_string(), "policy:2: pool.threads = 0: expected 1 to 1024");
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Invalid {
    /// The file, if the settings were read from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1, if they were parsed from text.
    pub line: Option<u32>,
    /// The key with the tables around it, such as `pool.threads`. Empty if the text is not TOML.
    pub key: String,
    /// The value as written there. Empty if there is none.
    pub value: String,
    /// What is allowed there. Empty if the value already says what is wrong.
    pub allowed: String,
}

impl Invalid {
    /// An error about the value of this key, in no known place.
    #[must_use]
    pub fn new(
        key: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        let (key, value, allowed) = (key.into(), value.to_string(), allowed.into());
        Invalid { file: None, line: None, key, value, allowed }
    }

    /// Adds the line of this byte of the text, counted from 0.
    #[must_use]
    pub fn at(self, text: &str, byte: usize) -> Self {
        Invalid { line: Some(line(text, byte)), ..self }
    }
}

/// The line of this byte of a text, counted from 1.
pub(crate) fn line(text: &str, byte: usize) -> u32 {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count() as u32
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
            ("", value) => write!(f, " {value}")?,
            (key, "") => write!(f, " {key}")?,
            (key, value) => write!(f, " {key} = {value}")?,
        }
        match (&*self.key, &*self.value, &*self.allowed) {
            (_, _, "") => Ok(()),
            ("", "", allowed) => write!(f, " expected {allowed}"),
            (_, _, allowed) => write!(f, ": expected {allowed}"),
        }
    }
}

impl std::error::Error for Invalid {}
