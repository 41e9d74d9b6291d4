//! Memory that cannot be had.

use std::process::Command;

use saltern_rom::{Create, Seed};
use saltern_yescrypt::rom::RomParams;

use crate::installed::{installed, succeed};

#[test]
fn every_allocation_may_fail() {
    let packages = ["saltern", "saltern-yescrypt"];
    let program = installed().with_shim("allocation", &["-fno-builtin"], &packages);
    // Of 2 MiB, which are checked in more than one piece.
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("site.rom");
    let seed = Seed::from_bytes(b"no seed for real use").unwrap();
    Create::new(RomParams::new(1 << 9, 32, 1), &seed).file(&image).unwrap();
    let printed = succeed(Command::new(&program).arg(&image));
    println!("{printed}");
    assert_eq!(printed.lines().count(), 10, "{printed}");
    let points = |line: &str| -> u64 {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[2].parse().expect("a number")
    };
    // That of crypt is for its caller: its own small ones come from the reserve.
    for (line, least) in printed.lines().zip([100, 100, 3, 3, 2, 2, 1, 1, 10, 10]) {
        assert!(points(line) >= least, "{printed}");
    }
}
