//! Streams of stored strings, one in each line: from standard input, and back to standard output.
//! No line is lost: if a run ends early, the message says how many lines were written.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::num::NonZero;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use saltern::table::{Entry, Format, Report, Table, each_line};
use saltern::{Error, Policy, Ticket};

use crate::interrupt::{Interrupt, LOOK, readable};
use crate::number::{FROM_ONE, number};
use crate::output::tell;
use crate::progress::Progress;
use crate::streams;

/// Bytes that are read or written at once.
const BUFFER: usize = 64 << 10;

/// The part of a subcommand's help about its input.
macro_rules! lines_help {
    () => {
        "\
The form of each line is recognised: a string alone; fields separated by
colons, the second of which is the string, as in /etc/shadow; or a JSON
object with the string under `hash`. `{CRYPT}` before a string, and the
`!` or `*` of a locked account, are kept. Empty lines, comments (`#`),
empty fields, and objects in which `hash` is missing or null hold no
string. If there is a string elsewhere in such a line, the line is bad,
so that no account is skipped; lines of more than 64 KiB are bad as well.
An empty input is an error, and so is one in which no line holds a
string: the program that should have written it may have failed."
    };
}
pub(crate) use lines_help;

/// Where the strings are.
#[derive(clap::Args)]
#[command(next_help_heading = "Lines")]
pub(crate) struct LineArgs {
    /// The string is this field of each line; fields are separated by colons and counted from 1
    #[arg(long, value_name = "N", conflicts_with = "json_key", value_parser = number(FROM_ONE))]
    field: Option<NonZero<u16>>,

    /// The string is the value of this key of the JSON object in each line, or where this JSON
    /// pointer leads, such as /credentials/password/config/hashed_password
    ///
    /// On its way a pointer enters texts that are JSON themselves.
    #[arg(long, value_name = "KEY")]
    json_key: Option<String>,

    /// The id of the account is this field of each line, counted from 1 (default: the first one);
    /// only seals depend on it
    #[arg(long, value_name = "N",
          conflicts_with_all = ["json_key", "id_key", "ldif", "keycloak", "firebase"],
          value_parser = number(FROM_ONE))]
    id_field: Option<NonZero<u16>>,

    /// The id of the account is the value of this key of the JSON object in each line, or where
    /// this JSON pointer leads
    #[arg(long, value_name = "KEY", conflicts_with_all = ["field", "ldif", "keycloak", "firebase"])]
    id_key: Option<String>,

    /// The lines are LDIF: the string is the value of userPassword, the account the entry's name
    #[arg(long, conflicts_with_all = ["field", "json_key"])]
    ldif: bool,

    /// The lines are JSON objects with credentials of Keycloak, or users of its exports
    ///
    /// The string is put together from secretData and credentialData. A new one becomes the value,
    /// with the algorithm `saltern` and no salt.
    #[arg(long, conflicts_with_all = ["field", "json_key", "ldif"])]
    keycloak: bool,

    /// The lines are users of an export of Firebase, one JSON object each
    ///
    /// The string is put together from passwordHash, salt and the [firebase] of the policy. A new
    /// one becomes the passwordHash, with an empty salt.
    #[arg(long, conflicts_with_all = ["field", "json_key", "ldif", "keycloak"])]
    pub(crate) firebase: bool,
}

impl LineArgs {
    /// The form of the lines, for which some need the policy of the site.
    pub(crate) fn format(&self, policy: Option<&Policy>) -> anyhow::Result<Format> {
        let index = |field: Option<NonZero<u16>>| field.map(|at| usize::from(at.get()) - 1);
        let (stored, account) = (index(self.field), index(self.id_field));
        if stored.is_some() || account.is_some() {
            let (stored, account) = (stored.unwrap_or(1), account.unwrap_or(0));
            return Ok(Format::Fields { stored, account });
        }
        Ok(match (self.json_key.clone(), self.id_key.clone()) {
            (None, None) if self.ldif => Format::Ldif,
            (None, None) if self.keycloak => Format::Keycloak,
            (None, None) if self.firebase => {
                let project = policy.and_then(|policy| policy.firebase.as_ref());
                let project = project.context("--firebase needs a policy with [firebase]")?;
                Format::Firebase(project.parameters.clone())
            }
            (None, None) => Format::Detect,
            (stored, account) => {
                Format::Json { stored: stored.unwrap_or_else(|| "hash".to_owned()), account }
            }
        })
    }

    /// Applies an operation to each string of standard input, and writes all lines to standard
    /// output. Errors in lines are reported in these words, and counted.
    pub(crate) fn rewrite(
        &self,
        policy: &Policy,
        operation: impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
        words: impl Fn(&Error) -> String,
    ) -> anyhow::Result<Report> {
        let format = self.format(Some(policy))?;
        let output = streams::raw_stdout().context("cannot write to standard output")?;
        let mut input = Input::new()?;
        input.is_rewritten = true;
        ensure!(
            !is_one_file(input.file.get_ref(), &output),
            "standard input and standard output are the same file: write to another one, and \
             replace the first with it once that has succeeded"
        );
        let mut output = BufWriter::with_capacity(BUFFER, Counted::new(output));
        let result = input.run(&mut output, &format, operation, words);
        // Without another attempt to write what is in the buffer.
        let (output, _) = output.into_parts();
        let written = || {
            let part = if output.inside { ", and the beginning of the next one" } else { "" };
            format!("the first {} lines are written{part}; {} were read", output.lines, input.lines)
        };
        match result {
            Ok(report) => some(report),
            Err(error) if output.failed => {
                bail!("cannot write to standard output: {error}; {}", written())
            }
            Err(error) => {
                input.interrupt.check(written)?;
                bail!("cannot read standard input: {error}; {}", written())
            }
        }
    }

    /// Visits each string of standard input. Errors in lines are reported and counted; any other
    /// failure ends the run.
    pub(crate) fn look(
        &self,
        policy: &Policy,
        mut operation: impl FnMut(&Entry<'_>) -> Result<anyhow::Result<()>, Error>,
    ) -> anyhow::Result<Report> {
        let format = self.format(Some(policy))?;
        let mut input = Input::new()?;
        let (stop, mut done) = (Rc::clone(&input.stop), Ok(()));
        let operation = |entry: &Entry<'_>| {
            let looked = operation(entry).map(|result| {
                stop.set(result.is_err());
                done = result;
                None
            });
            looked.into()
        };
        let result = input.run(io::sink(), &format, operation, ToString::to_string);
        done?;
        let report = result.or_else(|error| {
            let read = || format!("{} lines were read", input.lines);
            input.interrupt.check(read)?;
            bail!("cannot read standard input: {error}; {}", read())
        })?;
        some(report)
    }
}

/// The operations for the account of a line, if that is known.
pub(crate) fn of(table: &Table, entry: &Entry<'_>) -> Table {
    entry.account.map_or_else(|| table.clone(), |account| table.for_account(account))
}

/// The report of an input that has at least one line.
fn some(report: Report) -> anyhow::Result<Report> {
    if report.lines > 0 { Ok(report) } else { Err(streams::is_empty("standard input")) }
}

/// Reports an input in which no line holds a string, which is an error: the strings are not in the
/// expected place.
pub(crate) fn is_without_strings(report: &Report) -> bool {
    let nothing = report.others == report.lines;
    if nothing {
        tell(
            "no line holds a stored string: give --field, --json-key, --ldif, --keycloak or --firebase to say where it is",
        );
    }
    nothing
}

/// Prints the counts at the end, and returns the exit status: bad lines are errors.
pub(crate) fn end(report: &Report, changed: &str, unchanged: &str) -> ExitCode {
    let Report { lines, others, changed: new, bad, .. } = *report;
    let others_text = match others {
        0 => String::new(),
        _ => format!(" {others} without a string,"),
    };
    tell(format_args!(
        "{lines} lines, {new} {changed}, {} {unchanged},{others_text} {bad} bad and left unchanged",
        lines - new - others - bad
    ));
    if bad == 0 && !is_without_strings(report) { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Standard input, which ends in an error when a signal arrives.
struct Input {
    file: BufReader<File>,
    interrupt: Interrupt,
    progress: Arc<Progress>,
    shown: Instant,
    /// The number of lines taken.
    lines: u64,
    /// Whether to stop reading.
    stop: Rc<Cell<bool>>,
    /// Whether lines are in progress when the input ends.
    is_rewritten: bool,
}

impl Input {
    fn new() -> anyhow::Result<Self> {
        let mut file = streams::stdin().context("cannot read standard input")?;
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
        let at = metadata.as_ref().and_then(|_| file.stream_position().ok());
        let total = metadata.zip(at).map(|(file, at)| file.len().saturating_sub(at));
        Ok(Input {
            file: BufReader::with_capacity(BUFFER, file),
            interrupt: Interrupt::begin()?,
            progress: Arc::new(Progress::new(total, false)),
            shown: Instant::now(),
            lines: 0,
            stop: Rc::default(),
            is_rewritten: false,
        })
    }

    fn run(
        &mut self,
        output: impl Write,
        format: &Format,
        operation: impl FnMut(&Entry<'_>) -> Ticket<Option<String>>,
        words: impl Fn(&Error) -> String,
    ) -> io::Result<Report> {
        let progress = self.progress.clone();
        let bad = |line, error: &Error| {
            progress.aside(|| tell(format_args!("line {line}: {}", words(error))));
        };
        let result = each_line(self, output, format, operation, bad);
        progress.finish();
        result
    }

    /// Waits until there is something to read, or a signal has arrived.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            if self.interrupt.came() && self.is_rewritten {
                let finishing = "the lines that were read are being finished";
                self.progress.aside(|| {
                    tell(format_args!("{finishing}; a second signal ends this at once"));
                });
            }
            if self.interrupt.came() || self.stop.get() {
                return Err(io::Error::other("interrupted"));
            }
            if self.shown.elapsed() >= LOOK {
                self.progress.show();
                self.shown = Instant::now();
            }
            if !self.file.buffer().is_empty() || readable(self.file.get_ref()) {
                return Ok(());
            }
        }
    }
}

/// Whether two streams are the same file: then input would be overwritten, or output read again.
#[cfg(unix)]
fn is_one_file(one: &File, other: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |file: &File| {
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    };
    place(one).is_some_and(|place_of_one| place(other) == Some(place_of_one))
}

#[cfg(not(unix))]
fn is_one_file(_: &File, _: &File) -> bool {
    false
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.wait()?;
        self.file.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let taken = self.file.buffer().get(..amount).unwrap_or_default();
        self.lines += taken.iter().filter(|c| **c == b'\n').count() as u64;
        self.progress.add(amount as u64);
        self.file.consume(amount);
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

/// An output that counts what it has accepted.
struct Counted<W> {
    output: W,
    lines: u64,
    /// Whether the last line is incomplete.
    inside: bool,
    failed: bool,
}

impl<W: Write> Counted<W> {
    fn new(output: W) -> Self {
        Counted { output, lines: 0, inside: false, failed: false }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        // The caller tries again.
        let again = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
        self.failed |= written.as_ref().is_err_and(|error| !again(error));
        let taken = bytes.get(..*written.as_ref().unwrap_or(&0)).unwrap_or_default();
        self.lines += taken.iter().filter(|c| **c == b'\n').count() as u64;
        self.inside = taken.last().map_or(self.inside, |c| *c != b'\n');
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
