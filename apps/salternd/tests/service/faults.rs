//! Clients that are slow, gone or many, and what is left in memory and in the log.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::daemon::{Daemon, POLICY, SLOW, config, head, read, until};

/// Heads, bodies and connections that never get on are ended, and nobody waits for them.
#[test]
fn slow_clients_are_cut_off() {
    let limits = "[limits]\nhead_time = \"300ms\"\nbody_time = \"300ms\"\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let begun = head("/v1/hash", "content-length: 20");
    let idle = daemon.connect();
    let (head, body) = (daemon.send(&begun[..30]), daemon.send(begun + "{"));
    let start = Instant::now();
    let answer = read(body);
    assert_eq!((answer.status, &*answer.reason()), (408, "slow"));
    assert_eq!(read(idle).head, "");
    let _ = read(head);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    daemon.hash("x");
}

/// One byte at a time is no way to hold on to a connection.
#[test]
fn a_head_in_drops_is_cut_off() {
    let daemon = Daemon::start(&config("[limits]\nhead_time = \"300ms\"\n"), POLICY);
    let start = Instant::now();
    let mut stream = daemon.send("POST /v1/hash HTTP/1.1\r\n");
    while stream.write_all(b"x: y\r\n").is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Beyond the limit nobody is accepted, and once there is room everybody is.
#[test]
fn connections_beyond_the_limit_wait() {
    let limits = "[limits]\nconnections = 8\nclient_connections = 8\nhead_time = \"1s\"\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let idle: Vec<_> = (0..8).map(|_| daemon.connect()).collect();
    let waiting = daemon.send("GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    waiting.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!((&waiting).read(&mut [0]).is_err());
    drop(idle);
    waiting.set_read_timeout(None).unwrap();
    assert_eq!(read(waiting).status, 200);
}

/// A client that goes away takes its place in the queue with it, whatever it has sent after its
/// request.
#[test]
fn a_client_that_is_gone_is_not_computed_for() {
    for more in ["", "\r\n"] {
        let daemon = Daemon::start(&config(""), SLOW);
        let request = head("/v1/hash", "content-length: 20") + "{\"password\":\"hello\"}" + more;
        let streams: Vec<_> = (0..20).map(|_| daemon.send(&request)).collect();
        until(|| daemon.metric("saltern_pool_waiting", "") > 10.0);
        drop(streams);
        until(|| daemon.metric("saltern_pool_waiting", "") == 0.0);
        assert!(daemon.metric("saltern_pool_cancelled_total", "") > 10.0);
        assert!(daemon.metric("saltern_requests_total", "outcome=\"gone\"") > 10.0);
    }
}

#[test]
fn no_password_and_no_hash_is_in_the_log() {
    let daemon = Daemon::start(&config("log_requests = true"), POLICY);
    let hash = daemon.hash("hunter2-secret");
    for body in [
        format!(r#"{{"account":"hunter2-name","password":"hunter2-secret","hash":"{hash}"}}"#),
        format!(r#"{{"account":"hunter2-name","password":"hunter2-other","hash":"{hash}"}}"#),
        r#"{"password":"hunter2-secret","hash":"hunter2-string"}"#.to_owned(),
        r#"{"password":"hunter2-secret""#.to_owned(),
        r#"{"hunter2-field":"hunter2-secret"}"#.to_owned(),
    ] {
        let _ = daemon.post("/v1/verify", &body);
    }
    until(|| daemon.said().matches("\"event\":\"request\"").count() == 6);
    let said = daemon.said();
    for outcome in ["hashed", "match", "mismatch", "bad-input"] {
        assert!(said.contains(&format!("\"outcome\":\"{outcome}\"")), "{said}");
    }
    assert!(!said.contains("hunter2") && !said.contains(&hash[10..]), "{said}");
    assert!(!daemon.get("/metrics").body.contains("hunter2"));
}

/// A log that cannot be written, because the disk is full or nobody reads it, holds nobody up.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_is_left_out() {
    use std::process::Stdio;
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    // The other end of the pipe is never read.
    let (_reader, writer) = std::io::pipe().unwrap();
    for log in [Stdio::from(full), Stdio::from(writer)] {
        let daemon = Daemon::with_log(&config("log_requests = true"), log);
        let hash = daemon.hash("x");
        let request = format!("{{\"hash\":\"{hash}\"}}");
        for _ in 0..3000 {
            assert_eq!(daemon.post("/v1/needs-rehash", &request).status, 200);
        }
        assert!(daemon.metric("saltern_log_lost_total", "") > 0.0);
    }
}

/// Whoever reads the memory of the process afterwards finds no password: everything that is freed
/// is wiped, whichever library had it.
#[cfg(target_os = "linux")]
#[test]
fn no_password_stays_in_memory() {
    use saltern_testing::process::find;
    // Only so that it is not in the memory of this test as a whole either.
    let password = ["correct", "horse", "battery", "staple"].join("+");
    let daemon = Daemon::start(&config(""), POLICY);
    let hash = daemon.hash(&password);
    let escaped: String = password.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    for password in [&password, &escaped] {
        let login = format!(r#"{{"account":"a","password":"{password}","hash":"{hash}"}}"#);
        assert_eq!(daemon.post("/v1/verify", &login).outcome(), "match");
        let line = format!(r#"{{"op":"verify","password":"{password}","hash":"{hash}"}}"#);
        assert!(daemon.post("/v1/batch", &line).body.contains("\"match\""));
    }
    let _ = daemon.post("/v1/hash", &format!(r#"{{"password":"{password}"#));
    until(|| daemon.metric("saltern_connections_open", "") == 1.0);
    // An answer may be there a moment before the thread that has made it is done with its password.
    until(|| {
        match find(daemon.id(), &[&password.as_bytes()[..12], &escaped.as_bytes()[..36]]) {
            Ok((found, looked)) => {
                assert!(looked > 1 << 20, "{looked}");
                found.is_empty()
            }
            Err(error) => {
                // Only root may look into a process that says it is not to be looked into.
                assert!(
                    std::env::var_os("CI").is_none(),
                    "run it as root where CI is set: {error}"
                );
                saltern_testing::skipped(&format!("memory of a process: {error}"));
                true
            }
        }
    });
}
