//! `saltern checksalt`: whether crypt(3) would hash with a setting.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use saltern::table::{Kind, identify};
use saltern_yescrypt::Setting;

use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  saltern checksalt '$y$j9T$Salt'        ok, and exit status 0
  saltern checksalt '$7$A6..../....a b'  why not, and exit status 1

Exit status: 0 crypt(3) accepts all of them; 1 it refuses at least one;
2 an error, or a scheme that is not checked here.";

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
    let (mut status, mut unknown) = (ExitCode::SUCCESS, false);
    for setting in &args.settings {
        match Setting::checksalt(setting.as_encoded_bytes()) {
            Ok(()) => output.line(b"ok")?,
            Err(error) => match other_scheme(setting) {
                Some(scheme) => {
                    unknown = true;
                    let checked = "only settings of $y$ and $7$ are checked";
                    output.line(format!("unknown: {scheme}: {checked}"))?;
                }
                None => {
                    status = ExitCode::FAILURE;
                    output.line(format!("refused: {error}"))?;
                }
            },
        }
    }
    output.flush()?;
    Ok(if unknown { ExitCode::from(2) } else { status })
}

/// The name of a scheme that crypt(3) may know and this program does not check.
fn other_scheme(setting: &OsStr) -> Option<String> {
    match identify(setting.to_str()?) {
        Ok(Kind::Foreign(known, _)) => Some(known.to_string()),
        _ => None,
    }
}
