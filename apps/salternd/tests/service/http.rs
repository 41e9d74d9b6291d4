//! HTTP where clients and proxies differ: hosts, encodings, methods, answers before a body's end.

use std::io::Write;
use std::process::Command;

use super::daemon::{CHUNKED, Daemon, POLICY, ask, config, folder, read};

#[test]
fn a_request_has_one_host() {
    let daemon = Daemon::start(&config(""), POLICY);
    let asked = |version: &str, hosts: &str| {
        read(daemon.send(format!("GET /health HTTP/{version}\r\n{hosts}connection: close\r\n\r\n")))
    };
    assert_eq!(asked("1.1", "host: a\r\n").status, 200);
    assert_eq!(asked("1.0", "").status, 200);
    for (version, hosts) in [
        ("1.1", ""),
        ("1.1", "host: a\r\nhost: a\r\n"),
        ("1.1", "host: a\r\nhost: b\r\n"),
        ("1.0", "host: a\r\nhost: b\r\n"),
    ] {
        let answer = asked(version, hosts);
        assert_eq!((answer.status, &*answer.reason()), (400, "malformed"), "{version} {hosts:?}");
        assert!(answer.head.contains("connection: close"), "{answer:?}");
    }
}

#[test]
fn compressed_bodies_are_refused() {
    let daemon = Daemon::start(&config(""), POLICY);
    let asked = |coding: &str| {
        let head = format!("content-type: application/json\r\ncontent-encoding: {coding}\r\n");
        ask(&daemon.socket(), "POST", "/v1/hash", &head, r#"{"password":"x"}"#)
    };
    assert_eq!(asked("identity").status, 200);
    let refused = asked("gzip");
    assert_eq!((refused.status, &*refused.reason()), (415, "media-type"));
}

#[test]
fn heads_say_what_is_allowed_and_what_it_is() {
    let daemon = Daemon::start(&config(""), POLICY);
    let refused = ask(&daemon.socket(), "DELETE", "/health", "", "");
    assert_eq!(refused.status, 405);
    assert!(refused.head.contains("allow: get, head\r\n"), "{refused:?}");
    for path in ["/health", "/ready", "/metrics", "/v1/openapi.json", "/nothing"] {
        let answer = daemon.get(path);
        assert!(answer.head.contains("x-content-type-options: nosniff\r\n"), "{path}: {answer:?}");
    }
}

/// A client that sends all of its body before it reads gets the answer, and not a reset connection.
#[test]
fn who_sends_too_much_is_told_so() {
    let daemon = Daemon::start(&config(""), POLICY);
    let large = vec![b'x'; 1 << 20];
    for length in ["content-length: 1048576", CHUNKED] {
        let kind = "content-type: application/json";
        let head = format!("POST /v1/hash HTTP/1.1\r\nhost: a\r\n{kind}\r\n{length}\r\n\r\n");
        let mut stream = daemon.send(head);
        for part in large.chunks(1 << 16) {
            if length == CHUNKED {
                stream.write_all(format!("{:x}\r\n", part.len()).as_bytes()).unwrap();
            }
            stream.write_all(part).unwrap();
            if length == CHUNKED {
                stream.write_all(b"\r\n").unwrap();
            }
        }
        let answer = read(stream);
        assert_eq!((answer.status, &*answer.reason()), (413, "too-large"), "{length}");
        assert!(answer.head.contains("connection: close"), "{answer:?}");
    }
}

#[test]
fn probes_ask_the_service_that_a_file_describes() {
    let health = |file: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_salternd"));
        command.arg("health").arg("--config").arg(file).output().unwrap()
    };
    let mut daemon = Daemon::start(&config(""), POLICY);
    let file = daemon.file("salternd.toml");
    let healthy = health(&file);
    assert_eq!((healthy.status.code(), &*healthy.stdout), (Some(0), &b"ready\n"[..]));
    daemon.signal(rustix::process::Signal::TERM);
    daemon.ended();
    let gone = health(&file);
    let told = String::from_utf8_lossy(&gone.stderr);
    assert_eq!(gone.status.code(), Some(2));
    assert!(told.starts_with("salternd: the service cannot be reached: "), "{told}");
    let tls = "policy = \"saltern.toml\"\n[[listen]]\ntcp = \"127.0.0.1:1\"\ncertificate = \"a\"\nkey = \"b\"\n\
               authorities = \"c\"\n[[clients]]\nname = \"a\"\ncertificates = [\"a\"]\n\
               rights = [\"verify\"]\n";
    let only_tls = folder(tls, POLICY);
    let gone = health(&only_tls.path().join("salternd.toml"));
    let told = String::from_utf8_lossy(&gone.stderr);
    assert!(told.contains("all listeners want certificates"), "{told}");
}
