//! ROMs and keys whose files become others under a service that runs.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use saltern_yescrypt::keys::HashKey;
use serde_json::json;

use super::daemon::{Daemon, POLICY, config, folder, key_entry, rom, rom_entry};

/// A service whose ROM stays in its file.
fn with_direct_rom() -> (Daemon, String) {
    let folder = folder(&config(""), "");
    let hash = rom(&folder.path().join("a.rom"), 4096, b"a seed, not for real use");
    let policy = POLICY.to_owned() + &rom_entry(&hash, "direct");
    std::fs::write(folder.path().join("saltern.toml"), policy).unwrap();
    let daemon = Daemon::start_in(folder);
    let stored = daemon.hash("secret");
    (daemon, stored)
}

/// What a login of this password is told: a word of the outcome, whatever the status.
fn outcome(daemon: &Daemon, password: &str, hash: &str) -> String {
    let login = json!({ "account": "a", "password": password, "hash": hash }).to_string();
    daemon.post("/v1/verify", &login).outcome()
}

fn image(daemon: &Daemon) -> File {
    OpenOptions::new().write(true).open(daemon.file("a.rom")).unwrap()
}

/// Without the ROM nothing can be found out, and that is what is said: not that passwords are
/// wrong, and not that they match.
fn assert_unavailable(daemon: &Daemon, hash: &str) {
    for password in ["secret", "Secret"] {
        for _ in 0..3 {
            assert_eq!(outcome(daemon, password, hash), "unavailable");
        }
    }
}

#[test]
fn a_rom_that_is_cut_short_while_it_is_read_is_unavailable() {
    let (daemon, hash) = with_direct_rom();
    assert_eq!(outcome(&daemon, "secret", &hash), "match");
    image(&daemon).set_len(4096).unwrap();
    assert_unavailable(&daemon, &hash);
    assert_eq!(daemon.get("/health").status, 200);
}

#[test]
fn a_rom_whose_content_is_exchanged_while_it_is_read_is_unavailable() {
    let (daemon, hash) = with_direct_rom();
    let mut image = image(&daemon);
    image.seek(SeekFrom::Start(0)).unwrap();
    image.write_all(&vec![0x5a; 4 << 20]).unwrap();
    assert_unavailable(&daemon, &hash);
    assert_eq!(daemon.get("/health").status, 200);
}

/// Whoever has opened a file keeps it, whatever has its name now.
#[test]
fn a_rom_that_is_replaced_as_a_whole_stays_what_it_was_until_the_next_start() {
    let (daemon, hash) = with_direct_rom();
    let other = tempfile::tempdir().unwrap();
    rom(&other.path().join("a.rom"), 4096, b"another seed, not for real use");
    for file in std::fs::read_dir(other.path()).unwrap().map(Result::unwrap) {
        let (from, to) = (file.path(), daemon.folder.path().join(file.file_name()));
        std::fs::copy(&from, to.with_extension("new")).unwrap();
        std::fs::rename(to.with_extension("new"), to).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(outcome(&daemon, "secret", &hash), "match");
        assert_eq!(outcome(&daemon, "Secret", &hash), "mismatch");
        daemon.reload();
    }
    assert_eq!(daemon.metric("saltern_reloads_failed_total", ""), 2.0);
}

/// The policy names a key by its fingerprint: another one in its file is found at the reload, which
/// then changes nothing, and strings are verified with the key that is in memory.
#[test]
fn another_key_in_the_file_is_not_taken_at_a_reload() {
    let folder = folder(&config(""), &(POLICY.to_owned() + &key_entry("k", [7; 32])));
    std::fs::write(folder.path().join("key"), [7; 32]).unwrap();
    let daemon = Daemon::start_in(folder);
    let hash = daemon.hash("secret");
    let fingerprint = HashKey::new([7; 32]).fingerprint().to_string();
    assert!(hash.contains(&fingerprint), "{hash}");
    let goes_on = |failed: f64| {
        daemon.reload();
        assert_eq!(daemon.metric("saltern_reloads_failed_total", ""), failed);
        for hash in [hash.clone(), daemon.hash("secret")] {
            assert_eq!(outcome(&daemon, "secret", &hash), "match");
            assert_eq!(outcome(&daemon, "Secret", &hash), "mismatch");
        }
    };
    daemon.write("key", [8; 32]);
    goes_on(1.0);
    daemon.write("key", [7; 31]);
    goes_on(2.0);
    std::fs::remove_file(daemon.file("key")).unwrap();
    goes_on(3.0);
    daemon.write("key", [7; 32]);
    goes_on(3.0);
}
