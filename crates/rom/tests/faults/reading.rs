//! Images that change or fail under those who read them, and limits of the process.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use saltern_rom::{AttachOptions, Create, Error, Manifest, RomFile, Seed, attach};
use saltern_testing::{chmod, skipped};

use super::child::{Running, command, hash, params, run, seed};

fn rom(directory: &Path, name: &str, seed: &Seed) -> PathBuf {
    let path = directory.join(name);
    let mut create = Create::new(params(), seed);
    create.mode = 0o640;
    create.file(&path).unwrap();
    path
}

#[test]
fn shortening_a_file_kills_nobody_who_did_not_ask_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let expected = hash(Create::new(params(), &seed()).private().unwrap().rom().unwrap());
    for task in ["auto", "memfd", "map", "read"] {
        let path = rom(directory.path(), task, &seed());
        let words = ["attach", path.to_str().unwrap(), task];
        let words = if task == "read" { &["read", words[1]][..] } else { &words };
        let mut child = Running::start(command(&[], words));
        assert_eq!(child.line(), "attached");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        child.go_on();
        let line = child.line();
        let status = child.end();
        match task {
            // What is mapped on demand dies: this is why it has to be asked for.
            "map" => assert_eq!((line.as_str(), status.signal()), ("", Some(7))),
            "read" => {
                assert!(
                    line.contains("has 1048576 bytes, but its manifest says 4194304"),
                    "{line}"
                );
                assert!(status.success());
            }
            _ => {
                assert_eq!(line, expected);
                assert!(status.success());
            }
        }
        // Who comes later is told.
        let refused = attach(&path, &AttachOptions::new()).unwrap_err();
        assert!(matches!(refused, Error::Size { actual: 0x10_0000, .. }), "{refused}");
        assert!(matches!(RomFile::open(&path, None), Err(Error::Size { .. })));
    }
}

#[test]
fn replacing_a_file_by_renaming_disturbs_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let expected = hash(Create::new(params(), &seed()).private().unwrap().rom().unwrap());
    let other = Seed::from_bytes(b"another").unwrap();
    for task in ["auto", "map"] {
        let path = rom(directory.path(), task, &seed());
        let mut child = Running::start(command(&[], &["attach", path.to_str().unwrap(), task]));
        assert_eq!(child.line(), "attached");
        let mut create = Create::new(params(), &other);
        create.replace = true;
        create.file(&path).unwrap();
        child.go_on();
        assert_eq!(child.line(), expected);
        assert!(child.end().success());
        assert_ne!(hash(attach(&path, &AttachOptions::new()).unwrap().rom().unwrap()), expected);
    }
}

#[test]
fn the_wrong_rom_of_the_right_size_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let right = rom(directory.path(), "right.rom", &seed());
    let wrong = rom(directory.path(), "wrong.rom", &Seed::from_bytes(b"another").unwrap());
    let hashes = [&right, &wrong].map(|path| Manifest::read(path).unwrap().hash);
    std::fs::rename(&wrong, &right).unwrap();
    let refused = attach(&right, &AttachOptions::new()).unwrap_err();
    match refused {
        Error::WrongRom { expected, actual: None, .. } => assert_eq!(expected, hashes[0]),
        other => panic!("{other}"),
    }
    assert!(matches!(RomFile::open(&right, None), Err(Error::WrongRom { .. })));
    // With its manifest it is a good ROM, but not the one that was asked for.
    std::fs::rename(Manifest::path_for(&wrong), Manifest::path_for(&right)).unwrap();
    assert!(matches!(attach(&right, &AttachOptions::new()), Err(Error::Sums { .. })));
    let table = |rom: &str| directory.path().join(rom.to_owned() + ".sums");
    std::fs::rename(table("wrong.rom"), table("right.rom")).unwrap();
    attach(&right, &AttachOptions::new()).unwrap();
    let mut options = AttachOptions::new();
    options.expect = Some(hashes[0]);
    assert!(matches!(attach(&right, &options), Err(Error::WrongRom { .. })));
}

#[test]
fn an_image_that_cannot_be_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = rom(directory.path(), "site.rom", &seed());
    std::fs::remove_file(&path).unwrap();
    let refused = attach(&path, &AttachOptions::new()).unwrap_err();
    assert!(matches!(refused, Error::Io { action: "open", .. }), "{refused}");
    let refuse = |what: &str| {
        let refused = attach(&path, &AttachOptions::new()).unwrap_err();
        assert!(matches!(refused, Error::NotRegular { .. }), "{what}: {refused}");
        assert!(matches!(RomFile::open(&path, None), Err(Error::NotRegular { .. })), "{what}");
    };
    std::fs::create_dir(&path).unwrap();
    refuse("a directory");
    std::fs::remove_dir(&path).unwrap();
    // Nobody will ever write to it.
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    refuse("a pipe");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    refuse("a device");
}

/// Whoever has CAP_IPC_LOCK is not bound by the limit; in a user namespace nobody has it.
#[test]
fn pages_that_may_not_be_locked_are_an_error_or_a_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = rom(directory.path(), "site.rom", &seed());
    chmod(&path, 0o644);
    let namespace = Command::new("unshare").args(["-r", "true"]).stderr(Stdio::null()).status();
    let wrapped: &[&str] = match namespace {
        Ok(status) if status.success() => &["unshare", "-r"],
        _ if rustix::process::geteuid().is_root() => {
            return skipped("a lock limit of 0 (root without user namespaces)");
        }
        _ => &[],
    };
    let line = run(wrapped, &["lock", path.to_str().unwrap(), "require"]);
    assert!(line.starts_with("error: 4194304 bytes could not be locked"), "{line}");
    assert!(line.contains("RLIMIT_MEMLOCK (ulimit -l) is 0"), "{line}");
    let line = run(wrapped, &["lock", path.to_str().unwrap(), "try"]);
    assert!(line.starts_with("locked: false; 4194304 bytes are not locked"), "{line}");
}
