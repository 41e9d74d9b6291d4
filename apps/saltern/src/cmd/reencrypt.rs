//! `saltern reencrypt`: change the key of stored strings without knowing the passwords.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::ArgGroup;
use saltern::table::{Entry, Table, scheme};
use saltern::{Error, Policy};
use saltern_yescrypt::keys::KeyId;

use crate::key::KeyArgs;
use crate::policy;
use crate::table::{self, LineArgs, lines_help};

const EXAMPLES: &str = concat!(
    "\
Examples:
  saltern reencrypt --policy saltern.toml < old > new
  saltern reencrypt --key 2026=new.key --to 2026 < old > new
  saltern reencrypt --key a=a.key --key b=b.key --to b < old > new
  saltern reencrypt --key 2026=new.key --to-plain < old > plain
  saltern reencrypt --assume-unnamed-key old.key --key 2026=new.key \\
      --to 2026 < encrypted-without-name > new

",
    lines_help!(),
    "

Strings name the key that they are encrypted with, so that nothing is
encrypted twice: a string that already has the wanted key, or none with
--to-plain, is passed on unchanged. A string without a key name is taken
to be unencrypted.

With a policy, strings get its active key, or none if no key is active.
Strings of other schemes that the policy accepts cannot be encrypted and
are passed on unchanged. When `saltern census --retire-key` says so, the
old key can be removed from the policy. Sealed strings stay sealed: they
need the id of their account (--id-field, --id-key).

With --assume-unnamed-key a wrong key, or a string that is not encrypted,
cannot be detected, and no password will match afterwards. Keep the old
strings until some of the new ones have been verified.

Exit status: 0 every string now has the wanted key; 2 an error, or bad
lines, or strings of a scheme that is not accepted or with a key that was
not given: these are reported and passed on unchanged; 130 interrupted,
143 terminated: the lines that were read are finished first, and the
message says how many were written."
);

/// Change the key of encrypted strings, without passwords
///
/// Reads lines with stored strings from standard input and prints them in the same order, with the
/// re-encrypted strings in their places.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("target").args(["to", "to_plain", "policy"]).required(true))]
#[command(group = ArgGroup::new("keys").args(["named", "policy"]).required(true))]
pub(crate) struct Args {
    /// Policy of the site, such as saltern.toml; strings get its active key
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    #[command(flatten)]
    key: KeyArgs,

    /// Encrypt with the key of this name; the strings then carry that name
    #[arg(long, value_name = "NAME")]
    to: Option<KeyId>,

    /// Remove the encryption
    #[arg(long, conflicts_with = "assume_unnamed_key")]
    to_plain: bool,

    #[command(flatten)]
    lines: LineArgs,
}

/// Run the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let table = policy::table(&args.policy()?)?;
    let words = |error: &Error| match error {
        Error::NotAccepted { scheme } if args.policy.is_none() => {
            format!("{scheme} strings cannot be encrypted")
        }
        error => error.to_string(),
    };
    let rekey = |entry: &Entry<'_>| rekey(&table::of(&table, entry), entry.stored).into();
    let report = args.lines.rewrite(table.policy(), rekey, words)?;
    Ok(table::end(&report, "re-encrypted", "already done"))
}

impl Args {
    /// The policy of the site, or one with the given keys.
    fn policy(&self) -> anyhow::Result<Policy> {
        if let Some(file) = &self.policy {
            return policy::read(file);
        }
        let mut policy = Policy::default();
        self.key.add_to(&mut policy, self.to)?;
        if let Some(to) = self.to {
            let key = policy.keys.iter_mut().find(|key| key.active);
            let key = key.with_context(|| format!("--key {to}=FILE is missing"))?;
            // Its fingerprint is compared with the file.
            key.name = if key.name.fingerprint().is_some() { key.name } else { to };
            ensure!(
                to.fingerprint().is_none() || to == key.name,
                "--to {to} does not match the key {}",
                key.name
            );
        }
        Ok(policy)
    }
}

/// The string under the active key, or under none; `None` if it already is.
fn rekey(table: &Table, stored: &str) -> Result<Option<String>, Error> {
    let new = table.rekey(stored)?;
    // A string that cannot be encrypted counts as unchanged only if it was recognised.
    if new.is_none()
        && let Some(scheme) = scheme(stored)?
        && !table.policy().schemes.contains(&scheme)
    {
        return Err(Error::NotAccepted { scheme });
    }
    Ok(new)
}
