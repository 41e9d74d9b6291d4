//! A service that is killed and started again while clients ask it.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::daemon::{Answer, Daemon, head, read, until};

/// A login over a connection of its own, or that there was no service.
fn login(socket: &Path, password: &str, hash: &str) -> Option<Answer> {
    let body = json!({ "account": "a", "password": password, "hash": hash }).to_string();
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = head("/v1/verify", &format!("connection: close\r\ncontent-length: {}", body.len()));
    stream.write_all((head + &body).as_bytes()).ok()?;
    Some(read(stream))
}

/// What clients have seen.
#[derive(Default)]
struct Seen {
    right: AtomicUsize,
    /// Connections that were refused or ended without an answer.
    broken: AtomicUsize,
    ending: AtomicBool,
}

fn ask_on(seen: &Seen, socket: &Path, hash: &str, number: usize) {
    let mut turn = number;
    while !seen.ending.load(Relaxed) {
        turn += 1;
        let (password, expected) =
            if turn.is_multiple_of(2) { ("secret", "match") } else { ("Secret", "mismatch") };
        match login(socket, password, hash) {
            Some(answer) if answer.status == 200 => {
                // The head may be there and the body not.
                if answer.body.ends_with('}') {
                    assert_eq!(answer.outcome(), expected, "{answer:?}");
                    seen.right.fetch_add(1, Relaxed);
                } else {
                    seen.broken.fetch_add(1, Relaxed);
                }
            }
            Some(answer) if answer.status == 0 => _ = seen.broken.fetch_add(1, Relaxed),
            None => {
                seen.broken.fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
            Some(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
        }
    }
}

/// Clients see connections that end, and after the next start the same answers as before; never a
/// wrong one. Every string that was given out before a kill is good after it.
#[test]
fn kills_under_load_make_no_answer_wrong() {
    let mut daemon = Daemon::simple();
    let stored: Arc<str> = daemon.hash("secret").into();
    let (seen, socket): (Arc<Seen>, PathBuf) = (Arc::default(), daemon.socket());
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (seen, socket, stored) = (seen.clone(), socket.clone(), stored.clone());
            std::thread::spawn(move || ask_on(&seen, &socket, &stored, number))
        })
        .collect();
    let mut strings = Vec::new();
    for turn in 0..5 {
        let before = seen.right.load(Relaxed);
        until(|| seen.right.load(Relaxed) >= before + 20);
        let password = format!("password {turn}");
        strings.push((daemon.hash(&password), password));
        daemon.signal(Signal::KILL);
        daemon.ended();
        daemon = Daemon::start_in(daemon.folder.clone());
    }
    let before = seen.right.load(Relaxed);
    until(|| seen.right.load(Relaxed) >= before + 20);
    seen.ending.store(true, Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(seen.broken.load(Relaxed) >= 5, "{}", seen.broken.load(Relaxed));
    for (hash, password) in strings {
        assert_eq!(login(&socket, &password, &hash).unwrap().outcome(), "match");
        assert_eq!(login(&socket, "another", &hash).unwrap().outcome(), "mismatch");
    }
}
