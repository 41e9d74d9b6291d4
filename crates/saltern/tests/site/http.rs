//! The example of a server, over real HTTP.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use saltern::{Passwords, Policy};

use super::example::app;

/// The status of an answer.
fn post(server: SocketAddr, path: &str, body: &str) -> u16 {
    let answer = ask(server, path, body);
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// An answer, without the time of day.
fn ask(server: SocketAddr, path: &str, body: &str) -> String {
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
    answer.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n")
}

/// The example with these accounts, until the runtime ends.
fn serve(accounts: HashMap<String, String>) -> (tokio::runtime::Runtime, SocketAddr) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let policy = Policy::read(format!("{folder}/saltern.toml")).unwrap();
    let app = app(Passwords::new(policy).unwrap(), accounts);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let server = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, app).await });
    (runtime, server)
}

#[test]
fn the_example_serves_logins() {
    let old =
        "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4".to_owned();
    let broken = "$y$j9T$abc".to_owned();
    let accounts = HashMap::from([("old".to_owned(), old), ("broken".to_owned(), broken)]);
    let (_runtime, server) = serve(accounts);
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

/// A password that cannot be used tells nobody whether an account exists.
#[test]
fn the_example_answers_known_and_unknown_accounts_alike() {
    let old = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    let (_runtime, server) = serve(HashMap::from([("known".to_owned(), old.to_owned())]));
    let passwords = [
        (String::new(), 403),
        ("x".repeat(511), 403),
        ("x".repeat(512), 400),
        ("x".repeat(600), 400),
        (r"a\u0000b".to_owned(), 400),
        (r"\ud800".to_owned(), 400),
        ("x".repeat(1 << 20), 400),
    ];
    for (password, status) in passwords {
        let [known, unknown] = ["known", "other"].map(|account| {
            let body = format!(r#"{{"account":"{account}","password":"{password}"}}"#);
            ask(server, "/login", &body)
        });
        // What JSON cannot say is refused with its place in the request.
        assert_eq!(known, unknown);
        assert!(known.starts_with(&format!("HTTP/1.1 {status} ")), "{known}");
    }
}
