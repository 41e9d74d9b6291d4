//! The memory of the whole process, as the system counts it, against what `--memory` allows.

use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// What the program has beside the arenas: its code, what was read and is to be written, and a stack and some of
/// the allocator's memory for each thread.
const fn beside(threads: u64) -> u64 {
    20 * MIB + threads * MIB / 2
}

/// The most memory that a process has had, in bytes.
fn peak(process: u32) -> u64 {
    let status = read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

/// Six shapes in turn, of 1 to 32 MiB, many of them above what a thread has to itself.
#[test]
fn six_shapes_and_many_threads_stay_within_the_budget() {
    for threads in [2, 16] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("saltern"));
        command.args(["hash", "--jsonl", "--memory", "64", "--threads", &threads.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let settings = ["$y$j75$", "$y$j85$", "$y$j95$", "$y$jA5$", "$y$j9T$", "$y$jAT$"];
        for _ in 0..6 {
            for setting in settings {
                let line = serde_json::json!({ "password": "p", "setting": setting });
                writeln!(input, "{line}").unwrap();
            }
        }
        for _ in 0..36 {
            let answer = answers.next().unwrap().unwrap();
            assert!(answer.contains("\"hash\""), "{answer}");
        }
        let peak = peak(child.id());
        drop(input);
        assert!(child.wait().unwrap().success());
        let allowed = 64 * MIB + beside(threads);
        println!("{threads} threads: {} KiB", peak >> 10);
        assert!(peak <= allowed, "{threads} threads: {peak} bytes, not {allowed}");
    }
}
