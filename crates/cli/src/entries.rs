//! The stored strings that a subcommand is about: one on the command line, or those of a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::lines::{Line, Lines};
use crate::scheme::without_crypt;
use crate::streams;

/// Longest line of a file that is looked at; a hash string has at most a few hundred bytes.
const MAX_LINE: usize = 64 << 10;

/// Where the strings are. One of the two has to be given, which the subcommands say by a group.
#[derive(clap::Args)]
pub(crate) struct EntryArgs {
    /// Hash string, such as '$y$j9T$…' (quote it: a shell expands $y)
    ///
    /// Other users of the machine can see the command line; a file avoids that.
    #[arg(value_name = "HASH")]
    hash: Option<OsString>,

    /// Take the strings from this file, `-` for standard input
    ///
    /// One string per line, or lines of the form `user:string` with or without further fields, as
    /// in /etc/shadow. Empty lines are skipped.
    #[arg(long, value_name = "FILE")]
    hash_file: Option<PathBuf>,

    /// Use only the lines of this user
    #[arg(long, value_name = "NAME", requires = "hash_file")]
    user: Option<OsString>,
}

/// A stored string and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Line number, unless the string stands by itself: on the command line, or as all that a file
    /// holds.
    pub(crate) line: Option<u64>,
    /// The account, in files that name it.
    pub(crate) user: Option<Vec<u8>>,
    /// The password field; `None` if the line is too long to be looked at.
    pub(crate) field: Option<Vec<u8>>,
}

impl Entry {
    /// The string without `{CRYPT}`, or what is wrong with its line.
    pub(crate) fn field(&self) -> Result<&[u8], String> {
        self.whole().map(without_crypt)
    }

    /// The string as it stands there, or what is wrong with its line.
    pub(crate) fn whole(&self) -> Result<&[u8], String> {
        let too_long = || format!("the line is longer than {MAX_LINE} bytes");
        self.field.as_deref().ok_or_else(too_long)
    }

    /// The account's name for people and for JSON.
    pub(crate) fn user(&self) -> Option<String> {
        self.user.as_ref().map(|user| String::from_utf8_lossy(user).into_owned())
    }

    /// What a line of output about the entry begins with, unless the string stands by itself.
    pub(crate) fn label(&self) -> Option<String> {
        let line = self.line?;
        Some(match &self.user {
            Some(user) => printable(user),
            None => format!("line {line}"),
        })
    }
}

impl EntryArgs {
    /// Whether the strings come from standard input.
    pub(crate) fn takes_stdin(&self) -> bool {
        self.hash_file.as_deref() == Some(Path::new("-"))
    }

    /// Get all of them; never an empty list.
    pub(crate) fn read(&self) -> anyhow::Result<Vec<Entry>> {
        let Some(path) = &self.hash_file else {
            let field = self.hash.as_ref().map(|hash| hash.as_encoded_bytes().to_vec());
            return Ok(vec![Entry { line: None, user: None, field }]);
        };
        let context = || format!("cannot read {}", path.display());
        let file = if self.takes_stdin() { streams::stdin() } else { File::open(path) };
        let file = BufReader::new(file.with_context(context)?);
        let mut entries = read_entries(file).with_context(context)?;
        if entries.is_empty() {
            bail!("{} holds no line to look at", path.display());
        }
        if let Some(user) = &self.user {
            entries.retain(|entry| entry.user.as_deref() == Some(user.as_encoded_bytes()));
            if entries.is_empty() {
                bail!("{} has no line of user {}", path.display(), user.display());
            }
        }
        if let [Entry { line, user: None, .. }] = &mut entries[..] {
            // A file that keeps one string is no list.
            *line = None;
        }
        Ok(entries)
    }
}

/// The entries of a file.
fn read_entries(input: impl BufRead) -> io::Result<Vec<Entry>> {
    let mut lines = Lines::new(input, MAX_LINE);
    let mut line = Vec::new();
    let mut entries = Vec::new();
    while let Some(kind) = lines.next(&mut line)? {
        let number = Some(lines.number());
        match kind {
            Line::Whole => entries.extend(parse(number, &line)),
            Line::Start => {
                let user = parse(number, &line).and_then(|entry| entry.user);
                entries.push(Entry { line: number, user, field: None });
            }
            Line::Middle | Line::End => {}
        }
    }
    Ok(entries)
}

/// The entry on a line; `None` if it is empty.
///
/// A line that begins with `$` is a string as it stands. Elsewhere a colon ends the user's name,
/// and the next one the string: no scheme that a password file can hold has a colon in its strings,
/// nor a carriage return.
fn parse(number: Option<u64>, line: &[u8]) -> Option<Entry> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    let mut parts = line.split(|&byte| byte == b':');
    let first = parts.next()?;
    let (user, field) = match parts.next() {
        Some(field) if !line.starts_with(b"$") => (Some(first.to_vec()), field),
        _ => (None, line),
    };
    Some(Entry { line: number, user, field: Some(field.to_vec()) })
}

/// Text in which nothing can move the cursor of a terminal or rewrite what is on it.
pub(crate) fn printable(text: &[u8]) -> String {
    let mut shown = String::new();
    for c in String::from_utf8_lossy(text).chars() {
        if c.is_control() { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: u64, user: Option<&str>, field: &str) -> Entry {
        let user = user.map(|user| user.as_bytes().to_vec());
        Entry { line: Some(line), user, field: Some(field.as_bytes().to_vec()) }
    }

    #[test]
    fn both_forms_of_line_are_read() {
        let text = "root:!:19000:0:99999:7:::\n\n$7$a:b\nbob:$y$j9T$a$b\nempty::1\nplain";
        let expected = [
            entry(1, Some("root"), "!"),
            entry(3, None, "$7$a:b"),
            entry(4, Some("bob"), "$y$j9T$a$b"),
            entry(5, Some("empty"), ""),
            entry(6, None, "plain"),
        ];
        assert_eq!(read_entries(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_line_without_end_is_one_entry() {
        let mut text = b"eve:".to_vec();
        text.resize(3 * MAX_LINE + 5, b'x');
        text.extend_from_slice(b"\nbob:*\n");
        let entries = read_entries(&text[..]).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].user().as_deref(), &entries[0].field), (Some("eve"), &None));
        assert!(entries[0].field().unwrap_err().contains("longer"));
        assert_eq!(entries[1], entry(2, Some("bob"), "*"));
    }
}
