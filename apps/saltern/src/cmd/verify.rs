//! `saltern verify`: whether a password matches a stored string, or which strings in a file.

mod site;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use clap::ArgGroup;
use saltern::table::{Kind, identify};
use saltern_rom::OpenRoms;
use saltern_yescrypt::{Error, HashString, Hasher, Limits, Scheme};
use serde::Serialize;

use crate::compute::{Many, One};
use crate::entries::{Entry, EntryArgs, OF_A_FILE};
use crate::jsonl::{self, JsonlArgs, Task};
use crate::key::KeyArgs;
use crate::limits::{LimitArgs, explain};
use crate::output::{self, Output};
use crate::password::{Password, PasswordArgs, Prompt};
use crate::policy::{self, Due};
use crate::rom::RomArgs;

use self::site::Site;

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
repeated in the answer. Answers are objects with `line` and `match` or
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

/// Options whose values come from a policy.
const NOT_WITH_POLICY: [&str; 7] = [
    "named",
    "assume_unnamed_key",
    "roms",
    "assume_unnamed_rom",
    "max_memory",
    "max_work",
    "beyond_crypt3",
];

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
    #[arg(long, value_name = "FILE", help_heading = "Policy", conflicts_with_all = NOT_WITH_POLICY)]
    policy: Option<PathBuf>,

    /// If a string that matches is outdated, print the string to store instead
    #[arg(long, help_heading = "Policy", requires = "policy", conflicts_with = "quiet")]
    update: bool,

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

/// The outcome for one stored string.
enum Outcome {
    /// With the update that is due under a policy.
    Match(Option<Due>),
    Mismatch,
    /// `!` or `*`: no password matches.
    Locked,
    /// The account has no password.
    NoPassword,
    /// Another scheme, or a string that is kept in another file.
    Unsupported(String),
    /// Malformed, over the limits, or unknown.
    Error(String),
}

/// An outcome in the form of `--json`.
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
    if let (true, Some(file)) = (args.many.jsonl, &args.policy) {
        let passwords = policy::many(file, args.limits.level()?, jsonl::WAITING)?;
        let obstacle =
            |stored: &str| site::settled(stored).map(|outcome| outcome.reason().to_owned());
        let passwords = if args.update { passwords } else { passwords.without_updates() };
        return jsonl::run(&args.many, Task::Login { passwords, obstacle });
    }
    if args.many.jsonl {
        let pool = args.many.pool(args.limits.level()?);
        let (hasher, roms) = hasher(&args)?;
        let computer = Arc::new(Many::new(hasher, roms, pool)?);
        let assumed = Assumed::of(&args);
        let notes = Box::new(move |stored: &HashString| assumed.notes(stored));
        let task = Task::Verify { computer, stored, notes };
        return jsonl::run(&args.many, task);
    }
    if args.entries.takes_stdin() && args.password.takes_stdin() {
        bail!("the strings and the password cannot both come from standard input");
    }
    let entries = args.entries.read()?;
    let mut verifier = Verifier::new(&args)?;
    let mut output = Output::new();
    let mut tally = Tally::default();
    for entry in &entries {
        let outcome = verifier.outcome(&args.password, entry)?;
        tally.count(&outcome);
        if let (Outcome::Mismatch, Ok(Ok(stored))) = (&outcome, entry.stored().map(known)) {
            output::note(&Assumed::of(&args).notes(&stored));
        }
        args.show(entry, entry.scheme(), &outcome, &mut output)?;
        output.flush()?;
    }
    tally.exit_code(&entries)
}

/// The string to compute, or the outcome if it does not depend on the password.
fn settle(entry: &Entry, limits: &Limits) -> Result<HashString, Outcome> {
    let stored = known(entry.stored().map_err(Outcome::Error)?)?;
    stored.setting().params().check(limits)?;
    Ok(stored)
}

/// A complete hash of a scheme that is computed here.
fn known(stored: &str) -> Result<HashString, Outcome> {
    let unsupported = match identify(stored)? {
        Kind::Ours(_, text) => return Ok(HashString::parse(text)?),
        Kind::Locked => return Err(Outcome::Locked),
        Kind::Empty => return Err(Outcome::NoPassword),
        Kind::Shadowed => "the string is in the shadow file".to_owned(),
        Kind::Foreign(known, _) => match known.advice() {
            Some(advice) => format!("this program does not compute {known}: {advice}"),
            None => format!("{known} can be verified only with --policy"),
        },
        Kind::Wrapped { .. } => "a wrapped hash can be verified only with --policy".to_owned(),
        _ => "this can be verified only with --policy".to_owned(),
    };
    Err(Outcome::Unsupported(unsupported))
}

/// The parsed string, or in words why no password can be compared with it.
fn stored(text: &str) -> Result<HashString, String> {
    known(text).map_err(|outcome| outcome.reason().to_owned())
}

/// Assumptions about strings that nothing in them confirms.
#[derive(Clone, Copy)]
struct Assumed {
    key: bool,
    rom: bool,
}

impl Assumed {
    fn of(args: &Args) -> Assumed {
        Assumed { key: args.key.assumes_unnamed(), rom: args.rom.assumes_unnamed() }
    }

    /// Other possible causes of a mismatch with this string.
    fn notes(self, stored: &HashString) -> Vec<String> {
        let setting = stored.setting();
        let plain = setting.scheme() == Scheme::Yescrypt;
        let key = "the string names no key and was assumed to be encrypted with that of --assume-unnamed-key: \
                   if it is plain, or of another key, no password matches";
        let rom = "the string names no ROM and was assumed to need that of --assume-unnamed-rom: if it needs \
                   another one of the same size, no password matches";
        let unnamed_rom = setting.reads_rom() && !setting.names_rom();
        let notes = [
            (self.key && plain && setting.key_id().is_none()).then_some(key),
            (self.rom && plain && unnamed_rom).then_some(rom),
        ];
        notes.into_iter().flatten().map(str::to_owned).collect()
    }
}

/// The state for computing strings; the password is asked for when the first one must be computed.
struct Verifier {
    by: By,
    password: Option<Password>,
}

/// The engine that computes strings.
enum By {
    Options { computer: Box<One>, limits: Limits },
    Policy(Box<Site>),
}

impl Verifier {
    fn new(args: &Args) -> anyhow::Result<Verifier> {
        let by = match &args.policy {
            Some(file) => By::Policy(Box::new(Site::new(file, args.limits.level()?, args.update)?)),
            None => {
                let (hasher, roms) = hasher(args)?;
                let computer = Box::new(One::new(hasher, roms, &args.limits)?);
                By::Options { computer, limits: args.limits.limits() }
            }
        };
        Ok(Verifier { by, password: None })
    }

    fn outcome(&mut self, source: &PasswordArgs, entry: &Entry) -> anyhow::Result<Outcome> {
        match &mut self.by {
            By::Options { computer, limits } => {
                let stored = match settle(entry, limits) {
                    Ok(stored) => stored,
                    Err(outcome) => return Ok(outcome),
                };
                let password = asked(&mut self.password, source)?;
                Ok(match computer.verify(password, &stored) {
                    Ok(true) => Outcome::Match(None),
                    Ok(false) => Outcome::Mismatch,
                    Err(error) => Outcome::Error(error.to_string()),
                })
            }
            By::Policy(site) => {
                match entry.stored().map(|stored| (stored, site::settled(stored))) {
                    Err(error) => Ok(Outcome::Error(error)),
                    Ok((_, Some(outcome))) => Ok(outcome),
                    Ok((stored, None)) => {
                        site.verify(entry, stored, asked(&mut self.password, source)?)
                    }
                }
            }
        }
    }
}

/// The password, asked for when it is first needed.
fn asked<'p>(
    password: &'p mut Option<Password>,
    source: &PasswordArgs,
) -> anyhow::Result<&'p Password> {
    Ok(match password {
        Some(password) => password,
        None => password.insert(source.read(Prompt::Once)?),
    })
}

fn hasher(args: &Args) -> anyhow::Result<(Hasher, OpenRoms)> {
    let hasher = Hasher::new().with_limits(args.limits.limits()).with_keys(args.key.read()?);
    let roms = args.rom.load()?;
    Ok((hasher.with_roms(roms.set), roms.open))
}

impl From<saltern::Error> for Outcome {
    fn from(error: saltern::Error) -> Outcome {
        Outcome::Error(error.to_string())
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Outcome {
        Outcome::Error(explain(error).to_string())
    }
}

impl Outcome {
    fn name(&self) -> &'static str {
        match self {
            Outcome::Match(_) => "match",
            Outcome::Mismatch => "mismatch",
            Outcome::Locked => "locked",
            Outcome::NoPassword => "no-password",
            Outcome::Unsupported(_) => "unsupported",
            Outcome::Error(_) => "error",
        }
    }

    fn matches(&self) -> Option<bool> {
        match self {
            Outcome::Match(_) => Some(true),
            Outcome::Mismatch => Some(false),
            _ => None,
        }
    }

    /// Why there is no answer.
    fn reason(&self) -> &str {
        match self {
            Outcome::Locked => "the account is locked, no password matches",
            _ => self.detail().unwrap_or("the account has no password"),
        }
    }

    fn due(&self) -> Option<&Due> {
        if let Outcome::Match(due) = self { due.as_ref() } else { None }
    }

    fn detail(&self) -> Option<&str> {
        match self {
            Outcome::Unsupported(detail) | Outcome::Error(detail) => Some(detail),
            _ => None,
        }
    }
}

impl Args {
    fn show(
        &self,
        entry: &Entry,
        scheme: Option<&'static str>,
        outcome: &Outcome,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        if self.json {
            return output.json(&Record {
                line: entry.line,
                user: entry.user(),
                scheme,
                result: outcome.name(),
                matches: outcome.matches(),
                outdated: outcome.due().map_or(&[], |due| &due.reasons),
                update: outcome.due().and_then(|due| due.new.as_deref()),
                error: outcome.detail(),
            });
        }
        // A single string that cannot be verified ends in an error message, see `Tally::exit_code`.
        if self.quiet || (entry.line.is_none() && outcome.matches().is_none()) {
            return Ok(());
        }
        let label = entry.label().map(|label| label + ": ").unwrap_or_default();
        let detail = outcome.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        let Some(due) = outcome.due() else {
            return output.line(format!("{label}{}{detail}", outcome.name()));
        };
        output.line(format!("{label}match, an update is due: {}", due.reasons.join(", ")))?;
        match &due.new {
            Some(new) => output.line(format!("{label}update: {new}")),
            None => Ok(()),
        }
    }
}

/// The number of outcomes of each kind, and the first reason for having none.
#[derive(Default)]
struct Tally {
    matches: usize,
    mismatches: usize,
    errors: usize,
    reason: Option<String>,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        match outcome.matches() {
            Some(true) => self.matches += 1,
            Some(false) => self.mismatches += 1,
            None => {
                self.errors += usize::from(matches!(outcome, Outcome::Error(_)));
                self.reason.get_or_insert_with(|| outcome.reason().to_owned());
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
