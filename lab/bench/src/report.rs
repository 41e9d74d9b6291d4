//! A record as a page: one HTML file with plots, which needs neither network nor scripts, for
//! screens of any width, dark or light, and for paper.

mod bars;
mod figures;
mod form;
mod groups;
mod matrix;
mod sentences;

use askama::Template;
use base64ct::{Base64, Encoding};
use figures::Figure;
use saltern_chart::{axis, lines, markup, page, svg};

use markup::{kib, number, plural};

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
    let json = record.to_json().unwrap_or_default();
    let page = Page {
        head: page::head(&format!("Saltern benchmarks: {}", record.machine.processor)),
        facts: page::facts(facts(record)),
        data: Base64::encode_string(json.as_bytes()),
        parts: (1..)
            .zip(&record.sections)
            .map(|(number, section)| Part::new(number, section))
            .collect(),
        record,
    };
    page.render().unwrap_or_default().chars().map(markup::printable).collect()
}

/// `templates/page.html`.
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    record: &'a Record,
    head: String,
    facts: String,
    /// The record itself.
    data: String,
    parts: Vec<Part<'a>>,
}

impl Page<'_> {
    fn is_drawn(&self) -> bool {
        self.parts.iter().any(|part| !part.figures.is_empty())
    }

    fn has_numbers(&self) -> bool {
        self.parts.iter().any(Part::has_numbers)
    }
}

/// A section with its plots.
struct Part<'a> {
    id: String,
    section: &'a Section,
    figures: Vec<Figure>,
}

impl<'a> Part<'a> {
    fn new(number: usize, section: &'a Section) -> Self {
        let id = format!("s{number}-{}", markup::slug(&section.id));
        Part { figures: figures::of(section, &id), section, id }
    }

    fn has_numbers(&self) -> bool {
        let Section { cells, ratios, curves, .. } = self.section;
        !(cells.is_empty() && ratios.is_empty() && curves.is_empty())
    }
}

/// Numbers as templates write them.
#[allow(unreachable_pub, reason = "what the macro makes is public")]
mod filters {
    use std::borrow::Borrow;

    use askama::{Result, Values};
    use saltern_chart::markup;

    #[askama::filter_fn]
    pub(super) fn number(value: &f64, _: &dyn Values) -> Result<String> {
        Ok(markup::number(*value))
    }

    #[askama::filter_fn]
    pub(super) fn factor(value: &f64, _: &dyn Values) -> Result<String> {
        Ok(markup::factor(*value))
    }

    /// A coordinate.
    #[askama::filter_fn]
    pub(super) fn px(value: &f64, _: &dyn Values) -> Result<String> {
        Ok(format!("{value:.1}"))
    }

    #[askama::filter_fn]
    pub(super) fn cut<T: AsRef<str>, M: Borrow<f64>>(
        text: T,
        _: &dyn Values,
        most: M,
    ) -> Result<String> {
        Ok(saltern_chart::svg::cut(text.as_ref(), *most.borrow()))
    }

    #[askama::filter_fn]
    pub(super) fn unbroken(text: &str, _: &dyn Values) -> Result<String> {
        Ok(markup::unbroken(text))
    }
}

/// Machine, build, and what to know before reading on.
fn facts(record: &Record) -> impl Iterator<Item = (&'static str, String)> {
    let build = &record.build;
    let commit = build.commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}"));
    let rustc = build.rustc.as_ref().map_or(String::new(), |rustc| format!(", {rustc}"));
    let known = [
        ("Machine", machine_text(&record.machine)),
        ("Build", format!("Saltern {}{commit}{rustc}, {}", build.version, build.profile)),
        ("Run", format!("{}, {} s", markup::date(record.unix_time), number(record.seconds))),
        ("Command", record.command.clone()),
    ];
    let seen = record.neighbours.map(|seen| ("Neighbours", seen.words()));
    known.into_iter().chain(seen)
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
