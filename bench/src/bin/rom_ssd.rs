//! Hashes per second with a ROM on an SSD: overlapped reads beside the same ROM in memory, a mapped file, and no ROM.
//!
//!     cargo run --release -p saltern-bench --bin rom_ssd -- --file /var/tmp/test.rom --size 8 --n 256 --r 512
//!
//! The file is made if it is not there, and removed with `--remove`. It has the size, the tag and a manifest of a ROM and pseudo-random contents, which nobody has to
//! compute: for speed they do as well as real ones. Run it as root, so that the page cache is dropped before each measurement.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use saltern_rom::{Backend, BenchCase, BenchOptions, Pages, adopt, bench};
use saltern_yescrypt::{Limits, Params, RomMasks, RomParams};

struct Options {
    file: PathBuf,
    gib: f64,
    remove: bool,
    n: u64,
    r: u32,
    masks: RomMasks,
    look_ahead: u32,
    seconds: f64,
    rounds: usize,
    threads: Option<usize>,
    in_flight: Option<usize>,
    cases: Vec<BenchCase>,
}

const HELP: &str = "\
Options:
  --file PATH        the ROM's file (made if missing; needed)
  --size GIB         its size, a power of two [8]
  --remove           remove the file at the end
  --n N, --r R       parameters of the hashes [256, 512: 16 MiB]
  --fill M, --mix M  masks of the ROM reads [0, 15]
  --look-ahead D     steps [0]
  --seconds S        for each measurement [2]
  --rounds K         [5]
  --threads T        [one for each processor]
  --in-flight Q      hashes in flight for each thread
  --cases LIST       of none, ram (2 MiB pages), ram4k, uring, pread, map1, map2, map3, random1, random2, random3, one
                     [none,ram,uring,pread,map1,map2,map3,random1,random2,random3]";

fn case(name: &str) -> Result<BenchCase> {
    let mapped = |random, digit: &str| -> Result<BenchCase> {
        Ok(BenchCase::Mapped { random, threads: digit.parse().context("a number of threads")? })
    };
    Ok(match name {
        "none" => BenchCase::None,
        "ram" => BenchCase::Memory(Pages::Transparent),
        "ram4k" => BenchCase::Memory(Pages::Base),
        "uring" => BenchCase::Engine(Backend::IoUring),
        "pread" => BenchCase::Engine(Backend::Pread),
        "one" => BenchCase::One,
        _ => match (name.strip_prefix("map"), name.strip_prefix("random")) {
            (Some(digit), _) => mapped(false, digit)?,
            (_, Some(digit)) => mapped(true, digit)?,
            _ => bail!("no case {name}: see --help"),
        },
    })
}

fn options() -> Result<Option<Options>> {
    let list = "none,ram,uring,pread,map1,map2,map3,random1,random2,random3";
    let mut options = Options {
        file: PathBuf::new(),
        gib: 8.0,
        remove: false,
        n: 256,
        r: 512,
        masks: RomMasks { fill: 0, mix: 15 },
        look_ahead: 0,
        seconds: 2.0,
        rounds: 5,
        threads: None,
        in_flight: None,
        cases: list.split(',').map(case).collect::<Result<_>>()?,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("file") => options.file = parser.value()?.into(),
            Long("size") => options.gib = parser.value()?.parse()?,
            Long("remove") => options.remove = true,
            Long("n") => options.n = parser.value()?.parse()?,
            Long("r") => options.r = parser.value()?.parse()?,
            Long("fill") => options.masks.fill = parser.value()?.parse()?,
            Long("mix") => options.masks.mix = parser.value()?.parse()?,
            Long("look-ahead") => options.look_ahead = parser.value()?.parse()?,
            Long("seconds") => options.seconds = parser.value()?.parse()?,
            Long("rounds") => options.rounds = parser.value()?.parse()?,
            Long("threads") => options.threads = Some(parser.value()?.parse()?),
            Long("in-flight") => options.in_flight = Some(parser.value()?.parse()?),
            Long("cases") => {
                let list = parser.value()?.string()?;
                options.cases = list.split(',').map(case).collect::<Result<_>>()?;
            }
            Short('h') | Long("help") => {
                println!("{HELP}");
                return Ok(None);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if options.file.as_os_str().is_empty() {
        bail!("--file is needed: see --help");
    }
    Ok(Some(options))
}

/// Pseudo-random bytes with a tag at the end, and a manifest for them.
fn make(path: &Path, size: u64, r: u32) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut state, mut block) = (1u64, vec![0; 1 << 16]);
    for _ in 0..size / block.len() as u64 {
        for word in block.as_chunks_mut::<8>().0 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.to_le_bytes();
        }
        file.write_all(&block)?;
    }
    let mut file = file.into_inner()?;
    use std::os::unix::fs::FileExt;
    file.write_all_at(b"yescrypt-ROMhash", size - 48)?;
    file.flush()?;
    file.sync_all()?;
    adopt(path, &RomParams::new(size / (128 * u64::from(r)), r, 1), None, None, &|_| {
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(())
}

fn main() -> Result<()> {
    let Some(options) = options()? else { return Ok(()) };
    let manifest = saltern_rom::Manifest::path_for(&options.file);
    if !options.file.exists() {
        let size = (options.gib * f64::from(1 << 30)) as u64;
        println!("making {} ({} GiB)", options.file.display(), options.gib);
        make(&options.file, size, options.r)?;
    }
    let params = Params::yescrypt(options.n, options.r).check(&Limits::unlimited())?;
    let mut how = BenchOptions::new(params);
    (how.masks, how.look_ahead) = (options.masks, options.look_ahead);
    (how.time, how.rounds) = (Duration::from_secs_f64(options.seconds), options.rounds);
    how.engine.threads = options.threads.unwrap_or(how.engine.threads);
    how.engine.in_flight = options.in_flight.unwrap_or(how.engine.in_flight);
    let hash = (128 * u64::from(options.r) * options.n) as f64 / f64::from(1 << 20);
    println!(
        "N = {}, r = {} ({hash} MiB per hash), masks {} and {}, look-ahead {}, {} threads, {} in flight in each",
        options.n,
        options.r,
        options.masks.fill,
        options.masks.mix,
        options.look_ahead,
        how.engine.threads,
        how.engine.in_flight
    );
    let rows = bench(&options.file, &how, &options.cases, &mut |case, rate| {
        eprintln!("  {case}: {rate:.1} c/s");
    })?;
    let memory = rows.iter().find(|row| matches!(row.case, BenchCase::Memory(_)));
    for row in &rows {
        print!("{row}");
        if let Some(memory) = memory {
            print!(", {:.1} % of memory's", 100.0 * row.rate / memory.rate);
        }
        println!();
        for note in &row.notes {
            println!("    ({note})");
        }
    }
    if options.remove {
        fs::remove_file(&options.file)?;
        fs::remove_file(manifest)?;
    }
    Ok(())
}
