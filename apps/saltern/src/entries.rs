//! The stored strings for a subcommand: one on the command line, or those in a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use saltern::Policy;
use saltern::policy::Scheme;
use saltern::table::{Kind, Row, identify, rows};

use crate::output::printable;
use crate::streams;
use crate::table::LineArgs;

/// Where the strings are. One of the two must be given, which the subcommands enforce with a group.
#[derive(clap::Args)]
pub(crate) struct EntryArgs {
    /// Hash string, such as '$y$j9T$…' (quote it: a shell expands $y)
    ///
    /// Other users of the machine can see the command line; a file avoids that.
    #[arg(value_name = "HASH")]
    hash: Option<OsString>,

    /// Take the strings from this file, `-` for standard input
    ///
    /// One string per line; lines of the form `user:string` with or without further fields, as in
    /// /etc/shadow; or JSON objects with the string under `hash`. Empty lines and comments (`#`)
    /// are skipped.
    #[arg(long, value_name = "FILE")]
    hash_file: Option<PathBuf>,

    /// Use only the lines of this user
    #[arg(long, value_name = "NAME")]
    user: Option<OsString>,

    #[command(flatten)]
    lines: LineArgs,
}

/// The name of the scheme of a string, as JSON has it; for a wrapped one, that of the hash around
/// the other.
pub(crate) fn scheme(kind: Kind<'_>) -> Option<&'static str> {
    match kind {
        Kind::Ours(known, _) | Kind::Foreign(known, _) => Some(known.name),
        Kind::Wrapped { .. } => Some(Scheme::Yescrypt.name()),
        _ => None,
    }
}

/// Options that have a meaning only with `--hash-file`.
pub(crate) const OF_A_FILE: [&str; 6] =
    ["user", "field", "json_key", "ldif", "keycloak", "firebase"];

/// A stored string and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Line number, unless the string is a single one: on the command line, or the whole content of
    /// a file.
    pub(crate) line: Option<u64>,
    /// The account, in files that name it.
    pub(crate) user: Option<Vec<u8>>,
    /// The string, or what is wrong with its line.
    pub(crate) stored: Result<String, String>,
}

impl Entry {
    /// The string, or what is wrong with its line.
    pub(crate) fn stored(&self) -> Result<&str, String> {
        self.stored.as_deref().map_err(Clone::clone)
    }

    /// The name of the scheme of the string.
    pub(crate) fn scheme(&self) -> Option<&'static str> {
        scheme(identify(self.stored().ok()?).ok()?)
    }

    /// The account's name for people and for JSON.
    pub(crate) fn user(&self) -> Option<String> {
        user_text(self.user.as_deref())
    }

    /// The prefix of an output line about the entry, unless the string is a single one.
    pub(crate) fn label(&self) -> Option<String> {
        Some(label(self.line?, self.user.as_deref()))
    }
}

/// The name of an account for JSON.
pub(crate) fn user_text(user: Option<&[u8]>) -> Option<String> {
    user.map(|user| String::from_utf8_lossy(user).into_owned())
}

/// What a line about a string begins with: the account, or the number of its line.
pub(crate) fn label(line: u64, user: Option<&[u8]>) -> String {
    user.map_or_else(|| format!("line {line}"), printable)
}

impl EntryArgs {
    /// Whether the strings come from standard input.
    pub(crate) fn takes_stdin(&self) -> bool {
        self.hash_file.as_deref() == Some(Path::new("-"))
    }

    /// Whether the policy says what they are.
    pub(crate) fn needs_policy(&self) -> bool {
        self.lines.firebase
    }

    /// Get all of them; never an empty list.
    pub(crate) fn read(&self, policy: Option<&Policy>) -> anyhow::Result<Vec<Entry>> {
        let Some(path) = &self.hash_file else {
            let stored = self.hash.as_ref().and_then(|hash| hash.to_str()).map(str::to_owned);
            let stored = stored.ok_or_else(|| "the string is not UTF-8".to_owned());
            return Ok(vec![Entry { line: None, user: None, stored }]);
        };
        let from_stdin = self.takes_stdin();
        let name = if from_stdin { "standard input".into() } else { path.to_string_lossy() };
        let context = || format!("cannot read {name}");
        let file = if from_stdin { streams::stdin() } else { File::open(path) };
        let mut file = BufReader::new(file.with_context(context)?);
        if file.fill_buf().with_context(context)?.is_empty() {
            return Err(streams::is_empty(name));
        }
        let format = self.lines.format(policy)?;
        let entries = rows(file, &format).map(|row| row.map(Entry::from));
        let mut entries = entries.collect::<io::Result<Vec<_>>>().with_context(context)?;
        if entries.is_empty() {
            bail!("{name} has no lines with strings");
        }
        if let Some(user) = &self.user {
            // Whose line it is may be what cannot be read.
            let unread = entries.iter().find_map(|entry| {
                let error = entry.stored.as_ref().err().filter(|_| entry.user.is_none())?;
                Some(format!(", unless it is line {}: {error}", entry.line?))
            });
            entries.retain(|entry| entry.user.as_deref() == Some(user.as_encoded_bytes()));
            if entries.is_empty() {
                let (user, unread) = (user.display(), unread.unwrap_or_default());
                bail!("{name} has no line for user {user}{unread}");
            }
        }
        if let [Entry { line, user: None, .. }] = &mut entries[..] {
            // A file with a single string is not a list.
            *line = None;
        }
        Ok(entries)
    }
}

impl From<Row> for Entry {
    fn from(row: Row) -> Self {
        let stored = row.stored.map_err(|error| error.to_string());
        Entry { line: Some(row.number), user: row.account, stored }
    }
}
