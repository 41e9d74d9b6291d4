//! The commands that documents show, run as they are written.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::policy::BCRYPT;
use crate::program::{PASSWORD, PROGRAM, YESCRYPT, json_lines, repository, run, stdout};

/// A command line in a folder, by a shell without a terminal, with this standard input.
fn shell(folder: &Path, line: &str, input: &str) -> Output {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", Path::new(PROGRAM).parent().unwrap().display());
    let mut shell = assert_cmd::Command::from(Command::new("setsid"));
    shell.args(["-w", "sh", "-c", line]).current_dir(folder).env("PATH", path);
    shell.write_stdin(input).output().expect("setsid and sh can be run")
}

/// Whether a text is what a pattern shows, in which `…` stands for anything within a line.
fn shows(pattern: &str, text: &str) -> bool {
    let fits = |(pattern, line): (&str, &str)| {
        let Some((head, rest)) = pattern.split_once('…') else { return pattern == line };
        let tail = rest.rsplit('…').next().unwrap_or_default();
        line.len() >= head.len() + tail.len() && line.starts_with(head) && line.ends_with(tail)
    };
    pattern.lines().count() == text.lines().count() && pattern.lines().zip(text.lines()).all(fits)
}

/// The parts of a page between fences: their language and their text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("```").skip(1).step_by(2);
    parts.map(|part| part.split_once('\n').expect("a fence has lines")).collect()
}

/// docs/tables.md from its beginning to its end: each command prints what stands below it.
#[test]
fn the_page_on_old_tables_is_true() {
    let page = fs::read_to_string(repository("docs/tables.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name);
    let (mut commands, mut fingerprints) = (0, Vec::new());
    for (language, text) in blocks(&page) {
        match language {
            "text" => fs::write(in_folder("users.txt"), text).unwrap(),
            "toml" => {
                let samples = ["0011223344556677", "8899aabbccddeeff", "0123456789abcdef"];
                let text = samples
                    .iter()
                    .zip(&fingerprints)
                    .fold(text.to_owned(), |text, (sample, real): (_, &String)| {
                        text.replace(sample, real)
                    });
                fs::write(in_folder("saltern.toml"), text).unwrap();
            }
            "console" => {
                for block in text.split("$ ").filter(|block| !block.is_empty()) {
                    let (line, expected) = block.split_once('\n').unwrap();
                    if let Some(file) = line.strip_prefix("cat ") {
                        fs::write(in_folder(file), expected).unwrap();
                        continue;
                    }
                    assert!(line.starts_with("saltern ") || line.starts_with("echo "), "{line}");
                    let output = shell(folder.path(), &format!("{{ {line}; }} 2>&1"), "");
                    let printed = stdout(&output);
                    assert!(shows(expected, printed), "{line}\n{printed}instead of\n{expected}");
                    let fingerprint = printed.trim_end().split_once('+');
                    if line.starts_with("saltern key new") {
                        fingerprints.push(fingerprint.unwrap().1.to_owned());
                    }
                    commands += 1;
                }
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((commands, fingerprints.len()), (29, 3));
}

/// docs/strings.md names the beginning of every form that is recognised.
#[test]
fn the_page_on_strings_names_every_form() {
    let page = fs::read_to_string(repository("docs/strings.md")).unwrap();
    let output = run(&["inspect", "--formats", "--json"], "");
    let mut count = 0;
    for form in json_lines(&output) {
        let prefix = form["prefix"].as_str().unwrap();
        let own = form["accepted_as"] == "yescrypt" || form["accepted_as"] == "escrypt";
        assert!(own || page.contains(&format!("`{prefix}`")) || prefix.is_empty(), "{prefix}");
        count += 1;
    }
    assert_eq!(count, 130);
}

/// The folder in which the README's commands make sense.
fn readme_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("saltern.toml", "schemes = [\"yescrypt\", \"bcrypt\"]\n[params]\ncost = 1\n");
    write("users.txt", &format!("alice:{BCRYPT}:1\n"));
    write("plain.txt", &format!("{YESCRYPT}\n"));
    write("users.jsonl", "{\"id\":1,\"password\":\"x\"}\n");
    write("some.iso", "an image");
    let key = folder.path().join("pepper.key");
    assert!(run(&["key", "new", "2026", key.to_str().unwrap()], "").status.success());
    folder
}

/// The README's commands, but for those that take a machine's memory (`rom`) or its shadow file.
#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let readme = fs::read_to_string(repository("README.md")).unwrap();
    let folder = readme_folder();
    let mut ran = Vec::new();
    for line in readme.lines().filter_map(|line| line.strip_prefix("$ saltern ")) {
        let line = line.split("  ").next().unwrap();
        if line.starts_with("rom ") || line.contains("--rom ") {
            continue;
        }
        // Strings in full, and a machine that is busy with tests.
        let line = line
            .replace("$2b$12$…", BCRYPT)
            .replace("$y$j9T$…", YESCRYPT)
            .replace("tune --policy saltern.toml", "tune --policy tuned.toml")
            .replace("-o saltern.toml", "-o tuned.toml --quick --confirm 300ms")
            .replace("--logins 200 --p99 250ms", "--logins 5 --p99 60s");
        let quick = if line.starts_with("tune --policy") { " --quick --confirm 300ms" } else { "" };
        let input = match &*line {
            line if line.contains("--policy saltern.toml --update") => "U*U\n",
            line if line.starts_with("verify") => PASSWORD,
            _ => "secret\n",
        };
        let output = shell(folder.path(), &format!("saltern {line}{quick}"), input);
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        ran.push(line);
    }
    for command in [
        "hash",
        "verify",
        "inspect",
        "reencrypt",
        "policy",
        "census",
        "wrap",
        "sum",
        "tune",
        "users",
    ] {
        assert!(ran.iter().any(|line| line.starts_with(command)), "{command}: {ran:?}");
    }
    for (name, part) in [
        ("encrypted.txt", "{key=2026+"),
        ("new.txt", "alice:{over=$2a$05$"),
        ("sums", "some.iso"),
        ("tuned.toml", "[params]"),
        ("tune.html", "<svg"),
    ] {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text.contains(part), "{name}: {text}");
    }
}
