//! How much one machine hashes: many passwords at a time, one, with one thread and several, beside the peers, in paired runs.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use saltern_bench::build_info::BuildInfo;
use saltern_bench::paired::{self, Clock, Machine, Plan, Record, Summary, Work};
use saltern_bench::peers::{self, Job, Peer};
use saltern_bench::sweep::{self, Tuned};
use saltern_yescrypt::{
    CheckedParams, Level, Limits, Mode, Params, RomImage, RomParams, Verification, Workspace,
    init_rom,
};
use serde::Serialize;
use serde_json::json;

const USAGE: &str = "\
usage: throughput [--only GROUPS] [--mib SIZES] [--quick] [--level LEVEL] [--threads N] [--turns N] [--sample-ms N]
                  [--upstream FILE] [--json FILE]

Saltern beside the system's crypt(3) and other peers, in turns. A ratio above 1 means that Saltern is faster; a tie, that not all turns
agree on which is. All contenders have to compute the same hash.

  --only GROUPS      some of batch,single,scrypt,p2,fixed,rom,pairs,sweep
  --mib SIZES        some of 1,2,4,16,32: sizes of the groups batch and single
  --quick            fewer sizes and tunings, a small ROM, 3 turns of 20 ms
  --level LEVEL      portable, sse2, avx2, avx512, …; default: the processor's best
  --threads N        threads of the cases that have several; default 2
  --turns N          pairs of samples for each line; default 15 (7 for a ROM or a tuning)
  --sample-ms N      length of a sample; default 60
  --upstream FILE    a shared library with yescrypt's own C interface (pyescrypt's yescrypt.bin, say) as a peer
  --json FILE        write all numbers there
";

const GROUPS: [&str; 8] = ["batch", "single", "scrypt", "p2", "fixed", "rom", "pairs", "sweep"];

struct Options {
    only: Vec<String>,
    mib: Vec<String>,
    quick: bool,
    level: Level,
    threads: usize,
    turns: Option<usize>,
    sample: Option<Duration>,
    upstream: Option<OsString>,
    json: Option<PathBuf>,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        only: GROUPS.map(str::to_owned).into(),
        mib: MIB.map(str::to_owned).into(),
        quick: false,
        level: Level::detect(),
        threads: 2,
        turns: None,
        sample: None,
        upstream: None,
        json: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("only") => options.only = some_of(&GROUPS, &parser.value()?.string()?)?,
            Long("mib") => options.mib = some_of(&MIB, &parser.value()?.string()?)?,
            Long("quick") => {
                options.quick = true;
                options.mib = ["1", "4"].map(str::to_owned).into();
            }
            Long("level") => options.level = parser.value()?.parse()?,
            Long("threads") => options.threads = parser.value()?.parse()?,
            Long("turns") => options.turns = Some(parser.value()?.parse()?),
            Long("sample-ms") => {
                options.sample = Some(Duration::from_millis(parser.value()?.parse()?));
            }
            Long("upstream") => options.upstream = Some(parser.value()?),
            Long("json") => options.json = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    if !(1..=64).contains(&options.threads) {
        return Err("--threads: 1 to 64".into());
    }
    Ok(options)
}

/// The members of a list with commas, all of which have to be known.
fn some_of(known: &[&str], list: &str) -> Result<Vec<String>, lexopt::Error> {
    let chosen: Vec<String> = list.split(',').map(str::to_owned).collect();
    match chosen.iter().find(|name| !known.contains(&name.as_str())) {
        Some(other) => Err(format!("{other:?} is none of {}", known.join(",")).into()),
        None => Ok(chosen),
    }
}

/// Sizes in MiB, and their N and r; 16 MiB is the default of crypt(3).
const MIB: [&str; 5] = ["1", "2", "4", "16", "32"];
const SIZES: [(u64, u32); 5] = [(1024, 8), (2048, 8), (2048, 16), (4096, 32), (8192, 32)];

/// Microseconds that one hash may take outside its loops.
const FIXED_GOAL: f64 = 30.0;

/// How Saltern is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One hash in each call.
    Single,
    /// As many as advance together.
    Batch,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Single => "single",
            Form::Batch => "batch",
        }
    }

    fn jobs(self, params: &CheckedParams) -> u8 {
        match self {
            Form::Single => 1,
            Form::Batch => u8::try_from(params.degree()).unwrap_or(u8::MAX),
        }
    }
}

/// What one hash costs outside its loops, in microseconds.
#[derive(Serialize)]
struct FixedCost {
    side: String,
    microseconds: Summary,
    goal: Option<f64>,
}

/// One run of the program.
struct Bench {
    options: Options,
    plan: Plan,
    workspace: Workspace,
    peers: Vec<Peer>,
    records: Vec<Record>,
    fixed: Vec<FixedCost>,
    sweep: Vec<Tuned>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprint!("throughput: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("throughput: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> anyhow::Result<()> {
    let (turns, millis) = if options.quick { (3, 20) } else { (15, 60) };
    let turns = options.turns.unwrap_or(turns);
    let sample = options.sample.unwrap_or(Duration::from_millis(millis));
    let (machine, build) = (Machine::here(options.level.name()), BuildInfo::here());
    println!("{} · level {} · {turns} turns", machine.processor, machine.level);
    let mut bench = Bench {
        plan: Plan { turns, sample, clock: Clock::Thread },
        workspace: Workspace::with_level(options.level)?,
        peers: Peer::all(options.upstream.as_deref())?,
        records: Vec::new(),
        fixed: Vec::new(),
        sweep: Vec::new(),
        options,
    };
    for group in bench.options.only.clone() {
        match group.as_str() {
            "batch" => bench.sizes(Form::Batch)?,
            "single" => bench.sizes(Form::Single)?,
            "scrypt" => bench.scrypt()?,
            "p2" => bench.two_instances()?,
            "fixed" => bench.fixed_cost()?,
            "rom" => bench.rom()?,
            "pairs" => {
                let records = sweep::pairs(bench.plan, bench.options.level)?;
                records.into_iter().for_each(|record| bench.record(record));
            }
            _ => bench.tunings()?,
        }
    }
    if let Some(path) = &bench.options.json {
        let Bench { records, fixed, sweep, .. } = &bench;
        let report = json!({
            "machine": machine, "build": build, "records": records, "fixed_us": fixed, "sweep": sweep,
        });
        std::fs::write(path, format!("{report:#}\n"))
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}

impl Bench {
    fn record(&mut self, record: Record) {
        println!("{}", record.line());
        self.records.push(record);
    }

    /// One thread, and several if there are to be.
    fn thread_counts(&self) -> Vec<usize> {
        let mut counts = vec![1, self.options.threads];
        counts.dedup();
        counts
    }

    /// yescrypt at all sizes against all peers.
    fn sizes(&mut self, form: Form) -> anyhow::Result<()> {
        for (mib, (n, r)) in MIB.into_iter().zip(SIZES) {
            if self.options.mib.iter().any(|chosen| chosen == mib) {
                self.against_peers(Params::yescrypt(n, r), form)?;
            }
        }
        Ok(())
    }

    fn scrypt(&mut self) -> anyhow::Result<()> {
        self.against_peers(Params::scrypt(16384, 8, 1), Form::Batch)?;
        self.against_peers(Params::scrypt(16384, 8, 1), Form::Single)
    }

    /// One hash that consists of two instances, in one thread on both sides.
    fn two_instances(&mut self) -> anyhow::Result<()> {
        for (n, r) in [(2048, 16), (4096, 32)] {
            let mut params = Params::yescrypt(n, r);
            params.p = 2;
            for peer in 0..self.peers.len() {
                // The crate runs the instances of a hash in threads of its own.
                if !matches!(self.peers[peer], Peer::YescryptCrate | Peer::ScryptCrate) {
                    self.compare(params, Form::Single, peer, 1)?;
                }
            }
        }
        Ok(())
    }

    fn against_peers(&mut self, params: Params, form: Form) -> anyhow::Result<()> {
        for threads in self.thread_counts() {
            for peer in 0..self.peers.len() {
                if self.peers[peer].computes(params.mode) {
                    self.compare(params, form, peer, threads)?;
                }
            }
        }
        Ok(())
    }

    /// Measures Saltern and a peer, after making sure that they compute the same.
    fn compare(
        &mut self,
        params: Params,
        form: Form,
        peer: usize,
        threads: usize,
    ) -> anyhow::Result<()> {
        let peer = &mut self.peers[peer];
        let checked = params.check(&Limits::unlimited())?;
        let jobs = peers::jobs(&params, form.jobs(&checked))?;
        let hashes = peer.agree(&jobs, &mut self.workspace)?;
        ensure_matches(&jobs, &hashes, &mut self.workspace)?;
        let goal = goal(peer, &params, form);
        let Params { n, r, p, .. } = params;
        let several = if p == 1 { String::new() } else { format!(" p={p}") };
        let mode = if params.mode == Mode::Rw { "" } else { "scrypt " };
        let mib = params.memory() >> 20;
        let name = format!("{} {mode}{mib} MiB, N={n} r={r}{several}", form.name());
        let sides = ["saltern", peer.name()];
        if threads == 1 {
            let mut ours = saltern(form, &jobs, &hashes, &mut self.workspace);
            let rates = paired::compare(self.plan, |_| ours(), |_| ask(peer, &jobs));
            drop(ours);
            let record = Record::new(&name, sides, "hashes/s", &rates);
            self.record(Record { goal, ..record });
            return Ok(());
        }
        let level = self.options.level;
        let mut workspaces = Vec::new();
        let mut theirs: Vec<Work<'_>> = Vec::new();
        for _ in 0..threads {
            workspaces.push(Workspace::with_level(level)?);
            let (mut peer, jobs) = (peer.again()?, &jobs);
            theirs.push(Box::new(move || ask(&mut peer, jobs)));
        }
        let ours = workspaces.iter_mut().map(|own| saltern(form, &jobs, &hashes, own)).collect();
        let clocks = paired::compare_threads(self.plan, [ours, theirs]);
        for (clock, rates) in ["wall", "CPU time"].iter().zip(&clocks) {
            let name = format!("{name}, {threads} threads, {clock}");
            let record = Record::new(&name, sides, "hashes/s", rates);
            self.record(Record { goal, ..record });
        }
        Ok(())
    }

    /// Everything but the loops over memory: PBKDF2 and HMAC, the fill of the S-boxes, the text, entering and leaving the code.
    ///
    /// A hash with N = 4 and one with N = 16 differ in nothing but how often the loops run. The line through their times, continued to
    /// loops that do not run at all, is that cost.
    fn fixed_cost(&mut self) -> anyhow::Result<()> {
        let peer = self.peers.iter().position(|peer| matches!(peer, Peer::Upstream(..)));
        for form in [Form::Single, Form::Batch] {
            let [few, many] = [4, 16].map(|n| Params::yescrypt(n, 16));
            let peer = &mut self.peers[peer.unwrap_or(0)];
            let mut measured = Vec::new();
            for params in [few, many] {
                let jobs = peers::jobs(&params, form.jobs(&params.check(&Limits::unlimited())?))?;
                let hashes = peer.agree(&jobs, &mut self.workspace)?;
                let mut ours = saltern(form, &jobs, &hashes, &mut self.workspace);
                measured.push(paired::compare(self.plan, |_| ours(), |_| ask(peer, &jobs)));
            }
            let passes = (many.work() as f64 / few.work() as f64) - 1.0;
            let sides =
                [(format!("saltern, {}", form.name()), true), (peer.name().to_owned(), false)];
            for (side, (name, ours)) in sides.into_iter().enumerate() {
                let pairs = measured[0][side].iter().zip(&measured[1][side]);
                let costs: Vec<f64> = pairs
                    .map(|(few, many)| 1e6 * (1.0 / few - (1.0 / many - 1.0 / few) / passes))
                    .collect();
                let goal = ours.then_some(FIXED_GOAL);
                let cost = FixedCost { side: name, microseconds: Summary::of(&costs), goal };
                let Summary { median, min, max } = cost.microseconds;
                println!("fixed, r=16: {median:6.1} µs [{min:.1} {max:.1}] {}", cost.side);
                self.fixed.push(cost);
            }
        }
        Ok(())
    }

    /// A ROM in memory that is there already. Its p instances can advance together or in threads of their own.
    fn rom(&mut self) -> anyhow::Result<()> {
        let mib = if self.options.quick { 16 } else { 256 };
        let (nrom, r) = (mib << 9, 16);
        let Some(Peer::Upstream(_, upstream)) =
            self.peers.iter_mut().find(|peer| matches!(peer, Peer::Upstream(..)))
        else {
            eprintln!("no --upstream: nothing to compare the filling of a ROM with");
            return Ok(());
        };
        let mut image = RomImage::zeroed((mib as usize) << 20)?;
        let mut records = Vec::new();
        let several = self.options.threads.min(64) as u8;
        let mut cases = vec![(1, 1), (2, 1), (u32::from(several), several)];
        if several == 1 {
            cases.pop();
        }
        for (p, threads) in cases {
            let params = RomParams::new(nrom.into(), r, p);
            self.workspace.set_threads(threads.into());
            upstream.set_threads(threads);
            let seed = b"a seed of some length";
            let mut ours = || init_rom(&params, seed, image.as_bytes_mut(), &mut self.workspace);
            let theirs = upstream.fill_rom([nrom, r, p], seed).context("upstream refuses a ROM")?;
            ensure!(ours()? == theirs, "upstream C fills another ROM");
            let clock = if threads == 1 { Clock::Thread } else { Clock::Wall };
            let plan = Plan { turns: self.plan.turns.min(7), clock, ..self.plan };
            let work = f64::from(mib) / 1024.0;
            let rates = paired::compare(
                plan,
                |_| black_box(ours()).map_or(f64::NAN, |_| work),
                |_| black_box(upstream.fill_rom([nrom, r, p], seed)).map_or(f64::NAN, |_| work),
            );
            let name = format!("ROM {mib} MiB, r={r} p={p}, threads: {threads}");
            let sides = ["saltern", "upstream C, memory reused"];
            records.push(Record::new(&name, sides, "GiB/s", &rates));
        }
        upstream.set_threads(1);
        self.workspace.set_threads(1);
        records.into_iter().for_each(|record| self.record(record));
        Ok(())
    }

    /// All tunings at 4 MiB in one thread.
    fn tunings(&mut self) -> anyhow::Result<()> {
        let plan = Plan { turns: self.plan.turns.min(7), ..self.plan };
        let sizes = if self.options.quick { &sweep::SBOX_KIB[..1] } else { &sweep::SBOX_KIB };
        for rounds in sweep::ROUNDS {
            for lookup in sweep::LOOKUPS {
                for kib in sizes {
                    let tuned = sweep::pwxform(plan, [rounds, *kib], lookup, &mut self.workspace)?;
                    self.sweep.push(tuned);
                }
            }
        }
        self.sweep.extend(sweep::salsa(plan, &mut self.workspace)?);
        println!("4 MiB (N=2048 r=16) in one thread: milliseconds for a hash (hashes/s)");
        println!("{}", sweep::table(&self.sweep, "alone", |tuned| tuned.single_ms));
        println!("{}", sweep::table(&self.sweep, "in a batch", |tuned| tuned.batch_ms));
        for salsa in self.sweep.iter().filter(|tuned| tuned.sbox_kib == 0) {
            salsa.records.iter().for_each(|record| println!("{}", record.line()));
        }
        println!("{}", sweep::answer(&self.sweep));
        Ok(())
    }
}

/// The ratio aimed at.
fn goal(peer: &Peer, params: &Params, form: Form) -> Option<f64> {
    let large = params.memory() >> 20 >= 16;
    match (peer, params.mode, form) {
        (Peer::Upstream(..), Mode::Rw, _) if params.p > 1 => Some(1.3),
        _ if params.p > 1 => None,
        (Peer::Upstream(..), Mode::Rw, Form::Batch) => Some(if large { 1.5 } else { 1.45 }),
        (Peer::Upstream(..), Mode::Rw, Form::Single) => Some(if large { 1.08 } else { 1.03 }),
        (Peer::System(_), Mode::Rw, Form::Batch) => Some(2.2),
        (Peer::System(_), Mode::Rw, Form::Single) => Some(1.6),
        (Peer::YescryptCrate, Mode::Rw, Form::Batch) => Some(3.8),
        (Peer::ScryptCrate, Mode::Classic, Form::Batch) => Some(1.3),
        (Peer::Upstream(..), Mode::Classic, Form::Batch) => Some(1.0),
        _ => None,
    }
}

fn verifications<'a>(jobs: &'a [Job], hashes: &'a [Vec<u8>]) -> Vec<Verification<'a>> {
    let pairs = jobs.iter().zip(hashes);
    pairs.map(|(job, hash)| Verification { password: job.password.to_bytes(), hash }).collect()
}

/// Makes sure that a batch computes what single hashes have been found to be.
fn ensure_matches(
    jobs: &[Job],
    hashes: &[Vec<u8>],
    workspace: &mut Workspace,
) -> anyhow::Result<()> {
    let results = peers::hasher().verify_many(workspace, &verifications(jobs, hashes));
    ensure!(results.iter().all(|result| *result == Ok(true)), "a batch computes other hashes");
    Ok(())
}

/// Saltern's side, from the text of settings. A batch is verified, because hashing many takes random salts; the work is the same.
fn saltern<'a>(
    form: Form,
    jobs: &'a [Job],
    hashes: &'a [Vec<u8>],
    workspace: &'a mut Workspace,
) -> Work<'a> {
    let hasher = peers::hasher();
    let batch = verifications(jobs, hashes);
    Box::new(move || {
        match form {
            Form::Batch => _ = black_box(hasher.verify_many(workspace, &batch)),
            Form::Single => {
                for job in jobs {
                    let (password, text) = (job.password.to_bytes(), job.text().to_bytes());
                    _ = black_box(hasher.hash_with_setting(workspace, password, text));
                }
            }
        }
        jobs.len() as f64
    })
}

/// The peer's side: one after the other.
fn ask(peer: &mut Peer, jobs: &[Job]) -> f64 {
    for job in jobs {
        _ = black_box(peer.hash(job));
    }
    jobs.len() as f64
}
