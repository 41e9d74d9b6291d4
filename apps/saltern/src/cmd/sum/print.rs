//! The usual task: a line with the digest of every file.

use std::io;
use std::path::{Path, PathBuf};

use super::algorithm::Spec;
use super::console::Console;
use super::engine::{Engine, Sink};
use super::input::{self, Input};
use super::line::{self, Style};
use super::queue::{Outcome, Task};
use super::walk::{Visit, Walk};

/// What to print.
pub(super) struct Printing {
    pub(super) spec: Spec,
    pub(super) style: Style,
    pub(super) recursive: bool,
    pub(super) files: Vec<PathBuf>,
}

/// Print all the lines. `Ok(false)` if a file could not be read, which has then been reported.
///
/// # Errors
///
/// Standard output cannot be written.
pub(super) fn run(printing: Printing, engine: &Engine) -> io::Result<bool> {
    let Printing { spec, style, recursive, files } = printing;
    let visits: Box<dyn Iterator<Item = Visit> + Send> = match recursive {
        true => Box::new(Walk::new(files)),
        false => Box::new(files.into_iter().map(Ok)),
    };
    let mut turn = 0;
    let tasks = visits.map(|visit| {
        let input = visit.as_ref().ok().map(|path| Input::named(path, &mut turn));
        Task { about: visit, work: input.map(|input| (input, spec)) }
    });
    let mut lines = Lines { console: Console::new(), line: Vec::new(), spec, style, ok: true };
    engine.run(tasks, false, &mut lines)?;
    Ok(lines.ok)
}

/// Prints the results of the engine.
struct Lines {
    console: Console,
    line: Vec<u8>,
    spec: Spec,
    style: Style,
    ok: bool,
}

impl Lines {
    fn fail(&mut self, path: &Path, error: &io::Error) -> io::Result<()> {
        self.ok = false;
        let name = path.as_os_str().as_encoded_bytes();
        self.console.complain_about(name, &input::reason(error))
    }
}

impl Sink<Visit> for Lines {
    fn take(&mut self, visit: Visit, outcome: Option<Outcome>) -> io::Result<()> {
        let (path, outcome) = match (visit, outcome) {
            (Ok(path), Some(outcome)) => (path, outcome),
            (Ok(_), None) => return Ok(()),
            (Err((path, error)), _) => return self.fail(&path, &error),
        };
        match outcome {
            Ok(digest) => {
                let name = path.as_os_str().as_encoded_bytes();
                self.line.clear();
                line::push_line(&mut self.line, self.style, self.spec, &digest, name);
                self.console.print(&self.line)
            }
            Err(error) => self.fail(&path, &error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.console.flush()
    }
}
