//! More logins than can be done, for a while, and meanwhile all that happens to a service in
//! years: reloads, new keys and ROMs, clients that come and go, batches.

mod accounts;
mod rotation;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use saltern_bench::machine::keep_on;
use saltern_bench::process::resident_bytes;
use saltern_bench::stats::Random;
use saltern_tune::Arrivals;

use super::daemon::{Daemon, Metrics};
use super::figures::{Figures, Goal};
use super::load::{Caller, Logins};
use super::{Args, Places};
use accounts::{Accounts, Seen};
use rotation::Rotation;

/// So many times comes what can be answered.
const TIMES: f64 = 1.2;

/// More memory than this in the last third than before is a fault, in MiB: buffers of connections,
/// of which there are now more and now fewer, take some.
const GROWTH: f64 = 8.0;

/// Everything that takes part.
struct Soak {
    daemon: Daemon,
    caller: Caller,
    accounts: Arc<Accounts>,
    ending: AtomicBool,
    rotations: AtomicU64,
    reloads: AtomicU64,
}

/// Memory of the service after so many seconds.
struct Sample {
    seconds: f64,
    mib: f64,
}

/// Runs for so many seconds; what was counted. A fault is one of its goals that was missed.
pub(super) fn run(args: &Args, seconds: u32) -> anyhow::Result<ExitCode> {
    let mut figures = Figures::begin()?;
    let places = Places::new(args.processors)?;
    let folder = tempfile::tempdir()?;
    let mut rotation = Rotation::begin(folder.path(), places.service.len())?;
    keep_on(&places.service);
    let daemon = Daemon::start_in(args.program.as_deref(), folder)?;
    keep_on(&places.asking);
    let caller = Caller::new(daemon.socket(), places.asking.len())?;
    let accounts = Arc::new(Accounts::new(&caller)?);
    let (password, stored) = accounts.first();
    let logins = Logins::new(caller.clone(), &password, &stored, places.are_apart());
    let clients = 16 * places.service.len();
    let capacity = logins.saturate(clients, Duration::from_secs(2), &daemon)?.rate;
    let (ending, rotations, reloads) =
        (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let soak = Soak { daemon, caller, accounts, ending, rotations, reloads };
    soak.rest()?;
    let before = soak.daemon.metrics()?;
    // From now on there are two keys and two ROMs.
    soak.rotate(&mut rotation)?;
    let descriptors = soak.descriptors()?;
    let (samples, sent) = soak.live(&mut rotation, capacity, seconds)?;
    let left = soak.descriptors()?;
    figures.seconds = seconds.into();
    soak.tell(sent, &before, &mut figures)?;
    memory(&samples, &mut figures);
    let before = descriptors.len() as f64;
    figures.add("descriptors", "file descriptors before", before, "", None);
    let goal = Goal::Below(before + 1.0);
    figures.add("descriptors-after", "and after", left.len() as f64, "", goal);
    let mut faults = soak.accounts.faults();
    if left.len() > descriptors.len() {
        faults.push(format!("there were {descriptors:?} and are {left:?}"));
    }
    faults.iter().for_each(|fault| println!("FAULT: {fault}"));
    super::end(args, &figures, figures.is_missed() || !faults.is_empty())
}

impl Soak {
    /// The whole of it; how many logins were sent.
    fn live(
        &self,
        rotation: &mut Rotation,
        capacity: f64,
        seconds: u32,
    ) -> anyhow::Result<(Vec<Sample>, u64)> {
        let time = Duration::from_secs(seconds.into());
        let pause = (time / 30).clamp(Duration::from_millis(1000), Duration::from_secs(20));
        let batches = Arc::clone(&self.accounts).batches(self.caller.clone());
        let batches = self.caller.runtime().spawn(batches);
        let done = std::thread::scope(|scope| {
            let operator = scope.spawn(|| self.operate(rotation, pause));
            let watcher = scope.spawn(|| self.watch(time / 60));
            let sent = self.logins(capacity, seconds);
            self.ending.store(true, Relaxed);
            let operated = operator.join().ok().context("a thread has panicked")?;
            let samples = watcher.join().ok().context("a thread has panicked")?;
            operated.context("new keys and ROMs")?;
            anyhow::Ok((samples, sent))
        });
        self.accounts.end();
        self.caller.runtime().block_on(batches)?;
        done
    }

    /// Sends logins at random times, and waits for the last answer. What comes in each second
    /// follows from what was answered in those before it, since the rest of the machine may leave
    /// the service now more and now less of it.
    fn logins(&self, capacity: f64, seconds: u32) -> u64 {
        let (sender, ended) = mpsc::channel::<()>();
        let (start, mut random, mut sent) = (Instant::now(), Random::new(1), 0);
        let (mut answered, mut before) = (capacity, self.accounts.answered());
        for second in 0..seconds {
            let rate = TIMES * answered.clamp(capacity / 20.0, 2.0 * capacity);
            let start = start + Duration::from_secs(second.into());
            for at in Arrivals::new(rate, second.into()).take_while(|at| *at < 1.0) {
                let due = start + Duration::from_secs_f64(at);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let (accounts, caller) = (Arc::clone(&self.accounts), self.caller.clone());
                let (sender, which) = (sender.clone(), random.next_u64());
                self.caller.runtime().spawn(async move {
                    accounts.login(&caller, which).await;
                    drop(sender);
                });
                sent += 1;
            }
            let now = self.accounts.answered();
            // Of the last seconds, those before them for less and less.
            answered = 0.7 * answered + 0.3 * (now - before) as f64;
            before = now;
        }
        drop(sender);
        let _ = ended.recv();
        sent
    }

    /// New keys and ROMs again and again, and reloads that change nothing between them.
    fn operate(&self, rotation: &mut Rotation, pause: Duration) -> anyhow::Result<()> {
        while !self.ending.load(Relaxed) {
            self.rotate(rotation)?;
            for _ in 0..4 {
                std::thread::sleep(pause / 4);
                self.reload()?;
            }
        }
        Ok(())
    }

    fn rotate(&self, rotation: &mut Rotation) -> anyhow::Result<()> {
        rotation.turn()?;
        self.reload()?;
        self.rotations.fetch_add(1, Relaxed);
        // The next turn takes away what strings needed until now.
        let settled = Arc::clone(&self.accounts).settle(&self.caller);
        self.caller.runtime().block_on(settled)
    }

    fn reload(&self) -> anyhow::Result<()> {
        self.daemon.reload()?;
        let wanted = self.reloads.fetch_add(1, Relaxed) + 1;
        self.until(|metrics| metrics.of("saltern_reloads_total") >= wanted as f64)
    }

    /// Waits until the service counts this.
    fn until(&self, is: impl Fn(&Metrics) -> bool) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let metrics = self.daemon.metrics()?;
            ensure!(metrics.of("saltern_reloads_failed_total") == 0.0, "a reload has failed");
            if is(&metrics) {
                return Ok(());
            }
            ensure!(start.elapsed() < Duration::from_secs(60), "it has not come to that");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Memory of the service again and again.
    fn watch(&self, pause: Duration) -> Vec<Sample> {
        let (start, mut samples) = (Instant::now(), Vec::new());
        while !self.ending.load(Relaxed) {
            std::thread::sleep(pause);
            if let Some(bytes) = resident_bytes(self.daemon.id()) {
                let (seconds, mib) =
                    (start.elapsed().as_secs_f64(), bytes as f64 / (1 << 20) as f64);
                samples.push(Sample { seconds, mib });
            }
        }
        samples
    }

    /// Waits until nobody is connected.
    fn rest(&self) -> anyhow::Result<()> {
        self.caller.close();
        self.until(|metrics| metrics.of("saltern_connections_open") <= 1.0)?;
        // The connection that has asked may still be there.
        std::thread::sleep(Duration::from_millis(200));
        Ok(())
    }

    /// Descriptors of the service while nobody is connected.
    fn descriptors(&self) -> anyhow::Result<Vec<String>> {
        self.rest()?;
        self.daemon.descriptors()
    }

    /// What was counted, here and by the service.
    fn tell(&self, sent: u64, before: &Metrics, figures: &mut Figures) -> anyhow::Result<()> {
        let seen = &self.accounts.seen;
        let count = |count: &AtomicU64| count.load(Relaxed) as f64;
        let Seen { matches, mismatches, refused, gone, lines, updates, fresh, settled } = seen;
        let all = [matches, mismatches, refused, gone].map(count).iter().sum::<f64>();
        figures.add("sent", "logins sent", sent as f64, "", None);
        figures.add("matches", "matches", count(matches), "", None);
        figures.add("mismatches", "mismatches", count(mismatches), "", None);
        figures.add("refused", "refused, for want of time or room", count(refused), "", None);
        figures.add("gone", "clients that went away", count(gone), "", None);
        let lost = sent as f64 - all;
        figures.add("lost", "logins without an end", lost, "", Goal::Zero);
        figures.add("lines", "lines of batches", count(lines), "", None);
        figures.add("updates", "new strings for accounts", count(updates), "", None);
        figures.add("fresh", "connections for one login", count(fresh), "", None);
        figures.add("rotations", "new keys and ROMs", count(&self.rotations), "", None);
        figures.add("reloads", "reloads", count(&self.reloads), "", None);
        let metrics = self.daemon.metrics()?;
        let of = |outcome: &str| {
            let label = format!("op=\"verify\",outcome=\"{outcome}\"");
            let of = |metrics: &Metrics| metrics.with("saltern_requests_total", &label);
            of(&metrics) - of(before)
        };
        // The service may have answered clients that had gone.
        let matched = count(matches) + count(settled);
        let more = of("match") + of("mismatch") - matched - count(mismatches);
        let beyond = (more - count(gone)).max(-more).max(0.0);
        figures.add("miscounted", "answers counted by one side only", beyond, "", Goal::Zero);
        let failed = metrics.of("saltern_pool_failed_total") + of("internal") + of("unavailable");
        figures.add("failed", "failures of the service", failed, "", Goal::Zero);
        Ok(())
    }
}

/// Compares the memory of the thirds of the run.
fn memory(samples: &[Sample], figures: &mut Figures) {
    let most = |part: &[Sample]| part.iter().map(|sample| sample.mib).fold(0.0, f64::max);
    let third = samples.len() / 3;
    let (before, last) = samples.split_at(2 * third);
    figures.add("memory-before", "memory at most, first two thirds", most(before), "MiB", None);
    let limit = Goal::below(most(before) + GROWTH);
    figures.add("memory-last", "in the last third", most(last), "MiB", limit);
    // Least squares, without the first third, in which memory is taken for the first time.
    let rest = &samples[third..];
    let count = rest.len().max(1) as f64;
    let mean = |of: fn(&Sample) -> f64| rest.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|sample| sample.seconds), mean(|sample| sample.mib));
    let over = rest.iter().map(|sample| (sample.seconds - x) * (sample.mib - y)).sum::<f64>();
    let under = rest.iter().map(|sample| (sample.seconds - x).powi(2)).sum::<f64>();
    let slope = if under > 0.0 { 3600.0 * over / under } else { 0.0 };
    figures.add("memory-slope", "its slope after the first third", slope, "MiB/h", None);
}
