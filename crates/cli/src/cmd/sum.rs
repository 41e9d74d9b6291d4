//! `saltern sum`: BLAKE2 checksums of files.

/// Print or check BLAKE2 checksums.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Run the subcommand.
pub(crate) fn run(_args: Args) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no `sum` yet")
}
