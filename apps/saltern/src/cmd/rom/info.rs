//! `saltern rom info`: the manifest, and whether the image matches it.

use std::process::ExitCode;

use anyhow::Context;
use saltern::policy::size_text;
use saltern_rom::{Manifest, check};
use serde_json::Value;

use crate::output::{Output, printable};
use crate::rom::RomName;

const EXAMPLES: &str = "\
Examples:
  saltern rom info /srv/site.rom
  saltern rom info --json shm:site.rom | jq -r .id

Exit status: 0, also if the image is not what the manifest says; 2 if
there is no manifest.";

/// Show what is known about a ROM, and check its image's size, tag, digest and table of hashes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The ROM: the path of its image, shm:NAME or sysv:KEY
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// Print the manifest as one JSON object, with the fields `state` and, if it is bad, `error`
    #[arg(long)]
    json: bool,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let manifest = Manifest::read(args.rom.image())?;
    let problem = check(args.rom.image(), Some(manifest.hash)).err();
    let problem = problem.map(|error| error.to_string());
    let mut output = Output::new();
    let text = manifest.to_json();
    let mut value: Value = serde_json::from_str(&text).context("the manifest is not JSON")?;
    if args.json {
        value["state"] = if problem.is_some() { "bad".into() } else { "ready".into() };
        if let Some(problem) = problem {
            value["error"] = problem.into();
        }
        output.json(&value)?;
    } else {
        for (name, text) in rows(&manifest, &value, problem) {
            output.line(format!("{name:<12}{}", printable(text.as_bytes())))?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn rows(
    manifest: &Manifest,
    value: &Value,
    problem: Option<String>,
) -> [(&'static str, String); 10] {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let params = &manifest.params;
    let flavor = match params.flavor == saltern_yescrypt::params::Flavor::DEFAULT {
        true => "the default".to_owned(),
        false => value["flavor"].to_string(),
    };
    let parameters = format!("NROM={} r={} p={} t={}", params.nrom, params.r, params.p, params.t);
    let place =
        |place: &Value, kind: &str| match (place[kind].as_str(), &place["path"], &place["key"]) {
            (Some(kind), Value::String(path), _) => format!("{kind}: {path}"),
            (Some(kind), _, Value::Number(key)) => format!("{kind}: {key}"),
            (kind, ..) => kind.unwrap_or_default().to_owned(),
        };
    [
        ("ROM", text("id")),
        ("hash", text("hash")),
        ("size", size_text(manifest.size())),
        ("parameters", parameters),
        ("flavour", flavor),
        ("made", text("created")),
        ("seed", place(&value["seed"], "from")),
        ("image", place(&value["image"], "at")),
        ("digest", text("digest")),
        (
            "state",
            problem.unwrap_or_else(|| {
                "matches the manifest (size, tag, digest, sums; not every byte)".to_owned()
            }),
        ),
    ]
}
