//! Creation that is killed, runs out of room, or meets another.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use saltern_rom::{
    AttachOptions, Create, Error, Location, Manifest, RomFile, State, attach, list, no_progress,
    remove, verify,
};
use saltern_testing::{chmod, names, skipped};

use super::child::{Running, command, params, run, seed};

/// Numbers that are spread evenly over 0 to 1 without being regular (the golden ratio's multiples).
fn spread(i: u32) -> f64 {
    (f64::from(i) * 0.618_033_988_75).fract()
}

#[test]
fn killed_at_any_moment_creation_leaves_the_old_state_or_the_new() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.rom");
    let hash = Create::new(params(), &seed()).private().unwrap().manifest().hash;
    let id = hash.id();
    // How long a creation takes here, from its first word on.
    let mut child = Running::start(command(&[], &["create", path.to_str().unwrap(), "memory"]));
    child.line();
    let begun = Instant::now();
    assert_eq!(child.line(), format!("made {id}"));
    let whole = begun.elapsed();
    child.end();
    let (mut killed, mut seen) = (0, [0; 4]);
    for i in 0..40 {
        // Half of them with nothing there yet, half replacing.
        if i % 2 == 0 && path.exists() {
            remove(&path).unwrap();
        }
        let how = ["memory", "mapping+replace", "mapping", "memory+replace"][i as usize % 4];
        let mut child = Running::start(command(&[], &["create", path.to_str().unwrap(), how]));
        child.line();
        std::thread::sleep(whole.mul_f64(1.2 * spread(i)));
        child.child.kill().unwrap();
        killed += u32::from(child.end().signal() == Some(9));

        match attach(&path, &AttachOptions::new()) {
            Ok(attached) => assert_eq!(attached.id(), id),
            Err(Error::NoManifest { .. }) => seen[0] += 1,
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                seen[1] += 1;
            }
            Err(error) => panic!("{how}: {error}"),
        }
        for found in list(directory.path()).unwrap() {
            match found.state {
                State::Interrupted => seen[2] += 1,
                State::Ready(_) => seen[3] += 1,
                State::Bad(_, Error::Io { .. }) => {}
                state => panic!("{how}: {state:?}"),
            }
        }
        // The next creation goes through, whatever is there.
        match Create::new(params(), &seed()).file(&path) {
            Ok(manifest) => assert_eq!(manifest.id(), id),
            Err(Error::Exists { .. }) => {}
            Err(error) => panic!("{how}: {error}"),
        }
        assert_eq!(verify(&path, None, &no_progress).unwrap().id(), id);
        RomFile::open(&path, Some(hash)).unwrap();
        saltern_rom::clean(directory.path()).unwrap();
        assert_eq!(names(directory.path()), ["site.rom", "site.rom.json", "site.rom.sums"]);
    }
    println!("{killed} killed; nothing, no image, interrupted, ready: {seen:?}");
    assert!(killed >= 10 && seen[0] > 0 && seen[2] > 0, "{killed} {seen:?}");
}

#[test]
fn of_several_creators_one_wins_and_the_others_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.rom");
    let key = 0x5a18_0000 | (std::process::id() as i32 & 0xffff);
    for (how, replace) in [
        ("mapping".to_owned(), false),
        ("memory".to_owned(), false),
        ("memory+replace".to_owned(), true),
        (format!("{key}"), false),
    ] {
        let task = ["create", path.to_str().unwrap(), &how];
        let children: Vec<_> = (0..6).map(|_| Running::start(command(&[], &task))).collect();
        let (mut made, mut refused) = (0, 0);
        for mut child in children {
            child.line();
            let line = child.line();
            assert!(child.end().success());
            let (exists, busy) = (line.contains(" exists: "), line.contains("another process"));
            match line.starts_with("made ") {
                true => made += 1,
                false if exists || busy => refused += 1,
                false => panic!("{how}: {line}"),
            }
        }
        assert_eq!(made + refused, 6);
        assert!(if replace { made >= 1 } else { made == 1 }, "{how}: {made} made it");
        verify(&path, None, &no_progress).unwrap();
        let left = names(directory.path());
        assert!(left.iter().all(|name| !name.ends_with("-part")), "{left:?}");
        remove(&path).unwrap();
        assert!(names(directory.path()).is_empty());
    }
}

#[test]
fn an_unfinished_segment_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.rom");
    let key = 0x5a19_0000 | (std::process::id() as i32 & 0xffff);
    let how = key.to_string();
    let mut child = Running::start(command(&[], &["create", path.to_str().unwrap(), &how]));
    child.line();
    std::thread::sleep(Duration::from_millis(3));
    child.child.kill().unwrap();
    child.end();
    let seed = seed();
    let mut create = Create::new(params(), &seed);
    create.location = Location::Sysv { key };
    match create.file(&path) {
        Ok(_) | Err(Error::Exists { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let verified = verify(&path, None, &no_progress);
    remove(&path).unwrap();
    verified.unwrap();
}

#[test]
fn a_full_disk_is_found_before_anything_is_written_or_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mount = directory.path().to_str().unwrap();
    let path = directory.path().join("site.rom");
    let task = ["create", path.to_str().unwrap(), "memory"];
    let probe = format!("mount -t tmpfs none '{mount}'");
    let mut unshare = Command::new("unshare");
    let allowed = unshare.args(["-rm", "sh", "-c", &probe]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return skipped("a full disk (no mounts in user namespaces here)");
    }
    // Room for less than the image, for the image but not the manifest, and for both once what a
    // killed creator left is given back.
    let left = format!("head -c 4194304 /dev/zero > '{mount}/.site.rom.saltern-part'");
    for (size, left, expected) in [
        ("2m", "true", "are available"),
        ("4m", "true", "o space left"),
        ("5m", &left, "child: made "),
    ] {
        let mounted = format!("mount -t tmpfs -o size={size} none '{mount}'");
        let script = format!("{mounted} && {left} && \"$@\" && ls -A '{mount}'");
        let wrapped = ["unshare", "-rm", "sh", "-c", &script, "sh"];
        let output = command(&wrapped, &task).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let made = expected.contains("made");
        assert!(said.contains(expected) && said.contains("child: error: ") != made, "{said}");
        if made {
            assert!(said.ends_with("\nsite.rom\nsite.rom.json\nsite.rom.sums\n"), "{said}");
            continue;
        }
        // Nothing in the directory, which is listed after the test program's last line.
        let last = said.lines().last().unwrap();
        assert!(last.is_empty() || last.starts_with("test result: ok"), "{said}");
    }
}

#[test]
fn a_limit_on_file_sizes_is_an_error_not_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.rom");
    let task = ["create-in-file-limit", path.to_str().unwrap(), "4194303"];
    let mut child = Running::start(command(&[], &task));
    assert_eq!(child.line(), "begun");
    let line = child.line();
    assert!(child.end().success());
    assert!(line.contains("RLIMIT_FSIZE") && line.contains("4194303"), "{line}");
    assert!(names(directory.path()).is_empty());
}

#[test]
fn what_cannot_be_written_is_one_error() {
    let directory = tempfile::tempdir().unwrap();
    for path in ["none/site.rom", ".", ".."] {
        let refused = Create::new(params(), &seed()).file(&directory.path().join(path));
        assert!(matches!(refused, Err(Error::Io { .. } | Error::Exists { .. })), "{refused:?}");
    }
    // A directory where the unfinished file would be.
    std::fs::create_dir(directory.path().join(".site.rom.saltern-part")).unwrap();
    let path = directory.path().join("site.rom");
    let refused = Create::new(params(), &seed()).file(&path).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused}");
    std::fs::remove_dir(directory.path().join(".site.rom.saltern-part")).unwrap();
    // A directory in the place of the manifest: the image does not appear without one.
    std::fs::create_dir(Manifest::path_for(&path)).unwrap();
    let refused = Create::new(params(), &seed()).file(&path).unwrap_err();
    assert!(matches!(refused, Error::NotRegular { .. }), "{refused}");
    assert_eq!(names(directory.path()), ["site.rom.json"]);
}

#[test]
fn a_child_that_creates_says_what_it_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.rom");
    assert_eq!(run(&[], &["create", path.to_str().unwrap(), "memory"]), "begun");
    verify(&path, None, &no_progress).unwrap();
}

#[test]
fn what_is_left_is_taken_over_even_if_it_is_read_only() {
    let directory = tempfile::tempdir().unwrap();
    let (path, part) =
        (directory.path().join("site.rom"), directory.path().join(".site.rom.saltern-part"));
    std::fs::write(&part, "left").unwrap();
    chmod(&part, 0o440);
    Create::new(params(), &seed()).file(&path).unwrap();
    verify(&path, None, &no_progress).unwrap();
    assert_eq!(names(directory.path()), ["site.rom", "site.rom.json", "site.rom.sums"]);
}

/// In /dev/shm everybody may create files, whose names can be guessed.
#[test]
fn files_that_others_put_there_are_neither_followed_nor_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let (path, part) =
        (directory.path().join("site.rom"), directory.path().join(".site.rom.saltern-part"));
    let precious = directory.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, &part).unwrap();
    let refused = Create::new(params(), &seed()).file(&path).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused}");
    std::fs::remove_file(&part).unwrap();
    std::fs::hard_link(&precious, &part).unwrap();
    let refused = Create::new(params(), &seed()).file(&path).unwrap_err();
    assert!(matches!(refused, Error::Foreign { .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(names(directory.path()), [".site.rom.saltern-part", "precious"]);
}
