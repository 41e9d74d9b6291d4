//! Writes the answers: in the order of the lines, or each as soon as it is available.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::RawValue;

use super::pending::{Answer, TOO_LATE};
use super::{Line, Message, QUEUE};
use crate::output::Output;
use crate::site::Origin;

/// How long to wait for one line before checking the others.
const POLL: Duration = Duration::from_millis(2);

/// Practically forever.
const LONG: Duration = Duration::from_secs(3600);

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
    /// Why an update is due, if one is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outdated: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<String>,
    /// The notes that a single password gets on the terminal.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Counts of lines, by result.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) lines: u64,
    pub(super) errors: u64,
    pub(super) mismatches: u64,
}

/// The writer of answers.
pub(super) struct Answers {
    output: Output,
    waiting: VecDeque<Line>,
    unordered: bool,
    origin: Origin,
    tally: Tally,
}

impl Answers {
    /// For lines that are computed under a policy of this origin.
    pub(super) fn new(unordered: bool, origin: Origin) -> Answers {
        let (output, tally) = (Output::new(), Tally::default());
        Answers { output, waiting: VecDeque::new(), unordered, origin, tally }
    }

    /// Answer all lines.
    pub(super) fn run(mut self, lines: &Receiver<Message>) -> anyhow::Result<Tally> {
        let mut end = None;
        loop {
            while end.is_none() && self.waiting.len() < QUEUE {
                match lines.try_recv() {
                    Ok(Message::Line(line)) => self.waiting.push_back(line),
                    Ok(Message::End(reason)) => end = Some(reason),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Err(lost()),
                }
            }
            if self.answer_ready()? {
                continue;
            }
            // A caller that waits for an answer before continuing gets it now.
            self.output.flush()?;
            match (self.waiting.is_empty(), &end) {
                (true, Some(_)) => break,
                (true, None) => self.receive(lines, LONG, &mut end)?,
                (false, None) if self.unordered => self.receive(lines, POLL, &mut end)?,
                (false, _) => self.wait_for_first(),
            }
        }
        end.unwrap_or(Ok(()))?;
        Ok(self.tally)
    }

    /// Answer each line before the next one is read.
    pub(super) fn run_here(
        mut self,
        mut next: impl FnMut() -> anyhow::Result<Option<Line>>,
    ) -> anyhow::Result<Tally> {
        while let Some(line) = next()? {
            self.waiting.push_back(line);
            while !self.answer_ready()? {
                self.wait_for_first();
            }
            self.output.flush()?;
        }
        Ok(self.tally)
    }

    fn receive(
        &mut self,
        lines: &Receiver<Message>,
        time: Duration,
        end: &mut Option<anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        match lines.recv_timeout(time) {
            Ok(Message::Line(line)) => self.waiting.push_back(line),
            Ok(Message::End(reason)) => *end = Some(reason),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
        }
        Ok(())
    }

    /// Write the answers that are due; return whether there were any.
    fn answer_ready(&mut self) -> anyhow::Result<bool> {
        let before = self.tally.lines;
        let mut later = VecDeque::new();
        while let Some(mut line) = self.waiting.pop_front() {
            match line.answer(Duration::ZERO, self.origin) {
                Some(answer) => self.write(&line, answer)?,
                None => {
                    later.push_back(line);
                    if !self.unordered {
                        break;
                    }
                }
            }
        }
        later.append(&mut self.waiting);
        self.waiting = later;
        Ok(self.tally.lines > before)
    }

    /// Wait for the first line, but not past its deadline, nor for long if others may be ready
    /// before it.
    fn wait_for_first(&mut self) {
        let most = if self.unordered { POLL } else { LONG };
        if let Some(line) = self.waiting.front_mut() {
            let left = line.due.map(|due| due.saturating_duration_since(Instant::now()));
            let time = left.unwrap_or(most).min(most);
            if let Some(answer) = line.answer(time, self.origin) {
                line.pending = Err(answer);
            }
        }
    }

    fn write(&mut self, line: &Line, answer: Result<Answer, String>) -> anyhow::Result<()> {
        let (mut outdated, mut update) = (Vec::new(), None);
        let (hash, matches, error) = match answer {
            Ok(Answer::Hash(hash)) => (Some(hash), None, None),
            Ok(Answer::Match(due)) => {
                (outdated, update) = due.map(|due| (due.reasons, due.new)).unwrap_or_default();
                (None, Some(true), None)
            }
            Ok(Answer::Mismatch) => (None, Some(false), None),
            Err(error) => (None, None, Some(error)),
        };
        self.tally.lines += 1;
        self.tally.errors += u64::from(error.is_some());
        self.tally.mismatches += u64::from(matches == Some(false));
        let is_told = matches != Some(true) && error.is_none();
        let notes = if is_told { &line.notes[..] } else { &[] };
        let id = line.id.as_deref();
        let line = line.number;
        self.output.json(&Record { line, id, hash, matches, outdated, update, notes, error })
    }
}

impl Line {
    /// The answer if it is available within this time, or an error if it is too late.
    fn answer(&mut self, time: Duration, origin: Origin) -> Option<Result<Answer, String>> {
        let settled = Err(Err(String::new()));
        let pending = match std::mem::replace(&mut self.pending, settled) {
            Ok(pending) => pending,
            Err(answer) => return Some(answer),
        };
        match pending.wait(time, origin) {
            Ok(answer) => Some(answer),
            Err(pending) if self.due.is_some_and(|due| due <= Instant::now()) => {
                Some(pending.known_now(origin).unwrap_or_else(|| Err(TOO_LATE.to_owned())))
            }
            Err(pending) => {
                self.pending = Ok(pending);
                None
            }
        }
    }
}

impl Line {
    /// A line that is answered already.
    pub(super) fn refused(number: u64, id: Option<Box<RawValue>>, error: String) -> Line {
        Line { number, id, notes: Vec::new(), due: None, pending: Err(Err(error)) }
    }
}

fn lost() -> anyhow::Error {
    anyhow::anyhow!("the thread that reads standard input has failed")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use saltern::{Passwords, Policy, policy::Params};
    use saltern_yescrypt::{Hasher, Workspace};

    use super::super::pending::Pending;
    use super::*;

    /// A right password is no error because its update is late.
    #[test]
    fn a_match_is_told_at_the_deadline_without_its_update() {
        let mut policy = Policy::default();
        policy.params = Params::from_cost(2).unwrap();
        policy.pool.threads = 1;
        let passwords = Passwords::new(policy).unwrap();
        let old = Hasher::new().with_params(Params::from_cost(1).unwrap());
        let stored = old.hash(&mut Workspace::new(), "secret").unwrap();
        let ticket = passwords.verify("a", "secret", Some(&stored));
        let until = |is: &dyn Fn(saltern_pool::PoolStats) -> bool| {
            while !is(passwords.pool().stats()) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until(&|stats| stats.hashes > 0);
        let (end, ends) = mpsc::channel::<()>();
        let busy = passwords.run(move || ends.recv().is_ok());
        until(&|stats| stats.waiting == 0);
        let pending = Ok(Pending::Verify(ticket));
        let due = Some(Instant::now());
        let mut line = Line { number: 1, id: None, notes: Vec::new(), due, pending };
        let answer = line.answer(Duration::from_millis(10), Origin::File);
        drop(end);
        assert_eq!(busy.wait(), Ok(false));
        let Some(Ok(Answer::Match(Some(due)))) = answer else { panic!("no match") };
        assert!(due.new.is_none() && !due.reasons.is_empty());
    }
}
