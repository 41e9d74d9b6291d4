//! Many passwords as lines of JSON: read, given to threads, answered in order.
//!
//! One thread reads and submits, the main thread waits and writes. Between them stands a queue of bounded length, so that memory does not
//! grow with the input, and a line is answered as soon as it and those before it are computed, whether or not more input comes.

mod input;
mod request;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use anyhow::{Context, bail};
use saltern_yescrypt::{Level, PoolConfig, Setting, Ticket};
use serde::Serialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use self::input::WipedReader;
pub(crate) use self::request::Request;
use crate::compute::{Many, WaitingHash, WaitingMatch};
use crate::lines::{Line, Lines};
use crate::output::Output;
use crate::rom::{Doubts, RomChecks};
use crate::streams;

/// Lines between the reader and the writer: enough to keep many threads busy with small hashes.
const QUEUE: usize = 1024;

/// Longest line, several times what the longest password takes in hexadecimal or with escapes.
const MAX_LINE: usize = 64 << 10;

/// Options for many passwords at once.
#[derive(clap::Args)]
#[command(next_help_heading = "Many at once")]
pub(crate) struct JsonlArgs {
    /// Take one JSON object from each line of standard input and answer each by one, in order
    #[arg(long)]
    pub(crate) jsonl: bool,

    /// Threads that compute (default: one for each processor)
    #[arg(long, value_name = "N", requires = "jsonl", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Memory that they may take together
    #[arg(long, value_name = "MIB", requires = "jsonl", default_value_t = 2048)]
    memory: u32,
}

impl JsonlArgs {
    /// Threads and memory as asked for.
    pub(crate) fn pool(&self, level: Option<Level>) -> PoolConfig {
        let mut config = PoolConfig::default();
        config.threads = self.threads.map_or(config.threads, usize::from);
        config.memory = u64::from(self.memory) << 20;
        config.level = level.unwrap_or(config.level);
        // One more than the queue holds is being written, another one submitted.
        config.max_waiting = QUEUE + 2;
        config
    }
}

/// What to do with each line.
pub(crate) enum Job {
    /// Hash under a setting of the line's own, or else under a new one.
    Hash { setting: Box<dyn Fn() -> anyhow::Result<Setting> + Send>, allow_empty: bool },
    /// Compare with the hash of the line, unless this finds something wrong with it; no mismatch is told of a damaged ROM.
    Verify { obstacle: fn(&[u8]) -> Option<String>, roms: RomChecks },
}

/// A line on its way.
enum Pending {
    Hash(WaitingHash),
    Verify(WaitingMatch, Doubts),
}

/// What the reader tells the writer.
enum Message {
    Line {
        number: u64,
        id: Option<Box<RawValue>>,
        pending: Result<Pending, String>,
    },
    /// The end of the input, as it should be or not.
    End(anyhow::Result<()>),
}

/// A line of output.
#[derive(Serialize)]
struct Record<'a> {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    matches: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Answer every line of standard input. The status is 0, or 1 after a mismatch; errors in lines are an error at the end.
pub(crate) fn run(job: Job, computer: Many) -> anyhow::Result<ExitCode> {
    let (sender, receiver) = sync_channel(QUEUE);
    let computer = Arc::new(computer);
    let shared = computer.clone();
    // Nobody joins it: when output fails, the program ends without waiting for more input.
    std::thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || read(&job, &shared, &sender))
        .context("cannot start a thread for standard input")?;
    let status = write(&receiver);
    // The tickets are done with only now.
    drop(computer);
    status
}

/// Submits what comes; ends with the input, or when nobody wants to know the answers any more.
fn read(job: &Job, computer: &Many, sender: &SyncSender<Message>) {
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE));
    let end = (|| {
        let stdin = streams::stdin().context("cannot read standard input")?;
        let mut lines = Lines::new(WipedReader::new(stdin), MAX_LINE);
        while let Some(kind) = lines.next(&mut line).context("cannot read standard input")? {
            let (id, pending) = match kind {
                Line::Whole if line.trim_ascii().is_empty() => continue,
                Line::Whole => {
                    let (id, request) = Request::parse(&line);
                    (id, request.and_then(|request| job.submit(request, computer)))
                }
                Line::Start => (None, Err(format!("the line is longer than {MAX_LINE} bytes"))),
                Line::Middle | Line::End => continue,
            };
            if sender.send(Message::Line { number: lines.number(), id, pending }).is_err() {
                break;
            }
        }
        Ok(())
    })();
    // Nobody there to hear it is no harm.
    let _ = sender.send(Message::End(end));
}

impl Job {
    fn submit(&self, request: Request, computer: &Many) -> Result<Pending, String> {
        let password = request.password()?;
        match self {
            Job::Hash { setting, allow_empty } => {
                if request.hash.is_some() {
                    return Err("`hash` has no meaning here: give `setting`, or none".to_owned());
                }
                if password.is_empty() && !allow_empty {
                    return Err("the password is empty: give --allow-empty if that is meant".into());
                }
                let setting = match request.setting {
                    Some(setting) => setting.into_bytes(),
                    None => setting().map_err(|e| format!("{e:#}"))?.as_bytes().to_vec(),
                };
                computer.hash(&password, &setting).map(Pending::Hash)
            }
            Job::Verify { obstacle, roms } => {
                if request.setting.is_some() {
                    return Err("`setting` has no meaning here: give `hash`".to_owned());
                }
                let hash = request.hash.ok_or("`hash` is missing: the stored string")?;
                if let Some(reason) = obstacle(hash.as_bytes()) {
                    return Err(reason);
                }
                let doubts = roms.of(hash.as_bytes());
                Ok(Pending::Verify(computer.verify(&password, hash.as_bytes())?, doubts))
            }
        }
    }
}

/// Writes the answers in order.
fn write(receiver: &Receiver<Message>) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    let (mut lines, mut errors, mut mismatches) = (0_u64, 0_u64, 0_u64);
    loop {
        let message = match receiver.try_recv() {
            Err(TryRecvError::Empty) => {
                // Whoever waits for an answer before going on gets it now.
                output.flush()?;
                receiver.recv().ok()
            }
            other => other.ok(),
        };
        let (number, id, pending) = match message {
            Some(Message::Line { number, id, pending }) => (number, id, pending),
            Some(Message::End(end)) => {
                output.flush()?;
                end?;
                break;
            }
            None => bail!("the thread that reads standard input has failed"),
        };
        let mut record =
            Record { line: number, id: id.as_deref(), hash: None, matches: None, error: None };
        match pending.and_then(|pending| pending.wait(&mut output)) {
            Ok(Answer::Hash(hash)) => record.hash = Some(hash),
            Ok(Answer::Match(matches)) => record.matches = Some(matches),
            Err(error) => record.error = Some(error),
        }
        lines += 1;
        errors += u64::from(record.error.is_some());
        mismatches += u64::from(record.matches == Some(false));
        output.json(&record)?;
    }
    if errors > 0 {
        bail!("{errors} of {lines} lines are in error");
    }
    Ok(ExitCode::from(u8::from(mismatches > 0)))
}

enum Answer {
    Hash(String),
    Match(bool),
}

impl Pending {
    /// The answer; what was written before it is sent on its way if it takes time.
    fn wait(self, output: &mut Output) -> Result<Answer, String> {
        let done = match &self {
            Pending::Hash(ticket) => ticket.is_done(Ticket::is_done),
            Pending::Verify(ticket, _) => ticket.is_done(Ticket::is_done),
        };
        if !done {
            // A failure to write comes up again at the next line.
            let _ = output.flush();
        }
        match self {
            Pending::Hash(ticket) => ticket.wait(Ticket::wait).and_then(|hash| {
                let text = String::from_utf8(hash);
                text.map(Answer::Hash).map_err(|_| "the string is not UTF-8".to_owned())
            }),
            Pending::Verify(ticket, doubts) => match ticket.wait(Ticket::wait)? {
                true => Ok(Answer::Match(true)),
                false => doubts.settle().map(|()| Answer::Match(false)),
            },
        }
    }
}
