//! The example of a server, over real HTTP.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use saltern::{Passwords, Policy};

use super::example::app;

/// The status of an answer.
fn post(server: SocketAddr, path: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(server).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_example_serves_logins() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let policy = Policy::read(format!("{folder}/saltern.toml")).unwrap();
    let old =
        "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4".to_owned();
    let broken = "$y$j9T$abc".to_owned();
    let accounts = HashMap::from([("old".to_owned(), old), ("broken".to_owned(), broken)]);
    let app = app(Passwords::new(policy).unwrap(), accounts);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let server = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, app).await });
    let login = |account: &str, password: &str| {
        let body = format!(r#"{{"account":"{account}","password":"{password}"}}"#);
        post(server, "/login", &body)
    };
    let body = r#"{"account":"alice","password":"correct horse"}"#;
    assert_eq!(login("alice", "correct horse"), 403);
    assert_eq!(post(server, "/accounts", body), 201);
    assert_eq!(login("alice", "correct horse"), 200);
    assert_eq!(login("alice", "battery staple"), 403);
    // An old hash, updated at the first login, and the update at the second.
    assert_eq!([login("old", "pleaseletmein"), login("old", "pleaseletmein")], [200, 200]);
    assert_eq!(login("old", "wrong"), 403);
    assert_eq!(login("broken", "anything"), 400);
    assert_eq!(login("alice", &"x".repeat(600)), 400);
    assert_eq!(post(server, "/login", "{}"), 422);
}
