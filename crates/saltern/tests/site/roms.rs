//! ROMs of a policy in a file: in memory and left in their files, the right one and others.

use saltern::policy::Scheme;
use saltern::table::Census;
use saltern::{ErrorKind, Outcome, Passwords, Policy};
use saltern_rom::{Create, Seed};
use saltern_yescrypt::rom::RomParams;

use super::logins::kept;

/// Makes a ROM, and returns its hash.
fn make(image: &std::path::Path, seed: &[u8]) -> String {
    let seed = Seed::from_bytes(seed).unwrap();
    Create::new(RomParams::new(512, 8, 1), &seed).file(image).unwrap().hash.to_string()
}

#[test]
fn a_site_hashes_with_a_rom_and_moves_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let old = make(&folder.path().join("old.rom"), b"an old seed, not for real use");
    let new = make(&folder.path().join("new.rom"), b"a new seed, not for real use");
    let policy = |roms: &[(&str, &str, &str, bool)]| {
        let mut text = "[params]\nn = 256\nr = 8\n[floor]\nn = 64\nr = 8\n".to_owned();
        for (image, hash, access, active) in roms {
            text += &format!(
                "[[roms]]\nimage = '{image}'\nhash = '{hash}'\naccess = '{access}'\nactive = {active}\n"
            );
        }
        Policy::parse(&text, folder.path()).unwrap()
    };
    let first = Passwords::new(policy(&[("old.rom", &old, "auto", true)])).unwrap();
    let stored = first.hash("secret").wait().unwrap();
    assert!(stored.starts_with(&format!("{{rom={}}}$y$", &old[..16])), "{stored}");
    let plain = Passwords::new(policy(&[])).unwrap();
    let missing = plain.verify("a", "secret", Some(&stored)).wait().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Unavailable);
    // The old one is left in its file.
    let both = policy(&[("old.rom", &old, "direct", false), ("new.rom", &new, "copy", true)]);
    let both = Passwords::new(both).unwrap();
    let mut census = Census::default();
    both.table().count(&stored, &mut census).unwrap();
    assert!(both.table().retire_rom(&old[..16], &census).is_err());
    let outcome = both.verify("a", "secret", Some(&stored)).wait();
    let Ok(Outcome::Match { update: Some(update), .. }) = outcome else { panic!("{outcome:?}") };
    assert!(update.new.starts_with(&format!("{{rom={}}}$y$", &new[..16])));
    assert!(both.verify("a", "secret", Some(&update.new)).wait().unwrap().is_match());
    assert!(!both.verify("a", "Secret", Some(&update.new)).wait().unwrap().is_match());
    let mut census = Census::default();
    both.table().count(&update.new, &mut census).unwrap();
    assert_eq!(both.table().retire_rom(&old[..16], &census), Ok(()));
    let other = Passwords::new(policy(&[("old.rom", &new, "auto", true)])).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Unavailable, "{other}");
    let gone = Passwords::new(policy(&[("gone.rom", &new, "direct", true)])).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Unavailable, "{gone}");
}

/// The policy of an image in a folder, with more of it after its hash.
fn one_rom(folder: &std::path::Path, top: &str, image: &str, hash: &str, more: &str) -> String {
    let costs = "[params]\nn = 256\nr = 8\n[floor]\nn = 64\nr = 8\n";
    let text = format!("{top}{costs}[[roms]]\nimage = '{image}'\nhash = '{hash}'\n{more}");
    std::fs::write(folder.join("saltern.toml"), &text).unwrap();
    text
}

/// A new policy takes what is there: the threads, and a ROM whose image is not even there any more.
#[test]
fn a_renewed_site_keeps_its_threads_and_its_roms() {
    let folder = tempfile::tempdir().unwrap();
    let hash = make(&folder.path().join("a.rom"), b"a seed, not for real use");
    let text = one_rom(folder.path(), "", "a.rom", &hash, "access = 'copy'\nactive = true\n");
    let policy = |text: &str| Policy::parse(text, folder.path()).unwrap();
    let first = Passwords::new(policy(&text)).unwrap();
    let stored = first.hash("secret").wait().unwrap();
    std::fs::remove_file(folder.path().join("a.rom")).unwrap();
    assert!(Passwords::new(policy(&text)).is_err());
    let stronger = text.replace("[params]\nn = 256", "[params]\nn = 512");
    let second = first.renew(policy(&stronger)).unwrap();
    assert!(std::ptr::eq(first.pool(), second.pool()));
    let outcome = second.verify("a", "secret", Some(&stored)).wait();
    let Ok(Outcome::Match { update: Some(update), .. }) = outcome else { panic!("{outcome:?}") };
    // The first one still is what it was.
    let outcome = first.verify("a", "secret", Some(&stored)).wait();
    assert_eq!(outcome, Ok(kept(&first, &stored)));
    assert!(first.verify("a", "secret", Some(&update.new)).wait().unwrap().is_match());
    drop(first);
    assert!(second.hash("x").wait().is_ok());
    // Other threads are other threads, and what is wrong changes nothing.
    let third = second.renew(policy(&(stronger.clone() + "[pool]\nthreads = 3\n"))).unwrap();
    assert!(!std::ptr::eq(third.pool(), second.pool()));
    assert_eq!(third.pool().stats().threads, 3);
    assert!(third.renew(policy(&stronger.replace("a.rom", "b.rom"))).is_err());
    assert!(third.verify("a", "secret", Some(&stored)).wait().unwrap().is_match());
}

#[test]
fn a_rom_twice_and_two_active_ones_are_refused() {
    let (folder, [a, b]) = (std::env::temp_dir(), ["a".repeat(64), "b".repeat(64)]);
    for (second, more, told) in [
        (&a, "", "roms[1].hash = "),
        (&b, "active = true", "roms[1].active = true: expected true for one ROM only"),
    ] {
        let more = format!("active = true\n[[roms]]\nimage = 'b'\nhash = '{second}'\n{more}");
        let text = format!("[[roms]]\nimage = 'a'\nhash = '{a}'\n{more}");
        let invalid = Policy::parse(&text, &folder).unwrap_err().to_string();
        assert!(invalid.contains(told) && !invalid.starts_with("policy: "), "{invalid}");
    }
}

/// A string that needs a ROM and does not say which, as crypt(3) with a ROM makes them.
#[test]
fn a_rom_is_assumed_only_where_the_policy_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let hash = make(&folder.path().join("site.rom"), b"a seed, not for real use");
    let more = "active = true\n";
    let read = |top: &str| {
        one_rom(folder.path(), top, "site.rom", &hash, more);
        Policy::read(folder.path().join("saltern.toml"))
    };
    let plain = Passwords::new(read("").unwrap()).unwrap();
    let named = plain.hash("secret").wait().unwrap();
    let unnamed = named.split_once('}').unwrap().1;
    let refused = plain.verify("a", "secret", Some(unnamed)).wait().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    let top = format!("assume_unnamed_rom = \"{}\"\n", &hash[..16]);
    let assuming = Passwords::new(read(&top).unwrap()).unwrap();
    let outcome = assuming.verify("a", "secret", Some(unnamed)).wait().unwrap();
    assert!(outcome.is_match(), "{outcome:?}");
    assert_eq!(assuming.verify("a", "Secret", Some(unnamed)).wait(), Ok(Outcome::Mismatch));
    let other = read("assume_unnamed_rom = \"0123456789abcdef\"\n").unwrap_err().to_string();
    assert!(
        other.contains(":1: assume_unnamed_rom = ") && other.contains("one of the ROMs"),
        "{other}"
    );
}

/// All of a ROM is checked again and again, and damage that no hash has read is told.
#[test]
fn damage_is_told_before_a_login_meets_it() {
    let folder = tempfile::tempdir().unwrap();
    let hash = make(&folder.path().join("site.rom"), b"a seed, not for real use");
    let more = "access = 'map'\nactive = true\n";
    one_rom(folder.path(), "check_roms = '20ms'\n", "site.rom", &hash, more);
    let passwords = Passwords::open(folder.path().join("saltern.toml")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(passwords.damaged_roms().is_empty());
    let image = folder.path().join("site.rom");
    let mut bytes = std::fs::read(&image).unwrap();
    bytes[300_000] ^= 1;
    let file = std::fs::OpenOptions::new().write(true).open(&image).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while passwords.damaged_roms().is_empty() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let damage = passwords.damaged_roms();
    assert!(damage.len() == 1 && damage[0].starts_with(&format!("the ROM {}: ", &hash[..16])));
    // No answer depends on it.
    let late = passwords.hash("secret").wait().map_err(|error| error.kind());
    assert!(late.is_ok() || late == Err(ErrorKind::Unavailable), "{late:?}");
}

/// The documentation's policy is one, but for the files that it names and the digits that are not
/// there.
#[test]
fn the_policy_of_the_documentation_is_read() {
    let page = include_str!("../../src/policy.rs");
    let text = page.split_once("```toml\n").unwrap().1.split_once("//! ```").unwrap().0;
    let text: String =
        text.lines().map(|line| line.trim_start_matches("//!").to_owned() + "\n").collect();
    let policy = Policy::parse(&text.replace("…", &"0".repeat(64)), "/etc/saltern").unwrap();
    assert_eq!(policy.schemes, [Scheme::Yescrypt, Scheme::Bcrypt]);
    assert_eq!((policy.keys.len(), policy.roms.len(), policy.decoy.costs.len()), (1, 1, 2));
    assert_eq!(policy.limits.max_memory, 257 << 20);
}
