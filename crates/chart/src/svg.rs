//! The frame of a plot: size, axes, marks of the series, legend.

use std::fmt::Write;

use crate::axis::Axis;
use crate::markup::Escaped;

/// Width of every plot in its own units, in which text is 13 high. Narrow enough that text stays
/// readable on a phone.
pub const WIDTH: f64 = 380.0;
/// How many series a plot can distinguish, by colour, mark and dashes.
pub const SERIES: usize = 6;

/// The approximate width of a text, rather too wide than too narrow.
pub fn text_width(text: &str) -> f64 {
    text.chars().map(width).sum()
}

fn width(c: char) -> f64 {
    if c.is_ascii() { 7.6 } else { 9.0 }
}

/// A text cut to a width, with an ellipsis if something is missing.
pub fn cut(text: &str, most: f64) -> String {
    if text_width(text) <= most {
        return text.to_owned();
    }
    let mut left = most - width('…');
    let fits = |&c: &char| {
        left -= width(c);
        left >= 0.0
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// A whole plot: `body` between the tags, with a name and a description for readers who cannot see
/// it.
pub fn plot(id: &str, height: f64, title: &str, description: &str, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{body}</svg>\n",
        Escaped(title),
        Escaped(description)
    )
}

/// The rectangle between the axes.
pub struct Area<'a> {
    /// Across.
    pub x: &'a Axis,
    /// Up.
    pub y: &'a Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl<'a> Area<'a> {
    /// The height of the whole plot.
    pub const HEIGHT: f64 = 280.0;

    /// An area with room for the labels of the ticks.
    pub fn new(x: &'a Axis, y: &'a Axis) -> Self {
        let widest = y.ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let below = x.ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let right = WIDTH - (below / 2.0).max(12.0);
        Self { x, y, left: 12.0 + widest, right, top: 28.0, bottom: 232.0 }
    }

    /// The point for two values; `None` where either cannot be drawn.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, y) = (self.x.at(x)?, self.y.at(y)?);
        let across = self.left + x * (self.right - self.left);
        Some((across, self.bottom - y * (self.bottom - self.top)))
    }

    /// Grid, ticks and names.
    pub fn axes(&self) -> String {
        let Self { x, y, left, right, top, bottom } = self;
        let mut out = format!("<text x=\"2\" y=\"14\" class=\"soft\">{}</text>", Escaped(&y.label));
        for (value, text) in &y.ticks {
            let Some(place) = y.at(*value) else { continue };
            let at = bottom - place * (bottom - top);
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>\
                 <text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 6.0,
                at + 4.5,
                Escaped(text)
            );
        }
        let ticks = x.ticks.iter();
        let places: Vec<(f64, &str)> = ticks
            .filter_map(|(value, text)| {
                Some((left + x.at(*value)? * (right - left), text.as_str()))
            })
            .collect();
        let every = thinning(&places);
        for (i, (at, text)) in places.iter().enumerate() {
            let _ = write!(
                out,
                "<path class=\"axis\" d=\"M{at:.1} {bottom:.1}V{:.1}\"/>",
                bottom + 4.0
            );
            if i % every == 0 {
                let _ = write!(
                    out,
                    "<text class=\"soft mid\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                    bottom + 18.0,
                    Escaped(text)
                );
            }
        }
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>\
             <text class=\"soft end\" x=\"{right:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 38.0,
            Escaped(&x.label)
        );
        out
    }
}

/// One of how many labels can stay so that none overlap.
#[must_use]
pub fn thinning(places: &[(f64, &str)]) -> usize {
    let apart = |pair: &[(f64, &str)]| {
        let half = |i: usize| text_width(pair[i].1) / 2.0;
        pair[1].0 - pair[0].0 > half(0) + half(1) + 3.0
    };
    let fits = |every: &usize| {
        let kept: Vec<_> = places.iter().copied().step_by(*every).collect();
        kept.windows(2).all(apart)
    };
    (1..=places.len()).find(fits).unwrap_or(1)
}

/// Closed outlines, one for each series, around the point where they are drawn.
const MARKS: [&str; SERIES] = [
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-4.8l4.6 8h-9.2z",
    "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
    "m0 4.8l4.6-8h-9.2z",
    "m-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
];

/// The mark of a series at a point.
pub fn mark(series: usize, (x, y): (f64, f64), tip: &str) -> String {
    let series = series % SERIES;
    let tip = Escaped(tip);
    let outline = MARKS[series];
    format!("<path class=\"f{series}\" d=\"M{x:.1} {y:.1}{outline}\"><title>{tip}</title></path>")
}

/// The names of the series, each with its line and mark.
pub fn legend<'a>(names: impl Iterator<Item = (&'a str, bool)>) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (i, (name, has_marks)) in names.enumerate() {
        let series = i % SERIES;
        let dashes = if has_marks { "" } else { " dashed" };
        let mark = if has_marks {
            format!("<path class=\"f{series}\" d=\"M15 7{}\"/>", MARKS[series])
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 30 14\" aria-hidden=\"true\">\
             <path class=\"curve c{series}{dashes}\" d=\"M0 7H30\"/>{mark}</svg>{}</li>",
            Escaped(name)
        );
    }
    out + "</ul>\n"
}
