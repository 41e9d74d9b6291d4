//! Many passwords as lines of JSON: reading, computing in threads, answering.
//!
//! One thread reads and submits, the main thread waits and writes. A bounded queue between them
//! keeps memory from growing with the input, and a line is answered as soon as it (and, unless
//! order does not matter, those before it) is computed, whether or not more input arrives. A
//! deadline bounds how long one line delays the others.

mod answers;
mod input;
mod pending;
mod request;

use std::fs::File;
use std::process::ExitCode;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use saltern::table::{Lines, Piece};
use saltern::{Passwords, Policy};
use saltern_wipe::{Zeroize, Zeroizing};
use saltern_yescrypt::hazmat::Level;
use serde_json::value::RawValue;

use self::answers::Answers;
use self::input::WipedReader;
use self::pending::{Answer, Pending};
use self::request::Request;
use crate::new_form::NewForm;
use crate::number::number;
use crate::output::warn;
use crate::password::EMPTY;
use crate::site::{Origin, Site};
use crate::streams;
use crate::verdict::{Assumed, Verdict};

/// Lines between the reader and the writer: enough to keep many threads busy with small hashes.
const QUEUE: usize = 1024;

/// The most items that may wait in the pool: as many again have been taken from the queue, and one
/// more is being submitted.
const WAITING: usize = 2 * QUEUE + 2;

/// Longest line, several times what the longest password takes in hexadecimal or with escapes.
const MAX_LINE: usize = 64 << 10;

/// The least memory, in MiB: a policy's pool must have that much for the cheapest hash.
const LEAST_MEMORY: u32 = 3;

/// Options for many passwords at once.
#[derive(clap::Args)]
#[command(next_help_heading = "Many at once")]
pub(crate) struct JsonlArgs {
    /// Read one JSON object per line of standard input and answer each with one, in order
    #[cfg_attr(unix, arg(long, conflicts_with_all = ["stdin", "password_fd"]))]
    #[cfg_attr(not(unix), arg(long, conflicts_with = "stdin"))]
    pub(crate) jsonl: bool,

    /// Answer each line as soon as its answer is ready, in any order; `line` and `id` identify it
    #[arg(long, requires = "jsonl")]
    unordered: bool,

    /// Answer a line with an error if its hash is not ready this long after the line was read
    ///
    /// A line's own `timeout_ms` takes precedence. A line that cannot be ready in time, at the
    /// speed measured so far, is refused at once. A hash that has begun is computed to its end, but
    /// its result is discarded.
    #[arg(long, value_name = "MS", requires = "jsonl", value_parser = number(0..=u64::MAX))]
    deadline: Option<u64>,

    /// Number of threads (default: one per processor)
    #[arg(long, value_name = "N", requires = "jsonl", conflicts_with = "policy", value_parser = number(1..=1024_u16))]
    threads: Option<u16>,

    /// Memory limit for all threads together
    #[arg(
        long,
        value_name = "MIB",
        requires = "jsonl",
        conflicts_with = "policy",
        default_value_t = 2048,
        value_parser = number(LEAST_MEMORY..=u32::MAX)
    )]
    memory: u32,
}

impl JsonlArgs {
    /// Opens a policy, for many passwords if that is requested, or else for one after the other.
    pub(crate) fn open(
        &self,
        mut policy: Policy,
        origin: Origin,
        level: Option<Level>,
    ) -> anyhow::Result<Site> {
        if !self.jsonl {
            return Site::one(policy, origin, level);
        }
        if origin == Origin::Options {
            let pool = &mut policy.pool;
            pool.threads = self.threads.map_or(pool.threads, usize::from);
            pool.memory = u64::from(self.memory) << 20;
        }
        Site::many(policy, origin, level, WAITING)
    }
}

/// What to do with each line.
pub(crate) enum Task {
    /// Hash under a new setting, or without the policy of a file under the line's own.
    Hash { form: NewForm, allow_empty: bool },
    /// Compare with the string of the line.
    Verify {
        /// Whether to compute the updates of outdated strings.
        updates: bool,
        assumed: Assumed,
    },
}

/// A line in progress.
struct Line {
    number: u64,
    id: Option<Box<RawValue>>,
    /// Notes beside the answer.
    notes: Vec<String>,
    /// When it is too late for an answer.
    due: Option<Instant>,
    pending: Result<Pending, Result<Answer, String>>,
}

/// Messages from the reader to the writer.
enum Message {
    Line(Line),
    /// The end of the input, or an error.
    End(anyhow::Result<()>),
}

/// Answer every line of standard input. The status is 0, or 1 after a mismatch; errors in lines
/// result in an error at the end.
pub(crate) fn run(args: &JsonlArgs, site: Site, task: Task) -> anyhow::Result<ExitCode> {
    let (sender, receiver) = sync_channel(QUEUE);
    let answers = Answers::new(args.unordered, site.origin);
    let mut reader = Reader::new(&site, task, args.deadline)?;
    let (give, take) = channel::<Reader>();
    let read = move || take.recv().map(|reader| reader.read(&sender));
    // It is not joined: when output fails, the program ends without waiting for more input.
    let tally = match std::thread::Builder::new().name("reader".to_owned()).spawn(read) {
        Ok(_) => {
            // If it has failed, that is what the answers end with.
            let _ = give.send(reader);
            answers.run(&receiver)
        }
        // One line after the other where the system allows no further thread.
        Err(_) => answers.run_here(|| reader.next()),
    };
    // Damage that no hash has read is reported, too.
    warn(site.passwords()?.damaged_roms());
    // Dropped only after all tickets have been processed.
    drop(site);
    let tally = tally?;
    if tally.errors > 0 {
        bail!("{} of {} lines have errors", tally.errors, tally.lines);
    }
    Ok(ExitCode::from(u8::from(tally.mismatches > 0)))
}

/// Reads lines and submits their requests.
struct Reader {
    passwords: Passwords,
    origin: Origin,
    task: Task,
    deadline: Option<Duration>,
    lines: Lines<WipedReader<File>>,
    text: Zeroizing<Vec<u8>>,
    /// Whether there was a line that is not blank.
    any: bool,
}

impl Reader {
    fn new(site: &Site, task: Task, deadline: Option<u64>) -> anyhow::Result<Self> {
        let stdin = streams::stdin().context("cannot read standard input")?;
        let lines = Lines::new(WipedReader::new(stdin), MAX_LINE);
        let text = Zeroizing::new(Vec::with_capacity(MAX_LINE + 1));
        let deadline = deadline.map(Duration::from_millis);
        let (passwords, origin) = (site.passwords()?.clone(), site.origin);
        Ok(Reader { passwords, origin, task, deadline, lines, text, any: false })
    }

    /// Ends with the input, or when nobody needs the answers any more.
    fn read(mut self, sender: &SyncSender<Message>) {
        let end = loop {
            match self.next() {
                Ok(Some(line)) => {
                    if sender.send(Message::Line(line)).is_err() {
                        break Ok(());
                    }
                }
                end => break end.map(drop),
            }
        };
        // Its keys are wiped before the program can end.
        drop(self);
        // It does not matter if the receiver is gone.
        let _ = sender.send(Message::End(end));
    }

    /// The next line that is not blank, submitted; `None` at the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read, or there is no such line in it.
    fn next(&mut self) -> anyhow::Result<Option<Line>> {
        while let Some(piece) =
            self.lines.next(&mut self.text).context("cannot read standard input")?
        {
            let number = self.lines.number();
            let line = match piece {
                Piece::Whole if self.text.trim_ascii().is_empty() => None,
                Piece::Whole => Some(self.line(number, &self.text)),
                Piece::Start => {
                    let error = format!("the line is longer than {MAX_LINE} bytes");
                    Some(Line::refused(number, None, error))
                }
                Piece::Rest => None,
            };
            // Wiped now, not only when the next one arrives.
            self.text.zeroize();
            self.any |= line.is_some();
            if line.is_some() {
                return Ok(line);
            }
        }
        match self.lines.number() {
            _ if self.any => Ok(None),
            0 => Err(streams::is_empty("standard input")),
            _ => bail!("standard input holds no line with a request, only blank ones"),
        }
    }

    fn line(&self, number: u64, text: &[u8]) -> Line {
        let read = Instant::now();
        let (id, request) = Request::parse(text);
        let request = match request {
            Ok(request) => request,
            Err(error) => return Line::refused(number, id, error.to_string()),
        };
        let mut notes = Vec::new();
        let due = request.timeout.or(self.deadline).and_then(|time| read.checked_add(time));
        let pending = self.submit(&request, due, &mut notes);
        Line { number, id, notes, due, pending: pending.map_err(Err) }
    }

    /// Submits a line to the pool, which refuses it if it cannot be ready in time.
    fn submit(
        &self,
        request: &Request,
        due: Option<Instant>,
        notes: &mut Vec<String>,
    ) -> Result<Pending, String> {
        let (hash, setting) = (request.hash.as_ref(), request.setting.as_ref());
        match &self.task {
            Task::Hash { .. } if hash.is_some() && self.origin == Origin::Options => {
                Err("`hash` is not allowed here: give `setting`, or neither".to_owned())
            }
            Task::Hash { .. }
                if hash.is_some() || (setting.is_some() && self.origin == Origin::File) =>
            {
                Err("`hash` and `setting` are not allowed here".to_owned())
            }
            Task::Hash { allow_empty: false, .. } if request.password.is_empty() => {
                Err(EMPTY.to_owned())
            }
            Task::Hash { form, .. } => {
                let setting = form.setting(setting.map(|text| text.as_bytes()));
                let setting = setting.map_err(|error| format!("{error:#}"))?;
                *notes = form.notes(&setting, &request.password);
                let mut passwords = self.within(due);
                if let Some(account) = &request.account {
                    passwords = passwords.for_account(account.as_bytes());
                }
                Ok(Pending::Hash(passwords.hash_with_setting(&*request.password, setting)))
            }
            Task::Verify { .. } if setting.is_some() => {
                Err("`setting` is not allowed here: give `hash`".to_owned())
            }
            Task::Verify { updates, assumed } => {
                let hash = hash.ok_or("`hash` is missing: the stored string")?;
                if let Some(known) = Verdict::known(hash, self.origin) {
                    return Err(known.reason().to_owned());
                }
                *notes = assumed.notes(hash);
                let passwords = self.within(due);
                let passwords = if *updates { passwords } else { passwords.without_updates() };
                let account = request.account.as_ref().map_or("", |id| id.as_str());
                Ok(Pending::Verify(passwords.verify(account, &*request.password, Some(hash))))
            }
        }
    }

    /// Passwords for one call that has to be answered by then.
    fn within(&self, due: Option<Instant>) -> Passwords {
        let left = |due: Instant| due.saturating_duration_since(Instant::now());
        let within = |due| self.passwords.within(left(due));
        due.map_or_else(|| self.passwords.clone(), within)
    }
}
