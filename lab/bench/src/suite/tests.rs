//! Whole runs with the least effort: what they record, not how fast they are.

use super::*;
use crate::case;

const CASES: &str = r#"
    [[section]]
    id = "small"
    title = "Small"
    about = "x"
    kind = "memory"
    [[section.cells]]
    engine = ["saltern", "crate yescrypt"]
    shape = [[64, 8]]
    threads = [1, "all"]
    [[section.cells]]
    engine = "saltern"
    shape = [[64, 8]]
    nrom = 64
    rom-pages = ["4 KiB", "2 MiB"]
    pages = "4 KiB"
    [[section.pairs]]
    shape = [[64, 8]]
    sides = [["saltern", "crate yescrypt"]]
    goal = 1.5
    [[section.pairs]]
    algorithm = "blake2b"
    bytes = 64
    messages = 10
    sides = [["saltern", "blake2_simd"]]
    [[section.curves]]
    algorithm = "blake2bp"
    engine = ["saltern", "blake2_simd"]
    bytes = 1000
    step = 1024
"#;

fn options() -> Options {
    Options {
        command: "test".to_owned(),
        quick: true,
        effort: Effort::SMOKE,
        only: String::new(),
        threads: Some(2),
        places: Places::default(),
    }
}

fn measured(text: &str) -> anyhow::Result<Record> {
    run(&case::parse(text, true)?, &options(), &mut Blind)
}

#[test]
fn what_is_measured_is_on_record() {
    let record = measured(CASES).unwrap();
    let section = &record.sections[0];
    let cells: Vec<_> =
        section.cells.iter().map(|cell| (cell.engine.as_str(), cell.threads)).collect();
    let expected = [
        ("saltern", 1),
        ("saltern", 2),
        ("crate yescrypt", 1),
        ("crate yescrypt", 2),
        ("saltern", 1),
        ("saltern", 1),
    ];
    // Grids one after the other; ROMs are in the second.
    assert_eq!(cells, expected);
    for cell in &section.cells {
        let calls = cell.threads * cell.together;
        assert!(cell.hashes >= calls as u64 && cell.real.median > 0.0, "{}", cell.id);
        assert!(cell.agrees_with.contains(&"reference".to_owned()), "{:?}", cell.agrees_with);
        assert!(cell.latency.is_some() && cell.bandwidth.is_some());
    }
    assert_eq!(section.cells[4].work.rom_medium.as_deref(), Some("RAM, 4 KiB pages"));
    assert_eq!(section.ratios.len(), 2);
    assert_eq!((section.ratios[0].goal, section.ratios[0].unit.as_str()), (Some(1.5), "hashes/s"));
    assert_eq!(
        (section.ratios[1].clock.as_str(), section.ratios[1].unit.as_str()),
        ("cpu", "GB/s")
    );
    let lengths: Vec<_> = section.curves.iter().map(|curve| curve.values.len()).collect();
    assert_eq!(lengths, [4, 4]);
    let again = Record::from_json(&record.to_json().unwrap()).unwrap();
    assert_eq!(again, record);
}

#[test]
fn names_in_a_record_are_unique() {
    let mut options = options();
    options.quick = false;
    for (suite, _) in SUITES {
        let mut ids = std::collections::BTreeSet::new();
        for section in sections(&[suite], &options).unwrap() {
            assert!(ids.insert(section.id.clone()), "{suite}: {}", section.id);
            assert!(!section.about.is_empty() && !section.title.is_empty());
        }
    }
    let record = measured(CASES).unwrap();
    let mut ids: Vec<_> = record.cells().map(|cell| &cell.id).collect();
    ids.extend(record.ratios().map(|ratio| &ratio.id));
    ids.extend(record.sections.iter().flat_map(|section| &section.curves).map(|curve| &curve.id));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (10, 10), "{ids:#?}");
}

#[test]
fn engines_that_are_not_there_are_notes() {
    let text = CASES.replace("\"crate yescrypt\"]\n    shape", "\"upstream C\"]\n    shape");
    let places = Places { upstream: Some("/nonexistent/library".into()) };
    let options = Options { places, ..options() };
    // Told last, after all other notes.
    let record = run(&case::parse(&text, true).unwrap(), &options, &mut Blind).unwrap();
    assert_eq!(record.sections[0].cells.len(), 4);
    assert!(record.notes[0].starts_with("upstream C is left out"), "{:?}", record.notes);
}

#[test]
fn engines_that_differ_are_an_error() {
    struct Wrong;
    impl crate::engine::Task for Wrong {
        fn run(&mut self, _: u64) -> anyhow::Result<()> {
            Ok(())
        }
        fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
            Ok(vec![vec![0; 32]; count])
        }
    }
    let options = options();
    let mut blind = Blind;
    let mut bench = Bench::new(&options, &mut blind);
    let side = case::parse(CASES, true).unwrap().remove(0).cells.remove(0).side;
    let error = bench.check("wrong", &mut Wrong, &side.work, None).unwrap_err().to_string();
    assert!(error.starts_with("wrong computes another hash than reference"), "{error}");
}

#[test]
fn suites_and_sections_that_are_not_there_are_errors() {
    let mut options = options();
    assert!(sections(&["yescript"], &options).is_err());
    options.only = "no such section".to_owned();
    let error = sections(&["yescrypt"], &options).unwrap_err().to_string();
    assert!(error.contains("no such section"), "{error}");
}

#[test]
fn a_rom_in_a_file_is_measured_in_every_way() {
    let text = r#"
        [[section]]
        id = "files"
        title = "Files"
        about = "x"
        kind = "threads"
        [[section.files]]
        shape = [32, 32]
        nrom = 64
        mix = 3
        seconds = 1
        rounds = 1
        ways = ["none", "ram", "ram-4k", "uring", "pread", "map", "random-2x", "one"]
    "#;
    let record = measured(text).unwrap();
    let cells = &record.sections[0].cells;
    let engines: Vec<_> = cells.iter().map(|cell| (cell.engine.as_str(), cell.threads)).collect();
    let expected = [
        ("saltern", 2),
        ("saltern", 2),
        ("saltern", 2),
        ("saltern, io_uring", 2),
        ("saltern, reading threads", 2),
        ("mapped file, read ahead", 2),
        ("mapped file", 4),
        ("saltern, one hash", 1),
    ];
    assert_eq!(engines, expected);
    assert!(cells.iter().all(|cell| cell.real.median > 0.0));
    assert_eq!(cells[1].work.rom_medium.as_deref(), Some("RAM"));
    assert_eq!(cells[2].work.rom_medium.as_deref(), Some("RAM, 4 KiB pages"));
    assert_eq!(cells[3].work.rom_kib, Some(256));
    let ids: std::collections::BTreeSet<_> = cells.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), 8, "{ids:?}");
    // What overlaps reads has counted its reads.
    let reads = record.notes.iter().filter(|note| note.contains(" reads/s, "));
    assert_eq!(reads.count(), 3, "{:?}", record.notes);
}
