//! The client of the library.

use std::time::Duration;

use saltern_server::api::{Freshness, Reason, Rekeying, Verdict};
use saltern_server::client::{Client, Error};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::daemon::{Daemon, POLICY, config};

#[tokio::test]
async fn it_hashes_and_verifies() {
    let daemon = Daemon::simple();
    let client = Client::unix(daemon.socket());
    let stored = client.hash("correct horse").await.unwrap();
    let login = client.verify("alice", "correct horse", Some(&stored)).await.unwrap();
    assert_eq!((login.outcome, login.update), (Verdict::Match, None));
    let login = client.verify("alice", "battery staple", Some(&stored)).await.unwrap();
    assert_eq!(login.outcome, Verdict::Mismatch);
    let login = client.verify("mallory", "battery staple", None).await.unwrap();
    assert_eq!(login.outcome, Verdict::Mismatch);
    assert_eq!(client.needs_rehash(&stored).await.unwrap().outcome, Freshness::Current);
    assert_eq!(client.rekey(&stored).await.unwrap().outcome, Rekeying::Unchanged);
    let Err(Error::Problem(problem)) = client.rekey("nonsense").await else { panic!() };
    assert_eq!((problem.status, problem.reason), (422, Reason::BadInput));
    let Err(Error::Problem(problem)) = client.within(Duration::ZERO).hash("x").await else {
        panic!()
    };
    assert_eq!(problem.reason, Reason::TooLate);
    // One connection for all of that, and one that asks.
    assert_eq!(daemon.metric("saltern_connections_total", ""), 2.0);
}

#[tokio::test]
async fn it_finds_the_service_again() {
    let daemon = Daemon::start(&config("[limits]\nhead_time = \"100ms\"\n"), POLICY);
    let client = Client::unix(daemon.socket());
    for _ in 0..3 {
        client.hash("x").await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    drop(daemon);
    let Err(Error::Connection(_)) = client.hash("x").await else { panic!() };
}

/// The client for Python, by its own tests.
#[test]
fn the_client_for_python_works() {
    let daemon = Daemon::start(&config("[limits]\nhead_time = \"200ms\"\n"), POLICY);
    let tests =
        saltern_testing::program::repository("apps/salternd/clients/python/test_salternd.py");
    let run = std::process::Command::new("python3")
        .args(["-W", "error", "-B"])
        .arg(tests)
        .arg(daemon.socket())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && told.contains("Ran 9 tests"), "{told}");
}

/// A service of one answer for each connection, or of none.
async fn answers(said: &'static [&'static str]) -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        for answer in said {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            kept.push(stream);
        }
        std::future::pending::<()>().await;
    });
    (folder, Client::unix(socket))
}

/// What could not be found out is no mismatch, and nothing is no string to store.
#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    const NOTHING: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let (_folder, client) = answers(&[NOTHING; 4]).await;
    assert!(matches!(client.hash("x").await, Err(Error::Answer { status: 200 })));
    let (_folder, client) = answers(&[NOTHING]).await;
    let verified = client.verify("alice", "x", Some("y")).await;
    assert!(matches!(verified, Err(Error::Answer { status: 200 })));
    let (_folder, client) = answers(&[NOTHING]).await;
    assert!(matches!(client.needs_rehash("y").await, Err(Error::Answer { status: 200 })));
    let (_folder, client) = answers(&[NOTHING]).await;
    assert!(matches!(client.rekey("y").await, Err(Error::Answer { status: 200 })));
}

#[tokio::test]
async fn a_service_that_says_nothing_is_not_waited_for_for_ever() {
    let (_folder, client) = answers(&[""]).await;
    let Err(error) = client.within(Duration::ZERO).hash("x").await else { panic!() };
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
}

/// A newer service has reasons that this client does not know.
#[tokio::test]
async fn reasons_that_are_not_known_keep_the_rest() {
    let (_folder, client) = answers(&["HTTP/1.1 503 \r\ncontent-length: 105\r\n\r\n\
        {\"type\":\"urn:saltern:problem:new\",\"outcome\":\"overloaded\",\"detail\":\"what is new\",\
        \"retry_after_ms\":250}\r\n\r\n\r\n"])
    .await;
    let Err(Error::Problem(problem)) = client.hash("x").await else { panic!() };
    assert_eq!(
        (problem.status, problem.reason, problem.outcome()),
        (503, Reason::Other, "overloaded")
    );
    assert_eq!(problem.retry_after, Some(Duration::from_millis(250)));
}

/// A refusal that says when there may be room.
const BUSY: &str = "HTTP/1.1 503 \r\nconnection: close\r\ncontent-length: 101\r\n\r\n\
    {\"type\":\"urn:saltern:problem:queue-full\",\"outcome\":\"overloaded\",\"detail\":\"later\",\
    \"retry_after_ms\":10}";

#[tokio::test]
async fn what_was_refused_is_sent_again_if_the_caller_has_time() {
    const MADE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 35\r\n\r\n\
        {\"outcome\":\"hashed\",\"hash\":\"$y$..\"}";
    let (_folder, client) = answers(&[BUSY, BUSY, MADE]).await;
    let patient = client.retrying(Duration::from_secs(30));
    assert_eq!(patient.hash("x").await.unwrap(), "$y$..");
    let (_folder, client) = answers(&[BUSY]).await;
    let Err(Error::Problem(problem)) = client.hash("x").await else { panic!() };
    assert_eq!(problem.reason, Reason::QueueFull);
}

#[tokio::test]
async fn a_client_whose_requests_are_refused_sends_fewer() {
    let (_folder, client) = answers(&[BUSY; 400]).await;
    let mut sent = 0;
    for _ in 0..400 {
        let Err(Error::Problem(problem)) = client.hash("x").await else { panic!() };
        sent += usize::from(problem.reason == Reason::QueueFull);
        assert!([Reason::QueueFull, Reason::Throttled].contains(&problem.reason), "{problem:?}");
    }
    assert!(sent < 150, "{sent}");
}
