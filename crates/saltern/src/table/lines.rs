//! Stored strings in lines.

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::ops::Range;

use crate::error::Error;
use crate::ticket::Ticket;

/// How many lines are on their way at once: enough to keep many threads busy.
const WINDOW: usize = 256;

/// Where the stored string is in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// It is the line.
    Bare,
    /// It is one of the fields between colons, from 0 on: 1 in `user:hash:…`. Lines with fewer
    /// fields are left as they are.
    Field(usize),
    /// It is the value of this key of an object. Lines without the key are left as they are, and so
    /// are those where it is `null`.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Json(String),
}

/// What became of the lines.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// All lines.
    pub lines: u64,
    /// Those without a stored string.
    pub others: u64,
    /// Those that were changed.
    pub changed: u64,
    /// Those that could not be, and were left as they were.
    pub bad: u64,
}

/// A line on its way.
enum Line {
    /// To be written as it is.
    Whole(Vec<u8>),
    /// With its string at this place replaced, if that comes out.
    Part(Vec<u8>, Range<usize>, Ticket<Option<String>>),
    Bad(Vec<u8>, Error),
}

/// Puts the stored string of each line through an operation, and writes the lines in their order:
/// with the string that came out, or as they were if nothing did. `bad` is told the number of each
/// line, from 1 on, whose string could not be read or whose operation failed, and why; such lines
/// are left as they were.
///
/// Up to 256 lines are on their way at once. The output of [`Table::rekey`](super::Table::rekey)
/// for an input is that for its output, so that a run that was broken off can be done again.
///
/// ```
/// use saltern::{Passwords, Policy, table::{Format, each_line}};
/// # let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// let passwords = Passwords::new(Policy::default())?.bulk();
/// let (input, mut output) = (format!("root:{stored}:20000\n# end\n"), Vec::new());
/// let wrap = |stored: &str| passwords.wrap(stored);
/// let tell = |line, error: &saltern::Error| eprintln!("line {line}: {error}");
/// let report = each_line(input.as_bytes(), &mut output, &Format::Field(1), wrap, tell)?;
/// assert_eq!((report.lines, report.others, report.bad), (2, 1, 0));
/// assert_eq!(output, input.as_bytes()); // a string of ours needs no other around it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of reading and writing.
pub fn each_line(
    mut input: impl BufRead,
    mut output: impl Write,
    format: &Format,
    mut operation: impl FnMut(&str) -> Ticket<Option<String>>,
    mut bad: impl FnMut(u64, &Error),
) -> io::Result<Report> {
    let (mut report, mut lines, mut ended) = (Report::default(), VecDeque::new(), 0);
    loop {
        let mut line = Vec::new();
        let more = input.read_until(b'\n', &mut line)? > 0;
        if more {
            report.lines += 1;
            lines.push_back(begin(line, format, &mut operation));
        }
        while lines.len() > if more { WINDOW } else { 0 } {
            let Some(line) = lines.pop_front() else { break };
            ended += 1;
            if let Some(error) = end(line, &mut output, &mut report)? {
                bad(ended, &error);
            }
        }
        if !more {
            output.flush()?;
            return Ok(report);
        }
    }
}

fn begin(
    line: Vec<u8>,
    format: &Format,
    operation: &mut impl FnMut(&str) -> Ticket<Option<String>>,
) -> Line {
    let place = match find(&line, format) {
        Ok(Some(place)) => place,
        Ok(None) => return Line::Whole(line),
        Err(error) => return Line::Bad(line, error),
    };
    let ticket = match value(&line[place.clone()], format) {
        Some(stored) => operation(&stored),
        None => return Line::Bad(line, Error::malformed("line", "text in UTF-8")),
    };
    Line::Part(line, place, ticket)
}

/// Writes a line; why its string was left as it was.
fn end(line: Line, output: &mut impl Write, report: &mut Report) -> io::Result<Option<Error>> {
    let (mut line, place, new) = match line {
        Line::Whole(line) => {
            report.others += 1;
            return output.write_all(&line).map(|()| None);
        }
        Line::Bad(line, error) => (line, 0..0, Err(error)),
        Line::Part(line, place, ticket) => (line, place, ticket.wait()),
    };
    let mut failed = None;
    match new {
        Ok(Some(new)) => {
            report.changed += 1;
            // Within quotes, where there are any: nothing in a stored string needs to be escaped.
            line.splice(place, new.into_bytes());
        }
        Ok(None) => {}
        Err(error) => {
            report.bad += 1;
            failed = Some(error);
        }
    }
    output.write_all(&line).map(|()| failed)
}

/// Where the string is; in JSON without the quotes.
fn find(line: &[u8], format: &Format) -> Result<Option<Range<usize>>, Error> {
    let end = line.strip_suffix(b"\n").unwrap_or(line);
    let end = end.strip_suffix(b"\r").unwrap_or(end).len();
    match format {
        Format::Bare => Ok((end > 0).then_some(0..end)),
        Format::Field(index) => {
            let mut start = 0;
            for (at, field) in line[..end].split(|c| *c == b':').enumerate() {
                if at == *index {
                    return Ok(Some(start..start + field.len()));
                }
                start += field.len() + 1;
            }
            Ok(None)
        }
        #[cfg(feature = "json")]
        Format::Json(key) => json(&line[..end], key),
    }
}

/// The string itself.
fn value<'l>(text: &'l [u8], format: &Format) -> Option<std::borrow::Cow<'l, str>> {
    let text = str::from_utf8(text).ok()?;
    match format {
        // Escapes are read, so that a string that was written with them is the same one.
        #[cfg(feature = "json")]
        Format::Json(_) => {
            Some(serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?.into())
        }
        _ => Some(text.into()),
    }
}

#[cfg(feature = "json")]
fn json(line: &[u8], key: &str) -> Result<Option<Range<usize>>, Error> {
    use std::borrow::Cow;
    use std::collections::HashMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;

    /// A key, with or without escapes.
    #[derive(Deserialize, PartialEq, Eq, Hash)]
    struct Name<'l>(#[serde(borrow)] Cow<'l, str>);

    let malformed = Error::malformed("line", "an object of JSON, whose string is text");
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let text = str::from_utf8(line).map_err(|_| malformed.clone())?;
    let object: HashMap<Name<'_>, &RawValue> =
        serde_json::from_str(text).map_err(|_| malformed.clone())?;
    let Some(raw) = object.get(&Name(Cow::Borrowed(key))).map(|value| value.get()) else {
        return Ok(None);
    };
    if raw == "null" {
        return Ok(None);
    }
    if raw.len() < 2 || !raw.starts_with('"') {
        return Err(malformed);
    }
    let start = raw.as_ptr().addr() - text.as_ptr().addr() + 1;
    Ok(Some(start..start + raw.len() - 2))
}
