//! Damage, interruptions and races: an answer that is right or one clear error, and nothing
//! half-made.

use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use saltern_testing::damage::flip;

use super::{SMALL, Site, hash, info, names, verify};
use crate::program::{
    assert_one_error, kill, run, run_on_full_disk, seen, shell, spawn, stderr, stdout,
};

#[test]
fn damage_is_found() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let stored = hash(&rom, &[]);
    // In the middle: not seen at a glance, but where all of it is read.
    flip(&rom, 600_000);
    assert_eq!(run(&["rom", "verify", &rom], "").status.code(), Some(0));
    assert_one_error(&run(&["rom", "verify", "--full", &rom], ""), "damaged");
    let recompute = ["rom", "verify", &rom, "--recompute", "--seed-file", &site.path("seed")];
    assert_one_error(&run(&recompute, ""), "damaged at byte 600000");
    assert_one_error(&verify(&stored, &["--rom", &rom]), "damaged");
    assert_one_error(&run(&["rom", "copy", &rom, &site.path("copy.rom")], ""), "damaged");
    flip(&rom, 600_000);
    assert_eq!(seen(&verify(&stored, &["--rom", &rom])), (Some(0), "match\n", ""));
    // In the digest, and in the tag before it.
    for (at, part) in [((1 << 20) - 1, "expected"), ((1 << 20) - 48, "tag")] {
        flip(&rom, at);
        assert_one_error(&run(&["rom", "verify", &rom], ""), part);
        assert_one_error(&verify(&stored, &["--rom", &rom]), part);
        assert_eq!(info(&rom)["state"], "bad");
        flip(&rom, at);
    }
    std::fs::File::options().write(true).open(&rom).unwrap().set_len((1 << 20) - 64).unwrap();
    assert_one_error(&run(&["rom", "verify", &rom], ""), "truncated");
    assert_one_error(&verify(&stored, &["--rom", &rom]), "truncated");
    assert_one_error(&run(&[&SMALL[..], &[&rom]].concat(), "password"), "truncated");
    std::fs::write(format!("{rom}.json"), "{").unwrap();
    assert_one_error(&verify(&stored, &["--rom", &rom]), "manifest");
    assert_one_error(&run(&["rom", "info", &rom], ""), "manifest");
}

#[test]
fn a_damaged_rom_is_never_a_mismatch_and_makes_no_hash() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let (stored, listed) = (hash(&rom, &[]), hash(&rom, &["--rom-mask", "1,1"]));
    let unnamed = hash(&rom, &["--omit-ids"]);
    let plain = run(&["hash", "--stdin", "--n=64", "--r=32"], "password");
    let plain = String::from_utf8(plain.stdout).unwrap().trim_end().to_owned();
    let mapped = ["--assume-unnamed-rom", &rom, "--rom-access=map"];
    let wrong =
        |stored: &str| run(&[&["verify", "--stdin", stored], &mapped[..]].concat(), "other");
    for stored in [&stored, &listed, &plain] {
        assert_eq!(seen(&wrong(stored)), (Some(1), "mismatch\n", ""));
    }
    assert_eq!(seen(&wrong(&unnamed)).0, Some(1));
    for at in (0..1 << 20).step_by(4096) {
        flip(&rom, at);
    }
    for stored in [&stored, &listed, &unnamed] {
        for output in [verify(stored, &mapped), wrong(stored)] {
            assert_one_error(&output, "site.rom is damaged");
        }
    }
    // A string that has nothing to do with the ROM.
    assert_eq!(seen(&wrong(&plain)), (Some(1), "mismatch\n", ""));
    let lines = format!("a:{stored}\nb:{plain}\nc:{listed}\n");
    let file = site.path("users");
    std::fs::write(&file, lines).unwrap();
    let arguments = [&["verify", "--stdin", "--hash-file", &file], &mapped[..]].concat();
    let output = run(&arguments, "password");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<_> = said.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!(words, ["error", "match", "error"], "{said}");
    let line = |stored: &str| format!("{{\"password\":\"password\",\"hash\":\"{stored}\"}}\n");
    let many = [&["verify", "--jsonl"], &mapped[..]].concat();
    let output = run(&many, [line(&stored), line(&plain), line(&listed)].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("\"match\":false"), "{said}");
    assert_eq!(said.matches("site.rom is damaged").count(), 2, "{said}");
    assert_eq!(said.matches("\"match\":true").count(), 1, "{said}");
    // No hash is made that nobody could verify.
    let new =
        |more: &[&str]| run(&[&SMALL[..], &[&rom, "--rom-access=map"], more].concat(), "password");
    assert_one_error(&new(&[]), "site.rom is damaged");
    assert_one_error(&new(&["--rom-mask", "0,15"]), "site.rom is damaged");
}

/// The verdict of one moment is none about the next: what is damaged while the program runs is an
/// error from then on.
#[test]
fn damage_while_the_program_runs_is_no_mismatch_either() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let stored = hash(&rom, &[]);
    let mut child = spawn(&["verify", "--jsonl", "--rom", &rom, "--rom-access=map"]);
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut ask = |password: &str| {
        writeln!(input, "{{\"password\":\"{password}\",\"hash\":\"{stored}\"}}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    assert!(ask("password").contains("\"match\":true"));
    assert!(ask("other").contains("\"match\":false"));
    for at in (0..1 << 20).step_by(4096) {
        flip(&rom, at);
    }
    for password in ["other", "password", "other"] {
        let answer = ask(password);
        assert!(answer.contains("is unavailable") && !answer.contains("match"), "{answer}");
    }
    for at in (0..1 << 20).step_by(4096) {
        flip(&rom, at);
    }
    assert!(ask("password").contains("\"match\":true"));
    assert!(ask("other").contains("\"match\":false"));
    drop(input);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
}

#[test]
fn a_lost_table_of_checksums_is_made_anew() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    std::fs::remove_file(format!("{rom}.sums")).unwrap();
    for more in [&[][..], &["--full"]] {
        assert_one_error(
            &run(&[&["rom", "verify", &rom][..], more].concat(), ""),
            "--rebuild-sums",
        );
    }
    assert_eq!(info(&rom)["state"], "bad");
    let output = run(&["rom", "verify", "--rebuild-sums", &rom], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(info(&rom)["state"], "ready");
    flip(&rom, 600_000);
    assert_one_error(
        &run(&["rom", "verify", "--rebuild-sums", &rom], ""),
        "damaged at byte 598016",
    );
}

/// A creation that takes some seconds, after it has begun to write.
fn creation(site: &Site, name: &str) -> Child {
    let (rom, seed) = (site.path(name), site.path("seed"));
    let cost = ["--size=512MiB", "--t=4", "--threads=1", "--compute-in=file"];
    let child = spawn(&[&["rom", "create", &rom, "--seed-file", &seed], &cost[..]].concat());
    let part = site.dir.path().join(format!(".{name}.saltern-part"));
    let began = Instant::now();
    while !part.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is being made");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn an_interrupted_creation_leaves_nothing() {
    let site = Site::new();
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let child = creation(&site, "site.rom");
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert_eq!(stderr(&output), "saltern: interrupted: nothing incomplete is left behind\n");
        assert_eq!(site.files(), [""; 0]);
    }
}

/// A seed that made no ROM is of no use, and keeps the next attempt from using its name.
#[test]
fn a_creation_that_fails_leaves_no_seed() {
    let site = Site::new();
    let (rom, new) = (site.path("site.rom"), site.path("new.seed"));
    let create = ["rom", "create", &rom, "--generate-seed", &new, "--yes"];
    let removed = format!("{new} was removed: no ROM was made from it");
    // The limit is enough for a seed, and not for a ROM; so is a full disk.
    let limited = "ulimit -f 100; exec \"$0\" \"$@\"";
    let mut limited = shell(limited, &[&create[..], &["--size=1MiB"]].concat());
    for output in [limited.output().unwrap(), run(&[&create[..], &["--size=4096TiB"]].concat(), "")]
    {
        let told = stderr(&output);
        assert!(output.status.code() == Some(2) && told.contains(&removed), "{told}");
        assert_eq!(site.files(), [""; 0]);
    }
    let cost = ["--size=512MiB", "--t=4", "--threads=1", "--compute-in=file"];
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let child = spawn(&[&create[..], &cost].concat());
        let part = site.dir.path().join(".site.rom.saltern-part");
        let began = Instant::now();
        while !part.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is being made");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        let told = stderr(&output);
        assert!(output.status.code() == Some(status) && told.contains(&removed), "{told}");
        assert_eq!(site.files(), [""; 0]);
    }
    // A seed that was there before is not ours to remove.
    let seed = site.path("seed");
    let create = ["rom", "create", &rom, "--size=4096TiB", "--seed-file", &seed];
    assert_eq!(run(&create, "").status.code(), Some(2));
    assert!(std::path::Path::new(&seed).exists());
    // The ROM is made, though nobody is told its hash: the seed stays.
    let create = ["rom", "create", &rom, "--size=1MiB", "--generate-seed", &new, "--yes"];
    assert_eq!(run_on_full_disk(&create, "").status.code(), Some(2));
    assert_eq!(site.files(), ["new.seed", "site.rom", "site.rom.json", "site.rom.sums"]);
}

#[test]
fn what_a_killed_creation_leaves_is_seen_and_taken_over() {
    let site = Site::new();
    let mut child = creation(&site, "site.rom");
    let dir = site.dir.path().to_str().unwrap();
    // The file is there an instant before its lock.
    let began = Instant::now();
    while !stdout(&run(&["rom", "list", dir], "")).contains("in-progress") {
        assert!(began.elapsed() < Duration::from_secs(60), "it is not said to be in progress");
    }
    // A second creator does not wait and harms nothing.
    let (rom, seed) = (site.path("site.rom"), site.path("seed"));
    let create = ["rom", "create", &rom, "--size=1MiB", "--seed-file", &seed];
    assert_one_error(&run(&create, ""), "another process is making");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(site.files(), [".site.rom.saltern-part"]);
    let list = run(&["rom", "list", "--json", dir], "");
    assert!(String::from_utf8_lossy(&list.stdout).contains("\"interrupted\""));
    assert_one_error(&run(&["rom", "verify", &site.path("site.rom")], ""), "manifest");
    assert_eq!(run(&create, "").status.code(), Some(0));
    assert_eq!(site.files(), ["site.rom", "site.rom.json", "site.rom.sums"]);

    let mut child = creation(&site, "more.rom");
    child.kill().unwrap();
    child.wait().unwrap();
    let clean = run(&["rom", "list", "--clean", dir], "");
    assert_eq!(clean.status.code(), Some(0));
    assert!(stderr(&clean).contains("1 files removed"), "{}", stderr(&clean));
    assert_eq!(site.files(), ["site.rom", "site.rom.json", "site.rom.sums"]);
}

#[test]
fn of_two_creators_at_once_one_wins() {
    for _ in 0..5 {
        let site = Site::new();
        let rom = site.path("site.rom");
        let create = ["rom", "create", &rom, "--size=4MiB", "--seed-file"];
        let children =
            ["seed", "other"].map(|seed| spawn(&[&create[..], &[&site.path(seed)]].concat()));
        let outputs = children.map(|child| child.wait_with_output().unwrap());
        let (won, lost): (Vec<_>, Vec<_>) =
            outputs.iter().partition(|output| output.status.success());
        assert_eq!((won.len(), lost.len()), (1, 1));
        let reason = stderr(lost[0]);
        assert!(
            reason.contains("another process is making") || reason.contains("exists"),
            "{reason}"
        );
        let hash = info(&rom)["hash"].as_str().unwrap().to_owned();
        assert_eq!(String::from_utf8_lossy(&won[0].stdout).trim_end(), hash);
        assert_eq!(run(&["rom", "verify", "--full", &rom], "").status.code(), Some(0));
        assert_eq!(
            names(site.dir.path()),
            ["other", "seed", "site.rom", "site.rom.json", "site.rom.sums"]
        );
    }
}
