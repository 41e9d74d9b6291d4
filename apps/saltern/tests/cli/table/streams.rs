//! Long streams, and those that end in a bad way: no line is lost without a word.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;

use saltern_testing::process::memory;

use crate::policy::{CHEAP, Site};
use crate::program::{PROGRAM, YESCRYPT, kill, python, run, run_on_full_disk, shell, spawn};

/// A million lines and one of 100 MB: all of them come through, in bounded memory.
#[test]
fn memory_does_not_grow_with_the_stream() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    const LINES: usize = 1_000_000;
    let mut child = spawn(&["reencrypt", "--policy", &site.policy()]);
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for at in 0..LINES {
            if at == LINES / 2 {
                let piece = [b'x'; 100_000];
                (0..1000).for_each(|_| input.write_all(&piece).unwrap());
                input.write_all(b"\n").unwrap();
            }
            writeln!(input, "user{at}:{YESCRYPT}:1").unwrap();
        }
        input
    });
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut long) = (Vec::new(), 0);
    // The last ones wait for the end of the input.
    for _ in 0..=LINES - 1000 {
        line.clear();
        output.read_until(b'\n', &mut line).unwrap();
        if line.starts_with(b"xx") {
            long = line.len();
        }
    }
    let most = memory(child.id(), "VmHWM");
    assert_eq!(long, 100_000_001);
    assert!(most < 64 << 20, "{most} bytes");
    drop(feeder.join().unwrap());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count(), 1000);
    assert!(rest.lines().all(|line| line.starts_with("user999") && line.contains(":{key=2026+")));
    let end = child.wait_with_output().unwrap();
    let told = String::from_utf8(end.stderr).unwrap();
    assert!(told.contains("line 500001: ") && told.contains("1 bad and left unchanged"), "{told}");
    assert_eq!(end.status.code(), Some(2));
}

/// What was written is there whole, and what was not is told.
#[test]
fn a_signal_ends_it_after_what_was_read() {
    let site = Site::new(CHEAP);
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        for args in
            [&["wrap", "--policy", &site.policy()][..], &["reencrypt", "--policy", &site.policy()]]
        {
            let mut child = spawn(args);
            let input = format!("a:{:032x}\nb:x\nc:{:032x}\nd:{:032x}", 1, 2, 3);
            child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
            wait_until_read(&child);
            kill(&child, signal);
            let stdin = child.stdin.take();
            let output = child.wait_with_output().unwrap();
            drop(stdin);
            assert_eq!(output.status.code(), Some(status), "{args:?}: {output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let starts: Vec<_> = text.lines().map(|line| &line[..2]).collect();
            assert_eq!(starts, ["a:", "b:", "c:"], "the line that had not ended is not there");
            assert!(text.ends_with('\n'));
            let told = String::from_utf8(output.stderr).unwrap();
            let last = "saltern: interrupted: the first 3 lines are written; 3 were read";
            assert_eq!(told.lines().last(), Some(last));
        }
    }
}

/// In the middle of a stream that goes on: all that was read is written, line by line and whole,
/// and as many lines as is told.
#[test]
fn a_signal_in_the_middle_of_a_stream_cuts_no_line() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let policy = &site.policy();
    let line = |command: &str, at: usize| match command {
        "wrap" => format!("user{at}:{at:032x}:1\n"),
        _ => format!("user{at}:{YESCRYPT}:1\n"),
    };
    for (command, signal, status) in [
        ("wrap", "INT", 130),
        ("wrap", "TERM", 143),
        ("reencrypt", "INT", 130),
        ("reencrypt", "TERM", 143),
    ] {
        let mut child = spawn(&[command, "--policy", policy]);
        let mut input = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || {
            (0..).take_while(|at| input.write_all(line(command, *at).as_bytes()).is_ok()).count()
        });
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        kill(&child, signal);
        output.read_to_string(&mut text).unwrap();
        let end = child.wait_with_output().unwrap();
        let fed = feeder.join().unwrap();
        assert_eq!(end.status.code(), Some(status), "{command} {signal}");
        assert!(text.ends_with('\n'), "{command} {signal}");
        let written = text.lines().count();
        assert!(written <= fed);
        let told = String::from_utf8(end.stderr).unwrap();
        let count = format!(
            "saltern: interrupted: the first {written} lines are written; {written} were read"
        );
        assert_eq!(told.lines().last(), Some(&*count));
        // Every string is one that can be read, and its account is its own.
        for (at, line) in text.lines().enumerate() {
            assert!(line.starts_with(&format!("user{at}:{{")) && line.ends_with(":1"), "{line}");
        }
        let again = run(&[command, "--policy", policy], &text);
        assert!(again.status.code() == Some(0) && again.stdout == text.as_bytes(), "{command}");
    }
}

/// The line of how far it is, on a terminal and after two seconds; what is bad goes above it.
#[test]
fn progress_is_shown_on_a_terminal() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    for command in ["wrap", "reencrypt", "census", "needs-rehash"] {
        let args = [PROGRAM, command, "--policy", &site.policy()];
        let shown = python("table/progress.py", &args).output().unwrap();
        assert!(shown.status.success(), "{command}: {}", String::from_utf8_lossy(&shown.stderr));
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("B/s"), "{command}: {shown:?}");
        assert!(shown.contains("saltern: line 2: "), "{command}: {shown:?}");
        // At the end the line is gone, and what is counted stands by itself.
        let last = shown.trim_end().rsplit(['\n', '\r']).next().unwrap();
        assert!(last.contains("saltern: ") && !last.contains("B/s"), "{command}: {shown:?}");
    }
}

/// Until the program has taken all that is in its pipe and waits for more.
fn wait_until_read(child: &Child) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let waits = || {
        let call = fs::read_to_string(format!("/proc/{}/wchan", child.id())).unwrap_or_default();
        call.contains("poll")
    };
    while !waits() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
}

#[test]
fn what_cannot_be_written_is_an_error_with_a_number() {
    let site = Site::new(CHEAP);
    let lines: String = (0..2000).map(|n| format!("user{n}:{YESCRYPT}\n")).collect();
    for command in ["reencrypt", "wrap"] {
        let output = run_on_full_disk(&[command, "--policy", &site.policy()], &lines);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        let start = "saltern: cannot write to standard output: No space left on device (os error 28); the \
                     first 0 lines are written; ";
        assert!(told.starts_with(start) && told.ends_with(" were read\n"), "{told}");
    }
}

#[test]
fn a_reader_that_went_away_is_told_for_lines_are_missing() {
    let site = Site::new(CHEAP);
    let mut child = spawn(&["reencrypt", "--policy", &site.policy()]);
    let mut output = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        let lines = format!("user:{YESCRYPT}\n").repeat(1000);
        while stdin.write_all(lines.as_bytes()).is_ok() {}
    });
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("Broken pipe") && told.contains(" were read"), "{told}");
}

/// Where nothing is rewritten, nothing is lost either: it ends, and that is all.
#[test]
fn a_list_that_nobody_reads_ends() {
    let mut child = spawn(&["needs-rehash"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        let lines = format!("{:032x}\n", 7).repeat(1000);
        while stdin.write_all(lines.as_bytes()).is_ok() {}
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0), "{output:?}");
}

#[test]
fn streams_that_are_closed_or_no_streams() {
    let site = Site::new(CHEAP);
    let run = |script: &str| {
        let output = shell(script, &[&site.policy()]).output().unwrap();
        assert!(output.stdout.is_empty(), "{script}: {output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{script}: {told}");
        told
    };
    for command in ["census", "needs-rehash", "wrap", "reencrypt"] {
        let closed = run(&format!("\"$0\" {command} --policy \"$1\" <&-"));
        assert!(closed.contains("cannot read standard input: Bad file descriptor"), "{closed}");
        let folder = run(&format!("\"$0\" {command} --policy \"$1\" </"));
        assert!(folder.contains("cannot read standard input: Is a directory"), "{folder}");
        assert!(folder.contains(" were read"), "{folder}");
        // One outdated string, so that each of them has something to print.
        let line = format!("echo a:{:032x} | \"$0\" {command} --policy \"$1\" >&-", 7);
        let output = run(&line);
        assert!(output.contains("cannot write to standard output: Bad file"), "{output}");
    }
}

/// A last line without an end stays without one.
#[test]
fn nothing_is_added_at_the_end() {
    let site = Site::new(CHEAP);
    for input in ["", "\n", "a", "a:b:\r", "\n\n\0", "{", "{\"hash\":"] {
        for command in ["wrap", "reencrypt"] {
            let output = run(&[command, "--policy", &site.policy()], input);
            assert_eq!(output.stdout, input.as_bytes(), "{command}");
        }
    }
}
