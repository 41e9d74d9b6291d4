//! `saltern wrap`: wrap stored strings of other schemes in a new hash, without the passwords.

use std::path::PathBuf;
use std::process::ExitCode;

use saltern::table::Entry;

use crate::policy;
use crate::site::{Origin, Site};
use crate::table::{self, LineArgs, lines_help};

/// More lines than are in progress at once.
const WAITING: usize = 1024;

const EXAMPLES: &str = concat!(
    "\
Examples:
  saltern wrap --policy saltern.toml < users.txt > wrapped.txt
  saltern wrap --policy saltern.toml --field 3 < dump.txt > wrapped.txt
  saltern wrap --policy saltern.toml --json-key pw < dump.jsonl > new

",
    lines_help!(),
    "

The policy says which schemes are accepted, what they may cost, and what
the hash around them costs. Strings of yescrypt and scrypt, and those
that are wrapped already, are passed on unchanged, so that an interrupted
run can be repeated. Replace a string in the table only if the old one is
still there: the user may have logged in meanwhile. Sealed strings stay
sealed: they need the id of their account (--id-field, --id-key).

Exit status: 0 every string is yescrypt or scrypt now, or wrapped; 2 an
error, or bad lines, or strings of a scheme or a cost that the policy
does not allow: these are reported and passed on unchanged; 130
interrupted, 143 terminated: the lines that were read are finished first,
and the message says how many were written."
);

/// Protect stored strings of older schemes with a new hash over them, without the passwords
///
/// Reads lines with stored strings from standard input and prints them in the same order, with
/// strings of other schemes replaced by `{over=…}` and a hash. They verify as before, and the next
/// login replaces them with a hash of the password alone.
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
    let site = Site::many(policy::read(&args.policy)?, Origin::File, None, WAITING)?;
    let passwords = site.passwords()?;
    let wrap = |entry: &Entry<'_>| match entry.account {
        Some(account) => passwords.for_account(account).wrap(entry.stored),
        None => passwords.wrap(entry.stored),
    };
    let report = args.lines.rewrite(passwords.table().policy(), wrap, ToString::to_string)?;
    Ok(table::end(&report, "wrapped", "not in need of wrapping"))
}
