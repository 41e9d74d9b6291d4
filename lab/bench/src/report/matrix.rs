//! Tables in the page: the ROMs beside each other, and the numbers behind every plot.

use std::fmt::Write;

use super::bars;
use super::groups::{self, Trait};
use super::markup::{Escaped, factor, number};
use super::page::table;
use super::sentences;
use crate::record::{Cell, Curve, Estimate, Ratio, Section};

/// Columns beyond which a table is left to the numbers below.
const COLUMNS: usize = 6;

/// Rates by threads or memory and by where the ROM is, each as a part of the first column's too,
/// with a sentence. `None` where there is nothing to compare.
pub(super) fn roms(cells: &[&Cell], rows: Trait) -> Option<(String, String)> {
    let columns = groups::values(cells, Trait::Rom);
    let row_names = groups::values(cells, rows);
    if !(2..=COLUMNS).contains(&columns.len()) {
        return None;
    }
    let find = |row: &str, column: &str| {
        let here = |cell: &&&Cell| rows.of(cell) == row && Trait::Rom.of(cell) == column;
        cells.iter().find(here).copied()
    };
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th scope=\"col\">hashes/s</th>",
    );
    for column in &columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", Escaped(column));
    }
    out += "</tr></thead><tbody>";
    let mut widest: Option<(f64, &str, &Cell, &Cell)> = None;
    for row in &row_names {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", Escaped(row));
        let found: Vec<Option<&Cell>> = columns.iter().map(|column| find(row, column)).collect();
        let base = found[0].map_or(f64::NAN, |cell| cell.real.median);
        for (i, cell) in found.iter().enumerate() {
            let Some(cell) = cell else {
                out += "<td>–</td>";
                continue;
            };
            let rate = cell.real.median;
            let ratio = rate / base;
            let part = if i == 0 || !ratio.is_finite() {
                String::new()
            } else {
                format!(" <span class=\"about\">({} ×)</span>", factor(ratio))
            };
            let _ = write!(out, "<td>{}{part}</td>", number(rate));
        }
        out += "</tr>";
        let rate = |a: &&&Cell, b: &&&Cell| a.real.median.total_cmp(&b.real.median);
        let finite = || found.iter().flatten().filter(|cell| cell.real.median.is_finite());
        if let (Some(fast), Some(slow)) = (finite().max_by(rate), finite().min_by(rate)) {
            let apart = fast.real.median / slow.real.median;
            if apart > widest.as_ref().map_or(1.0, |known| known.0) {
                widest = Some((apart, row, fast, slow));
            }
        }
    }
    out += "</tbody></table></div>\n";
    let (_, row, fast, slow) = widest?;
    Some((sentences::roms(row, fast, slow), out))
}

/// The numbers of a section as tables; empty where it has none.
pub(super) fn numbers(section: &Section) -> String {
    let mut out = String::new();
    if !section.cells.is_empty() {
        out += &table(
            &section.title,
            &[
                "what",
                "engine",
                "threads",
                "at once",
                "hashes/s",
                "95 % interval",
                "hashes/CPU s",
                "GB/s",
                "ms min",
                "avg",
                "p99",
                "max",
                "hashes",
                "seconds",
                "agrees with",
            ],
            section.cells.iter().map(cell_row),
        );
    }
    if !section.ratios.is_empty() {
        let caption = format!("{}: ratios", section.title);
        out += &table(
            &caption,
            &[
                "what",
                "first",
                "second",
                "threads",
                "clock",
                "unit",
                "first rate",
                "second rate",
                "ratio",
                "goal",
                "",
            ],
            section.ratios.iter().map(ratio_row),
        );
    }
    if !section.curves.is_empty() {
        let caption = format!("{}: curves (every value is in the record)", section.title);
        out += &table(
            &caption,
            &["what", "engine", "unit", "places", "lowest", "at", "median", "highest", "at"],
            section.curves.iter().map(curve_row),
        );
    }
    out
}

fn interval(Estimate { low, high, .. }: Estimate) -> String {
    format!("{} – {}", number(low), number(high))
}

fn cell_row(cell: &Cell) -> Vec<String> {
    let mut row = vec![
        cell.label.clone(),
        cell.engine.clone(),
        cell.threads.to_string(),
        cell.together.to_string(),
        number(cell.real.median),
        interval(cell.real),
        number(cell.cpu.median),
        cell.bandwidth.map_or(String::new(), |b| number(b.gb_per_s)),
    ];
    let times = cell.latency.map(|l| [l.min_ms, l.avg_ms, l.p99_ms, l.max_ms].map(number));
    row.extend(times.unwrap_or_default());
    row.extend([cell.hashes.to_string(), number(cell.real_seconds), cell.agrees_with.join(", ")]);
    row
}

fn ratio_row(ratio: &Ratio) -> Vec<String> {
    let rate =
        |i: usize| format!("{} ({})", number(ratio.rates[i].median), interval(ratio.rates[i]));
    vec![
        ratio.label.clone(),
        ratio.sides[0].clone(),
        ratio.sides[1].clone(),
        ratio.threads.to_string(),
        ratio.clock.clone(),
        ratio.unit.clone(),
        rate(0),
        rate(1),
        bars::ratio_text(ratio),
        ratio.goal.map_or(String::new(), factor),
        ratio.goal().map_or(String::new(), |goal| goal.name().to_owned()),
    ]
}

fn curve_row(curve: &Curve) -> Vec<String> {
    let mut sorted: Vec<(f64, usize)> =
        curve.values.iter().copied().zip(0..).filter(|(value, _)| value.is_finite()).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let value =
        |found: Option<&(f64, usize)>| found.map_or(String::new(), |(value, _)| number(*value));
    let place = |found: Option<&(f64, usize)>| {
        found.map_or(String::new(), |(_, i)| curve.place(*i).to_string())
    };
    let (low, high) = (sorted.first(), sorted.last());
    vec![
        curve.label.clone(),
        curve.engine.clone(),
        curve.unit.clone(),
        curve.values.len().to_string(),
        value(low),
        place(low),
        value(sorted.get(sorted.len() / 2)),
        value(high),
        place(high),
    ]
}
