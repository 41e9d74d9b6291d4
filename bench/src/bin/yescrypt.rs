//! One yescrypt hash at a time, in one thread: Saltern beside its peers, in paired runs.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use saltern_bench::build_info::BuildInfo;
use saltern_bench::crypt_r::SystemCrypt;
use saltern_bench::paired::{self, Clock, Machine, Plan, Record};
use saltern_bench::upstream::Upstream;
use saltern_yescrypt::{HashString, Hasher, Level, Limits, Params, Setting, Workspace};
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

const PASSWORD: &CStr = c"correct horse battery staple";

/// N and r: 1, 2, 4, 16 (the default of crypt(3)) and 32 MiB.
const SIZES: [(u64, u32); 5] = [(1024, 8), (2048, 8), (2048, 16), (4096, 32), (8192, 32)];

/// Another implementation.
struct Peer {
    name: &'static str,
    /// The ratio aimed at.
    goal: Option<f64>,
    /// Hashes [`PASSWORD`] under a setting; its parameters come along.
    hash: Box<HashFn>,
}

type HashFn = dyn FnMut(&CStr, &Params) -> Option<[u8; 32]>;

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
    for peer in &mut peers(options.upstream.as_deref())? {
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
    let setting = Setting::new(&params, b"sixteen bytes ok")?;
    let text = CString::new(setting.as_bytes())?;
    let hasher = Hasher::new().with_limits(Limits::unlimited());
    let mut ours = || hasher.hash_with_setting(workspace, PASSWORD.to_bytes(), text.to_bytes());
    let expected = *HashString::parse(&ours()?)?.hash();
    let found = (peer.hash)(&text, &params).with_context(|| format!("{} refuses", peer.name))?;
    ensure!(found == expected, "{} computes another hash for {text:?}", peer.name);

    let rates = paired::compare(
        plan,
        |_| {
            _ = black_box(ours());
            1.0
        },
        |_| {
            _ = black_box((peer.hash)(&text, &params));
            1.0
        },
    );
    let name = format!("{:2} MiB, N={} r={}", params.memory() >> 20, params.n, params.r);
    let record = Record::new(&name, ["saltern", peer.name], "hashes/s", &rates);
    Ok(Record { goal: peer.goal, ..record })
}

/// The peers there are. Only the system's library has to be there.
fn peers(upstream: Option<&OsStr>) -> anyhow::Result<Vec<Peer>> {
    let mut system = SystemCrypt::open().context("the system's libcrypt.so.1")?;
    let mut peers = vec![
        Peer {
            name: "system crypt_r",
            goal: Some(1.5),
            hash: Box::new(move |text, _| hash_of(system.hash(PASSWORD, text))),
        },
        Peer { name: "crate yescrypt 0.1", goal: None, hash: Box::new(rust_crate) },
    ];
    match upstream {
        None => eprintln!("no --upstream: yescrypt's own C interface is not compared"),
        Some(path) => {
            let mut library = Upstream::open(path).with_context(|| format!("{path:?}"))?;
            peers.push(Peer {
                name: "upstream C, memory reused",
                goal: None,
                hash: Box::new(move |text, _| hash_of(library.hash(PASSWORD.to_bytes(), text))),
            });
        }
    }
    Ok(peers)
}

/// The crate `yescrypt` has a raw KDF, which leaves out the little work on the text around it.
fn rust_crate(text: &CStr, params: &Params) -> Option<[u8; 32]> {
    let setting = Setting::parse(text.to_bytes()).ok()?;
    let theirs = yescrypt::Params::new(yescrypt::Mode::default(), params.n, params.r, params.p);
    let mut hash = [0; 32];
    yescrypt::yescrypt(PASSWORD.to_bytes(), setting.salt(), &theirs.ok()?, &mut hash).ok()?;
    Some(hash)
}

/// The hash in a peer's string.
fn hash_of(text: Option<&CStr>) -> Option<[u8; 32]> {
    Some(*HashString::parse(text?.to_bytes()).ok()?.hash())
}
