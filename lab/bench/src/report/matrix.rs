//! Tables in the page: the ROMs beside each other.

use askama::Template;

use super::filters;
use super::groups::{self, Trait};
use super::markup::{factor, number};
use super::sentences;
use crate::record::{Cell, Curve, Estimate, Ratio, Verdict};

/// Columns beyond which a table is left to the numbers below.
const COLUMNS: usize = 6;

/// Rates by threads or memory and by where the ROM is, each as a part of the first column's too.
#[derive(Template)]
#[template(path = "roms.html")]
struct Roms<'a> {
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<&'a Cell>>)>,
}

/// The table with a sentence. `None` where there is nothing to compare.
pub(super) fn roms(cells: &[&Cell], rows: Trait) -> Option<(String, String)> {
    let columns = groups::values(cells, Trait::Rom);
    if !(2..=COLUMNS).contains(&columns.len()) {
        return None;
    }
    let find = |row: &str, column: &str| {
        let here = |cell: &&&Cell| rows.of(cell) == row && Trait::Rom.of(cell) == column;
        cells.iter().find(here).copied()
    };
    let row = |name: String| {
        let found = columns.iter().map(|column| find(&name, column)).collect();
        (name, found)
    };
    let rows: Vec<(String, Vec<_>)> = groups::values(cells, rows).into_iter().map(row).collect();
    let mut widest: Option<(f64, &str, &Cell, &Cell)> = None;
    for (name, found) in &rows {
        let rate = |a: &&&Cell, b: &&&Cell| a.real.median.total_cmp(&b.real.median);
        let finite = || found.iter().flatten().filter(|cell| cell.real.median.is_finite());
        let Some((fast, slow)) = finite().max_by(rate).zip(finite().min_by(rate)) else { continue };
        let apart = fast.real.median / slow.real.median;
        if apart > widest.map_or(1.0, |known| known.0) {
            widest = Some((apart, name, fast, slow));
        }
    }
    let (_, name, fast, slow) = widest?;
    let sentence = sentences::roms(name, fast, slow);
    Some((sentence, Roms { columns, rows }.render().ok()?))
}

impl Ratio {
    /// The ratio with its interval, and whether it is a tie.
    pub(super) fn interval_words(&self) -> String {
        let Estimate { median, low, high, .. } = self.ratio;
        let [median, low, high] = [median, low, high].map(factor);
        let tie = if self.verdict == Verdict::Tie { " tie" } else { "" };
        format!("{median} [{low}, {high}]{tie}")
    }
}

impl Curve {
    /// The lowest value and its place, the median, the highest value and its place.
    pub(super) fn extremes(&self) -> [String; 5] {
        let mut sorted: Vec<(f64, usize)> =
            self.values.iter().copied().zip(0..).filter(|(value, _)| value.is_finite()).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((low, high)) = sorted.first().zip(sorted.last()) else {
            return Default::default();
        };
        let middle = number(sorted[sorted.len() / 2].0);
        let [(low, from), (high, to)] =
            [low, high].map(|(value, i)| (number(*value), self.place(*i).to_string()));
        [low, from, middle, high, to]
    }
}
