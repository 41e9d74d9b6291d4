//! What a plot means, in a sentence that is computed from what it shows.

use super::form::Form;
use super::groups::{Groups, Names, Trait};
use super::markup::{bytes, factor, number, percent, plural};
use crate::record::{Cell, Curve, Goal, Kind, Latency, Ratio, Verdict};

/// The line with the highest value of any.
fn best_line<'a, 'b>(form: &Form, lines: &'b Groups<'a>) -> Option<(&'b str, Vec<&'a Cell>)> {
    let top = |cells: &[&Cell]| cells.iter().map(|cell| (form.y)(cell)).fold(0.0, f64::max);
    let (name, cells) = lines.iter().max_by(|a, b| top(&a.1).total_cmp(&top(&b.1)))?;
    let mut cells = cells.clone();
    let x = |cell: &Cell| (form.x)(cell).unwrap_or(0.0);
    cells.sort_by(|a, b| x(a).total_cmp(&x(b)));
    Some((name, cells))
}

/// The name of that line, its first cell and its highest.
fn first_and_best<'a, 'b>(
    form: &Form,
    lines: &'b Groups<'a>,
) -> Option<(&'b str, &'a Cell, &'a Cell)> {
    let (name, cells) = best_line(form, lines)?;
    let best = cells.iter().max_by(|a, b| (form.y)(a).total_cmp(&(form.y)(b)))?;
    Some((name, cells[0], best))
}

/// A name before a statement about it.
fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}: ") }
}

/// `3.1 % more`, `66 % less`, `2.5 times as much`, `the same`.
fn change(ratio: f64) -> String {
    match ratio {
        0.995..=1.005 => "the same".to_owned(),
        1.005..1.5 => format!("{} more", percent(ratio - 1.0)),
        0.0..0.995 => format!("{} less", percent(1.0 - ratio)),
        _ => format!("{} times as much", factor(ratio)),
    }
}

pub(super) fn memory(form: &Form, lines: &Groups<'_>) -> String {
    let Some((name, cells)) = best_line(form, lines) else { return String::new() };
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return String::new() };
    let [small, large] = [first, last].map(|cell| (form.y)(cell));
    let [from, to] = [first, last].map(|cell| super::form::memory_of(cell));
    let filled = |cell: &Cell| (form.y)(cell) * (form.x)(cell).unwrap_or(0.0);
    let most = most_apart(form, lines);
    let apart = most.map_or(String::new(), |(ratio, at)| {
        format!(" The lines are furthest apart at {at}, by a factor of {}.", factor(ratio))
    });
    format!(
        "{}from {from} to {to} a hash the rate goes from {} to {} a second, and the memory filled in a second is then {}.{apart}",
        prefix(name),
        number(small),
        number(large),
        change(filled(last) / filled(first))
    )
}

/// The largest ratio between two lines at the same place, and where.
fn most_apart(form: &Form, lines: &Groups<'_>) -> Option<(f64, String)> {
    let cells = || lines.iter().flat_map(|(_, cells)| cells);
    let mut most: Option<(f64, String)> = None;
    for cell in cells() {
        let same = cells().filter(|other| (form.x)(other) == (form.x)(cell));
        let least = same.map(|other| (form.y)(other)).fold(f64::INFINITY, f64::min);
        let ratio = (form.y)(cell) / least;
        if ratio > most.as_ref().map_or(1.0, |known| known.0) {
            most = Some((ratio, form.along.of(cell)));
        }
    }
    most
}

pub(super) fn threads(form: &Form, lines: &Groups<'_>) -> String {
    let Some((name, first, best)) = first_and_best(form, lines) else { return String::new() };
    let ratio = (form.y)(best) / (form.y)(first);
    let share = ratio * first.threads as f64 / best.threads as f64;
    if best.threads == first.threads {
        return format!("{}more threads than {} add nothing.", prefix(name), first.threads);
    }
    format!(
        "{}{} do {} times the work of {}, {} of what is in proportion.",
        prefix(name),
        plural(best.threads, "thread"),
        factor(ratio),
        first.threads,
        percent(share)
    )
}

pub(super) fn together(form: &Form, lines: &Groups<'_>) -> String {
    let Some((name, first, best)) = first_and_best(form, lines) else { return String::new() };
    if best.together == first.together {
        return format!("{}more hashes at once than {} add nothing.", prefix(name), first.together);
    }
    let ratio = (form.y)(best) / (form.y)(first);
    let (many, few) = (best.together, first.together);
    format!("{}{many} hashes at once do {} times the work of {few}.", prefix(name), factor(ratio))
}

pub(super) fn sizes(form: &Form, lines: &Groups<'_>) -> String {
    let Some((name, first, best)) = first_and_best(form, lines) else { return String::new() };
    let size = |cell: &Cell| bytes((form.x)(cell).unwrap_or(0.0));
    format!(
        "{}the most is {} GB/s with messages of {}; messages of {} reach {} of that.",
        prefix(name),
        number((form.y)(best)),
        size(best),
        size(first),
        percent((form.y)(first) / (form.y)(best))
    )
}

pub(super) fn latency(kind: Kind, lines: &Groups<'_>) -> String {
    let cells = || lines.iter().flat_map(|(_, cells)| cells);
    let rate = |a: &&&Cell, b: &&&Cell| a.real.median.total_cmp(&b.real.median);
    let (Some(fast), Some(slow)) = (cells().max_by(rate), cells().min_by(rate)) else {
        return String::new();
    };
    let average = |cell: &Cell| cell.latency.map_or(f64::NAN, |Latency { avg_ms, .. }| avg_ms);
    let names = Names::of(&cells().copied().collect::<Vec<_>>());
    let load = match kind {
        Kind::Threads => String::new(),
        _ => format!(" with {} at work", plural(fast.threads, "thread")),
    };
    format!(
        "Most hashes{load}: {}, {} a second at {} ms a call. Fewest: {}, {} times less at {} ms.",
        names.name(fast),
        number(fast.real.median),
        number(average(fast)),
        names.name(slow),
        factor(fast.real.median / slow.real.median),
        number(average(slow))
    )
}

/// The fastest and the slowest of some cells.
pub(super) fn extremes(cells: &[&Cell], names: &Names, unit: &str) -> String {
    let rate = |a: &&&Cell, b: &&&Cell| a.real.median.total_cmp(&b.real.median);
    let finite = || cells.iter().filter(|cell| cell.real.median.is_finite());
    let (Some(fast), Some(slow)) = (finite().max_by(rate), finite().min_by(rate)) else {
        return String::new();
    };
    let most = match (unit, fast.work.bytes) {
        (GIGABYTES, Some(bytes)) => fast.real.median * bytes as f64 / 1e9,
        _ => fast.real.median,
    };
    if std::ptr::eq(*fast, *slow) {
        return format!("{}: {} {unit}.", names.name(fast), number(most));
    }
    format!(
        "Most, {} {unit}: {}; {} times the least, {}.",
        number(most),
        names.name(fast),
        factor(fast.real.median / slow.real.median),
        names.name(slow)
    )
}

/// The unit of rates of cells that hash plain input; all others count hashes.
pub(super) const GIGABYTES: &str = "GB/s";

pub(super) fn curves(curves: &[&Curve]) -> String {
    let describe = |curve: &&Curve| {
        let finite =
            || curve.values.iter().copied().enumerate().filter(|(_, value)| value.is_finite());
        let (at_low, low) = finite().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (at_high, high) = finite().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!(
            "{} varies by {}, from {} {unit} at {} to {} at {}",
            curve.engine,
            percent((high - low) / high),
            number(low),
            curve.place(at_low),
            number(high),
            curve.place(at_high),
            unit = curve.unit
        ))
    };
    let parts: Vec<String> = curves.iter().filter_map(describe).collect();
    let values = curves.iter().map(|curve| curve.values.len()).max().unwrap_or(0);
    format!("Over {values} places {}.", parts.join("; "))
}

pub(super) fn ratios(rows: &[&Ratio]) -> String {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let mut first_sides: Vec<&str> = rows.iter().map(|row| row.sides[0].as_str()).collect();
    first_sides.dedup();
    let who = if let [one] = first_sides[..] { one } else { "the first named side" };
    let mut text = format!(
        "Of {}, {who} is faster in {}, slower in {} and level in {}.",
        plural(rows.len(), "comparison"),
        count(Verdict::Faster),
        count(Verdict::Slower),
        count(Verdict::Tie)
    );
    let goals: Vec<Goal> = rows.iter().filter_map(|row| row.goal()).collect();
    if !goals.is_empty() {
        let count = |goal| goals.iter().filter(|&&is| is == goal).count();
        text += &format!(
            " Of {} (dashed) {} {} reached, {} within the interval, {} missed.",
            plural(goals.len(), "goal"),
            count(Goal::Reached),
            if count(Goal::Reached) == 1 { "is" } else { "are" },
            count(Goal::Open),
            count(Goal::Missed)
        );
    }
    text
}

/// Where the ROM is best and worst, at the row in which they are furthest apart.
pub(super) fn roms(row: &str, fast: &Cell, slow: &Cell) -> String {
    format!(
        "With {row}, the most is {} hashes a second, {}; {} reaches {} of that.",
        number(fast.real.median),
        Trait::Rom.of(fast),
        Trait::Rom.of(slow),
        percent(slow.real.median / fast.real.median)
    )
}
