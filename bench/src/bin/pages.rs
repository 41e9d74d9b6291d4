//! The kind of pages and wiping: what they cost or save when memory is reused.

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use saltern_bench::paired::{self, Clock, Machine, Plan, Record};
use saltern_yescrypt::{
    CheckedParams, Derivation, Level, Limits, Pages, Params, Workspace, derive_many,
};

const USAGE: &str = "\
usage: pages [--level LEVEL] [--turns N] [--sample-ms N] [--json FILE]

Groups of hashes in one thread, with reused memory: on transparent huge pages, and wiped after each group, beside
the same on the system's standard pages and not wiped. A ratio above 1 means that the first is faster.

  --level LEVEL      portable, sse2, avx2, avx512, …; default: the processor's best
  --turns N          pairs of samples for each line; default 15
  --sample-ms N      length of a sample; default 100
  --json FILE        write all numbers there
";

struct Options {
    level: Level,
    plan: Plan,
    json: Option<PathBuf>,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let plan = Plan { turns: 15, sample: Duration::from_millis(100), clock: Clock::Thread };
    let mut options = Options { level: Level::detect(), plan, json: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("level") => options.level = parser.value()?.parse()?,
            Long("turns") => options.plan.turns = parser.value()?.parse()?,
            Long("sample-ms") => {
                options.plan.sample = Duration::from_millis(parser.value()?.parse()?);
            }
            Long("json") => options.json = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprint!("pages: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pages: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// N and r: 1, 4, 16, 32 and 128 MiB.
const SIZES: [(u64, u32); 5] = [(1024, 8), (2048, 16), (4096, 32), (8192, 32), (32768, 32)];

fn run(options: &Options) -> anyhow::Result<()> {
    let machine = Machine::here(options.level.name());
    println!("{machine:?}");
    let mut records = Vec::new();
    for (n, r) in SIZES {
        let params = Params::yescrypt(n, r).check(&Limits::unlimited())?;
        let standard =
            || anyhow::Ok(Workspace::with_level(options.level)?.with_pages(Pages::Standard));
        let mut plain = standard()?;
        let mut huge = Workspace::with_level(options.level)?.with_pages(Pages::Huge);
        let mut wiped = standard()?;
        for (name, first, wipe) in [("huge pages", &mut huge, false), ("wiped", &mut wiped, true)] {
            let rates = paired::compare(
                options.plan,
                |_| group(&params, first, wipe),
                |_| group(&params, &mut plain, false),
            );
            let size = params.memory() >> 20;
            let line = format!("{size:3} MiB, N={n} r={r}, {name}");
            let record = Record::new(&line, [name, "neither"], "hashes/s", &rates);
            println!("{}", record.line());
            records.push(record);
        }
    }
    if let Some(path) = &options.json {
        paired::write_json(path, &machine, &records)?;
    }
    Ok(())
}

/// Computes one group; how many hashes it has.
fn group(params: &CheckedParams, workspace: &mut Workspace, wipe: bool) -> f64 {
    let mut outs = vec![[0; 32]; params.degree()];
    let mut jobs = Vec::new();
    for out in &mut outs {
        jobs.push(Derivation { password: b"password", salt: b"salt", out });
    }
    let done = derive_many(&mut jobs, params, None, workspace);
    if wipe {
        workspace.wipe();
    }
    black_box(outs);
    if done.is_ok() { params.degree() as f64 } else { f64::NAN }
}
