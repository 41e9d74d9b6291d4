//! Manual pages, completions and help.

use crate::program::{run, seen, stdout};

const COMMANDS: [&str; 8] =
    ["hash", "verify", "inspect", "reencrypt", "sum", "vectors", "man", "completions"];

#[test]
fn help_has_examples_and_fits_the_terminal() {
    for command in COMMANDS {
        let output = run(&[command, "--help"], "");
        let (code, help, err) = seen(&output);
        assert_eq!((code, err), (Some(0), ""), "{command}");
        assert!(command == "sum" || help.contains("Examples:"), "{command}");
        let examples = help.lines().skip_while(|line| *line != "Examples:");
        let too_long = examples.clone().find(|line| line.chars().count() > 80);
        assert_eq!(too_long, None, "{command}");
    }
}

#[test]
fn manual_pages() {
    let output = run(&["man"], "");
    assert!(output.status.success() && stdout(&output).contains(".TH saltern 1"));
    let dir = tempfile::tempdir().unwrap();
    assert!(run(&["man", "--dir", dir.path().to_str().unwrap()], "").status.success());
    for command in COMMANDS {
        let page =
            std::fs::read_to_string(dir.path().join(format!("saltern-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
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
