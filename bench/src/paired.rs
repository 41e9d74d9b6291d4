//! Paired measurement: two or more contenders take turns in one process, so that whatever slows the machine down for a
//! while slows all of them, and the ratio inside a turn is what counts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Median, smallest and largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle one; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Of at least one number; NaN of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some((&min, &max)) = sorted.first().zip(sorted.last()) else {
            return Self { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[half]
        } else {
            f64::midpoint(sorted[half - 1], sorted[half])
        };
        Self { median, min, max }
    }
}

/// One measured comparison: rates of both sides and, first of all, their ratio.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// What was compared, unique in a report.
    pub name: String,
    /// The contender, and what it is measured against.
    pub sides: [String; 2],
    /// The unit of the rates.
    pub unit: String,
    /// Rate of the first side.
    pub first: Summary,
    /// Rate of the second side.
    pub second: Summary,
    /// First over second, turn by turn: above 1, the first side is faster.
    pub ratio: Summary,
    /// The ratio that was aimed at, if any.
    pub goal: Option<f64>,
    /// How many turns.
    pub turns: usize,
}

/// Which time to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time the calling thread has run: other programs on the machine hardly disturb it, other threads do not count.
    Thread,
    /// Time that has passed: for work that several threads share.
    Wall,
}

impl Clock {
    /// The clock's time since some moment in the past.
    #[must_use]
    pub fn now(self) -> Duration {
        let now = clock_gettime(match self {
            Clock::Thread => ClockId::ThreadCPUTime,
            Clock::Wall => ClockId::Monotonic,
        });
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// How long to measure, and by which clock.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Pairs of samples.
    pub turns: usize,
    /// The least time one sample takes; shorter calls are repeated until it is reached.
    pub sample: Duration,
    /// The clock.
    pub clock: Clock,
}

impl Default for Plan {
    /// 51 turns of 4 ms a side, by the thread's own time.
    fn default() -> Self {
        Self { turns: 51, sample: Duration::from_millis(4), clock: Clock::Thread }
    }
}

/// Compares two closures that do the same work.
///
/// Each is called with the number of the call, counted alike on both sides, from which to derive what is to vary
/// (an offset, say), and returns how much work it did in some unit. The side that begins alternates from turn to turn.
pub fn compare(
    plan: Plan,
    mut first: impl FnMut(u64) -> f64,
    mut second: impl FnMut(u64) -> f64,
) -> [Vec<f64>; 2] {
    let calls = calls_per_sample(plan, &mut first).max(calls_per_sample(plan, &mut second));
    let mut rates = [Vec::new(), Vec::new()];
    for turn in 0..plan.turns as u64 {
        let numbers = turn * calls..(turn + 1) * calls;
        let mut sides: [(usize, &mut dyn FnMut(u64) -> f64); 2] =
            [(0, &mut first), (1, &mut second)];
        if turn % 2 == 1 {
            sides.reverse();
        }
        for (side, work) in sides {
            let mut sample = || rates[side].push(rate(plan.clock, numbers.clone(), work));
            at_depth(turn * 29 % 64, &mut sample);
        }
    }
    rates
}

/// Calls from so many frames further down the stack. Speed can depend on where, within a page, the stack is, because
/// a load waits for an older store whose address differs in its upper bits alone; so each turn has another depth.
#[inline(never)]
fn at_depth(levels: u64, call: &mut dyn FnMut()) {
    let frame = std::hint::black_box([levels; 6]);
    if levels == 0 {
        call();
    } else {
        at_depth(frame[0] - 1, call);
    }
    std::hint::black_box(frame);
}

/// Work per second over some calls.
fn rate(clock: Clock, calls: std::ops::Range<u64>, work: &mut dyn FnMut(u64) -> f64) -> f64 {
    let start = clock.now();
    let done: f64 = calls.map(work).sum();
    done / (clock.now() - start).as_secs_f64()
}

/// How many calls fill a sample; also warms the work up.
fn calls_per_sample(plan: Plan, work: &mut impl FnMut(u64) -> f64) -> u64 {
    let start = plan.clock.now();
    let mut calls = 0;
    while plan.clock.now() - start < plan.sample {
        work(calls);
        calls += 1;
    }
    calls
}

impl Record {
    /// Puts the rates of [`compare`] on record.
    #[must_use]
    pub fn new(name: &str, sides: [&str; 2], unit: &str, rates: &[Vec<f64>; 2]) -> Self {
        let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(a, b)| a / b).collect();
        Self {
            name: name.to_owned(),
            sides: sides.map(str::to_owned),
            unit: unit.to_owned(),
            first: Summary::of(&rates[0]),
            second: Summary::of(&rates[1]),
            ratio: Summary::of(&ratios),
            goal: None,
            turns: ratios.len(),
        }
    }

    /// With the ratio that was aimed at.
    #[must_use]
    pub fn goal(self, goal: f64) -> Self {
        Self { goal: Some(goal), ..self }
    }

    /// One line for people: name, ratio with its extremes, goal, rates.
    #[must_use]
    pub fn line(&self) -> String {
        let goal = self.goal.map_or_else(|| "     ".to_owned(), |goal| format!("≥{goal:.2}"));
        let Summary { median, min, max } = self.ratio;
        format!(
            "{:<34} {median:5.2}× [{min:5.2} {max:5.2}] {goal}  {:9.3} : {:9.3} {} ({} : {})",
            self.name,
            self.first.median,
            self.second.median,
            self.unit,
            self.sides[0],
            self.sides[1]
        )
    }
}

/// What a report begins with: on which machine, with which build.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name, from the operating system.
    pub processor: String,
    /// Processors to run on.
    pub cores: usize,
    /// The best level found.
    pub level: String,
    /// Operating system and architecture.
    pub system: String,
}

impl Machine {
    /// This machine; `level` is the best instruction set as the libraries name it.
    #[must_use]
    pub fn here(level: &str) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
        Self {
            processor: name.unwrap_or("unknown").trim().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            level: level.to_owned(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Writes a report of records as one JSON object: `machine` and `records`.
///
/// # Errors
/// Those of writing the file.
pub fn write_json(
    path: &std::path::Path,
    machine: &Machine,
    records: &[Record],
) -> std::io::Result<()> {
    let report = serde_json::json!({ "machine": machine, "records": records });
    std::fs::write(path, format!("{report:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]), Summary { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert!(Summary::of(&[]).median.is_nan());
    }

    #[test]
    fn twice_the_work_in_the_same_time_is_a_ratio_of_two() {
        let plan = Plan { turns: 5, sample: Duration::from_millis(2), clock: Clock::Wall };
        let nap = |work: f64| {
            move |_| {
                std::thread::sleep(Duration::from_millis(1));
                work
            }
        };
        let rates = compare(plan, nap(2.0), nap(1.0));
        let record = Record::new("naps", ["two", "one"], "naps/s", &rates).goal(2.0);
        assert_eq!(record.turns, 5);
        assert!((1.5..2.7).contains(&record.ratio.median), "{}", record.line());
    }
}
