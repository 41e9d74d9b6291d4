//! `saltern man`: the manual pages, made from the same definitions as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap_mangen::Man;

use crate::output::print;

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
pub(crate) fn run(args: Args, mut program: clap::Command) -> anyhow::Result<ExitCode> {
    program = program.disable_help_subcommand(true);
    program.build();
    if let Some(dir) = &args.dir {
        write_pages(&program, dir)
            .with_context(|| format!("cannot write the manual pages into {}", dir.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(page(&program).context("cannot make the manual page")?)?;
    Ok(ExitCode::SUCCESS)
}

/// A page for the command and for each below it.
fn write_pages(command: &clap::Command, dir: &Path) -> io::Result<()> {
    fs::write(dir.join(name(command) + ".1"), page(command)?)?;
    command.get_subcommands().try_for_each(|command| write_pages(command, dir))
}

/// `saltern-hash` for the subcommand `hash`.
fn name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// The page, with the text after the options unchanged: its lines are already formatted.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string);
    let mut page = Vec::new();
    let name = name(command);
    let command = command.clone().name(name.clone()).after_help(None);
    Man::new(command).title(name.to_uppercase()).render(&mut page)?;
    if let Some(after) = after {
        writeln!(page, ".SH NOTES\n.nf")?;
        for line in after.lines() {
            // A dot or quote at the start would be a command to roff.
            let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
            writeln!(page, "{guard}{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
        writeln!(page, ".fi")?;
    }
    Ok(page)
}
