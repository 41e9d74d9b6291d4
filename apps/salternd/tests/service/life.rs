//! Start, reload, end.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::Signal;
use saltern_testing::chmod;
use serde_json::json;

use super::daemon::{
    Daemon, POLICY, SLOW, ask, check, config, folder, key_entry, post, rom, rom_entry, until,
};

/// Requests under load see every reload and fail at none; threads and memory stay what they are.
#[test]
fn reloads_under_load_cost_no_request_and_no_memory() {
    let daemon = Arc::new(Daemon::simple());
    let hash = daemon.hash("secret");
    let (ending, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (daemon, ending, done) = (daemon.clone(), ending.clone(), done.clone());
            let login = json!({ "account": "a", "password": "secret", "hash": hash }).to_string();
            std::thread::spawn(move || {
                while !ending.load(Relaxed) {
                    let answer = daemon.post("/v1/verify", &login);
                    assert_eq!((answer.status, &*answer.outcome()), (200, "match"), "{answer:?}");
                    done.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    let costs = ["cost = 1", "cost = 2"];
    // What the pool holds grows with the groups that it happens to have, up to its budget.
    let memory = || {
        let all = saltern_testing::process::memory(daemon.id(), "VmRSS");
        all.saturating_sub(daemon.metric("saltern_pool_memory_bytes", "") as u64)
    };
    let threads_of = || std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap().count();
    let (mut before, mut turns) = ((0, 0), 0);
    while turns < 60 || done.load(Relaxed) < 60 {
        let policy = POLICY.replace("cost = 1", costs[turns % 2]);
        daemon.write("saltern.toml", policy);
        daemon.reload();
        turns += 1;
        if turns == 20 {
            before = (memory(), threads_of());
        }
    }
    let after = (memory(), threads_of());
    ending.store(true, Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(daemon.metric("saltern_reloads_total", ""), turns as f64);
    assert!(after.0 < before.0 + (4 << 20), "{before:?} {after:?}");
    // The one that reads the files may still be there.
    assert!(after.1 <= before.1 + 2, "{before:?} {after:?}");
}

#[test]
fn what_is_wrong_in_the_files_changes_nothing() {
    let daemon = Daemon::simple();
    for (file, text) in [
        ("saltern.toml", "[params]\ncost = 99\n"),
        (
            "saltern.toml",
            "[[keys]]\nname = \"a\"\nfile = \"none\"\nfingerprint = \"0011223344556677\"\n",
        ),
        ("salternd.toml", "nonsense = 1\n"),
    ] {
        let good = std::fs::read_to_string(daemon.file(file)).unwrap();
        daemon.write(file, text);
        daemon.reload();
        assert!(daemon.said().contains("\"event\":\"reload\""), "{}", daemon.said());
        assert!(daemon.hash("x").starts_with("$y$j75$"));
        daemon.write(file, good);
    }
    assert_eq!(daemon.metric("saltern_reloads_failed_total", ""), 3.0);
    daemon.reload();
    assert_eq!(daemon.metric("saltern_reloads_total", ""), 1.0);
}

/// The last requests are answered, and then it ends.
#[test]
fn it_ends_after_what_has_begun() {
    let mut daemon = Daemon::start(&config(""), SLOW);
    let socket = daemon.socket();
    let request = std::thread::spawn(move || post(&socket, "/v1/hash", r#"{"password":"x"}"#));
    until(|| daemon.metric("saltern_pool_running", "") > 0.0);
    daemon.signal(Signal::TERM);
    let answer = request.join().unwrap();
    assert_eq!((answer.status, &*answer.outcome()), (200, "hashed"));
    assert!(daemon.ended().success());
    assert!(!daemon.socket().exists());
    assert!(daemon.said().contains("\"drained\":true"), "{}", daemon.said());
}

#[test]
fn a_request_that_does_not_end_is_not_waited_for() {
    let mut daemon = Daemon::start(&config("drain = \"200ms\""), POLICY);
    let _request = daemon.unfinished();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().success());
    assert!(daemon.said().contains("\"drained\":false"), "{}", daemon.said());
}

/// The second signal is not waited for either.
#[test]
fn whoever_asks_twice_for_the_end_has_it_at_once() {
    let mut daemon = Daemon::simple();
    let _request = daemon.unfinished();
    daemon.signal(Signal::TERM);
    until(|| daemon.said().contains("\"event\":\"ending\""));
    assert!(!daemon.has_ended());
    daemon.signal(Signal::INT);
    assert!(daemon.ended().success());
    assert!(daemon.said().contains("\"drained\":false"), "{}", daemon.said());
}

/// A process that is ending leaves the socket of the next one alone.
#[test]
fn the_next_process_may_start_before_the_last_has_ended() {
    let mut old = Daemon::simple();
    let request = old.unfinished();
    old.signal(Signal::TERM);
    until(|| !old.answers());
    let new = Daemon::start_in(old.folder.clone());
    assert!(!old.has_ended());
    drop(request);
    assert!(old.ended().success());
    assert_eq!(new.get("/health").status, 200);
}

/// Of many that start at once where one was killed, one listens, and it is reached: they take turns
/// at what was left behind.
#[test]
fn of_many_that_start_at_once_one_listens() {
    let mut daemon = Daemon::simple();
    daemon.signal(Signal::KILL);
    daemon.ended();
    let turn = daemon.file("socket.lock");
    let turn = std::fs::File::options().create(true).append(true).open(turn).unwrap();
    turn.lock().unwrap();
    let mut daemons: Vec<_> = (0..8).map(|_| Daemon::begin(daemon.folder.clone())).collect();
    std::thread::sleep(Duration::from_millis(300));
    assert!(!daemon.answers());
    drop(turn);
    until(|| daemons.iter_mut().map(Daemon::has_ended).filter(|ended| *ended).count() == 7);
    until(|| daemon.answers());
}

/// Whoever holds the lock of a socket keeps a service from starting, but not from ending; and that
/// is told.
#[cfg(target_os = "linux")]
#[test]
fn a_turn_that_does_not_come_is_not_waited_for() {
    let folder = folder(&config(""), POLICY);
    let turn = folder.path().join("socket.lock");
    let turn = std::fs::File::options().create(true).append(true).open(turn).unwrap();
    turn.lock().unwrap();
    let mut ends = Daemon::begin(folder.clone());
    // Before that a signal would be the end of any process.
    until(|| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", ends.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        [1, 2, 15].iter().all(|signal| caught & 1 << (signal - 1) != 0)
    });
    std::thread::sleep(Duration::from_millis(100));
    ends.signal(Signal::TERM);
    assert!(ends.ended().success());
    let mut waits = Daemon::begin(folder);
    assert_eq!(waits.ended().code(), Some(2));
    until(|| waits.said().contains("socket.lock: another process is starting or ending"));
}

/// A lock that another user has left in a folder of this one is no obstacle, and where it is, it is
/// named.
#[test]
fn a_lock_of_another_user_is_replaced_or_named() {
    if !rustix::process::geteuid().is_root() {
        return saltern_testing::skipped("only root has other users");
    }
    const USER: u32 = 65534;
    let own = |path: &std::path::Path| std::os::unix::fs::chown(path, Some(USER), None).unwrap();
    let config = config("").replace("users = [0]", &format!("users = [0, {USER}]"));
    let folder = folder(&config, POLICY);
    let lock = folder.path().join("socket.lock");
    std::fs::write(&lock, "").unwrap();
    chmod(&lock, 0o600);
    chmod(folder.path(), 0o777);
    let mut daemon = Daemon::of_user(folder.clone(), USER);
    assert_eq!(daemon.ended().code(), Some(2));
    until(|| daemon.said().contains("socket.lock: Permission denied"));
    own(folder.path());
    let daemon = Daemon::of_user(folder, USER);
    until(|| daemon.said().contains("\"event\":\"loaded\""));
    assert_eq!(daemon.get("/health").status, 200);
}

/// What somebody else has put where the lock should be is neither followed nor waited for.
#[test]
fn a_lock_that_is_no_regular_file_is_refused() {
    let folder = folder(&config(""), POLICY);
    let (lock, target) = (folder.path().join("socket.lock"), folder.path().join("target"));
    let refused = || {
        let mut daemon = Daemon::begin(folder.clone());
        assert_eq!(daemon.ended().code(), Some(2));
        until(|| daemon.said().contains("socket.lock: this is not a regular file"));
        std::fs::remove_file(&lock).unwrap();
    };
    std::os::unix::fs::symlink(&target, &lock).unwrap();
    refused();
    assert!(!target.exists());
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &lock, fifo, mode, 0).unwrap();
    refused();
    rustix::fs::mknodat(rustix::fs::CWD, &lock, fifo, mode, 0).unwrap();
    // With a reader, opening it would succeed.
    let _reader = std::fs::File::options().read(true).write(true).open(&lock).unwrap();
    refused();
}

/// What a process has left behind that was killed is no obstacle, but one that runs is.
#[test]
fn it_starts_after_a_kill_and_not_beside_itself() {
    let mut daemon = Daemon::simple();
    let hash = daemon.hash("secret");
    let second = Daemon::begin(daemon.folder.clone());
    let mut second = second;
    assert_eq!(second.ended().code(), Some(2));
    until(|| second.said().contains("cannot listen on"));
    daemon.signal(Signal::KILL);
    daemon.ended();
    assert!(daemon.socket().exists());
    let daemon = Daemon::start_in(daemon.folder.clone());
    let login = json!({ "password": "secret", "hash": hash }).to_string();
    assert_eq!(daemon.post("/v1/verify", &login).outcome(), "match");
}

#[test]
fn files_are_checked_without_a_service() {
    let folder = folder(&config(""), POLICY);
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let check = || check(folder.path());
    let good = check();
    assert!(good.status.success(), "{good:?}");
    for (text, part) in [
        ("[params]\ncost = 99\n", "saltern.toml:2: params.cost"),
        ("assume_unnamed_key = \"none\"\n", "is unavailable"),
    ] {
        write("saltern.toml", text);
        saltern_testing::program::assert_one_error("salternd", &check(), part);
    }
    write("salternd.toml", "[limits]\nbody = 0\n");
    saltern_testing::program::assert_one_error("salternd", &check(), "limits.body = 0");
    // What the service would need to listen.
    let wrong = |text: &str, part: &str| {
        write("salternd.toml", text);
        saltern_testing::program::assert_one_error("salternd", &check(), part);
    };
    wrong("policy = \"saltern.toml\"\n", "listen: expected at least one [[listen]]");
    wrong("[[listen]]\nunix = \"socket\"\n", "policy: expected the name of the policy's file");
    let tls = "[[listen]]\ntcp = \"127.0.0.1:1\"\ncertificate = \"none.pem\"\nkey = \"a\"\n\
               authorities = \"b\"\n";
    wrong(&format!("{}{tls}", config("")), "none.pem");
    write("salternd.toml", &config(""));
    write("saltern.toml", "");
    saltern_testing::program::assert_one_error("salternd", &check(), "the file is empty");
}

/// Each change of keys, policy and clients is a line of the log.
#[test]
fn a_reload_tells_what_it_has_changed() {
    let policy = POLICY.to_owned() + &key_entry("main", [8; 32]);
    let folder = folder(&config(""), &policy);
    std::fs::write(folder.path().join("key"), [8; 32]).unwrap();
    let daemon = Daemon::start_in(folder);
    daemon.reload();
    assert!(!daemon.said().contains("\"event\":\"changed\""), "{}", daemon.said());
    daemon.write("other", [9; 32]);
    let other = key_entry("next", [9; 32]).replace("\"key\"", "\"other\"");
    let new = policy.replace("cost = 1", "cost = 2").replace("active = true", "active = false");
    daemon.write("saltern.toml", new + &other);
    daemon.write("salternd.toml", config("").replace("rights = [", "weight = 2\nrights = ["));
    daemon.reload();
    let said = daemon.said();
    let changes = said.lines().filter(|line| line.contains("\"event\":\"changed\""));
    let changes: Vec<serde_json::Value> =
        changes.map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |what: &str, change: &str| {
        changes.iter().any(|line| line["what"] == what && line["change"] == change)
    };
    assert!(told("key", "added") && told("key", "deactivated"), "{changes:?}");
    assert!(told("policy", "changed") && told("client", "changed"), "{changes:?}");
}

/// A ROM that a running service has in memory, and whose file is gone: the next start would fail.
#[test]
fn a_rom_without_its_file_is_told_at_a_reload() {
    let folder = folder(&config(""), POLICY);
    let image = folder.path().join("a.rom");
    let hash = rom(&image, 1024, b"seed");
    let policy = POLICY.to_owned() + &rom_entry(&hash, "copy");
    std::fs::write(folder.path().join("saltern.toml"), policy).unwrap();
    let daemon = Daemon::start_in(folder);
    daemon.reload();
    assert_eq!(daemon.metric("saltern_rom_without_file", ""), 0.0);
    std::fs::rename(&image, daemon.file("elsewhere")).unwrap();
    daemon.reload();
    assert_eq!(daemon.metric("saltern_reloads_total", ""), 2.0);
    assert_eq!(daemon.metric("saltern_rom_without_file", ""), 1.0);
    assert!(daemon.said().contains("so the next start would fail"), "{}", daemon.said());
    assert!(daemon.hash("x").starts_with("{rom="));
    std::fs::rename(daemon.file("elsewhere"), &image).unwrap();
    daemon.reload();
    assert_eq!(daemon.metric("saltern_rom_without_file", ""), 0.0);
}

/// A file that was cut short is a valid policy without its key: new hashes would have none.
#[test]
fn a_reload_takes_no_key_and_no_rom_away() {
    let policy = POLICY.to_owned() + &key_entry("main", [8; 32]);
    let folder = folder(&config(""), &policy);
    std::fs::write(folder.path().join("key"), [8; 32]).unwrap();
    let daemon = Daemon::start_in(folder);
    let with_key = || daemon.hash("x").contains("main");
    assert!(with_key());
    let inactive = policy.replace("active = true", "active = false");
    for (failed, text) in ["", POLICY, &inactive].into_iter().enumerate() {
        daemon.write("saltern.toml", text);
        daemon.reload();
        assert_eq!(daemon.metric("saltern_reloads_failed_total", ""), failed as f64 + 1.0);
        assert!(with_key(), "{text}");
    }
    assert!(daemon.said().contains("the key main is active"), "{}", daemon.said());
    daemon.write("saltern.toml", policy.replace("cost = 1", "cost = 2"));
    daemon.reload();
    assert_eq!(daemon.metric("saltern_reloads_total", ""), 1.0);
}

/// What a reload cannot take is told, as long as it stands in the file.
#[test]
fn what_takes_a_restart_is_told() {
    let daemon = Daemon::simple();
    let needed = || daemon.metric("saltern_restart_needed", "");
    let with = |text: &str| {
        daemon.write("salternd.toml", text);
        daemon.reload();
        needed()
    };
    assert_eq!(with(&config("timeout = \"9s\"\nlog_requests = true")), 0.0);
    for (text, key) in [
        (config("drain = \"1s\""), "drain"),
        (config("[limits]\nbody = 999"), "limits"),
        (config("").replace("\"socket\"", "\"other\""), "listen"),
    ] {
        assert_eq!(with(&text), 1.0, "{text}");
        let said = format!("\"event\":\"restart\",\"keys\":[\"{key}\"]");
        assert_eq!(daemon.said().matches(&said).count(), 1, "{}", daemon.said());
    }
    assert_eq!(with(&config("")), 0.0);
    assert_eq!(daemon.metric("saltern_reloads_total", ""), 5.0);
}

/// A key in a file that is not the one of its fingerprint keeps the service from starting.
#[test]
fn another_key_keeps_it_from_starting() {
    let folder = folder(&config(""), &key_entry("a", [9; 32]));
    std::fs::write(folder.path().join("key"), [8; 32]).unwrap();
    let mut daemon = Daemon::begin(folder);
    assert_eq!(daemon.ended().code(), Some(2));
    until(|| daemon.said().contains("/key holds the key a+"));
}

/// A service manager is told when requests are done, and not before.
#[test]
fn a_service_manager_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (path, policy) = (folder.path().join("notify"), folder.path().join("saltern.toml"));
    std::fs::write(&policy, POLICY).unwrap();
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_salternd"))
        .arg("--socket")
        .arg(folder.path().join("socket"))
        .arg("--policy")
        .arg(&policy)
        .env("NOTIFY_SOCKET", &path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let told = || {
        let mut text = [0; 1000];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    let ready = "READY=1\nSTATUS=Ready";
    assert_eq!(told(), ready);
    let id = rustix::process::Pid::from_child(&child);
    for (text, status) in [
        ("[params]\ncost = 99\n", format!("{ready}: nothing was reloaded: {}", policy.display())),
        (POLICY, ready.to_owned()),
    ] {
        std::fs::write(&policy, text).unwrap();
        rustix::process::kill_process(id, Signal::HUP).unwrap();
        assert!(told().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        let told = told();
        // What is wrong is in the last line.
        assert!(told.starts_with(&status) && told.lines().count() == 2, "{told}");
        assert_eq!(told == ready, text == POLICY);
    }
    rustix::process::kill_process(id, Signal::TERM).unwrap();
    assert_eq!(told(), "STOPPING=1");
    assert!(child.wait().unwrap().success());
}

/// A service manager may have opened the socket: whoever connects meanwhile waits there.
#[test]
fn a_socket_of_the_service_manager_is_used_and_left() {
    let folder = folder(&config(""), POLICY);
    let socket = folder.path().join("socket");
    let activate = Command::new("systemd-socket-activate")
        .arg("--listen")
        .arg(&socket)
        .arg(env!("CARGO_BIN_EXE_salternd"))
        // Its name of the socket is another one then.
        .args(["--config", "salternd.toml"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut activate) = activate else {
        return saltern_testing::skipped("systemd-socket-activate is not installed");
    };
    until(|| std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let answer = ask(&socket, "GET", "/health", "", "");
    assert_eq!(answer.status, 200);
    // It has become the service.
    let id = rustix::process::Pid::from_child(&activate);
    rustix::process::kill_process(id, Signal::TERM).unwrap();
    assert!(activate.wait().unwrap().success());
    assert!(socket.exists());
}

/// A ROM whose file is cut short or exchanged keeps a service from starting, and one that runs goes
/// on with what it has.
#[test]
fn a_rom_that_is_gone_changes_nothing_until_the_next_start() {
    let folder = folder(&config(""), "");
    let image = folder.path().join("a.rom");
    let make = |seed: &[u8]| {
        for file in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            if file.file_name().to_string_lossy().starts_with("a.rom") {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        rom(&image, 512, seed)
    };
    let hash = make(b"a seed, not for real use");
    let policy = "[params]\nn = 256\nr = 8\n[floor]\nn = 64\nr = 8\n[pool]\nthreads = 1\n";
    let policy = policy.to_owned() + &rom_entry(&hash, "copy");
    std::fs::write(folder.path().join("saltern.toml"), policy).unwrap();
    let daemon = Daemon::start_in(folder.clone());
    let stored = daemon.hash("secret");
    assert!(stored.starts_with(&format!("{{rom={}}}", &hash[..16])), "{stored}");
    assert_eq!(daemon.metric("saltern_rom_info", &hash[..16]), 1.0);
    let login = json!({ "password": "secret", "hash": stored }).to_string();
    let goes_on = || {
        daemon.reload();
        let answer = daemon.post("/v1/verify", &login);
        assert_eq!((answer.status, &*answer.outcome()), (200, "match"));
    };
    let cannot_start = || {
        let output = check(folder.path());
        saltern_testing::program::assert_one_error("salternd", &output, "is unavailable");
    };
    std::fs::remove_file(&image).unwrap();
    std::fs::write(&image, [0; 1000]).unwrap();
    cannot_start();
    goes_on();
    make(b"another seed, not for real use");
    cannot_start();
    goes_on();
}
