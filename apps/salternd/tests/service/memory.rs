//! Memory: what clients can make the process take, what it gives back, and what it may have.

use std::fs::read_to_string;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use saltern_testing::process::memory;
use saltern_testing::program::assert_one_error;
use saltern_testing::skipped;
use serde_json::json;

use super::daemon::{
    CHUNKED, Daemon, POLICY, another, ask_tcp, chunk, config, folder, head, until,
};

const MIB: u64 = 1 << 20;

/// A batch of these lines, of which as much is sent as is taken, and whose answers nobody reads.
fn unread(daemon: &Daemon, line: &str, count: usize) -> UnixStream {
    let mut stream = daemon.send(head("/v1/batch", CHUNKED));
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let line = chunk(line);
    let _ = (0..count).try_for_each(|_| stream.write_all(line.as_bytes()));
    stream
}

/// A line that is answered at once, and whose answer repeats as much as it may.
fn line(id: usize) -> String {
    json!({ "op": "rekey", "hash": "x", "id": "x".repeat(id) }).to_string() + "\n"
}

/// What is repeated in answers that nobody reads was a way to any memory.
#[test]
fn batches_whose_answers_nobody_reads_take_bounded_memory() {
    let limits = "[limits]\nbodies = 8388608\nanswer_time = \"60s\"\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    let before = memory(daemon.id(), "VmRSS");
    let (count, lines) = (120, 40);
    let long = line(60_000);
    let held: Vec<_> = (0..count).map(|_| unread(&daemon, &long, lines)).collect();
    until(|| daemon.metric("saltern_client_requests", "") > 0.0);
    let taken = memory(daemon.id(), "VmRSS") - before;
    println!("{count} batches that nobody reads: {} KiB", taken >> 10);
    // Twice the bodies, and what docs/service.md says of a connection.
    assert!(taken < 16 * MIB + count * (96 << 10), "{taken}");
    drop(held);
}

/// The room of a line is given back once its answer has been sent.
#[test]
fn answers_that_nobody_reads_keep_their_room() {
    let limits = "[limits]\nbody = 65536\nbodies = 262144\nanswer_time = \"60s\"\n";
    let (other, address) = another("rights = [\"hash\"]");
    let daemon = Daemon::start(&(config(limits) + &other), POLICY);
    // As large as what a line needs to begin.
    let large = format!("{{\"password\":\"{}\"}}", "x".repeat(65_536 - 15));
    let ask = || daemon.post("/v1/hash", &large).status;
    assert_eq!(ask(), 422);
    // More than the sockets take.
    let held: Vec<_> = (0..16).map(|_| unread(&daemon, &line(200), 1500)).collect();
    // None of them is in the process of being read, or waits for anything but its reader.
    for _ in 0..20 {
        assert_eq!(ask(), 503);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ask_tcp(address, "/v1/hash", &large).status, 422);
    drop(held);
    until(|| ask() == 422);
}

/// What connections took goes back to the system when they have ended.
#[test]
fn memory_is_given_back_after_connections() {
    let limits = "[limits]\nconnections = 2000\nclient_connections = 2000\n";
    let daemon = Daemon::start(&config(limits), POLICY);
    daemon.hash("x");
    let before = memory(daemon.id(), "VmRSS");
    let begun = "GET /ready HTTP/1.1\r\nhost: a\r\nx: ".to_owned() + &"x".repeat(10_000);
    let open: Vec<_> = (0..900).map(|_| daemon.send(&begun)).collect();
    until(|| daemon.metric("saltern_connections_open", "") >= 900.0);
    until(|| memory(daemon.id(), "VmRSS") > before + 16 * MIB);
    drop(open);
    until(|| memory(daemon.id(), "VmRSS") < before + 6 * MIB);
}

/// A control group below that of this process, with a limit of memory, of either version.
struct Group(PathBuf);

impl Group {
    fn new(limit: u64) -> std::io::Result<Self> {
        let own = read_to_string("/proc/self/cgroup")?;
        let one = own.lines().find_map(|line| Some(line.split_once(":memory:")?.1));
        let two = own.lines().find_map(|line| line.strip_prefix("0::"));
        let (root, file, own) = match (one, two) {
            (Some(own), _) => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", own),
            (None, Some(own)) => ("/sys/fs/cgroup", "memory.max", own),
            (None, None) => return Err(std::io::ErrorKind::NotFound.into()),
        };
        let parent = Path::new(root).join(own.trim_start_matches('/'));
        let group = Group(parent.join(format!("saltern-service-{}", std::process::id())));
        std::fs::create_dir(&group.0)?;
        std::fs::write(group.0.join(file), limit.to_string())?;
        Ok(group)
    }

    /// What a shell does to be in it.
    fn enter(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.0.display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// More memory than there is is refused by the check, at the start and in a reload, not by a kill.
#[test]
fn a_pool_that_does_not_fit_into_the_control_group_is_refused() {
    let group = match Group::new(256 * MIB) {
        Ok(group) => group,
        Err(error) => return skipped(&format!("no control group for memory here: {error}")),
    };
    let large = POLICY.to_owned() + "memory = \"4GiB\"\n";
    let folder = folder(&config(""), &large);
    let check = || {
        let mut check = Command::new("sh");
        check.arg("-c").arg(format!("{}; exec \"$0\" check --config \"$1\"", group.enter()));
        check.arg(env!("CARGO_BIN_EXE_salternd")).arg(folder.path().join("salternd.toml"));
        check.output().unwrap()
    };
    let told = "pool.memory = \"4 GiB\" and copied ROMs take 4113 MiB";
    assert_one_error("salternd", &check(), told);
    let mut daemon = Daemon::limited(folder.clone(), &group.enter());
    assert_eq!(daemon.ended().code(), Some(2));
    until(|| daemon.said().contains("its control group has 256 MiB"));

    let small = POLICY.to_owned() + "memory = \"64MiB\"\n";
    std::fs::write(folder.path().join("saltern.toml"), small).unwrap();
    let good = check();
    let said = String::from_utf8(good.stdout).unwrap();
    assert!(said.contains("the service may take") && said.contains("in order"), "{said}");
    let daemon = Daemon::limited(folder, &group.enter());
    until(|| daemon.said().contains("\"event\":\"loaded\""));
    daemon.hash("x");
    daemon.write("saltern.toml", &large);
    daemon.reload();
    assert!(daemon.said().contains("\"event\":\"reload\""), "{}", daemon.said());
    daemon.hash("x");
    drop(daemon);
}
