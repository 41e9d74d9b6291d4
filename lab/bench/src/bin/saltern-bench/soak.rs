//! `saltern-bench soak`: full load on a pool for a while: are the answers right, does memory stay,
//! does it keep its speed?

use std::collections::VecDeque;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use saltern_bench::process;
use saltern_bench::stats::Random;
use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms, WipePolicy};
use saltern_tune::process_seconds;
use saltern_yescrypt::{
    Error as Hash, Hasher, Limits, Params, Setting, Workspace, derive, hazmat::Pages,
    params::CheckedParams,
};

/// Keep a pool of threads busy with random batches, and judge what came of it
///
/// Batches of 1 to 32 items hash, verify and derive with many parameters; some items are malformed
/// or too expensive, some batches are cancelled. Every match is checked, and of other results a
/// sample against one computed by itself. At the end memory and speed of the last third are
/// compared with the thirds before; speed is per second of processor time, so that other load on
/// the machine counts little. The status is 1 if a result is wrong, memory has grown, the budget
/// was exceeded or speed has gone down.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// Threads that compute [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<u16>>,

    /// What they may take together
    #[arg(long, value_name = "MIB", default_value_t = 128)]
    memory: u32,

    /// Do not ask for huge pages
    #[arg(long)]
    standard: bool,

    /// Wipe memory after each group of hashes
    #[arg(long)]
    wipe: bool,

    /// Only hashes of this N and r = 8, such as 4096 for 4 MiB
    #[arg(long)]
    n: Option<u64>,

    /// Where the random sequence starts
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    fn config(&self) -> PoolConfig {
        let mut config = PoolConfig::default();
        config.memory = u64::from(self.memory) << 20;
        if let Some(threads) = self.threads {
            config.threads = threads.get().into();
        }
        if self.standard {
            config.pages = Pages::Standard;
        }
        if self.wipe {
            config.wipe = WipePolicy::AfterEach;
        }
        config
    }
}

/// Threads that submit, beside those of the pool.
const CALLERS: u64 = 3;

/// Batches that each of them has in the pool.
const AHEAD: usize = 4;

/// How much less of speed in the last third than in the first is a fault.
const STEADY: f64 = 0.85;

/// How much more memory in the last third than before is a fault, in bytes.
const GROWTH: u64 = 4 << 20;

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let faults = load(args)?;
    if faults.is_empty() {
        println!("soak: ok");
        return Ok(ExitCode::SUCCESS);
    }
    faults.iter().for_each(|fault| println!("FAULT: {fault}"));
    Ok(ExitCode::FAILURE)
}

/// The whole run; what went wrong in it.
fn load(args: &Args) -> anyhow::Result<Vec<String>> {
    let (config, time, seed) = (args.config(), Duration::from_secs(args.seconds), args.seed);
    println!("{config:?}, {time:?}, seed {seed}");
    let budget = config.memory;
    let pool = Pool::new(config)?;
    let world = World::new(&pool, args.n)?;
    let totals = Totals::default();
    let start = Instant::now();
    let samples = std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let random = Random::new(seed.wrapping_mul(CALLERS) + caller + 1);
            let (world, pool, totals) = (&world, &pool, &totals);
            scope.spawn(move || Caller { world, pool, totals, random }.run(start, time));
        }
        watch(start, time, &totals)
    });
    let stats = pool.stats();
    println!("{stats:?}");
    if let Some(huge) = pool.huge_page_bytes() {
        println!("{:.1} of {:.1} MiB on huge pages", mib(huge), mib(stats.reserved));
    }
    let mut faults = judge(&samples, time);
    let wrong = totals.wrong.load(Relaxed);
    if wrong > 0 {
        faults.push(format!("{wrong} wrong results"));
    }
    if stats.peak_reserved > budget || stats.panics > 0 || stats.failed > 0 {
        faults.push("the budget was exceeded, or a computation failed".to_owned());
    }
    println!(
        "{} hashes, {} items refused or cancelled, {} results computed again, {:.0} hashes/s",
        totals.hashes.load(Relaxed),
        totals.refused.load(Relaxed),
        totals.checked.load(Relaxed),
        totals.hashes.load(Relaxed) as f64 / start.elapsed().as_secs_f64()
    );
    Ok(faults)
}

/// What callers have counted.
#[derive(Default)]
struct Totals {
    hashes: AtomicU64,
    /// Bytes mixed.
    work: AtomicU64,
    refused: AtomicU64,
    checked: AtomicU64,
    wrong: AtomicU64,
}

/// State of the process at a time.
struct Sample {
    work: f64,
    processor: f64,
    resident: u64,
}

/// Takes a sample ten times in each third, or once a second.
fn watch(start: Instant, time: Duration, totals: &Totals) -> Vec<Sample> {
    let mut samples = Vec::new();
    let step = (time / 30).min(Duration::from_secs(1));
    while start.elapsed() < time {
        std::thread::sleep(step);
        let work = totals.work.load(Relaxed) as f64;
        let processor = process_seconds();
        samples.push(Sample {
            work,
            processor,
            resident: process::resident_bytes(std::process::id()).unwrap_or(0),
        });
    }
    samples
}

/// Compares the thirds of a run.
fn judge(samples: &[Sample], time: Duration) -> Vec<String> {
    let third = samples.len() / 3;
    let mut faults = Vec::new();
    let [Some(first), Some(second), Some(last)] =
        [0, 1, 2].map(|i| samples.get(i * third..(i + 1) * third).filter(|part| part.len() > 1))
    else {
        return vec!["too short a run to judge".to_owned()];
    };
    let rate = |part: &[Sample]| {
        let (from, to) = (&part[0], &part[part.len() - 1]);
        (to.work - from.work) / (to.processor - from.processor) / f64::from(1 << 30)
    };
    let rates = [first, second, last].map(rate);
    println!("GiB mixed in a second of one processor, by thirds: {rates:.3?}");
    let memory = [first, second, last]
        .map(|part| part.iter().map(|sample| sample.resident).max().unwrap_or_default());
    println!("most MiB resident, by thirds: {:.1?}", memory.map(mib));
    // Arenas still grow in the first third. A short run has too few batches to compare speeds.
    if memory[2] > memory[1].max(memory[0]) + GROWTH {
        faults.push(format!("memory has grown by {:.1} MiB", mib(memory[2] - memory[1])));
    }
    if time >= Duration::from_secs(15) && rates[2] < STEADY * rates[0] {
        faults.push(format!("speed has gone down to {:.2}", rates[2] / rates[0]));
    }
    faults
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What batches are made of.
struct World {
    hasher: Arc<Hasher>,
    /// Parameters, a password, and its stored string.
    stored: Vec<(Params, String, String)>,
}

impl World {
    /// Strings of many sizes, each with a weight that gives every size about the same time.
    fn new(pool: &Pool, n: Option<u64>) -> anyhow::Result<Self> {
        let mut kinds = Vec::new();
        for log in 3..=14 {
            let repeated = 1 << ((14 - log) / 3);
            for i in 0..repeated {
                let mut params = Params::yescrypt(1 << log, [8, 1, 2][i % 3]);
                params.p = if i % 4 == 1 { 2 } else { 1 };
                kinds.push(params);
                kinds.push(Params::scrypt(1 << (log - 1), [1, 4][i % 2], 1));
            }
        }
        if let Some(n) = n {
            kinds = vec![Params::yescrypt(n, 8)];
        }
        let hasher = Arc::new(Hasher::new());
        let mut stored = Vec::new();
        for (i, params) in kinds.into_iter().enumerate() {
            let salt = [i as u8; 16];
            let setting = match params.mode {
                saltern_yescrypt::params::Mode::Classic => Setting::scrypt(&params, salt)?,
                _ => Setting::new(&params, salt)?,
            };
            let password = format!("password {i}");
            let ticket = pool.hash_one_with_setting(&hasher, &password, setting, Terms::bulk())?;
            let hash = ticket.wait()?;
            stored.push((params, password, hash.to_str()?.to_owned()));
        }
        Ok(World { hasher, stored })
    }

    fn largest(&self) -> Result<CheckedParams, Hash> {
        let all = self.stored.iter().map(|(params, ..)| *params);
        all.max_by_key(Params::memory).unwrap_or_default().check(&Limits::server())
    }
}

/// One of those who use the pool.
struct Caller<'w> {
    world: &'w World,
    pool: &'w Pool,
    totals: &'w Totals,
    random: Random,
}

/// A batch in the pool: waits for it and looks at the results.
type Check<'w> = Box<dyn FnOnce(&mut Workspace) + 'w>;

impl<'w> Caller<'w> {
    fn run(mut self, start: Instant, time: Duration) {
        let mut workspace = Workspace::new();
        // The memory for computing again is there from the start, so that it does not look like
        // growth.
        if let Ok(largest) = self.world.largest() {
            let _ = derive(b"", b"", &largest, None, &mut workspace, &mut [0; 32]);
        }
        let mut ahead: VecDeque<Check<'w>> = VecDeque::new();
        while start.elapsed() < time {
            let submitted = match self.random.below(4) {
                0 => self.derive(),
                1 => self.hash(),
                _ => self.verify(),
            };
            match submitted {
                Ok(check) => ahead.push_back(check),
                Err(Error::Overloaded { .. }) => {}
                Err(_) => self.totals.wrong(),
            }
            if ahead.len() >= AHEAD
                && let Some(check) = ahead.pop_front()
            {
                check(&mut workspace);
            }
        }
        ahead.into_iter().for_each(|check| check(&mut workspace));
    }

    fn pick(&mut self) -> &'w (Params, String, String) {
        let index = self.random.below(self.world.stored.len());
        &self.world.stored[index]
    }

    /// A batch of verifications, some of wrong passwords, some of strings that are refused, some
    /// cancelled.
    fn verify(&mut self) -> Result<Check<'w>, Error> {
        let mut items = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..=self.random.below(31) {
            let (params, password, hash) = self.pick();
            let (item, answer): ((&str, &str), _) = match self.random.below(10) {
                0 => ((password.as_str(), &hash[..hash.len() - 1]), None),

                1 => (("wrong", hash.as_str()), Some(false)),
                2 => ((password, "$y$jLT$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8"), None),
                _ => ((password, hash), Some(true)),
            };
            items.push(item);
            expected.push((answer, *params));
        }
        let ticket = self.pool.verify(&self.world.hasher, items, Terms::interactive())?;
        let cancel = self.random.below(20) == 0;
        let totals = self.totals;
        Ok(Box::new(move |_| {
            if cancel {
                ticket.cancel();
            }
            for ((expected, params), found) in expected.into_iter().zip(ticket.wait()) {
                match (found, expected) {
                    (Ok(found), Some(expected)) if found == expected => totals.done(&params),
                    (Err(Error::Cancelled), Some(_)) if cancel => totals.refused(),
                    (Err(Error::Hash(Hash::Malformed { .. } | Hash::OverLimit { .. })), None) => {
                        totals.refused();
                    }
                    _ => totals.wrong(),
                }
            }
        }))
    }

    /// A batch of strings, which have to be those that are stored.
    fn hash(&mut self) -> Result<Check<'w>, Error> {
        let picked: Vec<_> = (0..=self.random.below(31)).map(|_| self.pick()).collect();
        let items = picked.iter().map(|(_, password, hash)| (password, hash));
        let ticket = self.pool.hash_with_settings(&self.world.hasher, items, Terms::bulk())?;
        let totals = self.totals;
        Ok(Box::new(move |_| {
            for ((params, _, hash), found) in picked.into_iter().zip(ticket.wait()) {
                let right = found.is_ok_and(|found| found.as_bytes() == hash.as_bytes());
                if right { totals.done(params) } else { totals.wrong() }
            }
        }))
    }

    /// A batch of keys, of which one is computed again.
    fn derive(&mut self) -> Result<Check<'w>, Error> {
        let params = self.pick().0.check(&Limits::server())?;
        let len = 1 + self.random.below(80);
        let salt = self.random.next_u64().to_le_bytes();
        let items: Vec<_> =
            (0..=self.random.below(31)).map(|i| (format!("{i}").into_bytes(), salt)).collect();
        let what = Derive { params, roms: Vec::new(), len };
        let ticket =
            self.pool.derive(&what, items.iter().map(|(p, s)| (p, s)), Terms::interactive())?;
        let sample = self.random.below(items.len());
        let totals = self.totals;
        Ok(Box::new(move |workspace| {
            let (password, salt) = &items[sample];
            let mut key = vec![0; len];
            let computed = derive(password, salt, &params, None, workspace, &mut key);
            totals.checked.fetch_add(1, Relaxed);
            totals.work.fetch_add(params.params().mixed() as u64, Relaxed);
            for (i, found) in ticket.wait().into_iter().enumerate() {
                let right = found.is_ok_and(|found| i != sample || *found == key);
                if right { totals.done(params.params()) } else { totals.wrong() }
            }
            if computed.is_err() {
                totals.wrong();
            }
        }))
    }
}

impl Totals {
    fn done(&self, params: &Params) {
        self.hashes.fetch_add(1, Relaxed);
        self.work.fetch_add(params.mixed() as u64, Relaxed);
    }

    fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    fn wrong(&self) {
        self.wrong.fetch_add(1, Relaxed);
    }
}
