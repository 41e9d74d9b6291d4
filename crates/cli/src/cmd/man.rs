//! `saltern man`: the manual pages, made from the same definitions as `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::output::Output;

/// Print the manual page, or write a page for each subcommand into a directory
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  saltern man | man -l -
  saltern man --dir /usr/local/share/man/man1")]
pub(crate) struct Args {
    /// Write saltern.1, saltern-hash.1 and so on into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Run the subcommand for the program's command line definition.
pub(crate) fn run(args: Args, program: clap::Command) -> anyhow::Result<ExitCode> {
    if let Some(dir) = args.dir {
        let context = || format!("cannot write the manual pages into {}", dir.display());
        clap_mangen::generate_to(program, &dir).with_context(context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(program).render(&mut page).context("cannot make the manual page")?;
    let mut output = Output::new();
    output.bytes(&page)?;
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
