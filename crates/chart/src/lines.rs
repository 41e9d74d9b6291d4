//! Plots of series of points over two axes.

use std::fmt::Write;

use crate::axis::{Axis, Scale};
use crate::svg::{self, Area};

/// One measured value.
#[derive(Clone, Debug)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
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

    /// The labels of points that have room for one.
    fn labels(&self, area: &Area<'_>) -> String {
        let points = self.series.iter().flat_map(|series| &series.points);
        let places: Vec<_> =
            points.filter_map(|point| Some((area.at(point.x, point.y)?, &point.label))).collect();
        let mut taken: Vec<[f64; 4]> =
            places.iter().map(|((x, y), _)| [x - 5.0, x + 5.0, y - 5.0, y + 5.0]).collect();
        let mut out = String::new();
        for ((x, y), label) in places.iter().filter(|(_, label)| !label.is_empty()) {
            let width = svg::text_width(label);
            let above = [x - width / 2.0, x + width / 2.0, y - 20.0, y - 6.0];
            let right = [x + 7.0, x + 7.0 + width, y - 7.0, y + 7.0];
            let left = [x - 7.0 - width, x - 7.0, y - 7.0, y + 7.0];
            let below = [x - width / 2.0, x + width / 2.0, y + 6.0, y + 20.0];
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
            if let Some(place) = [above, right, left, below].into_iter().find(free) {
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
