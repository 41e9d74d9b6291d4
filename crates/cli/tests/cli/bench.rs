//! `saltern bench`: that everything runs and says what it should, never how fast.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{assert_one_error, repository, run, seen, stdout};

const CASES: &str = r#"
    [[section]]
    id = "tiny"
    title = "Tiny"
    about = "Two hashes."
    kind = "memory"
    [[section.cells]]
    engine = ["saltern", "crate yescrypt"]
    shape = [[64, 8]]
    threads = [1, 2]
    [[section.pairs]]
    shape = [[64, 8]]
    sides = [["saltern", "crate yescrypt"]]
    [[section.curves]]
    algorithm = "blake2bp"
    engine = "saltern"
    bytes = 1000
    step = 512
"#;

/// Runs the cases and writes the record.
fn measured(directory: &Path, name: &str) -> String {
    let cases = directory.join("cases.toml");
    fs::write(&cases, CASES).unwrap();
    let record = directory.join(name).to_str().unwrap().to_owned();
    let cases = cases.to_str().unwrap();
    let output = run(&["bench", "cases", cases, "--smoke", "--json", &record], "");
    assert_eq!((seen(&output).0, seen(&output).2), (Some(0), ""), "{:?}", seen(&output));
    let text = stdout(&output);
    assert!(text.contains("== Tiny (tiny)\nTwo hashes.\n"), "{text}");
    let lines: Vec<_> = text.lines().collect();
    let at = lines.iter().position(|line| *line == "Benchmarking 1 thread ...").unwrap();
    let (real, rest) = lines[at + 1].split_once(" c/s real, ").unwrap();
    let (cpu, rest) = rest.split_once(" c/s virtual (").unwrap();
    let (hashes, seconds) = rest.split_once(" hashes in ").unwrap();
    for number in [real, cpu, hashes, seconds.strip_suffix(" seconds)").unwrap()] {
        assert!(number.parse::<f64>().is_ok(), "{}", lines[at + 1]);
    }
    assert_eq!(text.matches("Benchmarking 2 threads ...").count(), 2);
    assert!(text.contains("latency min/avg/max") && text.contains("GB/s (x2.6"), "{text}");
    record
}

#[test]
fn cases_are_measured_recorded_shown_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let record = measured(directory.path(), "one.json");
    let value: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    assert_eq!(value["sections"][0]["cells"].as_array().unwrap().len(), 4);
    assert_eq!(value["sections"][0]["cells"][0]["agrees_with"][0], "reference");
    assert_eq!(value["sections"][0]["curves"][0]["values"].as_array().unwrap().len(), 8);
    assert!(value["command"].as_str().unwrap().starts_with("saltern bench cases "));

    let shown = run(&["bench", "show", &record], "");
    assert!(stdout(&shown).contains("== Tiny (tiny)"));
    let page = directory.path().join("page.html");
    let shown =
        run(&["bench", "show", &record, "--markdown", "--html", page.to_str().unwrap()], "");
    assert!(stdout(&shown).contains("| crate yescrypt | 1 | 2 |"), "{}", stdout(&shown));
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));

    let same = run(&["bench", "compare", &record, &record], "");
    assert_eq!(seen(&same), (Some(0), "5 of 5 agree\n", ""));
    let other = directory.path().join("other.json");
    let example = repository("bench/src/record/example.json");
    fs::copy(example, &other).unwrap();
    let nothing = run(&["bench", "compare", &record, other.to_str().unwrap()], "");
    assert_one_error(&nothing, "nothing in common");
}

#[test]
fn records_that_differ_are_status_1() {
    let directory = tempfile::tempdir().unwrap();
    let example = repository("bench/src/record/example.json");
    let text = fs::read_to_string(&example).unwrap();
    let changed = text.replace(
        "\"median\":700.0,\"low\":686.0,\"high\":714.0",
        "\"median\":800.0,\"low\":790.0,\"high\":810.0",
    );
    assert_ne!(changed, text);
    let other = directory.path().join("other.json");
    fs::write(&other, changed).unwrap();
    let arguments = ["bench", "compare", example.to_str().unwrap(), other.to_str().unwrap()];
    let output = run(&arguments, "");
    assert_eq!(seen(&output).0, Some(1), "{:?}", seen(&output));
    assert!(stdout(&output).starts_with("differ  +14.3 %"), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("16 of 17 agree\n"), "{}", stdout(&output));
    let tolerant = run(&[&arguments[..], &["--tolerance", "15"]].concat(), "");
    assert_eq!(seen(&tolerant).0, Some(0));
}

#[test]
fn mistakes_are_one_error_each() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let wrong = file("wrong.toml", &CASES.replace("[64, 8]", "[63, 8]"));
    let unknown = file("unknown.toml", &CASES.replace("crate yescrypt", "crate nobody"));
    let json = file("record.json", "{}");
    let cases: [(&[&str], &str); 6] = [
        (&["bench", "cases", &wrong, "--smoke"], "63"),
        (&["bench", "cases", &unknown, "--smoke"], "crate nobody"),
        (&["bench", "cases", "/nonexistent/cases.toml"], "/nonexistent/cases.toml"),
        (&["bench", "show", &json], "record.json"),
        (&["bench", "yescrypt", "--smoke", "--only", "no such section"], "no such section"),
        (&["bench", "compare", &json, &json], "record.json"),
    ];
    for (arguments, part) in cases {
        assert_one_error(&run(arguments, ""), part);
    }
    assert_eq!(seen(&run(&["bench"], "")).0, Some(2));
    assert_eq!(seen(&run(&["bench", "yescrypt", "--threads", "0"], "")).0, Some(2));
}
