//! Creation, checks, copies, lists.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use saltern_rom::{
    Access, AttachOptions, ComputeIn, CopyOptions, Create, Error, Manifest, RomPages, Seed,
    SeedSource, Stage, State, adopt, attach, check, copy, list, no_progress, rebuild_sums,
    recompute, remove, verify,
};
use saltern_testing::chmod;
use saltern_testing::damage::flip;
use saltern_yescrypt::rom::{RomParams, RomView};

use super::super::{Scratch, hash, params, reference, seed};

#[test]
fn a_file_is_what_the_core_makes_however_it_is_filled() {
    let (scratch, reference) = (Scratch::new(), reference());
    let seed = seed();
    for (compute_in, threads, pages) in [
        (ComputeIn::Memory, 1, RomPages::Base),
        (ComputeIn::Memory, 2, RomPages::Huge2M),
        (ComputeIn::Mapping, 3, RomPages::Transparent),
        (ComputeIn::Auto, 8, RomPages::Huge1G),
    ] {
        let path = scratch.path("site.rom");
        let mut create = Create::new(params(), &seed);
        (create.compute_in, create.threads, create.pages) = (compute_in, threads, pages);
        create.replace = true;
        let manifest = create.file(&path).unwrap();
        assert!(std::fs::read(&path).unwrap() == reference.as_bytes(), "{compute_in:?}");
        assert_eq!(manifest.digest, RomView::new(&reference).unwrap().digest());
        assert_eq!(Manifest::read(&path).unwrap().digest, manifest.digest);
        assert_eq!(manifest.hash, root(reference.as_bytes(), &params(), manifest.chunk));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o440);
        assert_eq!(scratch.names(), ["site.rom", "site.rom.json", "site.rom.sums"]);
    }
}

/// The hash of a ROM, as docs/rom.md has it in Python.
fn root(image: &[u8], params: &RomParams, chunk: u32) -> saltern_rom::RomHash {
    let hash = |personal: &str, len, bytes: &[u8]| {
        let hash = saltern_blake2::blake2b::Params::new().hash_length(len).unwrap();
        hash.personal(personal.as_bytes()).unwrap().hash(bytes).as_bytes().to_vec()
    };
    let of_chunk = |chunk: &[u8]| {
        let leaves: Vec<_> =
            chunk.chunks(4096).flat_map(|leaf| hash("saltern leaf", 16, leaf)).collect();
        hash("saltern chunk", 16, &leaves)
    };
    let chunks: Vec<_> = image.chunks(chunk as usize).flat_map(of_chunk).collect();
    let groups = chunks.chunks(64 * 16).flat_map(|group| hash("saltern group", 16, group));
    let mut bytes = Vec::new();
    bytes.extend((image.len() as u64).to_le_bytes());
    bytes.extend(params.nrom.to_le_bytes());
    let flavor = params.flavor;
    for number in [params.r, params.p, params.t, flavor.rounds(), flavor.gather(), flavor.simple()]
    {
        bytes.extend(number.to_le_bytes());
    }
    for number in [flavor.sbox_bytes(), flavor.salsa_mix(), flavor.salsa_tail(), chunk] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(groups);
    let root: [u8; 32] = hash("saltern root", 32, &bytes).try_into().unwrap();
    root.into()
}

/// Images that differ have hashes that differ, also where the end is the same and the manifest is
/// made anew.
#[test]
fn no_other_image_can_have_the_id() {
    let (scratch, reference) = (Scratch::new(), reference());
    let (path, manifest) = scratch.rom("site.rom");
    let forged = scratch.path("forged.rom");
    let mut image = vec![0; reference.as_bytes().len()];
    let tail = image.len() - 48;
    image[tail..].copy_from_slice(&reference.as_bytes()[tail..]);
    std::fs::write(&forged, &image).unwrap();
    let adopted = adopt(&forged, &params(), None, None, &no_progress).unwrap();
    assert_eq!(adopted.digest, manifest.digest);
    assert_ne!(adopted.hash, manifest.hash);
    assert_ne!(adopted.id(), manifest.id());
    let mut expected = AttachOptions::new();
    expected.expect = Some(manifest.hash);
    assert!(matches!(attach(&forged, &expected), Err(Error::WrongRom { .. })));
    // With the other's manifest, and with its table as well.
    std::fs::copy(Manifest::path_for(&path), Manifest::path_for(&forged)).unwrap();
    assert!(matches!(attach(&forged, &expected), Err(Error::Sums { .. })));
    std::fs::copy(scratch.path("site.rom.sums"), scratch.path("forged.rom.sums")).unwrap();
    assert!(matches!(attach(&forged, &expected), Err(Error::Damaged { .. })));
    assert!(matches!(verify(&forged, None, &no_progress), Err(Error::Damaged { .. })));
    expected.access = Access::Map;
    let attached = attach(&forged, &expected).unwrap();
    assert!(matches!(attached.verify(&no_progress), Err(Error::Damaged { .. })));
}

#[test]
fn nothing_is_replaced_unasked() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    let other = Seed::from_bytes(b"another seed").unwrap();
    assert!(matches!(Create::new(params(), &other).file(&path), Err(Error::Exists { .. })));
    assert_eq!(verify(&path, None, &no_progress).unwrap(), Manifest::read(&path).unwrap());
    assert_eq!(Manifest::read(&path).unwrap().id(), manifest.id());

    // An image that was lost is made again from its seed, and from no other.
    std::fs::remove_file(&path).unwrap();
    let refused = Create::new(params(), &other).file(&path).unwrap_err();
    assert!(matches!(refused, Error::WrongRom { .. }), "{refused}");
    let mut larger = params();
    larger.nrom *= 2;
    let refused = Create::new(larger, &seed()).file(&path).unwrap_err();
    assert!(matches!(refused, Error::Exists { .. }), "{refused}");
    assert_eq!(scratch.names(), ["site.rom.json", "site.rom.sums"]);
    assert_eq!(Create::new(params(), &seed()).file(&path).unwrap().digest, manifest.digest);
    verify(&path, None, &no_progress).unwrap();
}

#[test]
fn what_was_expected_is_checked_at_both_ends() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    let (known, seed) = (seed(), Seed::from_bytes(b"mistyped").unwrap());
    let mut create = Create::new(params(), &seed);
    create.expect = Some(manifest.hash);
    let refused = create.file(&scratch.path("again.rom")).unwrap_err();
    assert!(matches!(refused, Error::WrongRom { expected, .. } if expected == manifest.hash));
    create.seed = &known;
    create.file(&scratch.path("again.rom")).unwrap();
    let mut options = AttachOptions::new();
    options.expect = Some(manifest.hash);
    attach(&path, &options).unwrap();
    options.expect = Some([7; 32].into());
    assert!(matches!(attach(&path, &options), Err(Error::WrongRom { .. })));
}

#[test]
fn seeds_come_from_files_descriptors_and_the_generator() {
    let scratch = Scratch::new();
    let backup = scratch.path("site.seed");
    let generated = Seed::generate(&backup).unwrap();
    let text = std::fs::read_to_string(&backup).unwrap();
    assert!(
        text.len() == 64 && text.bytes().all(|c| c.is_ascii_hexdigit()),
        "{} bytes",
        text.len()
    );
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(
        matches!(generated.source(), SeedSource::Generated { path } if path.ends_with("site.seed"))
    );
    assert!(!format!("{generated:?}").contains(&text));
    assert!(matches!(Seed::generate(&backup), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), text);

    let id = |seed: &Seed| Create::new(params(), seed).private().unwrap().id();
    let expected = id(&generated);
    assert_eq!(id(&Seed::from_file(&backup).unwrap()), expected);
    assert_eq!(id(&Seed::from_bytes(text.as_bytes()).unwrap()), expected);
    for end in ["\n", "\r\n"] {
        let line = format!("{text}{end}");
        assert_eq!(id(&Seed::from_reader(line.as_bytes()).unwrap()), expected);
    }
    for other in [format!("{text}\r"), format!("{text}\n\n"), text[1..].to_owned()] {
        assert_ne!(id(&Seed::from_reader(other.as_bytes()).unwrap()), expected);
    }
    for (length, fits) in [(0, false), (15, false), (16, true), (1 << 20, true), (1 << 21, false)] {
        let read = Seed::from_reader(vec![7; length].as_slice());
        assert_eq!(read.is_ok(), fits, "{length}");
    }
    assert!(matches!(Seed::from_file(&scratch.path("none")), Err(Error::Io { .. })));
    assert!(matches!(Seed::from_file(&scratch.path("")), Err(Error::Io { .. })));
}

#[test]
fn progress_comes_in_stages_and_any_call_can_end_it() {
    let scratch = Scratch::new();
    let path = scratch.path("site.rom");
    let stages = Mutex::new(Vec::new());
    let seed = seed();
    let mut create = Create::new(params(), &seed);
    let watch = |progress: saltern_rom::Progress| {
        assert!(progress.done <= progress.total);
        stages.lock().unwrap().push(progress.stage);
        ControlFlow::Continue(())
    };
    create.watch = &watch;
    create.file(&path).unwrap();
    remove(&path).unwrap();
    let mut stages = stages.into_inner().unwrap();
    let calls = stages.len();
    stages.dedup();
    assert_eq!(stages, [Stage::Fill(1), Stage::Fill(2), Stage::Fill(3), Stage::Write]);
    for last in 1..=calls {
        let count = AtomicUsize::new(0);
        let watch = |_| match count.fetch_add(1, Ordering::Relaxed) + 1 < last {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let mut create = Create::new(params(), &seed);
        create.watch = &watch;
        assert!(matches!(create.file(&path), Err(Error::Cancelled)), "{last} of {calls}");
        assert!(scratch.names().is_empty(), "{:?}", scratch.names());
    }
}

#[test]
fn verification_finds_any_changed_byte_and_recomputation_says_where() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    verify(&path, None, &no_progress).unwrap();
    recompute(&path, None, &seed(), 2, &no_progress).unwrap();
    let wrong = Seed::from_bytes(b"no").unwrap();
    assert!(matches!(recompute(&path, None, &wrong, 1, &no_progress), Err(Error::WrongRom { .. })));
    // The bytes are right, and the hash that the manifest has is another one's.
    let text = std::fs::read_to_string(Manifest::path_for(&path)).unwrap();
    let hash = Manifest::read(&path).unwrap().hash.to_string();
    let digit = if hash.starts_with('0') { "1" } else { "0" };
    // The id as well, which is its beginning.
    let forged = text.replace(&hash[..16], &format!("{digit}{}", &hash[1..16]));
    std::fs::write(Manifest::path_for(&path), forged).unwrap();
    let forged = recompute(&path, None, &seed(), 1, &no_progress);
    assert!(matches!(forged, Err(Error::WrongRom { .. })), "{forged:?}");
    std::fs::write(Manifest::path_for(&path), text).unwrap();

    chmod(&path, 0o600);
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let size = manifest.size();
    for at in [0, 1, size / 2, size - 49, size - 48, size - 32, size - 1] {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let found = verify(&path, None, &no_progress).unwrap_err();
        let attached = attach(&path, &AttachOptions::new());
        // What is only mapped is read if that is asked for, or later.
        let mut mapped = AttachOptions::new();
        mapped.access = Access::Map;
        if at < size - 48 {
            let attached = attach(&path, &mapped).unwrap();
            assert!(matches!(attached.verify(&no_progress), Err(Error::Damaged { .. })));
        }
        mapped.verify = true;
        assert!(attach(&path, &mapped).is_err());
        match (size - at, found, attached.unwrap_err()) {
            (33..=48, Error::NotFilled { .. }, Error::NotFilled { .. }) => {}
            (..=32, Error::WrongRom { .. }, Error::WrongRom { .. }) => {}
            (49.., Error::Damaged { .. }, Error::Damaged { .. }) => {
                let found = recompute(&path, None, &seed(), 1, &no_progress).unwrap_err();
                assert!(
                    matches!(found, Error::Damaged { offset: Some(o), .. } if o == at),
                    "{found}"
                );
            }
            other => panic!("byte {at}: {other:?}"),
        }
        file.write_all_at(&byte, at).unwrap();
    }
    verify(&path, None, &no_progress).unwrap();
    let mut mapped = AttachOptions::new();
    (mapped.access, mapped.verify) = (Access::Map, true);
    let attached = attach(&path, &mapped).unwrap();
    file.write_all_at(b"changed while it is attached", size / 3).unwrap();
    assert!(matches!(attached.verify(&no_progress), Err(Error::Damaged { .. })));
}

#[test]
fn copies_are_checked_and_listed_and_removed() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("b.rom");
    let to = scratch.path("a.rom");
    let (keep, mut replace) = (CopyOptions::new(), CopyOptions::new());
    replace.replace = true;
    copy(&path, &to, &keep).unwrap();
    assert!(matches!(copy(&path, &to, &keep), Err(Error::Exists { .. })));
    copy(&path, &to, &replace).unwrap();
    assert_eq!(verify(&to, None, &no_progress).unwrap().hash, manifest.hash);

    // A damaged source changes nothing.
    chmod(&path, 0o600);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"!", 12345).unwrap();
    assert!(matches!(copy(&path, &to, &replace), Err(Error::Damaged { .. })));
    verify(&to, None, &no_progress).unwrap();
    file.set_len(5).unwrap();
    assert!(matches!(copy(&path, &to, &replace), Err(Error::Size { actual: 5, .. })));

    std::fs::write(scratch.path("other.json"), "{}").unwrap();
    std::fs::write(scratch.path(".c.rom.saltern-part"), "left behind").unwrap();
    let found = list(scratch.directory.path()).unwrap();
    let states: Vec<_> = found.iter().map(|found| (found.image.as_path(), &found.state)).collect();
    let c = scratch.path("c.rom");
    assert!(
        matches!(states[..], [
        (left, State::Interrupted), (good, State::Ready(_)), (bad, State::Bad(_, Error::Size { .. })),
    ] if left == c && good == to && bad == path),
        "{states:?}"
    );

    assert_eq!(saltern_rom::clean(scratch.directory.path()).unwrap().removed, 1);
    remove(&path).unwrap();
    remove(&to).unwrap();
    assert!(matches!(remove(&to), Err(Error::NoManifest { .. })));
    assert_eq!(scratch.names(), ["other.json"]);
}

#[test]
fn an_image_from_elsewhere_is_adopted() {
    let (scratch, reference) = (Scratch::new(), reference());
    let path = scratch.path("foreign.rom");
    std::fs::write(&path, reference.as_bytes()).unwrap();
    assert!(matches!(attach(&path, &AttachOptions::new()), Err(Error::NoManifest { .. })));
    let mut other = params();
    other.nrom *= 2;
    assert!(matches!(adopt(&path, &other, None, None, &no_progress), Err(Error::Size { .. })));
    let manifest = adopt(&path, &params(), None, None, &no_progress).unwrap();
    assert_eq!(manifest.seed, SeedSource::Unknown);
    assert!(matches!(adopt(&path, &params(), None, None, &no_progress), Err(Error::Exists { .. })));
    let attached = attach(&path, &AttachOptions::new()).unwrap();
    assert_eq!(hash(attached.rom().unwrap()), hash(RomView::new(&reference).unwrap()));
    recompute(&path, None, &seed(), 1, &no_progress).unwrap();
    std::fs::remove_file(Manifest::path_for(&path)).unwrap();
    let other = adopt(&path, &params(), None, Some([7; 32].into()), &no_progress).unwrap_err();
    assert!(matches!(other, Error::WrongRom { actual: Some(it), .. } if it == manifest.hash));
    adopt(&path, &params(), None, Some(manifest.hash), &no_progress).unwrap();

    std::fs::write(scratch.path("zeros.rom"), vec![0; reference.as_bytes().len()]).unwrap();
    let refused =
        adopt(&scratch.path("zeros.rom"), &params(), None, None, &no_progress).unwrap_err();
    assert!(matches!(refused, Error::NotFilled { .. }), "{refused}");
}

#[test]
fn another_rom_than_the_expected_one_is_refused_before_it_is_read() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    let (other, watch) = (Some([7; 32].into()), |_| panic!("it is read"));
    for refused in [
        check(&path, other),
        verify(&path, other, &watch),
        rebuild_sums(&path, other, &watch),
        recompute(&path, other, &seed(), 1, &watch),
    ] {
        assert!(matches!(refused, Err(Error::WrongRom { .. })), "{refused:?}");
    }
    assert_eq!(check(&path, Some(manifest.hash)).unwrap(), manifest);
    flip(&path, (1 << 20) - 1);
    assert!(matches!(check(&path, None), Err(Error::WrongRom { .. })));
}

#[test]
fn paths_that_a_manifest_cannot_name_are_refused_at_once() {
    let scratch = Scratch::new();
    let path = scratch.path("").join(std::ffi::OsStr::from_bytes(b"seed\xff"));
    std::fs::write(&path, "a seed in an oddly named file").unwrap();
    let odd = Seed::from_file(&path).unwrap();
    let watch = |_| panic!("it began");
    let mut create = Create::new(params(), &odd);
    create.watch = &watch;
    let refused = create.file(&scratch.path("site.rom")).unwrap_err();
    assert!(matches!(refused, Error::Manifest { .. }), "{refused}");
    let odd = Seed::from_reader(std::fs::File::open(&path).unwrap()).unwrap();
    Create::new(params(), &odd).file(&scratch.path("site.rom")).unwrap();
}

#[test]
fn parameters_that_define_no_rom_are_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let seed = seed();
    let changes: [fn(&mut Create<'_>); 5] = [
        |create| create.params.nrom = 1000,
        |create| create.params.nrom = 2,
        |create| create.params.r = 0,
        |create| create.params.p = 513,
        |create| create.params.nrom = 1 << 62,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut create = Create::new(params(), &seed);
        change(&mut create);
        let refused = create.file(&scratch.path("site.rom")).unwrap_err();
        assert!(
            matches!(refused, Error::Yescrypt(_) | Error::NoMemory { .. }),
            "{number} {refused}"
        );
        assert!(create.private().is_err() && create.memfd().is_err());
    }
    // Too large for any disk.
    let mut create = Create::new(params(), &seed);
    create.params.nrom = 1 << 45;
    let refused = create.file(&scratch.path("site.rom")).unwrap_err();
    assert!(matches!(refused, Error::NoSpace { .. }), "{refused}");
    assert!(matches!(create.private(), Err(Error::NoMemory { .. })));
    assert!(scratch.names().is_empty());
}

/// What is beside an image in shared memory is memory, too, and more of it than there is brings
/// about the end of other processes.
#[test]
fn shared_memory_is_no_place_for_what_memory_has_no_room_for() {
    let Some(scratch) = Scratch::shared() else { return };
    let (path, mut manifest) = scratch.rom("site.rom");
    let mut image = std::fs::read(&path).unwrap();
    // Of 1 PiB, all of it holes but for the end.
    manifest.params.nrom = 1 << 40;
    std::fs::write(Manifest::path_for(&path), manifest.to_json()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let file = std::fs::File::create_new(&path).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
    let end = image.split_off(image.len() - 64);
    file.write_all_at(&end, manifest.size() - 64).unwrap();
    let refused = recompute(&path, None, &seed(), 1, &no_progress).unwrap_err();
    assert!(matches!(refused, Error::NoMemory { available: Some(_), .. }), "{refused}");
    assert_eq!(scratch.names(), ["site.rom", "site.rom.json", "site.rom.sums"]);
}
