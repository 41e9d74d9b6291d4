//! `saltern reencrypt`: change the key of stored strings without knowing the passwords.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use saltern_yescrypt::{Hasher, keys::KeyId};

use crate::key::{self, NamedFile};
use crate::lines::{Line, Lines};
use crate::output::{Output, tell};
use crate::streams;

/// Longest line that can be a string; what is longer passes through in pieces of this size.
const MAX_LINE: usize = 64 << 10;

const EXAMPLES: &str = "\
Strings name the key that they are encrypted with, so that nothing is
encrypted twice: a string that already has the wanted key, or none with
--to-plain, is passed on unchanged. A string without a key name is taken
to be unencrypted.

Examples:
  saltern reencrypt --key 2026=new.key --to 2026 < old > new
  saltern reencrypt --key a=a.key --key b=b.key --to b < old > new
  saltern reencrypt --key 2026=new.key --to-plain < old > plain
  saltern reencrypt --assume-unnamed-key old.key --key 2026=new.key \\
      --to 2026 < encrypted-without-name > new

With --assume-unnamed-key a wrong key, or a string that is not encrypted,
cannot be noticed, and no password will match afterwards. Keep the old
strings until some of the new ones have been verified.

Exit status: 0 every line now has the wanted key; 2 an error, or a line
that is not a `$y$` hash or names a key that was not given, which is
reported and passed on unchanged.";

/// Change the key of encrypted strings, without passwords
///
/// Reads one `$y$` string per line from standard input and prints the re-encrypted strings in the
/// same order.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("target").args(["to", "to_plain"]).required(true))]
pub(crate) struct Args {
    /// A key and the name that strings carry; may be given several times
    #[arg(long = "key", value_name = "NAME=FILE", value_parser = NamedFile::parser(), required = true)]
    named: Vec<NamedFile>,

    /// Encrypt with the key of this name, which the strings then carry
    #[arg(long, value_name = "NAME")]
    to: Option<KeyId>,

    /// Remove the encryption
    #[arg(long, conflicts_with = "assume_unnamed_key")]
    to_plain: bool,

    /// Assume that strings without a key name are encrypted with the key in this file
    #[arg(long, value_name = "FILE")]
    assume_unnamed_key: Option<PathBuf>,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut keys = key::read_all(&args.named)?;
    if let Some(to) = args.to {
        keys.activate(to).with_context(|| format!("--key {to}=FILE is missing"))?;
    }
    if let Some(path) = &args.assume_unnamed_key {
        keys.assume_unnamed(key::read(path)?);
    }
    let hasher = Hasher::new().with_keys(keys);
    let stdin = streams::stdin().context("cannot read standard input")?;
    let mut lines = Lines::new(BufReader::new(stdin), MAX_LINE);
    let mut line = Vec::new();
    let mut output = Output::new();
    let (mut bad, mut changed) = (0, 0);
    while let Some(kind) = lines.next(&mut line).context("cannot read standard input")? {
        let error = match kind {
            Line::Whole => match change(&hasher, args.to_plain, &mut line) {
                Ok(is_other) => {
                    changed += u64::from(is_other);
                    None
                }
                Err(error) => Some(error),
            },
            Line::Start => Some(format!("longer than {MAX_LINE} bytes")),
            Line::Middle | Line::End => None,
        };
        if let Some(error) = error {
            bad += 1;
            tell(format_args!("line {}: {error}", lines.number()));
        }
        output.bytes(&line)?;
    }
    output.flush()?;
    let as_wanted = lines.number() - changed - bad;
    tell(format_args!(
        "{} lines, {changed} re-encrypted, {as_wanted} as wanted before, {bad} bad and left as they were",
        lines.number()
    ));
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Replace the string on a line, keeping its newline, and say whether it is another; on failure the
/// line is as it was.
fn change(hasher: &Hasher, to_plain: bool, line: &mut Vec<u8>) -> Result<bool, String> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let changed = if to_plain { hasher.without_key(text) } else { hasher.rekey(text) };
    let changed = changed.map_err(|error| error.to_string())?;
    let is_other = changed.as_bytes() != text;
    let length = text.len();
    line.splice(..length, changed.into_bytes());
    Ok(is_other)
}
