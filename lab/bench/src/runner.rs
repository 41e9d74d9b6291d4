//! Measuring: threads that are pinned, contenders that take turns, samples of about equal length.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use saltern_tune::thread_seconds;

use crate::engine::Task;
use crate::machine;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Samples of each cell.
    pub rounds: usize,
    /// About how long each of them takes; at least one call.
    pub sample: Duration,
    /// Turns of each pair.
    pub turns: usize,
    /// About how long each side of a turn takes.
    pub turn: Duration,
    /// Samples of each point of a curve.
    pub passes: usize,
}

impl Effort {
    /// For results that are quoted.
    pub const FULL: Effort = Effort {
        rounds: 21,
        sample: Duration::from_millis(40),
        turns: 101,
        turn: Duration::from_millis(8),
        passes: 5,
    };

    /// For a first impression.
    pub const QUICK: Effort = Effort {
        rounds: 3,
        sample: Duration::from_millis(40),
        turns: 21,
        turn: Duration::from_millis(5),
        passes: 3,
    };

    /// To see that everything runs: the results mean nothing.
    pub const SMOKE: Effort = Effort {
        rounds: 1,
        sample: Duration::from_micros(1),
        turns: 1,
        turn: Duration::from_micros(1),
        passes: 1,
    };
}

/// Which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time the threads have run: other programs on the machine hardly disturb it.
    Cpu,
    /// Time that has passed: for what several threads share, and for programs.
    Real,
}

impl Clock {
    /// As in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Clock::Cpu => "cpu",
            Clock::Real => "real",
        }
    }
}

/// What some threads did in one sample.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Hashes of all threads.
    pub hashes: u64,
    /// From the first start to the last end.
    pub real_seconds: f64,
    /// Of all threads.
    pub cpu_seconds: f64,
    /// Hashes for each second that passed: the sum of the threads' rates, so that one that ends
    /// early does not count as slow.
    pub real_rate: f64,
    /// Milliseconds of single calls, if they were asked for.
    pub calls_ms: Vec<f64>,
}

impl Sample {
    /// Hashes for each second of processor time.
    #[must_use]
    pub fn cpu_rate(&self) -> f64 {
        self.hashes as f64 / self.cpu_seconds
    }

    /// By one of the clocks; for several threads, the CPU clock's is the rate as if each had run
    /// alone.
    #[must_use]
    pub fn rate(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Cpu => self.cpu_rate(),
            Clock::Real => self.real_rate,
        }
    }
}

/// How a sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    /// Calls of each thread.
    pub calls: u64,
    /// The number of the sample, from which the numbers of its calls follow.
    pub number: u64,
    /// Whether to time each call.
    pub time_calls: bool,
}

/// Calls each task in a thread of its own, pinned to one of the processors in turn.
///
/// # Errors
/// Those of the tasks.
pub fn sample(
    tasks: &mut [Box<dyn Task>],
    processors: &[usize],
    shot: Shot,
) -> anyhow::Result<Sample> {
    let ready = Barrier::new(tasks.len());
    let ready = &ready;
    let begun = Instant::now();
    let parts: Vec<anyhow::Result<Part>> = std::thread::scope(|scope| {
        let threads: Vec<_> = tasks
            .iter_mut()
            .enumerate()
            .map(|(index, task)| {
                let processor = processors[index % processors.len().max(1)];
                scope.spawn(move || {
                    machine::pin(processor);
                    ready.wait();
                    let mut part = Ok(Part::default());
                    let run = &mut || part = one_thread(&mut **task, shot, begun);
                    at_depth(shot.number * 29 % 64, run);
                    part
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    let mut sum = Sample::default();
    let (mut first, mut last) = (f64::INFINITY, 0.0_f64);
    for part in parts {
        let part = part?;
        sum.hashes += part.hashes;
        sum.cpu_seconds += part.cpu;
        sum.real_rate += part.hashes as f64 / (part.end - part.start);
        sum.calls_ms.extend(part.calls_ms);
        (first, last) = (first.min(part.start), last.max(part.end));
    }
    sum.real_seconds = last - first;
    Ok(sum)
}

#[derive(Default)]
struct Part {
    hashes: u64,
    /// Seconds since the sample was begun.
    start: f64,
    end: f64,
    cpu: f64,
    calls_ms: Vec<f64>,
}

fn one_thread(task: &mut dyn Task, shot: Shot, begun: Instant) -> anyhow::Result<Part> {
    let mut calls_ms = Vec::with_capacity(if shot.time_calls { shot.calls as usize } else { 0 });
    let first = shot.number * shot.calls;
    let (cpu, start) = (thread_seconds(), begun.elapsed());
    if shot.time_calls {
        for call in first..first + shot.calls {
            let start = Instant::now();
            task.run(call)?;
            calls_ms.push(1e3 * start.elapsed().as_secs_f64());
        }
    } else {
        for call in first..first + shot.calls {
            task.run(call)?;
        }
    }
    let (cpu, end) = (thread_seconds() - cpu, begun.elapsed());
    Ok(Part {
        hashes: shot.calls * task.together() as u64,
        start: start.as_secs_f64(),
        end: end.as_secs_f64(),
        cpu,
        calls_ms,
    })
}

/// Calls from so many frames further down the stack. Speed can depend on where, within a page, the
/// stack is, because a load waits for an older store whose address differs in its upper bits alone;
/// so each sample has another depth.
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

/// Warms a task up and finds how many calls take about so long: at least one.
///
/// # Errors
/// Those of the task.
pub fn calibrate(
    task: &mut Box<dyn Task>,
    processors: &[usize],
    length: Duration,
) -> anyhow::Result<u64> {
    let mut calls = 1;
    loop {
        let shot = Shot { calls, number: 0, time_calls: false };
        let took = sample(std::slice::from_mut(task), processors, shot)?.real_seconds;
        let wanted = length.as_secs_f64();
        // The first call pays for fresh memory, so that a second one is needed to know.
        if calls > 1 && took >= wanted / 4.0 || took >= 2.0 * wanted {
            return Ok(((calls as f64 * wanted / took) as u64).max(1));
        }
        calls *= 2;
    }
}

/// Calls that are shorter than this are not timed one by one: looking at the clock would count.
pub const TIMED_CALL: Duration = Duration::from_micros(20);

/// The two sides of a pair, and the ratio of their rates turn by turn.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Rates of both sides.
    pub rates: [Vec<f64>; 2],
}

impl Turns {
    /// First over second.
    #[must_use]
    pub fn ratios(&self) -> Vec<f64> {
        self.rates[0].iter().zip(&self.rates[1]).map(|(a, b)| a / b).collect()
    }
}

/// Two contenders take turns, A B, B A, …, so that whatever slows the machine down for a while
/// slows both.
///
/// # Errors
/// Those of the tasks.
pub fn take_turns(
    sides: &mut [Vec<Box<dyn Task>>; 2],
    processors: &[usize],
    effort: &Effort,
    clock: Clock,
) -> anyhow::Result<Turns> {
    let mut calls = [0; 2];
    for (side, calls) in sides.iter_mut().zip(&mut calls) {
        *calls = calibrate(&mut side[0], processors, effort.turn)?;
        if side.len() > 1 {
            // The other threads touch their memory for the first time.
            sample(side, processors, Shot { calls: 1, number: 0, time_calls: false })?;
        }
    }
    let mut turns = Turns::default();
    for number in 0..effort.turns as u64 {
        for side in if number % 2 == 0 { [0, 1] } else { [1, 0] } {
            let shot = Shot { calls: calls[side], number, time_calls: false };
            let sample = sample(&mut sides[side], processors, shot)?;
            turns.rates[side].push(sample.rate(clock));
        }
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::stats::{estimate, median};

    /// Sleeps, and counts so many hashes for it.
    struct Nap(usize);

    impl Task for Nap {
        fn together(&self) -> usize {
            self.0
        }

        fn run(&mut self, _: u64) -> anyhow::Result<()> {
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        }

        fn answers(&mut self, _: usize) -> anyhow::Result<Vec<Vec<u8>>> {
            Ok(Vec::new())
        }
    }

    fn naps(hashes: usize, threads: usize) -> Vec<Box<dyn Task>> {
        (0..threads).map(|_| Box::new(Nap(hashes)) as Box<dyn Task>).collect()
    }

    #[test]
    fn twice_the_work_in_the_same_time_is_a_ratio_of_two() {
        let turns = Turns { rates: [vec![200.0, 100.0, 300.0], vec![100.0, 50.0, 150.0]] };
        assert_eq!(turns.ratios(), [2.0; 3]);
        assert_eq!(estimate(&turns.ratios()).median, 2.0);
    }

    /// Says whose turn it is, and how often it was called there.
    struct Logged(char, Arc<Mutex<Vec<(char, u64)>>>);

    impl Task for Logged {
        fn run(&mut self, call: u64) -> anyhow::Result<()> {
            self.1.lock().unwrap().push((self.0, call));
            Nap(1).run(call)
        }

        fn answers(&mut self, _: usize) -> anyhow::Result<Vec<Vec<u8>>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn each_side_is_first_in_every_other_turn() {
        let log = Arc::default();
        let side = |name| vec![Box::new(Logged(name, Arc::clone(&log))) as Box<dyn Task>];
        let effort = Effort { turns: 4, turn: Duration::from_millis(1), ..Effort::QUICK };
        let turns = take_turns(&mut [side('a'), side('b')], &[0], &effort, Clock::Real).unwrap();
        assert_eq!(turns.rates.each_ref().map(Vec::len), [4, 4]);
        let mut order: Vec<char> = log.lock().unwrap().iter().map(|call| call.0).collect();
        order.dedup();
        // One after the other is calibrated; then a b, b a, a b, b a.
        assert_eq!(order, ['a', 'b', 'a', 'b', 'a', 'b', 'a']);
    }

    #[test]
    fn threads_work_at_the_same_time_and_calls_are_timed() {
        let shot = Shot { calls: 4, number: 3, time_calls: true };
        let sample = sample(&mut naps(3, 2), &[0], shot).unwrap();
        assert_eq!((sample.hashes, sample.calls_ms.len()), (24, 8));
        assert!(median(&sample.calls_ms) >= 1.0);
        assert!(sample.cpu_seconds < sample.real_seconds, "naps take no processor time");
        // One after the other, 8 naps would take 8 ms at least, so that 24 hashes came to 3 a
        // millisecond at most.
        assert!(sample.real_rate <= 6000.0);
        assert!(sample.rate(Clock::Cpu) > sample.rate(Clock::Real));
    }

    #[test]
    fn samples_have_about_the_length_that_was_asked_for() {
        let mut task = naps(1, 1).remove(0);
        let calls = calibrate(&mut task, &[0], Duration::from_millis(10)).unwrap();
        assert!((1..=10).contains(&calls), "{calls}");
        assert_eq!(calibrate(&mut task, &[0], Duration::from_micros(1)).unwrap(), 1);
    }

    #[test]
    fn a_task_that_fails_ends_the_sample() {
        struct Failing;
        impl Task for Failing {
            fn run(&mut self, _: u64) -> anyhow::Result<()> {
                anyhow::bail!("no")
            }
            fn answers(&mut self, _: usize) -> anyhow::Result<Vec<Vec<u8>>> {
                anyhow::bail!("no")
            }
        }
        let mut tasks: Vec<Box<dyn Task>> = vec![Box::new(Failing), Box::new(Nap(1))];
        let shot = Shot { calls: 1, number: 0, time_calls: false };
        assert_eq!(sample(&mut tasks, &[0, 1], shot).unwrap_err().to_string(), "no");
    }
}
