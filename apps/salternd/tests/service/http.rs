//! HTTP where clients and proxies differ: hosts, encodings, methods, answers before a body's end.

use std::io::{Read, Write};
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

/// A request for which there is no time is refused by its head; the connection is kept, also if the
/// body comes later.
#[test]
fn a_refusal_keeps_the_connection() {
    let daemon = Daemon::start(&config(""), POLICY);
    let timeout = "x-envoy-expected-rq-timeout-ms: 0";
    let kind = "content-type: application/json\r\ncontent-length: 16";
    let head = format!("POST /v1/hash HTTP/1.1\r\nhost: a\r\n{kind}\r\n{timeout}\r\n\r\n");
    let mut stream = daemon.connect();
    for body in ["{\"password\":\"x\"}", "this is no JSON!"] {
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            let mut piece = [0; 1024];
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "{}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&piece[..length]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("problem:too-late") && !answer.contains("close"), "{answer}");
    }
    assert_eq!(daemon.metric("saltern_refused_total", "too-late"), 2.0);
    assert_eq!(daemon.metric("saltern_request_seconds_count", "op=\"hash\""), 0.0);
}

/// A client that waits to be told to go on is told so before the answer begins: proxies send no
/// lines after that.
#[test]
fn a_batch_goes_on_before_it_is_answered() {
    let daemon = Daemon::start(&config(""), POLICY);
    let line = "{\"op\":\"needs-rehash\",\"hash\":\"x\"}\n";
    let kind = "content-type: application/x-ndjson\r\nexpect: 100-continue\r\nconnection: close";
    let length = line.len();
    let head = format!("host: a\r\n{kind}\r\ncontent-length: {length}\r\n\r\n");
    let mut stream = daemon.send(format!("POST /v1/batch HTTP/1.1\r\n{head}"));
    let mut first = [0; 25];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(line.as_bytes()).unwrap();
    let answer = read(stream);
    assert!(answer.status == 200 && answer.body.contains("\"answers\":1"), "{answer:?}");
}
