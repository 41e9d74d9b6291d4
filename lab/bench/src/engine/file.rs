//! Programs that hash a file: `saltern sum`, GNU b2sum, openssl. Measured from start to end, by the
//! time that passes.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};

use super::blake2::Input;
use super::{Engine, Found, Setup, Task};
use crate::work::{Message, Variant, Work};

/// A program that is there.
pub(super) struct Program {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Program {
    /// By the engine's name.
    pub(super) fn find(name: &str) -> Found {
        let (name, arguments): (_, &[&str]) = match name {
            "saltern sum" => ("saltern sum", &["sum", "--num-threads", "1"]),
            "openssl" => ("openssl", &["dgst", "-blake2b512", "-r"]),
            _ => ("b2sum", &[]),
        };
        let program = match name {
            "saltern sum" => saltern().ok_or("build it: cargo build --release -p saltern-cli")?,
            _ => PathBuf::from(name),
        };
        let version = if name == "openssl" { "version" } else { "--version" };
        match Command::new(&program).arg(version).output() {
            Ok(output) if output.status.success() => {
                Ok(Arc::new(Program { name, program, arguments }))
            }
            Ok(output) => Err(format!("no {name}: it ends with {}", output.status)),
            Err(error) => Err(format!("no {name} (Debian: coreutils, openssl): {error}")),
        }
    }
}

/// The program of the same build: beside this one, or above the directory of a test.
fn saltern() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let places = this.ancestors().skip(1).take(2).map(|directory| directory.join("saltern"));
    places.into_iter().find(|program| program.is_file())
}

impl Engine for Program {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        matches!(
            work,
            Work::Message(Message { variant: Variant::Blake2b, messages: 1, file: true, .. })
        )
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        let Work::Message(message) = work else { anyhow::bail!("{} hashes files", self.name) };
        ensure!(self.computes(work), "{} hashes one file with BLAKE2b", self.name);
        let mut file = tempfile::NamedTempFile::new().context("a temporary file")?;
        file.write_all(Input::new(message).at(0, message.bytes)).context("a temporary file")?;
        file.flush().context("a temporary file")?;
        let mut command = Command::new(&self.program);
        command.args(self.arguments).arg(file.path());
        Ok(Box::new(Run { name: self.name, command, _file: file }))
    }
}

struct Run {
    name: &'static str,
    command: Command,
    // Removed on drop.
    _file: tempfile::NamedTempFile,
}

impl Task for Run {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        self.answers(1).map(|_| ())
    }

    fn answers(&mut self, _: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let output = self.command.output().with_context(|| self.name.to_owned())?;
        ensure!(output.status.success(), "{} ends with {}", self.name, output.status);
        let hash = output.stdout.split(|byte| *byte == b' ').next().unwrap_or_default();
        Ok(vec![hash.to_vec()])
    }
}
