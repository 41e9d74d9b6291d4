//! `saltern-bench service`: the program `salternd` under load, beside the pool alone.

mod capacity;
mod daemon;
mod figures;
mod load;
mod overload;
mod results;
mod soak;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use saltern::Policy;
use saltern_bench::machine::{keep_on, processors};
use saltern_bench::stats::percentile;

use crate::run::{read, write};
use capacity::Capacity;
use daemon::Daemon;
use figures::{Figures, Goal};
use load::{Asker, Caller, Logins};
use results::Load;

/// Load the service `salternd` as logins would, and say what it keeps of what its pool can do
///
/// The service runs as a process of its own, on all processors but the last, and is asked from the
/// last one over a Unix socket, with connections that are kept. Where there is one processor only,
/// they share it. Capacity is measured in turns with that of the pool alone, on the same
/// processors. All other logins come at random times, whether those before them have been answered
/// or not, and their time counts from when they were due. The status is 1 if an answer was wrong or
/// if memory has exceeded its budget; goals that were missed are said.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The program [default: salternd beside this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Cost of the hashes, 1 to 11: 5 takes 16 MiB, 1 takes 1 MiB
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=11))]
    cost: u8,

    /// Processors of the service, each with a thread that computes [default: all but the last]
    #[arg(long, value_name = "N")]
    processors: Option<usize>,

    /// Seconds of each part
    #[arg(long, default_value_t = 20)]
    seconds: u32,

    /// How many times its capacity the service is asked for, one after the other
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2,5,10")]
    times: Vec<f64>,

    /// How long there is for each login then, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    within: u64,

    /// Instead of all that, so many seconds of 1.2 times the capacity of 1 MiB, with reloads, new
    /// keys and ROMs, clients that come and go, and batches: every answer is checked, and memory is
    /// watched; the status is 1 if anything was wrong, lost or leaked
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(6..))]
    soak: Option<u32>,

    /// Write the figures to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure nothing: print the figures of files that --json has written, as a table of Markdown
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["json", "program"])]
    show: Vec<PathBuf>,
}

/// How often two things take turns, beside the capacity.
const TURNS: u32 = 4;

const PASSWORD: &str = "correct horse battery staple";

/// Which processors the service has, and which those have that ask it.
struct Places {
    service: Vec<usize>,
    asking: Vec<usize>,
}

impl Places {
    fn new(wanted: Option<usize>) -> anyhow::Result<Self> {
        let all = processors();
        let count = wanted.unwrap_or_else(|| all.len().saturating_sub(1).max(1));
        ensure!((1..=all.len()).contains(&count), "--processors {count}: 1 to {}", all.len());
        let (service, rest) = all.split_at(count);
        let asking = if rest.is_empty() { &all } else { rest };
        Ok(Places { service: service.to_vec(), asking: asking.to_vec() })
    }

    /// Whether none of them is used by both.
    fn are_apart(&self) -> bool {
        self.service != self.asking
    }
}

/// A service, what it is asked, and what came of that.
struct Bench<'a> {
    args: &'a Args,
    places: Places,
    policy: Policy,
    daemon: Daemon,
    logins: Logins,
    figures: Figures,
    seeds: u64,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.show.is_empty() {
        let read = |file: &PathBuf| Figures::from_json(&read(file)?);
        let all = args.show.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        print!("{}", Figures::markdown(&all));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(seconds) = args.soak {
        return soak::run(args, seconds);
    }
    let began = Instant::now();
    let mut bench = Bench::start(args)?;
    bench.parts()?;
    let mut figures = bench.figures;
    figures.seconds = began.elapsed().as_secs_f64().round();
    end(args, &figures, figures.is_bad())
}

/// Prints and keeps the figures.
fn end(args: &Args, figures: &Figures, bad: bool) -> anyhow::Result<ExitCode> {
    print!("{}", figures.text());
    if let Some(file) = &args.json {
        write(file, &figures.to_json()?)?;
    }
    Ok(ExitCode::from(u8::from(bad)))
}

impl<'a> Bench<'a> {
    fn start(args: &'a Args) -> anyhow::Result<Self> {
        let figures = Figures::begin()?;
        let places = Places::new(args.processors)?;
        let threads = places.service.len();
        let text = format!(
            "[params]\ncost = {}\n[pool]\nthreads = {threads}\nprepare = true\n",
            args.cost
        );
        let mut policy = Policy::parse(&text, "")?;
        policy.pool.processors.clone_from(&places.service);
        keep_on(&places.service);
        let daemon = Daemon::start(args.program.as_deref(), &text)?;
        keep_on(&places.asking);
        let caller = Caller::new(daemon.socket(), places.asking.len())?;
        let stored = caller.hash(PASSWORD)?;
        let logins = Logins::new(caller, PASSWORD, &stored, places.are_apart());
        Ok(Bench { args, places, policy, daemon, logins, figures, seeds: 0 })
    }

    fn parts(&mut self) -> anyhow::Result<()> {
        let capacity = self.capacity()?;
        let normal = self.steady(&capacity)?;
        let over = self.overloads(&capacity)?;
        let after = self.recovery(&capacity, &normal)?;
        let beside = self.beside(&capacity)?;
        let wrong = [&normal, &over, &after, &beside].map(|load| load.wrong).iter().sum::<usize>();
        self.figures.add("wrong", "wrong answers", wrong as f64, "", Goal::Zero);
        Ok(())
    }

    /// What the service and the pool alone do at most.
    fn capacity(&mut self) -> anyhow::Result<Capacity> {
        let capacity =
            Capacity::measure(&self.daemon, &self.logins, &self.policy, self.args.seconds)?;
        capacity.tell(self.args.cost, &mut self.figures);
        Ok(capacity)
    }

    /// So many logins a second at random times.
    fn load(&mut self, rate: f64, time: Duration, within: Option<Duration>) -> Load {
        self.seeds += 1;
        self.logins.load(rate, time, Asker::Stranger { within }, self.seeds)
    }

    fn part(&self) -> Duration {
        Duration::from_secs(self.args.seconds.into())
    }

    fn within(&self) -> Duration {
        Duration::from_millis(self.args.within)
    }

    /// Latency at 0.7 of the capacity.
    fn steady(&mut self, capacity: &Capacity) -> anyhow::Result<Load> {
        let load = self.load(0.7 * capacity.http, self.part(), None);
        let times = load.times();
        let part = |part| percentile(&times, part);
        let figures = &mut self.figures;
        figures.add("steady-p50", "at 0.7 of it: half of the logins within", part(0.5), "ms", None);
        figures.add("steady-p95", "95 of 100 within", part(0.95), "ms", None);
        figures.add("steady-p99", "99 of 100 within", part(0.99), "ms", None);
        let alone = part(0.99) / capacity.alone;
        figures.add("steady-p99-alone", "the same in times of a login alone", alone, "", None);
        let groups = part(0.99) / capacity.group_ms;
        let goal = Goal::below(3.0);
        figures.add("steady-p99-groups", "the same in times of a full group", groups, "", goal);
        figures.lag("steady", &load);
        Ok(load)
    }

    /// What the service holds, and what it may.
    fn memory(&mut self) -> anyhow::Result<()> {
        let metrics = self.daemon.metrics()?;
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let pool = mib(metrics.of("saltern_pool_memory_peak_bytes"));
        let budget = mib(metrics.of("saltern_pool_memory_budget_bytes"));
        let peak = mib(self.daemon.peak_bytes().unwrap_or_default() as f64);
        let figures = &mut self.figures;
        figures.add("memory-peak", "memory of the process at most", peak, "MiB", None);
        figures.add("memory-pool", "of it the pool's", pool, "MiB", Goal::below(budget + 0.001));
        figures.add("memory-budget", "which may be", budget, "MiB", None);
        Ok(())
    }

    /// How soon after the overload everything is as before.
    fn recovery(&mut self, capacity: &Capacity, normal: &Load) -> anyhow::Result<Load> {
        let load = self.load(0.7 * capacity.http, Duration::from_secs(4), Some(self.within()));
        let usual = percentile(&normal.times(), 0.99);
        let figures = &mut self.figures;
        let first = percentile(&load.times_between(0.0, 1.0), 0.99);
        let name = "in the second after it, at 0.7: 99 of 100 within";
        figures.add("after-first-p99", name, first, "ms", None);
        let later = percentile(&load.times_between(1.0, 4.0), 0.99);
        let goal = Goal::below(1.5 * usual);
        figures.add("after-later-p99", "in the three seconds after that", later, "ms", goal);
        let refused = load.refused_between(1.0, 4.0) as f64;
        figures.add("after-later-refused", "of which refused", refused, "", Goal::Zero);
        Ok(load)
    }

    /// Logins beside a batch that never ends, in turns with logins alone.
    fn beside(&mut self, capacity: &Capacity) -> anyhow::Result<Load> {
        let turn = self.part() / TURNS;
        let (mut alone, mut beside) = (Load::default(), Load::default());
        let mut lines = 0;
        for _ in 0..TURNS {
            alone.join(self.load(0.5 * capacity.http, turn, None));
            let batch = self.logins.batch();
            std::thread::sleep(Duration::from_millis(300));
            beside.join(self.load(0.5 * capacity.http, turn, None));
            lines += batch.end()?;
        }
        let p99 = |load: &Load| percentile(&load.times(), 0.99);
        let (quiet, busy) = (p99(&alone), p99(&beside));
        let figures = &mut self.figures;
        figures.add("bulk-without", "at 0.5: 99 of 100 logins within", quiet, "ms", None);
        figures.add("bulk-beside", "beside a batch", busy, "ms", None);
        let cost = (busy - quiet) / capacity.group_ms;
        let goal = Goal::below(1.0);
        figures.add("bulk-groups", "more, in times of a full group", cost, "", goal);
        let rate = lines as f64 / beside.seconds;
        figures.add("bulk-lines", "lines of the batch meanwhile", rate, "/s", None);
        beside.wrong += alone.wrong;
        Ok(beside)
    }
}
