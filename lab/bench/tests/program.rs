//! The program `saltern-bench`: that everything runs and says what it should, never how fast.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use saltern_testing::program::{repository, seen, stdout};
use serde_json::Value;

/// What the program did.
fn run(args: &[&str]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern-bench"));
    command.args(args).output().expect("the program can be run")
}

#[track_caller]
fn assert_one_error(output: &Output, part: &str) {
    saltern_testing::program::assert_one_error("saltern-bench", output, part);
}

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
    let output = run(&["cases", cases, "--smoke", "--json", &record]);
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
    assert!(value["command"].as_str().unwrap().starts_with("saltern-bench cases "));

    let shown = run(&["show", &record]);
    assert!(stdout(&shown).contains("== Tiny (tiny)"));
    let page = directory.path().join("page.html");
    let shown = run(&["show", &record, "--markdown", "--html", page.to_str().unwrap()]);
    assert!(stdout(&shown).contains("| crate yescrypt | 1 | 2 |"), "{}", stdout(&shown));
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));

    let same = run(&["compare", &record, &record]);
    assert_eq!(seen(&same), (Some(0), "5 of 5 agree\n", ""));
    let other = directory.path().join("other.json");
    let example = repository("lab/bench/src/record/example.json");
    fs::copy(example, &other).unwrap();
    let nothing = run(&["compare", &record, other.to_str().unwrap()]);
    assert_one_error(&nothing, "nothing in common");
}

#[test]
fn records_that_differ_are_status_1() {
    let directory = tempfile::tempdir().unwrap();
    let example = repository("lab/bench/src/record/example.json");
    let text = fs::read_to_string(&example).unwrap();
    let changed = text.replace(
        "\"median\":700.0,\"low\":686.0,\"high\":714.0",
        "\"median\":800.0,\"low\":790.0,\"high\":810.0",
    );
    assert_ne!(changed, text);
    let other = directory.path().join("other.json");
    fs::write(&other, changed).unwrap();
    let arguments = ["compare", example.to_str().unwrap(), other.to_str().unwrap()];
    let output = run(&arguments);
    assert_eq!(seen(&output).0, Some(1), "{:?}", seen(&output));
    assert!(stdout(&output).starts_with("differ  +14.3 %"), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("16 of 17 agree\n"), "{}", stdout(&output));
    let tolerant = run(&[&arguments[..], &["--tolerance", "15"]].concat());
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
        (&["cases", &wrong, "--smoke"], "63"),
        (&["cases", &unknown, "--smoke"], "crate nobody"),
        (&["cases", "/nonexistent/cases.toml"], "/nonexistent/cases.toml"),
        (&["show", &json], "record.json"),
        (&["yescrypt", "--smoke", "--only", "no such section"], "no such section"),
        (&["compare", &json, &json], "record.json"),
    ];
    for (arguments, part) in cases {
        assert_one_error(&run(arguments), part);
    }
    assert_eq!(seen(&run(&[])).0, Some(2));
    assert_eq!(seen(&run(&["yescrypt", "--threads", "0"])).0, Some(2));
}

#[test]
fn a_rom_in_a_file() {
    let common = ["ssd", "--smoke", "--n=64", "--r=8", "--ways"];
    let output = run(&[&common[..], &["none,pread,map", "--size=0.0005"]].concat());
    assert_one_error(&output, "power of two");
    let output = run(&[&common[..], &["none,pread,map", "--size=0.00048828125"]].concat());
    assert_eq!(seen(&output).0, Some(0), "{:?}", seen(&output));
    let text = stdout(&output);
    for part in ["== A ROM in a file (ssd)", "saltern, reading threads", "note: pread: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(seen(&run(&[&common[..], &["tape"]].concat())).0, Some(2));
    assert_one_error(&run(&["ssd", "/nonexistent.rom"]), "nonexistent.rom");
}

#[test]
fn several_processes_make_one_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (cases, record) = (path("cases.toml"), path("record.json"));
    fs::write(&cases, CASES).unwrap();
    let output = run(&["cases", &cases, "--smoke", "--processes", "3", "--json", &record]);
    assert_eq!((seen(&output).0, seen(&output).2), (Some(0), ""), "{:?}", seen(&output));
    let text = stdout(&output);
    assert_eq!(text.matches("== Tiny (tiny)").count(), 1, "{text}");
    assert!(text.contains("medians of 3 processes") && text.contains("neighbours: "), "{text}");
    let value: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    let ratio = &value["sections"][0]["ratios"][0];
    assert_eq!(ratio["ratio"]["samples"], 3);
    assert!(ratio["quiet"].as_f64().unwrap() > 0.0);
    assert!(value["neighbours"]["samples"].as_u64().unwrap() >= 2);
    assert!(!value["command"].as_str().unwrap().contains("--part"));
}
