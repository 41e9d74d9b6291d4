//! `saltern rom list`: the ROMs in directories.

use std::path::PathBuf;
use std::process::ExitCode;

use saltern::policy::size_text;
use saltern_rom::{State, clean, list};
use serde::Serialize;

use crate::output::printable;
use crate::output::{Output, tell};
use crate::rom::SHM;

const EXAMPLES: &str = "\
Examples:
  saltern rom list                     what is in shared memory
  saltern rom list /srv /dev/shm --json
  saltern rom list --clean /srv        remove what killed processes left";

/// List the ROMs in directories, and whether their images match their manifests
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where to look
    #[arg(value_name = "DIRECTORY", default_value = SHM)]
    directories: Vec<PathBuf>,

    /// Print one JSON object for each ROM
    #[arg(long)]
    json: bool,

    /// First remove what was left by processes that were killed while making a ROM
    #[arg(long)]
    clean: bool,
}

#[derive(Serialize)]
struct Record {
    image: PathBuf,
    /// One of `ready`, `bad`, `unusable`, `in-progress`, `interrupted`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut output = Output::new();
    for directory in &args.directories {
        if args.clean {
            let cleaned = clean(directory)?;
            tell(format_args!("{}: {} files removed", directory.display(), cleaned.removed));
            for reason in cleaned.left {
                tell(format_args!("not removed: {reason}"));
            }
        }
        for found in list(directory)? {
            let mut record =
                Record { image: found.image, state: "", id: None, size: None, error: None };
            (record.state, record.error) = match found.state {
                State::Ready(manifest) => {
                    (record.id, record.size) =
                        (Some(manifest.id().to_string()), Some(manifest.size()));
                    ("ready", None)
                }
                State::Bad(manifest, error) => {
                    (record.id, record.size) =
                        (Some(manifest.id().to_string()), Some(manifest.size()));
                    ("bad", Some(error.to_string()))
                }
                State::Unusable(error) => ("unusable", Some(error.to_string())),
                State::InProgress => ("in-progress", None),
                _ => ("interrupted", None),
            };
            match args.json {
                true => output.json(&record)?,
                false => output.line(words(&record))?,
            }
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn words(record: &Record) -> String {
    let id = record.id.as_deref().unwrap_or("-");
    let size = record.size.map_or_else(|| "-".to_owned(), size_text);
    let image = printable(record.image.as_os_str().as_encoded_bytes());
    let error = record
        .error
        .as_ref()
        .map_or_else(String::new, |error| format!(": {}", printable(error.as_bytes())));
    format!("{id:<16}  {size:>10}  {:<11}  {image}{error}", record.state)
}
