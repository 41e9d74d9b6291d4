//! Cases as data: what the files in `lab/bench/cases` say.
//!
//! A file has sections; a section has grids of `cells`, `pairs` or `curves`. A key whose value is a
//! list stands for each of its members, so that a grid stands for all combinations. The table
//! `quick` of a grid replaces keys when there is little time, and `quick = false` leaves the grid
//! or the section out then. The keys are those of `Point`.

mod works;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use saltern_yescrypt::hazmat::{Level, Pages};
use serde::Deserialize;
use toml::{Table, Value};

use crate::record::Kind;
use crate::ssd::Access;
use crate::work::{Message, Work, pages_from_name};

/// One table to be measured.
#[derive(Clone, Debug)]
pub struct Section {
    /// As in the record.
    pub id: String,
    /// As in the record.
    pub title: String,
    /// As in the record.
    pub about: String,
    /// As in the record.
    pub kind: Kind,
    /// Measured on their own.
    pub cells: Vec<Cell>,
    /// Measured against each other.
    pub pairs: Vec<Pair>,
    /// Measured over offsets.
    pub curves: Vec<Curve>,
    /// Measured with a ROM in a file.
    pub files: Vec<RomFile>,
}

/// Hashes with a ROM in a file and in memory, one and the same.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RomFile {
    /// N and r of the hashes; r of the ROM.
    pub shape: (u64, u32),
    /// Blocks of the ROM.
    pub nrom: u64,
    /// Steps of the first loop that read the ROM: those with `i & fill == 1`.
    #[serde(default)]
    pub fill: u32,
    /// Steps of the second loop that read the ROM: those with `i & mix == 1`.
    pub mix: u32,
    /// How many steps before a read its block is chosen.
    #[serde(default)]
    pub look_ahead: u32,
    /// Hashes in flight in each thread, where reads overlap with hashes; none for what is best.
    pub in_flight: Option<usize>,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// How often each is made.
    pub rounds: usize,
    /// How the ROM is read, in the order in which it is measured in each round.
    pub ways: Vec<Access>,
    /// The image of the ROM; none for one that is made and removed again.
    pub image: Option<PathBuf>,
}

/// Some work by some engine, with several numbers of threads.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What to do, and by whom.
    pub side: Side,
    /// With how many threads, one after the other.
    pub threads: Vec<Threads>,
}

/// What one contender does.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The engine's name.
    pub engine: String,
    /// How it is called where the engine's name does not tell the sides of a pair apart.
    pub name: Option<String>,
    /// The work.
    pub work: Work,
    /// How many hashes at once; none for what is best.
    pub together: Option<usize>,
    /// Pages of the memory of hashes; none for what the engine takes.
    pub pages: Option<Pages>,
}

/// Two contenders.
#[derive(Clone, Debug)]
pub struct Pair {
    /// First and second.
    pub sides: [Side; 2],
    /// On each side.
    pub threads: Threads,
    /// The least ratio of first over second that is aimed at.
    pub goal: Option<f64>,
}

/// Rates over offsets.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The engine's name.
    pub engine: String,
    /// Messages in memory.
    pub message: Message,
    /// From one offset to the next.
    pub step: usize,
}

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This many.
    Count(usize),
    /// One for each processor.
    All,
}

impl Threads {
    /// The number on a machine with so many processors.
    #[must_use]
    pub fn count(self, processors: usize) -> usize {
        match self {
            Threads::Count(count) => count,
            Threads::All => processors,
        }
    }
}

/// The keys of a grid, after lists have been taken apart. What does not apply is left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Point {
    /// Who computes.
    engine: Option<String>,
    /// In a pair: who computes, and whom it is compared with.
    sides: Option<[String; 2]>,
    /// How a side is called.
    name: Option<String>,
    /// `yescrypt` (if none is given), `worm`, `scrypt`, `argon2d`, `argon2id`, `blake2b`, …
    algorithm: Option<String>,
    /// N and r.
    shape: Option<(u64, u32)>,
    p: Option<u32>,
    t: Option<u32>,
    /// PWXrounds.
    rounds: Option<u32>,
    /// KiB of all S-boxes.
    sbox_kib: Option<u32>,
    /// Bits of a lookup: 64 × PWXsimple.
    lookup: Option<u32>,
    /// PWXgather; what makes 64 bytes of a step if none is given.
    gather: Option<u32>,
    /// Rounds of Salsa20 where it mixes.
    salsa: Option<u32>,
    /// Blocks of ROM.
    nrom: Option<u64>,
    /// Pages of the ROM.
    rom_pages: Option<String>,
    /// Threads that fill one ROM together.
    fill_threads: Option<u8>,
    /// KiB of Argon2 and others.
    kib: Option<u32>,
    /// Bytes of a message, and how many messages.
    bytes: Option<usize>,
    messages: Option<usize>,
    /// Messages in a file.
    file: bool,
    /// How many hashes at once, or `best`.
    together: Option<Value>,
    /// Pages of the memory of hashes.
    pages: Option<String>,
    /// A number, or `all`.
    threads: Option<Value>,
    goal: Option<f64>,
    /// The goal on processors without AVX-512.
    goal_avx2: Option<f64>,
    /// Of a curve.
    step: Option<usize>,
}

/// In which order combinations are made: the last key varies fastest. Keys that may hold a list are
/// these.
#[rustfmt::skip]
const ORDER: &[&str] = &[
    // The work …
    "algorithm", "lookup", "gather", "salsa", "sbox-kib", "rounds", "nrom", "rom-pages", "pages", "t",
    "p", "shape", "fill-threads", "kib", "bytes", "messages", "file",
    // … how and by whom.
    "together", "engine", "sides", "goal", "goal-avx2", "step", "threads",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<SectionText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SectionText {
    id: String,
    title: String,
    about: String,
    kind: Kind,
    #[serde(default = "yes")]
    quick: bool,
    #[serde(default)]
    cells: Vec<Table>,
    #[serde(default)]
    pairs: Vec<Table>,
    #[serde(default)]
    curves: Vec<Table>,
    #[serde(default)]
    files: Vec<Table>,
}

fn yes() -> bool {
    true
}

/// The sections of a file, reduced to those and to what is meant for `quick` runs.
///
/// # Errors
/// What the file says wrongly, with the section's name.
pub fn parse(text: &str, quick: bool) -> anyhow::Result<Vec<Section>> {
    let file: File = toml::from_str(text)?;
    let wanted = file.section.into_iter().filter(|section| section.quick || !quick);
    wanted.map(|text| section(text, quick)).collect()
}

fn section(text: SectionText, quick: bool) -> anyhow::Result<Section> {
    let SectionText { id, title, about, kind, cells, pairs, curves, files, .. } = text;
    let context = format!("section {id}");
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut section = Section {
        id,
        title,
        about,
        kind,
        cells: vec![],
        pairs: vec![],
        curves: vec![],
        files: vec![],
    };
    fill(&mut section, [cells, pairs, curves], quick).with_context(|| context.clone())?;
    for table in files.into_iter().filter_map(|table| chosen(table, quick)) {
        section.files.push(Value::Table(table?).try_into().with_context(|| context.clone())?);
    }
    Ok(section)
}

fn fill(section: &mut Section, grids: [Vec<Table>; 3], quick: bool) -> anyhow::Result<()> {
    let [cells, pairs, curves] = grids;
    for grid in cells.into_iter().filter_map(|grid| chosen(grid, quick)) {
        for point in combinations(grid?)? {
            add_cell(&mut section.cells, &point_of(point)?)?;
        }
    }
    for grid in pairs.into_iter().filter_map(|grid| chosen(grid, quick)) {
        for point in combinations(grid?)? {
            section.pairs.push(pair(point)?);
        }
    }
    for grid in curves.into_iter().filter_map(|grid| chosen(grid, quick)) {
        for point in combinations(grid?)? {
            section.curves.push(curve(&point_of(point)?)?);
        }
    }
    Ok(())
}

/// The grid as it is meant for this kind of run, if it is.
fn chosen(mut grid: Table, quick: bool) -> Option<anyhow::Result<Table>> {
    match grid.remove("quick") {
        None => {}
        Some(Value::Boolean(wanted)) if !wanted && quick => return None,
        Some(Value::Boolean(_)) => {}
        Some(Value::Table(instead)) if quick => grid.extend(instead),
        Some(Value::Table(_)) => {}
        Some(other) => return Some(Err(anyhow::anyhow!("quick = {other:?}: a table or false"))),
    }
    Some(Ok(grid))
}

/// A table for each combination of the members of lists.
fn combinations(grid: Table) -> anyhow::Result<Vec<Table>> {
    for (key, value) in &grid {
        let known = ORDER.contains(&key.as_str());
        ensure!(known || !value.is_array(), "{key}: no list is meant here");
    }
    let mut tables = vec![grid];
    for &key in ORDER {
        let one_each = |table: Table| match table.get(key) {
            Some(Value::Array(members)) => members
                .iter()
                .map(|member| {
                    let mut table = table.clone();
                    table.insert(key.to_owned(), member.clone());
                    table
                })
                .collect(),
            _ => vec![table],
        };
        tables = tables.into_iter().flat_map(one_each).collect();
    }
    Ok(tables)
}

fn point_of(table: Table) -> anyhow::Result<Point> {
    Ok(Value::Table(table).try_into()?)
}

/// Cells that differ in nothing but threads are one case, so that they share their memory.
fn add_cell(cells: &mut Vec<Cell>, point: &Point) -> anyhow::Result<()> {
    let (side, threads) = (side(point)?, threads(point)?);
    match cells.iter_mut().find(|cell| cell.side == side) {
        Some(cell) => cell.threads.push(threads),
        None => cells.push(Cell { side, threads: vec![threads] }),
    }
    Ok(())
}

fn pair(mut table: Table) -> anyhow::Result<Pair> {
    let overlay = |table: &Table, over: Option<Value>| -> anyhow::Result<Point> {
        let mut table = table.clone();
        if let Some(over) = over {
            let Value::Table(over) = over else { bail!("first and second are tables") };
            table.extend(over);
        }
        point_of(table)
    };
    let [first, second] = ["first", "second"].map(|key| table.remove(key));
    let mut points = [overlay(&table, first)?, overlay(&table, second)?];
    if let Some(sides) = points[0].sides.take() {
        points[1].sides = None;
        for (point, engine) in points.iter_mut().zip(sides) {
            point.engine = Some(engine);
        }
    }
    let wide = Level::detect() == Level::Avx512;
    let goal = if wide { points[0].goal } else { points[0].goal_avx2.or(points[0].goal) };
    let threads = threads(&points[0])?;
    let [first, second] = points;
    Ok(Pair { sides: [side(&first)?, side(&second)?], threads, goal })
}

fn curve(point: &Point) -> anyhow::Result<Curve> {
    let Side { engine, work, .. } = side(point)?;
    let Work::Message(message) = work else { bail!("a curve is of messages") };
    let step = point.step.context("a curve has a step")?;
    ensure!((1..=4096).contains(&step), "step = {step}: 1 to 4096");
    Ok(Curve { engine, message, step })
}

fn side(point: &Point) -> anyhow::Result<Side> {
    let together = match &point.together {
        None => None,
        Some(Value::String(best)) if best == "best" => None,
        Some(Value::Integer(count)) if *count >= 1 => Some(*count as usize),
        Some(other) => bail!("together = {other:?}: a number from 1, or \"best\""),
    };
    Ok(Side {
        engine: point.engine.clone().context("no engine")?,
        name: point.name.clone(),
        work: works::work(point)?,
        together,
        pages: point.pages.as_deref().map(pages_from_name).transpose()?,
    })
}

fn threads(point: &Point) -> anyhow::Result<Threads> {
    match &point.threads {
        None => Ok(Threads::Count(1)),
        Some(Value::String(all)) if all == "all" => Ok(Threads::All),
        Some(Value::Integer(count)) if (1..=1024).contains(count) => {
            Ok(Threads::Count(*count as usize))
        }
        Some(other) => bail!("threads = {other:?}: a number from 1 to 1024, or \"all\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[section]]
        id = "one"
        title = "One"
        about = """
            Several
            lines."""
        kind = "memory"
        [[section.cells]]
        engine = "saltern"
        shape = [[1024, 8], [2048, 8]]
        rounds = [6, 2]
        threads = [1, "all"]
        quick = { rounds = 6 }
        [[section.cells]]
        quick = false
        engine = ["saltern avx2"]
        algorithm = "argon2id"
        kib = 4096

        [[section]]
        id = "two"
        title = "Two"
        about = "x"
        kind = "goals"
        quick = false
        [[section.pairs]]
        algorithm = "blake2b"
        bytes = [64, 1024]
        sides = [["saltern", "blake2b_simd"]]
        goal = 1.5
        [[section.pairs]]
        engine = "saltern"
        shape = [[1024, 8]]
        first = { pages = "2 MiB", name = "huge" }
        second = { pages = "4 KiB", name = "standard" }
        [[section.curves]]
        engine = ["saltern", "blake2b_simd"]
        algorithm = "blake2bp"
        bytes = 1048576
        step = 61
    "#;

    #[test]
    fn grids_are_taken_apart() {
        let sections = parse(FILE, false).unwrap();
        assert_eq!(sections.len(), 2);
        let cells = &sections[0].cells;
        assert_eq!((cells.len(), sections[0].about.as_str()), (5, "Several lines."));
        let shapes: Vec<_> = cells.iter().map(|cell| cell.side.work.record()).collect();
        let seen: Vec<_> = shapes.iter().map(|work| (work.rounds, work.n)).collect();
        let expected = [(6, 1024), (6, 2048), (2, 1024), (2, 2048)];
        assert_eq!(seen[..4], expected.map(|(rounds, n)| (Some(rounds), Some(n))));
        assert_eq!(cells[0].threads, [Threads::Count(1), Threads::All]);
        assert_eq!(Threads::All.count(7), 7);
        assert_eq!(cells[4].threads, [Threads::Count(1)]);
        let [blake2, .., pages] = &sections[1].pairs[..] else { panic!("pairs") };
        assert_eq!((sections[1].pairs.len(), blake2.goal), (3, Some(1.5)));
        assert_eq!(blake2.sides[1].engine, "blake2b_simd");
        assert_eq!(pages.sides[0].pages, Some(Pages::Huge));
        assert_eq!(pages.sides[1].pages, Some(Pages::Standard));
        assert_eq!(pages.sides[1].name.as_deref(), Some("standard"));
        assert_eq!(sections[1].curves.len(), 2);
    }

    #[test]
    fn quick_runs_leave_out() {
        let sections = parse(FILE, true).unwrap();
        assert_eq!((sections.len(), sections[0].cells.len()), (1, 2));
    }

    #[test]
    fn mistakes_are_told_with_their_section() {
        let wrong = [
            ("rounds = [6, 2]", "rounds = [7]", "PWXrounds"),
            ("rounds = [6, 2]", "ronds = 6", "ronds"),
            ("rounds = [6, 2]", "ronds = [6]", "ronds"),
            ("\"all\"]", "\"every\"]", "every"),
            ("shape = [[1024, 8], [2048, 8]]", "shape = [[1023, 8]]", "1023"),
            ("shape = [[1024, 8], [2048, 8]]", "", "shape"),
            (
                "engine = \"saltern\"\n        shape = [[1024, 8], [",
                "shape = [[1024, 8], [",
                "engine",
            ),
        ];
        for (from, to, told) in wrong {
            let text = FILE.replacen(from, to, 1);
            assert_ne!(text, FILE, "{from}");
            let error = format!("{:#}", parse(&text, false).unwrap_err());
            assert!(error.contains("section one") && error.contains(told), "{to}: {error}");
        }
        assert!(parse("[[sections]]", false).is_err());
    }
}
