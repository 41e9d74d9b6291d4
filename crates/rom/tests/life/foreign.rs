//! What others have put there, or could write to. As root, which can give files away; otherwise
//! said to be skipped.

use std::os::unix::fs::{chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use saltern_rom::{
    Access, AttachOptions, CopyOptions, Create, Error, Location, Manifest, OpenRom, RomFile, State,
    adopt, attach, clean, copy, detach, list, no_progress, rebuild_sums, recompute, remove,
    set_immutable, verify,
};
use saltern_testing::{chmod, skipped};

use super::super::{Scratch, params, seed};

const NOBODY: u32 = 65534;

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("files of other users (not root)");
    }
    root
}

fn untrusted<T: std::fmt::Debug>(outcome: Result<T, Error>, of: &Path) {
    match outcome {
        Err(Error::Untrusted { path, .. }) if path == of => {}
        other => panic!("{}: {other:?}", of.display()),
    }
}

fn mapped() -> AttachOptions<'static> {
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    options
}

#[test]
fn what_others_own_or_may_write_to_is_not_mapped() {
    let Some(scratch) = Scratch::shared() else { return };
    let (path, _) = scratch.rom("site.rom");
    attach(&path, &mapped()).unwrap();
    let manifest = Manifest::path_for(&path);
    for (file, mode, good) in
        [(&path, 0o442, 0o440), (&path, 0o460, 0o440), (&manifest, 0o664, 0o644)]
    {
        chmod(file, mode);
        for access in [Access::Map, Access::Auto, Access::Copy, Access::Memfd] {
            let mut options = AttachOptions::new();
            options.access = access;
            untrusted(attach(&path, &options), file);
        }
        untrusted(RomFile::open(&path, None), file);
        untrusted(set_immutable(&path, true), file);
        chmod(file, good);
    }
    attach(&path, &AttachOptions::new()).unwrap();
    if !is_root() {
        return;
    }
    for file in [&path, &manifest] {
        chown(file, Some(NOBODY), None).unwrap();
        untrusted(attach(&path, &mapped()), file);
        untrusted(attach(&path, &AttachOptions::new()), file);
        untrusted(RomFile::open(&path, None), file);
        untrusted(set_immutable(&path, true), file);
        chown(file, Some(0), None).unwrap();
    }
    attach(&path, &mapped()).unwrap();
    // A good table is good whoever put it there: the hash of the ROM covers it.
    chown(scratch.path("site.rom.sums"), Some(NOBODY), None).unwrap();
    attach(&path, &mapped()).unwrap();
    // What is planted can be taken away.
    chown(&path, Some(NOBODY), None).unwrap();
    chown(&manifest, Some(NOBODY), None).unwrap();
    detach(&path, true).unwrap();
    assert!(scratch.names().is_empty());
}

/// Manifest and image alone could have any number of hashes read into memory: nobody looks at the
/// table of what cannot be trusted anyway.
#[test]
fn tables_of_what_others_may_write_to_are_not_read() {
    let Some(scratch) = Scratch::shared() else { return };
    let (path, _) = scratch.rom("site.rom");
    std::fs::write(scratch.path("site.rom.sums"), "no table").unwrap();
    let bad = || match &list(scratch.directory.path()).unwrap()[..] {
        [found] => format!("{:?}", found.state),
        other => panic!("{other:?}"),
    };
    assert!(bad().contains("Sums"), "{}", bad());
    chmod(&path, 0o442);
    for access in [Access::Map, Access::Auto, Access::Copy, Access::Memfd] {
        let mut options = AttachOptions::new();
        options.access = access;
        untrusted(attach(&path, &options), &path);
    }
    assert!(bad().contains("Untrusted"), "{}", bad());
}

/// On a disk a file of somebody else is copied, and every byte of the copy is checked.
#[test]
fn a_file_on_a_disk_may_be_anybodys_as_long_as_it_is_copied() {
    let scratch = Scratch::new();
    let (path, manifest) = scratch.rom("site.rom");
    if saltern_rom::is_in_memory(&path).unwrap() {
        return skipped("a disk (the temporary directory is in memory)");
    }
    chmod(&path, 0o666);
    untrusted(attach(&path, &mapped()), &path);
    let mut options = AttachOptions::new();
    options.expect = Some(manifest.hash);
    assert!(attach(&path, &options).unwrap().last_checked().is_some());
    RomFile::open(&path, None).unwrap();
}

/// A manifest in a place where all may write can name any file, but has nothing done to it.
#[test]
fn a_planted_manifest_points_nowhere() {
    let Some(scratch) = Scratch::shared() else { return };
    if !is_root() {
        return;
    }
    let (path, manifest) = scratch.rom("real.rom");
    let planted = scratch.path("site.rom");
    let there = format!("\"at\": \"file\", \"path\": \"{}\"", path.display());
    let text = manifest.to_json().replace("\"at\": \"beside\"", &there);
    std::fs::write(Manifest::path_for(&planted), text).unwrap();
    std::fs::copy(scratch.path("real.rom.sums"), scratch.path("site.rom.sums")).unwrap();
    attach(&planted, &mapped()).unwrap();
    chown(Manifest::path_for(&planted), Some(NOBODY), None).unwrap();
    let of = Manifest::path_for(&planted);
    untrusted(attach(&planted, &mapped()), &of);
    untrusted(set_immutable(&planted, true), &of);
    untrusted(remove(&planted), &of);
    // Not even its attributes are changed.
    let fixed = set_immutable(&path, true).is_ok();
    untrusted(detach(&planted, true), &of);
    if fixed {
        assert!(matches!(remove(&path), Err(Error::Io { .. })));
        set_immutable(&path, false).unwrap();
    }
    assert!(path.exists());
}

/// What a planted manifest names is not opened either: it could be where a read never ends.
#[test]
fn what_a_planted_manifest_names_is_not_opened() {
    let Some(scratch) = Scratch::shared() else { return };
    if !is_root() {
        return;
    }
    let (_, manifest) = scratch.rom("real.rom");
    let planted = scratch.path("site.rom");
    // Nothing is there: whoever looks says so.
    let nowhere = scratch.path("nowhere/site.rom");
    let there = format!("\"at\": \"file\", \"path\": \"{}\"", nowhere.display());
    let of = Manifest::path_for(&planted);
    std::fs::write(&of, manifest.to_json().replace("\"at\": \"beside\"", &there)).unwrap();
    assert!(matches!(attach(&planted, &AttachOptions::new()), Err(Error::Io { .. })));
    chown(&of, Some(NOBODY), None).unwrap();
    untrusted(Manifest::read_to_follow(&planted), &of);
    untrusted(attach(&planted, &AttachOptions::new()), &of);
    untrusted(RomFile::open(&planted, Some(manifest.hash)), &of);
    untrusted(OpenRom::open(&planted, None, None), &of);
    untrusted(verify(&planted, None, &no_progress), &of);
    untrusted(copy(&planted, &scratch.path("copy.rom"), &CopyOptions::new()), &of);
    let found = list(scratch.directory.path()).unwrap();
    let site = found.iter().find(|found| found.image == planted).unwrap();
    assert!(matches!(&site.state, State::Bad(_, Error::Untrusted { .. })), "{:?}", site.state);
    // Nor is a link followed that has the image's name.
    std::fs::write(&of, "{}").unwrap();
    symlink("/nowhere", &planted).unwrap();
    let found = list(scratch.directory.path()).unwrap();
    let site = found.iter().find(|found| found.image == planted).unwrap();
    assert!(matches!(&site.state, State::Unusable(_)), "{:?}", site.state);
}

/// A segment that another user has made, under the key that is expected.
#[test]
fn a_planted_segment_is_refused() {
    let key = 0x5a1a_0000 | (std::process::id() as i32 & 0xffff);
    let scratch = Scratch::new();
    if !is_root() {
        return;
    }
    let (file, manifest) = scratch.rom("site.rom");
    // Made by nobody, with the image that it should have: it could be changed at any time.
    let script = format!(
        "import ctypes, sys\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\n\
         data = open(sys.argv[1], 'rb').read()\nid = c.shmget({key}, len(data), 0o1644)\n\
         at = c.shmat(id, None, 0)\nctypes.memmove(at, data, len(data))\nprint(id)"
    );
    let image = scratch.path("copy");
    std::fs::copy(&file, &image).unwrap();
    chmod(&image, 0o444);
    chmod(scratch.directory.path(), 0o755);
    let mut python = Command::new("python3");
    let made = python.arg("-c").arg(script).arg(&image).uid(NOBODY).gid(NOBODY).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return skipped("segments of other users (python3)");
    };
    let path = scratch.path("segment.rom");
    let at = format!("\"at\": \"sysv\", \"key\": {key}");
    let text = manifest.to_json().replace("\"at\": \"beside\"", &at);
    std::fs::write(Manifest::path_for(&path), text).unwrap();
    std::fs::copy(scratch.path("site.rom.sums"), scratch.path("segment.rom.sums")).unwrap();
    let refused = attach(&path, &AttachOptions::new());
    let checked = [
        verify(&path, None, &no_progress),
        rebuild_sums(&path, None, &no_progress),
        recompute(&path, None, &seed(), 1, &no_progress),
        copy(&path, &scratch.path("copied.rom"), &CopyOptions::new()),
        adopt(&scratch.path("adopted.rom"), &params(), Some(key), None, &no_progress),
    ];
    let mut options = CopyOptions::new();
    options.location = Location::Sysv { key };
    let replaced = copy(&file, &path, &options);
    options.replace = true;
    // It may be the data of another program: root could remove it.
    let taken = copy(&file, &path, &options);
    let removed = [remove(&path), detach(&path, true)];
    let id = String::from_utf8_lossy(&made.stdout).into_owned();
    let remove_it = format!("import ctypes\nctypes.CDLL(None).shmctl({id}, 0, None)");
    Command::new("python3").arg("-c").arg(remove_it).status().unwrap();
    remove(&path).unwrap();
    assert!(matches!(taken, Err(Error::Untrusted { owner: NOBODY, .. })), "{taken:?}");
    for removed in removed {
        assert!(matches!(removed, Err(Error::Untrusted { owner: NOBODY, .. })), "{removed:?}");
    }
    assert!(matches!(refused, Err(Error::Untrusted { owner: NOBODY, .. })), "{refused:?} {made:?}");
    // Its owner could change it between two looks, and what was written would not be what was
    // hashed.
    for checked in checked {
        assert!(matches!(checked, Err(Error::Untrusted { owner: NOBODY, .. })), "{checked:?}");
    }
    assert!(matches!(replaced, Err(Error::Exists { .. })), "{replaced:?}");
}

/// Of the right size and without a tag: perhaps another program's data.
#[test]
fn a_segment_that_is_not_ours_is_replaced_only_when_asked() {
    let key = 0x5a1b_0000 | (std::process::id() as i32 & 0xffff);
    let script =
        format!("import ctypes\nc = ctypes.CDLL(None)\nprint(c.shmget({key}, 1 << 20, 0o1600))");
    let made = Command::new("python3").arg("-c").arg(script).output();
    if !made.is_ok_and(|made| made.status.success() && !made.stdout.starts_with(b"-1")) {
        return skipped("a segment of another program (python3)");
    }
    let (scratch, seed) = (Scratch::new(), seed());
    let path = scratch.path("site.rom");
    let mut create = Create::new(params(), &seed);
    create.location = Location::Sysv { key };
    let refused = create.file(&path);
    create.replace = true;
    let replaced = create.file(&path);
    remove(&path).unwrap();
    assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
    replaced.unwrap();
}

/// Anybody may make such files in a directory that all may write to.
#[test]
fn lists_wait_for_nothing_and_cleaning_leaves_what_is_not_ours() {
    let scratch = Scratch::new();
    let (good, _) = scratch.rom("site.rom");
    let pipe = |name: &str| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            scratch.path(name),
            rustix::fs::FileType::Fifo,
            0o666.into(),
            0,
        )
        .unwrap();
    };
    for name in [".a.saltern-part", ".x.part", "b.json", "b", "c.sums"] {
        pipe(name);
    }
    std::fs::create_dir(scratch.path(".d.saltern-part")).unwrap();
    std::fs::write(scratch.path(".mine.part"), "another program's").unwrap();
    symlink(&good, scratch.path(".e.saltern-part")).unwrap();
    std::fs::write(scratch.path(".z.saltern-part"), "left").unwrap();
    let directory = scratch.directory.path().to_owned();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let found = list(&directory).unwrap();
        let _ = sender.send((found, clean(&directory).unwrap()));
    });
    let (found, cleaned) = receiver.recv_timeout(Duration::from_secs(20)).expect("it waits");
    let states: Vec<_> = found.iter().map(|found| format!("{:?}", found.state)).collect();
    assert!(matches!(found[0].state, State::Interrupted), "{states:?}");
    assert!(matches!(found[1].state, State::Unusable(_)), "{states:?}");
    assert!(matches!(found[2].state, State::Ready(_)), "{states:?}");
    assert_eq!((found.len(), cleaned.removed), (3, 1), "{states:?} {cleaned:?}");
    assert_eq!(cleaned.left.len(), 3, "{cleaned:?}");
    let left = scratch.names();
    let kept = [".a.saltern-part", ".d.saltern-part", ".e.saltern-part", ".mine.part", ".x.part"];
    assert!(kept.iter().all(|name| left.iter().any(|left| left == name)), "{left:?}");
    verify(&good, None, &no_progress).unwrap();
    if is_root() {
        // Another user's, which its owner may go on with.
        let theirs = scratch.path(".w.saltern-part");
        std::fs::write(&theirs, "theirs").unwrap();
        chown(&theirs, Some(NOBODY), None).unwrap();
        assert_eq!(clean(scratch.directory.path()).unwrap().removed, 0);
        assert!(theirs.exists());
    }
}

/// Neither a device, nor what a link leads to.
#[test]
fn only_regular_files_are_replaced() {
    let (scratch, seed) = (Scratch::new(), seed());
    let mut create = Create::new(params(), &seed);
    create.replace = true;
    let refused = create.file("/dev/null".as_ref());
    assert!(matches!(&refused, Err(Error::NotRegular { path }) if path.as_os_str() == "/dev/null"));
    let precious = scratch.path("precious");
    std::fs::write(&precious, "precious").unwrap();
    for name in ["site.rom", "site.rom.json", "site.rom.sums"] {
        symlink(&precious, scratch.path(name)).unwrap();
        let refused = create.file(&scratch.path("site.rom"));
        assert!(matches!(refused, Err(Error::NotRegular { .. })), "{name}: {refused:?}");
        let adopted = adopt(&scratch.path("site.rom"), &params(), None, None, &no_progress);
        assert!(adopted.is_err());
        std::fs::remove_file(scratch.path(name)).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(scratch.names(), ["precious"]);
}
