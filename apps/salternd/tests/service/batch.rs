//! Many at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use saltern_testing::json_lines;
use serde_json::{Value, json};

use super::daemon::{CHUNKED, Daemon, POLICY, chunk, config, head, post, read, until};

/// A line that asks for a hash.
const HASH: &str = "{\"op\":\"hash\",\"password\":\"x\"}\n";

/// A batch of so many of them.
fn of_hashes(count: usize) -> String {
    let lines = HASH.repeat(count);
    head("/v1/batch", &format!("content-length: {}", lines.len())) + &lines
}

fn answers(text: &str) -> Vec<Value> {
    let mut lines = json_lines(text);
    lines.sort_by_key(|line| line["line"].as_u64());
    lines
}

#[test]
fn each_line_has_its_answer() {
    let daemon = Daemon::simple();
    let hash = daemon.hash("secret");
    let lines = [
        json!({ "op": "verify", "id": "a", "password": "secret", "hash": hash }).to_string(),
        json!({ "op": "verify", "id": [1], "password": "Secret", "hash": hash }).to_string(),
        String::new(),
        json!({ "op": "verify", "password": "x", "hash": null }).to_string(),
        json!({ "op": "needs-rehash", "hash": hash }).to_string(),
        json!({ "op": "rekey", "hash": hash }).to_string(),
        json!({ "op": "hash", "password": "new" }).to_string(),
        json!({ "op": "sing" }).to_string(),
        "{".to_owned(),
        json!({ "op": "rekey" }).to_string(),
        json!({ "op": "rekey", "hash": hash, "password": "x" }).to_string(),
        json!({ "op": "verify", "id": 7, "password": "secret" }).to_string(),
    ];
    let answer = daemon.post("/v1/batch", &(lines.join("\n") + "\n"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut answers = answers(&answer.body);
    // It has no number.
    assert_eq!(answers.remove(0), json!({ "outcome": "complete", "answers": 11 }));
    let told: Vec<_> = answers.iter().map(|answer| answer["outcome"].as_str().unwrap()).collect();
    assert_eq!(
        told,
        [
            "match",
            "mismatch",
            "mismatch",
            "current",
            "unchanged",
            "hashed",
            "bad-input",
            "bad-input",
            "bad-input",
            "bad-input",
            "bad-input"
        ]
    );
    let numbers: Vec<_> = answers.iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!("a"), &json!([1])));
    // Left out is not the same as null: a wrong name of a column would be a wrong password.
    assert_eq!(answers[10]["id"], 7);
    assert!(answers[10]["detail"].as_str().unwrap().contains("`hash` is missing"));
    for (labels, count) in [
        ("op=\"verify\",outcome=\"match\"", 1.0),
        ("op=\"verify\",outcome=\"mismatch\"", 2.0),
        ("op=\"hash\",outcome=\"hashed\"", 1.0),
        ("outcome=\"bad-input\"", 5.0),
    ] {
        assert_eq!(daemon.metric("saltern_lines_total", labels), count, "{labels}");
    }
    let strings = "scheme=\"yescrypt\",mib=\"1\"";
    assert_eq!(daemon.metric("saltern_strings_total", strings), 2.0);
    until(|| daemon.metric("saltern_requests_total", "outcome=\"complete\"") == 1.0);
}

/// What is repeated in an answer takes memory until it is sent: more of it is refused.
#[test]
fn an_id_is_short() {
    let daemon = Daemon::simple();
    let line = |id: &Value| json!({ "op": "rekey", "hash": "x", "id": id }).to_string();
    // As they are written, with quotes and brackets.
    let ids = [json!("x".repeat(254)), json!("x".repeat(255)), json!([0, "x".repeat(251)])];
    let answer = daemon.post("/v1/batch", &ids.each_ref().map(line).join("\n"));
    let answers = answers(&answer.body);
    assert_eq!((&answers[1]["id"], &answers[3]["id"]), (&ids[0], &Value::Null), "{answer:?}");
    let [long, longer] = [&answers[2], &answers[3]];
    assert_eq!((&long["status"], &long["id"]), (&json!(413), &Value::Null));
    let said = "`id` takes 257 bytes as it is written: at most 256 may";
    assert_eq!([&long["detail"], &longer["detail"]], [&json!(said); 2]);
}

/// Answers come while more is to be sent, and many more lines pass than may wait.
#[test]
fn lines_are_answered_as_they_come_and_none_is_refused() {
    let policy = "[params]\ncost = 1\n[pool]\nthreads = 1\nqueue = 4\n";
    let daemon = Daemon::start(&config(""), policy);
    let mut stream = daemon.send(head("/v1/batch", CHUNKED));
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let line = chunk(HASH);
    stream.write_all(line.as_bytes()).unwrap();
    let mut told = String::new();
    while !told.contains("\"hashed\"") {
        told.clear();
        reader.read_line(&mut told).unwrap();
    }
    stream.write_all((line.repeat(99) + &chunk("")).as_bytes()).unwrap();
    let count = 1 + reader
        .lines()
        .map_while(Result::ok)
        .take_while(|line| line != "0")
        .filter(|line| line.contains("\"outcome\":\"hashed\""))
        .count();
    assert_eq!(count, 100);
}

/// A client that goes away ends what was done for it.
#[test]
fn nothing_more_is_done_for_a_client_that_is_gone() {
    let policy = "[params]\ncost = 5\n[pool]\nthreads = 1\n";
    let daemon = Daemon::start(&config(""), policy);
    let stream = daemon.send(of_hashes(1000));
    until(|| daemon.metric("saltern_pool_hashes_total", "") > 0.0);
    drop(stream);
    until(|| daemon.metric("saltern_requests_total", "op=\"batch\",outcome=\"gone\"") == 1.0);
    until(|| daemon.metric("saltern_pool_running", "") == 0.0);
    assert_eq!(daemon.metric("saltern_pool_waiting", ""), 0.0);
    assert!(daemon.metric("saltern_pool_hashes_total", "") < 900.0);
}

#[test]
fn a_table_is_counted() {
    let daemon = Daemon::simple();
    let hash = daemon.hash("x");
    let of = |hash: &str| json!({ "hash": hash }).to_string() + "\n";
    let other = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    let lines =
        of(&hash).repeat(3) + &of(other) + &of("nonsense") + "{}\n" + &of(&format!("!{hash}"));
    let answer = daemon.post("/v1/census", &lines);
    assert_eq!((answer.status, &*answer.outcome()), (200, "counted"), "{answer:?}");
    let counts = answer.json();
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((count("accounts"), count("bad"), count("locked")), (5, 2, 1));
    assert_eq!(counts["schemes"], json!({ "yescrypt": 5 }));
    // Nothing that the library counts is left out.
    let all = serde_json::to_value(saltern::table::Census::default()).unwrap();
    let missing = all.as_object().unwrap().keys().find(|name| counts.get(name).is_none());
    assert_eq!(missing, None, "{counts}");
    let long = daemon.post("/v1/census", &"x".repeat(70_000));
    assert_eq!((long.status, &*long.reason()), (413, "too-large"));
}

/// A batch that goes on as long as its lines come.
struct Open {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Open {
    fn begin(daemon: &Daemon) -> Self {
        let stream = daemon.send(head("/v1/batch", CHUNKED));
        let reader = BufReader::new(stream.try_clone().unwrap());
        Open { stream, reader }
    }

    fn send(&mut self, line: &Value) {
        self.stream.write_all(chunk(&format!("{line}\n")).as_bytes()).unwrap();
    }

    /// The answer to a line.
    fn ask(&mut self, line: &Value) -> Value {
        self.send(line);
        loop {
            let mut told = String::new();
            assert!(self.reader.read_line(&mut told).unwrap() > 0);
            if told.starts_with('{') {
                return serde_json::from_str(&told).unwrap();
            }
        }
    }
}

/// Whoever stops reading is cut off, and cannot take what there is for all.
#[test]
fn answers_that_end_early_do_not_look_complete() {
    let daemon = Daemon::start(&config("[limits]\nanswer_time = \"300ms\"\n"), POLICY);
    let stored = daemon.hash("x");
    let line = json!({ "op": "needs-rehash", "hash": stored }).to_string() + "\n";
    let lines = chunk(&line).repeat(20_000) + &chunk("");
    let mut stream = daemon.send(head("/v1/batch", CHUNKED));
    let mut reader = stream.try_clone().unwrap();
    // The service stops reading when nobody takes its answers.
    let writer = std::thread::spawn(move || {
        let _ = stream.write_all(lines.as_bytes());
    });
    until(|| daemon.metric("saltern_connections_ended_total", "unread") == 1.0);
    until(|| daemon.metric("saltern_requests_total", "op=\"batch\",outcome=\"gone\"") == 1.0);
    writer.join().unwrap();
    let mut told = Vec::new();
    let _ = reader.read_to_end(&mut told);
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("\"outcome\":\"current\""), "{told}");
    assert!(!told.ends_with("0\r\n\r\n") && !told.contains("\"complete\""));
}

/// One line that is too long does not keep the others from being done.
#[test]
fn a_line_that_is_too_long_is_one_line() {
    let daemon = Daemon::start(&config("[limits]\nbody = 100\n"), POLICY);
    let answer = daemon.post("/v1/batch", &format!("{HASH}\n{}\n{HASH}", "x".repeat(30_000)));
    let answers = answers(&answer.body);
    assert_eq!(answers[0], json!({ "outcome": "complete", "answers": 3 }), "{answer:?}");
    let told: Vec<_> = answers[1..].iter().map(|one| (&one["line"], &one["outcome"])).collect();
    let wanted = [(1, "hashed"), (3, "over-limit"), (4, "hashed")];
    let wanted = wanted.map(|(line, outcome)| (json!(line), json!(outcome)));
    assert_eq!(told, wanted.iter().map(|(line, outcome)| (line, outcome)).collect::<Vec<_>>());
}

/// What keeps the rest of the lines from being read is the last answer, and no line says that all
/// is there. Pieces of a line that never ends do not keep it going.
#[test]
fn a_batch_that_cannot_be_read_to_its_end_says_so_last() {
    let daemon = Daemon::start(&config("[limits]\nbody_time = \"300ms\"\n"), POLICY);
    let stream = daemon.send(head("/v1/batch", CHUNKED) + &chunk(&format!("\n{HASH}{HASH}")));
    let mut writer = stream.try_clone().unwrap();
    let slow = std::thread::spawn(move || {
        let start = Instant::now();
        while writer.write_all(chunk(" ").as_bytes()).is_ok()
            && start.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        start.elapsed()
    });
    let answer = read(stream);
    assert!(slow.join().unwrap() < Duration::from_secs(4));
    let lines = json_lines(&answer.body);
    assert_eq!(lines.len(), 3, "{answer:?}");
    assert_eq!((&lines[2]["line"], &lines[2]["status"]), (&json!(4), &json!(408)), "{answer:?}");
    assert_eq!(daemon.metric("saltern_requests_total", "op=\"batch\",outcome=\"bad-input\""), 1.0);
}

/// Each login of an outdated string has its update, however many there are.
#[test]
fn a_table_that_is_moved_by_a_batch_loses_no_update() {
    let policy = "[params]\ncost = 1\n[pool]\nthreads = 1\nqueue = 16\n";
    let daemon = Daemon::start(&config(""), policy);
    let stored = daemon.hash("x");
    daemon.write("saltern.toml", policy.replace("cost = 1", "cost = 2"));
    daemon.reload();
    let line = json!({ "op": "verify", "password": "x", "hash": stored }).to_string() + "\n";
    let batches: Vec<_> = (0..4)
        .map(|_| {
            let (socket, lines) = (daemon.socket(), line.repeat(40));
            std::thread::spawn(move || post(&socket, "/v1/batch", &lines))
        })
        .collect();
    let answers = batches.into_iter().map(|batch| batch.join().unwrap().body);
    let updates: usize = answers.map(|body| body.matches("\"update\":").count()).sum();
    assert_eq!(updates, 160);
}

/// A batch may go on for long: what its client may do, and which keys there are, is looked up anew.
#[test]
fn rights_that_are_taken_away_are_gone_for_batches_too() {
    let daemon = Daemon::simple();
    let stored = daemon.hash("x");
    let line = json!({ "op": "verify", "password": "x", "hash": stored });
    let mut batch = Open::begin(&daemon);
    assert_eq!(batch.ask(&line)["outcome"], "match");
    let file = daemon.file("salternd.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"verify\", ", "")).unwrap();
    daemon.reload();
    assert_eq!(batch.ask(&line)["type"], "urn:saltern:problem:forbidden");
    assert_eq!(batch.ask(&json!({ "op": "hash", "password": "x" }))["outcome"], "hashed");
    // Without an entry the client is a stranger.
    std::fs::write(&file, text.replace("users = [", "users = [4242, 1")).unwrap();
    daemon.reload();
    assert_eq!(batch.ask(&line)["type"], "urn:saltern:problem:forbidden");
}

/// Lines count as requests of their client, and wait where a request would be refused.
#[test]
fn a_batch_is_no_way_around_the_rate_of_a_client() {
    let config = config("").replace("rights =", "rate = \"20/s\"\nburst = 2\nrights =");
    let daemon = Daemon::start(&config, POLICY);
    let start = Instant::now();
    let answer = daemon.post("/v1/batch", &HASH.repeat(21));
    assert_eq!(answer.body.matches("\"hashed\"").count(), 21, "{answer:?}");
    // Two at once, with the request itself, and one every 50 ms after that.
    assert!(start.elapsed() >= Duration::from_millis(20 * 50), "{:?}", start.elapsed());
}

/// A line that waits for the rate is the only one of its batch that does, so that they take no
/// memory; and it need not wait for what a reload has changed.
#[test]
fn one_line_of_a_batch_waits_for_the_rate() {
    let limited = config("").replace("rights =", "rate = \"1/h\"\nrights =");
    let daemon = Daemon::start(&limited, &POLICY.replace("threads = 2", "threads = 8"));
    let mut batch = Open::begin(&daemon);
    let line = json!({ "op": "hash", "password": "x".repeat(60_000) }).to_string() + "\n";
    let text = chunk(&line).repeat(60);
    batch.stream.set_write_timeout(Some(Duration::from_millis(700))).unwrap();
    let (mut sent, mut waits) = (0, false);
    while sent < text.len() && !waits {
        match batch.stream.write(&text.as_bytes()[sent..]) {
            Ok(count) => sent += count,
            Err(_) => waits = true,
        }
    }
    // The rest is what sockets hold.
    assert!(waits && sent < 1 << 20, "{sent}");
    daemon.write("salternd.toml", config(""));
    daemon.reload();
    batch.stream.set_write_timeout(None).unwrap();
    batch.stream.write_all(&text.as_bytes()[sent..]).unwrap();
    batch.stream.write_all(chunk("").as_bytes()).unwrap();
    let answers = read(batch.reader).body;
    assert_eq!(answers.matches("\"over-limit\"").count(), 60);
    assert!(answers.contains("\"complete\""));
}

/// A batch that is open does not hold up the end, and says which lines nothing was done for.
#[test]
fn a_batch_ends_with_the_service() {
    let config =
        config("drain = \"8s\"").replace("rights =", "rate = \"1/h\"\nburst = 4\nrights =");
    let mut daemon = Daemon::start(&config, POLICY);
    let mut batch = Open::begin(&daemon);
    let line = json!({ "op": "hash", "password": "x" });
    assert_eq!(batch.ask(&line)["outcome"], "hashed");
    // This one waits for the rate.
    batch.send(&line);
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    daemon.signal(rustix::process::Signal::TERM);
    let mut told = String::new();
    let _ = batch.reader.read_to_string(&mut told);
    assert!(daemon.ended().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(daemon.said().contains("\"drained\":true"), "{}", daemon.said());
    let told: Vec<Value> = told
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!told.is_empty());
    for (at, answer) in told.iter().enumerate() {
        assert_eq!(answer["type"], "urn:saltern:problem:ending", "{told:?}");
        assert_eq!(answer["line"], at + 2, "{told:?}");
    }
}

/// Nor does a census that is open.
#[test]
fn a_census_ends_with_the_service() {
    let mut daemon = Daemon::start(&config("drain = \"8s\""), POLICY);
    let stream = daemon.send(head("/v1/census", CHUNKED) + &chunk("{\"hash\":\"x\"}"));
    until(|| daemon.metric("saltern_client_requests", "") == 2.0);
    let start = Instant::now();
    daemon.signal(rustix::process::Signal::TERM);
    let answer = read(stream);
    assert_eq!((answer.status, &*answer.reason()), (503, "ending"));
    assert!(daemon.ended().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(daemon.said().contains("\"drained\":true"), "{}", daemon.said());
}

/// However many batches there are, there is room for logins.
#[test]
fn batches_leave_most_of_the_queue_to_logins() {
    let policy = "[params]\ncost = 3\n[pool]\nthreads = 1\nqueue = 16\n";
    let daemon = Daemon::start(&config(""), policy);
    let stored = daemon.hash("x");
    let batch = of_hashes(40);
    let batches: Vec<_> = (0..6).map(|_| daemon.send(&batch)).collect();
    until(|| daemon.metric("saltern_pool_waiting", "") > 0.0);
    let login = json!({ "account": "a", "password": "x", "hash": stored }).to_string();
    for _ in 0..20 {
        assert!(daemon.metric("saltern_pool_waiting", "") <= 4.0);
        let answer = daemon.post("/v1/verify", &login);
        assert_eq!((answer.status, &*answer.outcome()), (200, "match"), "{answer:?}");
    }
    drop(batches);
}

/// A line costs what is in it, not what a line may have.
#[test]
fn short_lines_are_fast_where_long_ones_are_allowed() {
    let daemon = Daemon::start(&config("[limits]\nbody = 16777216\n"), POLICY);
    let stored = daemon.hash("x");
    let line = json!({ "hash": stored }).to_string() + "\n";
    let start = Instant::now();
    let answer = daemon.post("/v1/census", &line.repeat(10_000));
    assert_eq!(answer.json()["accounts"], 10_000);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
