//! The record of a run: what was measured, on which machine, by which build, with which result.
//! What `--json` writes, what the tables and the report page are made from, and what two runs are
//! compared by.
//!
//! Numbers are plain: rates per second, times as their names say, memory in KiB. Fields that do not
//! apply are left out.

use saltern_tune::neighbour::Neighbours;
use serde::{Deserialize, Serialize};

/// The version of the form below. A reader refuses a newer one.
pub const SCHEMA: u32 = 1;

/// Everything about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The command line that made it, from `saltern` on.
    pub command: String,
    /// When it began, in seconds since 1970.
    pub unix_time: u64,
    /// How long it took.
    pub seconds: f64,
    /// Where.
    pub machine: Machine,
    /// With which code.
    pub build: Build,
    /// Who shared the processor meanwhile; none in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// The tables, in the order in which they were measured.
    pub sections: Vec<Section>,
    /// What was left out and why, such as a peer that this system does not have.
    pub notes: Vec<String>,
}

/// The computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name, family and model.
    pub processor: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// The best CPU level that was found: `avx512`, …
    pub level: String,
    /// Operating system and architecture.
    pub system: String,
    /// Main memory.
    pub memory_kib: u64,
    /// The data caches of the first processor.
    pub caches: Vec<Cache>,
    /// The system's setting of transparent huge pages: `madvise`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
}

/// One data or unified cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2 or 3.
    pub level: u32,
    /// Its size.
    pub kib: u64,
    /// How many processors share it.
    pub shared_by: usize,
}

/// The code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Saltern's version.
    pub version: String,
    /// The commit of the working directory, with `-dirty` if it is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
    /// `release` or `debug`; only the first is worth quoting.
    pub profile: String,
}

/// One table: cells that belong together because one thing varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Stable name, unique in the record: `yescrypt-memory`, `seed000`, …
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What it shows, in a sentence or two of plain text.
    pub about: String,
    /// What varies, from which follows how to draw it.
    pub kind: Kind,
    /// Measured on their own, taking turns with each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// Measured in pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<Ratio>,
    /// Rates as a function of a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
}

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `work.memory_kib`, perhaps with and without ROM, by pages, by engine.
    Memory,
    /// `work.rounds` by `work.sbox_kib`, for each `work.lookup_bits`: a heat map.
    Tunings,
    /// `threads`.
    Threads,
    /// `together`: how many hashes advance at once in one thread.
    Together,
    /// `work.bytes`.
    Sizes,
    /// `curves` over the offset of the input within a page.
    Offsets,
    /// `engine`: the same or comparable work done by different implementations or algorithms.
    Peers,
    /// `ratios` with goals.
    Goals,
    /// Anything else: a list.
    Other,
}

/// One measured thing: so much work by one engine in so many threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Stable name, unique in the record: the section's id, a slash, and what tells the cell apart.
    pub id: String,
    /// For people.
    pub label: String,
    /// What was computed.
    pub work: Work,
    /// Who computed it: `saltern`, `crypt_r`, `crate argon2`, …
    pub engine: String,
    /// Threads, each pinned to a processor and with memory of its own.
    pub threads: usize,
    /// How many hashes advance at once in each thread; 1 for one after the other.
    pub together: usize,
    /// The kind of pages that memory was asked for on: `4 KiB`, `2 MiB`; absent where the engine
    /// decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// Hashes in all samples together.
    pub hashes: u64,
    /// Time of all samples, as it passed.
    pub real_seconds: f64,
    /// Processor time of all threads in them.
    pub cpu_seconds: f64,
    /// Hashes for each second that passed.
    pub real: Estimate,
    /// Hashes for each second of processor time ("virtual" in the output).
    pub cpu: Estimate,
    /// GB/s (10^9 bytes) of memory or of input, and how they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// How long one call took while all threads worked. A call computes `together` hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Other implementations that gave the same answer before the clock started.
    pub agrees_with: Vec<String>,
}

/// The median of some samples, and the 95 % interval of the median by bootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many samples.
    pub samples: usize,
}

/// Bytes through memory in a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes read and written for each hash, divided by its RAM: the ×4, ×3 or ×2 of the
    /// accounting. 1 for plain input.
    pub factor: f64,
    /// Of those, the part that is read from the ROM.
    pub rom_factor: f64,
    /// 10^9 bytes in a second: `real.median` × bytes of RAM × `factor` / 10^9.
    pub gb_per_s: f64,
}

/// Times of single calls in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The shortest.
    pub min_ms: f64,
    /// The mean.
    pub avg_ms: f64,
    /// 99 of 100 were shorter.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// What was computed, as far as the algorithm has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// `yescrypt`, `yescrypt-worm`, `scrypt`, `escrypt`, `rom-fill`, `argon2d`, `argon2id`,
    /// `twocats`, `skinnycat`, `blake2b`, `blake2s`, `blake2bp`, `blake2sp`, `blake3`.
    pub algorithm: String,
    /// Memory of one hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_kib: Option<f64>,
    /// N.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// r.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<u32>,
    /// p, or lanes of Argon2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<u32>,
    /// t, or passes of Argon2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<u32>,
    /// Threads that work on one result together; `threads` of a cell counts those that work
    /// independently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// PWXrounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// KiB of all three S-boxes. Earlier designs had two: their 8 KiB are 12 here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sbox_kib: Option<u32>,
    /// Bits of an S-box lookup: 64 × PWXsimple.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookup_bits: Option<u32>,
    /// PWXgather.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gather: Option<u32>,
    /// Rounds of Salsa20 where it does the mixing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salsa_rounds: Option<u32>,
    /// Size of the ROM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rom_kib: Option<u64>,
    /// Where the ROM is: `RAM, 4 KiB pages`, `RAM, 2 MiB pages`, `SSD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rom_medium: Option<String>,
    /// Bytes of one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Messages in one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
}

/// Two engines on the same work, turn by turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Stable name, unique in the record.
    pub id: String,
    /// For people.
    pub label: String,
    /// What both computed.
    pub work: Work,
    /// The contender, and what it is measured against.
    pub sides: [String; 2],
    /// Threads on each side.
    pub threads: usize,
    /// `cpu`: processor time; `real`: time that passed.
    pub clock: String,
    /// The unit of the rates: `hashes/s` or `GB/s`.
    pub unit: String,
    /// Rates of both sides.
    pub rates: [Estimate; 2],
    /// First over second, turn by turn: above 1, the first side is faster.
    pub ratio: Estimate,
    /// The ratio in quiet moments: of the rates that each side exceeds in one turn of twenty, which
    /// are the 5th percentiles of its times. None in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<f64>,
    /// What the interval says.
    pub verdict: Verdict,
    /// The least ratio that was aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
}

/// What the interval of a ratio says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of it is above 1.
    Faster,
    /// All of it is below 1.
    Slower,
    /// It spans 1.
    Tie,
}

/// Rates as a function of a number that goes up in equal steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Stable name, unique in the record.
    pub id: String,
    /// For people.
    pub label: String,
    /// Who computed it.
    pub engine: String,
    /// What was computed.
    pub work: Work,
    /// What the number is: `offset in bytes`.
    pub axis: String,
    /// The first value of the number.
    pub start: u64,
    /// From one value to the next.
    pub step: u64,
    /// The unit of the values: `GB/s`.
    pub unit: String,
    /// A rate for each value: the best of several samples.
    pub values: Vec<f64>,
}

/// How far a ratio is from what was aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All of the interval is at or above it.
    Reached,
    /// It lies in the interval.
    Open,
    /// All of the interval is below it.
    Missed,
}

impl Goal {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Reached => "reached",
            Goal::Open => "within the interval",
            Goal::Missed => "missed",
        }
    }
}

impl Ratio {
    /// Whether what was aimed at is reached, if anything was.
    #[must_use]
    pub fn goal(&self) -> Option<Goal> {
        let goal = self.goal?;
        Some(match self.ratio {
            interval if interval.low >= goal => Goal::Reached,
            interval if interval.high >= goal => Goal::Open,
            _ => Goal::Missed,
        })
    }
}

impl Curve {
    /// The number that a value belongs to.
    #[must_use]
    pub fn place(&self, index: usize) -> u64 {
        self.start.saturating_add(self.step.saturating_mul(index as u64))
    }
}

impl Record {
    /// The record in a JSON text.
    ///
    /// # Errors
    /// A text that is no such record, or is one of a newer version.
    pub fn from_json(text: &str) -> anyhow::Result<Record> {
        let record: Record = serde_json::from_str(text)?;
        anyhow::ensure!(
            record.schema <= SCHEMA,
            "the record has version {}, this program reads up to {SCHEMA}",
            record.schema
        );
        Ok(record)
    }

    /// The record as JSON, one line for each cell.
    ///
    /// # Errors
    /// A number that JSON has no form for.
    pub fn to_json(&self) -> anyhow::Result<String> {
        let sections = self.sections.iter().map(section_json).collect::<Result<Vec<_>, _>>()?;
        let mut text = String::from("{\n");
        for (name, value) in [
            ("schema", json(&self.schema)?),
            ("command", json(&self.command)?),
            ("unix_time", json(&self.unix_time)?),
            ("seconds", json(&self.seconds)?),
            ("machine", json(&self.machine)?),
            ("build", json(&self.build)?),
            ("notes", json(&self.notes)?),
            ("neighbours", json(&self.neighbours)?),
        ] {
            if value != "null" {
                text += &format!("  \"{name}\": {value},\n");
            }
        }
        text += &format!("  \"sections\": [\n{}\n  ]\n}}\n", sections.join(",\n"));
        Ok(text)
    }

    /// All cells of all sections.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.sections.iter().flat_map(|section| &section.cells)
    }

    /// All ratios of all sections.
    pub fn ratios(&self) -> impl Iterator<Item = &Ratio> {
        self.sections.iter().flat_map(|section| &section.ratios)
    }
}

fn section_json(section: &Section) -> serde_json::Result<String> {
    let Section { id, title, about, kind, cells, ratios, curves } = section;
    let mut text = String::from("    {");
    text += &format!("\"id\": {}, \"kind\": {}", json(id)?, json(kind)?);
    text += &format!(",\n     \"title\": {},\n     \"about\": {}", json(title)?, json(about)?);
    for (name, lines) in
        [("cells", lines(cells)?), ("ratios", lines(ratios)?), ("curves", lines(curves)?)]
    {
        if !lines.is_empty() {
            text += &format!(",\n     \"{name}\": [\n      {}\n     ]", lines.join(",\n      "));
        }
    }
    Ok(text + "}")
}

fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

fn lines(values: &[impl Serialize]) -> serde_json::Result<Vec<String>> {
    values.iter().map(json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("record/example.json");

    #[test]
    fn the_example_is_read_and_written_byte_for_byte() {
        let record = Record::from_json(EXAMPLE).unwrap();
        assert_eq!(
            (record.sections.len(), record.cells().count(), record.ratios().count()),
            (8, 14, 3)
        );
        assert_eq!(record.to_json().unwrap(), EXAMPLE);
    }

    #[test]
    fn names_are_unique() {
        let record = Record::from_json(EXAMPLE).unwrap();
        let mut ids: Vec<_> = record.cells().map(|cell| &cell.id).collect();
        ids.extend(record.ratios().map(|ratio| &ratio.id));
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn a_newer_version_and_what_is_no_record_are_refused() {
        let newer = EXAMPLE.replacen("\"schema\": 1", "\"schema\": 2", 1);
        let error = Record::from_json(&newer).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
        assert!(Record::from_json("{}").is_err());
    }
}
