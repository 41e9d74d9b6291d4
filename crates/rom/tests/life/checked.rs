//! A mismatch is never said because of a ROM, and no hash is stored that was made with a damaged
//! one.

use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use saltern_rom::{
    Access, AttachOptions, CheckedRoms, Create, Error, OpenRom, Recheck, RomFile, attach,
};
use saltern_yescrypt::{
    HashString, Hasher, Limits, Params, Workspace,
    rom::{NamedRom, Rom, RomMasks, RomParams, RomReading, RomSet},
};

use super::super::{Scratch, params, seed};

fn flip(path: &Path, at: u64) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o640)).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// The ROM mapped, so that what is done to the file is done to the memory, and in its file.
fn sources(path: &Path) -> [OpenRom; 2] {
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    [attach(path, &options).unwrap().into(), RomFile::open(path, None).unwrap().into()]
}

/// A hasher with one ROM, which is also there to be checked.
fn hasher(source: &OpenRom, params: Params) -> (Hasher, CheckedRoms) {
    let (rom, id) = (source.rom().unwrap(), source.manifest().id());
    let mut set = RomSet::new();
    set.attach(id, rom.clone()).unwrap();
    set.activate(id).unwrap();
    let hasher = Hasher::new().with_limits(Limits::unlimited()).with_params(params);
    (hasher.with_roms(set), CheckedRoms::new(vec![(rom, source.clone())]))
}

#[test]
fn checked_hashes_are_the_same_hashes() {
    let scratch = Scratch::new();
    let mut workspace = Workspace::new();
    let mut count = 0;
    // Blocks that are chunks, parts of them, some of them, and that lie across their bounds.
    for (nrom, r) in [(1024, 8), (256, 12), (256, 32), (32, 96), (16, 1000)] {
        let (path, of_rom) = (scratch.path("site.rom"), RomParams::new(nrom, r, 1));
        let seed = seed();
        let mut create = Create::new(of_rom, &seed);
        create.replace = true;
        create.file(&path).unwrap();
        let [memory, file] = sources(&path);
        for (p, t) in [(1, 0), (2, 1), (3, 0)] {
            let mut params = Params::yescrypt(64, r);
            (params.p, params.t, params.nrom) = (p, t, nrom);
            let (fast, checked) = hasher(&memory, params);
            let (stored, from_file) = hasher(&file, params);
            let setting = fast.setting(b"a salt of bytes").unwrap();
            let expected = fast.hash_with_setting(&mut workspace, b"pw", setting.as_bytes());
            let expected = expected.unwrap();
            assert!(checked.concern(&fast, &setting).unwrap());
            assert!(!from_file.concern(&stored, &setting).unwrap());
            for (hasher, roms) in [(&fast, &checked), (&stored, &from_file)] {
                let hash = roms.hash(hasher, &mut workspace, b"pw", &setting).unwrap();
                assert_eq!(hash, expected, "r = {r}, p = {p}");
                let string = HashString::parse(&hash).unwrap();
                assert!(roms.verify(hasher, &mut workspace, b"pw", &string).unwrap());
                assert!(!roms.verify(hasher, &mut workspace, b"Pw", &string).unwrap());
                count += 1;
            }
            // Read in another way, half of the image, with a look-ahead.
            let reading =
                RomReading { nrom: nrom / 2, masks: RomMasks { fill: 0, mix: 3 }, look_ahead: 5 };
            let named = NamedRom { reading, ..NamedRom::new(memory.manifest().id(), nrom) };
            let listed = fast.clone().with_named_roms(&[named]);
            let Ok(setting) = listed.setting(b"salt") else { continue };
            let hash = checked.hash(&listed, &mut workspace, b"pw", &setting);
            let expected = listed.hash_with_setting(&mut workspace, b"pw", setting.as_bytes());
            assert_eq!(hash.ok(), expected.ok(), "r = {r}, p = {p}");
        }
    }
    assert_eq!(count, 30);
}

/// Wherever the damage is, and whether it was there before or came after a true mismatch.
#[test]
fn a_damaged_rom_is_an_error_and_never_a_mismatch() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let mut workspace = Workspace::new();
    let [memory, _] = sources(&path);
    let mut params = Params::yescrypt(64, 32);
    params.nrom = 256;
    let (hasher, roms) = hasher(&memory, params);
    let setting = hasher.setting(b"salt").unwrap();
    let text = roms.hash(&hasher, &mut workspace, b"right", &setting).unwrap();
    let stored = HashString::parse(&text).unwrap();
    // The first mismatch, with a good ROM, is one, and says nothing about the next.
    assert!(!roms.verify(&hasher, &mut workspace, b"wrong", &stored).unwrap());
    let (mut errors, mut answers, mut mismatches) = (0, 0, 0);
    for chunk in 0..256u64 {
        flip(&path, chunk * 4096 + 17 * (chunk % 200));
        for password in [b"right", b"wrong"] {
            let fast = hasher.verify(&mut workspace, password, &text).unwrap();
            mismatches += u32::from(!fast);
            match roms.verify(&hasher, &mut workspace, password, &stored) {
                Ok(answer) => {
                    assert_eq!(answer, password == b"right", "chunk {chunk}");
                    answers += 1;
                }
                Err(Error::Unavailable { id, source }) => {
                    assert_eq!(id, memory.manifest().id());
                    let at = chunk * 4096;
                    assert!(matches!(*source, Error::Damaged { offset: Some(o), .. } if o == at));
                    errors += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        match roms.hash(&hasher, &mut workspace, b"right", &setting) {
            Ok(hash) => assert_eq!(hash, text, "chunk {chunk}"),
            Err(error) => assert!(matches!(error, Error::Unavailable { .. }), "{error}"),
        }
        flip(&path, chunk * 4096 + 17 * (chunk % 200));
    }
    // Had the check not been there, these would have been right passwords that are called wrong.
    assert!(
        mismatches > 256 + 10 && errors > 20 && answers > 200,
        "{mismatches} {errors} {answers}"
    );
    assert!(roms.verify(&hasher, &mut workspace, b"right", &stored).unwrap());
    // The end of the image, which every hash reads.
    flip(&path, (1 << 20) - 100);
    for password in [b"right", b"wrong"] {
        let refused = roms.verify(&hasher, &mut workspace, password, &stored);
        assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    }
    let refused = roms.hash(&hasher, &mut workspace, b"right", &setting);
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
}

#[test]
fn a_rom_that_is_not_to_be_checked_is_said_so() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let [memory, _] = sources(&path);
    let mut params = Params::yescrypt(64, 8);
    params.nrom = 1024;
    let (hasher, _) = hasher(&memory, params);
    let none = CheckedRoms::new(vec![(
        Rom::new(match &memory {
            OpenRom::Memory(attached) => Arc::clone(attached),
            OpenRom::File(_) => unreachable!(),
        })
        .unwrap(),
        memory,
    )]);
    let setting = hasher.setting(b"salt").unwrap();
    let refused = none.hash(&hasher, &mut Workspace::new(), b"pw", &setting);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
}

#[test]
fn damage_that_no_hash_reads_is_found_by_age() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    let attached = Arc::new(attach(&path, &options).unwrap());
    let (sender, receiver) = mpsc::channel();
    let tell = move |_: &saltern_rom::Attached, error: &Error| {
        let _ = sender.send(error.to_string());
    };
    let age = Duration::from_millis(20);
    let recheck = Recheck::start(vec![attached.clone()], age, tell).unwrap();
    while attached.last_checked().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(receiver.try_recv().is_err());
    flip(&path, 500_000);
    let told = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(told.contains("damaged at byte 499712"), "{told}");
    drop(recheck);
    attached.verify(&|_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(params().nrom, 1024);
}
