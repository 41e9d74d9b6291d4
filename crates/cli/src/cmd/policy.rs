//! `saltern policy`: whether a policy is good, and what it says.

mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use saltern::Passwords;

use crate::output::Output;
use crate::policy;

const EXAMPLES: &str = "\
Examples:
  saltern policy show > saltern.toml     the defaults, to begin with
  saltern policy check saltern.toml      before it is put in its place
  saltern policy check --text saltern.toml
                                         where the keys and ROMs are not
  saltern policy show saltern.toml       with the defaults filled in
  saltern hash --policy saltern.toml     a string as the site makes them

What is wrong is told with file, line, key, value, and what is allowed:
  saltern.toml:4: pool.threads = 0: allowed is 1 to 1024

Keys of the file, all of them optional: `schemes` that stored strings may
be; [params] of new hashes; [floor] below which stored ones are reported;
[limits] for all; [[keys]] of hash encryption and `assume_unnamed_key`;
[[roms]] and `assume_unnamed_rom`; [pool]; [decoy] for what unknown
accounts cost. Names of files are beside the policy, unless they begin
with `/`.

Exit status: 0 the policy is good; 2 it is not, or an error.";

/// Check the policy of a site, or show all of it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check a policy, its files of keys, and the manifests of its ROMs
    Check {
        /// Policy, such as saltern.toml
        file: PathBuf,
        /// Check the policy alone: keys and ROMs need not be there
        #[arg(long)]
        text: bool,
    },
    /// Print a policy as a file with every value, also those that it leaves to the defaults
    Show {
        /// Policy, such as saltern.toml (default: the defaults)
        file: Option<PathBuf>,
    },
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    match args.task {
        Task::Check { file, text } => {
            check(&file, text)?;
            output.line(format!("{}: good", file.display()))?;
        }
        Task::Show { file } => {
            let policy = file.as_deref().map(policy::read).transpose()?.unwrap_or_default();
            output.bytes(show::text(&policy)?.as_bytes())?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn check(file: &Path, text: bool) -> anyhow::Result<()> {
    let mut policy = policy::read(file)?;
    if text {
        return Ok(());
    }
    policy::table(&policy)?;
    // What hashing needs beside that, but for the images of ROMs, which take long, and memory.
    policy.roms.clear();
    (policy.pool.threads, policy.pool.prepare) = (1, None);
    Passwords::new(policy)?;
    Ok(())
}
