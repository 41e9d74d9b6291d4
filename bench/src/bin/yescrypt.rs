//! One yescrypt hash at a time, in one thread: Saltern beside its peers, in paired runs.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use saltern_bench::build_info::BuildInfo;
use saltern_bench::paired::{self, Clock, Machine, Plan, Record};
use saltern_bench::peers::{self, Peer};
use saltern_yescrypt::{Level, Mode, Params, Workspace};
use serde_json::json;

const USAGE: &str = "\
usage: yescrypt [--level LEVEL] [--turns N] [--sample-ms N] [--upstream FILE] [--json FILE]

One hash at a time, in one thread, with reused memory, beside the system's crypt(3) and other peers.
A ratio above 1 means that Saltern is faster. All contenders have to compute the same hash.

  --level LEVEL      portable, sse2, avx2, avx512, …; default: the processor's best
  --turns N          pairs of samples for each line; default 15
  --sample-ms N      length of a sample; default 60
  --upstream FILE    a shared library with yescrypt's own C interface (pyescrypt's yescrypt.bin, say) as a peer
  --json FILE        write all numbers there
";

struct Options {
    level: Level,
    plan: Plan,
    upstream: Option<OsString>,
    json: Option<PathBuf>,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let plan = Plan { turns: 15, sample: Duration::from_millis(60), clock: Clock::Thread };
    let mut options = Options { level: Level::detect(), plan, upstream: None, json: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("level") => options.level = parser.value()?.parse()?,
            Long("turns") => options.plan.turns = parser.value()?.parse()?,
            Long("sample-ms") => {
                options.plan.sample = Duration::from_millis(parser.value()?.parse()?);
            }
            Long("upstream") => options.upstream = Some(parser.value()?),
            Long("json") => options.json = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(options)
}

/// N and r: 1, 2, 4, 16 (the default of crypt(3)) and 32 MiB.
const SIZES: [(u64, u32); 5] = [(1024, 8), (2048, 8), (2048, 16), (4096, 32), (8192, 32)];

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprint!("yescrypt: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("yescrypt: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let mut workspace = Workspace::with_level(options.level)?;
    let (machine, build) = (Machine::here(options.level.name()), BuildInfo::here());
    println!("{} · level {} · {} turns", machine.processor, machine.level, options.plan.turns);
    let mut records = Vec::new();
    for peer in &mut Peer::all(options.upstream.as_deref())? {
        if !peer.computes(Mode::Rw) {
            continue;
        }
        for (n, r) in SIZES {
            let record = compare(options.plan, Params::yescrypt(n, r), peer, &mut workspace)?;
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

/// Measures Saltern and a peer at one size, after making sure that they compute the same.
fn compare(
    plan: Plan,
    params: Params,
    peer: &mut Peer,
    workspace: &mut Workspace,
) -> anyhow::Result<Record> {
    let jobs = peers::jobs(&params, 1)?;
    peer.agree(&jobs, workspace)?;
    let (job, hasher) = (&jobs[0], peers::hasher());
    let (password, text) = (job.password.to_bytes(), job.text().to_bytes());
    let rates = paired::compare(
        plan,
        |_| {
            _ = black_box(hasher.hash_with_setting(workspace, password, text));
            1.0
        },
        |_| {
            _ = black_box(peer.hash(job));
            1.0
        },
    );
    let name = format!("{:2} MiB, N={} r={}", params.memory() >> 20, params.n, params.r);
    let record = Record::new(&name, ["saltern", peer.name()], "hashes/s", &rates);
    let goal = matches!(peer, Peer::System(_)).then_some(1.5);
    Ok(Record { goal, ..record })
}
