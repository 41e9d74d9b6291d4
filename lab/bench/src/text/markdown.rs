//! Markdown tables, with the figures of the seed texts beside ours.

use serde::Deserialize;

use super::interval;
use crate::record::{Cell, Ratio, Record, Section, Verdict};

/// All sections as tables. A section that repeats a table of the seed texts is followed by one with
/// the text's figures.
#[must_use]
pub fn markdown(record: &Record) -> String {
    let mut text = head(record);
    for section in &record.sections {
        text += &table(section);
        text += &beside(section);
    }
    text
}

/// The same in short, for a document: where a text's figures stand beside ours, those alone; the
/// other sections whole.
#[must_use]
pub fn digest(record: &Record) -> String {
    let mut text = head(record);
    for section in &record.sections {
        match beside(section) {
            none if none.is_empty() => text += &table(section),
            beside => {
                let pairs = Section { cells: Vec::new(), ..section.clone() };
                text += &table(&pairs);
                text += &beside;
            }
        }
    }
    text
}

/// The machine, the command, and how long it took beside which neighbours.
fn head(record: &Record) -> String {
    let machine = super::header(&record.machine, &record.build);
    let seen = record.neighbours.map(|seen| format!("; {}", seen.words())).unwrap_or_default();
    format!("{machine}. `{}`, {:.0} s{seen}.\n", record.command, record.seconds)
}

fn table(section: &Section) -> String {
    let mut text = format!("\n### {}\n\n{}\n", section.title, section.about);
    if !section.cells.is_empty() {
        text += "\n| work | engine | at once | threads | c/s real | c/s virtual | GB/s | latency, ms (min/avg/max) |\n";
        text += "|---|---|---|---|---|---|---|---|\n";
        section.cells.iter().for_each(|cell| text += &row(cell));
    }
    if !section.ratios.is_empty() {
        text += "\n| work | sides | ratio | quiet | goal | rates |\n|---|---|---|---|---|---|\n";
        section.ratios.iter().for_each(|ratio| text += &ratio_row(ratio));
    }
    section.curves.iter().for_each(|curve| text += &super::curve_lines(curve));
    text
}

fn row(cell: &Cell) -> String {
    let pages = cell.pages.as_ref().map(|pages| format!(", {pages} pages")).unwrap_or_default();
    let bandwidth = cell.bandwidth.map(|b| format!("{:.2}", b.gb_per_s)).unwrap_or_default();
    let latency = cell.latency.map(|l| format!("{:.2}/{:.2}/{:.2}", l.min_ms, l.avg_ms, l.max_ms));
    format!(
        "| {} | {}{pages} | {} | {} | {:.0} {} | {:.0} | {bandwidth} | {} |\n",
        cell.label,
        cell.engine,
        cell.together,
        cell.threads,
        cell.real.median,
        interval(&cell.real, 0),
        cell.cpu.median,
        latency.unwrap_or_default()
    )
}

fn ratio_row(ratio: &Ratio) -> String {
    let digits = super::digits_of(ratio);
    format!(
        "| {} | {} : {} | {:.2} {}{} | {} | {} | {:.digits$} : {:.digits$} {} |\n",
        ratio.label,
        ratio.sides[0],
        ratio.sides[1],
        ratio.ratio.median,
        interval(&ratio.ratio, 2),
        if ratio.verdict == Verdict::Tie { " tie" } else { "" },
        ratio.quiet.map(|quiet| format!("{quiet:.2}")).unwrap_or_default(),
        ratio.goal.map(|goal| format!("{goal:.2}")).unwrap_or_default(),
        ratio.rates[0].median,
        ratio.rates[1].median,
        ratio.unit
    )
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
    let text = include_str!("../../cases/quoted.toml");
    toml::from_str::<Quoted>(text).map(|quoted| quoted.source).unwrap_or_default()
}

/// The text's table beside ours; nothing for sections that have none.
fn beside(section: &Section) -> String {
    let Some(source) = quoted().into_iter().find(|source| source.section == section.id) else {
        return String::new();
    };
    let all = section.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
    let mut text = format!(
        "\nQuoted beside ours, c/s real, from {}:\n\n\
         | case | text: 1 thread | text: all | GB/s | here, one at a time: 1 thread | {all} threads | here, together: 1 thread | {all} threads | GB/s |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        source.text
    );
    for row in &source.row {
        let cells: Vec<&Cell> =
            section.cells.iter().filter(|cell| row.names(section, cell)).collect();
        let rate = |together: bool, threads: usize| {
            let found = cells
                .iter()
                .find(|cell| (cell.together > 1) == together && cell.threads == threads);
            found.map_or("–".to_owned(), |cell| format!("{:.0}", cell.real.median))
        };
        let best = cells.iter().rfind(|cell| cell.threads == all).and_then(|cell| cell.bandwidth);
        text += &format!(
            "| {} | {:.0} | {:.0} | {} | {} | {} | {} | {} | {} |\n",
            row.case,
            row.one,
            row.all,
            row.gb.map(|gb| gb.to_string()).unwrap_or_default(),
            rate(false, 1),
            rate(false, all),
            rate(true, 1),
            rate(true, all),
            best.map(|bandwidth| format!("{:.1}", bandwidth.gb_per_s)).unwrap_or_default()
        );
    }
    text
}

impl Row {
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

    #[test]
    fn every_quoted_figure_has_a_case_of_ours() {
        let text = include_str!("../../cases/quoted.toml");
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
                    let mut cell = example();
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

    fn example() -> Cell {
        let text = include_str!("../record/example.json");
        Record::from_json(text).unwrap().cells().next().unwrap().clone()
    }

    #[test]
    fn tables_have_as_many_columns_as_their_heads() {
        let record = Record::from_json(include_str!("../record/example.json")).unwrap();
        let text = markdown(&record);
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
