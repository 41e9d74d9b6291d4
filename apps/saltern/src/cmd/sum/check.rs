//! `--check`: compare the files named in check files with the digests there.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use saltern::table::{Lines, Piece};

use super::algorithm::{Algorithm, Digest};
use super::console::Console;
use super::engine::{Engine, Sink};
use super::input::{self, Input};
use super::line;
use super::parse::{MAX_LINE, Parser, trim_end};
use super::queue::{Outcome, Task};
use crate::streams;

/// What to check, and how much to report.
pub(super) struct Checking {
    /// `--algorithm`, where it was given
    pub(super) algorithm: Option<Algorithm>,
    pub(super) verbosity: Verbosity,
    pub(super) ignore_missing: bool,
    pub(super) strict: bool,
    /// Standard input is in use, so a line that names it is invalid.
    pub(super) stdin_taken: bool,
    pub(super) files: Vec<PathBuf>,
}

/// Each of the flags overrides those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verbosity {
    #[default]
    Normal,
    /// `--warn`: name the lines that are not well formed
    Warn,
    /// `--quiet`: do not mention files that match
    Quiet,
    /// `--status`: only the exit code
    Status,
}

/// Check all the files. `Ok(false)` if anything was wrong, which has then been reported.
///
/// # Errors
///
/// Standard output cannot be written.
pub(super) fn run(checking: &Checking, engine: &Engine) -> io::Result<bool> {
    let mut console = Console::new();
    let mut turn = 0;
    let mut ok = true;
    for path in &checking.files {
        ok &= check_file(checking, path, engine, &mut console, &mut turn)?;
    }
    console.flush()?;
    Ok(ok)
}

fn check_file(
    checking: &Checking,
    path: &Path,
    engine: &Engine,
    console: &mut Console,
    turn: &mut u64,
) -> io::Result<bool> {
    let from_stdin = path.as_os_str() == "-";
    let opened = if from_stdin { streams::stdin() } else { File::open(path) };
    let title = if from_stdin { b"standard input" } else { path.as_os_str().as_encoded_bytes() };
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            console.complain_about(title, &input::reason(&error))?;
            return Ok(false);
        }
    };
    // A list from a pipe may arrive line by line.
    let slow = !file.metadata().is_ok_and(|meta| meta.is_file());
    let list = List {
        lines: Lines::new(BufReader::with_capacity(64 << 10, file), MAX_LINE),
        line: Vec::new(),
        parser: Parser::new(checking.algorithm),
        stdin_taken: checking.stdin_taken || from_stdin,
        turn,
        done: false,
    };
    let mut report = Report { checking, title, console, counts: Counts::default() };
    engine.run(list, slow, &mut report)?;
    report.conclude()
}

/// The result of a line of a check file.
enum Item {
    Entry {
        name: Vec<u8>,
        expected: Digest,
    },
    Malformed {
        number: u64,
    },
    TooLong {
        number: u64,
    },
    /// The rest of the file cannot be read.
    Broken,
}

/// The tasks in a check file.
struct List<'a, R> {
    lines: Lines<R>,
    line: Vec<u8>,
    parser: Parser,
    stdin_taken: bool,
    turn: &'a mut u64,
    done: bool,
}

impl<R: BufRead> Iterator for List<'_, R> {
    type Item = Task<Item>;

    fn next(&mut self) -> Option<Task<Item>> {
        if self.done {
            return None;
        }
        loop {
            let piece = match self.lines.next(&mut self.line) {
                Ok(Some(piece)) => piece,
                Ok(None) => return None,
                Err(_) => {
                    self.done = true;
                    return Some(Task { about: Item::Broken, work: None });
                }
            };
            let (line, number) = (trim_end(&self.line), self.lines.number());
            let entry = match piece {
                Piece::Rest => continue,
                Piece::Whole if line.is_empty() || line[0] == b'#' => continue,
                Piece::Whole => self.parser.parse(line),
                Piece::Start if !self.parser.may_be_entry(line) => None,
                Piece::Start => {
                    let about = Item::TooLong { number };
                    return Some(Task { about, work: None });
                }
            };
            let entry = entry.filter(|entry| !(self.stdin_taken && entry.name == b"-"));
            let Some((entry, path)) = entry.and_then(|e| path_of(&e.name).map(|path| (e, path)))
            else {
                let about = Item::Malformed { number };
                return Some(Task { about, work: None });
            };
            let work = Some((Input::named(&path, self.turn), entry.spec));
            let about = Item::Entry { name: entry.name, expected: entry.digest };
            return Some(Task { about, work });
        }
    }
}

/// The path of a name; `None` where the system has no path like this.
#[cfg(unix)]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

/// The path of a name; `None` where the system has no path like this.
#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    str::from_utf8(name).ok().map(PathBuf::from)
}

/// The counts for one check file.
#[derive(Default)]
struct Counts {
    well_formed: u64,
    malformed: u64,
    too_long: u64,
    unreadable: u64,
    mismatched: u64,
    matched: u64,
    broken: bool,
}

/// Reports the results of the lines of one check file.
struct Report<'a> {
    checking: &'a Checking,
    title: &'a [u8],
    console: &'a mut Console,
    counts: Counts,
}

impl Sink<Item> for Report<'_> {
    fn take(&mut self, item: Item, outcome: Option<Outcome>) -> io::Result<()> {
        match item {
            Item::Entry { name, expected } => match outcome {
                Some(outcome) => self.judge(&name, &expected, outcome),
                None => Ok(()),
            },
            Item::Malformed { number } => self.malformed(number),
            Item::TooLong { number } => {
                self.counts.too_long += 1;
                let text = format!("{number}: the line is longer than {MAX_LINE} bytes");
                self.console.complain_about(self.title, &text)
            }
            Item::Broken => {
                self.counts.broken = true;
                self.console.complain_about(self.title, "read error")
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.console.flush()
    }
}

impl Report<'_> {
    fn judge(&mut self, name: &[u8], expected: &Digest, outcome: Outcome) -> io::Result<()> {
        self.counts.well_formed += 1;
        match outcome {
            Ok(digest) if digest == *expected => {
                self.counts.matched += 1;
                match self.checking.verbosity {
                    Verbosity::Quiet => Ok(()),
                    _ => self.verdict(name, "OK"),
                }
            }
            Ok(_) => {
                self.counts.mismatched += 1;
                self.verdict(name, "FAILED")
            }
            Err(error)
                if self.checking.ignore_missing && error.kind() == io::ErrorKind::NotFound =>
            {
                Ok(())
            }
            Err(error) => {
                self.counts.unreadable += 1;
                self.console.complain_about(name, &input::reason(&error))?;
                self.verdict(name, "FAILED open or read")
            }
        }
    }

    fn verdict(&mut self, name: &[u8], verdict: &str) -> io::Result<()> {
        if self.checking.verbosity == Verbosity::Status {
            return Ok(());
        }
        let mut line = Vec::with_capacity(name.len() + verdict.len() + 3);
        line::push_verdict(&mut line, name, verdict);
        self.console.print(&line)
    }

    fn malformed(&mut self, number: u64) -> io::Result<()> {
        self.counts.malformed += 1;
        if self.checking.verbosity != Verbosity::Warn {
            return Ok(());
        }
        let function = self.checking.algorithm.unwrap_or(Algorithm::Blake2b).name();
        let text = format!("{number}: improperly formatted {function} checksum line");
        self.console.complain_about(self.title, &text)
    }

    /// Print the closing remarks; return whether everything was well.
    fn conclude(self) -> io::Result<bool> {
        let Self { checking, title, console, counts } = self;
        if counts.broken {
            return Ok(false);
        }
        if counts.well_formed == 0 && counts.too_long == 0 {
            console.complain_about(title, "no properly formatted checksum lines found")?;
            return Ok(false);
        }
        if checking.verbosity != Verbosity::Status {
            for (count, one, many) in [
                (
                    counts.malformed,
                    "line is improperly formatted",
                    "lines are improperly formatted",
                ),
                (
                    counts.unreadable,
                    "listed file could not be read",
                    "listed files could not be read",
                ),
                (
                    counts.mismatched,
                    "computed checksum did NOT match",
                    "computed checksums did NOT match",
                ),
            ] {
                if count > 0 {
                    let text = if count == 1 { one } else { many };
                    console.complain(&format!("WARNING: {count} {text}"))?;
                }
            }
            if checking.ignore_missing && counts.matched == 0 {
                console.complain_about(title, "no file was verified")?;
            }
        }
        let failed = counts.unreadable + counts.mismatched > 0 || counts.matched == 0;
        let refused = checking.strict && counts.malformed > 0;
        Ok(!failed && !refused && counts.too_long == 0)
    }
}
