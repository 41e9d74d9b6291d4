//! The table of a ROM's sums with anything done to it: no chunk is called right but the one that
//! was made, and with the table as it was made that one is.
#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use saltern_rom::{Create, Manifest, Seed, hazmat::check_with_table};
use saltern_yescrypt::rom::RomParams;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    /// Places and what they are XORed with.
    edits: Vec<(u16, u8)>,
    cut: u16,
    more: &'a [u8],
    /// Which chunk, and an edit of it.
    number: u8,
    chunk: (u16, u8),
}

struct Made {
    manifest: Manifest,
    image: Vec<u8>,
    table: Vec<u8>,
}

/// A ROM with two groups of 64 chunks of 1 KiB.
fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("saltern-fuzz-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("made.rom");
        let seed = Seed::from_bytes(b"a seed that everybody knows").unwrap();
        Create::new(RomParams::new(128, 8, 1), &seed).file(&path).unwrap();
        let text = std::fs::read_to_string(Manifest::path_for(&path)).unwrap();
        let made = Made {
            manifest: Manifest::parse(&text).unwrap(),
            image: std::fs::read(&path).unwrap(),
            table: std::fs::read(folder.join("made.rom.sums")).unwrap(),
        };
        std::fs::remove_dir_all(&folder).unwrap();
        made
    })
}

fuzz_target!(|case: Case<'_>| {
    let Made { manifest, image, table } = made();
    let mut damaged = table[..table.len().saturating_sub(case.cut.into())].to_vec();
    damaged.extend_from_slice(case.more);
    for (at, value) in case.edits {
        damaged.get_mut(usize::from(at)).into_iter().for_each(|byte| *byte ^= value);
    }
    let own = image.chunks(1024).nth(case.number.into());
    let mut chunk = own.unwrap_or_default().to_vec();
    let (at, value) = case.chunk;
    chunk.get_mut(usize::from(at)).into_iter().for_each(|byte| *byte ^= value);
    let found = check_with_table(&damaged, manifest, case.number.into(), &chunk);
    let right = own.is_some_and(|own| own == chunk);
    if damaged == *table {
        assert_eq!(found, Ok(right));
    } else {
        assert!(right || found != Ok(true), "a wrong chunk is called right");
    }
});
