//! Plots in rows: rates as bars, ratios as points with intervals, and the heat map.

use askama::Template;

use super::axis::{Axis, Scale};
use super::filters;
use super::svg::{self, SERIES, WIDTH, plot};
use crate::record::{Estimate, Ratio, Verdict};

/// Height of a row: a line of text and what is drawn under it.
const ROW: f64 = 42.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 4.0;
/// Where the points of ratios end and their values begin.
const DRAWN: f64 = WIDTH - 180.0;
/// Where bars end, whose values are shorter.
const BARS: f64 = WIDTH - 110.0;
/// Height of a row of the heat map.
const HEIGHT: f64 = 34.0;

/// One row of a plot of bars.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) rate: Estimate,
    /// Bars of one colour belong together.
    pub(super) color: usize,
}

#[derive(Template)]
#[template(path = "bars.svg")]
struct Bars<'a> {
    axis: Axis,
    rows: &'a [Bar],
}

impl Bars<'_> {
    fn at(&self, value: &f64) -> Option<f64> {
        self.axis.at(*value).map(|place| LEFT + place * (BARS - LEFT))
    }
}

/// Bars from zero, each with its number and interval; `None` where nothing can be drawn.
pub(super) fn bars(id: &str, title: &str, description: &str, rows: &[Bar]) -> Option<String> {
    let ends = rows.iter().flat_map(|bar| [bar.rate.median, bar.rate.high]);
    let axis = Axis::new("", Scale::FromZero, ends)?;
    let body = Bars { axis, rows }.render().ok()?;
    Some(plot(id, rows.len() as f64 * ROW + 4.0, title, description, &body))
}

#[derive(Template)]
#[template(path = "ratios.svg")]
struct Ratios<'a> {
    axis: Axis,
    rows: &'a [&'a Ratio],
    ticks: Vec<(f64, String)>,
    /// Height of the line that says who is compared.
    between: f64,
    bottom: f64,
}

/// Where a ratio is drawn.
fn ratio_at(axis: &Axis, value: f64) -> Option<f64> {
    axis.at(value).map(|place| LEFT + 14.0 + place * (DRAWN - LEFT - 28.0))
}

impl Ratios<'_> {
    fn at(&self, value: &f64) -> Option<f64> {
        ratio_at(&self.axis, *value)
    }

    fn goal(&self, row: &Ratio) -> Option<f64> {
        row.goal.and_then(|goal| self.at(&goal))
    }

    fn color(&self, row: &Ratio) -> usize {
        match row.verdict {
            Verdict::Faster => 2,
            Verdict::Slower => 1,
            Verdict::Tie => 0,
        }
    }
}

/// Ratios as points with intervals over an axis of equal ratios, with a line at 1 and the goals; a
/// tie is hollow.
pub(super) fn ratios(id: &str, title: &str, description: &str, rows: &[&Ratio]) -> Option<String> {
    let ends =
        |row: &&Ratio| [row.ratio.low, row.ratio.median, row.ratio.high, row.goal.unwrap_or(1.0)];
    let values = rows.iter().flat_map(ends).chain([1.0]);
    let axis = Axis::new("", spread(rows), values)?;
    // Who is compared has a line of its own, unless all rows compare the same.
    let between = if rows.iter().all(|row| row.sides == rows[0].sides) { 0.0 } else { 17.0 };
    let bottom = rows.len() as f64 * (ROW + between) + 4.0;
    let ticks = axis.ticks.iter();
    let ticks: Vec<(f64, &str)> =
        ticks.filter_map(|(value, text)| Some((ratio_at(&axis, *value)?, text.as_str()))).collect();
    // Counted so that the tick at 1 is among those that stay.
    let every = svg::thinning(&ticks);
    let one = axis.ticks.iter().position(|(value, _)| *value == 1.0).unwrap_or(0);
    let ticks = ticks.into_iter().skip(one % every).step_by(every);
    let ticks = ticks.map(|(x, text)| (x, text.to_owned())).collect();
    let body = Ratios { axis, rows, ticks, between, bottom }.render().ok()?;
    Some(plot(id, bottom + 22.0, title, description, &body))
}

/// Equal steps where all is near 1, equal ratios where it is not.
fn spread(rows: &[&Ratio]) -> Scale {
    let wide = |row: &&Ratio| !(0.4..2.5).contains(&row.ratio.median);
    if rows.iter().any(wide) { Scale::Ratios } else { Scale::Near }
}

/// A table of rates as colours.
#[derive(Debug, Template)]
#[template(path = "heat.svg")]
pub(super) struct Heat {
    /// What the rows and columns are, and their names.
    pub(super) rows: (String, Vec<String>),
    pub(super) columns: (String, Vec<String>),
    /// Values by row and column; `None` was not measured.
    pub(super) values: Vec<Vec<Option<f64>>>,
}

impl Heat {
    /// The heat map, from pale for the lowest to strong for the highest, by equal ratios; `None`
    /// where nothing can be drawn.
    pub(super) fn draw(&self, id: &str, title: &str, description: &str) -> Option<String> {
        self.axis()?;
        let bottom = 40.0 + self.rows.1.len() as f64 * HEIGHT + 4.0;
        Some(plot(id, bottom, title, description, &self.render().ok()?))
    }

    fn axis(&self) -> Option<Axis> {
        Axis::new("", Scale::Ratios, self.values.iter().flatten().flatten().copied())
    }

    /// Where columns begin.
    fn left(&self) -> f64 {
        let names = self.rows.1.iter().map(|name| svg::text_width(name));
        names.fold(svg::text_width(&self.rows.0), f64::max).min(150.0) + 10.0
    }

    fn named(&self) -> impl Iterator<Item = (&String, &Vec<Option<f64>>)> {
        self.rows.1.iter().zip(&self.values)
    }

    /// A value that can be drawn with its colour, from 0 to 6.
    fn shade(&self, value: &Option<f64>) -> Option<(f64, usize)> {
        let axis = self.axis()?;
        let place = axis.at((*value)?)?;
        let all = self.values.iter().flatten().flatten().filter_map(|value| axis.at(*value));
        let (low, high) =
            all.fold((1.0, 0.0), |(low, high), at| (f64::min(low, at), f64::max(high, at)));
        let part = if high > low { (place - low) / (high - low) } else { 0.5 };
        Some(((*value)?, (part * 6.0).round() as usize))
    }
}
