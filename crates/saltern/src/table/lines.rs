//! Stored strings in lines.

#[cfg(feature = "json")]
mod json;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::ops::Range;

use super::bounded::{Lines, Piece};
use crate::error::Error;
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
    /// first two colons. Lines that begin with `#` have none. An LDIF line in base 64 (`name::
    /// value`) is bad.
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
    /// A JSON object. Lines that begin with `#` have no string. An object with a duplicate key is
    /// bad.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Json {
        /// The key of the string. Objects without it, or with `null` as its value, have none.
        stored: String,
        /// The key of the account, whose value is text or a whole number, which counts as its
        /// digits.
        account: Option<String>,
    },
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
    let row = move |(number, piece, line): (u64, Piece, Vec<u8>)| row(number, piece, &line, format);
    pieces(input).filter_map(move |piece| piece.map(row).transpose())
}

fn row(number: u64, piece: Piece, line: &[u8], format: &Format) -> Option<Row> {
    let account = || find(line, format).ok().flatten()?.account(line);
    let (account, stored) = match piece {
        Piece::Rest => return None,
        Piece::Start => (account(), Err(LONG)),
        Piece::Whole => match read(line, format).transpose()? {
            Ok((place, stored)) => (place.account(line), Ok(stored.into_owned())),
            Err(error) => (account(), Err(error)),
        },
    };
    let account = account.map(Cow::into_owned);
    let is_one = account.is_some() || stored != Ok(String::new());
    is_one.then_some(Row { number, account, stored })
}

const LONG: Error = Error::malformed("line", "at most 64 KiB");

/// The lines of an input, or pieces of those that are too long, with their numbers.
fn pieces(input: impl BufRead) -> impl Iterator<Item = io::Result<(u64, Piece, Vec<u8>)>> {
    let mut lines = Lines::new(input, MAX_LINE);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let piece = lines.next(&mut line).transpose()?;
        Some(piece.map(|piece| (lines.number(), piece, line)))
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
    let (mut report, mut lines) = (Report::default(), pieces(input));
    let (mut waiting, mut ended) = (VecDeque::new(), 0);
    loop {
        let next = lines.next().transpose();
        let more = matches!(next, Ok(Some(_)));
        let next = next.map(|next| {
            waiting.extend(next.map(|(number, piece, line)| match piece {
                Piece::Rest => Line::More(line),
                Piece::Start => Line::Bad(line, LONG),
                Piece::Whole => begin(line, number, format, &mut operation),
            }));
        });
        while waiting.len() > if more { WINDOW } else { 0 } {
            let Some(line) = waiting.pop_front() else { break };
            ended += u64::from(!matches!(line, Line::More(_)));
            if let Some(error) = end(line, &mut output, &mut report)? {
                bad(ended, &error);
            }
        }
        if !more {
            output.flush()?;
            report.lines = ended;
            return next.map(|()| report);
        }
    }
}

fn begin(
    line: Vec<u8>,
    number: u64,
    format: &Format,
    operation: &mut impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
) -> Line {
    let (place, stored) = match read(&line, format) {
        Ok(Some((place, stored))) if !stored.is_empty() => (place, stored),
        Ok(_) => return Line::Whole(line),
        Err(error) => return Line::Bad(line, error),
    };
    let account = place.account(&line);
    let entry = Entry { number, line: &line, account: account.as_deref(), stored: &stored };
    let ticket = operation(&entry);
    drop((account, stored));
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
            let new = if place.escaped { escaped(&new) } else { new };
            line.splice(place.range, new.into_bytes());
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
        let stored = value(&line[place.range.clone()], place.escaped);
        stored.map(|stored| (place, stored)).ok_or(Error::malformed("line", "text in UTF-8"))
    };
    place.map(read).transpose()
}

/// Where the string is in a line, and the account.
#[derive(Default)]
struct Place {
    /// In JSON, without the quotes.
    range: Range<usize>,
    account: Option<Range<usize>>,
    /// With JSON escapes.
    escaped: bool,
}

impl Place {
    /// The account, with escapes decoded; `None` if they cannot be.
    fn account<'l>(&self, line: &'l [u8]) -> Option<Cow<'l, [u8]>> {
        let account = &line[self.account.clone()?];
        if !self.escaped {
            return Some(account.into());
        }
        value(account, true).map(|account| account.into_owned().into_bytes().into())
    }
}

fn find(line: &[u8], format: &Format) -> Result<Option<Place>, Error> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match format {
        Format::Bare => Ok(Some(Place { range: 0..line.len(), ..Place::default() })),
        _ if line.starts_with(b"#") => Ok(None),
        Format::Detect => match line {
            #[cfg(feature = "json")]
            [b'{', b'"' | b'}' | b' ' | b'\t', ..] => json::find(line, "hash", None),
            [b'$', ..] => find(line, &Format::Bare),
            _ if is_base64_of_ldif(line) => {
                Err(Error::malformed("line", "a string that can be read, and not base 64 of LDIF"))
            }
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
    }
}

fn fields(line: &[u8], stored: usize, account: usize) -> Option<Place> {
    let field = |index: usize| {
        let mut ends = line.iter().enumerate().filter(|(_, c)| **c == b':').map(|(at, _)| at);
        let start = index.checked_sub(1).map_or(Some(0), |before| Some(ends.nth(before)? + 1))?;
        Some(start..ends.next().unwrap_or(line.len()))
    };
    let account = if account == stored { None } else { Some(field(account)?) };
    Some(Place { range: field(stored)?, account, escaped: false })
}

/// `userPassword:: e1NTSEF9…`, which would look like an account without a password.
fn is_base64_of_ldif(line: &[u8]) -> bool {
    let mut fields = line.splitn(3, |c| *c == b':').skip(1);
    fields.next() == Some(b"") && fields.next().is_some_and(|rest| rest.starts_with(b" "))
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

/// The string itself, with escapes decoded.
fn value(text: &[u8], escaped: bool) -> Option<Cow<'_, str>> {
    let text = str::from_utf8(text).ok()?;
    #[cfg(feature = "json")]
    if escaped {
        return Some(serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?.into());
    }
    Some(text.into()).filter(|_| !escaped)
}

/// A string as written between JSON quotes: salts of some schemes may have quotes and backslashes.
#[cfg(feature = "json")]
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(not(feature = "json"))]
fn escaped(text: &str) -> String {
    text.to_owned()
}
