//! ROMs of a policy in a file: in memory and left in their files, the right one and others.

use saltern::policy::Scheme;
use saltern::table::Census;
use saltern::{ErrorKind, Outcome, Passwords, Policy};
use saltern_rom::{AttachOptions, Create, Seed, attach};
use saltern_yescrypt::rom::RomParams;

/// Makes a ROM, and returns its hash.
fn make(image: &std::path::Path, seed: &[u8]) -> String {
    let seed = Seed::from_bytes(seed).unwrap();
    Create::new(RomParams::new(512, 8, 1), &seed).file(image).unwrap();
    attach(image, &AttachOptions::new()).unwrap().manifest().hash.to_string()
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
    let Ok(Outcome::Match { update: Some(update) }) = outcome else { panic!("{outcome:?}") };
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
    assert_eq!(policy.limits.max_memory, 256 << 20);
}
