//! `saltern tune`, with tiny hashes and short times: what it says has to fit together. How fast
//! anything was is nobody's business here.

use serde_json::Value;

use crate::program::{assert_one_error, run, seen, stderr, stdout};

/// A target that any machine can hold, measured for moments only.
const EASY: [&str; 11] = [
    "tune",
    "--logins",
    "20",
    "--p99",
    "60s",
    "--memory",
    "4MiB",
    "--quick",
    "--confirm",
    "300ms",
    "--json",
];

#[test]
fn what_is_found_holds_together_and_is_a_policy() {
    let dir = tempfile::tempdir().unwrap();
    let [policy, page] = ["saltern.toml", "tune.html"].map(|name| dir.path().join(name));
    let files = ["-o", policy.to_str().unwrap(), "--html", page.to_str().unwrap()];
    let output = run(&[&EASY[..], &files].concat(), "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap();
    // 4 MiB leave room for a hash of 1 MiB and a large page.
    let memory = number("/setting/n") * number("/setting/r") * 128.0;
    assert_eq!(memory, f64::from(1 << 20));
    assert_eq!(report["bottleneck"], "memory");
    assert_eq!(number("/setting/threads"), 1.0);
    assert!(number("/held") >= number("/confirmation/rate") * 0.99);
    assert!(number("/confirmation/median_ms") <= number("/confirmation/p99_ms"));
    assert_eq!(report["curve"].as_array().unwrap().len(), 6);
    let alternatives = report["alternatives"].as_array().unwrap();
    assert!(alternatives.iter().any(|other| other["setting"] == report["setting"]));
    // The policy is the one that was measured.
    let read = saltern::Policy::read(&policy).unwrap();
    assert_eq!(read.params.n as f64, number("/setting/n"));
    assert_eq!((read.pool.threads, read.pool.memory), (1, 4 << 20));
    assert!(read.pool.prepare.is_some() && read.deadline.is_some());
    let text = std::fs::read_to_string(&policy).unwrap();
    assert!(text.starts_with("# saltern.toml, written by `saltern tune` on 2"), "{text}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));

    // It is not lost to a second run, and can be confirmed by itself.
    assert_one_error(&run(&[&EASY[..], &files].concat(), ""), "never overwritten");
    let again = ["tune", "--policy", policy.to_str().unwrap(), "--logins", "20", "--p99", "60s"];
    let output = run(&[&again[..], &["--quick", "--confirm", "300ms"]].concat(), "");
    let (code, out, err) = seen(&output);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("holds") && out.contains("Latency against load"), "{out}");
}

#[test]
fn a_target_that_cannot_be_met_names_the_bottleneck() {
    let target = ["tune", "--logins", "1000000", "--floor", "8", "--memory", "256MiB"];
    let output = run(&[&target[..], &["--quick", "--threads", "1", "--p99", "1ms"]].concat(), "");
    let (code, out, err) = seen(&output);
    assert_eq!((code, out), (Some(1), ""), "{err}");
    assert!(err.contains("cannot be met") && err.contains("What would help"), "{err}");
}

/// One for each thing that can bind, none of which any machine can do.
#[test]
fn impossible_targets_name_what_binds_and_what_would_do() {
    for (args, bottleneck, would) in [
        (
            &["--logins", "1", "--memory", "1MiB"][..],
            "bottleneck: memory for hashing. ",
            "that much memory",
        ),
        (
            &["--logins", "1000000", "--p99", "60s", "--memory", "8MiB", "--threads", "1"],
            "bottleneck: the processors. ",
            "processors like these",
        ),
        (
            &["--logins", "0.1", "--p99", "1ms", "--floor", "5", "--threads", "1"],
            "bottleneck: the time of one hash. ",
            "more than 1 ms for a login; or a lower floor",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let policy = dir.path().join("saltern.toml");
        let more = ["--quick", "--confirm", "300ms", "-o", policy.to_str().unwrap()];
        let output = run(&[&["tune"], args, &more].concat(), "");
        let (code, out, err) = seen(&output);
        assert_eq!((code, out), (Some(1), ""), "{err}");
        let last = err.lines().last().unwrap();
        assert!(last.starts_with("saltern: the target cannot be met; "), "{err}");
        assert!(last.contains(bottleneck) && last.contains(would), "{err}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is written");
    }
}

/// Before minutes of work, whose result would be lost.
#[test]
fn what_cannot_be_is_told_at_once() {
    let began = std::time::Instant::now();
    for (args, told) in [
        (&["--logins", "1", "-o", "/nowhere/at/all/saltern.toml"][..], "cannot write /nowhere"),
        (&["--logins", "1", "--html", "/nowhere/at/all/tune.html"], "cannot write /nowhere"),
        (&["--logins", "1", "--html", "/"], "cannot write /: "),
        (&["--cost", "1", "--rom", "shm:saltern-no-such"], "/dev/shm/saltern-no-such"),
        (&["--cost", "1", "--rom", "sysv:0"], "a key must be"),
        (&["--logins", "1", "--p99", "18446744073709551615s"], "invalid value"),
        (&["--logins", "1", "--p99", "9223372036854775807ms"], "p99: expected 1 ms to 60 s"),
        (&["--cost", "1", "--p99", "0s"], "p99: expected 1 ms to 60 s"),
        (&["--logins", "NaN"], "logins: expected"),
        (&["--logins", "1", "--burst", "0.5"], "burst: expected"),
        (&["--logins", "1", "--confirm", "0s"], "100ms to 1440min"),
        (&["--logins", "1", "--memory", "1MB"], "invalid value"),
    ] {
        let output = run(&[&["tune"], args].concat(), "");
        let (code, out, err) = seen(&output);
        assert_eq!((code, out), (Some(2), ""), "{args:?}: {err}");
        assert!(err.contains(told), "{args:?}: {err}");
    }
    assert!(began.elapsed().as_secs() < 60, "nothing was measured");
}

#[test]
fn a_target_that_does_not_hold_leaves_no_policy_and_a_page_anywhere() {
    let policy = ["tune", "--params", "1024,8", "--threads", "1", "--logins", "1000000"];
    let more = ["--quick", "--confirm", "300ms", "--html", "/dev/null"];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("saltern.toml");
    let out = ["-o", file.to_str().unwrap()];
    let output = run(&[&policy[..], &more, &out].concat(), "");
    let (code, out, err) = seen(&output);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("DOES NOT HOLD") && err.contains("was not written"), "{out}{err}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// What took minutes to measure.
#[cfg(target_os = "linux")]
#[test]
fn a_page_that_cannot_be_written_does_not_cost_the_policy() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("saltern.toml");
    let files = ["-o", policy.to_str().unwrap(), "--html", "/dev/full"];
    let output = run(&[&EASY[..], &files].concat(), "");
    let (code, out, err) = seen(&output);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("cannot write /dev/full") && out.contains("holds"), "{err} {out}");
    saltern::Policy::read(&policy).unwrap();
    // Which of the two is there is said.
    let written = format!("saltern: the policy is in {}\n", policy.display());
    assert!(err.contains(&written), "{err}");
}

#[test]
fn what_is_below_the_floor_is_not_measured() {
    let output = run(&["tune", "--params", "1024,8", "--floor", "5"], "");
    let (code, out, err) = seen(&output);
    assert_eq!((code, out), (Some(1), ""), "{err}");
    assert!(err.contains("below the policy's floor"), "{err}");
    for wrong in [["--params", "1024"], ["--cost", "12"], ["--params", "1000,8"], ["--logins", "x"]]
    {
        let output = run(&[&["tune"], &wrong[..]].concat(), "");
        assert!(!output.status.success() && output.stdout.is_empty(), "{wrong:?}");
    }
}
