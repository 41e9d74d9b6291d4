//! Plots in rows: rates as bars, ratios as points with intervals, and the heat map.

use std::fmt::Write;

use super::axis::{Axis, Scale};
use super::markup::{self, Escaped};
use super::svg::{self, WIDTH, plot};
use crate::record::{Estimate, Ratio, Verdict};

/// Height of a row: a line of text and what is drawn under it.
const ROW: f64 = 42.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 4.0;
/// Where what is drawn ends and its value begins.
const DRAWN: f64 = WIDTH - 180.0;
/// The same for bars, whose values are shorter.
const BARS: f64 = WIDTH - 110.0;

/// One row of a plot of bars.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) rate: Estimate,
    /// Bars of one colour belong together.
    pub(super) color: usize,
}

/// Bars from zero, each with its number and interval; `None` where nothing can be drawn.
pub(super) fn bars(id: &str, title: &str, description: &str, rows: &[Bar]) -> Option<String> {
    let ends = rows.iter().flat_map(|bar| [bar.rate.median, bar.rate.high]);
    let axis = Axis::new("", Scale::FromZero, ends)?;
    let mut body = String::new();
    for (i, Bar { label, rate, color }) in rows.iter().enumerate() {
        let top = i as f64 * ROW;
        let value = markup::number(rate.median);
        body += &row_text(top, 0.0, label, &value);
        let at = |value: f64| axis.at(value).map(|place| LEFT + place * (BARS - LEFT));
        let Some(end) = at(rate.median) else { continue };
        let color = color % svg::SERIES;
        let (top, tip) = (top + 22.0, format!("{label}: {value}"));
        let _ = write!(
            body,
            "<rect class=\"f{color}\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"10\"><title>{}</title></rect>",
            end - LEFT,
            Escaped(&tip)
        );
        if let Some((low, high)) = at(rate.low).zip(at(rate.high)) {
            let middle = top + 5.0;
            let _ = write!(
                body,
                "<path class=\"one\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {top:.1}v10M{high:.1} {top:.1}v10\"/>"
            );
        }
    }
    Some(plot(id, rows.len() as f64 * ROW + 4.0, title, description, &body))
}

/// A row's text: what it is, and under it, at the right end, its value.
fn row_text(top: f64, between: f64, label: &str, value: &str) -> String {
    let room = RIGHT - LEFT;
    format!(
        "<text x=\"{LEFT}\" y=\"{:.1}\">{}<title>{}</title></text>\
         <text class=\"end strong\" x=\"{RIGHT}\" y=\"{:.1}\">{}</text>",
        top + 15.0,
        Escaped(&svg::cut(label, room)),
        Escaped(label),
        top + between + 32.0,
        Escaped(value)
    )
}

/// Ratios as points with intervals over an axis of equal ratios, with a line at 1 and the goals; a
/// tie is hollow.
pub(super) fn ratios(id: &str, title: &str, description: &str, rows: &[&Ratio]) -> Option<String> {
    let ends =
        |row: &&Ratio| [row.ratio.low, row.ratio.median, row.ratio.high, row.goal.unwrap_or(1.0)];
    let values = rows.iter().flat_map(ends).chain([1.0]);
    let axis = Axis::new("", spread(rows), values)?;
    // Who is compared has a line of its own, unless all rows compare the same.
    let sides = if rows.iter().all(|row| row.sides == rows[0].sides) { 0.0 } else { 17.0 };
    let height = ROW + sides;
    let bottom = rows.len() as f64 * height + 4.0;
    let at = |value: f64| axis.at(value).map(|place| LEFT + 14.0 + place * (DRAWN - LEFT - 28.0));
    let mut body = String::new();
    let ticks = axis.ticks.iter();
    let ticks: Vec<(f64, &str)> =
        ticks.filter_map(|(value, text)| Some((at(*value)?, text.as_str()))).collect();
    // Counted so that the tick at 1 is among those that stay.
    let every = svg::thinning(&ticks);
    let one = axis.ticks.iter().position(|(value, _)| *value == 1.0).unwrap_or(0);
    for (x, text) in ticks.iter().skip(one % every).step_by(every) {
        let class = if *text == "1" { "strong" } else { "soft" };
        let y = bottom + 16.0;
        let _ = write!(body, "<text class=\"mid {class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    for (i, row) in rows.iter().enumerate() {
        let top = i as f64 * height;
        body += &row_text(top, sides, &row.label, &row.interval_words());
        if sides > 0.0 {
            let text = svg::cut(&sides_text(row), RIGHT - LEFT);
            let (y, text) = (top + 31.0, Escaped(&text));
            let _ = write!(body, "<text class=\"soft\" x=\"{LEFT}\" y=\"{y:.1}\">{text}</text>");
        }
        body += &ratio_row(row, top + sides + 28.0, at);
    }
    Some(plot(id, bottom + 22.0, title, description, &body))
}

fn sides_text(row: &Ratio) -> String {
    format!("{} against {}", row.sides[0], row.sides[1])
}

fn ratio_row(row: &Ratio, y: f64, at: impl Fn(f64) -> Option<f64>) -> String {
    let (top, end) = (y - 8.0, y + 8.0);
    let mut out = format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{DRAWN}\"/>");
    if let Some(one) = at(1.0) {
        let _ = write!(out, "<path class=\"one\" d=\"M{one:.1} {top:.1}V{end:.1}\"/>");
    }
    if let Some(goal) = row.goal.and_then(&at) {
        let _ = write!(out, "<path class=\"goal\" d=\"M{goal:.1} {top:.1}V{end:.1}\"/>");
    }
    let (color, hollow) = match row.verdict {
        Verdict::Faster => (2, ""),
        Verdict::Slower => (1, ""),
        Verdict::Tie => (0, " hollow"),
    };
    if let Some((low, high)) = at(row.ratio.low).zip(at(row.ratio.high)) {
        let _ = write!(
            out,
            "<path class=\"whisker c{color}\" d=\"M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>",
            y - 4.0,
            y - 4.0
        );
    }
    if let Some(x) = at(row.ratio.median) {
        let tip = format!("{}, {}: {}", row.label, sides_text(row), row.interval_words());
        let fill =
            if hollow.is_empty() { format!("f{color}") } else { format!("c{color}{hollow}") };
        let _ = write!(
            out,
            "<circle class=\"{fill}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"><title>{}</title></circle>",
            Escaped(&tip)
        );
    }
    out
}

/// Equal steps where all is near 1, equal ratios where it is not.
fn spread(rows: &[&Ratio]) -> Scale {
    let wide = |row: &&Ratio| !(0.4..2.5).contains(&row.ratio.median);
    if rows.iter().any(wide) { Scale::Ratios } else { Scale::Near }
}

/// A table of rates as colours.
#[derive(Debug)]
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
        let values = self.values.iter().flatten().flatten().copied();
        let axis = Axis::new("", Scale::Ratios, values.clone())?;
        let drawn: Vec<f64> = values.filter_map(|value| axis.at(value)).collect();
        let low = drawn.iter().copied().fold(1.0, f64::min);
        let high = drawn.iter().copied().fold(0.0, f64::max);
        let names = self.rows.1.iter().map(|name| svg::text_width(name));
        let left = names.fold(svg::text_width(&self.rows.0), f64::max).min(150.0) + 10.0;
        let width = (WIDTH - left) / self.columns.1.len().max(1) as f64;
        let (top, height) = (40.0, 34.0);
        let mut body = format!(
            "<text class=\"soft\" x=\"0\" y=\"34\">{}</text><text class=\"soft end\" x=\"{WIDTH}\" y=\"13\">{}</text>",
            Escaped(&self.rows.0),
            Escaped(&self.columns.0)
        );
        for (i, name) in self.columns.1.iter().enumerate() {
            let x = left + (i as f64 + 0.5) * width;
            let name = svg::cut(name, width);
            let _ =
                write!(body, "<text class=\"mid\" x=\"{x:.1}\" y=\"34\">{}</text>", Escaped(&name));
        }
        for (row, (name, values)) in self.rows.1.iter().zip(&self.values).enumerate() {
            let y = top + row as f64 * height;
            let name = svg::cut(name, left - 8.0);
            let _ = write!(body, "<text x=\"0\" y=\"{:.1}\">{}</text>", y + 22.0, Escaped(&name));
            for (column, value) in values.iter().enumerate() {
                let Some((value, place)) = value.and_then(|v| Some((v, axis.at(v)?))) else {
                    continue;
                };
                let part = if high > low { (place - low) / (high - low) } else { 0.5 };
                let shade = (part * 6.0).round() as usize;
                let x = left + column as f64 * width;
                let _ = write!(
                    body,
                    "<rect class=\"h{shade}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
                     <text class=\"mid t{shade}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    x + 1.0,
                    y + 1.0,
                    width - 2.0,
                    height - 2.0,
                    x + width / 2.0,
                    y + 22.0,
                    Escaped(&svg::cut(&markup::number(value), width))
                );
            }
        }
        let bottom = top + self.rows.1.len() as f64 * height + 4.0;
        Some(plot(id, bottom, title, description, &body))
    }
}
