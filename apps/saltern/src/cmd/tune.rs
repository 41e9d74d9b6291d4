//! `saltern tune`: find the costs that this machine can sustain, by loading it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::ArgGroup;
use saltern::Policy;
use saltern::policy::{Params, RomSource, SiteRom, TIME};
use saltern_rom::Manifest;
use saltern_tune::{Bounds, Effort, Error, Report, Setting, Site, Target, Tuner};

use crate::cmd::rom::size;
use crate::new_file;
use crate::output::{Output, print, tell};
use crate::rom::{AccessName, RomName};

const EXAMPLES: &str = "\
Without --params, --cost or --policy, the program looks for the strongest
hash that holds the target; with one of them, it measures that hash.
Logins arrive at random times, whether earlier ones have been answered or
not, and the time of each counts from its arrival. A search takes some
minutes, the last of which confirms the result; --quick takes 20 seconds
and is less reliable.

Run it on the machine of the server, with nothing else running. If the
machine is busy, the report says so first, and its numbers describe only
the capacity that was left.

Examples:
  saltern tune --logins 200 --p99 250ms --memory 4GiB --burst 3 \\
      -o saltern.toml --html tune.html
  saltern tune --logins 20 --quick       a first idea
  saltern tune --cost 5                  what libxcrypt's default can do
  saltern tune --params 8192,32,1,0      N, r, p and t
  saltern tune --policy saltern.toml --logins 200 --p99 250ms --burst 3
                                         does it still hold?
  saltern tune --logins 50 --rom site.rom -o saltern.toml

Exit status:
  0  the target holds, or none was given
  1  it does not hold, or nothing at or above the floor can hold it; the
     report names the bottleneck: memory, processors, time of a hash
  2  an error";

/// Find the strongest hash that this machine can sustain, or measure a given one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("given").args(["params", "cost", "policy"]))]
#[command(group = ArgGroup::new("what").args(["logins", "params", "cost"]).required(true).multiple(true))]
pub(crate) struct Args {
    /// Logins per second, on average
    #[arg(long, value_name = "RATE")]
    logins: Option<f64>,

    /// Time within which 99 of 100 logins must be answered
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = time)]
    p99: Duration,

    /// Memory for hashing, not counting a ROM in memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size, conflicts_with = "policy")]
    memory: u64,

    /// Logins at a peak, as a multiple of --logins; the peak is assumed to last
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    burst: f64,

    /// Measure these costs: N,r or N,r,p,t
    #[arg(long, value_name = "N,r,p,t", value_parser = params)]
    params: Option<Params>,

    /// Measure this cost, 1 to 11, on the scale of `hash --cost`
    #[arg(long, value_name = "COST", value_parser = cost)]
    cost: Option<Params>,

    /// Measure this policy, with its keys, its ROMs and its pool
    #[arg(long, value_name = "FILE", requires = "logins")]
    policy: Option<PathBuf>,

    /// Accept nothing weaker than this cost, 1 to 11
    #[arg(long, value_name = "COST", default_value = "1", value_parser = cost, conflicts_with = "policy")]
    floor: Params,

    /// Maximum number of threads; with --params and --cost, the exact number (default: one per
    /// processor)
    #[arg(long, value_name = "N", conflicts_with = "policy")]
    threads: Option<std::num::NonZero<u16>>,

    /// Let new hashes read this ROM: the path of its image, shm:NAME or sysv:KEY
    #[arg(long, value_name = "ROM", conflicts_with = "policy", value_parser = RomName::parser())]
    rom: Option<RomName>,

    /// How the ROM gets into memory
    #[arg(long, value_name = "HOW", default_value = "auto", requires = "rom")]
    rom_access: AccessName,

    /// Take about 20 seconds
    #[arg(long)]
    quick: bool,

    /// How long to confirm the result [default: 60s, or 6s with --quick]
    #[arg(long, value_name = "TIME", value_parser = confirm)]
    confirm: Option<Duration>,

    /// Write the resulting policy to this new file
    #[arg(long, short, value_name = "FILE", conflicts_with = "policy")]
    output: Option<PathBuf>,

    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.output {
        new_file::check(file, "a policy")?;
    }
    if let Some(file) = &args.html {
        new_file::check_replace(file)?;
    }
    let (policy, rom) = args.base()?;
    let memory = args.policy.as_ref().map_or(args.memory, |_| policy.pool.memory);
    let target =
        args.logins.map(|logins| Target { logins, burst: args.burst, p99: args.p99, memory });
    let mut bounds = Bounds::new(&policy, rom);
    if let Some(threads) = args.threads {
        bounds = bounds.with_threads(threads.get().into());
    }
    let threads = if args.policy.is_some() { policy.pool.threads } else { bounds.threads() };
    let given = match &args.policy {
        Some(_) => Some(policy.params),
        None => args.params.or(args.cost),
    };
    let wanted = target.unwrap_or(Target { logins: 1.0, burst: 1.0, p99: args.p99, memory });
    wanted.check()?;
    let mut site = match &args.policy {
        Some(_) => Site::exact(policy),
        None => Site::new(wanted.policy(policy)),
    };
    let mut tuner = Tuner::new(&mut site, bounds, args.effort()).telling(|what| tell(what));
    let found = match (given, &target) {
        (Some(params), target) => {
            let setting = Setting::new(&params, threads);
            tuner.capacity(&setting, args.p99, memory, target.as_ref())
        }
        (None, Some(target)) => tuner.search(target),
        (None, None) => bail!("--logins is missing: expected the logins per second to tune for"),
    };
    drop(tuner);
    match found {
        Ok(report) => args.show(&report, &site),
        Err(error @ (Error::Unmet { .. } | Error::NoSetting { .. })) => {
            tell(&error);
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error.into()),
    }
}

impl Args {
    /// The initial policy, and the bytes of the ROM.
    fn base(&self) -> anyhow::Result<(Policy, Option<u64>)> {
        if let Some(file) = &self.policy {
            return Ok((Policy::read(file)?, None));
        }
        let mut size = None;
        let mut policy = Policy::default();
        policy.floor = self.floor;
        if let Some(rom) = &self.rom {
            // The policy names it, wherever that is written.
            let path = std::path::absolute(rom.image())?;
            ensure!(path.to_str().is_some(), "the path {} is not UTF-8", path.display());
            let manifest = Manifest::read(&path)?;
            let hash = manifest.hash;
            size = Some(manifest.size());
            let source = RomSource::Image { path, hash, access: self.rom_access.access() };
            policy.roms.push(SiteRom { id: hash.id(), source, active: true });
        }
        Ok((policy, size))
    }

    fn effort(&self) -> Effort {
        let mut effort = if self.quick { Effort::quick() } else { Effort::thorough() };
        effort.confirm = self.confirm.unwrap_or(effort.confirm);
        effort
    }

    fn show(&self, report: &Report, site: &Site) -> anyhow::Result<ExitCode> {
        // A result that cannot be written must not take the others with it.
        let policy = match &self.output {
            Some(file) if report.holds() => report
                .policy(&site.policy(&report.setting))
                .map_err(anyhow::Error::from)
                .and_then(|policy| new_file::create(file, policy.as_bytes(), "a policy")),
            Some(file) => {
                tell(format_args!("{} was not written: no setting met the target", file.display()));
                Ok(())
            }
            None => Ok(()),
        };
        let page = self
            .html
            .as_ref()
            .map_or(Ok(()), |file| new_file::replace(file, report.page().as_bytes()));
        let shown = if self.json {
            let mut output = Output::new();
            output.json(report).and_then(|()| output.flush())
        } else {
            print(report.text())
        };
        // After a failure, which of the files are there is said.
        let policy_file = self.output.as_ref().filter(|_| policy.is_ok() && report.holds());
        let page_file = self.html.as_ref().filter(|_| page.is_ok());
        policy.and(page).and(shown).inspect_err(|_| {
            for (what, file) in [("policy", policy_file), ("page", page_file)] {
                if let Some(file) = file {
                    tell(format_args!("the {what} is in {}", file.display()));
                }
            }
        })?;
        Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let known = saltern::policy::parse_time(text);
    known.ok_or_else(|| format!("expected {TIME}"))
}

fn confirm(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_secs(24 * 3600);
    let known = time(text)?;
    range.contains(&known).then_some(known).ok_or_else(|| "expected 100ms to 1440min".to_owned())
}

fn cost(text: &str) -> Result<Params, String> {
    let known = text.parse().ok().filter(|cost| (1..=11).contains(cost));
    known.and_then(|cost| Params::from_cost(cost).ok()).ok_or_else(|| "expected 1 to 11".to_owned())
}

fn params(text: &str) -> Result<Params, String> {
    let numbers: Option<Vec<u64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let numbers = numbers.unwrap_or_default();
    let small = |at: usize, default: u32| match numbers.get(at) {
        Some(&number) => u32::try_from(number).map_err(|_| format!("{number} is too large")),
        None => Ok(default),
    };
    if !matches!(numbers.len(), 2 | 4) {
        return Err("expected N,r or N,r,p,t, such as 4096,32 or 4096,32,1,0".to_owned());
    }
    let mut params = Params::yescrypt(numbers[0], small(1, 0)?);
    (params.p, params.t) = (small(2, 1)?, small(3, 0)?);
    Ok(params)
}
