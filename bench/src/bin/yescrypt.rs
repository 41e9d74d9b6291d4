//! One yescrypt hash at a time, in one thread: Saltern beside its peers, in paired runs.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::hint::black_box;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Parser;
use saltern_bench::crypt_r::SystemCrypt;
use saltern_bench::machine;
use saltern_bench::paired::{Effort, Pairs};
use saltern_bench::upstream::Upstream;
use saltern_yescrypt::{HashString, Hasher, Level, Limits, Params, Setting, Workspace};
use serde_json::{Value, json};

/// Time one yescrypt hash in one thread with reused memory, beside the system's crypt(3) and other peers.
///
/// A ratio above 1 means that Saltern is faster; it is the median over pairs measured right after each
/// other, and the range is that of single pairs. All contenders must compute the same string.
#[derive(Parser)]
#[command(name = "yescrypt")]
struct Options {
    /// Pairs of samples for each peer
    #[arg(long, default_value_t = Effort::FULL.pairs)]
    pairs: usize,

    /// A single pair of single hashes at the smallest size: that everything runs and agrees
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

/// Another implementation: its name, and a function that hashes [`PASSWORD`] under a setting.
struct Peer {
    name: &'static str,
    hash: Box<dyn FnMut(&CStr, &Params) -> Option<[u8; 32]>>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let effort = match options.smoke {
        true => Effort::SMOKE,
        false => Effort { pairs: options.pairs, ..Effort::FULL },
    };
    let sizes = if options.smoke { &SIZES[..1] } else { &SIZES[..] };
    let level = options.level.unwrap_or_else(Level::detect);
    let mut workspace = Workspace::with_level(level)?;
    let mut peers = peers(options.upstream.as_deref())?;

    println!("{}", machine::line());
    println!(
        "one hash, one thread, Saltern at level {level}, {} pairs for each peer\n",
        effort.pairs
    );
    println!(
        "{:>7} {:>6} {:>3}  {:<22} {:>10} {:>10} {:>7}  range",
        "MiB", "N", "r", "peer", "Saltern ms", "peer ms", "ratio"
    );
    let mut results = Vec::new();
    for &(n, r) in sizes {
        for peer in &mut peers {
            let pairs = compare(effort, Params::yescrypt(n, r), peer, &mut workspace)?;
            results.push(report((n, r), peer.name, &pairs));
        }
    }
    if let Some(path) = &options.json {
        let all = json!({
            "machine": machine::describe(), "level": level.name(), "pairs": effort.pairs, "results": results,
        });
        std::fs::write(path, format!("{all:#}\n")).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Measures Saltern (A) and a peer (B) at one size, after making sure that they compute the same.
fn compare(
    effort: Effort,
    params: Params,
    peer: &mut Peer,
    workspace: &mut Workspace,
) -> anyhow::Result<Pairs> {
    let setting = Setting::new(&params, b"sixteen bytes ok")?;
    let text = CString::new(setting.as_bytes())?;
    let hasher = Hasher::new().with_limits(Limits::unlimited());
    let mut ours = || hasher.hash_with_setting(workspace, PASSWORD.to_bytes(), text.to_bytes());
    let expected = *HashString::parse(&ours()?)?.hash();
    let found = (peer.hash)(&text, &params).with_context(|| format!("{} refuses", peer.name))?;
    ensure!(found == expected, "{} computes another hash for {text:?}", peer.name);
    let (mut a, mut b) = (|| _ = black_box(ours()), || _ = black_box((peer.hash)(&text, &params)));
    Ok(Pairs::measure(effort, &mut a, &mut b))
}

fn report((n, r): (u64, u32), peer: &str, pairs: &Pairs) -> Value {
    let (least, greatest) = pairs.range();
    let mib = n * u64::from(r) / 8192;
    let (ours, theirs) = (1e3 * pairs.a(), 1e3 * pairs.b());
    println!(
        "{mib:>7} {n:>6} {r:>3}  {peer:<22} {ours:>10.2} {theirs:>10.2} {:>7.2}  {least:.2} to {greatest:.2}",
        pairs.ratio(),
    );
    json!({
        "n": n, "r": r, "peer": peer, "saltern_seconds": pairs.a(), "peer_seconds": pairs.b(),
        "ratio": pairs.ratio(), "ratio_range": [least, greatest],
    })
}

/// The peers there are. Only the system's library has to be there.
fn peers(upstream: Option<&OsStr>) -> anyhow::Result<Vec<Peer>> {
    let mut system = SystemCrypt::open().context("the system's libcrypt.so.1")?;
    let mut peers = vec![
        Peer {
            name: "system crypt_r",
            hash: Box::new(move |text, _| hash_of(system.hash(PASSWORD, text))),
        },
        Peer { name: "crate yescrypt 0.1", hash: Box::new(rust_crate) },
    ];
    match upstream {
        None => eprintln!("no --upstream: yescrypt's own C interface is not compared"),
        Some(path) => {
            let mut library = Upstream::open(path).with_context(|| format!("{path:?}"))?;
            peers.push(Peer {
                name: "upstream C, reused",
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
