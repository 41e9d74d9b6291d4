//! The report page of whatever a record holds: well-formed, self-contained, and true to its data.

use std::collections::HashSet;

use base64ct::{Base64, Encoding};
use roxmltree::{Document, Node, ParsingOptions};
use saltern_bench::record::{Cell, Curve, Kind, Record, Verdict};
use saltern_bench::report;

const FULL: &str = include_str!("report/example.json");
const SMALL: &str = include_str!("../src/record/example.json");

fn record(text: &str) -> Record {
    Record::from_json(text).unwrap()
}

/// The page as XML, which it is too, after what has to hold for every page.
fn check(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}"));
    let mut ids = HashSet::new();
    for node in document.descendants() {
        if let Some(id) = node.attribute("id") {
            assert!(ids.insert(id), "id {id} twice");
        }
    }
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!["script", "iframe", "object", "img", "form"].contains(&name), "<{name}>");
        for attribute in node.attributes() {
            let value = attribute.value();
            match attribute.name() {
                "href" => match value.strip_prefix('#') {
                    Some(id) => assert!(ids.contains(id), "{value} leads nowhere"),
                    None => assert!(value.starts_with("data:"), "{value} is a request"),
                },
                "aria-labelledby" => {
                    assert!(value.split(' ').all(|id| ids.contains(id)), "{value}");
                }
                "src" | "srcset" | "style" => panic!("{} on <{name}>", attribute.name()),
                // Coordinates.
                "d" | "x" | "y" | "width" | "height" | "cx" | "cy" | "viewBox" => {
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
                }
                event => assert!(!event.starts_with("on"), "{event} on <{name}>"),
            }
        }
        if name == "svg" && node.attribute("role") == Some("img") {
            let texts = ["title", "desc"].map(|part| {
                let part = node.children().find(|child| child.has_tag_name(part));
                part.and_then(|part| part.text()).unwrap_or_default()
            });
            assert!(texts.iter().all(|text| !text.trim().is_empty()), "{texts:?}");
        }
    }
    for outside in ["http:", "https:", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    document
}

fn text_of(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|n| n.text()).collect()
}

/// Titles and sentences of the plots.
fn figures(document: &Document<'_>) -> Vec<(String, String)> {
    let figures = document.descendants().filter(|node| node.has_tag_name("figure"));
    let part = |figure: Node<'_, '_>, name| {
        figure.descendants().find(|node| node.has_tag_name(name)).map(text_of).unwrap_or_default()
    };
    figures.map(|figure| (part(figure, "h3"), part(figure, "p").replace('\u{A0}', " "))).collect()
}

#[test]
fn every_kind_of_plot_is_drawn_and_says_what_it_shows() {
    let page = report::render(&record(FULL));
    let figures = figures(&check(&page));
    for (title, sentence) in [
        ("Throughput against memory", "saltern, 4 at once, 8 threads: from 1 MiB to 32 MiB a hash"),
        (
            "Latency against throughput",
            "Most hashes with 8 threads at work: saltern, 1 MiB, 4 at once, 11,025 a second at 2.90 ms a call.",
        ),
        (
            "Hashes a second by rounds and S-boxes: 512-bit lookups, 8 threads",
            "Most, 1,764 hashes a second: 1 round, 12 KiB S-boxes; 1.69 times the least, 6 rounds, 384 KiB S-boxes.",
        ),
        ("Throughput by threads", "8 threads do 4.06 times the work of 1"),
        (
            "Hashes that advance at once in each thread",
            "4 hashes at once do 1.45 times the work of 1.",
        ),
        (
            "Where the ROM is",
            "With 16 threads, the most is 240 hashes a second, ROM in RAM; ROM in SSD, mmap reaches 85 % of that.",
        ),
        (
            "Throughput by size of the input: blake2b",
            "saltern: the most is 1.26 GB/s with messages of 1 MiB",
        ),
        ("BLAKE2bp, 1 MiB: by offset in bytes", "Over 4096 places saltern varies by"),
        (
            "Hashes a second",
            "Most, 4,890 hashes a second: skinnycat, saltern-bench; 14.82 times the least, argon2id, crate argon2.",
        ),
        (
            "Ratios with 95 % intervals",
            "Of 7 comparisons, saltern is faster in 5, slower in 1 and level in 1. \
             Of 6 goals (dashed) 2 are reached, 2 within the interval, 2 missed.",
        ),
    ] {
        let found = figures.iter().any(|(t, s)| t == title && s.starts_with(sentence));
        assert!(found, "{title}: {sentence}\nin {figures:#?}");
    }
}

#[test]
fn the_page_carries_its_record_and_all_its_numbers() {
    for text in [FULL, SMALL] {
        let record = record(text);
        let page = report::render(&record);
        let document = check(&page);
        let link = document.descendants().find(|node| node.has_attribute("download")).unwrap();
        let data = link.attribute("href").unwrap();
        let data = data.strip_prefix("data:application/json;base64,").unwrap();
        let json = Base64::decode_vec(data).unwrap();
        assert_eq!(Record::from_json(&String::from_utf8(json).unwrap()).unwrap(), record);

        let numbers = document.descendants().find(|node| node.attribute("id") == Some("numbers"));
        let rows = numbers.unwrap().descendants().filter(|node| node.has_tag_name("tbody"));
        let rows: usize = rows.map(|body| body.children().filter(Node::is_element).count()).sum();
        let curves: usize = record.sections.iter().map(|section| section.curves.len()).sum();
        assert_eq!(rows, record.cells().count() + record.ratios().count() + curves);
    }
}

#[test]
fn a_tie_is_marked() {
    let mut record = record(SMALL);
    record.sections.retain(|section| section.kind == Kind::Goals);
    let page = report::render(&record);
    check(&page);
    assert!(page.contains("1.00 [0.99, 1.01] tie"));
    assert_eq!(page.matches("hollow\"").count(), 1);
    record.sections[0].ratios.retain(|ratio| ratio.verdict != Verdict::Tie);
    assert!(!report::render(&record).contains("hollow\""));
}

/// Every plot with too little to draw, in each way.
#[test]
fn what_is_not_there_leaves_no_trace() {
    let full = record(FULL);
    let mut none = full.clone();
    none.sections.clear();
    let page = report::render(&none);
    let document = check(&page);
    for name in ["svg", "figure", "table", "section", "nav"] {
        assert!(!document.descendants().any(|node| node.has_tag_name(name)), "<{name}>");
    }
    for section in &full.sections {
        let mut record = none.clone();
        record.sections.push(section.clone());
        let empty = &mut record.sections[0];
        empty.cells.clear();
        empty.ratios.clear();
        empty.curves.iter_mut().for_each(|curve| curve.values.clear());
        let page = report::render(&record);
        assert!(figures(&check(&page)).is_empty(), "{}", section.id);
        assert_eq!(page.contains(&section.title), !section.curves.is_empty(), "{}", section.id);
    }
    // One cell of each kind, and cells without what a plot is about.
    for section in &full.sections {
        for change in [
            |cells: &mut Vec<Cell>| cells.truncate(1),
            |cells: &mut Vec<Cell>| cells.iter_mut().for_each(|cell| cell.work.memory_kib = None),
            |cells: &mut Vec<Cell>| cells.iter_mut().for_each(|cell| cell.work.rounds = None),
            |cells: &mut Vec<Cell>| cells.iter_mut().for_each(|cell| cell.work.bytes = None),
            |cells: &mut Vec<Cell>| cells.iter_mut().for_each(|cell| cell.latency = None),
        ] {
            let mut record = none.clone();
            record.sections.push(section.clone());
            change(&mut record.sections[0].cells);
            let page = report::render(&record);
            assert!(!page.contains("NaN"), "{}", section.id);
            check(&page);
        }
    }
}

const HOSTILE: &str = "</title></style><script>alert(1)</script>\" onload='x' &amp; ]]> <!-- \0\u{1b}\u{202e}\u{fffe}";

#[test]
fn hostile_texts_stay_texts() {
    let hostile = || HOSTILE.to_owned();
    let mut record = record(SMALL);
    record.command = hostile();
    record.notes = vec![hostile()];
    record.machine.processor = hostile();
    record.machine.huge_pages = Some(hostile());
    record.build.commit = Some(hostile());
    record.build.profile = hostile();
    for section in &mut record.sections {
        section.id = hostile();
        section.title = hostile();
        section.about = hostile();
        for cell in &mut section.cells {
            cell.label = format!("{}{HOSTILE}", cell.label);
            cell.engine = format!("{}{HOSTILE}", cell.engine);
            cell.work.algorithm = hostile();
            cell.pages = cell.pages.as_ref().map(|pages| format!("{pages}{HOSTILE}"));
            cell.work.rom_medium = cell.work.rom_medium.as_ref().map(|m| format!("{m}{HOSTILE}"));
            cell.agrees_with = vec![hostile()];
        }
        for ratio in &mut section.ratios {
            ratio.label = hostile();
            ratio.sides = [hostile(), hostile()];
            ratio.unit = hostile();
            ratio.clock = hostile();
        }
        for curve in &mut section.curves {
            curve.label = hostile();
            curve.engine = format!("{}{HOSTILE}", curve.engine);
            curve.axis = hostile();
            curve.unit = hostile();
        }
    }
    let page = report::render(&record);
    let document = check(&page);
    assert_eq!(
        figures(&document).len(),
        figures(&check(&report::render(&self::record(SMALL)))).len()
    );
    assert!(page.contains("Not a release build"));
    for raw in ["<script", "onload='", "<!--", "\u{202e}", "\0"] {
        assert!(!page.contains(raw), "{raw:?}");
    }
}

#[test]
fn extreme_values_never_reach_a_coordinate() {
    let extremes = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        -1.0,
        0.0,
        -0.0,
        1e-300,
        1e15,
        5e-324,
    ];
    for value in extremes {
        for every in [1, 2] {
            let mut record = record(SMALL);
            for section in &mut record.sections {
                for cell in section.cells.iter_mut().step_by(every) {
                    spoil(cell, value);
                }
                for ratio in section.ratios.iter_mut().step_by(every) {
                    for estimate in [&mut ratio.ratio, &mut ratio.rates[0]] {
                        (estimate.median, estimate.low, estimate.high) = (value, value, value);
                    }
                    ratio.goal = Some(value);
                }
                for Curve { values, start, step, .. } in &mut section.curves {
                    values.iter_mut().step_by(every).for_each(|v| *v = value);
                    (*start, *step) = (u64::MAX, u64::MAX);
                }
            }
            record.seconds = value;
            record.unix_time = u64::MAX;
            record.machine.memory_kib = u64::MAX;
            check(&report::render(&record));
        }
    }
}

fn spoil(cell: &mut Cell, value: f64) {
    for estimate in [&mut cell.real, &mut cell.cpu] {
        (estimate.median, estimate.low, estimate.high) = (value, value, value);
    }
    if let Some(latency) = &mut cell.latency {
        (latency.min_ms, latency.avg_ms, latency.p99_ms, latency.max_ms) =
            (value, value, value, value);
    }
    if let Some(bandwidth) = &mut cell.bandwidth {
        bandwidth.gb_per_s = value;
    }
    cell.work.memory_kib = cell.work.memory_kib.map(|_| value);
    cell.threads = usize::MAX;
    cell.together = 0;
    cell.work.bytes = cell.work.bytes.map(|_| u64::MAX);
    cell.hashes = u64::MAX;
}

/// As many cells as nobody measures, all different in everything.
#[test]
fn very_many_lines_still_make_plots_that_can_be_told_apart() {
    let mut record = record(SMALL);
    let cell = record.sections[0].cells[0].clone();
    record.sections.truncate(1);
    record.sections[0].cells = (0..400)
        .map(|i| {
            let mut cell = cell.clone();
            cell.engine = format!("engine {}", i % 20);
            cell.work.memory_kib = Some(f64::from(1 << (i / 20 % 10)));
            cell.label = format!("cell {i}");
            cell
        })
        .collect();
    let page = report::render(&record);
    let document = check(&page);
    for figure in document.descendants().filter(|node| node.has_tag_name("figure")) {
        let entries = figure.descendants().filter(|node| node.has_tag_name("li")).count();
        assert!(entries <= 6, "{entries} lines in one plot");
    }
}
