//! Which plots a section gets. What its data does not suffice for is left out.

use super::axis::{Scale, can_be_drawn};
use super::bars::{self, Bar, Heat};
use super::form::Form;
use super::groups::{self, Groups, Names, Trait};
use super::lines::{Lines, Point, Series};
use super::markup::number;
use super::{matrix, sentences};
use crate::record::{Cell, Curve, Estimate, Kind, Latency, Ratio, Section};

/// A plot with what it says.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    /// What it shows, computed from the data; plain text.
    pub(super) sentence: String,
    /// SVG or a table, and a legend.
    pub(super) body: String,
}

/// Lines in one plot, of which one may be for comparison.
const LINES: usize = super::svg::SERIES - 1;
/// Rows in one plot of ratios or bars.
const ROWS: usize = 16;

/// All plots of a section; `id` is unique in the page.
pub(super) fn of(section: &Section, id: &str) -> Vec<Figure> {
    let mut drawing = Drawing { id, figures: Vec::new() };
    match section.kind {
        Kind::Memory => {
            drawing.lines(section, &MEMORY);
            drawing.latency(section);
            drawing.roms(section, Trait::Memory);
        }
        Kind::Tunings => {
            drawing.heat(section);
            drawing.latency(section);
        }
        Kind::Threads => {
            drawing.lines(section, &THREADS);
            drawing.latency(section);
            drawing.roms(section, Trait::Threads);
        }
        Kind::Together => {
            drawing.lines(section, &TOGETHER);
            drawing.latency(section);
        }
        Kind::Sizes => drawing.lines(section, &SIZES),
        Kind::Peers | Kind::Other => drawing.bars(&section.cells),
        Kind::Offsets | Kind::Goals => {}
    }
    drawing.curves(&section.curves);
    drawing.ratios(&section.ratios);
    drawing.figures
}

const MEMORY: Form = Form {
    along: Trait::Memory,
    title: "Throughput against memory",
    axis: ("memory of one hash", Scale::Kib),
    x: |cell| cell.work.memory_kib.filter(|&size| size > 0.0 && can_be_drawn(size)),
    value: ("hashes a second", Scale::Ratios),
    y: |cell| cell.real.median,
    sentence: sentences::memory,
};

const THREADS: Form = Form {
    along: Trait::Threads,
    title: "Throughput by threads",
    axis: ("threads", Scale::Counts),
    x: |cell| Some(cell.threads as f64),
    value: ("hashes a second", Scale::FromZero),
    y: |cell| cell.real.median,
    sentence: sentences::threads,
};

const TOGETHER: Form = Form {
    along: Trait::Together,
    title: "Hashes that advance at once in each thread",
    axis: ("hashes at once", Scale::Counts),
    x: |cell| Some(cell.together as f64),
    value: ("hashes a second", Scale::FromZero),
    y: |cell| cell.real.median,
    sentence: sentences::together,
};

const SIZES: Form = Form {
    along: Trait::Bytes,
    title: "Throughput by size of the input",
    axis: ("bytes of one message", Scale::Bytes),
    x: |cell| cell.work.bytes.filter(|&size| size > 0).map(|size| size as f64),
    value: ("GB/s", Scale::FromZero),
    y: |cell| gigabytes(cell, cell.real.median),
    sentence: sentences::sizes,
};

/// 10^9 bytes of input a second at a rate of hashes.
fn gigabytes(cell: &Cell, rate: f64) -> f64 {
    rate * cell.work.bytes.unwrap_or(0) as f64 / 1e9
}

/// The rate of a cell in those.
fn in_gigabytes(cell: &Cell) -> Estimate {
    let Estimate { median, low, high, samples } = cell.real;
    let [median, low, high] = [median, low, high].map(|rate| gigabytes(cell, rate));
    Estimate { median, low, high, samples }
}

struct Drawing<'a> {
    id: &'a str,
    figures: Vec<Figure>,
}

impl Drawing<'_> {
    /// Adds a plot, if there is anything to draw. `name` is what sets it apart from others of the
    /// same title.
    fn add(
        &mut self,
        title: &str,
        name: &str,
        sentence: String,
        draw: impl FnOnce(&str, &str) -> Option<String>,
    ) {
        let title = if name.is_empty() { title.to_owned() } else { format!("{title}: {name}") };
        let id = format!("{}-f{}", self.id, self.figures.len());
        if let Some(body) = draw(&id, &title) {
            self.figures.push(Figure { title, sentence, body });
        }
    }

    /// Lines over a number, or bars where all have the same.
    fn lines(&mut self, section: &Section, form: &Form) {
        let drawn = |cell: &&Cell| {
            let y = (form.y)(cell);
            y > 0.0 && can_be_drawn(y)
        };
        let cells: Vec<&Cell> = section.cells.iter().filter(drawn).collect();
        let places: Vec<f64> = cells.iter().filter_map(|cell| (form.x)(cell)).collect();
        if places.iter().all(|x| Some(x) == places.first()) {
            return self.bars(&section.cells);
        }
        for (name, lines) in groups::plots(&cells, &[form.along], form.x, LINES) {
            let mut series: Vec<Series> = lines.iter().map(|line| form.series(line)).collect();
            if form.along == Trait::Threads {
                series.extend(in_proportion(&series));
                let unnamed = series.iter_mut().filter(|line| line.name.is_empty());
                unnamed.for_each(|line| line.name = "measured".to_owned());
            }
            let sentence = (form.sentence)(form, &lines);
            let axes = [form.axis, form.value].map(|(label, scale)| (label.to_owned(), scale));
            self.add(form.title, &name, sentence.clone(), |id, title| {
                Lines { title: title.to_owned(), axes, series }.draw(id, &sentence)
            });
        }
    }

    /// Latency over throughput at full load.
    fn latency(&mut self, section: &Section) {
        let cells: Vec<&Cell> = groups::full_load(section)
            .into_iter()
            .filter(|cell| cell.latency.is_some_and(|l| l.avg_ms > 0.0 && can_be_drawn(l.avg_ms)))
            .filter(|cell| cell.real.median > 0.0 && can_be_drawn(cell.real.median))
            .collect();
        if cells.len() < 2 {
            return;
        }
        let along = match section.kind {
            Kind::Memory => Trait::Memory,
            Kind::Tunings => Trait::Rounds,
            Kind::Together => Trait::Together,
            _ => Trait::Threads,
        };
        let x = |cell: &Cell| Some(cell.real.median);
        for (name, lines) in groups::plots(&cells, &[along], x, LINES) {
            let of_line = |(name, cells): &(String, Vec<&Cell>)| {
                let mut cells = cells.clone();
                cells.sort_by(|a, b| along.order(a).total_cmp(&along.order(b)));
                let points = cells.iter().filter_map(|cell| latency_point(cell, along)).collect();
                Series { name: name.clone(), points, is_ideal: false }
            };
            let series = lines.iter().map(of_line).collect();
            let times = |cell: &Cell| cell.latency.map_or(f64::NAN, |latency| latency.avg_ms);
            let rates = |cell: &Cell| cell.real.median;
            let axes = [
                ("hashes a second".to_owned(), scale_for(&lines, rates)),
                ("milliseconds a call".to_owned(), scale_for(&lines, times)),
            ];
            let sentence = sentences::latency(section.kind, &lines);
            self.add("Latency against throughput", &name, sentence.clone(), |id, title| {
                Lines { title: title.to_owned(), axes, series }.draw(id, &sentence)
            });
        }
    }

    /// Rounds by S-box size.
    fn heat(&mut self, section: &Section) {
        let has_place = |cell: &&Cell| cell.work.rounds.is_some() && cell.work.sbox_kib.is_some();
        let cells: Vec<&Cell> = section.cells.iter().filter(has_place).collect();
        let [rounds, boxes] = [Trait::Rounds, Trait::Sbox].map(|t| groups::values(&cells, t).len());
        if rounds < 2 && boxes < 2 {
            return self.bars(&section.cells);
        }
        let traits = groups::varying(&cells, &[Trait::Rounds, Trait::Sbox]);
        for (name, part) in groups::by(&cells, &traits) {
            if part.len() < 2 {
                continue;
            }
            let rows = groups::values(&part, Trait::Rounds);
            let columns = groups::values(&part, Trait::Sbox);
            let value = |row: &String, column: &String| {
                let here = |cell: &&&Cell| {
                    Trait::Rounds.of(cell) == *row && Trait::Sbox.of(cell) == *column
                };
                part.iter().find(here).map(|cell| cell.real.median)
            };
            let values =
                rows.iter().map(|row| columns.iter().map(|c| value(row, c)).collect()).collect();
            let size = |column: String| column.trim_end_matches(" S-boxes").to_owned();
            let columns = columns.into_iter().map(size).collect();
            let heat = Heat {
                rows: (String::new(), rows),
                columns: ("S-boxes".to_owned(), columns),
                values,
            };
            let sentence = sentences::extremes(&part, &Names::of(&part), "hashes a second");
            self.add(
                "Hashes a second by rounds and S-boxes",
                &name,
                sentence.clone(),
                |id, title| heat.draw(id, title, &sentence),
            );
        }
    }

    /// Bars for what different engines and algorithms do, in plots of what can be compared at all.
    fn bars(&mut self, cells: &[Cell]) {
        let cells: Vec<&Cell> =
            cells.iter().filter(|cell| can_be_drawn(cell.real.median)).collect();
        let engines = groups::values(&cells, Trait::Engine);
        let varying = groups::varying(&cells, &[]);
        let apart = [Trait::Memory, Trait::Bytes, Trait::Messages, Trait::Threads];
        let apart: Vec<Trait> = apart.into_iter().filter(|t| varying.contains(t)).collect();
        for (name, part) in groups::by(&cells, &apart) {
            for (i, cells) in part.chunks(ROWS).enumerate().filter(|(_, cells)| cells.len() > 1) {
                let names = Names::of(cells);
                let is_input = cells.iter().all(|cell| cell.work.bytes.is_some());
                let (title, unit) = if is_input {
                    ("GB of input a second", sentences::GIGABYTES)
                } else {
                    ("Hashes a second", "hashes a second")
                };
                let row = |cell: &&Cell| {
                    let engine = Trait::Engine.of(cell);
                    let color = engines.iter().position(|known| *known == engine).unwrap_or(0);
                    let rate = if is_input { in_gigabytes(cell) } else { cell.real };
                    Bar { label: names.name(cell), rate, color }
                };
                let rows: Vec<Bar> = cells.iter().map(row).collect();
                let sentence = sentences::extremes(cells, &names, unit);
                let part = if i == 0 { String::new() } else { format!("part {}", i + 1) };
                let name = [name.as_str(), &part].into_iter().filter(|text| !text.is_empty());
                let name = name.collect::<Vec<_>>().join(", ");
                self.add(title, &name, sentence.clone(), |id, title| {
                    bars::bars(id, title, &sentence, &rows)
                });
            }
        }
    }

    fn curves(&mut self, curves: &[Curve]) {
        let mut kinds: Vec<(&str, &str, &str)> = Vec::new();
        for curve in curves {
            let kind = (curve.label.as_str(), curve.axis.as_str(), curve.unit.as_str());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            let same: Vec<&Curve> = curves
                .iter()
                .filter(|curve| {
                    (curve.label.as_str(), curve.axis.as_str(), curve.unit.as_str()) == kind
                })
                .filter(|curve| {
                    curve.values.iter().filter(|&&value| can_be_drawn(value)).count() > 1
                })
                .collect();
            for same in same.chunks(LINES) {
                let series = same.iter().map(|curve| curve_series(curve)).collect();
                let (label, axis, unit) = kind;
                let values = || same.iter().flat_map(|curve| &curve.values).copied();
                let drawn = || values().filter(|&value| can_be_drawn(value));
                let (low, high) =
                    (drawn().fold(f64::INFINITY, f64::min), drawn().fold(0.0, f64::max));
                let up = if low > 0.5 * high {
                    (format!("{unit} (the axis does not begin at 0)"), Scale::Near)
                } else {
                    (unit.to_owned(), Scale::FromZero)
                };
                let axes = [(axis.to_owned(), Scale::Offsets), up];
                let sentence = sentences::curves(same);
                self.add(label, &format!("by {axis}"), sentence.clone(), |id, title| {
                    Lines { title: title.to_owned(), axes, series }.draw(id, &sentence)
                });
            }
        }
    }

    fn ratios(&mut self, ratios: &[Ratio]) {
        let is_drawn =
            |ratio: &&Ratio| ratio.ratio.median > 0.0 && can_be_drawn(ratio.ratio.median);
        let ratios: Vec<&Ratio> = ratios.iter().filter(is_drawn).collect();
        for rows in ratios.chunks(ROWS) {
            let sentence = sentences::ratios(rows);
            let [first, second] = &rows[0].sides;
            let same = rows.iter().all(|row| row.sides == rows[0].sides);
            let name = if same { format!("{first} against {second}") } else { String::new() };
            self.add("Ratios with 95 % intervals", &name, sentence.clone(), |id, title| {
                bars::ratios(id, title, &sentence, rows)
            });
        }
    }

    /// Where the ROM is, beside each other, for each number of threads or each size.
    fn roms(&mut self, section: &Section, rows: Trait) {
        let cells: Vec<&Cell> = section.cells.iter().collect();
        if cells.iter().all(|cell| cell.work.rom_kib.is_none()) {
            return;
        }
        let traits: Vec<Trait> = groups::varying(&cells, &[rows, Trait::Rom]);
        for (name, part) in groups::by(&cells, &traits) {
            if let Some((sentence, body)) = matrix::roms(&part, rows) {
                self.add("Where the ROM is", &name, sentence, |_, _| Some(body));
            }
        }
    }
}

impl Form {
    fn series(&self, (name, cells): &(String, Vec<&Cell>)) -> Series {
        let point = |cell: &&Cell| {
            let (x, y) = ((self.x)(cell)?, (self.y)(cell));
            let scale = y / cell.real.median;
            let interval = (cell.real.low * scale, cell.real.high * scale);
            let (place, unit) = (self.along.of(cell), self.value.0);
            let tip = format!(
                "{name}{} {place}: {} {unit}",
                if name.is_empty() { "" } else { "," },
                number(y)
            );
            Some(Point { x, y, interval: Some(interval), tip, label: String::new() })
        };
        let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.clone(), points, is_ideal: false }
    }
}

/// Equal ratios for values that are far apart, equal steps for others.
fn scale_for(lines: &Groups<'_>, value: impl Fn(&Cell) -> f64) -> Scale {
    let values = || lines.iter().flat_map(|(_, cells)| cells).map(|cell| value(cell));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if high > 4.0 * low { Scale::Ratios } else { Scale::Near }
}

/// The line that threads would make if each of them did as much as a thread alone, for the fastest
/// line.
fn in_proportion(series: &[Series]) -> Option<Series> {
    let first = |series: &Series| series.points.first().map_or(0.0, |point| point.y / point.x);
    let fastest = series.iter().max_by(|a, b| first(a).total_cmp(&first(b)))?;
    let (slope, ends) = (first(fastest), fastest.points.first().zip(fastest.points.last()));
    let most = fastest.points.iter().map(|point| point.y).fold(0.0, f64::max);
    let (start, end) = ends?;
    // Not so far that it would press all that was measured together.
    let end = Point { x: end.x.min(1.3 * most / slope), ..end.clone() };
    let ideal = |point: &Point| Point { y: slope * point.x, interval: None, ..point.clone() };
    let points = vec![ideal(start), ideal(&end)];
    Some(Series { name: "in proportion".to_owned(), points, is_ideal: true })
}

fn latency_point(cell: &Cell, along: Trait) -> Option<Point> {
    let Latency { min_ms, avg_ms, p99_ms, .. } = cell.latency?;
    let label = along.of(cell);
    let tip = format!(
        "{}, {label}: {} hashes a second, {} ms on average, 99 % within {} ms",
        cell.label,
        number(cell.real.median),
        number(avg_ms),
        number(p99_ms)
    );
    Some(Point { x: cell.real.median, y: avg_ms, interval: Some((min_ms, p99_ms)), tip, label })
}

fn curve_series(curve: &Curve) -> Series {
    let point = |(i, &y): (usize, &f64)| {
        let at = curve.start as f64 + i as f64 * curve.step as f64;
        let tip = format!("{}, {}: {} {}", curve.engine, at, number(y), curve.unit);
        Point { x: at, y, interval: None, tip, label: String::new() }
    };
    let points = curve.values.iter().enumerate().map(point).collect();
    Series { name: curve.engine.clone(), points, is_ideal: false }
}
