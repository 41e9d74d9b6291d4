//! `saltern sum`: BLAKE2 checksums of files, with the flags, the lines and the exit codes of
//! `b2sum`.

mod algorithm;
mod buffer;
mod check;
mod console;
mod engine;
mod input;
mod key;
mod line;
mod mode;
mod parse;
mod plan;
mod print;
mod queue;
mod quote;
mod walk;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser};

use self::algorithm::Algorithm;
use self::mode::Mode;
use self::plan::{Plan, Refusal};

use crate::number::number;

/// Print or check BLAKE2 checksums
///
/// With no FILE, or when FILE is -, read standard input. The flags, the lines and the exit codes
/// are those of b2sum: 0 for success, 1 if a file could not be read or did not match, or a flag is
/// wrong.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Args {
    /// Files to hash, or with --check the lists of digests
    // An empty name is a name: it cannot be opened, which is reported as for any other.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    files: Vec<PathBuf>,

    /// Function to use; with --check, refuse lines tagged with another one [default: blake2b]
    #[arg(short, long, value_enum, ignore_case = true, value_name = "NAME")]
    algorithm: Option<Algorithm>,

    /// Length of the digest in bits, a multiple of 8; 0 means the longest, 512 for blake2b and
    /// blake2bp, 256 for blake2s and blake2sp
    #[arg(short, long, value_name = "BITS", allow_hyphen_values = true)]
    length: Option<String>,

    #[command(flatten)]
    mode: Mode,

    /// End each line with NUL, not newline, and do not escape names
    #[arg(short, long)]
    zero: bool,

    /// Hash all regular files below directories, in the order of their names; without FILE, those
    /// below the current directory
    #[arg(short, long)]
    recursive: bool,

    /// Compute keyed hashes (MACs), with a key of 1 to 64 bytes (blake2s, blake2sp: 32) read from
    /// standard input. Every byte counts, including a final newline
    #[arg(long)]
    keyed: bool,

    /// Read the key from this file; implies --keyed
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Number of threads [default: one per core]. Use 1 for files on a rotating disk
    #[arg(long, value_name = "N", value_parser = number(1..=1024_u16))]
    num_threads: Option<u16>,

    /// Read digests and names from the FILEs and check them
    #[arg(short, long)]
    check: bool,

    /// Do not fail or report for files that are missing
    #[arg(long, help_heading = "Only with --check")]
    ignore_missing: bool,

    /// Do not print OK for each file that matches
    #[arg(long, help_heading = "Only with --check", overrides_with_all = ["status", "warn"])]
    quiet: bool,

    /// Print nothing but read errors; the exit status is the answer
    #[arg(long, help_heading = "Only with --check", overrides_with_all = ["quiet", "warn"])]
    status: bool,

    /// Fail if a line is not well formed
    #[arg(long, help_heading = "Only with --check")]
    strict: bool,

    /// Report each line that is not well formed
    #[arg(short, long, help_heading = "Only with --check")]
    #[arg(overrides_with_all = ["quiet", "status"])]
    warn: bool,
}

/// Run the subcommand.
///
/// # Errors
///
/// None: errors are reported here, in the words and with the exit codes of `b2sum`.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let done = match plan::resolve(args) {
        Ok(Plan::Print(printing, engine)) => print::run(printing, &engine),
        Ok(Plan::Check(checking, engine)) => check::run(&checking, &engine),
        Err(Refusal::Usage(text)) => return Ok(console::usage_error(&text)),
        Err(Refusal::Value(lines)) => {
            lines.iter().for_each(|line| console::complain(line.as_bytes()));
            return Ok(ExitCode::FAILURE);
        }
    };
    Ok(match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader of a pipe has seen enough: end as the signal would have ended us.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(error) => {
            let text = format!("write error: {}", input::reason(&error));
            console::complain(text.as_bytes());
            ExitCode::FAILURE
        }
    })
}
