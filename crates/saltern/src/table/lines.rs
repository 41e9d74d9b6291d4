//! Stored strings in lines.

#[cfg(feature = "json")]
mod firebase;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod keycloak;
mod ldif;
mod located;
#[cfg(test)]
mod tests;
mod written;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};

pub use self::located::{Located, locate};
use self::written::{Place, Written};
use super::bounded::{Lines, Piece};
use crate::error::Error;
#[cfg(feature = "json")]
use crate::policy::FirebaseParameters;
use crate::stored::Stored;
use crate::ticket::Ticket;

/// How many lines are in progress at once: enough to keep many threads busy.
const WINDOW: usize = 256;
/// The longest line that can have a string; longer lines are passed on in pieces of this size.
const MAX_LINE: usize = 64 << 10;

/// Where the stored string is in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Depends on the line: a JSON object has the string under the key `hash` (feature `json`); a
    /// line that begins with `$`, or has no colon, is the string; any other line has it between its
    /// first two colons. Lines that begin with `#` have none. A line of LDIF (`name:: value` or
    /// `userPassword: value`) is bad.
    Detect,
    /// The whole line is the string.
    Bare,
    /// Fields between colons, counted from 0. Lines with fewer fields are bad, unless they are
    /// empty or begin with `#`.
    Fields {
        /// The field of the string: 1 in `user:hash:…`.
        stored: usize,
        /// The field of the account, usually 0; none if it is that of the string.
        account: usize,
    },
    /// A JSON object. A key that begins with `/` is a JSON pointer (RFC 6901); on its way it enters
    /// text that is JSON itself, as columns of databases have it. Lines that begin with `#` have no
    /// string. An object with a duplicate key is bad.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Json {
        /// The key of the string. Objects without it, or with `null` as its value, have none.
        stored: String,
        /// The key of the account, whose value is text or a whole number, which counts as its
        /// digits.
        account: Option<String>,
    },
    /// Credentials of Keycloak: JSON objects with `secret_data` and `credential_data`, as in its
    /// table `credential`, or `secretData` and `credentialData`, as in its exports; or users with
    /// such `credentials`. The string is put together from salt, digest, iterations and algorithm,
    /// in the PHC string format. A new string becomes the `value`, with no salt and the algorithm
    /// `saltern`; the value of any other algorithm is a string as it is. Credentials of other types
    /// than `password` and `password-history` have no string; that of a user is the first
    /// `password`. The account is the `username`, if there is one.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Keycloak,
    /// Users of an export of Firebase (`firebase auth:export`), a JSON object each: the string is
    /// put together from `passwordHash`, `salt` and the project's parameters. A new string becomes
    /// the `passwordHash`, with an empty `salt`; one that stands there is a string as it is. Users
    /// without a password have no string. The account is the `localId`.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Firebase(FirebaseParameters),
    /// LDIF: the string is the value of `userPassword`, as text or in base 64, on one line or
    /// folded; the account is the name of the entry. All other lines have none.
    Ldif,
}

/// A line that has a stored string. Lines where its place is empty are not entries.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Entry<'l> {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The whole line, with the end of line.
    pub line: &'l [u8],
    /// The account: for detected lines of fields the first one.
    pub account: Option<&'l [u8]>,
    /// The stored string.
    pub stored: &'l str,
}

/// Omits the line and its string, for logs.
impl std::fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Counts of lines, by what happened to them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// All lines.
    pub lines: u64,
    /// Lines without a stored string.
    pub others: u64,
    /// Lines whose string was replaced.
    pub changed: u64,
    /// Lines whose string could not be read or whose operation failed. They were left as they were.
    pub bad: u64,
}

/// A line of a table, as [`rows`] reads it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The account: for detected lines of fields the first one.
    pub account: Option<Vec<u8>>,
    /// The stored string, which is empty for an account without one; or why it could not be read.
    pub stored: Result<String, Error>,
}

/// Omits the string, for logs.
impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Reads the stored string of each line, where [`each_line`] finds it. Lines without a string in
/// its place are left out, unless they have an account; bad lines are included. At most 64 KiB are
/// in memory at once.
///
/// ```
/// use saltern::table::{Format, Row, rows};
/// let table = "# accounts\nroot:!:20000\nbob::20000\n";
/// let rows: Vec<Row> = rows(table.as_bytes(), &Format::Detect).collect::<Result<_, _>>()?;
/// let stored: Vec<_> = rows.iter().map(|row| (row.number, row.stored.as_deref())).collect();
/// assert_eq!(stored, [(2, Ok("!")), (3, Ok(""))]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn rows(input: impl BufRead, format: &Format) -> impl Iterator<Item = io::Result<Row>> {
    pieces(input, format).filter_map(|piece| piece.map(|piece| row(&piece, format)).transpose())
}

fn row(piece: &NumberedPiece, format: &Format) -> Option<Row> {
    let NumberedPiece { number, line, .. } = piece;
    let account = || find(line, format).ok().flatten()?.account;
    let (account, stored) = match piece.piece {
        Piece::Rest => return None,
        Piece::Start => (account(), Err(LONG)),
        Piece::Whole => match read(line, format).transpose()? {
            Ok((place, stored)) => {
                let stored = stored.into_owned();
                (place.account, Ok(stored))
            }
            Err(error) => (account(), Err(error)),
        },
    };
    let number = *number;
    let account = account.or_else(|| piece.entry.clone());
    let is_one = account.is_some() || stored != Ok(String::new());
    is_one.then_some(Row { number, account, stored })
}

const LONG: Error = Error::malformed("line", "at most 64 KiB");

/// A line, or a piece of one that is too long.
struct NumberedPiece {
    /// The number of the line; of a folded one, that of its first line.
    number: u64,
    piece: Piece,
    line: Vec<u8>,
    /// The name of the entry of LDIF, with its password only.
    entry: Option<Vec<u8>>,
}

/// The lines of an input, or pieces of those that are too long, with their numbers.
fn pieces(input: impl BufRead, format: &Format) -> impl Iterator<Item = io::Result<NumberedPiece>> {
    let mut lines = Lines::new(input, MAX_LINE);
    let mut unfolding = (*format == Format::Ldif).then(ldif::Unfolding::default);
    std::iter::from_fn(move || {
        let mut next = || {
            let mut line = Vec::new();
            let piece = lines.next(&mut line).transpose()?;
            let number = lines.number();
            Some(piece.map(|piece| NumberedPiece { number, piece, line, entry: None }))
        };
        match &mut unfolding {
            Some(unfolding) => unfolding.next(&mut next),
            None => next(),
        }
    })
}

/// A line in progress.
enum Line {
    /// To be written unchanged.
    Whole(Vec<u8>),
    /// With its string at this place replaced, if there is a result.
    Part(Vec<u8>, Place, Ticket<Option<String>>),
    Bad(Vec<u8>, Error),
    /// A further piece of a line that is too long.
    More(Vec<u8>),
}

/// Applies an operation to the stored string of each line, and writes all lines in order: with the
/// new string in place of the old one, or unchanged if there is no new one.
///
/// `bad` is called for each line whose string could not be read or whose operation failed, with the
/// number of the line, counted from 1, and the error; such lines are written unchanged. So are
/// lines of more than 64 KiB, which are bad as well. No string is skipped silently: a line that has
/// none in its place, but one in a comment, in another field or under another key, is bad.
///
/// Up to 256 lines are worked on at once, which bounds the memory: 16 MiB of lines. With
/// [`Table::rekey`](super::Table::rekey) or [`Passwords::wrap`](crate::Passwords::wrap) as the
/// operation, strings that are already done stay unchanged, so an interrupted run can be repeated.
///
/// ```
/// use saltern::{Passwords, Policy, table::{Entry, Format, each_line}};
/// # let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// let passwords = Passwords::new(Policy::default())?.bulk();
/// let (input, mut output) = (format!("root:{stored}:20000\n# end\n"), Vec::new());
/// let wrap = |entry: &Entry| passwords.wrap(entry.stored);
/// let tell = |line, error: &saltern::Error| eprintln!("line {line}: {error}");
/// let report = each_line(input.as_bytes(), &mut output, &Format::Detect, wrap, tell)?;
/// assert_eq!((report.lines, report.others, report.bad), (2, 1, 0));
/// assert_eq!(output, input.as_bytes()); // a string of ours needs no other around it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Read errors, once all lines that were read completely have been written; write errors.
pub fn each_line(
    input: impl BufRead,
    mut output: impl Write,
    format: &Format,
    mut operation: impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
    mut bad: impl FnMut(u64, &Error),
) -> io::Result<Report> {
    let (mut report, mut lines) = (Report::default(), pieces(input, format));
    let mut waiting = VecDeque::new();
    loop {
        let next = lines.next().transpose();
        let more = matches!(next, Ok(Some(_)));
        let next = next.map(|next| {
            waiting.extend(next.map(|next| match next.piece {
                Piece::Rest => (next.number, Line::More(next.line)),
                Piece::Start => (next.number, Line::Bad(next.line, LONG)),
                Piece::Whole => (next.number, begin(next, format, &mut operation)),
            }));
        });
        while waiting.len() > if more { WINDOW } else { 0 } {
            let Some((number, line)) = waiting.pop_front() else { break };
            report.lines += u64::from(!matches!(line, Line::More(_)));
            if let Some(error) = end(line, &mut output, &mut report)? {
                bad(number, &error);
            }
        }
        if !more {
            output.flush()?;
            return next.map(|()| report);
        }
    }
}

fn begin(
    next: NumberedPiece,
    format: &Format,
    operation: &mut impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
) -> Line {
    let NumberedPiece { number, line, entry, .. } = next;
    let (place, stored) = match read(&line, format) {
        Ok(Some((place, stored))) if !stored.is_empty() => (place, stored),
        Ok(_) => return Line::Whole(line),
        Err(error) => return Line::Bad(line, error),
    };
    let account = place.account.as_deref().or(entry.as_deref());
    let ticket = operation(&Entry { number, line: &line, account, stored: &stored });
    drop(stored);
    Line::Part(line, place, ticket)
}

/// Writes a line; returns why its string was left unchanged, if it was.
fn end(line: Line, output: &mut impl Write, report: &mut Report) -> io::Result<Option<Error>> {
    let (mut line, place, new) = match line {
        Line::More(line) => return output.write_all(&line).map(|()| None),
        Line::Whole(line) => {
            report.others += 1;
            return output.write_all(&line).map(|()| None);
        }
        Line::Bad(line, error) => (line, Place::default(), Err(error)),
        Line::Part(line, place, ticket) => (line, place, ticket.wait()),
    };
    let mut failed = None;
    match new {
        Ok(Some(new)) => {
            report.changed += 1;
            place.replace(&mut line, &new);
        }
        Ok(None) => {}
        Err(error) => {
            report.bad += 1;
            failed = Some(error);
        }
    }
    output.write_all(&line).map(|()| failed)
}

/// The string in a line, and its place; an empty string if the place is empty.
fn read<'l>(line: &'l [u8], format: &Format) -> Result<Option<(Place, Cow<'l, str>)>, Error> {
    let place = find(line, format)?;
    if place.as_ref().is_none_or(|place| place.range.is_empty()) && strays(line) {
        let expected = "a stored string in its place, and not in a comment, another field or \
                        another key";
        return Err(Error::malformed("line", expected));
    }
    let read = |place: Place| {
        let stored = place.stored(line);
        stored.map(|stored| (place, stored)).ok_or(Error::malformed("line", "text in UTF-8"))
    };
    place.map(read).transpose()
}

fn find(line: &[u8], format: &Format) -> Result<Option<Place>, Error> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match format {
        Format::Bare => Ok(Some(Place { range: 0..line.len(), ..Place::default() })),
        _ if line.starts_with(b"#") => Ok(None),
        Format::Ldif => Ok(ldif::find(line)),
        Format::Detect => match line {
            #[cfg(feature = "json")]
            [b'{', b'"' | b'}' | b' ' | b'\t', ..] => json::find(line, "hash", None),
            [b'$', ..] => find(line, &Format::Bare),
            _ if ldif::is_line(line) => Err(Error::malformed(
                "line",
                "a string, and not LDIF, which has a format of its own",
            )),
            _ if line.contains(&b':') => Ok(fields(line, 1, 0)),
            _ => find(line, &Format::Bare),
        },
        Format::Fields { stored, account } => match fields(line, *stored, *account) {
            None if !line.is_empty() => {
                Err(Error::malformed("line", "the field that is to have the stored string"))
            }
            place => Ok(place),
        },
        #[cfg(feature = "json")]
        Format::Json { stored, account } => json::find(line, stored, account.as_deref()),
        #[cfg(feature = "json")]
        Format::Keycloak => keycloak::find(line),
        #[cfg(feature = "json")]
        Format::Firebase(parameters) => firebase::find(line, parameters),
    }
}

fn fields(line: &[u8], stored: usize, account: usize) -> Option<Place> {
    let field = |index: usize| {
        let mut ends = line.iter().enumerate().filter(|(_, c)| **c == b':').map(|(at, _)| at);
        let start = index.checked_sub(1).map_or(Some(0), |before| Some(ends.nth(before)? + 1))?;
        Some(start..ends.next().unwrap_or(line.len()))
    };
    let account = if account == stored { None } else { Some(line[field(account)?].to_vec()) };
    Some(Place { range: field(stored)?, account, ..Place::default() })
}

/// Whether a line without a string in its place has one elsewhere.
fn strays(line: &[u8]) -> bool {
    #[cfg(feature = "json")]
    if let Some(strays) = json::has_text(line, is_string) {
        return strays;
    }
    let between = |c: char| c.is_whitespace() || ":;'\"#".contains(c);
    String::from_utf8_lossy(line).split(between).any(is_string)
}

/// Whether a text is a stored string and cannot be anything else, as digits alone can.
fn is_string(text: &str) -> bool {
    let is_one = |text| Stored::parse(text).is_ok_and(|stored| stored.hash.is_some());
    text.contains(['$', '{']) && is_one(text)
}
