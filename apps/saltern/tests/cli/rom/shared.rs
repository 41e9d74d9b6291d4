//! ROMs in shared memory.

use std::io::{BufRead, BufReader};
use std::path::Path;

use saltern_testing::{chmod, skipped};

use super::{SMALL, Site, hash, info, verify};
use crate::program::{assert_one_error, kill, run, seen, spawn, stderr, stdout};
use crate::terminal::on_terminal;

/// A name in /dev/shm that no other test has; what is there is removed in the end.
pub(super) struct Shared(String);

impl Shared {
    /// Nothing where there is no shared memory to write to, which is said.
    pub(super) fn new(name: &str) -> Option<Self> {
        let name = format!("saltern-test-{}-{name}", std::process::id());
        let probe = format!("/dev/shm/{name}");
        if std::fs::write(&probe, "").is_err() {
            skipped("/dev/shm cannot be written to");
            return None;
        }
        std::fs::remove_file(probe).unwrap();
        Some(Shared(name))
    }

    pub(super) fn name(&self) -> String {
        format!("shm:{}", self.0)
    }

    fn exists(&self) -> bool {
        ["", ".json"].iter().any(|end| Path::new(&format!("/dev/shm/{}{end}", self.0)).exists())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for end in ["", ".json", ".sums"] {
            let _ = std::fs::remove_file(format!("/dev/shm/{}{end}", self.0));
        }
    }
}

#[test]
fn a_rom_is_attached_for_all_until_it_is_detached() {
    let Some(shared) = Shared::new("attach") else { return };
    let site = Site::new();
    let (rom, other) = (site.rom(&shared.0, "seed"), site.rom("other.rom", "other"));
    let name = shared.name();
    assert_eq!(seen(&run(&["rom", "attach", &rom], "")), (Some(0), &*format!("{name}\n"), ""));
    let again = run(&["rom", "attach", &rom], "");
    assert_eq!(again.status.code(), Some(0));
    assert!(stderr(&again).contains("already"));
    assert_one_error(&run(&["rom", "attach", &other, "--as", &name], ""), "exists");
    assert_eq!(info(&name)["id"], info(&rom)["id"]);
    let list = run(&["rom", "list", "--json"], "");
    let record = stdout(&list).lines().find(|line| line.contains(&shared.0)).unwrap();
    assert!(record.contains("\"ready\""), "{record}");
    let tune = ["tune", "--cost=1", "--quick", "--confirm=100ms", "--json", "--rom", &name];
    let tuned = run(&tune, "");
    assert_eq!(tuned.status.code(), Some(0), "{}", stderr(&tuned));
    let stored = hash(&name, &[]);
    assert_eq!(seen(&verify(&stored, &["--rom", &rom])), (Some(0), "match\n", ""));
    assert_eq!(run(&["rom", "verify", "--full", &name], "").status.code(), Some(0));
    // Another one takes its name: what is attached to it by then is another ROM, and says so.
    let replaced = run(&["rom", "attach", &other, "--as", &name, "--replace"], "");
    assert_eq!(replaced.status.code(), Some(0), "{}", stderr(&replaced));
    assert_one_error(&verify(&stored, &["--rom", &name]), "is needed but not available");
    assert_eq!(seen(&run(&["rom", "detach", &name], "")), (Some(0), "", ""));
    assert!(!shared.exists());
    assert_one_error(&run(&["rom", "detach", &name], ""), "manifest");
    assert_one_error(&verify(&stored, &["--rom", &name]), "unavailable");
    // Only copies in memory are taken away.
    if !Path::new(&rom).starts_with("/dev/shm") {
        let refused = run(&["rom", "detach", &rom], "");
        if refused.status.code() == Some(0) {
            skipped("the temporary directory is in memory");
        } else {
            assert_one_error(&refused, "not in shared memory");
            assert!(Path::new(&rom).exists());
        }
    }
}

#[test]
fn a_holder_detaches_at_its_end() {
    let Some(shared) = Shared::new("hold") else { return };
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let mut holder = spawn(&["rom", "attach", &rom, "--as", &shared.name(), "--hold"]);
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), shared.name());
    let stored = hash(&shared.name(), &["--rom-mask=1,3"]);
    assert_eq!(seen(&verify(&stored, &["--rom", &rom])), (Some(0), "match\n", ""));
    kill(&holder, "TERM");
    assert_eq!(holder.wait().unwrap().code(), Some(0));
    assert!(!shared.exists());
}

#[test]
fn segments_have_names_too() {
    // A key that nothing else is likely to have.
    let key = format!("sysv:0x5a{:06x}", std::process::id() & 0xff_ffff);
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let attached = run(&["rom", "attach", &rom, "--as", &key], "");
    if attached.status.code() != Some(0) {
        return skipped(&format!("no System V segments: {}", stderr(&attached)));
    }
    let stored = hash(&key, &[]);
    let verified = verify(&stored, &["--rom", &rom]);
    let checked = run(&["rom", "verify", "--full", &key], "");
    let detached = run(&["rom", "detach", &key], "");
    assert_eq!(seen(&verified), (Some(0), "match\n", ""));
    assert_eq!((checked.status.code(), detached.status.code()), (Some(0), Some(0)));
    assert_one_error(&run(&["rom", "info", &key], ""), "manifest");
}

#[test]
fn copies_and_images_from_elsewhere() {
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let copy = site.path("copy.rom");
    assert_eq!(seen(&run(&["rom", "copy", &rom, &copy], "")), (Some(0), "", ""));
    let exists = format!("{copy} already exists: choose another name, or give --replace");
    assert_one_error(&run(&["rom", "copy", &rom, &copy], ""), &exists);
    assert_eq!(std::fs::read(&rom).unwrap(), std::fs::read(&copy).unwrap());
    let id = info(&rom)["hash"].as_str().unwrap().to_owned();
    std::fs::remove_file(format!("{copy}.json")).unwrap();
    let adopt = ["rom", "adopt", &copy, "--r=32", "--p=64", "--size"];
    assert_one_error(&run(&[&adopt[..], &["2MiB"]].concat(), ""), "1048576");
    assert_eq!(stdout(&run(&[&adopt[..], &["1MiB"]].concat(), "")).trim_end(), id);
    assert_one_error(&run(&[&adopt[..], &["1MiB"]].concat(), ""), "exists");
    assert_eq!(info(&copy)["hash"], *id);
    let other = "0123456789abcdef".repeat(4);
    std::fs::remove_file(format!("{copy}.json")).unwrap();
    let expect = |hash: &str| run(&[&adopt[..], &["1MiB", "--expect", hash]].concat(), "");
    assert_one_error(&expect(&other), "is expected");
    assert_eq!(expect(&id).status.code(), Some(0));
}

#[test]
fn whoever_makes_a_seed_is_asked_for_a_copy() {
    let site = Site::new();
    let (rom, seed) = (site.path("site.rom"), site.path("new.seed"));
    let create = ["rom", "create", &rom, "--size=1MiB", "--generate-seed", &seed];
    // Without a copy there is no ROM, and without a ROM no seed. Ctrl-C is an answer, too.
    for (answer, expected) in [("yes", 2), ("\u{3}", 130)] {
        let (shown, status) = on_terminal(&create, answer);
        assert_eq!(status, expected, "{shown}");
        assert!(shown.contains(&format!("{seed} was removed: no ROM was made")), "{shown}");
        assert_eq!(site.files(), [""; 0], "{shown}");
    }
    let (shown, status) = on_terminal(&create, "kept");
    assert_eq!(status, 0, "{shown}");
    // The seed itself is not shown, and stays.
    assert!(!shown.contains(&std::fs::read_to_string(&seed).unwrap()), "{shown}");
    assert_eq!(run(&["rom", "verify", "--full", &rom], "").status.code(), Some(0));
}

/// The manifest in shared memory could have been put there by anybody.
#[test]
fn detaching_removes_nothing_from_a_disk() {
    let Some(shared) = Shared::new("disk") else { return };
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let manifest = std::fs::read_to_string(format!("{rom}.json")).unwrap();
    let other = site.path("precious");
    std::fs::write(&other, "precious").unwrap();
    let there = format!("\"at\": \"file\", \"path\": \"{other}\"");
    let place = format!("/dev/shm/{}.json", shared.0);
    std::fs::write(&place, manifest.replace("\"at\": \"beside\"", &there)).unwrap();
    if Path::new(&rom).starts_with("/dev/shm") {
        return skipped("the temporary directory is in memory");
    }
    assert_one_error(&run(&["rom", "detach", &shared.name()], ""), "not in shared memory");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    let at = run(&["rom", "attach", &rom, "--as", &shared.name(), "--at", &other], "");
    assert_one_error(&at, "not on a hugetlbfs or tmpfs");
}

/// Anybody may put a manifest into shared memory, and everybody lists what is there.
#[test]
fn manifests_cannot_write_to_the_terminal() {
    let Some(shared) = Shared::new("escape") else { return };
    let site = Site::new();
    let rom = site.rom("site.rom", "seed");
    let manifest = std::fs::read_to_string(format!("{rom}.json")).unwrap();
    let place = format!("/dev/shm/{}", shared.0);
    std::fs::write(&place, "").unwrap();
    let field = manifest.replace("\"t\": 0", "\"t\": 0, \"\\u001b[31m\": 1");
    let seed = manifest.replace("\"path\": \"", "\"path\": \"\\u001b[31m");
    let name = shared.name();
    for text in [field, seed] {
        assert_ne!(text, manifest);
        std::fs::write(format!("{place}.json"), text).unwrap();
        let commands = [&["rom", "list"][..], &["rom", "info", &name], &["rom", "verify", &name]];
        let outputs = commands.map(|command| run(command, ""));
        let all = outputs.map(|output| stdout(&output).to_owned() + stderr(&output)).concat();
        assert!(all.contains(&shared.0) && !all.contains('\u{1b}'), "{all}");
    }
}

/// A planted manifest that names an image on a disk: new hashes would be made with a ROM that its
/// owner has, and can take away.
#[test]
fn a_planted_manifest_is_not_followed_to_a_disk() {
    use std::os::unix::fs::{MetadataExt, chown};
    let Some(shared) = Shared::new("followed") else { return };
    let site = Site::new();
    if std::fs::metadata(site.dir.path()).unwrap().uid() != 0 {
        return skipped("files of other users (not root)");
    }
    let (rom, name) = (site.rom("evil.rom", "seed"), shared.name());
    let place = |end: &str| format!("/dev/shm/{}{end}", shared.0);
    let text = std::fs::read_to_string(format!("{rom}.json")).unwrap();
    let at = format!("\"at\": \"file\", \"path\": \"{rom}\"");
    assert!(text.contains("\"at\": \"beside\""), "{text}");
    std::fs::write(place(".json"), text.replace("\"at\": \"beside\"", &at)).unwrap();
    std::fs::copy(format!("{rom}.sums"), place(".sums")).unwrap();
    let makes = |access| run(&[&SMALL[..], &[&name, access]].concat(), "password");
    let stored = hash(&rom, &[]);
    for access in ["--rom-access=auto", "--rom-access=copy", "--rom-access=direct"] {
        assert_eq!(makes(access).status.code(), Some(0), "one's own is followed");
    }
    chown(place(".json"), Some(65534), Some(65534)).unwrap();
    for access in ["--rom-access=auto", "--rom-access=copy", "--rom-access=direct"] {
        assert_one_error(&makes(access), "belongs to user 65534");
        assert_one_error(&verify(&stored, &["--rom", &name, access]), "belongs to user 65534");
    }
    // Nor written to: root would put a ROM wherever its owner likes.
    let seed = site.path("seed");
    let again = run(&["rom", "create", &name, "--again", "--replace", "--seed-file", &seed], "");
    assert_one_error(&again, "belongs to user 65534");
    let listed = run(&["rom", "list"], "");
    let line = stdout(&listed).lines().find(|line| line.contains(&shared.0)).unwrap();
    assert!(line.contains("bad") && !line.contains("ready"), "{line}");
}

/// Files of another user under the name that a boot unit is about to use.
#[test]
fn what_others_have_planted_is_neither_attached_nor_made_immutable() {
    use std::os::unix::fs::{MetadataExt, chown};
    let Some(shared) = Shared::new("planted") else { return };
    let site = Site::new();
    if std::fs::metadata(site.dir.path()).unwrap().uid() != 0 {
        return skipped("files of other users (not root)");
    }
    let (rom, name) = (site.rom("site.rom", "seed"), shared.name());
    let place = |end: &str| format!("/dev/shm/{}{end}", shared.0);
    // The right end, and nothing else of it; and, in turn, a good copy that its owner could change
    // at any time.
    let mut zeros = std::fs::read(&rom).unwrap();
    let tail = zeros.len() - 48;
    zeros[..tail].fill(0);
    let attach =
        |more: &[&str]| run(&[&["rom", "attach", &rom, "--as", &name][..], more].concat(), "");
    for image in [zeros, std::fs::read(&rom).unwrap()] {
        std::fs::write(place(""), image).unwrap();
        for end in [".json", ".sums"] {
            std::fs::copy(format!("{rom}{end}"), place(end)).unwrap();
        }
        for end in ["", ".json", ".sums"] {
            chmod(place(end), 0o644);
            chown(place(end), Some(65534), Some(65534)).unwrap();
        }
        for more in [&[][..], &["--immutable"]] {
            assert_one_error(&attach(more), "belongs to user 65534");
        }
        for refused in [run(&[&SMALL[..], &[&name]].concat(), "password"), {
            let stored = hash(&rom, &[]);
            verify(&stored, &["--rom", &name])
        }] {
            assert_one_error(&refused, "belongs to user 65534");
        }
        // It can still be changed and removed, so it is not immutable.
        std::fs::write(place(""), "x").unwrap();
        assert_eq!(run(&["rom", "detach", &name], "").status.code(), Some(0));
        assert!(!shared.exists());
    }
    assert_eq!(attach(&[]).status.code(), Some(0));
    let again = attach(&[]);
    assert!(again.status.success() && stderr(&again).contains("already"), "{}", stderr(&again));
    // Whoever may write to it could change it.
    chmod(place(""), 0o660);
    assert_one_error(&attach(&[]), "mode 660");
    assert_eq!(attach(&["--replace"]).status.code(), Some(0));
    assert_eq!(run(&["rom", "verify", "--full", &name], "").status.code(), Some(0));
}

#[test]
fn modes_that_let_others_write_are_refused() {
    let site = Site::new();
    let (rom, seed) = (site.path("site.rom"), site.path("seed"));
    let create = ["rom", "create", &rom, "--size=1MiB", "--seed-file", &seed, "--mode"];
    for mode in ["660", "442", "777"] {
        assert_eq!(run(&[&create[..], &[mode]].concat(), "").status.code(), Some(2), "{mode}");
    }
    assert_eq!(site.files(), [""; 0]);
    let null = ["rom", "create", "/dev/null", "--replace", "--size=1MiB", "--seed-file", &seed];
    assert_one_error(&run(&null, ""), "not a regular file");
}
