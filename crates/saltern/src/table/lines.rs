//! Stored strings in lines.

#[cfg(feature = "json")]
mod json;

use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::ops::Range;

use crate::error::Error;
use crate::stored::Stored;
use crate::ticket::Ticket;

/// How many lines are on their way at once: enough to keep many threads busy.
const WINDOW: usize = 256;
/// The longest line that can have a string; what is longer passes in pieces of this size.
const MAX_LINE: usize = 64 << 10;

/// Where the stored string stands in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// As the line looks: an object of JSON has the string under the key `hash` (feature `json`); a
    /// line that begins with `$`, or has no colon, is the string; any other line has it between its
    /// first two colons. Lines that begin with `#` have none. A line of LDIF in base 64
    /// (`name:: value`) is bad.
    Detect,
    /// The whole line is the string.
    Bare,
    /// The string is one of the fields between colons, counted from 0: 1 in `user:hash:…`. Lines
    /// with fewer fields are bad, unless they are empty or begin with `#`.
    Field(usize),
    /// The string is the value of this key of a JSON object. Objects without the key, or with
    /// `null` as its value, have none. An object that has a key twice is bad.
    #[cfg(feature = "json")]
    #[cfg_attr(docsrs, doc(cfg(feature = "json")))]
    Json(String),
}

/// A line that has a stored string. A line where nothing stands in its place is none of these.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Entry<'l> {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The whole line, with the end of line.
    pub line: &'l [u8],
    /// The account: the first field of a line of fields, unless that is the string itself.
    pub account: Option<&'l [u8]>,
    /// The stored string.
    pub stored: &'l str,
}

/// Without the line and its string: for logs.
impl std::fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("number", &self.number).finish_non_exhaustive()
    }
}

/// How many lines there were, and what happened to them.
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

/// A line on its way.
enum Line {
    /// To be written as it is.
    Whole(Vec<u8>),
    /// With its string at this place replaced, if there is a result.
    Part(Vec<u8>, Place, Ticket<Option<String>>),
    Bad(Vec<u8>, Error),
    /// A further piece of a line that is too long.
    More(Vec<u8>),
}

/// Applies an operation to the stored string of each line, and writes all lines in their order:
/// with the new string in the place of the old one, or as they were if there is no new one.
///
/// `bad` is called for each line whose string could not be read or whose operation failed, with the
/// number of the line, counted from 1, and the error; such lines are written as they were. So are
/// lines of more than 64 KiB, which are bad as well. No string is passed over in silence: a line
/// that has none in its place, but one in a comment, in another field or under another key, is bad.
///
/// Up to 256 lines are worked on at once, which bounds the memory: 16 MiB of lines. With
/// [`Table::rekey`](super::Table::rekey) or [`Passwords::wrap`](crate::Passwords::wrap) as the
/// operation, strings that are done already stay as they are, so that a run that was interrupted
/// can be repeated.
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
/// Errors of reading, once all lines that were read whole have been written; errors of writing.
pub fn each_line(
    mut input: impl BufRead,
    mut output: impl Write,
    format: &Format,
    mut operation: impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
    mut bad: impl FnMut(u64, &Error),
) -> io::Result<Report> {
    let (mut report, mut lines, mut ended) = (Report::default(), VecDeque::new(), 0);
    let mut inside = false;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line);
        let more = read.as_ref().is_ok_and(|read| *read > 0);
        if more {
            let goes_on = line.len() == MAX_LINE && !line.ends_with(b"\n");
            let continues = std::mem::replace(&mut inside, goes_on);
            report.lines += u64::from(!continues);
            lines.push_back(match (continues, goes_on) {
                (true, _) => Line::More(line),
                (false, true) => Line::Bad(line, Error::malformed("line", "at most 64 KiB")),
                (false, false) => begin(line, report.lines, format, &mut operation),
            });
        }
        while lines.len() > if more { WINDOW } else { 0 } {
            let Some(line) = lines.pop_front() else { break };
            ended += u64::from(!matches!(line, Line::More(_)));
            if let Some(error) = end(line, &mut output, &mut report)? {
                bad(ended, &error);
            }
        }
        if !more {
            output.flush()?;
            return read.map(|_| report);
        }
    }
}

fn begin(
    line: Vec<u8>,
    number: u64,
    format: &Format,
    operation: &mut impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
) -> Line {
    let place = match find(&line, format) {
        Ok(Some(place)) if !place.range.is_empty() => place,
        Ok(_) if strays(&line) => {
            let expected = "a stored string in its place, and not in a comment, another field or \
                            another key";
            return Line::Bad(line, Error::malformed("line", expected));
        }
        Ok(_) => return Line::Whole(line),
        Err(error) => return Line::Bad(line, error),
    };
    let Some(stored) = value(&line[place.range.clone()], place.escaped) else {
        return Line::Bad(line, Error::malformed("line", "text in UTF-8"));
    };
    let account = place.account.clone().map(|account| &line[account]);
    let ticket = operation(&Entry { number, line: &line, account, stored: &stored });
    drop(stored);
    Line::Part(line, place, ticket)
}

/// Writes a line; why its string was left as it was.
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

/// Where the string is in a line, and the account.
#[derive(Default)]
struct Place {
    /// In JSON without the quotes.
    range: Range<usize>,
    account: Option<Range<usize>>,
    /// As JSON does.
    escaped: bool,
}

fn find(line: &[u8], format: &Format) -> Result<Option<Place>, Error> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match format {
        Format::Detect => match line {
            [b'#', ..] => Ok(None),
            #[cfg(feature = "json")]
            [b'{', b'"' | b'}' | b' ' | b'\t', ..] => json::find(line, "hash"),
            [b'$', ..] => find(line, &Format::Bare),
            _ if is_base64_of_ldif(line) => {
                Err(Error::malformed("line", "a string that can be read, and not base 64 of LDIF"))
            }
            _ if line.contains(&b':') => Ok(field(line, 1)),
            _ => find(line, &Format::Bare),
        },
        Format::Bare => Ok(Some(Place { range: 0..line.len(), ..Place::default() })),
        Format::Field(index) => match field(line, *index) {
            None if !matches!(line, [] | [b'#', ..]) => {
                Err(Error::malformed("line", "the field that is to have the stored string"))
            }
            place => Ok(place),
        },
        #[cfg(feature = "json")]
        Format::Json(key) => json::find(line, key),
    }
}

fn field(line: &[u8], index: usize) -> Option<Place> {
    let (mut start, mut account) = (0, None);
    for (at, field) in line.split(|c| *c == b':').enumerate() {
        let range = start..start + field.len();
        if at == index {
            return Some(Place { range, account, escaped: false });
        }
        start = range.end + 1;
        account.get_or_insert(range);
    }
    None
}

/// `userPassword:: e1NTSEF9…`, which would look like an account without a password.
fn is_base64_of_ldif(line: &[u8]) -> bool {
    let mut fields = line.splitn(3, |c| *c == b':').skip(1);
    fields.next() == Some(b"") && fields.next().is_some_and(|rest| rest.starts_with(b" "))
}

/// Whether a line that has no string in its place has one elsewhere.
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

/// The string itself. Escapes are read, so that a string that was written with them is the same.
fn value(text: &[u8], escaped: bool) -> Option<std::borrow::Cow<'_, str>> {
    let text = str::from_utf8(text).ok()?;
    #[cfg(feature = "json")]
    if escaped {
        return Some(serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?.into());
    }
    Some(text.into()).filter(|_| !escaped)
}

/// A string as it stands between the quotes of JSON: salts of some schemes may have quotes and
/// backslashes.
#[cfg(feature = "json")]
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(not(feature = "json"))]
fn escaped(text: &str) -> String {
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number, the account and the string of a line.
    type Seen = (u64, String, String);

    /// What is found in each line, whose string becomes `new`; what is written; which are bad.
    fn seen(input: &[u8], format: &Format) -> (Vec<Seen>, Vec<u8>, Vec<u64>) {
        let (mut entries, mut output, mut bad) = (Vec::new(), Vec::new(), Vec::new());
        let operation = |entry: &Entry<'_>| {
            let account = String::from_utf8_lossy(entry.account.unwrap_or_default());
            entries.push((entry.number, account.into_owned(), entry.stored.to_owned()));
            Ok(Some("new".to_owned())).into()
        };
        each_line(input, &mut output, format, operation, |line, _| bad.push(line)).unwrap();
        (entries, output, bad)
    }

    fn entry(number: u64, account: &str, stored: &str) -> Seen {
        (number, account.to_owned(), stored.to_owned())
    }

    #[test]
    fn lines_are_told_apart_by_what_they_look_like() {
        let input = b"$y$a:b\n# $y$a\r\n\nalice:$6$a:1\r\nbob::\n{key=a}$y$a\ncarol:\xff\nplain";
        let (entries, output, bad) = seen(input, &Format::Detect);
        let expected = [
            entry(1, "", "$y$a:b"),
            entry(4, "alice", "$6$a"),
            entry(6, "", "{key=a}$y$a"),
            entry(8, "", "plain"),
        ];
        assert_eq!(entries, expected);
        assert_eq!(bad, [7]);
        let written = b"new\n# $y$a\r\n\nalice:new:1\r\nbob::\nnew\ncarol:\xff\nnew";
        assert_eq!(output, written);
    }

    /// A string of ours that can be read.
    const OURS: &str =
        "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";

    #[test]
    fn no_string_is_passed_over() {
        let lines = [
            format!("#alice:{OURS}:19000"),
            format!("# was: {OURS}"),
            format!("bob::{OURS}"),
            format!("#carol:!{{CRYPT}}{OURS}\r"),
            "userPassword:: e1NTSEF9MTIzNDU2".to_owned(),
            "# $y$, as crypt(5) has it, or {SSHA}".to_owned(),
            "dave::19000:0:99999".to_owned(),
            "#5ebe2294ecd0e0f08eab7690d2a6ee69".to_owned(),
        ];
        let input = lines.join("\n");
        let (entries, output, bad) = seen(input.as_bytes(), &Format::Detect);
        assert_eq!((entries, bad), (Vec::new(), vec![1, 2, 3, 4, 5]));
        assert_eq!(output, input.as_bytes());
        // A table whose lines lack the field is not the table that was meant.
        let (entries, output, bad) = seen(b"a:b:c\na:b\n\n# x\na:b:\n", &Format::Field(2));
        assert_eq!((entries, bad), (vec![entry(1, "a", "c")], vec![2]));
        assert_eq!(output, b"a:b:new\na:b\n\n# x\na:b:\n");
    }

    #[cfg(feature = "json")]
    #[test]
    fn no_string_of_json_is_passed_over() {
        let escaped = OURS.replace('/', "\\/").replacen('$', "\\u0024", 1);
        let lines = [
            format!("{{\"password\":\"{escaped}\"}}"),
            format!("{{\"hash\":null,\"old\":[1,{{\"is\":\"{escaped}\"}}]}}"),
            format!("{{\"hash\":\"{OURS}\",\"h\\u0061sh\":\"x\"}}"),
            "{\"id\":1,\"id\":2,\"hash\":\"x\"}".to_owned(),
            format!("{{\"hash\":{{\"hash\":\"{OURS}\"}}}}"),
            "{\"hash\":null,\"etag\":\"5ebe2294ecd0e0f08eab7690d2a6ee69\"}".to_owned(),
            "{\"hash\":\"\"}".to_owned(),
        ];
        let input = lines.join("\n");
        let (entries, output, bad) = seen(input.as_bytes(), &Format::Detect);
        assert_eq!((entries, bad), (Vec::new(), vec![1, 2, 3, 4, 5]));
        assert_eq!(output, input.as_bytes());
    }

    #[cfg(feature = "json")]
    #[test]
    fn json_is_changed_in_its_place() {
        let input =
            b"{\"a\" : 1.0,\"hash\" : \"$\\u0079$\" }\n{\"hash\":null}\n{}\n{\"hash\":1}\n{\"\n";
        let (entries, output, bad) = seen(input, &Format::Detect);
        assert_eq!(entries, [entry(1, "", "$y$")]);
        assert_eq!(bad, [4, 5]);
        let written =
            b"{\"a\" : 1.0,\"hash\" : \"new\" }\n{\"hash\":null}\n{}\n{\"hash\":1}\n{\"\n";
        assert_eq!(output, written);
    }

    /// What an operation makes of a string may have to be escaped: salts can have quotes.
    #[cfg(feature = "json")]
    #[test]
    fn json_stays_json() {
        let (input, mut output) = (b"{\"hash\":\"a\\\"b\\\\c\"}\n", Vec::new());
        let operation = |entry: &Entry<'_>| {
            assert_eq!(entry.stored, "a\"b\\c");
            Ok(Some(format!("new {}", entry.stored))).into()
        };
        each_line(&input[..], &mut output, &Format::Detect, operation, |_, _| {}).unwrap();
        assert_eq!(output, b"{\"hash\":\"new a\\\"b\\\\c\"}\n");
    }

    #[test]
    fn long_lines_pass_and_are_bad() {
        for length in [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, 3 * MAX_LINE, 3 * MAX_LINE + 1] {
            let long = "x".repeat(length);
            let input = format!("a\n{long}\nb\n");
            let (entries, output, bad) = seen(input.as_bytes(), &Format::Bare);
            let fits = length < MAX_LINE;
            assert_eq!(entries.last().unwrap().0, 3);
            assert_eq!((entries.len(), bad.len()), if fits { (3, 0) } else { (2, 1) }, "{length}");
            let middle = if fits { "new" } else { &long };
            assert!(output == format!("new\n{middle}\nnew\n").into_bytes(), "{length}");
        }
    }

    /// An input that ends in an error, with half a line before it.
    #[test]
    fn what_was_read_is_written_before_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let input = io::BufReader::new((&b"a\nb\nhal"[..]).chain(Broken));
        let mut output = Vec::new();
        let same = |_: &Entry<'_>| Ok(None).into();
        let result = each_line(input, &mut output, &Format::Bare, same, |_, _| {});
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(output, b"a\nb\n");
    }
}
