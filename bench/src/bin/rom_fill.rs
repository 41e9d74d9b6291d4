//! Filling a ROM with one thread and with several, beside yescrypt's own C code: the same seed, parameters and size, and so the same image.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};
use saltern_bench::stats::estimate;
use saltern_bench::upstream::Upstream;
use saltern_yescrypt::{Level, RomImage, RomParams, Workspace, init_rom};

const USAGE: &str = "\
usage: rom_fill [--upstream FILE] [--level LEVEL] [--mib N] [--r N] [--slices LIST] [--threads LIST] [--turns N]

Both sides fill in turns, A B, B A, and compute the same digest. Rates are in GiB of image per second, ratios with their 95 % interval; above
1, Saltern is faster. One thread is measured by its own time, several by the time that passes: on a machine that does nothing else.

  --upstream FILE    a shared library with yescrypt's own C interface (pyescrypt's yescrypt.bin, say); without it the other side
                     is Saltern with p = 1 and one thread
  --level LEVEL      portable, sse2, avx2, avx512, …; default: the processor's best
  --mib N            size of the ROM, a power of two; default 256
  --r N              block size in units of 128 bytes, a power of two; default 16
  --slices LIST      values of p; default 1,2,4,8,32
  --threads LIST     numbers of threads; default 1,2
  --turns N          pairs of fills for each line; default 7
";

struct Options {
    upstream: Option<OsString>,
    level: Level,
    mib: u32,
    r: u32,
    slices: Vec<u32>,
    threads: Vec<u8>,
    turns: usize,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        upstream: None,
        level: Level::detect(),
        mib: 256,
        r: 16,
        slices: vec![1, 2, 4, 8, 32],
        threads: vec![1, 2],
        turns: 7,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("upstream") => options.upstream = Some(parser.value()?),
            Long("level") => options.level = parser.value()?.parse()?,
            Long("mib") => options.mib = parser.value()?.parse()?,
            Long("r") => options.r = parser.value()?.parse()?,
            Long("slices") => options.slices = list(&parser.value()?.string()?)?,
            Long("threads") => options.threads = list(&parser.value()?.string()?)?,
            Long("turns") => options.turns = parser.value()?.parse()?,
            _ => return Err(argument.unexpected()),
        }
    }
    if !options.mib.is_power_of_two() || !options.r.is_power_of_two() || options.mib > 1 << 20 {
        return Err("--mib and --r: powers of two, up to 1048576 MiB".into());
    }
    Ok(options)
}

/// Numbers with commas between them.
fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, lexopt::Error> {
    let numbers = text.split(',').map(|number| number.parse().ok());
    numbers.collect::<Option<_>>().ok_or_else(|| format!("{text:?}: not a list of numbers").into())
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprint!("rom_fill: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rom_fill: {error:#}");
            ExitCode::FAILURE
        }
    }
}

const SEED: &[u8] = b"change this before use";

fn run(options: &Options) -> anyhow::Result<()> {
    let mut upstream = match &options.upstream {
        Some(path) => Some(Upstream::open(path).context("--upstream")?),
        None => None,
    };
    let nrom = (u64::from(options.mib) << 20) / 128 / u64::from(options.r);
    let size = (options.mib as usize) << 20;
    let [mut image, mut other] = [RomImage::zeroed(size)?, RomImage::zeroed(size)?];
    let peer = if upstream.is_some() { "upstream C" } else { "p=1, 1 thread" };
    println!("{} MiB, r={}, level {}, beside {peer}", options.mib, options.r, options.level);
    for &threads in &options.threads {
        for &p in &options.slices {
            let params = RomParams::new(nrom, options.r, p);
            let mut ours = Side::new(options, threads, params, &mut image)?;
            let clock = if threads == 1 { ClockId::ThreadCPUTime } else { ClockId::Monotonic };
            let rates = if let Some(upstream) = &mut upstream {
                upstream.set_threads(threads);
                let numbers = [u32::try_from(nrom)?, options.r, p];
                let theirs = upstream.fill_rom(numbers, SEED);
                ensure!(theirs == Some(ours.fill()?), "p={p}: the digests differ");
                let mut theirs = || {
                    upstream.fill_rom(numbers, SEED).map(|_| ()).context("upstream C refuses a ROM")
                };
                take_turns(options, clock, [&mut || ours.fill().map(|_| ()), &mut theirs])?
            } else {
                let serial = RomParams::new(nrom, options.r, 1);
                let mut serial = Side::new(options, 1, serial, &mut other)?;
                let fill = &mut || ours.fill().map(|_| ());
                take_turns(options, clock, [fill, &mut || serial.fill().map(|_| ())])?
            };
            let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(a, b)| a / b).collect();
            let [ours, theirs] = rates.map(|rates| estimate(&rates).median);
            let ratio = estimate(&ratios);
            println!(
                "threads={threads} p={p:<4} {:5.2}× [{:.2} {:.2}]  {ours:.3} : {theirs:.3} GiB/s",
                ratio.median, ratio.low, ratio.high
            );
        }
    }
    Ok(())
}

/// Rates of both sides in GiB per second.
fn take_turns(
    options: &Options,
    clock: ClockId,
    sides: [&mut dyn FnMut() -> anyhow::Result<()>; 2],
) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut rates = [Vec::new(), Vec::new()];
    for turn in 0..options.turns {
        for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            let start = now(clock);
            sides[side]()?;
            let passed = (now(clock) - start).as_secs_f64();
            rates[side].push(f64::from(options.mib) / 1024.0 / passed);
        }
    }
    Ok(rates)
}

fn now(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Saltern with one set of parameters.
struct Side<'a> {
    workspace: Workspace,
    params: RomParams,
    image: &'a mut RomImage,
}

impl<'a> Side<'a> {
    fn new(
        options: &Options,
        threads: u8,
        params: RomParams,
        image: &'a mut RomImage,
    ) -> anyhow::Result<Self> {
        let mut workspace = Workspace::with_level(options.level)?;
        workspace.set_threads(threads.into());
        Ok(Side { workspace, params, image })
    }

    fn fill(&mut self) -> anyhow::Result<[u8; 32]> {
        Ok(init_rom(&self.params, SEED, self.image.as_bytes_mut(), &mut self.workspace)?)
    }
}
