//! Who may do what, and how often.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use serde_json::json;

use super::daemon::{Daemon, LOGIN, POLICY, SLOW, another, ask_tcp, config, post, read, until};

/// A service whose client on TCP has these entries; and the address.
fn local(entries: &str) -> (Daemon, SocketAddr) {
    let (other, address) = another(entries);
    (Daemon::start(&(config("") + &other), POLICY), address)
}

#[test]
fn a_client_does_what_it_may_and_nothing_else() {
    let (_daemon, address) = local("rights = [\"verify\"]");
    assert_eq!(ask_tcp(address, "/v1/verify", LOGIN).outcome(), "mismatch");
    for path in ["/v1/hash", "/v1/rekey"] {
        let answer = ask_tcp(address, path, "not even looked at");
        assert_eq!((answer.status, &*answer.reason()), (403, "forbidden"), "{path}");
    }
    let lines = r#"{"op":"hash","password":"x"}"#.to_owned()
        + "\n"
        + r#"{"op":"verify","password":"x","hash":null}"#;
    let answer = ask_tcp(address, "/v1/batch", &lines);
    assert!(answer.body.contains("problem:forbidden"), "{answer:?}");
    assert!(answer.body.contains("\"outcome\":\"mismatch\""), "{answer:?}");
    // A batch of which no line could be done is none.
    let (_daemon, address) = local("rights = [\"admin\"]");
    let answer = ask_tcp(address, "/v1/batch", &lines);
    assert_eq!((answer.status, &*answer.reason()), (403, "forbidden"));
}

#[test]
fn a_stranger_may_do_nothing_but_see_that_it_lives() {
    let config = "policy = \"saltern.toml\"\n[[listen]]\nunix = \"socket\"\nmode = \"0666\"\n\
                  [[clients]]\nname = \"other\"\nusers = [4242]\nrights = [\"verify\", \"hash\"]\n";
    let daemon = Daemon::start(config, POLICY);
    let answer = daemon.post("/v1/hash", r#"{"password":"x"}"#);
    assert_eq!((answer.status, &*answer.reason()), (403, "forbidden"));
    assert!(answer.json()["detail"].as_str().unwrap().contains("is not in [[clients]]"));
    assert_eq!(daemon.get("/health").status, 200);
    assert_eq!(daemon.get("/metrics").status, 403);
}

#[test]
fn the_socket_is_for_those_whom_the_file_names() {
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |daemon: &Daemon| std::fs::metadata(daemon.socket()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&Daemon::simple()), 0o600);
    let config = config("").replace("unix = \"socket\"", "unix = \"socket\"\nmode = \"0660\"");
    assert_eq!(mode(&Daemon::start(&config, POLICY)), 0o660);
}

#[test]
fn accounts_and_clients_are_limited() {
    let (_daemon, address) = local("rights = [\"verify\"]\nrate = \"1/min\"\nburst = 3");
    for _ in 0..3 {
        assert_eq!(ask_tcp(address, "/v1/verify", LOGIN).status, 200);
    }
    let refused = ask_tcp(address, "/v1/verify", LOGIN);
    assert_eq!(
        (refused.status, &*refused.reason(), &*refused.outcome()),
        (429, "client-rate", "overloaded")
    );
    assert!(refused.head.contains("retry-after: "), "{refused:?}");

    let limits = "[limits]\naccount = \"1/min\"\naccount_burst = 2\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let login = |account: &str| {
        let login = json!({ "account": account, "password": "x", "hash": null });
        let answer = daemon.post("/v1/verify", &login.to_string());
        (answer.status, answer.outcome())
    };
    assert_eq!([login("alice").0, login("alice").0, login("bob").0], [200; 3]);
    assert_eq!(login("alice"), (429, "overloaded".to_owned()));
    // Nor is leaving the name out.
    for account in ["", r#""account":null,"#, r#""account":"","#] {
        let body = format!(r#"{{{account}"password":"x","hash":null}}"#);
        let answer = daemon.post("/v1/verify", &body);
        assert_eq!((answer.status, &*answer.reason()), (400, "malformed"), "{account}");
        let line = body.replacen('{', r#"{"op":"verify","#, 1);
        assert!(daemon.post("/v1/batch", &line).body.contains("`account` is missing"));
    }
    // A batch is no way around it, and a reload forgets nothing.
    daemon.reload();
    let line = r#"{"op":"verify","account":"alice","password":"x","hash":null}"#;
    assert!(daemon.post("/v1/batch", line).body.contains("problem:account-rate"));
    assert_eq!((login("bob").0, login("bob").0), (200, 429));
}

/// A rate alone is one at a time, for whoever asks as evenly as a clock: a second's worth may come
/// at once.
#[test]
fn a_rate_without_a_burst_allows_those_of_a_second() {
    let (_daemon, address) = local("rights = [\"verify\"]\nrate = \"20/s\"");
    let told: Vec<_> = (0..20).map(|_| ask_tcp(address, "/v1/verify", LOGIN).status).collect();
    assert_eq!(told, [200; 20]);
}

/// A batch takes what is left of the rate of its client, and no more than half of its burst.
#[test]
fn a_batch_leaves_logins_of_its_client_what_they_need() {
    let config = config("").replace("rights", "rate = \"10/s\"\nburst = 6\nrights");
    let daemon = Daemon::start(&config, POLICY);
    let socket = daemon.socket();
    let lines = "{\"op\":\"needs-rehash\",\"hash\":\"x\"}\n".repeat(1000);
    // It ends with the service.
    let batch = std::thread::spawn(move || post(&socket, "/v1/batch", &lines));
    std::thread::sleep(std::time::Duration::from_secs(1));
    for _ in 0..8 {
        assert_eq!(daemon.post("/v1/verify", LOGIN).status, 200);
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    drop(daemon);
    assert!(batch.join().unwrap().body.matches("bad-input").count() > 5);
}

/// What had no answer does not count, so that an overload locks nobody out.
#[test]
fn a_login_without_an_answer_does_not_count() {
    let limits = "[limits]\naccount = \"1/h\"\naccount_burst = 2\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let hash = daemon.hash("secret");
    let login = |password: &str, hash: &str, more: serde_json::Value| {
        let mut login = json!({ "account": "alice", "password": password, "hash": hash });
        login.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        daemon.post("/v1/verify", &login.to_string()).outcome()
    };
    for _ in 0..4 {
        assert_eq!(login("secret", &hash[..20], json!({})), "bad-input");
        assert_eq!(login("secret", &hash, json!({ "timeout_ms": 0 })), "overloaded");
    }
    assert_eq!(login("wrong", &hash, json!({})), "mismatch");
    assert_eq!(login("secret", &hash, json!({})), "match");
    assert_eq!(login("secret", &hash, json!({})), "overloaded");
}

/// A reload neither gives a client its burst again nor forgets what it has under way.
#[test]
fn a_reload_forgets_nothing_of_a_client() {
    let config = config("").replace("rights", "rate = \"1/h\"\nburst = 9\nrequests = 2\nrights");
    // Whoever looks is another one.
    let (looks, address) = another("rights = [\"admin\"]");
    let daemon = Daemon::start(&(config + &looks), POLICY);
    let under_way = || {
        let text = ask_tcp(address, "/metrics", "").body;
        let gauge = "saltern_client_requests{client=\"tests\"}";
        let line = text.lines().find(|line| line.starts_with(gauge)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let ask = || daemon.post("/v1/needs-rehash", r#"{"hash":"$7$"}"#).status;
    let two = [daemon.unfinished_request(), daemon.unfinished_request()];
    until(|| under_way() == 2);
    daemon.reload();
    assert_eq!((under_way(), ask()), (2, 429));
    drop(two);
    until(|| under_way() == 0);
    for _ in 0..7 {
        daemon.reload();
        assert_eq!(ask(), 422);
    }
    assert_eq!(ask(), 429);
    daemon.reload();
    assert_eq!(ask(), 429);
}

/// What a client asks for is bounded by what the site allows.
#[test]
fn no_client_waits_longer_than_the_site_allows() {
    let daemon = Daemon::start(&config("timeout = \"20ms\""), SLOW);
    for more in ["", r#","timeout_ms":9007199254740991"#] {
        let answer = daemon.post("/v1/hash", &format!(r#"{{"password":"x"{more}}}"#));
        // At once, if it is already known how long a hash takes.
        let reason = &*answer.reason();
        assert!(answer.status == 503 && ["too-late", "expired"].contains(&reason), "{answer:?}");
    }
}

/// An answer that is not there in time is not waited for, and a match not for its update.
#[test]
fn no_answer_comes_after_its_deadline() {
    let policy = "[params]\ncost = 9\n[pool]\nthreads = 1\n[limits]\nmemory = \"512MiB\"\n";
    let stored = Daemon::simple().hash("secret");
    let daemon = Daemon::start(&config(""), policy);
    let answer = daemon.post("/v1/hash", r#"{"password":"x","timeout_ms":40}"#);
    assert_eq!((answer.status, &*answer.reason()), (503, "expired"));
    // A thread that makes room for a hash has not begun it, but is not idle either.
    until(|| daemon.metric("saltern_pool_idle", "") == 1.0);
    let login = |time: u64| {
        let login = json!({ "password": "secret", "hash": stored, "timeout_ms": time });
        daemon.post("/v1/verify", &login.to_string()).json()
    };
    // More than the login takes, unless the machine stands still, and less than its update of
    // 256 MiB.
    let late = (0..100).map(|_| login(100)).find(|late| late["outcome"] != "overloaded").unwrap();
    assert_eq!((&late["outcome"], &late["update"]), (&json!("match"), &json!(null)), "{late}");
    assert!(late["outdated"].is_array(), "{late}");
    until(|| daemon.metric("saltern_pool_idle", "") == 1.0);
    // So it is in a batch, the time of a line being its own.
    let line = |time: u64| {
        let login = json!({
            "op": "verify", "password": "secret", "hash": stored, "timeout_ms": time
        });
        let answer = daemon.post("/v1/batch", &format!("{login}\n"));
        let first = answer.body.lines().find(|line| line.starts_with('{')).unwrap();
        serde_json::from_str::<serde_json::Value>(first).unwrap()
    };
    let late = (0..100).map(|_| line(100)).find(|late| late["outcome"] != "overloaded").unwrap();
    assert_eq!((&late["outcome"], &late["update"]), (&json!("match"), &json!(null)), "{late}");
    until(|| daemon.metric("saltern_pool_idle", "") == 1.0);
    assert!(login(10_000)["update"].is_string());
}

/// A page of another site that a browser takes for this one, by its name, is refused.
#[test]
fn other_names_of_this_machine_are_refused() {
    let (_daemon, address) = local("rights = [\"admin\"]");
    let ask = |host: &str, path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let text = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        read(stream).status
    };
    for host in ["localhost", "localhost:80", "127.0.0.1", "127.0.0.1:8080", "[::1]:80"] {
        for path in ["/metrics", "/health", "/ready"] {
            assert_eq!(ask(host, path), 200, "{host} {path}");
        }
    }
    for host in ["", "example.org", "localhost.example.org", "10.0.0.1", "127.0.0.1.example.org"] {
        for path in ["/metrics", "/health", "/ready"] {
            assert_eq!(ask(host, path), 403, "{host} {path}");
        }
    }
}
