//! The program `saltern-dev`: for those who work on Saltern. Not published; nothing depends on it.

mod field;
mod vectors;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// For those who work on Saltern: make, answer and check test vectors.
#[derive(Parser)]
#[command(name = "saltern-dev", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Vectors(vectors::Args),
    Field(field::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Vectors(args) => vectors::run(args),
        Command::Field(args) => field::run(&args),
    };
    result.unwrap_or_else(|error| {
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        // A reader that went away is no news to whoever ended it.
        if io.is_none_or(|io| io.kind() != io::ErrorKind::BrokenPipe) {
            eprintln!("saltern-dev: {error:#}");
        }
        ExitCode::from(2)
    })
}
