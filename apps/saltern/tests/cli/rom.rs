//! ROMs through the program: made, checked, shared and hashed with, by real processes and in real
//! files.
#![cfg(target_os = "linux")]

mod direct;
mod faults;
mod keys;
mod shared;

use std::path::Path;
use std::process::Output;

use saltern_testing::names;
use serde_json::Value;

use crate::program::{
    PROGRAM, assert_one_error, json_lines, run, seen, shell, stderr, stdout, write_private,
};

/// A directory with a seed in it.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let seeds = [
            ("seed", "a seed that is long enough\n"),
            ("other", "another seed that is long enough"),
        ];
        for (name, seed) in seeds {
            write_private(dir.path().join(name), seed);
        }
        Site { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// A ROM of 1 MiB from the seed of this name.
    fn rom(&self, name: &str, seed: &str) -> String {
        let (rom, seed) = (self.path(name), self.path(seed));
        let output = run(&["rom", "create", &rom, "--size", "1MiB", "--seed-file", &seed], "");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        rom
    }

    /// What is in the directory, but for the seeds.
    fn files(&self) -> Vec<String> {
        names(self.dir.path())
            .into_iter()
            .filter(|name| name != "seed" && name != "other")
            .collect()
    }
}

/// Small hashes.
const SMALL: [&str; 5] = ["hash", "--stdin", "--n=64", "--r=32", "--rom"];

fn hash(rom: &str, more: &[&str]) -> String {
    let output = run(&[&SMALL[..], &[rom], more].concat(), "password");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).trim_end().to_owned()
}

fn verify(hash: &str, more: &[&str]) -> Output {
    run(&[&["verify", "--stdin", hash], more].concat(), "password")
}

fn info(rom: &str) -> Value {
    let output = run(&["rom", "info", "--json", rom], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn from_a_seed_to_a_password_that_matches_in_another_process() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    assert_eq!(site.files(), ["site.rom", "site.rom.json", "site.rom.sums"]);
    let known = info(&rom);
    let (id, hash_of) = (known["id"].as_str().unwrap(), known["hash"].as_str().unwrap());
    assert_eq!((hash_of.len(), &hash_of[..16]), (64, id));
    assert_eq!((&known["size"], &known["state"]), (&(1 << 20).into(), &"ready".into()));
    let table = run(&["rom", "info", &rom], "");
    assert!(stdout(&table).contains(id) && stdout(&table).contains("1 MiB"));

    let seed = site.path("seed");
    for options in [
        &[][..],
        &["--full"],
        &["--recompute", "--seed-file", &seed],
        &["--full", "--expect", hash_of],
    ] {
        let output = run(&[&["rom", "verify", &rom][..], options].concat(), "");
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        assert!(stdout(&output).starts_with(id));
    }

    let stored = hash(&rom, &[]);
    assert!(stored.starts_with(&format!("{{rom={id}}}$y$")), "{stored}");
    let output = verify(&stored, &["--rom", &rom]);
    assert_eq!(seen(&output), (Some(0), "match\n", ""));
    let output = run(&["verify", "--stdin", &stored, "--rom", &rom], "Password");
    assert_eq!(seen(&output), (Some(1), "mismatch\n", ""));
    // Read in another way: another hash, which says so.
    let rarely = hash(&rom, &["--rom-mask", "0,7,2"]);
    assert!(rarely.contains(&format!(",rom1={id}.8.0.7.2$")), "{rarely}");
    assert_eq!(seen(&verify(&rarely, &["--rom", &rom])), (Some(0), "match\n", ""));
    let json = run(&["inspect", "--json", &rarely], "");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["roms"][0]["id"], &json["roms"][0]["mix_mask"]), (&id.into(), &7.into()));

    // A setting keeps its own words.
    let again = run(&["hash", "--stdin", "--setting", &stored, "--rom", &rom], "password");
    assert_eq!(stdout(&again).trim_end(), stored);
}

#[test]
fn without_the_right_rom_there_is_an_error_and_no_answer() {
    let site = Site::new();
    let (right, wrong) = (site.rom("right.rom", "seed"), site.rom("wrong.rom", "other"));
    let id = info(&right)["id"].as_str().unwrap().to_owned();
    for stored in [hash(&right, &[]), hash(&right, &["--rom-mask", "1,1"])] {
        assert_one_error(&verify(&stored, &[]), &id);
        assert_one_error(&verify(&stored, &["--rom", &wrong]), &id);
        let both = verify(&stored, &["--rom", &wrong, "--rom", &right]);
        assert_eq!(seen(&both), (Some(0), "match\n", ""));
        let missing = verify(&stored, &["--rom", &site.path("none.rom")]);
        assert_one_error(&missing, "manifest");
        let json = verify(&stored, &["--json", "--rom", &wrong]);
        let json: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!((&json["result"], &json["match"]), (&"error".into(), &Value::Null));
    }
    // Without a name there is no telling among several.
    let stored = hash(&right, &["--omit-ids"]);
    assert!(stored.starts_with("$y$"), "{stored}");
    let say = "for a string that does not name it, as the ROM to assume";
    for roms in [&[][..], &["--rom", &right], &["--rom", &wrong, "--rom", &right]] {
        assert_one_error(&verify(&stored, roms), say);
    }
    // The wrong image under the right name.
    std::fs::rename(&wrong, &right).unwrap();
    assert_one_error(&verify(&stored, &["--rom", &right]), "expected");
    assert_eq!(info(&right)["state"], "bad");
    assert_one_error(&run(&["rom", "verify", &right], ""), "does not pass");
    let other = "0123456789abcdef".repeat(4);
    let expected = run(&["rom", "verify", "--expect", &other, &right], "");
    assert_one_error(&expected, "does not pass");
    // A name is no proof.
    let short = run(&["rom", "verify", "--expect", "0123456789abcdef", &right], "");
    assert_eq!(short.status.code(), Some(2));
    assert!(stderr(&short).contains("64 lower-case"), "{}", stderr(&short));
}

/// Of a string that does not say which ROM it needs, nothing but an assumption does.
#[test]
fn a_rom_is_assumed_only_where_that_is_said() {
    let site = Site::new();
    let (right, other) = (site.rom("right.rom", "seed"), site.rom("other.rom", "other"));
    let stored = hash(&right, &["--omit-ids"]);
    assert!(stored.starts_with("$y$"), "{stored}");
    for roms in [
        &["--assume-unnamed-rom", &right][..],
        &["--rom", &right, "--assume-unnamed-rom", &right],
        &["--rom", &other, "--assume-unnamed-rom", &right, "--rom-access=direct"],
    ] {
        assert_eq!(seen(&verify(&stored, roms)), (Some(0), "match\n", ""));
        // The same string again, under its own setting.
        let again = [&["hash", "--stdin", "--setting", &stored], roms].concat();
        assert_eq!(stdout(&run(&again, "password")).trim_end(), stored);
    }
    let named = hash(&right, &[]);
    assert_eq!(seen(&verify(&named, &["--assume-unnamed-rom", &right])).0, Some(0));
    // The wrong one cannot be told from a wrong password; that is said wherever it is answered.
    let note = "note: the string names no ROM and was assumed to need that of --assume-unnamed-rom";
    let mismatch = verify(&stored, &["--assume-unnamed-rom", &other]);
    assert_eq!((mismatch.status.code(), stdout(&mismatch)), (Some(1), "mismatch\n"));
    assert!(stderr(&mismatch).contains(note), "{mismatch:?}");
    let line = format!("{{\"password\":\"password\",\"hash\":\"{stored}\"}}");
    let many = run(&["verify", "--jsonl", "--assume-unnamed-rom", &other], &line);
    assert!(stdout(&many).contains("\"notes\":[\"the string names no ROM"), "{many:?}");
    let many = run(&["verify", "--jsonl", "--rom", &right], &line);
    assert_eq!(many.status.code(), Some(2));
    assert!(stdout(&many).contains("does not name it"), "{many:?}");
    // New strings with it name none, either.
    let new = ["hash", "--stdin", "--n=64", "--r=32", "--assume-unnamed-rom", &right];
    let new = run(&new, "password");
    let new = stdout(&new).trim_end();
    assert!(new.starts_with("$y$"), "{new}");
    assert_eq!(seen(&verify(new, &["--assume-unnamed-rom", &right])).0, Some(0));
    // A setting has to use what is given.
    let unused = ["hash", "--stdin", "--setting", "$y$j75$abcd", "--rom", &right];
    assert_one_error(&run(&unused, "password"), "the setting uses no ROM");
}

/// A manifest speaks only for itself: which ROM it has to be, somebody else says.
#[test]
fn no_other_rom_is_used_where_a_hash_is_expected() {
    let site = Site::new();
    let (right, other) = (site.rom("right.rom", "seed"), site.rom("other.rom", "other"));
    let of = |rom: &str| info(rom)["hash"].as_str().unwrap().to_owned();
    let stored = hash(&right, &["--rom-expect", &of(&right)]);
    for access in ["--rom-access=auto", "--rom-access=copy", "--rom-access=direct"] {
        let expects = |hash: &str| {
            let roms = ["--rom", &right, "--rom-expect", hash, access];
            [verify(&stored, &roms), run(&[&SMALL[..4], &roms].concat(), "password")]
        };
        for good in expects(&of(&right)) {
            assert_eq!(good.status.code(), Some(0), "{good:?}");
        }
        for refused in expects(&of(&other)) {
            assert_one_error(&refused, "expected");
        }
    }
    let hashes = [of(&right), of(&other)];
    let one = ["--rom", &right, "--rom", &other, "--rom-expect", &hashes[0]];
    assert_one_error(&verify(&stored, &one), "each ROM needs one");
    let both = [&one[..], &["--rom-expect", &hashes[1]]].concat();
    assert_eq!(seen(&verify(&stored, &both)), (Some(0), "match\n", ""));
}

#[test]
fn several_roms_and_many_passwords() {
    let site = Site::new();
    let roms = [site.rom("a.rom", "seed"), site.rom("b.rom", "other")];
    let two = ["--rom-mask=0,15", "--rom", &roms[1], "--rom-mask=1,1,3"];
    let stored = hash(&roms[0], &two);
    assert!(stored.contains(",rom1=") && stored.contains(".8.0.15.0,rom2="), "{stored}");
    let both = ["--rom", &roms[1], "--rom", &roms[0]];
    assert_eq!(seen(&verify(&stored, &both)), (Some(0), "match\n", ""));
    assert_one_error(&verify(&stored, &both[..2]), "is needed but not available");
    // Masks and ROMs have to go together.
    let output = run(&[&SMALL[..], &[&roms[0]], &two[1..]].concat(), "password");
    assert_one_error(&output, "each ROM needs one");
    let output = run(&[&SMALL[..], &[&roms[0]], &two[1..3]].concat(), "password");
    assert_one_error(&output, "--rom-mask");
    let output = run(&[&SMALL[..], &[&roms[0], "--rom-mask=0,0"]].concat(), "password");
    assert_one_error(&output, "ROM masks");

    let lines = |texts: &[String]| texts.join("\n") + "\n";
    let passwords: Vec<_> = (0..20).map(|i| format!("{{\"password\":\"p{i}\"}}")).collect();
    let options = ["hash", "--jsonl", "--n=64", "--r=32", "--rom", &roms[0]];
    let output = run(&[&options[..], &two].concat(), lines(&passwords));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answers = json_lines(&output).into_iter().enumerate().map(|(i, mut line)| {
        let hash = line["hash"].take();
        serde_json::json!({ "password": format!("p{}", i - i % 5), "hash": hash }).to_string()
    });
    let answers: Vec<_> = answers.collect();
    let output = run(&[&["verify", "--jsonl"][..], &both].concat(), lines(&answers));
    let matches: Vec<_> =
        stdout(&output).lines().map(|line| line.contains("\"match\":true")).collect();
    let expected: Vec<_> = (0..20).map(|i| i % 5 == 0).collect();
    assert_eq!((matches, output.status.code()), (expected, Some(1)), "{}", stderr(&output));
    let output = run(&["verify", "--jsonl", "--rom", &roms[0]], lines(&answers));
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).lines().all(|line| line.contains("is needed but not available")));
}

#[test]
fn parameters_and_sizes() {
    let site = Site::new();
    let (rom, seed) = (site.path("x.rom"), site.path("seed"));
    for size in ["1GB", "64", "0MiB", "-1MiB", "1.5MiB"] {
        let output = run(&["rom", "create", &rom, "--size", size, "--seed-file", &seed], "");
        assert_eq!(output.status.code(), Some(2), "{size}");
    }
    // As in policies.
    let blank = ["rom", "create", &rom, "--size", "3 MiB", "--seed-file", &seed];
    assert_one_error(&run(&blank, ""), "power of two");
    for (options, part) in [
        (&["--size", "3MiB"][..], "power of two"),
        (&["--size", "1MiB", "--r", "12"], "power of two"),
        (&["--nrom", "2"], "NROM"),
        (&["--nrom", "48"], "NROM"),
        (&["--nrom", "64", "--p", "33"], "p"),
        (&["--nrom", "64", "--flags", "1"], "mode"),
        (&["--size", "1024TiB"], "bytes"),
        (&["--again"], "manifest"),
    ] {
        let all = [&["rom", "create", &rom, "--seed-file", &seed][..], options].concat();
        assert_one_error(&run(&all, ""), part);
    }
    assert_eq!(site.files(), [""; 0]);
    // 48 KiB: blocks of 1.5 KiB. Hashes see them whole, or in halves.
    let options = ["--nrom=32", "--r=12", "--p=2", "--t=1", "--flags=14", "--threads=2"];
    let all = [&["rom", "create", &rom, "--seed-file", &seed][..], &options].concat();
    assert_eq!(run(&all, "").status.code(), Some(0));
    assert_eq!(info(&rom)["flavor"]["gather"], 2);
    for (r, status) in [("12", 0), ("6", 0), ("24", 0), ("8", 2), ("32", 2)] {
        let output = run(&["hash", "--stdin", "--n=64", "--r", r, "--rom", &rom], "password");
        assert_eq!(output.status.code(), Some(status), "r={r}: {}", stderr(&output));
    }
    let wrong = run(&["hash", "--stdin", "--scheme=scrypt", "--rom", &rom], "password");
    assert_one_error(&wrong, "yescrypt strings only");
}

#[test]
fn seeds_come_from_files_and_descriptors_and_are_never_lost() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let id = info(&rom)["hash"].as_str().unwrap().to_owned();
    // The same seed through a descriptor makes the same ROM.
    let other = site.path("other.rom");
    let script = r#"exec 7< "$2"; "$0" rom create "$1" --size 1MiB --seed-fd 7"#;
    let output = shell(script, &[&other, &site.path("seed")]).output().unwrap();
    assert_eq!((stdout(&output).trim_end(), output.status.code()), (&*id, Some(0)));
    // Nothing is replaced unasked, and no seed is made for nothing.
    let new = site.path("new.seed");
    let create = ["rom", "create", &rom, "--size=1MiB"];
    assert_one_error(
        &run(&[&create[..], &["--generate-seed", &new, "--yes"]].concat(), ""),
        "exists",
    );
    assert!(!Path::new(&new).exists());
    let fresh = site.path("fresh.rom");
    let create = ["rom", "create", &fresh, "--size=1MiB", "--generate-seed", &new];
    // Nobody is there to promise a backup: without a terminal of its own.
    let alone = std::process::Command::new("setsid").args(["-w", PROGRAM]).args(create).output();
    assert_one_error(&alone.unwrap(), "--yes");
    assert!(!Path::new(&new).exists() && !Path::new(&fresh).exists());
    assert_eq!(run(&[&create[..], &["--yes"]].concat(), "").status.code(), Some(0));
    let made = std::fs::read(&new).unwrap();
    assert_eq!(made.len(), 64);
    // A seed is never overwritten.
    std::fs::remove_file(&fresh).unwrap();
    assert_one_error(&run(&[&create[..], &["--yes"]].concat(), ""), "exists");
    assert_eq!(std::fs::read(&new).unwrap(), made);
    // The image is lost: made again from what is known, and only from the right seed.
    let again = ["rom", "create", &fresh, "--again", "--seed-file"];
    assert_one_error(&run(&[&again[..], &[&site.path("seed")]].concat(), ""), "expected");
    assert!(!Path::new(&fresh).exists());
    assert_eq!(run(&[&again[..], &[&new]].concat(), "").status.code(), Some(0));
    let wrong = ["rom", "verify", &fresh, "--recompute", "--seed-file", &site.path("seed")];
    assert_one_error(&run(&wrong, ""), "expected");
    let short = site.path("short");
    write_private(&short, "too short");
    let short =
        run(&["rom", "create", &site.path("s.rom"), "--size=1MiB", "--seed-file", &short], "");
    assert_one_error(&short, "the seed has 9 bytes");
}
