//! Markdown tables.

use super::interval;
use crate::record::{Cell, Ratio, Record, Section};

/// All sections as tables.
#[must_use]
pub fn markdown(record: &Record) -> String {
    let mut text = format!("{}. `{}`\n", super::header(record), record.command);
    record.sections.iter().for_each(|section| text += &table(section));
    text
}

fn table(section: &Section) -> String {
    let mut text = format!("\n### {}\n\n{}\n", section.title, section.about);
    if !section.cells.is_empty() {
        text += "\n| work | engine | at once | threads | c/s real | c/s virtual | GB/s | latency, ms (min/avg/max) |\n";
        text += "|---|---|---|---|---|---|---|---|\n";
        section.cells.iter().for_each(|cell| text += &row(cell));
    }
    if !section.ratios.is_empty() {
        text += "\n| work | sides | ratio | goal | rates |\n|---|---|---|---|---|\n";
        section.ratios.iter().for_each(|ratio| text += &ratio_row(ratio));
    }
    for curve in &section.curves {
        text += &super::curve_lines(curve);
    }
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
    let digits = if ratio.unit == "GB/s" { 2 } else { 0 };
    format!(
        "| {} | {} : {} | {:.2} {}{} | {} | {:.digits$} : {:.digits$} {} |\n",
        ratio.label,
        ratio.sides[0],
        ratio.sides[1],
        ratio.ratio.median,
        interval(&ratio.ratio, 2),
        if ratio.verdict == crate::record::Verdict::Tie { " tie" } else { "" },
        ratio.goal.map(|goal| format!("{goal:.2}")).unwrap_or_default(),
        ratio.rates[0].median,
        ratio.rates[1].median,
        ratio.unit
    )
}

/// The seeds' tables beside this record's.
#[must_use]
pub fn seeds(record: &Record) -> String {
    markdown(record)
}
