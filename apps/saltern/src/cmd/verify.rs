//! `saltern verify`: whether a password matches a stored string, or which strings in a file.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{bail, ensure};
use clap::ArgGroup;
use saltern::{Passwords, Prepared};
use serde::Serialize;

use crate::entries::{Entry, EntryArgs, OF_A_FILE};
use crate::jsonl::{self, JsonlArgs, Task};
use crate::key::KeyArgs;
use crate::limits::LimitArgs;
use crate::output::{self, Output};
use crate::password::{Password, PasswordArgs, Prompt};
use crate::policy;
use crate::rom::RomArgs;
use crate::site::{Origin, Site};
use crate::verdict::{Assumed, Verdict};

const EXAMPLES: &str = "\
A file is tried line by line. Lines that cannot be verified are
reported: accounts that are locked (`!`, `*`) or have no password, and,
without --policy, schemes other than yescrypt ($y$), its older generation
0.5 ($7X) and scrypt ($7$), such as sha512crypt ($6$).

With --policy strings are verified as the site verifies them, with the
schemes, limits, keys and ROMs of the policy. If a string that matches is
outdated, the answer says why, in the terms of `saltern needs-rehash`;
--update also computes and prints the string to store instead. Store it
only if the old string is still there.

Examples:
  saltern verify '$y$j9T$…$…'            ask for the password
  saltern verify --stdin --hash-file bob.hash < bob.password
  sudo saltern verify --hash-file /etc/shadow --user bob
  saltern verify --hash-file users.txt --json
  saltern verify --policy saltern.toml --update '$2b$12$…'
  saltern verify --jsonl < logins.jsonl  many, on all processors
  saltern verify --rom shm:2025 --rom shm:2026 --hash-file users.txt
  saltern verify --rom big.rom --rom-access direct --jsonl < logins.jsonl

With --jsonl a line holds an object with `password` or `password_hex`
for bytes that are not UTF-8; `hash`; and optionally `id`, which is
repeated in the answer; and `account`, its id, for which the string may
be sealed. Answers are objects with `line` and `match` or
`error`, such as
  {\"id\":7,\"password\":\"secret\",\"hash\":\"$y$j9T$…\"}
  {\"line\":1,\"id\":7,\"match\":true}
They come in the order of the lines, or with --unordered as soon as each
is ready. Notes that would be printed on the terminal are in `notes`. A
line's `timeout_ms` takes precedence over --deadline. A bad line is
answered with its error and does not affect the others. With --policy,
`outdated` says why an update is due, and with --update, `update` holds
the new string.

Exit status:
  0  the password matches (in a file: at least one of the strings)
  1  it matches none of them
  2  an error, such as a malformed or too expensive string, a missing
     ROM or key, a damaged ROM, or an unknown user, even if other
     strings match; or nothing to verify
With --jsonl:
  0 if every line matches, 1 if one does not, 2 if one is in error";

/// Check whether a password matches a stored string
///
/// Without --stdin or --password-fd the program prompts for the password on the terminal. With a
/// file such as /etc/shadow, the password is tried for every account, or only for that of --user.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("what").args(["hash", "hash_file", "jsonl"]).required(true))]
#[command(group = ArgGroup::new("of_a_file").args(OF_A_FILE).multiple(true).conflicts_with_all(["hash", "jsonl"]))]
pub(crate) struct Args {
    #[command(flatten)]
    entries: EntryArgs,

    /// Verify with the schemes, limits, keys and ROMs of this site policy
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    policy: Option<PathBuf>,

    /// If a string that matches is outdated, print the string to store instead
    #[arg(long, help_heading = "Policy", requires = "policy", conflicts_with = "quiet")]
    update: bool,

    /// Id of the account, for which the string may be sealed; in a file, the user of the line
    #[arg(long, value_name = "ID", help_heading = "Policy", requires = "policy", conflicts_with_all = ["hash_file", "jsonl"])]
    account: Option<OsString>,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    rom: RomArgs,

    /// Print one JSON object for each string
    #[arg(long, help_heading = "Output", conflicts_with = "jsonl")]
    json: bool,

    /// Print nothing; the exit status is the answer
    #[arg(long, short, help_heading = "Output", conflicts_with_all = ["json", "jsonl"])]
    quiet: bool,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    many: JsonlArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

/// A verdict in the form of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    scheme: Option<&'a str>,
    /// One of `match`, `mismatch`, `locked`, `no-password`, `unsupported`, `error`.
    result: &'a str,
    /// Null where no answer is possible.
    #[serde(rename = "match")]
    matches: Option<bool>,
    /// Why an update is due, if one is.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outdated: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reads_stdin = args.entries.takes_stdin() && args.password.takes_stdin();
    ensure!(!reads_stdin, "the strings and the password cannot both come from standard input");
    let entries = if args.many.jsonl { Vec::new() } else { args.entries()? };
    let site = args.site()?;
    let assumed = Assumed::new(&args.key, &args.rom);
    if args.many.jsonl {
        return jsonl::run(&args.many, site, Task::Verify { updates: args.update, assumed });
    }
    let mut verifier = Verifier { site, password: None };
    let mut output = Output::new();
    let mut tally = Tally::default();
    for entry in &entries {
        let verdict = verifier.verdict(&args, entry)?;
        tally.count(&verdict);
        if let (Verdict::Mismatch, Ok(stored)) = (&verdict, entry.stored()) {
            output::note(&assumed.notes(stored));
        }
        args.show(entry, &verdict, &mut output)?;
        output.flush()?;
    }
    tally.exit_code(&entries)
}

/// The state for computing strings; the password is asked for when the first one must be computed.
struct Verifier {
    site: Site,
    password: Option<Password>,
}

impl Verifier {
    fn verdict(&mut self, args: &Args, entry: &Entry) -> anyhow::Result<Verdict> {
        let origin = self.site.origin;
        let stored = match entry.stored() {
            Ok(stored) => stored,
            Err(error) => return Ok(Verdict::Error(error)),
        };
        if let Some(verdict) = Verdict::known(stored, origin) {
            return Ok(verdict);
        }
        let password = match &mut self.password {
            Some(password) => password,
            // Nobody is asked for a password that cannot be used.
            None => match args.for_account(self.site.prepared(), entry).can_verify(stored) {
                Err(error) => return Ok(Verdict::of(Err(error), origin)),
                Ok(_) => self.password.insert(args.password.read(Prompt::Once)?),
            },
        };
        let passwords = self.site.passwords()?;
        let account = args.account(entry).unwrap_or_default();
        let verify = |passwords: &Passwords| passwords.verify(account, &**password, Some(stored));
        let ticket = match args.update {
            true => verify(passwords),
            false => verify(&passwords.without_updates()),
        };
        Ok(Verdict::of(ticket.wait(), origin))
    }
}

impl Args {
    /// The account that a string belongs to, if that is known.
    fn account<'a>(&'a self, entry: &'a Entry) -> Option<&'a [u8]> {
        entry.user.as_deref().or(self.account.as_deref().map(OsStr::as_encoded_bytes))
    }

    fn for_account(&self, prepared: &Prepared, entry: &Entry) -> Prepared {
        let account = self.account(entry).filter(|account| !account.is_empty());
        account.map_or_else(|| prepared.clone(), |account| prepared.for_account(account))
    }

    /// The strings, where that is the policy's to say under this one.
    fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let policy = self.policy.as_deref().filter(|_| self.entries.needs_policy());
        self.entries.read(policy.map(policy::read).transpose()?.as_ref())
    }

    /// The policy of a file or of the options.
    fn site(&self) -> anyhow::Result<Site> {
        let level = self.limits.level()?;
        if let Some(file) = &self.policy {
            return self.many.open(policy::read(file)?, Origin::File, level);
        }
        let mut policy = self.limits.policy()?;
        self.key.add_to(&mut policy, None)?;
        self.rom.add_to(&mut policy)?;
        self.many.open(policy, Origin::Options, level)
    }

    fn show(&self, entry: &Entry, verdict: &Verdict, output: &mut Output) -> anyhow::Result<()> {
        if self.json {
            return output.json(&Record {
                line: entry.line,
                user: entry.user(),
                scheme: entry.scheme(),
                result: verdict.name(),
                matches: verdict.matches(),
                outdated: verdict.due().map_or(&[], |due| &due.reasons),
                update: verdict.due().and_then(|due| due.new.as_deref()),
                error: verdict.detail(),
            });
        }
        // A single string that cannot be verified ends in an error message, see `Tally::exit_code`.
        if self.quiet || (entry.line.is_none() && verdict.matches().is_none()) {
            return Ok(());
        }
        let label = entry.label().map(|label| label + ": ").unwrap_or_default();
        let detail = verdict.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        let Some(due) = verdict.due() else {
            return output.line(format!("{label}{}{detail}", verdict.name()));
        };
        output.line(format!("{label}match, an update is due: {}", due.reasons.join(", ")))?;
        match &due.new {
            Some(new) => output.line(format!("{label}update: {new}")),
            None => Ok(()),
        }
    }
}

/// The number of verdicts of each kind, and the first reason for having none.
#[derive(Default)]
struct Tally {
    matches: usize,
    mismatches: usize,
    errors: usize,
    reason: Option<String>,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict) {
        match verdict.matches() {
            Some(true) => self.matches += 1,
            Some(false) => self.mismatches += 1,
            None => {
                self.errors += usize::from(matches!(verdict, Verdict::Error(_)));
                self.reason.get_or_insert_with(|| verdict.reason().to_owned());
            }
        }
    }

    fn exit_code(self, entries: &[Entry]) -> anyhow::Result<ExitCode> {
        let reason = self.reason.unwrap_or_default();
        match entries {
            [Entry { line: None, .. }] if !reason.is_empty() => bail!("cannot verify: {reason}"),
            _ if self.errors > 0 => {
                bail!("{} of {} strings are in error", self.errors, entries.len())
            }
            _ if self.matches > 0 => Ok(ExitCode::SUCCESS),
            _ if self.mismatches > 0 => Ok(ExitCode::from(1)),
            [_] => bail!("cannot verify: {reason}"),
            _ => bail!("none of {} strings can be verified here", entries.len()),
        }
    }
}
