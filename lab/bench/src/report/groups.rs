//! Which cells of a section belong on one line of a plot: those that differ in nothing but what
//! varies along it.

use super::markup::{bytes, kib, plural};
use crate::record::{Cell, Kind, Section};

/// Something in which cells can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trait {
    Threads,
    Algorithm,
    Salsa,
    Rounds,
    Sbox,
    Lookup,
    Rom,
    Pages,
    Engine,
    Together,
    Passes,
    Lanes,
    Memory,
    Bytes,
    Messages,
    // The following mostly follow from others.
    Gather,
    RomSize,
    BlockSize,
    Label,
}

use Trait::*;

/// All of them, in the order in which a name lists them. The last are looked at only where the
/// others are not enough.
const TRAITS: [Trait; 19] = [
    Algorithm, Engine, Memory, Bytes, Messages, Salsa, Rounds, Sbox, Lookup, Passes, Lanes, Rom,
    Pages, Together, Threads, Gather, RomSize, BlockSize, Label,
];
const LAST_RESORT: [Trait; 4] = [Gather, RomSize, BlockSize, Label];

impl Trait {
    /// The value in words that make sense beside those of other traits; empty where the cell has
    /// none.
    pub(super) fn of(self, cell: &Cell) -> String {
        let work = &cell.work;
        let some = |value: Option<u32>, text: fn(u32) -> String| value.map_or(String::new(), text);
        match self {
            Threads => plural(cell.threads, "thread"),
            Algorithm => work.algorithm.clone(),
            Salsa => some(work.salsa_rounds, |rounds| format!("Salsa20/{rounds}")),
            Rounds => some(work.rounds, |rounds| plural(rounds as usize, "round")),
            Sbox => some(work.sbox_kib, |size| format!("{size} KiB S-boxes")),
            Lookup => some(work.lookup_bits, |bits| format!("{bits}-bit lookups")),
            Rom => rom(cell),
            Pages => {
                cell.pages.as_ref().map_or(String::new(), |pages| format!("RAM on {pages} pages"))
            }
            Engine => cell.engine.clone(),
            Together => match cell.together {
                0 | 1 => "one at a time".to_owned(),
                count => format!("{count} at once"),
            },
            Passes => some(work.t, |t| format!("t = {t}")),
            Lanes => some(work.p, |p| format!("p = {p}")),
            Memory => work.memory_kib.map_or(String::new(), kib),
            Bytes => work.bytes.map_or(String::new(), |size| bytes(size as f64)),
            Messages => {
                work.messages.map_or(String::new(), |count| plural(count as usize, "message"))
            }
            Gather => some(work.gather, |gather| format!("gather {gather}")),
            RomSize => {
                work.rom_kib.map_or(String::new(), |size| format!("ROM of {}", kib(size as f64)))
            }
            BlockSize => some(work.r, |r| format!("r = {r}")),
            Label => cell.label.clone(),
        }
    }

    /// By what values are put in their natural order; 0 where there is none.
    pub(super) fn order(self, cell: &Cell) -> f64 {
        let work = &cell.work;
        match self {
            Threads => cell.threads as f64,
            Together => cell.together as f64,
            Salsa => work.salsa_rounds.map_or(0.0, f64::from),
            Rounds => work.rounds.map_or(0.0, f64::from),
            Sbox => work.sbox_kib.map_or(0.0, f64::from),
            Lookup => work.lookup_bits.map_or(0.0, f64::from),
            Memory => work.memory_kib.unwrap_or(0.0),
            Bytes => work.bytes.map_or(0.0, |size| size as f64),
            Rom => f64::from(work.rom_kib.is_some()),
            _ => 0.0,
        }
    }
}

fn rom(cell: &Cell) -> String {
    match (&cell.work.rom_medium, cell.work.rom_kib) {
        (Some(medium), _) => format!("ROM in {medium}"),
        (None, Some(_)) => "ROM".to_owned(),
        (None, None) => "no ROM".to_owned(),
    }
}

/// Cells in lines: each line has a name, which is empty where there is nothing to tell apart.
pub(super) type Groups<'a> = Vec<(String, Vec<&'a Cell>)>;

/// The traits in which the cells differ, apart from those along a line.
pub(super) fn varying(cells: &[&Cell], along: &[Trait]) -> Vec<Trait> {
    let differs = |t: &Trait| {
        let mut values = cells.iter().map(|cell| t.of(cell));
        let first = values.next();
        !along.contains(t) && !LAST_RESORT.contains(t) && values.any(|value| Some(value) != first)
    };
    TRAITS.into_iter().filter(differs).collect()
}

/// Cells with equal values of these traits together, in the order of the first of each.
pub(super) fn by<'a>(cells: &[&'a Cell], traits: &[Trait]) -> Groups<'a> {
    let mut groups: Groups<'a> = Vec::new();
    for cell in cells {
        let values = traits.iter().map(|t| t.of(cell)).filter(|value| !value.is_empty());
        let name = values.collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(cell),
            None => groups.push((name, vec![cell])),
        }
    }
    groups
}

/// Adds traits until no two cells with equal values of all of them are `same`, as far as there are
/// any left.
fn add_last_resorts(
    cells: &[&Cell],
    traits: &mut Vec<Trait>,
    along: &[Trait],
    same: impl Fn(&Cell, &Cell) -> bool,
) {
    for last in LAST_RESORT {
        let collides = |(_, group): &(String, Vec<&Cell>)| {
            group.iter().enumerate().any(|(i, a)| group[..i].iter().any(|b| same(a, b)))
        };
        if !by(cells, traits).iter().any(collides) {
            return;
        }
        let differs = cells.iter().any(|cell| last.of(cell) != last.of(cells[0]));
        if differs && !along.contains(&last) {
            traits.push(last);
        }
    }
}

/// Leaves out traits that follow from the others here, of those that say little to a reader.
fn leave_out(cells: &[&Cell], traits: &mut Vec<Trait>) {
    let groups = by(cells, traits).len();
    for minor in [Lookup, Sbox, Passes, Lanes, Salsa, Pages] {
        let fewer: Vec<Trait> = traits.iter().copied().filter(|t| *t != minor).collect();
        if fewer.len() < traits.len() && !fewer.is_empty() && by(cells, &fewer).len() == groups {
            *traits = fewer;
        }
    }
}

/// What tells each of some cells from the others, in words.
pub(super) struct Names(Vec<Trait>);

impl Names {
    pub(super) fn of(cells: &[&Cell]) -> Self {
        let mut traits = varying(cells, &[]);
        add_last_resorts(cells, &mut traits, &[], |_, _| true);
        leave_out(cells, &mut traits);
        Self(traits)
    }

    /// The name of one of the cells.
    pub(super) fn name(&self, cell: &Cell) -> String {
        let values = self.0.iter().map(|t| t.of(cell)).filter(|value| !value.is_empty());
        let name = values.collect::<Vec<_>>().join(", ");
        if name.is_empty() { cell.label.clone() } else { name }
    }
}

/// Lines over `x`, no more of them in one plot than can be told apart: several plots where there
/// are more, each with a name for what its lines have in common.
pub(super) fn plots<'a>(
    cells: &[&'a Cell],
    along: &[Trait],
    x: impl Fn(&Cell) -> Option<f64>,
    most: usize,
) -> Vec<(String, Groups<'a>)> {
    let cells: Vec<&Cell> = cells.iter().copied().filter(|cell| x(cell).is_some()).collect();
    let mut traits = varying(&cells, along);
    add_last_resorts(&cells, &mut traits, along, |a, b| x(a) == x(b));
    leave_out(&cells, &mut traits);
    let mut common = Vec::new();
    while traits.len() > 1
        && by(&cells, &common).iter().any(|(_, part)| by(part, &traits).len() > most)
    {
        // What splits best first: the order in which the traits are declared.
        let Some(&next) = traits.iter().min() else { break };
        common.push(next);
        traits.retain(|t| *t != next);
    }
    let parts = by(&cells, &common);
    let mut plots: Vec<(String, Groups<'_>)> = Vec::new();
    for (name, part) in parts {
        let lines = by(&part, &traits);
        // More than can be told apart even so: by number.
        for (i, some) in lines.chunks(most).enumerate() {
            let name = match (name.as_str(), i) {
                (name, 0) => name.to_owned(),
                ("", i) => format!("part {}", i + 1),
                (name, i) => format!("{name}, part {}", i + 1),
            };
            plots.push((name, some.to_vec()));
        }
    }
    plots
}

/// The values of a trait that occur, in their natural order.
pub(super) fn values(cells: &[&Cell], t: Trait) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for cell in cells {
        let value = t.of(cell);
        if !found.iter().any(|(_, known)| *known == value) {
            found.push((t.order(cell), value));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, value)| value).collect()
}

/// Cells of a section with as many threads as any of them has: what a loaded machine does.
pub(super) fn full_load(section: &Section) -> Vec<&Cell> {
    let most = section.cells.iter().map(|cell| cell.threads).max().unwrap_or(0);
    let all = section.kind == Kind::Threads;
    section.cells.iter().filter(|cell| all || cell.threads == most).collect()
}
