//! A record as a page: one HTML file with plots, which needs neither network nor scripts, for
//! screens of any width, dark or light, and for paper.

mod bars;
mod figures;
mod form;
mod groups;
mod matrix;
mod sentences;

use std::fmt::Write;

use base64ct::{Base64, Encoding};
use figures::Figure;
use saltern_chart::{axis, lines, markup, page, svg};

use markup::{Escaped, kib, number, plural};

use crate::record::{Machine, Record, Section};

/// The page. Any record makes one: what cannot be drawn is left out of the plots, and stays in the
/// tables and in the record that the page carries.
///
/// Every plot has a sentence that is computed from what it shows, a link to its numbers, and a text
/// for those who do not see it.
///
/// ```
/// use saltern_bench::{record::Record, report};
///
/// let text = include_str!("record/example.json");
/// let page = report::render(&Record::from_json(text)?);
/// assert!(page.contains("<svg") && !page.contains("<script"));
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use]
pub fn render(record: &Record) -> String {
    let sections: Vec<(String, &Section)> = record
        .sections
        .iter()
        .enumerate()
        .map(|(i, section)| (format!("s{}-{}", i + 1, markup::slug(&section.id)), section))
        .collect();
    let mut plots = String::new();
    let mut contents = String::new();
    for (id, section) in &sections {
        let figures = figures::of(section, id);
        if figures.is_empty() {
            continue;
        }
        let title = Escaped(&section.title);
        let _ = writeln!(contents, "<li><a href=\"#{id}\">{title}</a></li>");
        plots += &plots_of(section, id, &figures);
    }
    let tables: String = sections.iter().map(|(id, section)| numbers_of(section, id)).collect();
    let mut page = head(record);
    if !contents.is_empty() {
        let _ = write!(page, "<nav aria-label=\"Contents\"><ul>\n{contents}");
        page += if tables.is_empty() {
            "</ul></nav>\n"
        } else {
            "<li><a href=\"#numbers\">All numbers</a></li>\n</ul></nav>\n"
        };
    }
    page += "<main>\n";
    if !plots.is_empty() {
        let _ = writeln!(page, "<div class=\"plots\">\n{plots}</div>");
    }
    if !tables.is_empty() {
        let _ = write!(
            page,
            "<section id=\"numbers\"><h2>All numbers</h2>\n{READING}{tables}</section>\n"
        );
    }
    page + "</main>\n</body>\n</html>\n"
}

/// How the tables are to be read.
const READING: &str = "\
<p class=\"small about\">A rate is the median of its samples, and its interval holds the true median in 95 of 100 runs. \
<b>hashes/s</b> counts the time that passed, <b>hashes/CPU s</b> the processor time of all threads. Milliseconds are those of \
one call while all threads work; a call computes as many hashes as advance at once. A ratio compares turn by turn, and is a tie \
where its interval spans 1.</p>\n";

/// Title, machine, build, and what to know before reading on.
fn head(record: &Record) -> String {
    let (machine, build) = (&record.machine, &record.build);
    let title = format!("Saltern benchmarks: {}", machine.processor);
    let mut out = page::head(&title) + "<header>\n<h1>Saltern benchmarks</h1>\n";
    let commit = build.commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}"));
    let rustc = build.rustc.as_ref().map_or(String::new(), |rustc| format!(", {rustc}"));
    let seen = record.neighbours.map(|seen| ("Neighbours", seen.words()));
    let known = [
        ("Machine", machine_text(machine)),
        ("Build", format!("Saltern {}{commit}{rustc}, {}", build.version, build.profile)),
        ("Run", format!("{}, {} s", markup::date(record.unix_time), number(record.seconds))),
        ("Command", record.command.clone()),
    ];
    out += &page::facts(known.into_iter().chain(seen));
    if build.profile != "release" {
        out += "<p class=\"warning\">Not a release build: its speeds are not worth quoting.</p>\n";
    }
    if let Ok(json) = record.to_json() {
        let data = Base64::encode_string(json.as_bytes());
        let _ = writeln!(
            out,
            "<p><a download=\"saltern-bench.json\" href=\"data:application/json;base64,{data}\">\
             The record of this run</a> (JSON)</p>"
        );
    }
    if !record.notes.is_empty() {
        out += "<ul class=\"notes small\">";
        for note in &record.notes {
            let _ = write!(out, "<li>{}</li>", Escaped(note));
        }
        out += "</ul>\n";
    }
    out + "</header>\n"
}

fn machine_text(machine: &Machine) -> String {
    let mut parts = vec![machine.processor.clone(), plural(machine.cores, "processor")];
    parts.push(format!("level {}", machine.level));
    parts.push(machine.system.clone());
    parts.push(format!("{} of memory", kib(machine.memory_kib as f64)));
    for cache in &machine.caches {
        parts.push(format!("L{} {}", cache.level, kib(cache.kib as f64)));
    }
    parts.extend(machine.huge_pages.iter().map(|setting| format!("huge pages: {setting}")));
    parts.join(", ")
}

/// A section's plots.
fn plots_of(section: &Section, id: &str, figures: &[Figure]) -> String {
    let several = if figures.len() > 1 { " class=\"several\"" } else { "" };
    let mut out = format!(
        "<section{several} aria-labelledby=\"{id}\"><h2 id=\"{id}\">{}</h2>\n<p class=\"about\">{}</p>\n<div class=\"figures\">\n",
        Escaped(&section.title),
        Escaped(&section.about)
    );
    for Figure { title, sentence, body } in figures {
        let _ = writeln!(
            out,
            "<figure><figcaption><h3>{}</h3><p>{}</p></figcaption>\n{body}\
             <p class=\"raw\"><a href=\"#{id}-numbers\">numbers</a></p></figure>",
            Escaped(title),
            Escaped(&markup::unbroken(sentence))
        );
    }
    out + "</div></section>\n"
}

/// A section's tables.
fn numbers_of(section: &Section, id: &str) -> String {
    let tables = matrix::numbers(section);
    if tables.is_empty() { tables } else { format!("<div id=\"{id}-numbers\">\n{tables}</div>\n") }
}
