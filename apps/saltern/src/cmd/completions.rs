//! `saltern completions`: shell completions for the program's options.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::output::print;

/// Print the completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  saltern completions bash > /etc/bash_completion.d/saltern
  saltern completions zsh > ~/.zfunc/_saltern
  saltern completions fish > ~/.config/fish/completions/saltern.fish")]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

/// Run the subcommand for the program's command line definition.
pub(crate) fn run(args: Args, mut program: clap::Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "saltern", &mut script);
    print(&script)?;
    Ok(ExitCode::SUCCESS)
}
