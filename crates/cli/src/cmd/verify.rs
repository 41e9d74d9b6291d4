//! `saltern verify`: does a password match a stored string, or which strings of a file.

use std::process::ExitCode;

use anyhow::bail;
use clap::ArgGroup;
use saltern_yescrypt::{Error, HashString, Hasher, Limits, Scheme};
use serde::Serialize;

use crate::compute::{Many, One};
use crate::effort::{EffortArgs, explain};
use crate::entries::{Entry, EntryArgs};
use crate::jsonl::{self, JsonlArgs, Task};
use crate::key::KeyArgs;
use crate::output::{Output, tell};
use crate::password::{Password, PasswordArgs, Prompt};
use crate::rom::{Media, RomArgs};
use crate::scheme::{self, Stored};

const EXAMPLES: &str = "\
A file is tried line by line. Lines that cannot be verified are
reported: accounts that are locked (`!`, `*`) or have no password, and
schemes other than yescrypt ($y$), its older generation 0.5 ($7X) and
scrypt ($7$), such as sha512crypt ($6$).

Examples:
  saltern verify '$y$j9T$…$…'            ask for the password
  saltern verify --stdin --hash-file bob.hash < bob.password
  sudo saltern verify --hash-file /etc/shadow --user bob
  saltern verify --hash-file users.txt --json
  saltern verify --jsonl < logins.jsonl  many, on all processors
  saltern verify --rom shm:2025 --rom shm:2026 --hash-file users.txt
  saltern verify --rom big.rom --rom-access direct --jsonl < logins.jsonl

With --jsonl a line holds an object with `password`, or `password_hex`
for bytes that are not UTF-8; `hash`; and optionally `id`, which is
repeated in the answer. Answers are objects with `line` and `match` or
`error`, such as
  {\"id\":7,\"password\":\"secret\",\"hash\":\"$y$j9T$…\"}
  {\"line\":1,\"id\":7,\"match\":true}
They come in the order of the lines, or with --unordered as soon as each
is ready. Notes that would be printed on the terminal are in `notes`. A
line's `deadline_ms` takes precedence over --deadline. A bad line is
answered with its error and does not affect the others.

Exit status:
  0  the password matches (in a file: at least one of the strings)
  1  it matches none of them
  2  an error, such as a malformed or too expensive string, a ROM or a
     key that is not there, a ROM that is damaged, or an unknown user,
     even if others match; or nothing that could be verified
With --jsonl:
  0 if every line matches, 1 if one does not, 2 if one is in error";

/// Check whether a password matches a stored string
///
/// Without --stdin or --password-fd the program prompts for the password on the terminal. With a
/// file in the format of /etc/shadow the password is tried on every account, or only on that of
/// --user.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("what").args(["hash", "hash_file", "jsonl"]).required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    entries: EntryArgs,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    rom: RomArgs,

    /// Print one JSON object for each string
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,

    /// Print nothing; the exit status is the answer
    #[arg(long, short, conflicts_with_all = ["json", "jsonl"])]
    quiet: bool,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    many: JsonlArgs,

    #[command(flatten)]
    effort: EffortArgs,
}

/// What became of one stored string.
enum Outcome {
    Match,
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

/// An outcome as `--json` shows it.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.many.jsonl {
        let pool = args.many.pool(args.effort.level()?);
        let (hasher, media) = hasher(&args)?;
        let key_is_assumed = args.key.assumes_unnamed();
        let task = Task::Verify { stored, note: key_note, key_is_assumed };
        return jsonl::run(&args.many, task, Many::new(hasher, media, pool)?);
    }
    if args.entries.takes_stdin() && args.password.takes_stdin() {
        bail!("standard input cannot give both the strings and the password");
    }
    let entries = args.entries.read()?;
    let mut verifier = Verifier::new(&args)?;
    let mut output = Output::new();
    let mut tally = Tally::default();
    for entry in &entries {
        let stored = settle(entry, &verifier.limits);
        let note = stored.as_ref().ok().and_then(|s| key_note(s, args.key.assumes_unnamed()));
        let outcome = match stored {
            Ok(stored) => verifier.verify(&args.password, &stored)?,
            Err(outcome) => outcome,
        };
        tally.count(&outcome);
        if let (Outcome::Mismatch, Some(note)) = (&outcome, note) {
            tell(format_args!("note: {note}"));
        }
        args.show(entry, &outcome, &mut output)?;
        output.flush()?;
    }
    tally.exit_code(&entries)
}

/// The string that has to be computed, or the outcome where it does not depend on the password.
fn settle(entry: &Entry, limits: &Limits) -> Result<HashString, Outcome> {
    let stored = known(entry.field().map_err(Outcome::Error)?)?;
    stored.setting().params().check(limits)?;
    Ok(stored)
}

/// A complete hash of a scheme that is computed here.
fn known(field: &[u8]) -> Result<HashString, Outcome> {
    Err(match scheme::identify(field) {
        Stored::Ours(_) => return Ok(HashString::parse(field)?),
        Stored::Foreign(foreign) => {
            let scheme::Foreign { name, prefix } = foreign;
            Outcome::Unsupported(format!("{name} ({prefix}) is not computed by this program"))
        }
        Stored::Locked => Outcome::Locked,
        Stored::Empty => Outcome::NoPassword,
        Stored::Elsewhere => Outcome::Unsupported("the string is in the shadow file".to_owned()),
        Stored::Unknown => Outcome::Error("this is no hash string of a known scheme".to_owned()),
    })
}

/// The same, with the outcome in words.
fn stored(field: &[u8]) -> Result<HashString, String> {
    known(field).map_err(|outcome| outcome.reason().to_owned())
}

/// What else a mismatch may come of: an assumption about the key that nothing in the string
/// confirms.
fn key_note(stored: &HashString, assumed: bool) -> Option<String> {
    let setting = stored.setting();
    let unnamed = setting.scheme() == Scheme::Yescrypt && setting.key_id().is_none();
    (assumed && unnamed).then(|| {
        "the string names no key and was assumed to be encrypted with that of --assume-unnamed-key: if it \
         is plain, or of another key, no password matches"
            .to_owned()
    })
}

/// What is needed to compute strings; the password is asked for when the first one has to be.
struct Verifier {
    computer: One,
    limits: Limits,
    password: Option<Password>,
}

impl Verifier {
    fn new(args: &Args) -> anyhow::Result<Verifier> {
        let (hasher, media) = hasher(args)?;
        let computer = One::new(hasher, media, &args.effort)?;
        Ok(Verifier { computer, limits: args.effort.limits(), password: None })
    }

    fn verify(&mut self, source: &PasswordArgs, stored: &HashString) -> anyhow::Result<Outcome> {
        let password = match self.password.take() {
            Some(password) => password,
            None => source.read(Prompt::Once)?,
        };
        let result = self.computer.verify(&password, stored);
        self.password = Some(password);
        Ok(match result {
            Ok(true) => Outcome::Match,
            Ok(false) => Outcome::Mismatch,
            Err(error) => Outcome::Error(error.to_string()),
        })
    }
}

fn hasher(args: &Args) -> anyhow::Result<(Hasher, Media)> {
    let hasher = Hasher::new().with_limits(args.effort.limits()).with_keys(args.key.read()?);
    let roms = args.rom.load()?;
    Ok((hasher.with_roms(roms.set), roms.media))
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Outcome {
        Outcome::Error(explain(error).to_string())
    }
}

impl Outcome {
    fn name(&self) -> &'static str {
        match self {
            Outcome::Match => "match",
            Outcome::Mismatch => "mismatch",
            Outcome::Locked => "locked",
            Outcome::NoPassword => "no-password",
            Outcome::Unsupported(_) => "unsupported",
            Outcome::Error(_) => "error",
        }
    }

    fn matches(&self) -> Option<bool> {
        match self {
            Outcome::Match => Some(true),
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

    fn detail(&self) -> Option<&str> {
        match self {
            Outcome::Unsupported(detail) | Outcome::Error(detail) => Some(detail),
            _ => None,
        }
    }
}

impl Args {
    fn show(&self, entry: &Entry, outcome: &Outcome, output: &mut Output) -> anyhow::Result<()> {
        if self.json {
            return output.json(&Record {
                line: entry.line,
                user: entry.user(),
                scheme: scheme_name(entry),
                result: outcome.name(),
                matches: outcome.matches(),
                error: outcome.detail(),
            });
        }
        // A single string that cannot be verified ends in an error message, see `Tally::exit_code`.
        if self.quiet || (entry.line.is_none() && outcome.matches().is_none()) {
            return Ok(());
        }
        let label = entry.label().map(|label| label + ": ").unwrap_or_default();
        let detail = outcome.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        output.line(format!("{label}{}{detail}", outcome.name()))
    }
}

fn scheme_name(entry: &Entry) -> Option<&'static str> {
    match scheme::identify(entry.field.as_deref()?) {
        Stored::Ours(scheme) => Some(scheme::name(scheme)),
        Stored::Foreign(foreign) => Some(foreign.name),
        _ => None,
    }
}

/// How often each kind of outcome came up, and the first reason for having none.
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
