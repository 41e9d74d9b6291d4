//! `saltern checksalt`: whether crypt(3) would hash with a setting.

use std::ffi::OsString;
use std::process::ExitCode;

use saltern_yescrypt::Setting;

use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  saltern checksalt '$y$j9T$Salt'        ok, and exit status 0
  saltern checksalt '$7$A6..../....a b'  why not, and exit status 1

Exit status: 0 crypt(3) accepts all of them; 1 it refuses at least one;
2 an error.";

/// Check whether crypt(3) accepts a setting
///
/// Takes settings or complete hashes of `$y$` and `$7$` and prints one line for each. Nothing is
/// computed, and costs are not checked.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Settings or complete hashes
    #[arg(required = true)]
    settings: Vec<OsString>,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    let mut status = ExitCode::SUCCESS;
    for setting in &args.settings {
        match Setting::checksalt(setting.as_encoded_bytes()) {
            Ok(()) => output.line(b"ok")?,
            Err(error) => {
                status = ExitCode::FAILURE;
                output.line(format!("refused: {error}").as_bytes())?;
            }
        }
    }
    output.flush()?;
    Ok(status)
}
