//! The memory of the whole process, as the system counts it, against what `--memory` allows.

use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use saltern_testing::{process::memory, skipped};

use crate::program::PROGRAM;

const MIB: u64 = 1 << 20;

/// What the program has beside the arenas: its code, what was read and is to be written, and a
/// stack and some of the allocator's memory for each thread.
const fn beside(threads: u64) -> u64 {
    20 * MIB + threads * MIB / 2
}

/// Six shapes in turn, of 1 to 32 MiB, many of them above what a thread has to itself. All have to
/// be answered; the most memory that the process has had.
fn six_shapes(mut command: Command, threads: u64) -> u64 {
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
    let peak = memory(child.id(), "VmHWM");
    drop(input);
    assert!(child.wait().unwrap().success());
    println!("{threads} threads: {} KiB", peak >> 10);
    peak
}

#[test]
fn six_shapes_and_many_threads_stay_within_the_budget() {
    for threads in [2, 16] {
        let peak = six_shapes(Command::new(PROGRAM), threads);
        let allowed = 64 * MIB + beside(threads);
        assert!(peak <= allowed, "{threads} threads: {peak} bytes, not {allowed}");
    }
}

/// The budget where the system refuses more, page tables and all that the kernel keeps for the
/// process included.
#[test]
fn six_shapes_and_many_threads_live_in_a_control_group_of_the_budget() {
    let threads = 16;
    let group = match Group::new(64 * MIB + beside(threads)) {
        Ok(group) => group,
        Err(error) => return skipped(&format!("no control group for memory here: {error}")),
    };
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"]);
    command.arg(group.0.join("cgroup.procs")).arg(PROGRAM);
    six_shapes(command, threads);
    let events = read_to_string(group.0.join("memory.events")).unwrap();
    assert!(events.lines().any(|line| line == "oom_kill 0"), "{events}");
}

/// A control group below this process's own (cgroups(7), version 2).
struct Group(PathBuf);

impl Group {
    fn new(limit: u64) -> std::io::Result<Self> {
        let own = read_to_string("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let parent = PathBuf::from("/sys/fs/cgroup").join(own);
        if !read_to_string(parent.join("cgroup.controllers"))?.contains("memory") {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        if !read_to_string(parent.join("cgroup.subtree_control"))?.contains("memory") {
            return Err(std::io::Error::other("memory is not delegated"));
        }
        let group = Group(parent.join(format!("saltern-test-{}", std::process::id())));
        std::fs::create_dir(&group.0)?;
        std::fs::write(group.0.join("memory.max"), limit.to_string())?;
        // Where there is no swap, there is no such file.
        let _ = std::fs::write(group.0.join("memory.swap.max"), "0");
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
