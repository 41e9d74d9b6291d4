//! `saltern-bench overload`: many times more work than a pool can do, with deadlines: how much of
//! its capacity is still of use to somebody?

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use saltern_pool::{Error, OneTicket, Pool, PoolConfig, Terms};
use saltern_tune::{process_seconds, thread_seconds};
use saltern_yescrypt::{HashString, Hasher, Params};

/// Submit many times more verifications than a pool can do, each with a deadline, and say how many
/// were answered in time
///
/// Capacity, with batches that are always there and no deadlines, is measured in turns with the
/// overload, about two seconds each. Answers that come before their deadline are the goodput. Both
/// are counted by the second that passed, which neighbours disturb, and by the second of processor
/// time of the pool's threads, which says how much of their work was of use. The status is 1 if the
/// goodput is less than 95 % of the capacity by processor time, or less than 75 % by the time that
/// passed (the pool would idle), if memory has exceeded the budget, or if an item has not ended
/// exactly once.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How many times the capacity
    #[arg(long, default_value_t = 10.0)]
    times: f64,

    /// How long there is for each, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250)]
    within: u64,

    /// How long the overload lasts, all turns together
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,

    /// N of the hashes, r being 8: 4096 for 4 MiB
    #[arg(long, default_value_t = 4096)]
    n: u64,

    /// Threads that compute [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<u16>>,
}

/// What is submitted, and to whom.
struct Target {
    pool: Pool,
    hasher: Arc<Hasher>,
    stored: HashString,
}

/// What became of the items.
#[derive(Default)]
struct Count {
    submitted: u64,
    in_time: u64,
    late: u64,
    expired: u64,
    refused: u64,
    wrong: u64,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = PoolConfig::default();
    config.threads = args.threads.map_or(config.threads, |threads| threads.get().into());
    let budget = config.memory;
    let hasher = Arc::new(Hasher::new().with_params(Params::yescrypt(args.n, 8)));
    let pool = Pool::new(config)?;
    let stored = pool.hash_one(&hasher, "password", Terms::interactive())?.wait()?;
    let stored = HashString::parse(stored)?;
    let target = Target { pool, hasher, stored };
    let turns = (args.seconds / TURN).round().max(1.0) as u32;
    let length = Duration::from_secs_f64(args.seconds / f64::from(turns));
    let mut count = Count::default();
    let (mut full, mut over) = (Spent::default(), Spent::default());
    let mut done = target.capacity(length, &mut full)?;
    for _ in 0..turns {
        let rate = done as f64 / full.passed;
        over.of(|| target.overload(args, rate, length, &mut count));
        done += target.capacity(length, &mut full)?;
    }
    let Count { submitted, in_time, late, expired, refused, wrong } = count;
    let stats = target.pool.stats();
    println!(
        "{submitted} submitted: {in_time} in time, {late} late, {expired} expired, {refused} \
         refused"
    );
    let percent = |name: &str, full: f64, over: f64| {
        let (capacity, goodput) = (done as f64 / full, in_time as f64 / over);
        let percent = 100.0 * goodput / capacity;
        println!(
            "by {name}: {goodput:.1} hashes/s in time, {percent:.1} % of the capacity, \
             {capacity:.1}"
        );
        percent
    };
    let passed = percent("the time that passed", full.passed, over.passed);
    let worked = percent("the processor time of the pool", full.worked, over.worked);
    println!("{} bytes of {budget} at most; {wrong} wrong", stats.peak_reserved);
    let whole = submitted == in_time + late + expired + refused + wrong;
    let enough = worked >= 95.0 && passed >= 75.0;
    let fine = enough && whole && wrong == 0 && stats.peak_reserved <= budget;
    Ok(ExitCode::from(u8::from(!fine)))
}

/// About how many seconds a turn takes.
const TURN: f64 = 2.0;

/// Seconds in some turns.
#[derive(Default)]
struct Spent {
    passed: f64,
    /// Of processor time, in other threads than the one that submits.
    worked: f64,
}

impl Spent {
    fn of<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let others = || process_seconds() - thread_seconds();
        let (start, before) = (Instant::now(), others());
        let result = work();
        self.passed += start.elapsed().as_secs_f64();
        self.worked += others() - before;
        result
    }
}

impl Target {
    /// How many hashes are done in such a time while there is always something to do.
    fn capacity(&self, length: Duration, spent: &mut Spent) -> anyhow::Result<usize> {
        let items = || vec![("password", self.stored.as_bytes()); 4 * self.pool.config().threads];
        let submit = || self.pool.verify(&self.hasher, items(), Terms::bulk());
        spent.of(|| {
            let (mut ahead, start, mut done) = (submit()?, Instant::now(), 0);
            while start.elapsed() < length {
                let next = submit()?;
                done += std::mem::replace(&mut ahead, next).wait().len();
            }
            Ok(done + ahead.wait().len())
        })
    }

    /// Submits evenly, so many times the capacity, and waits for what was taken on.
    fn overload(&self, args: &Args, capacity: f64, length: Duration, count: &mut Count) {
        let within = Duration::from_millis(args.within);
        let pause = Duration::from_secs_f64(1.0 / (args.times * capacity));
        let (start, mut next) = (Instant::now(), Instant::now());
        let mut tickets: Vec<(Instant, OneTicket<bool>)> = Vec::new();
        while start.elapsed() < length {
            next += pause;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            count.submitted += 1;
            let due = Instant::now() + within;
            let terms = Terms::interactive().by(due);
            match self.pool.verify_one(&self.hasher, "password", self.stored.clone(), terms) {
                Ok(ticket) => tickets.push((due, ticket)),
                Err(Error::TooLate { .. } | Error::Overloaded { .. }) => count.refused += 1,
                Err(_) => count.wrong += 1,
            }
            let mut open = Vec::with_capacity(tickets.len());
            for (due, ticket) in tickets.drain(..) {
                match ticket.try_wait() {
                    Ok(answer) => count.ended(due, answer),
                    Err(ticket) => open.push((due, ticket)),
                }
            }
            tickets = open;
        }
        for (due, ticket) in tickets {
            count.ended(due, ticket.wait());
        }
    }
}

impl Count {
    fn ended(&mut self, due: Instant, answer: Result<bool, Error>) {
        let ended = match answer {
            Ok(true) if Instant::now() <= due => &mut self.in_time,
            Ok(true) => &mut self.late,
            Err(Error::Expired) => &mut self.expired,
            _ => &mut self.wrong,
        };
        *ended += 1;
    }
}
