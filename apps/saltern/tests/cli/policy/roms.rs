//! ROMs of a policy: shown, checked, hashed with, retired.

use std::fs;

use super::Site;
use crate::program::{assert_one_error, run, seen, stderr, stdout, write_private};

/// A policy with the ROMs of these names, of which the last one is active, and their ids.
fn with_roms(names: &[&str]) -> (Site, Vec<String>) {
    let site = Site::new("");
    let mut text = "[params]\nn = 64\nr = 32\n[floor]\nn = 16\nr = 8\n".to_owned();
    let mut ids = Vec::new();
    for name in names {
        let (image, seed) = (site.path(name), site.path("seed"));
        write_private(&seed, format!("a seed that is long enough, for {name}"));
        let made = run(&["rom", "create", &image, "--size", "1MiB", "--seed-file", &seed], "");
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
        let info = run(&["rom", "info", "--json", &image], "");
        let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
        let hash = info["hash"].as_str().unwrap();
        let active = Some(name) == names.last();
        text += &format!("[[roms]]\nimage = \"{name}\"\nhash = \"{hash}\"\nactive = {active}\n");
        ids.push(hash[..16].to_owned());
    }
    site.write(&text);
    (site, ids)
}

#[test]
fn a_policy_with_a_rom_is_shown_checked_and_hashed_with() {
    let (site, ids) = with_roms(&["site.rom"]);
    let file = &site.policy();
    let good = format!("{file}: good\n");
    assert_eq!(seen(&run(&["policy", "check", file], "")), (Some(0), &*good, ""));
    let shown = run(&["policy", "show", file], "");
    assert_eq!((shown.status.code(), stderr(&shown)), (Some(0), ""));
    for line in [
        format!("image = \"{}\"", site.path("site.rom")),
        format!("hash = \"{}", ids[0]),
        "access = \"auto\"".to_owned(),
        "active = true".to_owned(),
    ] {
        assert!(stdout(&shown).lines().any(|shown| shown.starts_with(&line)), "{line}: {shown:?}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("copy.toml");
    fs::write(&copy, &shown.stdout).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(seen(&run(&["policy", "show", copy], "")), (Some(0), stdout(&shown), ""));

    for policy in [file, copy] {
        let made = run(&["hash", "--stdin", "--policy", policy], "secret");
        let stored = stdout(&made).trim_end();
        assert!(stored.starts_with(&format!("{{rom={}}}$y$", ids[0])), "{made:?}");
        assert!(stderr(&made).contains(&format!("it needs the ROM {}", ids[0])), "{made:?}");
        let verify = |password| run(&["verify", "--stdin", "--policy", file, stored], password);
        assert_eq!(seen(&verify("secret")), (Some(0), "match\n", ""));
        assert_eq!(seen(&verify("Secret")), (Some(1), "mismatch\n", ""));
    }
    let many = run(&["hash", "--jsonl", "--policy", file], "{\"password\":\"x\"}\n");
    assert!(stdout(&many).contains(&format!("{{rom={}}}$y$", ids[0])), "{many:?}");
    // What unknown accounts cost can be the cost of such strings, also where only the text is
    // looked at.
    let costs = run(
        &["census", "--policy", file, "--decoy"],
        stdout(&run(&["hash", "--stdin", "--policy", file], "secret")),
    );
    assert!(stdout(&costs).contains(&format!("{{rom={}}}$y$", ids[0])), "{costs:?}");
    site.write(&(fs::read_to_string(file).unwrap() + stdout(&costs)));
    assert_eq!(seen(&run(&["policy", "check", file], "")), (Some(0), &*good, ""));
    assert_eq!(run(&["hash", "--stdin", "--policy", file], "x").status.code(), Some(0));

    // Nobody is asked for a password that the program cannot use: without a terminal, asking for it
    // would be the error.
    fs::rename(site.path("site.rom"), site.path("away")).unwrap();
    assert_one_error(&run(&["hash", "--policy", file], ""), &format!("the ROM {}", ids[0]));
    fs::rename(site.path("away"), site.path("site.rom")).unwrap();
    fs::rename(site.path("site.rom.json"), site.path("gone")).unwrap();
    assert_one_error(&run(&["policy", "check", file], ""), &format!("the ROM {}", ids[0]));
    assert_eq!(run(&["policy", "check", "--text", file], "").status.code(), Some(0));
}

#[test]
fn a_rom_is_retired_when_no_string_needs_it() {
    let (before, _) = with_roms(&["old.rom"]);
    let stored = stdout(&run(&["hash", "--stdin", "--policy", &before.policy()], "x")).to_owned();
    let (site, ids) = with_roms(&["old.rom", "new.rom"]);
    let file = &site.policy();
    let retire =
        |id: &str, table: &str| run(&["census", "--policy", file, "--retire-rom", id], table);
    let last = |output: &std::process::Output| stdout(output).lines().last().map(str::to_owned);
    let used = retire(&ids[0], &stored);
    let told = format!("the ROM {} cannot be retired: 1 stored strings need it", ids[0]);
    assert_eq!((used.status.code(), last(&used)), (Some(1), Some(told)), "{used:?}");
    let due = run(&["verify", "--stdin", "--policy", file, "--update", stored.trim_end()], "x");
    let (told, new) = stdout(&due).split_once("\nupdate: ").unwrap();
    assert_eq!(told, "match, an update is due: rom", "{due:?}");
    assert!(new.starts_with(&format!("{{rom={}}}$y$", ids[1])), "{due:?}");
    let free = retire(&ids[0], new);
    let told = format!("the ROM {} can be retired", ids[0]);
    assert_eq!((free.status.code(), last(&free)), (Some(0), Some(told)), "{free:?}");
    let active = retire(&ids[1], new);
    assert!(
        active.status.code() == Some(1) && stdout(&active).contains("new hashes are made with")
    );
    // A slip in the id is no ROM that nobody needs.
    let slip = retire("0011223344556677", new);
    assert_one_error(&slip, "the policy has no ROM 0011223344556677: it has ");
}

/// All but the images, which need not be there.
#[test]
fn a_policy_is_checked_without_its_images() {
    let (site, ids) = with_roms(&["old.rom", "new.rom"]);
    let file = &site.policy();
    let hashed = run(&["hash", "--stdin", "--policy", file], "secret");
    let named = stdout(&hashed).trim_end();
    let unnamed = named.split_once('}').unwrap().1;
    let other = format!("{{rom=0123456789abcdef}}{unnamed}");
    let text = fs::read_to_string(file).unwrap();
    let assuming = format!("assume_unnamed_rom = \"{}\"\n{text}", ids[0]);
    let decoy =
        |text: &str, like: &str| format!("{text}[[decoy.costs]]\nlike = \"{like}\"\nshare = 1\n");
    let check = |text: &str| {
        site.write(text);
        run(&["policy", "check", file], "")
    };
    let is_good = |text: &str| {
        let good = format!("{file}: good\n");
        assert_eq!(seen(&check(text)), (Some(0), &*good, ""), "{text}");
    };
    let all = [
        text.clone(),
        assuming.clone(),
        decoy(&text, named),
        decoy(&text, &format!("{{CRYPT}}{named}")),
        decoy(&assuming, unnamed),
    ];
    for text in &all {
        is_good(text);
        assert_eq!(run(&["hash", "--stdin", "--policy", file], "x").status.code(), Some(0));
    }
    assert_one_error(&check(&decoy(&text, unnamed)), "a cost of [[decoy.costs]]");
    assert_one_error(&check(&decoy(&assuming, &other)), "a cost of [[decoy.costs]]");
    for image in ["old.rom", "new.rom"] {
        fs::rename(site.path(image), site.path("away")).unwrap();
    }
    all.iter().for_each(|text| is_good(text));
    // That ROM is not the active one.
    fs::remove_file(site.path("old.rom.json")).unwrap();
    assert_one_error(&check(&text), &format!("the ROM {}", ids[0]));
    // Where only strings are counted, nobody asks for it.
    let counted = run(&["census", "--policy", file], format!("{named}\n"));
    assert_eq!(counted.status.code(), Some(0), "{counted:?}");
}

/// What unknown accounts cost may need a ROM that no string in the table needs any more.
#[test]
fn a_rom_that_a_decoy_needs_without_naming_it_is_not_retired() {
    let (site, ids) = with_roms(&["old.rom", "new.rom"]);
    let file = &site.policy();
    let stored = run(&["hash", "--stdin", "--policy", file], "x");
    let unnamed = stdout(&stored).trim_end().split_once('}').unwrap().1;
    let text = fs::read_to_string(file).unwrap();
    let decoy = format!("[[decoy.costs]]\nlike = \"{unnamed}\"\nshare = 1\n");
    site.write(&format!("assume_unnamed_rom = \"{}\"\n{text}{decoy}", ids[0]));
    let table = stdout(&stored);
    let output = run(&["census", "--policy", file, "--retire-rom", &ids[0]], table);
    let told = format!("the ROM {} cannot be retired: 1 of [[decoy.costs]] need it", ids[0]);
    assert!(output.status.code() == Some(1) && stdout(&output).contains(&told), "{output:?}");
}
