//! `saltern needs-rehash`: stored strings that differ from what new ones would be.

use std::process::ExitCode;

use serde::Serialize;

use crate::entries;
use crate::output::{Output, tell};
use crate::policy::{self, PolicyArgs};
use crate::table::{self, LineArgs, lines_help};

const EXAMPLES: &str = concat!(
    "\
Examples:
  saltern needs-rehash --policy saltern.toml < users.txt
  saltern needs-rehash --policy saltern.toml --json < users.jsonl
  saltern needs-rehash --lines < users.txt > outdated.txt

",
    lines_help!(),
    "

Each line of output names the account, or else the line number, and says
why the string is outdated:
  scheme   it is of another scheme, and not stronger than new hashes, or
           the policy does not accept its scheme
  cost     it is weaker than new hashes
  floor    it is weaker than the policy's floor
  salt     its salt is too short
  key      it is not encrypted with the active key
  rom      it does not use the active ROM
  wrapped  it is a hash over another hash
If `key` is the only reason, no password is needed: see `saltern
reencrypt`. The next login replaces all others, except a stronger string
of another scheme whose only fault is a short salt.

Exit status: 0 no string is outdated; 1 some are; 2 an error, or bad
lines, which are reported."
);

/// List stored strings that differ from what the policy makes now
///
/// Reads lines with stored strings from standard input. Nothing is computed, and no password is
/// needed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Print one JSON object for each outdated string
    #[arg(long)]
    json: bool,

    /// Print the lines of outdated strings, byte for byte
    #[arg(long = "lines", conflicts_with = "json")]
    whole: bool,

    #[command(flatten)]
    lines: LineArgs,
}

/// An outdated string in the form of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    reasons: &'a [&'static str],
    /// Whether only a login can replace it.
    needs_password: bool,
}

/// Run the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let site = policy::table(&args.policy.read()?)?;
    let (mut output, mut outdated) = (Output::new(), 0_u64);
    let report = args.lines.look(site.policy(), |entry| {
        let reasons = site.needs_rehash(entry.stored)?;
        if !reasons.any() {
            return Ok(Ok(()));
        }
        outdated += 1;
        let (line, words) = (entry.number, reasons.words());
        Ok(if args.whole {
            output.bytes(entry.line)
        } else if args.json {
            let user = entries::user_text(entry.account);
            let needs_password = reasons.needs_password();
            output.json(&Record { line, user, reasons: &words, needs_password })
        } else {
            let label = entries::label(line, entry.account);
            output.line(format!("{label}: {}", words.join(", ")))
        })
    })?;
    output.flush()?;
    let strings = report.lines - report.others - report.bad;
    tell(format_args!(
        "{outdated} of {strings} strings are outdated, {} lines are bad",
        report.bad
    ));
    if table::is_without_strings(&report) {
        return Ok(ExitCode::from(2));
    }
    Ok(match (report.bad, outdated) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    })
}
