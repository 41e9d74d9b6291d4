//! The program `saltern`: one binary with a subcommand for each job.
//!
//! This file only defines the subcommands and how failures are shown. Each subcommand is in
//! `cmd/<name>.rs` and offers `Args` and `run`.

// To change … open …
//     a subcommand                          cmd/<name>.rs, and its line in cmd.rs and below
//     hashing under a policy or options     site.rs; verdict.rs; new_form.rs, protection.rs
//     options of limits, keys, ROMs         limits.rs; key.rs; rom.rs
//     passwords, descriptors                password.rs, secret.rs; descriptor.rs
//     streams of stored strings; entries    table.rs; entries.rs
//     lines of JSON                         jsonl.rs, jsonl/request.rs, jsonl/answers.rs
//     the prompt; closed streams; Ctrl-C    terminal/unix.rs; streams.rs; interrupt.rs
//     digests of files                      cmd/sum.rs and cmd/sum/
//     what --version prints                 version.rs

mod cmd;
mod crypt3;
mod descriptor;
mod entries;
mod interrupt;
mod jsonl;
mod key;
mod limits;
mod new_file;
mod new_form;
mod number;
mod output;
mod password;
mod policy;
mod progress;
mod protection;
mod rom;
mod secret;
mod site;
mod streams;
mod table;
mod terminal;
mod verdict;
mod version;

use std::env;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::interrupt::Ended;

/// Hash and verify passwords with yescrypt and scrypt as crypt(3) does; compute BLAKE2 checksums.
#[derive(Parser)]
#[command(name = "saltern", version, long_version = version::long(), max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Hash(cmd::hash::Args),
    Verify(cmd::verify::Args),
    Inspect(cmd::inspect::Args),
    Checksalt(cmd::checksalt::Args),
    Reencrypt(cmd::reencrypt::Args),
    Key(cmd::key::Args),
    Policy(cmd::policy::Args),
    Census(cmd::census::Args),
    NeedsRehash(cmd::needs_rehash::Args),
    Wrap(cmd::wrap::Args),
    Users(cmd::users::Args),
    Seal(cmd::seal::Args),
    Rom(cmd::rom::Args),
    Sum(cmd::sum::Args),
    Tune(cmd::tune::Args),
    Man(cmd::man::Args),
    Completions(cmd::completions::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let result = match cli.command {
        Command::Hash(args) => cmd::hash::run(args),
        Command::Verify(args) => cmd::verify::run(args),
        Command::Inspect(args) => cmd::inspect::run(args),
        Command::Checksalt(args) => cmd::checksalt::run(args),
        Command::Reencrypt(args) => cmd::reencrypt::run(&args),
        Command::Key(args) => cmd::key::run(args),
        Command::Policy(args) => cmd::policy::run(args),
        Command::Census(args) => cmd::census::run(&args),
        Command::NeedsRehash(args) => cmd::needs_rehash::run(&args),
        Command::Wrap(args) => cmd::wrap::run(&args),
        Command::Users(args) => cmd::users::run(args),
        Command::Seal(args) => cmd::seal::run(&args),
        Command::Rom(args) => cmd::rom::run(args),
        Command::Sum(args) => cmd::sum::run(args),
        Command::Tune(args) => cmd::tune::run(args),
        Command::Man(args) => cmd::man::run(args, Cli::command()),
        Command::Completions(args) => cmd::completions::run(args, Cli::command()),
    };
    result.unwrap_or_else(|error| report(&error))
}

/// Show what is wrong with the command line, or the requested help. A wrong flag gives exit status
/// 2, but 1 for `sum`, as for `b2sum`.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_sum = env::args_os().nth(1).is_some_and(|name| name == "sum");
    // If the message cannot be written, the status still shows the error.
    let shown = error.print().is_ok() && !streams::stdout_is_closed();
    match error.use_stderr() {
        false if shown => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
        true if is_sum => ExitCode::FAILURE,
        true => ExitCode::from(2),
    }
}

/// Show the failure of a subcommand as one line and turn it into exit status 2, or that of the
/// signal that ended it.
///
/// A reader that has closed the pipe (`saltern … | head -1`) is not an error for the user, so it is
/// not reported.
fn report(error: &anyhow::Error) -> ExitCode {
    let gone = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    };
    if !error.chain().any(gone) {
        output::tell(format_args!("{error:#}"));
    }
    error.downcast_ref::<Ended>().map_or(ExitCode::from(2), Ended::status)
}
