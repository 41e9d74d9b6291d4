//! `saltern seal`: bind stored strings to their accounts, without the passwords.

use std::path::PathBuf;
use std::process::ExitCode;

use saltern::table::Entry;

use crate::policy;
use crate::table::{self, LineArgs, lines_help};

const EXAMPLES: &str = concat!(
    "\
Examples:
  saltern seal --policy saltern.toml < users.txt > sealed.txt
  saltern seal --policy saltern.toml --id-field 3 < dump.txt > new
  saltern seal --policy saltern.toml --json-key pw --id-key id < a > b

",
    lines_help!(),
    "

A string is sealed for the id of its account: the first field, unless
--id-field or --id-key says otherwise. This must be the id that logins
give, and must never change. Lines without an id are bad.

Strings get a seal of the active key of [[seal.keys]]; those that have
it are passed on unchanged, so that an interrupted run can be repeated.
If no key is active, seals come off. Strings of every scheme can be
sealed. Replace a string in the table only if the old one is still
there: the user may have logged in meanwhile.

A string whose seal is wrong is tampered: it was sealed for another
account, or altered. It is reported with its line and never sealed anew,
and neither is one without a seal once the policy has required = true.

Exit status: 0 every string is sealed now; 2 an error, or bad lines, or
tampered strings: these are reported and passed on unchanged; 130
interrupted, 143 terminated: the lines that were read are finished first,
and the message says how many were written."
);

/// Seal stored strings, so that none can be moved to another account, altered or inserted
///
/// Reads lines with stored strings from standard input and prints them in the same order, with
/// strings replaced by `{seal=…}` and the string itself. No password is needed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Policy of the site, such as saltern.toml
    #[arg(long, value_name = "FILE", required = true)]
    policy: PathBuf,

    #[command(flatten)]
    lines: LineArgs,
}

/// Run the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let table = policy::table(&policy::read(&args.policy)?)?;
    let seal = |entry: &Entry<'_>| table::of(&table, entry).seal(entry.stored).into();
    let report = args.lines.rewrite(table.policy(), seal, ToString::to_string)?;
    Ok(table::end(&report, "sealed", "already done"))
}
