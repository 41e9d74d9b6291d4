//! Signals and shells at the prompt: terminal/prompt.py plays the terminal, and says what each case
//! is.
#![cfg(target_os = "linux")]

use crate::policy::{CHEAP, Site};
use crate::program::{PROGRAM, YESCRYPT, python};

#[track_caller]
fn prompt(case: &[&str]) {
    let mut python = python("terminal/prompt.py", &[PROGRAM]);
    let output = python.args(case).output().expect("python3 can be run");
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{case:?}: {wrong}");
}

#[test]
fn whatever_ends_the_program_leaves_the_terminal_as_it_was() {
    for signal in [
        "TERM", "INT", "HUP", "QUIT", "ALRM", "USR1", "USR2", "ABRT", "VTALRM", "PROF", "XCPU",
        "XFSZ", "IO", "PWR", "STKFLT", "RTMIN", "RTMAX",
    ] {
        prompt(&["signal", signal]);
    }
}

#[test]
fn no_other_thread_is_there_to_take_a_signal() {
    let site = Site::new(CHEAP);
    let policy = ["--policy", &site.policy()];
    for more in [&[][..], &policy] {
        prompt(&[&["single", "hash"], more].concat());
        prompt(&[&["single", "verify", YESCRYPT], more].concat());
    }
}

#[test]
fn what_is_ignored_stays_ignored() {
    prompt(&["ignored"]);
}

#[test]
fn stopped_and_continued() {
    prompt(&["stop"]);
    prompt(&["alone"]);
}

#[test]
fn stopped_and_brought_back_by_a_shell() {
    for how in ["TSTP", "TTIN", "STOP", "KEY"] {
        prompt(&["fg", how]);
    }
}

#[test]
fn under_timeout_in_the_foreground_and_in_the_background() {
    prompt(&["timeout", "FOREGROUND"]);
    prompt(&["timeout", "BACKGROUND"]);
    prompt(&["background"]);
}

#[test]
fn held_output_holds_up_no_signal() {
    prompt(&["held"]);
}

#[test]
fn with_few_descriptors_it_asks_or_says_that_it_cannot() {
    for limit in ["4", "5", "6", "7", "8", "16"] {
        prompt(&["few", limit]);
    }
}
