//! Clients that take more connections than they may, or no answers.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::daemon::{
    CHUNKED, Daemon, LOGIN, POLICY, another, ask, ask_tcp, chunk, config, folder, head, read, until,
};

/// Whoever asks and does not read the answers has nothing to keep others out with, whatever it may
/// do.
#[test]
fn who_takes_no_answers_is_cut_off() {
    let limits = "[limits]\nconnections = 4\nclient_connections = 4\nanswer_time = \"300ms\"\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let requests = b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n".repeat(10_000);
    let streams: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = daemon.connect();
            stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            // The service stops reading, too.
            assert!(stream.write_all(&requests).is_err());
            stream
        })
        .collect();
    assert_eq!(daemon.get("/health").status, 200);
    until(|| daemon.metric("saltern_connections_ended_total", "unread") == 4.0);
    drop(streams);
}

/// An answer that is taken slowly is no reason to end the connection.
#[test]
fn who_reads_slowly_gets_all() {
    let daemon = Daemon::start(&config("[limits]\nanswer_time = \"500ms\"\n"), POLICY);
    let mut stream = daemon.connect();
    let mut writer = stream.try_clone().unwrap();
    let count = 10_000;
    let requests = std::thread::spawn(move || {
        let request = b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n";
        writer.write_all(&request.repeat(count - 1)).unwrap();
        writer.write_all(b"GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    });
    let (mut told, mut part) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        std::thread::sleep(Duration::from_millis(50));
        match stream.read(&mut part).unwrap() {
            0 => break,
            length => told.extend_from_slice(&part[..length]),
        }
    }
    requests.join().unwrap();
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.matches("alive").count(), count);
}

/// One client has not all connections of a listener, and is told so.
#[test]
fn a_client_has_no_more_connections_than_it_may() {
    let daemon = Daemon::start(&config("[limits]\nconnections = 8\n"), POLICY);
    let (mut idle, mut refused) = (Vec::new(), daemon.get("/metrics"));
    until(|| {
        idle.push(daemon.connect());
        refused = daemon.get("/metrics");
        refused.status != 200
    });
    assert_eq!((refused.status, &*refused.reason()), (503, "client-connections"));
    assert!(refused.head.contains("connection: close"), "{refused:?}");
    assert!(refused.head.contains("retry-after: "), "{refused:?}");
    // Whoever says nothing is not waited for.
    until(|| {
        let mut silent = daemon.connect();
        silent.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        matches!(silent.read(&mut [0]), Ok(0))
    });
    idle.truncate(1);
    until(|| daemon.get("/metrics").status == 200);
    assert!(daemon.metric("saltern_connections_ended_total", "too-many") >= 2.0);
    assert!(daemon.metric("saltern_refused_total", "client-connections") >= 1.0);
}

/// Bodies together take no more memory than they may: who comes then is refused at once.
#[test]
fn bodies_that_are_held_back_take_bounded_memory() {
    let limits = "[limits]\nbody = 65536\nbodies = 400000\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let begun = head("/v1/hash", "content-length: 65536") + "{";
    let held: Vec<_> = (0..3).map(|_| daemon.send(&begun)).collect();
    until(|| daemon.metric("saltern_client_requests", "") == 4.0);
    let large = format!("{{\"password\":\"{}\"}}", "x".repeat(10_000));
    let refused = daemon.post("/v1/hash", &large);
    assert_eq!((refused.status, &*refused.reason()), (503, "queue-full"));
    // There is room for a login.
    daemon.hash("x");
    drop(held);
    until(|| daemon.post("/v1/hash", &large).status == 422);
}

/// Neither silent batches nor lines that do not end keep others from being read.
#[test]
fn batches_of_one_client_leave_the_bodies_of_others() {
    let limits = "[limits]\nbody = 65536\nbodies = 327680\n";
    let (other, address) = another("rights = [\"verify\"]");
    let daemon = Daemon::start(&(config(limits) + &other), POLICY);
    let mut batches: Vec<_> = (0..3).map(|_| daemon.send(head("/v1/batch", CHUNKED))).collect();
    until(|| daemon.metric("saltern_client_requests", "\"tests\"") == 4.0);
    assert_eq!(daemon.post("/v1/verify", LOGIN).status, 200);
    batches.iter_mut().for_each(|stream| stream.write_all(chunk("{").as_bytes()).unwrap());
    let large = format!("{{\"password\":\"{}\",\"hash\":null}}", "x".repeat(40_000));
    // One of the batches waits for the two lines that have begun.
    until(|| daemon.post("/v1/verify", &large).status == 503);
    assert_eq!(ask_tcp(address, "/v1/verify", LOGIN).status, 200);
    assert_eq!(ask_tcp(address, "/v1/verify", &large).outcome(), "over-limit");
    assert_eq!(daemon.post("/v1/verify", LOGIN).status, 200);
    // Once it has ended, they go on.
    for (at, stream) in batches.iter_mut().enumerate() {
        let rest = chunk(&format!("\"id\":{at}}}\n")) + &chunk("");
        stream.write_all(rest.as_bytes()).unwrap();
    }
    for stream in batches {
        assert!(read(stream).body.contains("\"complete\",\"answers\":1"));
    }
}

/// Whoever connects until no descriptor is left finds that they are not for connections alone.
#[test]
fn connections_leave_descriptors_to_others() {
    let (other, address) = another("rights = [\"verify\"]");
    let folder = folder(&(config("") + &other), POLICY);
    let daemon = Daemon::limited(folder.clone(), "ulimit -n 256");
    until(|| daemon.said().contains("\"event\":\"loaded\""));
    let flood: Vec<_> = (0..400).map_while(|_| UnixStream::connect(daemon.socket()).ok()).collect();
    assert_eq!(ask_tcp(address, "/v1/verify", LOGIN).status, 200);
    daemon.reload();
    assert_eq!(daemon.said().matches("\"event\":\"loaded\"").count(), 2, "{}", daemon.said());
    assert!(daemon.said().contains("limits.connections is 32 instead of 4096"));
    assert!(!daemon.said().contains("\"event\":\"accept\""), "{}", daemon.said());
    drop((flood, daemon));
    // What a process may raise is raised.
    let daemon = Daemon::limited(folder, "ulimit -S -n 200");
    until(|| daemon.said().contains("\"event\":\"loaded\""));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let allowed: Vec<_> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(allowed[0], allowed[1], "{files}");
}

#[test]
fn a_balancer_may_ask_for_the_head_alone() {
    let daemon = Daemon::simple();
    let answer = ask(&daemon.socket(), "HEAD", "/health", "", "");
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert_eq!(ask(&daemon.socket(), "HEAD", "/v1/hash", "", "").status, 405);
}

/// Turns go by what each client is given: by how many connections and with what deadlines it asks
/// makes no difference. Before, the client with short deadlines had all turns.
#[test]
fn many_connections_and_short_deadlines_move_no_client_forward() {
    let (other, address) = another("rights = [\"verify\"]");
    let policy = "[params]\ncost = 4\n[pool]\nthreads = 1\n";
    let daemon = Daemon::start(&config(&other), policy);
    let (done, computed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let hurried = LOGIN.replace('}', ",\"timeout_ms\":2000}");
    let patient = LOGIN.replace('}', ",\"timeout_ms\":10000}");
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    let answer = ask_tcp(address, "/v1/verify", &hurried);
                    computed.fetch_add(usize::from(answer.status == 200), Relaxed);
                }
            });
        }
        until(|| computed.load(Relaxed) > 12);
        let before = computed.load(Relaxed);
        for _ in 0..40 {
            assert_eq!(daemon.post("/v1/verify", &patient).status, 200);
        }
        let meanwhile = computed.load(Relaxed) - before;
        done.store(true, Relaxed);
        // A hash or two that have begun, and one beside each of the patient client's.
        assert!(meanwhile <= 4 * 40, "{meanwhile}");
    });
}
