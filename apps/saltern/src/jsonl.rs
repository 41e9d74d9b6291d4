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
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use saltern::Passwords;
use saltern::table::{Lines, Piece};
use saltern_pool::PoolConfig;
use saltern_wipe::{Zeroize, Zeroizing};
use saltern_yescrypt::{HashString, Setting, hazmat::Level};
use serde_json::value::RawValue;

use self::answers::Answers;
use self::input::WipedReader;
use self::pending::{Answer, Pending};
use self::request::Request;
use crate::compute::Many;
use crate::crypt3;
use crate::number::number;
use crate::output::warn;
use crate::password::EMPTY;
use crate::protection::Protection;
use crate::streams;

/// Lines between the reader and the writer: enough to keep many threads busy with small hashes.
const QUEUE: usize = 1024;

/// The most items that may wait in the pool: as many again have been taken from the queue, and one
/// more is being submitted.
pub(crate) const WAITING: usize = 2 * QUEUE + 2;

/// Longest line, several times what the longest password takes in hexadecimal or with escapes.
const MAX_LINE: usize = 64 << 10;

/// Options for many passwords at once.
#[derive(clap::Args)]
#[command(next_help_heading = "Many at once")]
pub(crate) struct JsonlArgs {
    /// Read one JSON object per line of standard input and answer each with one, in order
    #[arg(long)]
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
        value_parser = number(0..=u32::MAX)
    )]
    memory: u32,
}

impl JsonlArgs {
    /// The requested threads and memory.
    pub(crate) fn pool(&self, level: Option<Level>) -> PoolConfig {
        let mut config = PoolConfig::default();
        config.threads = self.threads.map_or(config.threads, usize::from);
        config.memory = u64::from(self.memory) << 20;
        config.level = level.unwrap_or(config.level);
        config.max_waiting = WAITING;
        config
    }
}

/// What to do with each line.
pub(crate) enum Task {
    /// Hash under the line's own setting, or else under a new one.
    Hash {
        computer: Arc<Many>,
        allow_empty: bool,
        /// The keys and ROMs.
        protection: Protection,
    },
    /// Compare with the hash of the line.
    Verify {
        computer: Arc<Many>,
        /// The string, or what is wrong with it, if that is known without computing.
        stored: fn(&str) -> Result<HashString, String>,
        /// Other possible causes of a mismatch, if something is assumed about strings.
        notes: Notes,
    },
    /// Hash under a policy.
    New { passwords: Passwords, allow_empty: bool },
    /// Compare under a policy.
    Login {
        passwords: Passwords,
        /// What is wrong with a string that no password can match.
        obstacle: fn(&str) -> Option<String>,
    },
}

/// Notes for the user about an answer to this string.
type Notes = Box<dyn Fn(&HashString) -> Vec<String> + Send>;

impl Task {
    /// The computing parts, which must be kept until all tickets have been processed.
    fn computers(&self) -> (Option<Arc<Many>>, Option<Passwords>) {
        match self {
            Task::Hash { computer, .. } | Task::Verify { computer, .. } => {
                (Some(computer.clone()), None)
            }
            Task::New { passwords, .. } | Task::Login { passwords, .. } => {
                (None, Some(passwords.clone()))
            }
        }
    }
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
pub(crate) fn run(args: &JsonlArgs, task: Task) -> anyhow::Result<ExitCode> {
    let (sender, receiver) = sync_channel(QUEUE);
    let (computer, passwords) = task.computers();
    warn(computer.as_ref().and_then(|computer| computer.pool.note()));
    // Damage that no hash has read yet is reported, too.
    let _watch = computer.as_ref().map(|computer| computer.watch());
    let mut reader = Reader::new(task, args.deadline)?;
    let answers = Answers::new(args.unordered);
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
    warn(passwords.as_ref().map(Passwords::damaged_roms).unwrap_or_default());
    // Dropped only after all tickets have been processed.
    drop((computer, passwords));
    let tally = tally?;
    if tally.errors > 0 {
        bail!("{} of {} lines have errors", tally.errors, tally.lines);
    }
    Ok(ExitCode::from(u8::from(tally.mismatches > 0)))
}

/// Reads lines and submits their requests.
struct Reader {
    task: Task,
    deadline: Option<Duration>,
    lines: Lines<WipedReader<File>>,
    text: Zeroizing<Vec<u8>>,
    /// Whether there was a line that is not blank.
    any: bool,
}

impl Reader {
    fn new(task: Task, deadline: Option<u64>) -> anyhow::Result<Self> {
        let stdin = streams::stdin().context("cannot read standard input")?;
        let lines = Lines::new(WipedReader::new(stdin), MAX_LINE);
        let text = Zeroizing::new(Vec::with_capacity(MAX_LINE + 1));
        let deadline = deadline.map(Duration::from_millis);
        Ok(Reader { task, deadline, lines, text, any: false })
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
        let (hash, setting) = (request.hash.is_some(), request.setting.is_some());
        match &self.task {
            Task::Hash { .. } if hash => {
                Err("`hash` is not allowed here: give `setting`, or neither".to_owned())
            }
            Task::New { .. } if hash || setting => {
                Err("`hash` and `setting` are not allowed here".to_owned())
            }
            Task::Verify { .. } | Task::Login { .. } if setting => {
                Err("`setting` is not allowed here: give `hash`".to_owned())
            }
            Task::Verify { .. } | Task::Login { .. } if !hash => {
                Err("`hash` is missing: the stored string".to_owned())
            }
            Task::Hash { allow_empty: false, .. } | Task::New { allow_empty: false, .. }
                if request.password.is_empty() =>
            {
                Err(EMPTY.to_owned())
            }
            _ => self.compute(request, due, notes),
        }
    }

    /// Submits the computation for a valid request.
    fn compute(
        &self,
        request: &Request,
        due: Option<Instant>,
        notes: &mut Vec<String>,
    ) -> Result<Pending, String> {
        let password = &request.password;
        let hash = request.hash.as_ref().map(|hash| hash.as_str()).unwrap_or_default();
        match &self.task {
            Task::Hash { computer, protection, .. } => {
                let setting = match &request.setting {
                    Some(text) => {
                        let setting = Setting::parse(text.as_bytes()).map_err(|e| e.to_string())?;
                        protection.check(&setting).map_err(|error| error.to_string())?;
                        text.as_bytes().to_vec()
                    }
                    None => computer.new_setting()?.as_bytes().to_vec(),
                };
                *notes = crypt3::notes(&setting, protection.unnamed_key, password);
                computer.hash(password, &setting, due).map(Pending::Hash)
            }
            Task::Verify { computer, stored, notes: told } => {
                let stored = stored(hash)?;
                notes.extend(told(&stored));
                computer.verify(password, &stored, due).map(Pending::Verify)
            }
            Task::New { passwords, .. } => {
                *notes = crypt3::notes_of_password(password);
                Ok(Pending::New(timed(passwords, due).hash(&**password)))
            }
            Task::Login { passwords, obstacle } => {
                if let Some(reason) = obstacle(hash) {
                    return Err(reason);
                }
                Ok(Pending::Login(timed(passwords, due).verify("", &**password, Some(hash))))
            }
        }
    }
}

/// `passwords` for one call that has to be answered by then.
fn timed(passwords: &Passwords, due: Option<Instant>) -> Passwords {
    let left = |due: Instant| due.saturating_duration_since(Instant::now());
    due.map_or_else(|| passwords.clone(), |due| passwords.within(left(due)))
}
