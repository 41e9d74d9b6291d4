//! `saltern-bench instructions`: what hashes cost in instructions, and whether that has grown.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use saltern_bench::engine::Places;
use saltern_bench::instructions::{Counts, RECORD, count, probe, wiping};

use crate::run::{read, write};

/// A step that could not be taken, as scripts/test understands it.
const SKIPPED: u8 = 77;

/// Instructions for each 64 bytes mixed, at every level that valgrind can show
///
/// One hash and a batch, r = 8, 16 and 32, with and without a ROM. Valgrind counts, so that the
/// result is the same however busy the machine is; it depends on the compiler.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,

    /// Keep the counts as the record
    #[arg(long)]
    write: bool,

    #[command(flatten)]
    common: Common,

    /// Compute for a counter that is looking
    #[arg(long, value_name = "ENGINE", hide = true)]
    probe: Option<String>,
}

#[derive(Subcommand)]
enum What {
    /// Compare with the record: status 1 if a count has grown by more than 1 %, or if memory is
    /// wiped byte by byte or not at all; 77 if the compiler is another one
    Check(Common),
}

#[derive(clap::Args)]
struct Common {
    /// The record
    #[arg(long, value_name = "FILE", default_value = RECORD)]
    record: PathBuf,

    /// A shared library with yescrypt's own C interface, or a directory that holds it
    #[arg(long, value_name = "PATH")]
    upstream: Option<OsString>,
}

impl Common {
    fn count(&self) -> anyhow::Result<Counts> {
        let counts = count(&Places { upstream: self.upstream.clone() })?;
        print!("{}", counts.table());
        counts.notes.iter().for_each(|note| println!("note: {note}"));
        Ok(counts)
    }
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { common, .. } = args;
    if args.probe.as_deref() == Some(wiping::PROBE) {
        wiping::probe();
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(engine) = &args.probe {
        probe(engine, &Places { upstream: common.upstream.clone() })?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(What::Check(common)) = &args.what {
        return check(common);
    }
    let counts = common.count()?;
    if args.write {
        write(&common.record, &counts.to_json()?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(common: &Common) -> anyhow::Result<ExitCode> {
    let wiping = wiping::faults()?;
    wiping.iter().for_each(|line| println!("FAULT: {line}"));
    if !wiping.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    let record = Counts::from_json(&read(&common.record)?)?;
    let worse = match common.count()?.worse_than(&record) {
        Ok(worse) => worse,
        Err(other) => {
            println!("SKIPPED: {other}");
            return Ok(ExitCode::from(SKIPPED));
        }
    };
    worse.iter().for_each(|line| println!("FAULT: {line}"));
    if worse.is_empty() {
        println!("instructions: no count has grown by more than 1 %");
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "instructions: if that is meant, saltern-bench instructions --write keeps the new counts"
    );
    Ok(ExitCode::FAILURE)
}
