//! A stored record as a page.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use saltern_bench::record::Record;
use saltern_bench::report;

const USAGE: &str = "\
usage: report RECORD PAGE

Reads RECORD, which a benchmark run wrote with --json, and writes it as one HTML file to PAGE.
";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(record), Some(page), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(record.into(), page.into()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(record: PathBuf, page: PathBuf) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&record)
        .with_context(|| format!("cannot read {}", record.display()))?;
    let record = Record::from_json(&text)
        .with_context(|| format!("{} is not a record of this program", record.display()))?;
    std::fs::write(&page, report::render(&record))
        .with_context(|| format!("cannot write {}", page.display()))
}
