//! `saltern reencrypt`: change the key of stored strings without knowing the passwords.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use saltern_yescrypt::{HashKey, Hasher, KeyId};

use crate::key::{self, NamedFile};
use crate::lines::{Line, Lines};
use crate::output::{Output, tell};
use crate::streams;

/// Longest line that can be a string; what is longer passes through in pieces of this size.
const MAX_LINE: usize = 64 << 10;

const EXAMPLES: &str = "\
A string does not show whether it is encrypted or with which key: a wrong
--from-key is not noticed here, but no password will match afterwards.
Keep the old strings until some of the new ones have been verified.

Examples:
  saltern reencrypt --to-key new.key < plain.txt > encrypted.txt
  saltern reencrypt --from-key old.key --to-key new.key < old > new
  saltern reencrypt --from-key new.key < encrypted.txt > plain.txt
  saltern reencrypt --key a=a.key --key b=b.key --to b < old > new

Exit status: 0 every line was changed; 2 an error, or a line that is no
`$y$` hash, which is reported and passed on as it was.";

/// Change the key of encrypted strings, without passwords
///
/// Reads one `$y$` string a line on standard input and prints, in the same order, the strings that the other key
/// makes of the same passwords. Each key file holds 32 bytes, or 64 hexadecimal digits with or without a newline.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("keys").args(["from_key", "to_key", "to"]).multiple(true).required(true))]
pub(crate) struct Args {
    /// Key that the strings are encrypted with; without it they are plain
    #[arg(long, value_name = "FILE")]
    from_key: Option<PathBuf>,

    /// Key to encrypt them with; without it they become plain
    #[arg(long, value_name = "FILE")]
    to_key: Option<PathBuf>,

    /// A key with a name, for strings that carry it; may be given several times
    #[arg(long = "key", value_name = "NAME=FILE", value_parser = NamedFile::parser(), requires = "to", conflicts_with_all = ["to_key"])]
    named: Vec<NamedFile>,

    /// Encrypt with the key of this name, which the strings then carry
    ///
    /// Strings that name no key are taken to be plain, or encrypted with --from-key.
    #[arg(long, value_name = "NAME", requires = "named")]
    to: Option<KeyId>,
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let from = args.from_key.as_deref().map(key::read).transpose()?;
    let keys = match args.to {
        Some(to) => {
            let mut keys = key::read_all(&args.named)?;
            keys.activate(to).with_context(|| format!("--key {to}=FILE is missing"))?;
            if let Some(from) = from {
                keys.set_unnamed(from);
            }
            Keys::Named(Box::new(Hasher::new().with_keys(keys)))
        }
        None => Keys::Plain { from, to: args.to_key.as_deref().map(key::read).transpose()? },
    };
    let stdin = streams::stdin().context("cannot read standard input")?;
    let mut lines = Lines::new(BufReader::new(stdin), MAX_LINE);
    let mut line = Vec::new();
    let mut output = Output::new();
    let mut bad = 0;
    while let Some(kind) = lines.next(&mut line).context("cannot read standard input")? {
        let error = match kind {
            Line::Whole => keys.change(&mut line).err(),
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
    let all = lines.number();
    tell(format_args!("{all} lines, {} re-encrypted, {bad} bad and left as they were", all - bad));
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

enum Keys {
    Plain { from: Option<HashKey>, to: Option<HashKey> },
    Named(Box<Hasher>),
}

impl Keys {
    /// Replace the string on a line, keeping its newline; on failure the line is as it was.
    fn change(&self, line: &mut Vec<u8>) -> Result<(), String> {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let changed = match self {
            Keys::Plain { from, to } => {
                saltern_yescrypt::reencrypt(text, from.as_ref(), to.as_ref())
            }
            Keys::Named(hasher) => hasher.rekey(text).map(String::into_bytes),
        };
        let changed = changed.map_err(|error| error.to_string())?;
        let length = text.len();
        line.splice(..length, changed);
        Ok(())
    }
}
