//! `saltern bench`: measure this machine, with peers beside. Thin over the library `saltern-bench`.

mod progress;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Subcommand;
use saltern_bench::case::{self, Section};
use saltern_bench::compare::compare;
use saltern_bench::engine::Places;
use saltern_bench::record::Record;
use saltern_bench::report;
use saltern_bench::runner::Effort;
use saltern_bench::{suite, text};

use crate::output::Output;
use progress::Progress;

const EXAMPLES: &str = "\
Examples:
  saltern bench seeds --quick
  saltern bench goals --json goals.json
  saltern bench yescrypt --only threads
  saltern bench compare monday.json tuesday.json
  saltern bench show seeds.json --html seeds.html
  saltern bench show seeds.json --markdown

Every engine's hashes are compared with the others' before anything is
measured. Peers that this system does not have are left out and named.

Exit status: 0; compare: 1 if the records differ; 2 an error.";

/// Measure hashes a second on this machine, with peers and other algorithms beside
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// What each parameter of yescrypt costs: memory, r, rounds, S-boxes, lookups, Salsa20, t, p, threads, hashes at once
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
    /// What a file of your own says, in the form of bench/cases
    Cases {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        run: Run,
    },
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

/// How to measure.
#[derive(clap::Args)]
struct Run {
    /// Fewer cases and less time for each
    #[arg(long)]
    quick: bool,

    /// Only sections whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Threads where all processors are meant [default: one for each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// A shared library with yescrypt's own C interface [default: that of the Python package pyescrypt, if installed]
    #[arg(long, value_name = "FILE")]
    upstream: Option<OsString>,

    /// One call for each cell: shows that everything runs, and measures nothing
    #[arg(long, hide = true)]
    smoke: bool,

    /// Write the record here: all numbers, the machine and the build
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    form: Form,
}

/// In which form to print.
#[derive(clap::Args)]
struct Form {
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,

    /// Print Markdown tables in short: of what repeats a published table, only its figures beside ours
    #[arg(long, conflicts_with = "markdown")]
    digest: bool,

    /// Write the results here as a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Form {
    /// The tables, if they are wanted.
    fn tables(&self, record: &Record) -> Option<String> {
        match self {
            Form { digest: true, .. } => Some(text::digest(record)),
            Form { markdown: true, .. } => Some(text::markdown(record)),
            _ => None,
        }
    }

    /// The page, if it is wanted.
    fn page(&self, record: &Record) -> anyhow::Result<()> {
        let Some(path) = &self.html else { return Ok(()) };
        write(path, &report::render(record))
    }
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (suite, run) = match args.what {
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
        What::Show { record, form } => return show(&record, &form),
        What::Compare { first, second, tolerance, all } => {
            return agree([&first, &second], tolerance, all);
        }
    };
    let suites: Vec<_> = suite::SUITES.iter().map(|(name, _)| *name).collect();
    let suites = if suite == "all" { suites } else { vec![suite] };
    measure(&suite::sections(&suites, &run.options())?, &run)
}

impl Run {
    fn options(&self) -> suite::Options {
        let arguments: Vec<_> =
            env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        suite::Options {
            command: format!("saltern {}", arguments.join(" ")),
            quick: self.quick,
            effort: match (self.smoke, self.quick) {
                (true, _) => Effort::SMOKE,
                (_, true) => Effort::QUICK,
                _ => Effort::FULL,
            },
            only: self.only.clone(),
            threads: self.threads.map(usize::from),
            places: Places { upstream: self.upstream.clone() },
        }
    }
}

fn measure(sections: &[Section], run: &Run) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new(run.form.markdown || run.form.digest);
    let record = suite::run(sections, &run.options(), &mut progress);
    progress.finish()?;
    let record = record?;
    if let Some(path) = &run.json {
        write(path, &record.to_json()?)?;
    }
    run.form.page(&record)?;
    let mut output = Output::new();
    if let Some(tables) = run.form.tables(&record) {
        output.bytes(tables.as_bytes())?;
    } else {
        output.line(format!("\n{}", text::LEGEND))?;
    }
    for note in &record.notes {
        output.line(format!("note: {note}"))?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn show(path: &Path, form: &Form) -> anyhow::Result<ExitCode> {
    let record = record(path)?;
    form.page(&record)?;
    let mut output = Output::new();
    if let Some(tables) = form.tables(&record) {
        output.bytes(tables.as_bytes())?;
    } else {
        output.line(text::header(&record.machine, &record.build))?;
        for section in &record.sections {
            output.bytes(text::section(section).as_bytes())?;
        }
        output.line(format!("\n{}", text::LEGEND))?;
    }
    for note in &record.notes {
        output.line(format!("note: {note}"))?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn agree(paths: [&PathBuf; 2], tolerance: f64, all: bool) -> anyhow::Result<ExitCode> {
    ensure!((0.0..100.0).contains(&tolerance), "--tolerance {tolerance}: 0 to 100 percent");
    let [first, second] = paths.map(|path| record(path));
    let (first, second) = (first?, second?);
    let comparison = compare(&first, &second, tolerance / 100.0);
    ensure!(!comparison.lines.is_empty(), "the records have nothing in common");
    let mut output = Output::new();
    if first.machine != second.machine {
        output.line("note: the records are of different machines")?;
    }
    output.bytes(comparison.text(all).as_bytes())?;
    output.flush()?;
    let same = comparison.agreeing() == comparison.lines.len();
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn record(path: &Path) -> anyhow::Result<Record> {
    Record::from_json(&read(path)?).with_context(|| path.display().to_string())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
