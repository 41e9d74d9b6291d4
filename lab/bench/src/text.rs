//! A record in words: the form of the seed texts for people at a terminal
//! (`templates/section.txt`), and Markdown tables for documents (`templates/record.md.txt`), with
//! the figures of the seed texts beside ours.

use askama::Template;
use saltern_chart::markup::plural;
use serde::Deserialize;

use crate::record::{Build, Cell, Curve, Estimate, Machine, Ratio, Record, Section, Verdict};
use crate::stats::median;

/// What a run begins with.
#[must_use]
pub fn header(machine: &Machine, build: &Build) -> String {
    let caches: Vec<_> =
        machine.caches.iter().map(|cache| format!("L{} {} KiB", cache.level, cache.kib)).collect();
    format!(
        "{}, {} processors, {}, level {}; saltern {} ({}), {}, {} build",
        machine.processor,
        machine.cores,
        caches.join(", "),
        machine.level,
        build.version,
        build.commit.as_deref().unwrap_or("no commit known"),
        build.rustc.as_deref().unwrap_or("no rustc known"),
        build.profile
    )
}

/// What the numbers mean, to be read once.
pub const LEGEND: &str = "\
c/s real: hashes in a second that passed; c/s virtual: in a second of processor time, of all threads together.
Both are medians over samples; (H hashes in S seconds) is the sum of all samples.
GB/s: 10^9 bytes moved to and from memory in a second: c/s real x RAM of a hash x a factor, which counts whole blocks that are
read or written. Filling writes each block once and, in the RW mode, reads one for each: 2. Mixing reads one in each step and in
RW writes it back: 2 for each of N/3 steps at t=0 (x2.67 in all), 2N/3 at t=1 (x3.33), N at t=2 (x4, as in escrypt); WORM with
t=2 is x3, WORM with t=0 and classic scrypt x2. With a ROM half of the reads go there, and those are not written back.
latency: of one call, which computes as many hashes as advance together; min/avg/max over all threads under full load.
[a-b]: 95 % interval of the median by bootstrap. A ratio whose interval spans 1 is a tie.
quiet: the ratio of the rates that each side exceeds in one turn of twenty, when neighbours disturb it least.";

/// A section in the form of the seed texts.
#[derive(Template)]
#[template(path = "section.txt")]
struct SectionText<'a> {
    section: &'a Section,
}

impl SectionText<'_> {
    /// Cells of one title together.
    fn titled(&self) -> impl Iterator<Item = &[Cell]> {
        self.section.cells.chunk_by(|a, b| a.title() == b.title())
    }
}

/// A record as Markdown tables.
#[derive(Template)]
#[template(path = "record.md.txt")]
struct RecordText<'a> {
    head: String,
    record: &'a Record,
    quoted: Vec<Source>,
    is_short: bool,
}

impl RecordText<'_> {
    fn quoted(&self, section: &Section) -> Option<&Source> {
        self.quoted.iter().find(|source| source.section == section.id)
    }
}

/// A section in the form of the seed texts.
#[must_use]
pub fn section(section: &Section) -> String {
    SectionText { section }.render().unwrap_or_default()
}

/// All sections as tables. A section that repeats a table of the seed texts is followed by one with
/// the text's figures; where it `is_short`, these alone.
#[must_use]
pub fn markdown(record: &Record, is_short: bool) -> String {
    let head = header(&record.machine, &record.build);
    RecordText { head, record, quoted: quoted(), is_short }.render().unwrap_or_default()
}

impl Estimate {
    /// `[low-high]`, with so many digits after the point.
    fn interval(&self, digits: usize) -> String {
        format!("[{:.digits$}-{:.digits$}]", self.low, self.high)
    }
}

impl Cell {
    fn title(&self) -> String {
        let together = match self.together {
            1 => String::new(),
            together => format!(", {together} hashes at once"),
        };
        format!("{}; {}{}{together}", self.label, self.engine, self.pages_words())
    }

    fn pages_words(&self) -> String {
        self.pages.as_ref().map(|pages| format!(", {pages} pages")).unwrap_or_default()
    }

    fn threads_words(&self) -> String {
        plural(self.threads, "thread")
    }
}

impl Verdict {
    /// In a word.
    fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Tie => "tie",
        }
    }
}

impl Ratio {
    /// The rates of both sides.
    fn rates_words(&self) -> String {
        let digits = if self.unit == "GB/s" { 2 } else { 0 };
        let [first, second] = &self.rates;
        format!("{:.digits$} : {:.digits$}", first.median, second.median)
    }

    /// Whether the goal is reached: by the median, and how sure that is.
    fn goal_words(&self) -> String {
        let aim = self.goal.zip(self.goal());
        aim.map_or(String::new(), |(goal, how)| format!("(goal {goal:.2} {})", how.name()))
    }
}

impl Curve {
    fn median(&self) -> f64 {
        median(&self.values)
    }

    /// The first of the least values, and what it belongs to.
    fn least(&self) -> (u64, f64) {
        self.first(self.values.iter().copied().fold(f64::INFINITY, f64::min))
    }

    /// The first of the greatest values, and what it belongs to.
    fn greatest(&self) -> (u64, f64) {
        self.first(self.values.iter().copied().fold(0.0, f64::max))
    }

    fn first(&self, wanted: f64) -> (u64, f64) {
        let index = self.values.iter().position(|value| *value == wanted).unwrap_or(0);
        (self.place(index), wanted)
    }
}

/// `cases/quoted.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quoted {
    source: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    section: String,
    text: String,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    case: String,
    work: String,
    one: f64,
    all: f64,
    gb: Option<f64>,
}

fn quoted() -> Vec<Source> {
    let text = include_str!("../cases/quoted.toml");
    toml::from_str::<Quoted>(text).map(|quoted| quoted.source).unwrap_or_default()
}

impl Source {
    /// The most threads of a section.
    fn threads(&self, section: &Section) -> usize {
        section.cells.iter().map(|cell| cell.threads).max().unwrap_or(1)
    }
}

impl Row {
    /// Our rates: one hash at a time and several, each in one thread and in all; and GB/s.
    fn ours(&self, section: &Section) -> [String; 5] {
        let cells: Vec<&Cell> =
            section.cells.iter().filter(|cell| self.names(section, cell)).collect();
        let all = section.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
        let rate = |together: bool, threads: usize| {
            let mut cells = cells.iter();
            let found =
                cells.find(|cell| (cell.together > 1) == together && cell.threads == threads);
            found.map_or("–".to_owned(), |cell| format!("{:.0}", cell.real.median))
        };
        let best = cells.iter().rfind(|cell| cell.threads == all).and_then(|cell| cell.bandwidth);
        let best = best.map(|bandwidth| format!("{:.1}", bandwidth.gb_per_s)).unwrap_or_default();
        [rate(false, 1), rate(false, all), rate(true, 1), rate(true, all), best]
    }

    /// Whether a cell is meant: its name begins with the section's and the work's, in which `*`
    /// stands for a number.
    fn names(&self, section: &Section, cell: &Cell) -> bool {
        let Some(name) = cell.id.strip_prefix(&format!("{}/", section.id)) else { return false };
        let rest = match self.work.split_once('*') {
            None => name.strip_prefix(&self.work),
            Some((before, after)) => name.strip_prefix(before).and_then(|rest| {
                rest.trim_start_matches(|c: char| {
                    c.is_ascii_digit() || c == 'K' || c == 'i' || c == 'B'
                })
                .strip_prefix(after)
            }),
        };
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{self, Options};

    fn example() -> Record {
        Record::from_json(include_str!("record/example.json")).unwrap()
    }

    #[test]
    fn cells_are_told_as_the_seeds_tell_them() {
        let record = example();
        let text = section(&record.sections[0]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[4], "1 MiB; saltern, 2 hashes at once:");
        assert_eq!(lines[5], "Benchmarking 1 thread ...");
        assert_eq!(lines[6], "2700 c/s real, 2700 c/s virtual (4860 hashes in 1.80 seconds)");
        assert!(lines[7].contains("7.55 GB/s (x2.67), latency min/avg/max"), "{}", lines[7]);
        assert_eq!(lines[8], "Benchmarking 2 threads ...");
    }

    #[test]
    fn ratios_say_what_they_mean() {
        let text = section(&example().sections[7]);
        let lines: Vec<_> = text.lines().skip(4).collect();
        assert!(
            lines[0].contains("faster (goal 1.45 within the interval) batch, 4 MiB"),
            "{lines:#?}"
        );
        assert!(lines[1].contains("tie    (goal 1.03 missed)"), "{lines:#?}");
        assert!(lines[2].contains("(goal 1.40 missed)"), "{lines:#?}");
    }

    #[test]
    fn curves_are_told_by_their_extremes() {
        let text = section(&example().sections[5]);
        assert!(text.contains("least 2.600 (at 1536)"), "{text}");
    }

    #[test]
    fn every_quoted_figure_has_a_case_of_ours() {
        let text = include_str!("../cases/quoted.toml");
        let quoted = toml::from_str::<Quoted>(text).unwrap().source;
        let rows: usize = quoted.iter().map(|source| source.row.len()).sum();
        assert_eq!((quoted.len(), rows), (3, 28));
        let options = Options {
            command: String::new(),
            quick: false,
            effort: crate::runner::Effort::SMOKE,
            only: String::new(),
            threads: None,
            places: Default::default(),
        };
        let record = example();
        let sections = suite::sections(&["seeds"], &options).unwrap();
        for source in quoted {
            let ours = sections.iter().find(|section| section.id == source.section).unwrap();
            let section = Section {
                id: ours.id.clone(),
                title: String::new(),
                about: String::new(),
                kind: ours.kind,
                cells: vec![],
                ratios: vec![],
                curves: vec![],
            };
            for row in source.row {
                let named = ours.cells.iter().filter(|case| {
                    let mut cell = record.sections[0].cells[0].clone();
                    let work = case.side.work.record();
                    let pages = case.side.pages.map_or(String::new(), |pages| {
                        format!("/{}", crate::work::pages_name(pages).replace(' ', ""))
                    });
                    cell.id = format!("{}/{}/{}{pages}/1", ours.id, work.slug(), case.side.engine);
                    row.names(&section, &cell)
                });
                assert!((1..=2).contains(&named.count()), "{}: {}", source.section, row.case);
            }
        }
    }

    #[test]
    fn tables_have_as_many_columns_as_their_heads() {
        let text = markdown(&example(), false);
        let mut columns = 0;
        let mut rows = 0;
        for line in text.lines() {
            match line.matches(" | ").count() {
                0 if !line.starts_with('|') => columns = 0,
                0 => {}
                here if columns == 0 => columns = here,
                here => {
                    assert_eq!(here, columns, "{line}");
                    rows += 1;
                }
            }
        }
        assert!(rows >= 17, "{rows}\n{text}");
        assert!(text.contains("1.00 [0.99-1.01] tie |  | 1.03 |"), "{text}");
    }
}
