//! Saltern's BLAKE2 beside the crates blake2b_simd and blake2s_simd: ratios from paired turns in one process, every call
//! at another offset within a page, because throughput depends on it.

use std::path::PathBuf;
use std::time::Duration;

use saltern_bench::paired::{Clock, Machine, Plan, Record, Summary, compare, write_json};
use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, many};

const USAGE: &str = "\
usage: blake2 [--level LEVEL] [--turns N] [--sample-ms N] [--offsets-mib N] [--only TEXT] [--json FILE]

  --level LEVEL      use no more than sse41, avx2, avx512, …; default: the processor's best
  --turns N          pairs of samples for each line; default 51
  --sample-ms N      length of a sample; default 4
  --offsets-mib N    input of the sweep over offsets; default 64, 0 for no sweep
  --only TEXT        only the lines whose name contains TEXT
  --json FILE        write all numbers there
";

const PAGE: usize = 4096;

struct Options {
    level: Level,
    plan: Plan,
    offsets_mib: usize,
    only: String,
    json: Option<PathBuf>,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        level: Level::detect(),
        plan: Plan::default(),
        offsets_mib: 64,
        only: String::new(),
        json: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("level") => {
                let level: Level = parser.value()?.parse()?;
                options.level = level.require().map_err(|e| lexopt::Error::Custom(Box::new(e)))?;
            }
            Long("turns") => options.plan.turns = parser.value()?.parse()?,
            Long("sample-ms") => {
                options.plan.sample = Duration::from_millis(parser.value()?.parse()?);
            }
            Long("offsets-mib") => options.offsets_mib = parser.value()?.parse()?,
            Long("only") => options.only = parser.value()?.string()?,
            Long("json") => options.json = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(options)
}

/// Random bytes from which slices are cut at any offset within a page.
struct Input(Vec<u8>);

impl Input {
    fn new(bytes: usize) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state = scatter(state);
            state as u8
        };
        Self((0..bytes + 2 * PAGE).map(|_| next()).collect())
    }

    /// `length` bytes that begin `offset` bytes into a page.
    fn at(&self, offset: usize, length: usize) -> &[u8] {
        let start = self.0.as_ptr().align_offset(PAGE) + offset % PAGE;
        &self.0[start..start + length]
    }

    /// `count` messages of these lengths in turn, one after the other in memory.
    fn messages(&self, offset: usize, count: usize, lengths: &[usize]) -> Vec<&[u8]> {
        let total = lengths.iter().cycle().take(count).sum();
        let mut rest = self.at(offset, total);
        let mut messages = Vec::with_capacity(count);
        for &length in lengths.iter().cycle().take(count) {
            let (message, tail) = rest.split_at(length);
            messages.push(message);
            rest = tail;
        }
        messages
    }
}

/// Makes the compiler believe that a hash is needed.
fn keep<T>(hash: T) {
    let _ = std::hint::black_box(hash);
}

/// A permutation of 64-bit numbers without visible order (splitmix64).
fn scatter(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The offset of a call; each call has its own and both sides have the same.
fn offset(call: u64) -> usize {
    scatter(call) as usize % PAGE
}

struct Bench {
    options: Options,
    records: Vec<Record>,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.options.only)
    }

    /// Compares two ways to hash `bytes` bytes, given the offset, in GB/s.
    fn line(
        &mut self,
        name: &str,
        goals: [f64; 2],
        bytes: usize,
        ours: impl Fn(usize),
        peer: (&str, &dyn Fn(usize)),
    ) {
        if !self.wants(name) {
            return;
        }
        let work = bytes as f64 / 1e9;
        let run = |hash: &dyn Fn(usize), call| {
            hash(offset(call));
            work
        };
        let rates = compare(self.options.plan, |call| run(&ours, call), |call| run(peer.1, call));
        let goal = if self.options.level >= Level::Avx512 { goals[0] } else { goals[1] };
        self.record(Record::new(name, ["saltern", peer.0], "GB/s", &rates).goal(goal));
    }

    fn record(&mut self, record: Record) {
        println!("{}", record.line());
        self.records.push(record);
    }
}

fn one_message(bench: &mut Bench, input: &Input) {
    let level = bench.options.level;
    let (b, s) = ("blake2b_simd", "blake2s_simd");
    let params = (
        blake2b::Params::new().level(level).unwrap(),
        blake2s::Params::new().level(level).unwrap(),
        blake2bp::Params::new().level(level).unwrap(),
        blake2sp::Params::new().level(level).unwrap(),
    );
    for (size, label) in
        [(64, "64 B"), (1 << 10, "1 KiB"), (16 << 10, "16 KiB"), (1 << 20, "1 MiB")]
    {
        let goals = |goal| if size >= 1 << 20 { [goal, 1.0] } else { [1.0, 1.0] };
        bench.line(
            &format!("BLAKE2b {label}"),
            goals(1.10),
            size,
            |offset| keep(params.0.hash(input.at(offset, size))),
            (b, &|offset| keep(blake2b_simd::blake2b(input.at(offset, size)))),
        );
        bench.line(
            &format!("BLAKE2s {label}"),
            goals(1.10),
            size,
            |offset| keep(params.1.hash(input.at(offset, size))),
            (s, &|offset| keep(blake2s_simd::blake2s(input.at(offset, size)))),
        );
        bench.line(
            &format!("BLAKE2bp {label}"),
            goals(1.40),
            size,
            |offset| keep(params.2.hash(input.at(offset, size))),
            (b, &|offset| keep(blake2b_simd::blake2bp::blake2bp(input.at(offset, size)))),
        );
        bench.line(
            &format!("BLAKE2sp {label}"),
            goals(1.55),
            size,
            |offset| keep(params.3.hash(input.at(offset, size))),
            (s, &|offset| keep(blake2s_simd::blake2sp::blake2sp(input.at(offset, size)))),
        );
    }
}

/// Batches: name, messages, their lengths in turn, goals for BLAKE2b and BLAKE2s.
const BATCHES: [(&str, usize, &[usize], [f64; 2]); 6] = [
    ("8 of 64 KiB", 8, &[64 << 10], [1.85, 1.0]),
    ("16 of 64 KiB", 16, &[64 << 10], [1.85, 1.9]),
    ("256 of 4 KiB", 256, &[4 << 10], [1.85, 1.9]),
    ("10000 of 64 B", 10_000, &[64], [2.0, 2.0]),
    ("2000 of 128 B", 2000, &[128], [1.85, 1.9]),
    (
        "500 of 0 to 9000 B",
        500,
        &[4000, 9000, 130, 0, 2500, 77, 6001, 1024, 300, 8191, 513],
        [1.0, 1.0],
    ),
];

fn many_messages(bench: &mut Bench, input: &Input) {
    let level = bench.options.level;
    let params_b = blake2b::Params::new().level(level).unwrap();
    let params_s = blake2s::Params::new().level(level).unwrap();
    let (peer_b, peer_s) = (blake2b_simd::Params::new(), blake2s_simd::Params::new());
    for (name, count, lengths, [goal_b, goal_s]) in BATCHES {
        let bytes = lengths.iter().cycle().take(count).sum();
        bench.line(
            &format!("many BLAKE2b, {name}"),
            [goal_b, 1.0],
            bytes,
            |offset| {
                let messages = input.messages(offset, count, lengths);
                let mut jobs: Vec<_> =
                    messages.iter().map(|message| many::Job::new(&params_b, message)).collect();
                many::hash_many(&mut jobs);
                jobs.iter().for_each(|job| keep(job.hash()));
            },
            ("blake2b_simd", &|offset| {
                let messages = input.messages(offset, count, lengths);
                let job = |message| blake2b_simd::many::HashManyJob::new(&peer_b, message);
                let mut jobs: Vec<_> = messages.into_iter().map(job).collect();
                blake2b_simd::many::hash_many(jobs.iter_mut());
                jobs.iter().for_each(|job| keep(job.to_hash()));
            }),
        );
        bench.line(
            &format!("many BLAKE2s, {name}"),
            [goal_s, 1.0],
            bytes,
            |offset| {
                let messages = input.messages(offset, count, lengths);
                let mut jobs: Vec<_> =
                    messages.iter().map(|message| many::Job::new(&params_s, message)).collect();
                many::hash_many(&mut jobs);
                jobs.iter().for_each(|job| keep(job.hash()));
            },
            ("blake2s_simd", &|offset| {
                let messages = input.messages(offset, count, lengths);
                let job = |message| blake2s_simd::many::HashManyJob::new(&peer_s, message);
                let mut jobs: Vec<_> = messages.into_iter().map(job).collect();
                blake2s_simd::many::hash_many(jobs.iter_mut());
                jobs.iter().for_each(|job| keep(job.to_hash()));
            }),
        );
    }
}

/// BLAKE2bp's slowest over its fastest offset, from 64 offsets on one long input; each offset's best of several calls.
fn sweep(bench: &mut Bench) {
    let name = "BLAKE2bp slowest/fastest offset";
    if bench.options.offsets_mib == 0 || !bench.wants(name) {
        return;
    }
    let length = bench.options.offsets_mib << 20;
    let input = Input::new(length);
    let params = blake2bp::Params::new().level(bench.options.level).unwrap();
    let ours = |data: &[u8]| keep(params.hash(data));
    let peer = |data: &[u8]| keep(blake2b_simd::blake2bp::blake2bp(data));
    let sides = [&ours as &dyn Fn(&[u8]), &peer];
    let offsets: Vec<usize> = (0..64).map(offset).collect();
    let mut best = [vec![0.0_f64; 64], vec![0.0_f64; 64]];
    for _ in 0..5 {
        for (i, &offset) in offsets.iter().enumerate() {
            for (hash, best) in sides.iter().zip(&mut best) {
                let start = Clock::Thread.now();
                hash(input.at(offset, length));
                best[i] =
                    best[i].max(length as f64 / 1e9 / (Clock::Thread.now() - start).as_secs_f64());
            }
        }
    }
    let [ours, peers] = best.map(|rates| Summary::of(&rates));
    let evenness = [vec![ours.min / ours.max], vec![peers.min / peers.max]];
    bench.record(Record::new(name, ["saltern", "blake2b_simd"], "min/max", &evenness));
    println!("    GB/s over offsets: saltern {ours:.2?}, blake2b_simd {peers:.2?}");
}

fn main() -> std::process::ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprint!("blake2: {error}\n{USAGE}");
            return std::process::ExitCode::from(2);
        }
    };
    let machine = Machine::here(options.level.name());
    println!("{} · level {} · {} turns", machine.processor, machine.level, options.plan.turns);
    let mut bench = Bench { options, records: Vec::new() };
    let input = Input::new(4 << 20);
    one_message(&mut bench, &input);
    many_messages(&mut bench, &input);
    sweep(&mut bench);
    if let Some(path) = &bench.options.json
        && let Err(error) = write_json(path, &machine, &bench.records)
    {
        eprintln!("blake2: cannot write {}: {error}", path.display());
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
