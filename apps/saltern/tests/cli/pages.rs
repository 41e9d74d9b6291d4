//! Manual pages, completions and help.

use crate::program::{run, seen, stdout};

const COMMANDS: [&str; 15] = [
    "hash",
    "verify",
    "inspect",
    "reencrypt",
    "key",
    "policy",
    "census",
    "needs-rehash",
    "wrap",
    "seal",
    "rom",
    "sum",
    "tune",
    "man",
    "completions",
];

#[test]
fn help_has_examples() {
    for command in COMMANDS {
        let output = run(&[command, "--help"], "");
        let (code, help, err) = seen(&output);
        assert_eq!((code, err), (Some(0), ""), "{command}");
        assert!(command == "sum" || help.contains("Examples:"), "{command}");
    }
}

#[test]
fn manual_pages() {
    let output = run(&["man"], "");
    assert!(output.status.success() && stdout(&output).contains(".TH SALTERN 1"));
    let dir = tempfile::tempdir().unwrap();
    assert!(run(&["man", "--dir", dir.path().to_str().unwrap()], "").status.success());
    for command in COMMANDS {
        let page =
            std::fs::read_to_string(dir.path().join(format!("saltern-{command}.1"))).unwrap();
        let title = format!(".TH SALTERN-{} 1", command.to_uppercase());
        assert!(page.contains(&title) && page.contains(".SH SYNOPSIS"), "{command}");
        // Laid out by hand, to be read on 80 columns with the margin of a page.
        let by_hand = page.split_once(".nf\n").map(|(_, after)| after.replace('\\', ""));
        let too_long =
            by_hand.iter().flat_map(|text| text.lines()).find(|line| line.chars().count() > 73);
        assert!(
            command == "sum" || (by_hand.is_some() && too_long.is_none()),
            "{command}: {too_long:?}"
        );
    }
    assert_eq!(run(&["man", "--dir", "/nowhere/at/all"], "").status.code(), Some(2));
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell], "");
        let script = stdout(&output);
        assert!(output.status.success(), "{shell}");
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
}

#[test]
fn the_long_version_names_levels_and_features() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&run(&["-V"], "")), format!("saltern {version}\n"));
    let output = run(&["--version"], "");
    let long = stdout(&output);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines.len(), 4, "{long}");
    assert!(lines[0].starts_with(&format!("saltern {version}")), "{long}");
    assert!(lines[1].ends_with(&format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)));
    assert!(lines[2].starts_with("levels: portable") && lines[2].contains("; used: "), "{long}");
    assert!(lines[3].starts_with("features: yescrypt, scrypt, argon2"), "{long}");
}
