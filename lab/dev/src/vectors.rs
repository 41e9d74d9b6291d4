//! `saltern-dev vectors`: compute test vectors from their inputs, or compare them with what a file
//! expects.

mod answer;
mod blake2;
mod case;
mod check;
mod escrypt;
mod outcome;
mod rom;

use std::io::{self, BufRead, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use saltern_yescrypt::{Workspace, hazmat::Level};
use serde::Serialize;

use answer::Solver;
use case::Case;
use outcome::{Answer, Failure};

const EXAMPLES: &str = "\
Each line is a JSON object with an `id`, a `kind` (kdf, rom, crypt,
encode, gensalt, reencrypt, gost; kdf05, rom05, crypt05, gensalt05 of
escrypt 0.5; blake2b and its kin; or one of these with `_reject`) and the
inputs of that kind; byte strings are hexadecimal. Header lines are
passed over.

Examples:
  saltern-dev vectors answer < lab/vectors/yescrypt_kdf.jsonl
  saltern-dev vectors check lab/vectors/*.jsonl
  saltern-dev vectors check --level portable lab/vectors/yescrypt_rom.jsonl

Exit status: 0 every line was answered or every case passed, 1 a case
failed, 2 an error.";

/// Compute test vectors, or check files of them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: VectorsCommand,

    /// Refuse cases that need more memory than this
    #[arg(long, value_name = "MIB", default_value_t = 4096, global = true)]
    max_memory: u32,

    /// Use this instruction set instead of the best one: portable, sse2, sse41, avx2, avx512, neon
    #[arg(long, global = true)]
    level: Option<Level>,
}

#[derive(Subcommand)]
enum VectorsCommand {
    /// Read cases on standard input and print, in order, what each comes to
    ///
    /// One JSON object a line: `id` and `out` (`out_hex` for text that is not printable), or
    /// `digest` and `image_sha256` of a ROM, or `error`. What a case says about the expected result
    /// is not looked at, but for its length where a case of BLAKE2 has no `digest_size`.
    Answer,
    /// Compute the cases of files, compare, and print counts for each kind
    ///
    /// A case to be refused passes if it is refused, whatever the error. Of these, the ones marked
    /// `single_flavour` are computed here, since every flavour is offered; they are counted apart,
    /// as are `gost` cases, which need a hash function that is not.
    Check {
        /// Files of cases
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = match args.level {
        Some(level) => Workspace::with_level(level)?,
        None => Workspace::new(),
    };
    let solver = Solver::new(workspace, args.level, u64::from(args.max_memory) << 20);
    match args.command {
        VectorsCommand::Answer => answer_all(solver),
        VectorsCommand::Check { files } => check::run(solver, &files),
    }
}

/// A line of answers.
#[derive(Serialize)]
struct AnswerLine<'a> {
    id: &'a serde_json::Value,
    #[serde(flatten)]
    answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn answer_all(mut solver: Solver) -> anyhow::Result<ExitCode> {
    let mut output = BufWriter::new(io::stdout().lock());
    let mut unreadable = false;
    each_line(io::stdin().lock(), |number, line| {
        let (id, result) = match Case::parse(line) {
            Ok(case) if case.is_header() => return Ok(()),
            Ok(case) => (case.id.clone(), solver.answer(&case)),
            Err(error) => {
                let id = Case::id_alone(line);
                unreadable |= id.is_none();
                let refusal = Failure::Refused(format!("line {number}: {error}"));
                (id.unwrap_or_default(), Err(refusal))
            }
        };
        let (answer, error) = match result {
            Ok(answer) => (Some(answer), None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        serde_json::to_writer(&mut output, &AnswerLine { id: &id, answer, error })?;
        writeln!(output)?;
        Ok(output.flush()?)
    })
    .context("cannot answer the cases on standard input")?;
    Ok(if unreadable { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Call `act` with the number and content of each line that is not blank.
fn each_line(
    input: impl BufRead,
    mut act: impl FnMut(u64, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (number, line) in (1..).zip(input.split(b'\n')) {
        let line = line?;
        let content = line.trim_ascii();
        if !content.is_empty() {
            act(number, content)?;
        }
    }
    Ok(())
}
