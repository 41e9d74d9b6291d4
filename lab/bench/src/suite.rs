//! Whole runs: the sections of a case file, measured one after the other, into a record.

mod check;
mod files;
mod section;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use saltern_tune::neighbour::Neighbour;

use crate::case::{self, Section};
use crate::engine::rom::Roms;
use crate::engine::{self, Engine, Places};
use crate::machine;
use crate::record::{self, Build, Machine, Record};
use crate::runner::Effort;

/// The case files, by the names of the subcommands.
pub const SUITES: [(&str, &str); 6] = [
    ("yescrypt", include_str!("../cases/yescrypt.toml")),
    ("blake2", include_str!("../cases/blake2.toml")),
    ("rom", include_str!("../cases/rom.toml")),
    ("peers", include_str!("../cases/peers.toml")),
    ("goals", include_str!("../cases/goals.toml")),
    ("seeds", include_str!("../cases/seeds.toml")),
];

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command line, for the record.
    pub command: String,
    /// Only what is marked for quick runs.
    pub quick: bool,
    /// How long to measure.
    pub effort: Effort,
    /// Only sections whose name contains this.
    pub only: String,
    /// Threads that `all` stands for; none for one on each processor.
    pub threads: Option<usize>,
    /// Where peers are.
    pub places: Places,
}

/// Told how the run goes on.
pub trait Watch {
    /// Before the first section: about how long it will take altogether.
    fn begin(&mut self, total: Duration);
    /// Something is going to be measured, after work of about so much has been done.
    fn step(&mut self, what: &str, done: Duration);
    /// A section is complete.
    fn section(&mut self, section: &record::Section);
}

/// Looks away.
pub struct Blind;

impl Watch for Blind {
    fn begin(&mut self, _: Duration) {}
    fn step(&mut self, _: &str, _: Duration) {}
    fn section(&mut self, _: &record::Section) {}
}

/// The sections of some suites.
///
/// # Errors
/// A suite that is not known, and mistakes in case files, of which there are none.
pub fn sections(suites: &[&str], options: &Options) -> anyhow::Result<Vec<Section>> {
    let mut sections = Vec::new();
    for name in suites {
        let (_, text) = SUITES
            .iter()
            .find(|(known, _)| known == name)
            .with_context(|| format!("no suite is called {name:?}"))?;
        let parsed =
            case::parse(text, options.quick).with_context(|| format!("cases/{name}.toml"))?;
        sections.extend(parsed.into_iter().filter(|section| section.id.contains(&options.only)));
    }
    anyhow::ensure!(!sections.is_empty(), "no section has a name with {:?} in it", options.only);
    Ok(sections)
}

/// Measures sections and puts them on record.
///
/// # Errors
/// Engines that compute different hashes for the same input, and what they refuse. An engine that
/// this system does not have is a note in the record, and what concerns it is left out.
pub fn run(
    sections: &[Section],
    options: &Options,
    watch: &mut dyn Watch,
) -> anyhow::Result<Record> {
    let begun = Instant::now();
    let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut bench = Bench::new(options, watch);
    // Unknown names are told before anything is measured.
    for section in sections {
        let cells = section.cells.iter().map(|cell| &cell.side);
        let sides = section.pairs.iter().flat_map(|pair| &pair.sides);
        let names = cells.chain(sides).map(|side| &side.engine);
        for name in names.chain(section.curves.iter().map(|curve| &curve.engine)) {
            bench.engine(name).with_context(|| format!("section {}", section.id))?;
        }
    }
    let total = sections.iter().map(|section| bench.estimate(section)).sum();
    bench.watch.begin(total);
    let mut measured = Vec::new();
    bench.look_around();
    for section in sections {
        let name = || format!("section {}", section.id);
        let section = bench.section(section).with_context(name)?;
        bench.watch.section(&section);
        measured.push(section);
        bench.roms.clear();
        bench.look_around();
    }
    let missing = std::mem::take(&mut bench.missing);
    bench.notes.extend(missing);
    Ok(Record {
        schema: record::SCHEMA,
        command: options.command.clone(),
        unix_time,
        seconds: crate::stats::digits(begun.elapsed().as_secs_f64(), 4),
        machine: Machine::here(),
        build: Build::here(),
        neighbours: bench.neighbour.seen(),
        sections: measured,
        notes: bench.notes,
    })
}

/// A run on its way.
struct Bench<'w> {
    options: &'w Options,
    watch: &'w mut dyn Watch,
    processors: Vec<usize>,
    engines: HashMap<String, Option<Arc<dyn Engine>>>,
    roms: Roms,
    notes: Vec<String>,
    /// Notes about engines that are not there, told last.
    missing: Vec<String>,
    neighbour: Neighbour,
    checked: check::Checked,
    done: Duration,
}

impl<'w> Bench<'w> {
    fn new(options: &'w Options, watch: &'w mut dyn Watch) -> Self {
        Bench {
            options,
            watch,
            processors: machine::processors(),
            engines: HashMap::new(),
            roms: Roms::default(),
            notes: Vec::new(),
            missing: Vec::new(),
            neighbour: Neighbour::default(),
            checked: check::Checked::default(),
            done: Duration::ZERO,
        }
    }

    /// The engine of a name; none, with a note, if this system does not have it.
    fn engine(&mut self, name: &str) -> anyhow::Result<Option<Arc<dyn Engine>>> {
        if let Some(known) = self.engines.get(name) {
            return Ok(known.clone());
        }
        let found = match engine::find(name, &self.options.places)? {
            Ok(engine) => Some(engine),
            Err(missing) => {
                self.missing.push(format!("{name} is left out: {missing}"));
                None
            }
        };
        self.engines.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Asks how much of a core the neighbours leave.
    fn look_around(&mut self) {
        let smoke = self.options.effort == Effort::SMOKE;
        self.neighbour.look(if smoke { 1 } else { 40 });
    }

    /// How many threads `all` stands for.
    fn all(&self) -> usize {
        self.options.threads.unwrap_or(self.processors.len()).max(1)
    }
}

#[cfg(test)]
mod tests;
