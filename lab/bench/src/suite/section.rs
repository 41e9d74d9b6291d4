//! One section: cells in turns with each other, pairs, curves.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::Bench;
use crate::case::{Cell, Curve, Pair, Section, Side, Threads};
use crate::engine::Task;
use crate::engine::blake2::{Hash, Input, PAGE, messages};
use crate::record;
use crate::runner::{self, Clock, Sample, Shot, TIMED_CALL};
use crate::stats::{digits, estimate, latency, percentile, verdict};
use crate::work::{Work, ensure_memory, pages_name};

/// A cell with the memory of its threads and what has been measured so far.
struct Running<'c> {
    cell: &'c Cell,
    tasks: Vec<Box<dyn Task>>,
    calls: u64,
    /// Whether a call is long enough to be timed by itself.
    time_calls: bool,
    /// Samples for each number of threads.
    samples: Vec<(usize, Vec<Sample>)>,
}

/// A curve on its way.
struct Drawn<'c> {
    curve: &'c Curve,
    hash: Hash,
    input: Input,
    /// Best rate for each offset.
    best: Vec<f64>,
}

impl Bench<'_> {
    /// About how long a section takes.
    pub(super) fn estimate(&self, section: &Section) -> Duration {
        let effort = &self.options.effort;
        let cells: usize = section.cells.iter().map(|cell| cell.threads.len()).sum();
        let curves = section.curves.iter().map(|curve| curve_length(curve, effort.passes));
        effort.sample * (cells * (effort.rounds + 1)) as u32
            + effort.turn * (section.pairs.len() * 2 * (effort.turns + 2)) as u32
            + curves.sum::<Duration>()
            + section
                .files
                .iter()
                .map(|file| super::files::length(file, self.options))
                .sum::<Duration>()
    }

    fn step(&mut self, what: &str, length: Duration) {
        self.watch.step(what, self.done);
        self.done += length;
    }

    /// Measures a section.
    pub(super) fn section(&mut self, section: &Section) -> anyhow::Result<record::Section> {
        if section.kind == record::Kind::Threads {
            self.note(crate::machine::threads_of_cores());
        }
        let mut cells = self.cells(section)?;
        for file in &section.files {
            self.step(&section.title, super::files::length(file, self.options));
            cells.extend(self.file(&section.id, file)?);
        }
        Ok(record::Section {
            id: section.id.clone(),
            title: section.title.clone(),
            about: section.about.clone(),
            kind: section.kind,
            cells,
            ratios: self.pairs(section)?,
            curves: self.curves(section)?,
        })
    }

    /// All cells in turns: one sample of each, then the next of each in the opposite order.
    fn cells(&mut self, section: &Section) -> anyhow::Result<Vec<record::Cell>> {
        let needed = section.cells.iter().map(|cell| self.memory(cell)).sum();
        ensure_memory(needed).context("all cells together")?;
        let mut running = Vec::new();
        for cell in &section.cells {
            self.step(&cell.side.work.record().words(), self.options.effort.sample);
            running.extend(self.start(cell)?);
        }
        for round in 0..self.options.effort.rounds {
            let mut order: Vec<_> = running.iter_mut().collect();
            if round % 2 == 1 {
                order.reverse();
            }
            self.neighbour.look(1);
            for cell in order {
                let length = self.options.effort.sample * cell.samples.len() as u32;
                self.step(&cell.cell.side.work.record().words(), length);
                cell.round(round as u64, &self.processors)?;
            }
        }
        Ok(running.iter().flat_map(|cell| self.record_cell(&section.id, cell)).collect())
    }

    /// Bytes that a cell keeps.
    fn memory(&self, cell: &Cell) -> u64 {
        let threads = cell.threads.iter().map(|threads| threads.count(self.all())).max();
        let together = match (&cell.side.work, cell.side.together) {
            (Work::Yescrypt(..), together) => together.unwrap_or(4),
            _ => 1,
        };
        cell.side.work.memory() * (threads.unwrap_or(1) * together) as u64
    }

    fn start<'c>(&mut self, cell: &'c Cell) -> anyhow::Result<Option<Running<'c>>> {
        let mut threads: Vec<_> =
            cell.threads.iter().map(|threads| threads.count(self.all())).collect();
        // On a machine with one processor, `1` and `all` are the same.
        threads.dedup();
        let most = threads.iter().copied().max().unwrap_or(1);
        let Some(mut tasks) = self.tasks(&cell.side, most)? else { return Ok(None) };
        let length = self.options.effort.sample;
        let calls = runner::calibrate(&mut tasks[0], &self.processors, length)?;
        if most > 1 {
            let warm = Shot { calls: 1, number: 0, time_calls: false };
            runner::sample(&mut tasks, &self.processors, warm)?;
        }
        let samples = threads.into_iter().map(|threads| (threads, Vec::new())).collect();
        let time_calls = calls == 1 || length > TIMED_CALL * calls as u32;
        Ok(Some(Running { cell, tasks, calls, time_calls, samples }))
    }

    fn record_cell(&self, section: &str, running: &Running<'_>) -> Vec<record::Cell> {
        let Side { engine, work, pages, .. } = &running.cell.side;
        let together = running.tasks[0].together();
        let record_work = work.record();
        let many = matches!(work, Work::Message(_));
        let one = |(threads, samples): &(usize, Vec<Sample>)| {
            let real = estimate(&samples.iter().map(|s| s.real_rate).collect::<Vec<_>>());
            let cpu = estimate(&samples.iter().map(Sample::cpu_rate).collect::<Vec<_>>());
            let mut id = format!("{section}/{}/{engine}", record_work.slug());
            if running.cell.side.together.is_some() {
                id += &format!("/{together}");
            }
            if let Some(pages) = pages {
                id += &format!("/{}", pages_name(*pages).replace(' ', ""));
            }
            record::Cell {
                id: format!("{id}/{threads}"),
                label: record_work.words(),
                work: record_work.clone(),
                engine: engine.clone(),
                threads: *threads,
                together: if many { 1 } else { together },
                pages: pages.map(|pages| pages_name(pages).to_owned()),
                hashes: samples.iter().map(|s| s.hashes).sum(),
                real_seconds: digits(samples.iter().map(|s| s.real_seconds).sum(), 4),
                cpu_seconds: digits(samples.iter().map(|s| s.cpu_seconds).sum(), 4),
                real,
                cpu,
                bandwidth: Some(bandwidth(work, real.median)),
                latency: latency(samples.iter().flat_map(|s| s.calls_ms.clone()).collect()),
                agrees_with: self.agreeing(engine, work),
            }
        };
        running.samples.iter().map(one).collect()
    }

    fn pairs(&mut self, section: &Section) -> anyhow::Result<Vec<record::Ratio>> {
        let mut ratios = Vec::new();
        for pair in &section.pairs {
            let effort = self.options.effort;
            let length = effort.turn * 2 * (effort.turns + 2) as u32;
            self.step(&pair.sides[0].work.record().words(), length);
            let threads = pair.threads.count(self.all());
            if pair.threads == Threads::All && threads == 1 {
                continue;
            }
            let [first, second] = &pair.sides;
            let Some(first) = self.tasks(first, threads)? else { continue };
            let Some(second) = self.tasks(second, threads)? else { continue };
            // What runs in other threads than the one that asks does not count on that one's clock.
            let elsewhere = match &pair.sides[0].work {
                Work::Message(message) => message.file,
                Work::Fill(fill) => fill.threads > 1,
                _ => false,
            };
            let clock = if threads > 1 || elsewhere { Clock::Real } else { Clock::Cpu };
            let mut tasks = [first, second];
            let turns = runner::take_turns(&mut tasks, &self.processors, &effort, clock)?;
            ratios.push(ratio(&section.id, pair, (threads, clock), &turns));
        }
        Ok(ratios)
    }

    /// For each offset, the best of several passes; engines take turns at every offset.
    fn curves(&mut self, section: &Section) -> anyhow::Result<Vec<record::Curve>> {
        let mut drawn = Vec::new();
        for curve in &section.curves {
            let Some(engine) = self.engine(&curve.engine)? else { continue };
            let work = Work::Message(curve.message);
            self.check(
                &engine.name(),
                &mut *engine.task(&work, &Default::default())?,
                &work,
                None,
            )?;
            let hash = engine.hash(&curve.message).context("not a function of messages")?;
            let best = vec![0.0_f64; PAGE.div_ceil(curve.step)];
            drawn.push(Drawn { curve, hash, input: Input::new(&curve.message), best });
        }
        let passes = self.options.effort.passes;
        for pass in 0..passes {
            let length = drawn.iter().map(|d| curve_length(d.curve, 1)).sum();
            self.step(&format!("{}, pass {}", section.title, pass + 1), length);
            let offsets = drawn.iter().map(|d| d.best.len()).max().unwrap_or(0);
            for index in 0..offsets {
                drawn.iter_mut().for_each(|drawn| drawn.measure(index));
            }
        }
        Ok(drawn.iter().map(|drawn| drawn.record(&section.id)).collect())
    }
}

impl Running<'_> {
    fn round(&mut self, number: u64, processors: &[usize]) -> anyhow::Result<()> {
        for (threads, samples) in &mut self.samples {
            let shot = Shot { calls: self.calls, number: number + 1, time_calls: self.time_calls };
            let sample = runner::sample(&mut self.tasks[..*threads], processors, shot)?;
            samples.push(sample);
        }
        Ok(())
    }
}

impl Drawn<'_> {
    fn measure(&mut self, index: usize) {
        let Some(best) = self.best.get_mut(index) else { return };
        let message = &self.curve.message;
        let messages = messages(&self.input, message, index * self.curve.step);
        let start = Instant::now();
        (self.hash)(&messages, &mut |hash| {
            std::hint::black_box(hash);
        });
        let bytes = (message.bytes * message.messages) as f64;
        *best = best.max(bytes / 1e9 / start.elapsed().as_secs_f64());
    }

    fn record(&self, section: &str) -> record::Curve {
        let Curve { engine, message, step } = self.curve;
        let work = Work::Message(*message).record();
        record::Curve {
            id: format!("{section}/{}/{engine}", work.slug()),
            label: work.words(),
            engine: engine.clone(),
            work,
            axis: "offset in bytes".to_owned(),
            start: 0,
            step: *step as u64,
            unit: "GB/s".to_owned(),
            values: self.best.iter().map(|rate| digits(*rate, 4)).collect(),
        }
    }
}

fn curve_length(curve: &Curve, passes: usize) -> Duration {
    let bytes = curve.message.bytes * curve.message.messages;
    let points = 4096 / curve.step * passes;
    // At 2.5 GB/s.
    Duration::from_secs_f64(bytes as f64 * points as f64 / 2.5e9)
}

fn bandwidth(work: &Work, rate: f64) -> record::Bandwidth {
    let (factor, rom_factor) = work.traffic();
    let bytes = work.input_bytes().unwrap_or(work.memory()) as f64;
    record::Bandwidth {
        factor: digits(factor, 5),
        rom_factor: digits(rom_factor, 5),
        gb_per_s: digits(rate * bytes * factor / 1e9, 4),
    }
}

/// Puts the turns of a pair on record.
fn ratio(
    section: &str,
    pair: &Pair,
    (threads, clock): (usize, Clock),
    turns: &runner::Turns,
) -> record::Ratio {
    let [first, second] = &pair.sides;
    let mut work = first.work.record();
    if first.work != second.work {
        // The names of the sides tell where the ROM is.
        work.rom_medium = None;
    }
    let side = |side: &Side| side.name.clone().unwrap_or_else(|| side.engine.clone());
    let bytes = |side: &Side| side.work.input_bytes().map(|bytes| bytes as f64 / 1e9);
    let per_hash = |side: &Side| bytes(side).unwrap_or(1.0);
    let in_bytes = bytes(first).is_some();
    let rates = [(first, &turns.rates[0]), (second, &turns.rates[1])].map(|(side, rates)| {
        estimate(&rates.iter().map(|rate| rate * per_hash(side)).collect::<Vec<_>>())
    });
    let form = match (first.together, &first.work) {
        (_, Work::Message(_) | Work::Fill(_)) => "",
        (Some(1), _) => ", one at a time",
        _ => ", together",
    };
    let ratio = estimate(&turns.ratios());
    let [first_best, second_best] = turns.rates.each_ref().map(|rates| percentile(rates, 0.95));
    let several = if threads == 1 { String::new() } else { format!(", {threads} threads") };
    record::Ratio {
        id: format!(
            "{section}/{}{}/{} : {}/{threads}",
            work.slug(),
            form.replace(", ", "/"),
            side(first),
            side(second)
        ),
        label: format!("{}{form}{several}", work.words()),
        work,
        sides: [side(first), side(second)],
        threads,
        clock: clock.name().to_owned(),
        unit: if in_bytes { "GB/s" } else { "hashes/s" }.to_owned(),
        rates,
        quiet: Some(digits(first_best / second_best, 4)),
        verdict: verdict(&ratio),
        ratio,
        goal: pair.goal,
    }
}
