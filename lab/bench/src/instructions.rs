//! Instructions for each 64-byte sub-block, as valgrind's callgrind counts them: exact, whatever
//! else the machine does, and what decides where both threads of a core are busy.
//!
//! A child process under callgrind computes the hashes of one engine, each with N and with 2 N, in
//! memory that is there already. [`mark`] is called before and after each; the difference of the
//! two counts leaves out everything that does not grow with N. It is divided by the difference in
//! 64-byte sub-blocks that the two loops send through the block mix ([`Params::mixed`]): one number
//! for every r, mode and engine, with what a block costs at its ends spread over its sub-blocks.
//!
//! [`Params::mixed`]: saltern_yescrypt::Params::mixed

pub mod wiping;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::case::{self, Cell, Side};
use crate::engine::rom::Roms;
use crate::engine::{self, Places, Setup};
use crate::record::Build;
use crate::stats::digits;
use crate::work::Work;

/// Where the record is kept.
pub const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/records/instructions.json");

/// How much a count may grow: compilers of one version differ by less.
pub const TOLERANCE: f64 = 0.01;

/// Counts of one build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// The compiler, on which counts depend.
    pub rustc: Option<String>,
    /// The commit that was counted.
    pub commit: Option<String>,
    /// All counts, in the order of the case file.
    pub counts: Vec<Count>,
    /// Engines that were left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// As in cases.
    pub engine: String,
    /// As in other records.
    pub algorithm: String,
    /// r of the hash.
    pub r: u32,
    /// How many hashes advance at once.
    pub together: usize,
    /// Whether there is a ROM.
    pub rom: bool,
    /// Instructions for each sub-block of a hash.
    pub instructions: f64,
}

impl Count {
    fn is_of(&self, other: &Count) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> (&str, &str, u32, usize, bool) {
        (&self.engine, &self.algorithm, self.r, self.together, self.rom)
    }

    fn name(&self) -> String {
        let form = if self.together == 1 { "one hash" } else { "batch" };
        let rom = if self.rom { ", with a ROM" } else { "" };
        format!("{}, {}, r = {}, {form}{rom}", self.engine, self.algorithm, self.r)
    }
}

/// What is counted.
fn cells() -> anyhow::Result<Vec<Cell>> {
    let sections = case::parse(include_str!("../cases/instructions.toml"), false)?;
    Ok(sections.into_iter().flat_map(|section| section.cells).collect())
}

/// The work with another N: `times` as large.
fn scaled(work: &Work, times: u64) -> anyhow::Result<Work> {
    let mut work = work.clone();
    match &mut work {
        Work::Yescrypt(params, _) => params.n *= times,
        other => bail!("{other:?} is not counted"),
    }
    Ok(work)
}

/// Where callgrind writes down what it has counted since the last time: its name is on the command
/// line in [`count`].
#[inline(never)]
pub fn mark() {
    // An effect, without which the compiler leaves the call out.
    static MARKS: AtomicU64 = AtomicU64::new(0);
    MARKS.fetch_add(1, Relaxed);
}

/// In the child: computes all work of an engine, and prints how many hashes advance at once in
/// each.
///
/// # Errors
/// An engine that this system does not have, or that valgrind does not show.
pub fn probe(name: &str, places: &Places) -> anyhow::Result<()> {
    let engine = engine::find(name, places)?.map_err(anyhow::Error::msg)?;
    let mut roms = Roms::default();
    for Cell { side, .. } in cells()?.iter().filter(|cell| cell.side.engine == name) {
        for times in [1, 2] {
            let work = scaled(&side.work, times)?;
            let setup = Setup { together: side.together, pages: side.pages, rom: roms.of(&work)? };
            let mut task = engine.task(&work, &setup)?;
            // The first call pays for memory: what it was before is wiped, what is new is zeroed.
            task.run(0)?;
            mark();
            task.run(1)?;
            mark();
            println!("{}", task.together());
        }
    }
    Ok(())
}

/// Counts everything. Takes a minute or two.
///
/// # Errors
/// No valgrind, and what a child process refuses. An engine that is not there is a note.
pub fn count(places: &Places) -> anyhow::Result<Counts> {
    let cells = cells()?;
    let mut engines: Vec<&str> = cells.iter().map(|cell| cell.side.engine.as_str()).collect();
    engines.dedup();
    let Build { rustc, commit, .. } = Build::here();
    let mut counts = Counts { rustc, commit, counts: Vec::new(), notes: Vec::new() };
    for name in engines {
        if let Err(missing) = engine::find(name, places)? {
            counts.notes.push(format!("{name} is left out: {missing}"));
            continue;
        }
        let sides = cells.iter().map(|cell| &cell.side).filter(|side| side.engine == name);
        match count_engine(name, &sides.collect::<Vec<_>>(), places) {
            Ok(found) => counts.counts.extend(found),
            // Valgrind may show fewer instruction sets than the processor has.
            Err(error) => counts.notes.push(format!("{name} is left out: {error:#}")),
        }
    }
    ensure!(!counts.counts.is_empty(), "nothing was counted: {}", counts.notes.join("; "));
    Ok(counts)
}

/// A child process under callgrind, and where it puts its counts.
fn child(name: &str, dumps: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", dumps.display()))
        .arg("--dump-before=saltern_bench::instructions::mark*")
        .arg(std::env::current_exe()?)
        .args(["instructions", "--probe", name]);
    Ok(command)
}

/// What the child prints.
fn answer(mut child: Command) -> anyhow::Result<String> {
    let output = child.output().context("cannot run valgrind (Debian: valgrind)")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

fn count_engine(name: &str, sides: &[&Side], places: &Places) -> anyhow::Result<Vec<Count>> {
    let directory = tempfile::tempdir().context("a temporary directory")?;
    let dumps = directory.path().join("count");
    let mut child = child(name, &dumps)?;
    if let Some(upstream) = &places.upstream {
        child.arg("--upstream").arg(upstream);
    }
    let told = answer(child)?;
    let together: Vec<usize> = told.lines().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(together.len() == 2 * sides.len(), "{} counts, not {}", together.len(), sides.len());
    let count = |(index, side): (usize, &&Side)| {
        let [first, second] = [2 * index, 2 * index + 1].map(|call| total(&dumps, 2 * call + 2));
        let more = second?.checked_sub(first?).context("more work took fewer instructions")?;
        let (params, twice) = (side.work.params()?, scaled(&side.work, 2)?);
        let together = together[2 * index];
        let sub_blocks = (twice.params()?.mixed() - params.mixed()) / 64 * together as u128;
        Ok(Count {
            engine: name.to_owned(),
            algorithm: side.work.record().algorithm,
            r: params.r,
            together,
            rom: params.nrom > 0,
            instructions: digits(more as f64 / sub_blocks as f64, 5),
        })
    };
    let mut counts: Vec<Count> =
        sides.iter().enumerate().map(count).collect::<anyhow::Result<_>>()?;
    // At a level that advances one hash at a time, a batch is the same again.
    counts.dedup_by(|second, first| second.is_of(first));
    Ok(counts)
}

/// The instructions of a dump.
fn total(dumps: &Path, part: usize) -> anyhow::Result<u64> {
    let path = format!("{}.{part}", dumps.display());
    let text = fs::read_to_string(&path).with_context(|| {
        format!("valgrind wrote no part {part}: is the program stripped of its symbols?")
    })?;
    let line = text.lines().find_map(|line| line.strip_prefix("summary: "));
    Ok(line.context("a dump without a summary")?.trim().parse()?)
}

impl Counts {
    /// The record in a JSON text.
    ///
    /// # Errors
    /// A text that is no such record.
    pub fn from_json(text: &str) -> anyhow::Result<Counts> {
        Ok(serde_json::from_str(text)?)
    }

    /// The record as JSON, one line for each count.
    ///
    /// # Errors
    /// None that is expected.
    pub fn to_json(&self) -> anyhow::Result<String> {
        let mut text = format!(
            "{{\n  \"rustc\": {},\n  \"commit\": {},\n  \"counts\": [\n",
            serde_json::to_string(&self.rustc)?,
            serde_json::to_string(&self.commit)?
        );
        let lines: Vec<_> = self
            .counts
            .iter()
            .map(|count| Ok(format!("    {}", serde_json::to_string(count)?)))
            .collect::<anyhow::Result<_>>()?;
        text += &lines.join(",\n");
        text += "\n  ]";
        if !self.notes.is_empty() {
            text += &format!(",\n  \"notes\": {}", serde_json::to_string(&self.notes)?);
        }
        Ok(text + "\n}\n")
    }

    /// A Markdown table: a row for each engine, algorithm and r.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text =
            "| engine | algorithm | r | one hash | batch | one, ROM | batch, ROM |\n".to_owned();
        text += "|---|---|---|---|---|---|---|\n";
        let mut rows: Vec<(&str, &str, u32)> = Vec::new();
        for count in &self.counts {
            let row = (count.engine.as_str(), count.algorithm.as_str(), count.r);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        for row in rows {
            let cell = |batch: bool, rom: bool| {
                let mut found = self.counts.iter();
                let found = found.find(|count| {
                    row == (&*count.engine, &*count.algorithm, count.r)
                        && (count.together > 1) == batch
                        && count.rom == rom
                });
                found.map(|count| format!("{:.1}", count.instructions)).unwrap_or_default()
            };
            let cells = [(false, false), (true, false), (false, true), (true, true)]
                .map(|(b, m)| cell(b, m));
            let (engine, algorithm, r) = row;
            let _ = writeln!(text, "| {engine} | {algorithm} | {r} | {} |", cells.join(" | "));
        }
        text
    }

    /// What is worse than in a record: counts that have grown, that are new, or that are gone.
    ///
    /// What this system does not have is not missed; other compilers are not compared, which is an
    /// error.
    ///
    /// # Errors
    /// Another compiler than the record's.
    pub fn worse_than(&self, record: &Counts) -> anyhow::Result<Vec<String>> {
        ensure!(
            self.rustc == record.rustc,
            "the record is of {}, this program of {}: counts of two compilers are not compared",
            record.rustc.as_deref().unwrap_or("an unknown compiler"),
            self.rustc.as_deref().unwrap_or("an unknown compiler")
        );
        let ours = |count: &&Count| count.engine.starts_with("saltern");
        let mut worse = Vec::new();
        for count in self.counts.iter().filter(ours) {
            let Some(known) = record.counts.iter().find(|known| known.is_of(count)) else {
                worse.push(format!("{}: not in the record", count.name()));
                continue;
            };
            let growth = count.instructions / known.instructions - 1.0;
            if growth > TOLERANCE {
                worse.push(format!(
                    "{}: {} instructions, {} in the record (+{:.1} %)",
                    count.name(),
                    count.instructions,
                    known.instructions,
                    100.0 * growth
                ));
            }
        }
        let counted = |known: &Count| self.counts.iter().any(|count| count.engine == known.engine);
        for known in record.counts.iter().filter(ours).filter(|known| counted(known)) {
            if !self.counts.iter().any(|count| count.is_of(known)) {
                worse.push(format!("{}: not counted any more", known.name()));
            }
        }
        Ok(worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(usize, bool, f64)]) -> Counts {
        let count = |&(together, rom, instructions): &(usize, bool, f64)| Count {
            engine: "saltern avx2".to_owned(),
            algorithm: "yescrypt".to_owned(),
            r: 8,
            together,
            rom,
            instructions,
        };
        Counts {
            rustc: Some("rustc 1.95.0".to_owned()),
            commit: None,
            counts: values.iter().map(count).collect(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn growth_of_more_than_one_percent_is_worse() {
        let record = counts(&[(1, false, 250.0), (2, false, 240.0)]);
        let none: [&str; 0] = [];
        for same in [[250.0, 240.0], [252.4, 242.3], [200.0, 100.0]] {
            let now = counts(&[(1, false, same[0]), (2, false, same[1])]);
            assert_eq!(now.worse_than(&record).unwrap(), none);
        }
        let now = counts(&[(1, false, 253.0), (2, false, 240.0)]);
        let expected =
            "saltern avx2, yescrypt, r = 8, one hash: 253 instructions, 250 in the record (+1.2 %)";
        assert_eq!(now.worse_than(&record).unwrap(), [expected]);
        let now = counts(&[(1, false, 250.0), (2, true, 240.0)]);
        let worse = now.worse_than(&record).unwrap();
        assert!(worse[0].ends_with("ROM: not in the record"), "{worse:?}");
        assert!(worse[1].ends_with("batch: not counted any more"), "{worse:?}");
    }

    #[test]
    fn other_compilers_are_not_compared_and_missing_levels_are_not_missed() {
        let record = counts(&[(1, false, 250.0)]);
        let mut other = record.clone();
        other.rustc = Some("rustc 1.96.0".to_owned());
        assert!(other.worse_than(&record).unwrap_err().to_string().contains("1.96.0"));
        let mut portable = record.clone();
        portable.counts[0].engine = "crypt_r".to_owned();
        assert!(portable.worse_than(&record).unwrap().is_empty());
    }

    #[test]
    fn the_record_is_read_and_written_byte_for_byte() {
        let text = fs::read_to_string(RECORD).unwrap();
        let record = Counts::from_json(&text).unwrap();
        assert_eq!(record.to_json().unwrap(), text);
        let record = Counts { notes: vec!["\"one\" is left out".to_owned()], ..record };
        assert_eq!(Counts::from_json(&record.to_json().unwrap()).unwrap(), record);
    }
}
