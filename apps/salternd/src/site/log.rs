//! The log: one JSON object for each event, on standard error.
//!
//! A separate thread writes it, so that nothing waits for a full disk or a stopped reader. Events
//! that it cannot accept in time are dropped and counted.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// The most events that wait to be written.
const WAITING: usize = 1024;

/// The minimum time between two events for the same reason.
const SELDOM: Duration = Duration::from_secs(1);

/// The log. Events carry names and numbers, never passwords, salts, keys or hashes.
pub(crate) struct Log {
    sender: SyncSender<Event>,
    lost: Arc<AtomicU64>,
    /// For each reason, when it was last logged, and how often it has happened since.
    told: Mutex<HashMap<&'static str, (Instant, u64)>>,
}

enum Event {
    Line(String),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

impl Log {
    /// A log whose thread runs as long as the log exists. If the thread cannot be started, nothing
    /// is written.
    pub(crate) fn new() -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let (thread, left_out) = (std::thread::Builder::new(), Arc::clone(&lost));
        let _ = thread.name("log".to_owned()).spawn(move || write(&receiver, &left_out));
        Log { sender, lost, told: Mutex::default() }
    }

    /// Logs an event that an operator should look at.
    pub(crate) fn warn(&self, event: &str, fields: &[(&str, Value)]) {
        self.add("warning", event, fields);
    }

    /// Logs an event that an operator should look at, at most one per second for the same reason.
    /// Each contains the number of occurrences since the previous one, including itself.
    pub(crate) fn warn_seldom(
        &self,
        event: &str,
        reason: &'static str,
        fields: &[(&'static str, Value)],
    ) {
        let Some(count) = self.happened(reason, Instant::now()) else { return };
        let fields: Vec<_> = fields.iter().cloned().chain([("count", json!(count))]).collect();
        self.warn(event, &fields);
    }

    /// How often it has happened since it was logged, if it is time to log it again.
    fn happened(&self, reason: &'static str, now: Instant) -> Option<u64> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((last, count)) = told.get_mut(reason) else {
            told.insert(reason, (now, 0));
            return Some(1);
        };
        *count += 1;
        if now.saturating_duration_since(*last) < SELDOM {
            return None;
        }
        *last = now;
        Some(std::mem::take(count))
    }

    /// Logs an event.
    pub(crate) fn info(&self, event: &str, fields: &[(&str, Value)]) {
        self.add("info", event, fields);
    }

    fn add(&self, level: &str, event: &str, fields: &[(&str, Value)]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut line = Map::new();
        line.insert("time".to_owned(), json!((now.as_secs_f64() * 1e3).round() / 1e3));
        line.insert("level".to_owned(), json!(level));
        line.insert("event".to_owned(), json!(event));
        line.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if self.sender.try_send(Event::Line(Value::Object(line).to_string())).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// The number of dropped events.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Waits briefly until all events are written: for the end of the process.
    pub(crate) fn flush(&self) {
        let (sender, receiver) = sync_channel(1);
        if self.sender.try_send(Event::Flush(sender)).is_ok() {
            let _ = receiver.recv_timeout(std::time::Duration::from_secs(1));
        }
    }
}

fn write(events: &Receiver<Event>, lost: &AtomicU64) {
    let mut stderr = std::io::stderr();
    while let Ok(event) = events.recv() {
        match event {
            Event::Line(line) => {
                if stderr.write_all((line + "\n").as_bytes()).is_err() {
                    lost.fetch_add(1, Relaxed);
                }
            }
            Event::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_often_is_told_seldom_and_counted() {
        let (log, start) = (Log::new(), Instant::now());
        let at = |reason, time| log.happened(reason, start + Duration::from_millis(time));
        assert_eq!((at("a", 0), at("b", 1)), (Some(1), Some(1)));
        assert_eq!([at("a", 1), at("a", 999), at("b", 1000)], [None; 3]);
        assert_eq!((at("a", 1000), at("b", 1001)), (Some(3), Some(2)));
        assert_eq!((at("a", 1999), at("a", 5000)), (None, Some(2)));
    }
}
