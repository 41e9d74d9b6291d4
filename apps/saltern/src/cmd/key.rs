//! `saltern key`: make keys for hash encryption, and identify the key in a file.

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use saltern::policy::{Secret, SignerKey, fingerprint_path};
use saltern_rom::new_private_file;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::keys::{HashKey, KeyId};

use crate::new_file;
use crate::output::{Output, warn};

const EXAMPLES: &str = "\
Examples:
  saltern key new 2026 pepper.key        prints 2026+<fingerprint>
  saltern hash --key 2026=pepper.key     strings carry that name
  saltern key fingerprint pepper.key     which key is in this file?

The fingerprint is derived from the key and does not reveal it. It is
also written to a file named like the key file, with `.fingerprint`
appended. If there is such a file when the key is read, the fingerprint
in it must be that of the key. Whoever is to read the key, such as the
user of a service, must be able to read both files.

Keep a copy of every key: without it, no string that is encrypted with
it can be verified.

Exit status: 0 done; 2 an error.";

/// Make keys for hash encryption, and print their fingerprints
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write a random key to a new file, and its fingerprint to a file beside it, both of which
    /// only you can read; print its name and fingerprint
    New {
        /// Name that strings will carry: 1 to 32 letters, digits, dots and hyphens, never used for
        /// another key
        name: KeyId,
        /// New file; an existing one is never overwritten
        file: PathBuf,
    },
    /// Print the fingerprint of the key in a file
    Fingerprint {
        /// Key file: 64 hexadecimal digits, or 32 bytes; or the signer key of Firebase in base 64
        file: PathBuf,
    },
}

/// Bytes of the file of a signer key: base 64 of 64 bytes, and an end of line.
const SIGNER_KEY: RangeInclusive<u64> = 88..=90;

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    match args.task {
        Task::New { name, .. } if name.fingerprint().is_some() => {
            bail!("the fingerprint of a new key is computed here: give the name alone")
        }
        Task::New { name, file } => {
            let key = create(&file)?;
            output.line(name.with_fingerprint(key.fingerprint()).to_string())?;
        }
        Task::Fingerprint { file } => {
            let mut notes = Vec::new();
            let is_signer_key = file.metadata().is_ok_and(|file| SIGNER_KEY.contains(&file.len()));
            let fingerprint = match is_signer_key {
                true => {
                    SignerKey::read(&file, &mut notes).and_then(|key| Ok(key.id()?.fingerprint()))
                }
                false => Secret::read(&file, &mut notes)
                    .and_then(|key| Ok(Some(key.key()?.fingerprint()))),
            };
            warn(notes);
            output.line(fingerprint?.context("a key without a fingerprint")?.to_string())?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A random key in a new file, which appears atomically, and its fingerprint.
fn create(path: &Path) -> anyhow::Result<HashKey> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).context("cannot get random bytes for a key from the system")?;
    let mut digits = Zeroizing::new([b'\n'; 65]);
    base16ct::lower::encode(&key[..], &mut digits[..64])?;
    let key = HashKey::from_slice(&key[..])?;
    let beside = fingerprint_path(path);
    new_file::check(path, "a key")?;
    new_file::check(&beside, "a fingerprint")?;
    // The fingerprint first: if there is no room for it, no key is left whose name was never
    // printed.
    new_private_file(&beside, format!("{}\n", key.fingerprint()).as_bytes())?;
    new_private_file(path, &digits[..]).inspect_err(|error| {
        // If our key exists, and just may not be synced to the disk yet, its fingerprint is kept.
        let gone = path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if gone || matches!(error, saltern_rom::Error::Exists { .. }) {
            let _ = std::fs::remove_file(&beside);
        }
    })?;
    Ok(key)
}
