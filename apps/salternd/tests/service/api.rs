//! What is asked, and what is answered.

use std::time::Instant;

use serde_json::{Value, json};

use super::daemon::{Daemon, POLICY, SLOW, ask, config, key_entry, until};

/// Of 1 MiB, made with "pleaseletmein".
const OLD: &str = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";

fn verify(daemon: &Daemon, request: &Value) -> (u16, Value) {
    let answer = daemon.post("/v1/verify", &request.to_string());
    (answer.status, answer.json())
}

#[test]
fn a_password_is_hashed_and_verified() {
    let daemon = Daemon::simple();
    let hash = daemon.hash("correct horse");
    assert!(hash.starts_with("$y$j75$"), "{hash}");
    let of = |password: &str| json!({ "account": "alice", "password": password, "hash": hash });
    assert_eq!(verify(&daemon, &of("correct horse")), (200, json!({ "outcome": "match" })));
    assert_eq!(verify(&daemon, &of("battery staple")), (200, json!({ "outcome": "mismatch" })));
    let unknown = json!({ "account": "mallory", "password": "x", "hash": null });
    assert_eq!(verify(&daemon, &unknown), (200, json!({ "outcome": "mismatch" })));
    let locked = json!({ "password": "correct horse", "hash": format!("!{hash}") });
    assert_eq!(verify(&daemon, &locked), (200, json!({ "outcome": "locked" })));
    // Bytes that are no text, and escapes.
    let bytes = daemon.post("/v1/hash", r#"{"password_hex":"c3a9"}"#).json();
    let text = json!({ "password": "\u{e9}", "hash": bytes["hash"] });
    assert_eq!(verify(&daemon, &text).1["outcome"], "match");
    let escaped = format!(r#"{{"password":"\u00e9","hash":{}}}"#, bytes["hash"]);
    assert_eq!(daemon.post("/v1/verify", &escaped).outcome(), "match");
}

#[test]
fn an_outdated_string_has_an_update_after_a_match_only() {
    let daemon = Daemon::start(&config(""), "[params]\ncost = 2\n[pool]\nthreads = 1\n");
    let old = daemon.hash("secret");
    assert_eq!(
        daemon.post("/v1/needs-rehash", &json!({ "hash": old }).to_string()).json(),
        json!({ "outcome": "current" })
    );
    let outdated = json!({ "hash": OLD }).to_string();
    assert_eq!(
        daemon.post("/v1/needs-rehash", &outdated).json(),
        json!({ "outcome": "outdated", "outdated": ["cost"] })
    );
    // A string of the old cost: made under the old policy.
    daemon.write("saltern.toml", POLICY);
    daemon.reload();
    let old = daemon.hash("secret");
    daemon.write("saltern.toml", "[params]\ncost = 2\n[pool]\nthreads = 2\n");
    daemon.reload();
    let login = json!({ "account": "a", "password": "secret", "hash": old });
    let (status, answer) = verify(&daemon, &login);
    assert_eq!(
        (status, &answer["outcome"], &answer["outdated"]),
        (200, &json!("match"), &json!(["cost"]))
    );
    let new = answer["update"].as_str().unwrap();
    assert_eq!(
        verify(&daemon, &json!({ "password": "secret", "hash": new })).1,
        json!({ "outcome": "match" })
    );
    let kept = json!({ "password": "secret", "hash": old, "update": false });
    assert_eq!(verify(&daemon, &kept).1, json!({ "outcome": "match", "outdated": ["cost"] }));
    let wrong = json!({ "password": "Secret", "hash": old });
    assert_eq!(verify(&daemon, &wrong).1, json!({ "outcome": "mismatch" }));
}

#[test]
fn a_login_is_remembered_until_the_next_reload_and_still_counts_for_its_account() {
    let policy = POLICY.to_owned() + "[remember]\ntime = \"10min\"\n";
    let limits = "[limits]\naccount = \"1/min\"\naccount_burst = 5\n";
    let daemon = Daemon::start(&config(limits), &policy);
    let hash = daemon.hash("secret");
    let of = |password: &str| json!({ "account": "alice", "password": password, "hash": hash });
    let computed = json!({ "outcome": "match" });
    let remembered = json!({ "outcome": "match", "remembered": true });
    assert_eq!(verify(&daemon, &of("Secret")).1, json!({ "outcome": "mismatch" }));
    assert_eq!(verify(&daemon, &of("secret")).1, computed);
    assert_eq!(verify(&daemon, &of("secret")).1, remembered);
    assert_eq!(daemon.metric("saltern_remembered_total", ""), 1.0);
    daemon.reload();
    assert_eq!(verify(&daemon, &of("secret")).1, computed);
    assert_eq!(verify(&daemon, &of("secret")).1, remembered);
    assert_eq!(verify(&daemon, &of("secret")).0, 429);
}

#[test]
fn a_string_is_moved_to_the_active_key() {
    let daemon = Daemon::simple();
    let plain = daemon.hash("secret");
    let request = json!({ "hash": plain }).to_string();
    assert_eq!(daemon.post("/v1/rekey", &request).json(), json!({ "outcome": "unchanged" }));
    let moved_to = |name: &str, bytes: [u8; 32]| {
        daemon.write("key", bytes);
        daemon.write("saltern.toml", POLICY.to_owned() + &key_entry(name, bytes));
        daemon.reload();
    };
    moved_to("2026", [7; 32]);
    let answer = daemon.post("/v1/rekey", &request).json();
    assert_eq!(answer["outcome"], "rekeyed");
    let rekeyed = answer["hash"].as_str().unwrap();
    assert!(rekeyed.starts_with("{key=2026+"), "{rekeyed}");
    let login = json!({ "password": "secret", "hash": rekeyed });
    assert_eq!(verify(&daemon, &login).1["outcome"], "match");
    // A key that is not there is never a mismatch.
    moved_to("2027", [8; 32]);
    let answer = daemon.post("/v1/verify", &login.to_string());
    assert_eq!(
        (answer.status, &*answer.reason(), &*answer.outcome()),
        (503, "unavailable", "unavailable")
    );
    // The log says so, seldom.
    for _ in 0..50 {
        assert_eq!(daemon.post("/v1/verify", &login.to_string()).status, 503);
    }
    until(|| daemon.said().contains("\"reason\":\"unavailable\""));
    assert!(daemon.said().matches("\"event\":\"failed\"").count() < 25, "{}", daemon.said());
    // And of lines of batches: here under an operation that has not been warned about.
    moved_to("2028", [9; 32]);
    let line = json!({ "op": "rekey", "hash": rekeyed }).to_string();
    let refused = || daemon.metric("saltern_refused_total", "reason=\"unavailable\"");
    let before = refused();
    let warned = daemon.said().matches("\"event\":\"failed\"").count();
    until(|| {
        let answer = daemon.post("/v1/batch", &(line.clone() + "\n"));
        assert!(answer.body.contains("unavailable"), "{}", answer.body);
        std::thread::sleep(std::time::Duration::from_millis(100));
        daemon.said().matches("\"event\":\"failed\"").count() > warned
    });
    assert!(refused() > before);
}

#[test]
fn what_is_wrong_with_a_request_is_a_problem() {
    let daemon = Daemon::simple();
    let hash = daemon.hash("hunter2");
    for (path, body, status, reason) in [
        ("/v1/hash", "", 400, "malformed"),
        ("/v1/hash", "{\"password\":\"hunter2\"", 400, "malformed"),
        ("/v1/hash", "[\"hunter2\"]", 400, "malformed"),
        ("/v1/hash", "{\"password\":\"hunter2\",\"x\":1}", 400, "malformed"),
        ("/v1/hash", "{\"password\":\"\"}", 422, "bad-input"),
        ("/v1/hash", "{\"password\":\"a\\u0000hunter2\"}", 422, "bad-input"),
        ("/v1/verify", "{\"password\":\"hunter2\"}", 400, "malformed"),
        ("/v1/verify", "{\"password\":\"hunter2\",\"hash\":\"\"}", 422, "bad-input"),
        ("/v1/verify", "{\"password\":\"hunter2\",\"hash\":\"$y$j9T$\"}", 422, "bad-input"),
        ("/v1/verify", "{\"password\":\"hunter2\",\"hash\":\"$6$abc$xyz\"}", 422, "bad-input"),
        ("/v1/needs-rehash", "{\"hash\":7}", 400, "malformed"),
        ("/v1/rekey", "{\"hash\":\"hunter2\"}", 422, "bad-input"),
        ("/v2/hash", "{}", 404, "not-found"),
    ] {
        let answer = daemon.post(path, body);
        assert_eq!(
            (answer.status, &*answer.reason()),
            (status, reason),
            "{path} {body} {answer:?}"
        );
        assert!(!answer.body.contains("hunter2"), "{answer:?}");
        assert_eq!(answer.outcome(), "bad-input");
    }
    let long = json!({ "password": "x".repeat(600) }).to_string();
    let answer = daemon.post("/v1/hash", &long);
    assert_eq!(
        (answer.status, &*answer.reason(), &*answer.outcome()),
        (422, "over-limit", "over-limit")
    );
    let costly = json!({ "password": "x", "hash": hash.replacen("j75", "jET", 1) }).to_string();
    assert_eq!(daemon.post("/v1/verify", &costly).outcome(), "over-limit");
    let answer = daemon.post("/v1/hash", &json!({ "password": "x".repeat(70_000) }).to_string());
    assert_eq!((answer.status, &*answer.reason()), (413, "too-large"));
    assert_eq!(daemon.get("/v1/hash").reason(), "method");
    assert!(daemon.get("/v1/hash").head.contains("allow: post"));
    let plain = ask(&daemon.socket(), "POST", "/v1/hash", "content-type: text/plain\r\n", "{}");
    assert_eq!((plain.status, &*plain.reason()), (415, "media-type"));
    let head = format!("content-type: application/json\r\nx: {}\r\n", "y".repeat(40_000));
    assert_eq!(ask(&daemon.socket(), "POST", "/v1/hash", &head, "{}").status, 431);
}

/// What cannot be done in time is refused at once, and says when it may be.
#[test]
fn deadlines_come_from_the_request_or_from_a_proxy() {
    let daemon = Daemon::start(&config(""), SLOW);
    daemon.hash("x"); // From now on its time is known.
    let start = Instant::now();
    let late = daemon.post("/v1/hash", r#"{"password":"x","timeout_ms":1}"#);
    assert!(start.elapsed().as_millis() < 100, "{:?}", start.elapsed());
    assert_eq!((late.status, &*late.reason(), &*late.outcome()), (503, "too-late", "overloaded"));
    assert!(late.head.contains("retry-after: "), "{late:?}");
    assert!(late.json()["retry_after_ms"].as_u64().unwrap() > 0);
    let ask = |header: &str| {
        let head = format!(
            "content-type: application/json\r\nx-envoy-expected-rq-timeout-ms: {header}\r\n"
        );
        ask(&daemon.socket(), "POST", "/v1/hash", &head, r#"{"password":"x","timeout_ms":60000}"#)
    };
    assert_eq!(ask("1").reason(), "too-late");
    assert_eq!(ask("60000").outcome(), "hashed");
    assert_eq!(ask("soon").reason(), "malformed");
    assert_eq!(ask("0").reason(), "too-late");
    // That is no failure of the service.
    daemon.reload();
    assert!(!daemon.said().contains("\"event\":\"failed\""), "{}", daemon.said());
}

#[test]
fn it_says_how_it_does() {
    let daemon = Daemon::simple();
    assert_eq!((daemon.get("/health").status, daemon.get("/ready").status), (200, 200));
    daemon.hash("x");
    let _ = daemon.post("/v1/hash", "{");
    assert_eq!(daemon.metric("saltern_requests_total", "op=\"hash\",outcome=\"hashed\""), 1.0);
    assert_eq!(daemon.metric("saltern_requests_total", "op=\"hash\",outcome=\"bad-input\""), 1.0);
    assert_eq!(daemon.metric("saltern_refused_total", "malformed"), 1.0);
    // Only what was answered has a time.
    assert_eq!(daemon.metric("saltern_request_seconds_count", "op=\"hash\""), 1.0);
    assert_eq!(daemon.metric("saltern_pool_threads", ""), 2.0);
    assert_eq!(daemon.metric("saltern_ready", ""), 1.0);
    let document = daemon.get("/v1/openapi.json");
    assert_eq!(document.body, saltern_server::api::document());
    assert_eq!(document.json()["openapi"], "3.1.0");
}

#[test]
fn there_is_a_page_only_if_it_was_asked_for() {
    assert_eq!(Daemon::simple().get("/").status, 404);
}

/// What the dashboard for Grafana and the alerts of Prometheus ask for is there.
#[test]
fn the_dashboard_for_grafana_and_the_alerts_know_the_metrics() {
    let dashboard = include_str!("../../grafana/salternd.json");
    let alerts = include_str!("../../prometheus/alerts.yml");
    let metrics = {
        let daemon = Daemon::simple();
        let login = json!({ "password": "x", "hash": daemon.hash("x") }).to_string();
        assert_eq!(daemon.post("/v1/verify", &login).outcome(), "match");
        daemon.get("/metrics").body
    };
    let names: std::collections::BTreeSet<&str> = [dashboard, alerts]
        .into_iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_lowercase() && c != '_'))
        .filter(|word| word.starts_with("saltern_"))
        .collect();
    assert!(names.len() > 17, "{names:?}");
    for reason in ["too-late", "expired", "queue-full", "unavailable", "internal"] {
        assert!(alerts.contains(reason) && metrics.contains(&format!("reason=\"{reason}\"")));
    }
    for name in names {
        // There is none without TLS.
        let is_there = metrics.contains(&format!("\n{name}"));
        assert!(is_there || name == "saltern_certificate_ends_seconds", "{name}");
    }
    let rules = saltern_testing::program::repository("apps/salternd/prometheus/alerts.yml");
    match std::process::Command::new("promtool").args(["check", "rules"]).arg(rules).output() {
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
        Err(error) => saltern_testing::skipped(&format!("promtool: {error}")),
    }
}

/// A password that cannot be used tells nobody whether an account exists: the answers are the same,
/// byte by byte, wherever it is refused.
#[test]
fn impossible_passwords_do_not_tell_accounts_apart() {
    let daemon = Daemon::simple();
    let hash = daemon.hash("secret");
    let passwords = [
        String::new(),
        "x".repeat(511),
        "x".repeat(512),
        "x".repeat(600),
        r"a\u0000b".to_owned(),
        r"\ud800".to_owned(),
        "x".repeat(1 << 20),
    ];
    let asked = |stored: &Value, password: &str| {
        let login = format!(r#"{{"account":"a","password":"{password}","hash":{stored}}}"#);
        let answer = daemon.post("/v1/verify", &login);
        let line = login.replacen('{', r#"{"op":"verify","#, 1);
        let batch = daemon.post("/v1/batch", &line).body;
        (answer.status, answer.body, batch)
    };
    let compare = |wanted: &[u16]| {
        let statuses = passwords.each_ref().map(|password| {
            let [known, unknown] = [json!(hash), Value::Null].map(|hash| asked(&hash, password));
            assert_eq!(known, unknown);
            assert!(!known.1.contains("internal") && !known.2.is_empty(), "{known:?}");
            known.0
        });
        assert_eq!(statuses, wanted);
    };
    compare(&[200, 200, 422, 422, 422, 400, 413]);
    drop(daemon);
    let limits = "[limits]\nbody = 4194304\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let large = |stored: Value| {
        let login = json!({ "account": "a", "password": passwords[6], "hash": stored });
        let answer = daemon.post("/v1/verify", &login.to_string());
        (answer.status, answer.body)
    };
    let known = large(json!(hash));
    assert_eq!((known.0, &known), (422, &large(Value::Null)));
}

/// A string is sealed for its account; that of another account is an error of its own, counted and
/// logged with a hash of the account.
#[test]
fn a_string_of_another_account_is_tampered() {
    let daemon = Daemon::simple();
    let plain = daemon.hash("secret");
    daemon.write("key", [7; 32]);
    let entry = key_entry("2026", [7; 32]).replace("[[keys]]", "[[seal.keys]]");
    daemon.write("saltern.toml", POLICY.to_owned() + &entry);
    daemon.reload();
    let seal = |account: &str, hash: &str| {
        daemon.post("/v1/seal", &json!({ "account": account, "hash": hash }).to_string())
    };
    let answer = seal("alice", &plain).json();
    assert_eq!(answer["outcome"], "sealed");
    let sealed = answer["hash"].as_str().unwrap();
    assert!(sealed.starts_with("{seal=2026+"), "{sealed}");
    assert_eq!(seal("alice", sealed).json(), json!({ "outcome": "unchanged" }));
    let login = |account: &str| {
        let login = json!({ "account": account, "password": "secret", "hash": sealed });
        daemon.post("/v1/verify", &login.to_string())
    };
    assert_eq!(login("alice").json()["outcome"], "match");
    let answer = login("bob");
    let expected = (422, "tampered", "tampered");
    assert_eq!((answer.status, &*answer.reason(), &*answer.outcome()), expected);
    assert_eq!(seal("bob", sealed).status, 422);
    let hashed = saltern::table::account_digest("bob"); // as `printf bob | b2sum -l 128`
    until(|| daemon.said().contains("\"event\":\"tampered\"") && daemon.said().contains(&hashed));
    assert!(!daemon.said().contains("bob"), "{}", daemon.said());
    assert!(daemon.metric("saltern_refused_total", "reason=\"tampered\"") >= 2.0);
    let table = format!(
        "{}\n{}\n",
        json!({ "account": "alice", "hash": sealed }),
        json!({ "account": "bob", "hash": sealed })
    );
    let counted = daemon.post("/v1/census", &table).json();
    assert_eq!((&counted["sealed"], &counted["tampered"]), (&json!(1), &json!(1)));
    assert_eq!(counted["unsound"][0]["account"], "bob");
    let new = json!({ "account": "alice", "password": "secret" }).to_string();
    let new = daemon.post("/v1/hash", &new).json();
    assert!(new["hash"].as_str().unwrap().starts_with("{seal=2026+"));
}
