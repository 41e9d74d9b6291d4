//! How sections are measured, and in which form records are shown.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use saltern_bench::case::Section;
use saltern_bench::compare::compare;
use saltern_bench::engine::Places;
use saltern_bench::merge::merge;
use saltern_bench::record::Record;
use saltern_bench::runner::Effort;
use saltern_bench::{report, suite, text};

use crate::progress::Progress;

/// How to measure.
#[derive(clap::Args)]
pub(super) struct Run {
    /// Fewer cases and less time for each
    #[arg(long)]
    pub(super) quick: bool,

    /// Only sections whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Threads where all processors are meant [default: one for each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,

    /// A shared library with yescrypt's own C interface, or a directory with one [default: that of
    /// the Python package pyescrypt, if installed]
    #[arg(long, value_name = "PATH")]
    upstream: Option<OsString>,

    /// Measure in so many processes, one after the other; intervals are over their medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    processes: u16,

    /// One of them: only write the record here
    #[arg(long, value_name = "FILE", hide = true)]
    part: Option<PathBuf>,

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
pub(super) struct Form {
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,

    /// Print Markdown tables in short: of what repeats a published table, only its figures beside
    /// ours
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
            Form { digest: true, .. } => Some(text::markdown(record, true)),
            Form { markdown: true, .. } => Some(text::markdown(record, false)),
            _ => None,
        }
    }

    /// The page, if it is wanted.
    fn page(&self, record: &Record) -> anyhow::Result<()> {
        let Some(path) = &self.html else { return Ok(()) };
        write(path, &report::render(record))
    }
}

impl Run {
    pub(super) fn options(&self) -> suite::Options {
        let words = env::args_os().skip(1);
        let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        suite::Options {
            command: format!("saltern-bench {}", words.join(" ")),
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

pub(super) fn measure(sections: &[Section], run: &Run) -> anyhow::Result<ExitCode> {
    if let Some(part) = &run.part {
        let record = suite::run(sections, &run.options(), &mut suite::Blind)?;
        write(part, &record.to_json()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = if run.processes > 1 { in_processes(run)? } else { here(sections, run)? };
    if run.processes > 1 && run.form.tables(&record).is_none() {
        show_sections(&record)?;
    }
    if let Some(path) = &run.json {
        write(path, &record.to_json()?)?;
    }
    run.form.page(&record)?;
    match run.form.tables(&record) {
        Some(tables) => print(&tables, &record),
        None => print(&format!("\n{}\n", text::LEGEND), &record),
    }
}

fn here(sections: &[Section], run: &Run) -> anyhow::Result<Record> {
    let mut progress = Progress::new(run.form.markdown || run.form.digest);
    let record = suite::run(sections, &run.options(), &mut progress);
    progress.finish()?;
    record
}

/// Measures in processes of their own, each with this command line, and merges their records.
fn in_processes(run: &Run) -> anyhow::Result<Record> {
    let directory = tempfile::tempdir().context("a temporary directory")?;
    let part = directory.path().join("part.json");
    let mut records = Vec::new();
    for _ in 0..run.processes {
        let mut process = Command::new(env::current_exe()?);
        let status = process.args(env::args_os().skip(1)).arg("--part").arg(&part).status()?;
        ensure!(status.success(), "a process that measures ended with {status}");
        records.push(record(&part)?);
    }
    let mut merged = merge(&records)?;
    merged.command = run.options().command;
    Ok(merged)
}

fn show_sections(record: &Record) -> io::Result<()> {
    let sections: String = record.sections.iter().map(text::section).collect();
    let header = text::header(&record.machine, &record.build);
    write!(io::stdout().lock(), "{header}\n{sections}")
}

pub(super) fn show(path: &Path, form: &Form) -> anyhow::Result<ExitCode> {
    let record = record(path)?;
    form.page(&record)?;
    if let Some(tables) = form.tables(&record) {
        return print(&tables, &record);
    }
    show_sections(&record)?;
    print(&format!("\n{}\n", text::LEGEND), &record)
}

/// Text and what the record says beside the numbers.
fn print(text: &str, record: &Record) -> anyhow::Result<ExitCode> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    if let Some(seen) = &record.neighbours {
        writeln!(output, "neighbours: {}", seen.words())?;
    }
    for note in &record.notes {
        writeln!(output, "note: {note}")?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn agree(paths: [&PathBuf; 2], tolerance: f64, all: bool) -> anyhow::Result<ExitCode> {
    ensure!((0.0..100.0).contains(&tolerance), "--tolerance {tolerance}: 0 to 100 percent");
    let [first, second] = paths.map(|path| record(path));
    let (first, second) = (first?, second?);
    let comparison = compare(&first, &second, tolerance / 100.0);
    ensure!(!comparison.lines.is_empty(), "the records have nothing in common");
    let mut output = io::stdout().lock();
    if first.machine != second.machine {
        writeln!(output, "note: the records are of different machines")?;
    }
    output.write_all(comparison.text(all).as_bytes())?;
    output.flush()?;
    let same = comparison.agreeing() == comparison.lines.len();
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn record(path: &Path) -> anyhow::Result<Record> {
    Record::from_json(&read(path)?).with_context(|| path.display().to_string())
}

pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
