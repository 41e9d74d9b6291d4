//! Plots of series of points over two axes.

use std::fmt::Write;

use crate::axis::{Axis, Scale};
use crate::svg::{self, Area};

/// One measured value.
#[derive(Clone, Debug)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up. An infinite value is drawn at the upper end, above all others.
    pub y: f64,
    /// The interval of uncertainty of `y`.
    pub interval: Option<(f64, f64)>,
    /// The tooltip of the mark.
    pub tip: String,
    /// The label beside the mark, if there is room; empty for none.
    pub label: String,
}

/// Points that a line joins, in their order.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// In the order in which the line joins them.
    pub points: Vec<Point>,
    /// A line to compare with instead of measured values: dashes and no marks.
    pub is_ideal: bool,
}

/// A plot of one or more series.
#[derive(Debug)]
pub struct Lines {
    /// For readers who cannot see it.
    pub title: String,
    /// Names and scales of the axes, across and up.
    pub axes: [(String, Scale); 2],
    /// The series, of which at most [`svg::SERIES`] can be distinguished.
    pub series: Vec<Series>,
}

/// From this number of points on, a series is drawn as a line only.
const MANY_POINTS: usize = 60;
/// Columns into which longer series are gathered; each shows its smallest and its largest value.
const COLUMNS: usize = 400;

impl Lines {
    /// The plot and its legend; `None` if nothing can be drawn.
    pub fn draw(&self, id: &str, description: &str) -> Option<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let [(x_label, x_scale), (y_label, y_scale)] = &self.axes;
        let x = Axis::new(x_label, *x_scale, points().map(|point| point.x))?;
        let ends = |point: &Point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        };
        let y = Axis::new(y_label, *y_scale, points().flat_map(ends))?;
        let area = Area::new(&x, &y);
        let mut body = area.axes();
        for (i, series) in self.series.iter().enumerate() {
            body += &series.draw(i % svg::SERIES, &area);
        }
        body += &self.labels(&area);
        let mut out = svg::plot(id, Area::HEIGHT, &self.title, description, &body);
        if self.series.len() > 1 {
            let names = self.series.iter();
            out += &svg::legend(names.map(|series| (series.name.as_str(), !series.is_ideal)));
        }
        Some(out)
    }

    /// The labels of points that have room for one, beside all marks and lines.
    fn labels(&self, area: &Area<'_>) -> String {
        let points = self.series.iter().flat_map(|series| &series.points);
        let places: Vec<_> =
            points.filter_map(|point| Some((area.at(point.x, point.y)?, &point.label))).collect();
        let around = |&(x, y): &(f64, f64), by| [x - by, x + by, y - by, y + by];
        let mut taken: Vec<[f64; 4]> = places.iter().map(|(place, _)| around(place, 5.0)).collect();
        for series in &self.series {
            let places = series.points.iter().filter_map(|point| area.at(point.x, point.y));
            let places: Vec<_> = places.collect();
            let along = places.windows(2).flat_map(|ends| between(ends[0], ends[1]));
            taken.extend(along.map(|place| around(&place, 2.0)));
        }
        let mut out = String::new();
        for (place, label) in places.iter().filter(|(_, label)| !label.is_empty()) {
            let free = |place: &[f64; 4]| {
                let inside =
                    place[0] > 40.0 && place[1] < svg::WIDTH && place[2] > 18.0 && place[3] < 230.0;
                let apart = |other: &[f64; 4]| {
                    place[0] > other[1]
                        || place[1] < other[0]
                        || place[2] > other[3]
                        || place[3] < other[2]
                };
                inside && taken.iter().all(apart)
            };
            if let Some(place) = beside(*place, svg::text_width(label)).into_iter().find(free) {
                taken.push(place);
                let label = crate::markup::Escaped(label);
                let (x, y) = (place[0], place[3] - 3.0);
                let _ =
                    write!(out, "<text class=\"note\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>");
            }
        }
        out
    }
}

/// Places on a line, a few units apart.
fn between(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    let (across, up) = (to.0 - from.0, to.1 - from.1);
    let steps = (across.hypot(up) / 3.0).ceil().clamp(1.0, 400.0);
    (0..=steps as usize).map(move |step| {
        let part = step as f64 / steps;
        (from.0 + part * across, from.1 + part * up)
    })
}

/// Places for a label of this width around a mark, the nearest first: left, right, top, bottom.
fn beside((x, y): (f64, f64), width: f64) -> Vec<[f64; 4]> {
    let mut places = Vec::new();
    for away in [6.0, 14.0, 24.0] {
        let (above, below) = ([y - away - 14.0, y - away], [y + away, y + away + 14.0]);
        let (left, right) = ([x - away - width, x - away], [x + away, x + away + width]);
        let (middle, level) = ([x - width / 2.0, x + width / 2.0], [y - 7.0, y + 7.0]);
        for (across, up) in [
            (middle, above),
            (right, level),
            (left, level),
            (middle, below),
            (left, above),
            (right, below),
            (right, above),
            (left, below),
        ] {
            places.push([across[0], across[1], up[0], up[1]]);
        }
    }
    places
}

impl Series {
    fn draw(&self, color: usize, area: &Area<'_>) -> String {
        let is_long = self.points.len() > MANY_POINTS;
        let mut points: Vec<(f64, f64)> =
            self.points.iter().filter_map(|point| area.at(point.x, point.y)).collect();
        if points.len() > 2 * COLUMNS {
            points = gather(&points);
        }
        let mut line = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(line, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
        }
        let (dashes, thin) =
            (if self.is_ideal { " dashed" } else { "" }, if is_long { " thin" } else { "" });
        let mut out = String::new();
        if points.len() > 1 {
            let _ = write!(out, "<path class=\"curve c{color}{dashes}{thin}\" d=\"{line}\"/>");
        }
        if is_long || self.is_ideal {
            return out;
        }
        for point in &self.points {
            let Some(place) = area.at(point.x, point.y) else { continue };
            let ends = point
                .interval
                .and_then(|(low, high)| Some((area.at(point.x, low)?, area.at(point.x, high)?)));
            if let Some(((x, low), (_, high))) = ends {
                let (left, width) = (x - 3.0, 6.0);
                let _ = write!(
                    out,
                    "<path class=\"whisker c{color}\" \
                     d=\"M{left:.1} {low:.1}h{width}M{left:.1} {high:.1}h{width}M{x:.1} {low:.1}V{high:.1}\"/>"
                );
            }
            out += &svg::mark(color, place, &point.tip);
        }
        out
    }
}

/// The lowest and highest point of each of [`COLUMNS`] columns, in the order of the points.
fn gather(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut gathered = Vec::new();
    for column in points.chunks(points.len().div_ceil(COLUMNS)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = column.iter().min_by(by_height).zip(column.iter().max_by(by_height));
        let Some((low, high)) = ends else { continue };
        gathered.extend(if low.0 <= high.0 { [*low, *high] } else { [*high, *low] });
    }
    gathered
}
