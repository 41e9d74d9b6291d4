//! `saltern policy`: check and print policies.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use saltern::Prepared;

use crate::output::{Output, warn};
use crate::policy;

const EXAMPLES: &str = "\
Examples:
  saltern policy show > saltern.toml     the defaults, to begin with
  saltern policy check saltern.toml      before it is installed
  saltern policy check --text saltern.toml
                                         without its keys and ROMs
  saltern policy show saltern.toml       with the defaults filled in
  saltern hash --policy saltern.toml     as new strings of the site

An error names the file, the line, the key, its value, and what was
expected:
  saltern.toml:4: pool.threads = 0: expected 1 to 1024

All parts of the file are optional: `schemes`, the schemes that stored
strings may have; [params], the cost of new hashes; [floor], below which
stored hashes are reported; [limits] for all hashes; [[keys]] of hash
encryption, and `assume_unnamed_key`; [[roms]], and `assume_unnamed_rom`;
[pool], threads and memory; [decoy], what logins to unknown accounts
cost. File names are relative to the folder of the policy, unless they
begin with `/`.

Exit status: 0 the policy is good; 2 it is not, or an error.";

/// Check the policy of a site, or print it in full
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check a policy, its key files, and the manifests of its ROMs
    Check {
        /// Policy, such as saltern.toml
        file: PathBuf,
        /// Check the text of the policy alone; its keys and ROMs need not be there
        #[arg(long)]
        text: bool,
    },
    /// Print a policy with every value, including the defaults that it does not set
    Show {
        /// Policy, such as saltern.toml; without one, the defaults are printed
        file: Option<PathBuf>,
    },
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    match args.task {
        Task::Check { file, text } => {
            let policy = policy::read(&file)?;
            if !text {
                warn(&Prepared::check(&policy)?);
            }
            output.line(format!("{}: good", file.display()))?;
        }
        Task::Show { file } => {
            let policy = file.as_deref().map(policy::read).transpose()?.unwrap_or_default();
            output.bytes(policy.to_toml()?.as_bytes())?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
