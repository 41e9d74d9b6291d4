//! `saltern key`: make keys of hash encryption, and tell which one a file holds.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use saltern_yescrypt::keys::{HashKey, KeyId};
use zeroize::Zeroizing;

use crate::key;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  saltern key new 2026 pepper.key        prints 2026+<fingerprint>
  saltern hash --key 2026=pepper.key     strings carry that name
  saltern key fingerprint pepper.key     which key is in this file?

The fingerprint is derived from the key and does not help to find it.
Keep a copy of every key: without it, no string that is encrypted with
it can be verified.";

/// Make keys for hash encryption, and print their fingerprints
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Create a random key in a new file that only you can read, and print its name and fingerprint
    New {
        /// Name that strings will carry: 1 to 32 letters, digits, dots and hyphens, never used for
        /// another key
        name: KeyId,
        /// New file; one that exists is never overwritten
        file: PathBuf,
    },
    /// Print the fingerprint of the key in a file
    Fingerprint {
        /// Key file: 64 hexadecimal digits, or 32 bytes
        file: PathBuf,
    },
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    match args.task {
        Task::New { name, .. } if name.fingerprint().is_some() => {
            bail!("a new key gets its fingerprint here: give the name alone")
        }
        Task::New { name, file } => {
            let key = create(&file)?;
            output.line(name.with_fingerprint(key.fingerprint()).to_string())?;
        }
        Task::Fingerprint { file } => {
            output.line(key::read(&file)?.fingerprint().to_string())?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A random key in a new file, there with all of its bytes or not at all.
fn create(path: &Path) -> anyhow::Result<HashKey> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).context("the system gives no random bytes for a key")?;
    let mut digits = Zeroizing::new(Vec::with_capacity(65));
    for byte in &*key {
        digits.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
    digits.push(b'\n');
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{} exists, and a key is never overwritten", path.display())
        }
        _ => anyhow::Error::new(error).context(format!("cannot write {}", path.display())),
    })?;
    if let Err(error) = file.write_all(&digits).and_then(|()| file.sync_all()) {
        // A part of a key is of no use.
        let _ = fs::remove_file(path);
        return Err(error).with_context(|| format!("cannot write {}", path.display()));
    }
    Ok(HashKey::from_slice(&key[..])?)
}
