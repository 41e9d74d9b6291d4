//! What the rest of the machine did during measurements, by the system's own accounting, which
//! includes programs that never rest.

use std::time::Instant;

use serde::Serialize;

use crate::clock::process_seconds;

/// Above this fraction of all processors, other programs matter.
const BUSY: f64 = 0.05;

/// Above this fraction, processor time that a virtual machine did not get matters.
const STOLEN: f64 = 0.02;

/// The mean number of processors that did something else during the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Others {
    /// Kept busy by other programs, including those outside of this container.
    pub busy: f64,
    /// Ready to work, but not run by the host of this virtual machine ("steal").
    pub stolen: f64,
    /// Processors of the system.
    pub processors: usize,
}

/// An observation from a moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    start: Instant,
    /// Processor time of this process.
    own: f64,
    before: Option<Accounts>,
}

/// Seconds of all processors since the system started.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Accounts {
    busy: f64,
    stolen: f64,
    processors: usize,
}

impl Watch {
    /// Begins an observation.
    pub(crate) fn begin() -> Self {
        Watch { start: Instant::now(), own: process_seconds(), before: Accounts::read() }
    }

    /// The results so far; `None` if the system has no accounting.
    pub(crate) fn seen(&self) -> Option<Others> {
        let (before, after) = (self.before?, Accounts::read()?);
        let (passed, own) = (self.start.elapsed().as_secs_f64(), process_seconds() - self.own);
        let rate = |seconds: f64| (seconds / passed.max(1e-3)).max(0.0);
        let busy = rate(after.busy - before.busy - own);
        let stolen = rate(after.stolen - before.stolen);
        Some(Others { busy, stolen, processors: after.processors })
    }
}

impl Accounts {
    #[cfg(target_os = "linux")]
    fn read() -> Option<Self> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?, ticks)
    }

    #[cfg(not(target_os = "linux"))]
    fn read() -> Option<Self> {
        None
    }

    /// The text of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq and steal, in
    /// ticks.
    #[cfg(any(test, target_os = "linux"))]
    fn parse(text: &str, ticks: f64) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
        let all = lines.next()?.split_whitespace().map(|number| number.parse::<f64>().ok());
        let all: Vec<f64> = all.collect::<Option<_>>()?;
        let [user, nice, system, idle, wait, irq, soft, stolen, ..] = all[..] else { return None };
        // In some sandboxes the file has no data.
        (idle + wait + user > 0.0).then(|| Accounts {
            busy: (user + nice + system + irq + soft) / ticks,
            stolen: stolen / ticks,
            processors: lines.count().max(1),
        })
    }
}

impl Others {
    /// Reasons not to trust the numbers, if any.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let Others { busy, stolen, processors } = *self;
        let all = processors as f64;
        let mut doubts = Vec::new();
        if busy > BUSY * all {
            doubts.push(format!(
                "other programs kept {busy:.2} of the {processors} processors busy meanwhile"
            ));
        }
        if stolen > STOLEN * all {
            doubts.push(format!(
                "this virtual machine waited for {stolen:.2} of its {processors} processors, which \
                 its host gave to others"
            ));
        }
        doubts
    }

    /// The results, for people.
    pub(crate) fn words(&self) -> String {
        let Others { busy, stolen, processors } = self;
        format!("{busy:.2} of {processors} processors busy with other programs, {stolen:.2} stolen")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read() {
        let text =
            "cpu  100 20 30 4000 5 6 7 80 9 9\ncpu0 50 10 15 2000 2 3 3 40 0 0\ncpu1 1\nintr 7\n";
        let read = Accounts::parse(text, 100.0).unwrap();
        assert_eq!(read, Accounts { busy: 1.63, stolen: 0.8, processors: 2 });
        for other in ["", "cpu 1 2 3\n", "cpu a b c d e f g h\n", "cpu 0 0 0 0 0 0 0 0\n"] {
            assert_eq!(Accounts::parse(other, 100.0), None, "{other}");
        }
    }

    #[test]
    fn what_is_little_is_no_doubt() {
        let others = |busy, stolen| Others { busy, stolen, processors: 4 }.doubts().len();
        assert_eq!(
            [others(0.1, 0.0), others(0.3, 0.0), others(0.1, 0.1), others(4.0, 1.0)],
            [0, 1, 1, 2]
        );
    }

    /// A program that is busy all the time, before the watch begins as well.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_never_rests_is_noticed() {
        let mut busy = std::process::Command::new("sh");
        let mut busy = busy.args(["-c", "while :; do :; done"]).spawn().unwrap();
        let watch = Watch::begin();
        std::thread::sleep(std::time::Duration::from_millis(600));
        let seen = watch.seen();
        busy.kill().unwrap();
        busy.wait().unwrap();
        let Some(seen) = seen else { return saltern_testing::skipped("no accounts in /proc/stat") };
        // It may have shared its processor.
        assert!(seen.busy > 0.2, "{seen:?}");
    }
}
