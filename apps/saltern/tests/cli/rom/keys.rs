//! Keys with names, which go with ROMs as the two things that a string may need.

use super::{Site, hash, verify};
use crate::program::{assert_one_error, run, seen, stderr, stdout, write_private};

#[test]
fn strings_say_which_key_they_need() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    for (name, byte) in [("a.key", 1), ("b.key", 2)] {
        write_private(site.path(name), [byte; 32]);
    }
    let [a, b] =
        ["a", "b"].map(|name| format!("--key={name}={}", site.path(&format!("{name}.key"))));
    let with_rom = ["--rom", &rom];
    for masks in [&[][..], &["--rom-mask=1,1"]] {
        let stored = hash(&rom, &[masks, &[&a]].concat());
        assert!(stored.contains("key=a"), "{stored}");
        let right = verify(&stored, &[&with_rom[..], &[&b, &a]].concat());
        assert_eq!(seen(&right), (Some(0), "match\n", ""));
        assert_one_error(&verify(&stored, &with_rom), "the key a+");
        assert_one_error(&verify(&stored, &[&with_rom[..], &[&b]].concat()), "the key a+");
        // To the other key without the password.
        let moved = run(&["reencrypt", &a, &b, "--to=b"], format!("{stored}\n"));
        assert_eq!(moved.status.code(), Some(0), "{}", stderr(&moved));
        let moved = stdout(&moved).trim_end();
        assert!(moved.contains("key=b"), "{moved}");
        let right = verify(moved, &[&with_rom[..], &[&b]].concat());
        assert_eq!(seen(&right), (Some(0), "match\n", ""));
        // Without its key a line stays as it was.
        let missing = run(&["reencrypt", &b, "--to=b"], format!("{stored}\n"));
        assert_eq!((stdout(&missing).trim_end(), missing.status.code()), (&*stored, Some(2)));
    }
    let two = run(&["hash", "--stdin", "--cost=1", &a, &b], "password");
    assert_one_error(&two, "one key");
    for wrong in ["--key=a", "--key==x", "--key=a=", "--key=a b=x", "--key=a}=x"] {
        assert_eq!(run(&["hash", "--stdin", wrong], "p").status.code(), Some(2), "{wrong}");
    }
    assert_eq!(run(&["reencrypt", &b, "--to=c"], "").status.code(), Some(2));
    let scrypt = run(&["hash", "--stdin", "--scheme=scrypt", "--cost=6", &a], "password");
    assert_one_error(&scrypt, "yescrypt strings only");
}
