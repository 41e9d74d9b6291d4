//! From the flags as typed to a plan; refuses every invalid combination.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::thread;

use super::algorithm::{Algorithm, Spec};
use super::check::{Checking, Verbosity};
use super::engine::Engine;
use super::input::StdinTurns;
use super::line::Style;
use super::print::Printing;
use super::{Args, key};
use crate::progress::Progress;

/// A resolved plan.
pub(super) enum Plan {
    Print(Printing, Engine),
    Check(Checking, Engine),
}

/// Why the flags are refused.
pub(super) enum Refusal {
    /// A wrong flag or combination, answered with a hint to `--help`.
    Usage(String),
    /// A wrong value, reported in these lines.
    Value(Vec<String>),
}

/// Resolve the flags. The key is read here, last, when nothing else can be wrong.
pub(super) fn resolve(args: Args) -> Result<Plan, Refusal> {
    let algorithm = args.algorithm.unwrap_or(Algorithm::Blake2b);
    let spec = parse_length(args.length.as_deref(), algorithm)?;
    refuse_combinations(&args)?;
    let keyed = args.keyed || args.key_file.is_some();
    let key_file = args.key_file.as_deref().filter(|path| path.as_os_str() != "-");
    let files = match args.files.is_empty() {
        false => args.files,
        true if args.recursive => vec![PathBuf::from(".")],
        true => vec![PathBuf::from("-")],
    };
    let key_on_stdin = keyed && key_file.is_none();
    if key_on_stdin && files.iter().any(|path| path.as_os_str() == "-") {
        let text = "the key and the data cannot both come from standard input; use --key-file";
        return Err(Refusal::Usage(text.into()));
    }
    let key = match keyed {
        true => Some(key::read(key_file, algorithm).map_err(|text| Refusal::Value(vec![text]))?),
        false => None,
    };
    let total = if args.check || args.recursive { None } else { total_size(&files) };
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
    let engine = Engine {
        threads: args.num_threads.map_or_else(cores, usize::from).min(most_threads()),
        key,
        progress: Progress::new(total, args.status),
        stdin: StdinTurns::default(),
    };
    if !args.check {
        let style = Style { tag: args.mode.tag, binary: args.mode.binary, zero: args.zero };
        return Ok(Plan::Print(Printing { spec, style, recursive: args.recursive, files }, engine));
    }
    let verbosity = match (args.warn, args.quiet, args.status) {
        (true, ..) => Verbosity::Warn,
        (_, true, _) => Verbosity::Quiet,
        (.., true) => Verbosity::Status,
        _ => Verbosity::Normal,
    };
    let checking = Checking {
        algorithm: args.algorithm,
        verbosity,
        ignore_missing: args.ignore_missing,
        strict: args.strict,
        stdin_taken: key_on_stdin,
        files,
    };
    Ok(Plan::Check(checking, engine))
}

/// The bits of `--length`; 0 and no flag both mean the longest digest.
fn parse_length(text: Option<&str>, algorithm: Algorithm) -> Result<Spec, Refusal> {
    let Some(text) = text else { return Ok(Spec::full(algorithm)) };
    let wrong = |reason: Option<String>| {
        let first = format!("invalid length: '{text}'");
        Refusal::Value([Some(first), reason].into_iter().flatten().collect())
    };
    let number = text.trim_start();
    let number = number.strip_prefix('+').unwrap_or(number);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(None));
    }
    let (name, max) = (algorithm.name(), 8 * algorithm.max_bytes());
    // A number beyond 64 bits is beyond the longest digest too.
    let bits: u64 = number.parse().unwrap_or(u64::MAX - 7);
    if !bits.is_multiple_of(8) {
        return Err(wrong(Some("length is not a multiple of 8".into())));
    }
    match usize::try_from(bits / 8) {
        Ok(0) => Some(Spec::full(algorithm)),
        Ok(bytes) => Spec::new(algorithm, bytes),
        Err(_) => None,
    }
    .ok_or_else(|| wrong(Some(format!("maximum digest length for '{name}' is {max} bits"))))
}

/// Refuse flags that make no sense together.
fn refuse_combinations(args: &Args) -> Result<(), Refusal> {
    let mode = &args.mode;
    let check = args.check;
    let only_check =
        |name| format!("the --{name} option is meaningful only when verifying checksums");
    let rules = [
        (mode.tag && !mode.binary, "--tag does not support --text mode".into()),
        (check && args.zero, "the --zero option is not supported when verifying checksums".into()),
        (check && mode.tag, "the --tag option is meaningless when verifying checksums".into()),
        (
            check && mode.given,
            "the --binary and --text options are meaningless when verifying checksums".into(),
        ),
        (
            check && args.recursive,
            "the --recursive option is meaningless when verifying checksums".into(),
        ),
        (!check && args.ignore_missing, only_check("ignore-missing")),
        (!check && args.status, only_check("status")),
        (!check && args.warn, only_check("warn")),
        (!check && args.quiet, only_check("quiet")),
        (!check && args.strict, only_check("strict")),
    ];
    match rules.into_iter().find(|(broken, _)| *broken) {
        Some((_, text)) => Err(Refusal::Usage(text)),
        None => Ok(()),
    }
}

/// The number of threads for which there is room if the address space is limited (`ulimit -v`): a
/// failed allocation ends the program.
#[cfg(unix)]
fn most_threads() -> usize {
    use rustix::process::{Resource, getrlimit};
    /// The arena that the allocator reserves for a thread, its stack, and its buffers.
    const EACH: u64 = 128 << 20;
    let limit = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    usize::try_from(limit / EACH).unwrap_or(usize::MAX).max(1)
}

#[cfg(not(unix))]
fn most_threads() -> usize {
    usize::MAX
}

/// Bytes in all the files, for the progress line; `None` if that is not known or not shown.
fn total_size(files: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| {
        let meta = path.metadata().ok()?;
        meta.is_file().then_some(meta.len())
    };
    if io::stderr().is_terminal() { files.iter().map(size).sum() } else { None }
}
