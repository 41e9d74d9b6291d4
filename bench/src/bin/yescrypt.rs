//! One yescrypt hash at a time, in one thread: Saltern beside its peers, in paired runs.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use saltern_bench::build_info::BuildInfo;
use saltern_bench::crypt_r::SystemCrypt;
use saltern_bench::paired::{self, Machine, Plan, Record};
use saltern_bench::upstream::Upstream;
use saltern_yescrypt::{HashString, Hasher, Level, Limits, Params, Setting, Workspace};
use serde_json::json;

/// Time one yescrypt hash in one thread with reused memory, beside the system's crypt(3) and other peers.
///
/// A ratio above 1 means that Saltern is faster: the median over pairs measured right after each other, with
/// the least and the greatest. All contenders must compute the same hash.
#[derive(Parser)]
#[command(name = "yescrypt")]
struct Options {
    /// Pairs of samples for each peer and size
    #[arg(long, default_value_t = 15)]
    turns: usize,

    /// Least time of a sample in milliseconds
    #[arg(long, default_value_t = 60)]
    sample: u64,

    /// One short pair at the smallest size: that everything runs and agrees, not how fast
    #[arg(long)]
    smoke: bool,

    /// Use this CPU level instead of the best one
    #[arg(long)]
    level: Option<Level>,

    /// A shared library with yescrypt's own C interface (pyescrypt's yescrypt.bin, say) as another peer
    #[arg(long, value_name = "FILE")]
    upstream: Option<OsString>,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
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

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (sizes, plan) = if options.smoke {
        (&SIZES[..1], Plan { turns: 1, sample: Duration::from_millis(1) })
    } else {
        (&SIZES[..], Plan { turns: options.turns, sample: Duration::from_millis(options.sample) })
    };
    let level = options.level.unwrap_or_else(Level::detect);
    let mut workspace = Workspace::with_level(level)?;
    let (machine, build) = (Machine::here(level.name()), BuildInfo::here());
    println!("{machine:?}\n{build:?}");
    let mut records = Vec::new();
    for peer in &mut peers(options.upstream.as_deref())? {
        for &(n, r) in sizes {
            let record = compare(plan, Params::yescrypt(n, r), peer, &mut workspace)?;
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
