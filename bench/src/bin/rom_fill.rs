//! Filling a ROM, beside yescrypt's own C code: the same seed, parameters and size, and so the same image.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use saltern_bench::build_info::BuildInfo;
use saltern_bench::paired::{self, Clock, Machine, Plan, Record};
use saltern_bench::upstream::Upstream;
use saltern_yescrypt::{Level, RomImage, RomParams, Workspace, init_rom};
use serde_json::json;

const USAGE: &str = "\
usage: rom_fill [--upstream FILE] [--level LEVEL] [--mib N] [--r N] [--slices LIST] [--threads LIST] [--turns N]
                [--sample-ms N] [--json FILE]

Rates in GiB of image per second; a ratio above 1 means that Saltern is faster. Both compute the same digest. One thread is measured
by its own time, several by the clock on the wall: on a machine that does nothing else.

  --upstream FILE    a shared library with yescrypt's own C interface (pyescrypt's yescrypt.bin, say); without it, only
                     Saltern's rates for each p beside its rate for p = 1
  --level LEVEL      portable, sse2, avx2, avx512, …; default: the processor's best
  --mib N            size of the ROM, a power of two; default 256
  --r N              block size in units of 128 bytes, a power of two; default 8
  --slices LIST      values of p; default 1,2,4,8,16,112
  --threads LIST     numbers of threads; default 1,2
  --turns N          pairs of samples for each line; default 7
  --sample-ms N      length of a sample (at least one fill); default 1
  --json FILE        write all numbers there
";

struct Options {
    upstream: Option<OsString>,
    level: Level,
    mib: u32,
    r: u32,
    slices: Vec<u32>,
    threads: Vec<u8>,
    turns: usize,
    sample: Duration,
    json: Option<PathBuf>,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        upstream: None,
        level: Level::detect(),
        mib: 256,
        r: 8,
        slices: vec![1, 2, 4, 8, 16, 112],
        threads: vec![1, 2],
        turns: 7,
        sample: Duration::from_millis(1),
        json: None,
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
            Long("sample-ms") => options.sample = Duration::from_millis(parser.value()?.parse()?),
            Long("json") => options.json = Some(parser.value()?.into()),
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
    let (machine, build) = (Machine::here(options.level.name()), BuildInfo::here());
    println!("{} · level {} · {} turns", machine.processor, machine.level, options.turns);
    let mut upstream = match &options.upstream {
        Some(path) => Some(Upstream::open(path).context("--upstream")?),
        None => None,
    };
    let nrom = (u64::from(options.mib) << 20) / 128 / u64::from(options.r);
    let size = (options.mib as usize) << 20;
    let [mut image, mut other] = [RomImage::zeroed(size)?, RomImage::zeroed(size)?];
    let mut records = Vec::new();
    for &threads in &options.threads {
        for &p in &options.slices {
            let params = RomParams::new(nrom, options.r, p);
            let mut ours = Side::new(options, threads, params, &mut image)?;
            let clock = if threads == 1 { Clock::Thread } else { Clock::Wall };
            let plan = Plan { turns: options.turns, sample: options.sample, clock };
            let name = format!("{} MiB, r={}, p={p}, threads={threads}", options.mib, options.r);
            let record = if let Some(upstream) = &mut upstream {
                upstream.set_threads(threads);
                let numbers = [u32::try_from(nrom)?, options.r, p];
                let theirs = upstream.fill_rom(numbers, SEED);
                ensure!(theirs == Some(ours.fill()?), "{name}: the digests differ");
                let rates = paired::compare(
                    plan,
                    |_| ours.rate(),
                    |_| {
                        upstream.fill_rom(numbers, SEED);
                        f64::from(options.mib) / 1024.0
                    },
                );
                Record::new(&name, ["saltern", "upstream"], "GiB/s", &rates).goal(1.2)
            } else {
                let serial = RomParams::new(nrom, options.r, 1);
                let mut serial = Side::new(options, 1, serial, &mut other)?;
                let rates = paired::compare(plan, |_| ours.rate(), |_| serial.rate());
                Record::new(&name, ["saltern", "p=1, 1 thread"], "GiB/s", &rates)
            };
            println!("{}", record.line());
            records.push(record);
        }
    }
    if let Some(path) = &options.json {
        let report = json!({ "machine": machine, "build": build, "records": records });
        std::fs::write(path, format!("{report:#}\n"))
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
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

    /// Fills once; GiB.
    fn rate(&mut self) -> f64 {
        self.fill().map_or(f64::NAN, |_| self.image.as_bytes().len() as f64 / f64::from(1 << 30))
    }
}
