//! `saltern checksalt`: whether crypt(3) would hash with a setting.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use saltern::table::{Kind, identify};
use saltern_yescrypt::{Scheme, Setting};

use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  saltern checksalt '$y$j9T$Salt'        ok, and exit status 0
  saltern checksalt '$7$A6..../....a b'  why not, and exit status 1
  saltern checksalt '$6$abc'             unknown, and exit status 2

Exit status: 0 crypt(3) accepts all of them; 1 it refuses at least one;
2 an error, or at least one is of a scheme that is not checked here: the
crypt(3) of the system may accept it or not.";

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
    let mut status = None;
    for setting in &args.settings {
        let verdict = match (unknown(setting), Setting::checksalt(setting.as_encoded_bytes())) {
            (Some(scheme), _) => {
                status = Some(ExitCode::from(2));
                format!("unknown: {scheme}: only strings of $y$ and $7$ are checked")
            }
            (None, Ok(())) => "ok".to_owned(),
            (None, Err(error)) => {
                status.get_or_insert(ExitCode::FAILURE);
                format!("refused: {error}")
            }
        };
        output.line(verdict)?;
    }
    output.flush()?;
    Ok(status.unwrap_or(ExitCode::SUCCESS))
}

/// What is said of a setting of a scheme about which nothing is known here but its name, if that.
fn unknown(setting: &OsStr) -> Option<String> {
    match identify(setting.to_str()?) {
        Ok(Kind::Foreign(known, _)) => Some(format!("{known} is not checked here")),
        Err(_) if Scheme::of(setting.as_encoded_bytes()).is_none() => {
            Some("no scheme that is known here".to_owned())
        }
        _ => None,
    }
}
