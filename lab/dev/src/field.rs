//! `saltern-dev field`: the vectors for other implementations, in the form of Project Wycheproof.
//!
//! Every result comes from `lab/reference`, never from the crates that the vectors test. The inputs
//! come from fixed seeds, so that the same program writes the same files.

mod blake2;
mod crypt;
mod form;
mod refused;
mod verify;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use form::File;

/// Write the test vectors for other implementations
///
/// Writes one JSON file for each subject, with results computed by the slow reference: yescrypt,
/// scrypt, settings that crypt(3) has to refuse, and BLAKE2 trees. The same version writes the same
/// bytes. Takes some seconds.
///
/// Exit status: 0 written, 2 an error.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to write the files; the folder must exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Run the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for (name, file) in files() {
        let path = args.folder.join(name);
        fs::write(&path, file.to_json()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All files, by name.
fn files() -> [(&'static str, File); 4] {
    [
        ("yescrypt_test.json", crypt::yescrypt()),
        ("scrypt_test.json", crypt::scrypt()),
        ("crypt_refused_test.json", refused::file()),
        ("blake2_tree_test.json", blake2::file()),
    ]
}
