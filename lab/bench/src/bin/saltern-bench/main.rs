//! The program `saltern-bench`: measures this machine, with peers beside. Thin over the library of
//! the same name.

mod instructions;
mod overload;
mod progress;
mod run;
mod service;
mod soak;
mod ssd;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use saltern_bench::{case, suite};

use run::{Form, Run, agree, measure, read, show};

const EXAMPLES: &str = "\
Examples:
  saltern-bench seeds --quick
  saltern-bench goals --json goals.json
  saltern-bench yescrypt --only threads
  saltern-bench ssd --size 8 --n 256 --r 512
  saltern-bench compare monday.json tuesday.json
  saltern-bench show seeds.json --html seeds.html
  saltern-bench show seeds.json --markdown

Every engine's hashes are compared with the others' before anything is
measured. Peers that this system does not have are left out and named.

Exit status: 0; compare: 1 if the records differ; instructions check: 1 if
a count has grown or wiping is slow; soak: 1 if there was a fault; 2 an error.";

/// Measure hashes a second on this machine, with peers and other algorithms beside.
#[derive(Parser)]
#[command(name = "saltern-bench", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// What each parameter of yescrypt costs: memory, r, rounds, S-boxes, lookups, Salsa20, t, p,
    /// threads, hashes at once
    Yescrypt(Run),
    /// The BLAKE2 variants by size, many messages, levels, threads, offset of the input
    Blake2(Run),
    /// With and without ROM, on 4 KiB and on 2 MiB pages; filling one
    Rom(Run),
    /// The same work by other implementations, and 4 MiB by other algorithms
    Peers(Run),
    /// Ratios to peers with 95 % intervals, beside the ratios that were aimed at
    Goals(Run),
    /// The tables of the texts that yescrypt's tuning was discussed in, on this machine
    Seeds(Run),
    /// Everything
    All(Run),
    /// What a file of your own says, in the form of lab/bench/cases
    Cases {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        run: Run,
    },
    Instructions(instructions::Args),
    Ssd(ssd::Args),
    Soak(soak::Args),
    Overload(overload::Args),
    Service(service::Args),
    /// Print a record again
    Show {
        /// What --json has written
        record: PathBuf,
        #[command(flatten)]
        form: Form,
    },
    /// Tell whether two records agree, cell by cell
    Compare {
        /// What --json has written
        first: PathBuf,
        /// Another one, of the same machine
        second: PathBuf,
        /// Change between runs that is put up with beside the intervals of each, in percent
        #[arg(long, value_name = "PERCENT", default_value_t = 3.0)]
        tolerance: f64,
        /// Print the cells that agree, too
        #[arg(long)]
        all: bool,
    },
}

fn main() -> ExitCode {
    dispatch(Cli::parse().what).unwrap_or_else(|error| {
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        // A reader that went away is no news to whoever ended it.
        if io.is_none_or(|io| io.kind() != io::ErrorKind::BrokenPipe) {
            eprintln!("saltern-bench: {error:#}");
        }
        ExitCode::from(2)
    })
}

fn dispatch(what: What) -> anyhow::Result<ExitCode> {
    let (suite, run) = match what {
        What::Yescrypt(run) => ("yescrypt", run),
        What::Blake2(run) => ("blake2", run),
        What::Rom(run) => ("rom", run),
        What::Peers(run) => ("peers", run),
        What::Goals(run) => ("goals", run),
        What::Seeds(run) => ("seeds", run),
        What::All(run) => ("all", run),
        What::Cases { file, run } => {
            let text = read(&file)?;
            let sections =
                case::parse(&text, run.quick).with_context(|| file.display().to_string())?;
            return measure(&sections, &run);
        }
        What::Instructions(args) => return instructions::run(&args),
        What::Ssd(args) => return ssd::run(&args),
        What::Soak(args) => return soak::run(&args),
        What::Overload(args) => return overload::run(&args),
        What::Service(args) => return service::run(&args),
        What::Show { record, form } => return show(&record, &form),
        What::Compare { first, second, tolerance, all } => {
            return agree([&first, &second], tolerance, all);
        }
    };
    let suites: Vec<_> = suite::SUITES.iter().map(|(name, _)| *name).collect();
    let suites = if suite == "all" { suites } else { vec![suite] };
    measure(&suite::sections(&suites, &run.options())?, &run)
}
