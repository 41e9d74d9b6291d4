//! Damage in images and in their tables of checksums, and what becomes of the tables.

use std::path::Path;

use saltern_rom::{
    Access, AttachOptions, CopyOptions, Create, DirectBuffer, Error, Manifest, RomFile, State,
    adopt, attach, clean, copy, list, no_progress, rebuild_sums, remove, verify,
};
use saltern_testing::damage::flip;
use saltern_yescrypt::{
    Workspace,
    rom::{RomImage, RomParams},
};

use super::super::{Scratch, params, reference, seed};

fn table(scratch: &Scratch, name: &str) -> Vec<u8> {
    std::fs::read(scratch.path(name)).unwrap()
}

/// Reads every block of `128 * r` bytes; those that are refused as damaged, with the chunk that is
/// named.
fn damaged_blocks(rom: &RomFile, r: u32, image: &[u8]) -> Vec<(u64, u64)> {
    let len = 128 * r as usize;
    // Where direct reads can go, and where they cannot.
    let (mut aligned, mut unaligned) = (DirectBuffer::new(len).unwrap(), vec![0; len + 1]);
    let mut found = Vec::new();
    for j in 0..rom.blocks(r).unwrap() {
        let refused = rom.read_block(j, r, &mut aligned);
        let refused_too = rom.read_block(j, r, &mut unaligned[1..]);
        match (refused, refused_too) {
            (Ok(()), Ok(())) => {
                let expected = &image[j as usize * len..][..len];
                assert!(aligned[..] == *expected && unaligned[1..] == *expected);
            }
            (
                Err(Error::Damaged { offset: Some(offset), .. }),
                Err(Error::Damaged { offset: Some(other), .. }),
            ) => {
                assert_eq!(offset, other);
                found.push((j, offset));
            }
            other => panic!("{other:?}"),
        }
    }
    found
}

#[test]
fn no_block_is_read_from_a_damaged_chunk_and_every_other_block_is() {
    let (scratch, reference) = (Scratch::new(), reference());
    let image = reference.as_bytes();
    for at in [0, 1023, 1024, 500_000, (1 << 20) - 49] {
        let (path, _) = scratch.rom("site.rom");
        let chunk = at / 1024 * 1024;
        flip(&path, at);
        let rom = RomFile::open(&path, None).unwrap();
        for r in [1, 8, 32, 64, 4096] {
            let len = 128 * u64::from(r);
            // Blocks that share a chunk with the damage.
            let blocks = chunk / len..(chunk + 1024).div_ceil(len);
            let expected: Vec<_> = blocks.map(|j| (j, chunk)).collect();
            assert_eq!(damaged_blocks(&rom, r, image), expected, "byte {at}, r = {r}");
        }
        let found = verify(&path, None, &no_progress).unwrap_err();
        assert!(matches!(found, Error::Damaged { offset: Some(o), .. } if o == chunk), "{found}");
        assert!(matches!(rebuild_sums(&path, None, &no_progress), Err(Error::Damaged { .. })));
        // It was only this file, so that mending it is enough.
        flip(&path, at);
        assert_eq!(damaged_blocks(&rom, 8, image), []);
        verify(&path, None, &no_progress).unwrap();
        remove(&path).unwrap();
        assert!(scratch.names().is_empty());
    }
}

/// Chunks that blocks straddle, the last one short, images that are smaller than one.
#[test]
fn images_of_any_shape_have_tables() {
    let scratch = Scratch::new();
    // With the bytes of a chunk and the length of the table.
    let cases = [
        ((4, 1), 1024, 32 + 16 * 2),
        ((4, 12), 1024, 32 + 16 * 7),
        ((64, 12), 1024, 32 + 16 * 98),
        ((16, 96), 8192, 32 + 16 * 25),
        ((16, 1000), 65536, 32 + 16 * 33),
        ((4, 512), 65536, 32 + 16 * 5),
    ];
    for ((nrom, r), chunk, len) in cases {
        let (path, params) = (scratch.path("site.rom"), RomParams::new(nrom, r, 1));
        let manifest = Create::new(params, &seed()).file(&path).unwrap();
        let made = (manifest.chunk, table(&scratch, "site.rom.sums").len());
        assert_eq!(made, (chunk, len), "r = {r}");
        let image = RomImage::init(&params, b"sixteen bytes and more", &mut Workspace::new());
        let image = image.unwrap();
        let rom = RomFile::open(&path, None).unwrap();
        assert_eq!(damaged_blocks(&rom, r, image.as_bytes()), []);
        assert_eq!(damaged_blocks(&rom, r * nrom as u32 / 2, image.as_bytes()), []);
        let (size, block) = (manifest.size(), 128 * u64::from(r));
        let at = size / 2 + 1;
        flip(&path, at);
        let damaged = damaged_blocks(&rom, r, image.as_bytes());
        let start = at / u64::from(chunk) * u64::from(chunk);
        let end = (start + u64::from(chunk)).min(size);
        let expected: Vec<_> = (start / block..end.div_ceil(block)).map(|j| (j, start)).collect();
        assert_eq!(damaged, expected, "r = {r}");
        remove(&path).unwrap();
    }
}

#[test]
fn a_table_that_is_missing_or_damaged_is_said_so_and_made_anew() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    let file = scratch.path("site.rom.sums");
    let good = table(&scratch, "site.rom.sums");
    let spoil: [fn(&Path, &[u8]); 6] = [
        |file, _| std::fs::remove_file(file).unwrap(),
        |file, _| flip(file, 0),
        |file, _| flip(file, 16),
        |file, _| flip(file, 32 + 16),
        |file, good| std::fs::write(file, &good[..good.len() - 1]).unwrap(),
        |file, good| std::fs::write(file, [good, b"!"].concat()).unwrap(),
    ];
    for (number, spoil) in spoil.into_iter().enumerate() {
        spoil(&file, &good);
        for refused in [RomFile::open(&path, None).err(), verify(&path, None, &no_progress).err()] {
            let refused = refused.unwrap();
            assert!(matches!(&refused, Error::Sums { path, .. } if *path == file), "{number}");
            assert!(refused.to_string().contains("--rebuild-sums"), "{refused}");
        }
        // Nothing is used that could not be checked. The image is good, and so is copying it.
        let refused = attach(&path, &AttachOptions::new()).unwrap_err();
        assert!(matches!(refused, Error::Sums { .. }), "{number}: {refused}");
        let copied = scratch.path("copy.rom");
        copy(&path, &copied, &CopyOptions::new()).unwrap();
        assert_eq!(table(&scratch, "copy.rom.sums"), good);
        RomFile::open(&copied, None).unwrap();
        remove(&copied).unwrap();
        let found = list(scratch.directory.path()).unwrap();
        let noticed = matches!(found[0].state, State::Bad(_, Error::Sums { .. }));
        assert!(noticed, "{found:?}");
        assert_eq!(
            rebuild_sums(&path, None, &no_progress).unwrap(),
            Manifest::read(&path).unwrap()
        );
        assert_eq!(table(&scratch, "site.rom.sums"), good);
        assert_eq!(Manifest::read(&path).unwrap(), manifest);
        RomFile::open(&path, None).unwrap();
        verify(&path, None, &no_progress).unwrap();
    }
    // The table of another ROM.
    let other = saltern_rom::Seed::from_bytes(b"another seed").unwrap();
    let stranger = scratch.path("other.rom");
    Create::new(params(), &other).file(&stranger).unwrap();
    std::fs::copy(scratch.path("other.rom.sums"), &file).unwrap();
    assert!(matches!(RomFile::open(&path, None), Err(Error::Sums { .. })));
    rebuild_sums(&path, None, &no_progress).unwrap();
    RomFile::open(&path, None).unwrap();
}

#[test]
fn a_table_comes_and_goes_with_its_manifest_and_overwrites_nothing_else() {
    let (scratch, reference) = (Scratch::new(), reference());
    let (path, manifest) = scratch.rom("site.rom");
    let good = table(&scratch, "site.rom.sums");
    // An adopted image has one too.
    let foreign = scratch.path("foreign.rom");
    std::fs::write(&foreign, reference.as_bytes()).unwrap();
    let adopted = adopt(&foreign, &params(), None, None, &no_progress).unwrap();
    assert!(adopted.hash == manifest.hash && table(&scratch, "foreign.rom.sums") == good);
    remove(&foreign).unwrap();
    // What a creator leaves that is killed between table and manifest.
    std::fs::remove_file(scratch.path("site.rom.json")).unwrap();
    std::fs::remove_file(&path).unwrap();
    let cleaned = || clean(scratch.directory.path()).unwrap().removed;
    assert_eq!(cleaned(), 1);
    assert!(scratch.names().is_empty());
    std::fs::write(scratch.path("site.rom.sums"), &good).unwrap();
    remove(&path).unwrap();
    assert!(scratch.names().is_empty());
    std::fs::write(scratch.path("site.rom.sums"), &good).unwrap();
    assert_eq!(Create::new(params(), &seed()).file(&path).unwrap().id(), manifest.id());
    assert_eq!(cleaned(), 0);
    remove(&path).unwrap();
    // Somebody's own file of that name.
    std::fs::write(scratch.path("site.rom.sums"), "d41d8cd9  site.rom\n").unwrap();
    let refused = Create::new(params(), &seed()).file(&path).unwrap_err();
    assert!(matches!(&refused, Error::Exists { path } if path.ends_with("site.rom.sums")));
    assert_eq!(cleaned(), 0);
    assert!(matches!(remove(&path), Err(Error::NoManifest { .. })));
    assert_eq!(table(&scratch, "site.rom.sums"), b"d41d8cd9  site.rom\n");
    assert_eq!(scratch.names(), ["site.rom.sums"]);
}

#[test]
fn a_mapped_image_is_checked_when_that_is_asked_for() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    for access in [Access::Copy, Access::Memfd] {
        let mut options = AttachOptions::new();
        options.access = access;
        assert!(attach(&path, &options).unwrap().last_checked().is_some());
    }
    assert!(Create::new(params(), &seed()).private().unwrap().last_checked().is_some());
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    let attached = attach(&path, &options).unwrap();
    assert!(attached.last_checked().is_none());
    let stop = |_| std::ops::ControlFlow::Break(());
    assert!(matches!(attached.verify(&stop), Err(Error::Cancelled)));
    flip(&path, 700_000);
    let damaged = |outcome: Result<(), Error>| {
        let refused = outcome.unwrap_err();
        let at = 700_000 / 1024 * 1024;
        assert!(
            matches!(&refused, Error::Damaged { offset: Some(o), .. } if *o == at),
            "{refused}"
        );
    };
    damaged(attached.verify(&no_progress));
    assert!(attached.last_checked().is_none());
    flip(&path, 700_000);
    attached.verify(&no_progress).unwrap();
    assert!(attached.last_checked().is_some());
}

/// Damage in the part of the table that is read later is an error of the table, not of the image.
#[test]
fn a_table_that_is_damaged_after_it_was_opened_accuses_nobody_else() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    let attached = attach(&path, &options).unwrap();
    let rom = RomFile::open(&path, None).unwrap();
    // The first group's chunks, behind the header and 16 groups.
    flip(scratch.path("site.rom.sums"), 32 + 16 * 16 + 5);
    let mut block = DirectBuffer::new(4096).unwrap();
    for refused in [
        attached.verify(&no_progress),
        rom.read_block(1, 32, &mut block),
        verify(&path, None, &no_progress).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Sums { .. })), "{refused:?}");
    }
    rom.read_block(64, 32, &mut block).unwrap();
    rebuild_sums(&path, None, &no_progress).unwrap();
    RomFile::open(&path, None).unwrap().read_block(1, 32, &mut block).unwrap();
}
