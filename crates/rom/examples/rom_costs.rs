//! How close the estimated work of hashes is to the time they take.
//!
//!     cargo run --release -p saltern-rom --example rom_costs
//!
//! First, the parts of the cost model: flavours, block sizes, S-boxes of many instances, PBKDF2,
//! ROMs and the checks of their blocks, the older generation. The last column is the time of an
//! estimated byte, as a multiple of that for the default (1.0); below 1 the estimate is too high,
//! above 1 too low. Then the most that a server admits, with actual times. Times are processor
//! times, and the shortest of a few.

use std::error::Error;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use saltern_rom::{Access, AttachOptions, Create, OpenRom, Seed, attach};
use saltern_yescrypt::{
    Limits, Params, Workspace, derive,
    hazmat::{Advance, Resumable},
    params::{Flags, Flavor, Mode},
    rom::{RomImage, RomParams, RomReading, RomUse, RomView},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Costs {
    workspace: Workspace,
    rom: RomImage,
    /// Nanoseconds for an estimated byte with the default parameters.
    usual: f64,
    worst: f64,
}

fn main() -> Outcome<()> {
    let mut workspace = Workspace::new();
    let rom = RomImage::init(&RomParams::new(1 << 18, 8, 1), b"costs", &mut workspace)?;
    let mut costs = Costs { workspace, rom, usual: 1.0, worst: 0.0 };
    costs.usual = costs.per_byte(&Params::default())?;
    println!("{:60} {:.3} ns a booked byte", "default: N = 4096, r = 32", costs.usual);
    flavors(&mut costs)?;
    shapes(&mut costs)?;
    checks(&mut costs)?;
    older(&mut costs)?;
    println!("{:60} {:.2}", "the most in all of these", costs.worst);
    slowest(&mut costs)
}

impl Costs {
    /// Nanoseconds for one hash.
    fn time(&mut self, params: &Params) -> Outcome<f64> {
        let checked = params.check(&Limits::unlimited())?;
        let rom = if params.nrom == 0 { None } else { Some(RomView::new(&self.rom)?) };
        let workspace = &mut self.workspace;
        shortest(|| Ok(derive(b"p", b"s", &checked, rom.as_ref(), workspace, &mut [0; 32])?))
    }

    fn per_byte(&mut self, params: &Params) -> Outcome<f64> {
        Ok(self.time(params)? / params.work() as f64)
    }

    fn row(&mut self, what: &str, params: &Params) -> Outcome<()> {
        let ratio = self.per_byte(params)? / self.usual;
        self.print(what, ratio);
        Ok(())
    }

    fn print(&mut self, what: &str, ratio: f64) {
        self.worst = self.worst.max(ratio);
        println!("{what:60} {ratio:.2}");
    }
}

/// Processor time of this program, without other programs.
fn busy() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// The shortest of a few runs, more if they are short.
fn shortest(mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let (mut best, began) = (f64::MAX, Instant::now());
    for round in 0..30 {
        let start = busy();
        run()?;
        best = best.min(busy().saturating_sub(start).as_nanos() as f64);
        if round >= 2 && began.elapsed().as_millis() > 300 {
            break;
        }
    }
    Ok(best)
}

fn flavors(costs: &mut Costs) -> Outcome<()> {
    for (rounds, gather, simple) in
        [(6, 4, 2), (6, 1, 1), (6, 1, 8), (6, 8, 1), (6, 8, 8), (3, 1, 1), (1, 1, 1), (1, 8, 8)]
    {
        for boxes in [6144, 12288, 98304, 786_432] {
            let mut params = Params::yescrypt(1024, 8);
            params.t = 2;
            params.flavor = Flavor::new(rounds, gather, simple, boxes)?;
            let what = format!("{rounds} rounds, gather {gather}, simple {simple}, {boxes} bytes");
            costs.row(&what, &params)?;
        }
    }
    Ok(())
}

fn shapes(costs: &mut Costs) -> Outcome<()> {
    for mode in [Mode::Rw, Mode::Worm, Mode::Classic] {
        for r in [1, 2, 8, 64] {
            for log2_bytes in [20, 25] {
                let n = (1 << log2_bytes) / 128 / u64::from(r);
                let params = Params::new(mode, n, r);
                costs.row(
                    &format!("{mode:?}, {} MiB, r = {r}", (128 * r as u64 * n) >> 20),
                    &params,
                )?;
            }
        }
    }
    for (n, r, p) in [(2, 8, 1), (2, 1, 512), (2, 256, 64)] {
        costs.row(&format!("PBKDF2: scrypt, N = 2, r = {r}, p = {p}"), &Params::scrypt(n, r, p))?;
    }
    for p in [64, 512] {
        let mut params = Params::yescrypt(2048, 8);
        params.p = p;
        costs.row(&format!("S-boxes: N = 2048, r = 8, p = {p}"), &params)?;
    }
    for (n, r) in [(4096, 32), (65_536, 8), (65_536, 1)] {
        let mut params = Params::yescrypt(n, r);
        params.nrom = (1 << 18) * 8 / u64::from(r);
        costs.row(&format!("a ROM of 256 MiB: N = {n}, r = {r}"), &params)?;
    }
    Ok(())
}

/// Hashes whose reads of a mapped ROM are checked, as before every mismatch: blocks of the size of
/// a chunk, of several chunks, and small ones in large chunks.
fn checks(costs: &mut Costs) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("costs.rom");
    for (own, size, r) in [(8, 1 << 28, 8), (32, 1 << 28, 32), (8, 1 << 28, 64), (512, 1 << 28, 1)]
    {
        let seed = Seed::from_bytes(b"what the times are measured with")?;
        let mut create = Create::new(RomParams::new(size / 128 / u64::from(own), own, 1), &seed);
        create.replace = true;
        create.file(&path)?;
        let mut options = AttachOptions::new();
        (options.access, options.verify) = (Access::Map, true);
        let rom = OpenRom::from(attach(&path, &options)?).rom()?;
        let reading = RomReading::new(size / 128 / u64::from(r));
        let used = [RomUse { rom, reading }];
        let params = Params::yescrypt((16 << 20) / 128 / u64::from(r), r);
        let booked = params.work_with(&[used[0].cost(128 * r as usize)]) as f64;
        let checked = params.check(&Limits::unlimited())?;
        let mut hash = Resumable::new(std::mem::take(&mut costs.workspace));
        let time = shortest(|| {
            hash.begin(&[(b"p", b"s")], &checked, &used, 32)?;
            while hash.advance(&[])? != Advance::Done {}
            Ok(hash.check(0).map_err(|(_, fault)| fault.to_string())?)
        })?;
        costs.workspace = hash.into_workspace();
        let what = format!("16 MiB, r = {r}, checked, a ROM of 256 MiB of r = {own}");
        costs.print(&what, time / booked / costs.usual);
    }
    Ok(())
}

fn older(costs: &mut Costs) -> Outcome<()> {
    for bits in 0..8 {
        for (n, r) in [(2048, 8), (16_384, 1)] {
            let params = Params::new(Mode::Escrypt(Flags::from_bits(bits)?), n, r);
            costs.row(&format!("generation 0.5, flags {bits}: N = {n}, r = {r}"), &params)?;
        }
    }
    Ok(())
}

/// The time at the largest t that a server admits, for parameters with the most time per estimated
/// byte.
fn slowest(costs: &mut Costs) -> Outcome<()> {
    let server = Limits::server();
    let ordinary = [Params::from_cost(9)?, Params::scrypt_from_cost(8)?];
    let mut slowest = 0.0f64;
    for params in ordinary {
        slowest = slowest.max(costs.time(&params)?);
    }
    println!("{:60} {:.3} s", "the slowest ordinary string that a server admits", slowest / 1e9);
    for (mode, n, r, nrom) in [
        (Mode::Rw, 1 << 20, 1, 0),
        (Mode::Rw, 1 << 20, 2, 0),
        (Mode::Rw, 4096, 32, 0),
        (Mode::Rw, 65_536, 8, 1 << 18),
        (Mode::Rw, 1 << 18, 1, 1 << 21),
        (Mode::Worm, 1 << 16, 8, 0),
        (Mode::Worm, 1 << 20, 1, 0),
    ] {
        let at = |t: u32| {
            let mut params = Params::new(mode, n, r);
            (params.t, params.nrom) = (t, nrom);
            params
        };
        let admitted = (0..1 << 20).take_while(|t| at(*t).check(&server).is_ok()).last();
        let Some(t) = admitted else {
            println!("{mode:?}, N = {n}, r = {r}: refused");
            continue;
        };
        let time = costs.time(&at(t))?;
        let what = format!("{mode:?}, N = {n}, r = {r}, t = {t}, NROM = {nrom}");
        println!("{what:60} {:.3} s, {:.2} of that", time / 1e9, time / slowest);
    }
    Ok(())
}
