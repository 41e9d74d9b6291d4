//! ROMs that stay in their files.

use saltern_testing::damage::flip;
use serde_json::json;

use super::shared::Shared;
use super::{SMALL, Site, hash, info, verify};
use crate::program::{
    ESCRYPT, SCRYPT, YESCRYPT, assert_one_error, json_lines, run, seen, shell, stderr, stdout,
    write_private,
};

const DIRECT: &str = "--rom-access=direct";
const COPY: &str = "--rom-access=copy";

/// Standard error tells of io_uring where that is not to be had, and of nothing else.
#[track_caller]
fn assert_answer(output: &std::process::Output, status: i32, answer: &str) {
    let (code, out, err) = seen(output);
    assert_eq!((code, out), (Some(status), answer), "{err}");
    let expected = |line: &str| {
        ["saltern: warning: ", "saltern: note: crypt(3) "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    assert!(err.lines().all(expected), "{err}");
}

fn wrong(stored: &str, more: &[&str]) -> std::process::Output {
    run(&[&["verify", "--stdin", stored], more].concat(), "Password")
}

/// The files of a ROM are open while the password is read, and have numbers.
#[test]
fn no_file_that_the_program_has_opened_is_a_password() {
    let site = Site::new();
    let rom = site.rom("a.rom", "seed");
    // Whoever runs the tests may have descriptors open, too.
    let script = r#"exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
        "$0" hash --rom "$1" --rom-access=direct --password-fd "$2""#;
    for number in ["3", "4", "5", "6", "7", "8", "9"] {
        let output = shell(script, &[&rom, number]).output().unwrap();
        assert_one_error(&output, "cannot read the password from file descriptor");
    }
}

#[test]
fn strings_are_those_made_in_memory() {
    let site = Site::new();
    let roms = [site.rom("a.rom", "seed"), site.rom("b.rom", "other")];
    let two = ["--rom-mask=0,7,3", "--rom", &roms[1], "--rom-mask=1,1"];
    let one = ["--rom", &roms[0]];
    let assumed = ["--assume-unnamed-rom", &roms[0]];
    let both = ["--rom", &roms[1], "--rom", &roms[0]];
    // A large one has a pre-hash.
    let large = ["hash", "--stdin", "--rom", &roms[0]];
    let mut compared = 0;
    for (makes, verifies) in [(COPY, DIRECT), (DIRECT, COPY), (DIRECT, DIRECT)] {
        let large = run(&[&large[..], &[makes]].concat(), "password");
        assert_eq!(large.status.code(), Some(0), "{}", stderr(&large));
        for (stored, roms) in [
            (hash(&roms[0], &[makes]), &one[..]),
            (hash(&roms[0], &[makes]), &both),
            (hash(&roms[0], &[makes, "--omit-ids"]), &assumed),
            (hash(&roms[0], &[makes, "--rom-mask=0,15,9"]), &one),
            (hash(&roms[0], &[&[makes], &two[..]].concat()), &both),
            (stdout(&large).trim_end().to_owned(), &one),
        ] {
            let roms = [roms, &[verifies]].concat();
            assert_answer(&verify(&stored, &roms), 0, "match\n");
            let mismatch = wrong(&stored, &roms);
            assert_eq!((mismatch.status.code(), stdout(&mismatch)), (Some(1), "mismatch\n"));
            // A setting gives the same string again.
            let again = ["hash", "--stdin", "--setting", &stored];
            assert_answer(&run(&[&again, &roms[..]].concat(), "password"), 0, &(stored + "\n"));
            compared += 1;
        }
    }
    assert_eq!(compared, 18);
    for level in ["portable", "sse2"] {
        let stored = hash(&roms[0], &[DIRECT, "--level=portable"]);
        if cfg!(target_arch = "x86_64") || level == "portable" {
            let more = ["--rom", &roms[0], DIRECT, "--level", level];
            assert_answer(&verify(&stored, &more), 0, "match\n");
        }
    }
}

#[test]
fn a_rom_in_memory_beside_one_in_its_file() {
    let Some(shared) = Shared::new("direct") else { return };
    let site = Site::new();
    let (slow, fast) = (site.rom("slow.rom", "seed"), site.rom("fast.rom", "other"));
    let name = shared.name();
    let attach = run(&["rom", "attach", &fast, "--as", &name], "");
    assert_eq!(attach.status.code(), Some(0), "{}", stderr(&attach));
    let masks = ["--rom-mask=0,15,7", "--rom", &name, "--rom-mask=1,1"];
    let both = ["--rom", &slow, "--rom", &name];
    for (makes, verifies) in [(COPY, DIRECT), (DIRECT, COPY)] {
        let stored = hash(&slow, &[&[makes], &masks[..]].concat());
        let both = [&both[..], &[verifies]].concat();
        assert_answer(&verify(&stored, &both), 0, "match\n");
        assert_answer(&wrong(&stored, &both), 1, "mismatch\n");
        // Either of them is needed.
        for only in [&slow, &name] {
            let output = verify(&stored, &["--rom", only, verifies]);
            assert_one_error(&output, "is needed but not available");
        }
    }
    // What is in memory is not checked with each read: a mismatch is told of a whole one only.
    let stored = hash(&slow, &[&[DIRECT], &masks[..]].concat());
    for at in (0..1 << 20).step_by(4096) {
        flip(format!("/dev/shm/{}", &name[4..]), at);
    }
    assert_one_error(&verify(&stored, &[&both[..], &[DIRECT]].concat()), "is damaged");
}

#[test]
fn damage_and_absence_are_never_a_mismatch() {
    let site = Site::new();
    let (rom, other) = (site.rom("site.rom", "seed"), site.rom("other.rom", "other"));
    let id = info(&rom)["id"].as_str().unwrap().to_owned();
    let (stored, rare) = (hash(&rom, &[DIRECT]), hash(&rom, &["--rom-mask=0,15,3", DIRECT]));
    for stored in [&stored, &rare] {
        let unknown = format!("the ROM {id} is needed but not available");
        assert_one_error(&verify(stored, &["--rom", &other, DIRECT]), &unknown);
        let missing = verify(stored, &["--rom", &site.path("none.rom"), DIRECT]);
        assert_one_error(&missing, "manifest");
    }
    let unnamed = hash(&rom, &["--omit-ids"]);
    let both = ["--rom", &rom, "--rom", &other, DIRECT];
    assert_one_error(&verify(&unnamed, &both), "for a string that does not name it");
    for at in (0..(1 << 20) - 4096).step_by(4096) {
        flip(&rom, at + 1000);
    }
    for stored in [&stored, &rare, &unnamed] {
        let roms = ["--rom", &rom, "--assume-unnamed-rom", &rom, DIRECT];
        for output in [verify, wrong].map(|verify| verify(stored, &roms)) {
            assert_one_error(&output, "is damaged at byte");
        }
    }
    assert_one_error(&run(&[&SMALL[..], &[&rom, DIRECT]].concat(), "password"), "is damaged");
    std::fs::remove_file(format!("{rom}.sums")).unwrap();
    assert_one_error(&verify(&stored, &["--rom", &rom, DIRECT]), "--rebuild-sums");
}

#[test]
fn strings_without_a_rom_and_with_a_key_are_verified_beside() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let options = ["--stdin", "--rom", &rom, DIRECT];
    for stored in [YESCRYPT, SCRYPT, ESCRYPT] {
        let arguments = [&["verify", stored], &options[..]].concat();
        assert_answer(&run(&arguments, "pleaseletmein"), 0, "match\n");
        assert_answer(&run(&arguments, "another"), 1, "mismatch\n");
    }
    let key = site.path("key");
    write_private(&key, [7; 32]);
    let named = format!("new={key}");
    for more in [["--key", &named], ["--assume-unnamed-key", &key]] {
        for (makes, verifies) in [(COPY, DIRECT), (DIRECT, COPY)] {
            let stored = hash(&rom, &[&[makes], &more[..]].concat());
            let options = [&["--rom", &rom, verifies], &more[..]].concat();
            assert_answer(&verify(&stored, &options), 0, "match\n");
            let mismatch = wrong(&stored, &options);
            assert_eq!(mismatch.status.code(), Some(1));
            // What is only assumed is said.
            let is_noted = String::from_utf8_lossy(&mismatch.stderr).contains("names no key");
            assert_eq!(is_noted, more[0] != "--key");
        }
    }
    // The limits are those of other hashes.
    let stored = hash(&rom, &["--key", &named]);
    assert_one_error(&verify(&stored, &["--rom", &rom, DIRECT]), "key new+");
    let large = hash(&rom, &["--rom-mask=0,15"]);
    let small = ["--rom", &rom, DIRECT, "--max-memory=0"];
    assert_one_error(&verify(&large, &small), "more than --max-memory");
}

#[test]
fn many_are_answered_as_by_a_pool() {
    let site = Site::new();
    let roms = [site.rom("a.rom", "seed"), site.rom("b.rom", "other")];
    let kinds = [
        hash(&roms[0], &[]),
        hash(&roms[1], &["--rom-mask=0,7,2"]),
        hash(&roms[0], &["--rom-mask=0,15,4", "--rom", &roms[1], "--rom-mask=1,1"]),
        stdout(&run(&["hash", "--stdin", "--n=2048"], "password")).trim_end().to_owned(),
    ];
    // In the middle there are lines of every kind of error.
    let mut lines = Vec::new();
    for i in 0..120 {
        let password = if i % 3 == 0 { "Password" } else { "password" };
        lines.push(json!({ "id": i, "password": password, "hash": kinds[i % 4] }).to_string());
    }
    lines[33] = "not JSON".to_owned();
    lines[34] = json!({ "password": "p", "hash": "$6$salt$x" }).to_string();
    lines[35] = json!({ "password": "p", "hash": "$y$j" }).to_string();
    let none = kinds[0].replacen(|c: char| c.is_ascii_digit(), "e", 4);
    lines[36] = json!({ "password": "p", "hash": none }).to_string();
    let input = lines.join("\n");
    let answers = |more: &[&str]| {
        let both = ["verify", "--jsonl", "--rom", &roms[0], "--rom", &roms[1], "--threads=2"];
        let output = run(&[&both[..], more].concat(), &input);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    let pool = answers(&[COPY]);
    assert_eq!(pool.lines().count(), 120);
    assert_eq!(pool.matches("\"error\"").count(), 4, "{pool}");
    assert_eq!(pool.matches("\"match\":true").count(), 78, "{pool}");
    assert_eq!(answers(&[DIRECT]), pool);
    // With memory for one hash at a time.
    assert_eq!(answers(&[DIRECT, "--memory=12"]), pool);
    // Who needs more gets an error, and the others their answers.
    let none = answers(&[DIRECT, "--memory=4"]);
    assert_eq!(none.matches("more than --memory 4 allows").count(), 29, "{none}");

    let passwords: Vec<_> = (0..40).map(|i| json!({ "password": format!("p{i}") })).collect();
    let input: String = passwords.iter().map(|line| format!("{line}\n")).collect();
    let new = ["hash", "--jsonl", "--n=64", "--r=32", "--rom", &roms[0], DIRECT];
    let output = run(&new, input);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let stored = json_lines(&output).into_iter().enumerate().map(|(i, line)| {
        format!("{}\n", json!({ "password": format!("p{i}"), "hash": line["hash"] }))
    });
    let stored: String = stored.collect();
    let output = run(&["verify", "--jsonl", "--rom", &roms[0], COPY], stored);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).matches("\"match\":true").count(), 40);
}
