//! Logins: as many as there can be, or at random times, and what became of them.
//!
//! What asks here writes its requests as bytes that are made once and looks for three words in
//! answers, so that it takes little of the machine. Programs use the client in apps/salternd.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use saltern_bench::stats::median;
use saltern_server::client::Client;
use saltern_tune::Arrivals;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};

use super::daemon::{Daemon, Spent};
use super::results::{End, Load, Login};

/// The most connections that are kept: fewer than the service has for one client, so that there are
/// some left for other questions.
const KEPT: usize = 1000;

/// As many are open before there is much to ask.
const WARM: usize = 256;

/// The header for the time that a request has.
const TIMEOUT: &str = "x-envoy-expected-rq-timeout-ms";

/// Asks a service, over connections that are kept.
#[derive(Clone)]
pub(super) struct Caller {
    socket: Arc<PathBuf>,
    idle: Arc<Mutex<Vec<UnixStream>>>,
    runtime: Arc<Runtime>,
}

/// A whole answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Caller {
    pub(super) fn new(socket: PathBuf, threads: usize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()?;
        let (socket, idle, runtime) = (Arc::new(socket), Arc::default(), Arc::new(runtime));
        Ok(Caller { socket, idle, runtime })
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// A new string for a password.
    pub(super) fn hash(&self, password: &str) -> anyhow::Result<String> {
        let body = serde_json::json!({ "password": password }).to_string();
        let answer = self.runtime.block_on(self.ask(&request("/v1/hash", &body)))?;
        let hash = serde_json::from_slice::<serde_json::Value>(&answer.body)?;
        ensure!(answer.status == 200, "{hash}");
        Ok(hash["hash"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends a request and reads the answer; once more if the connection had been closed meanwhile.
    pub(super) async fn ask(&self, request: &[u8]) -> io::Result<Answer> {
        let kept = self.idle().pop();
        if let Some(mut stream) = kept
            && let Ok(answer) = exchange(&mut stream, request).await
        {
            self.keep(stream);
            return Ok(answer);
        }
        let mut stream = self.connect().await?;
        let answer = exchange(&mut stream, request).await?;
        self.keep(stream);
        Ok(answer)
    }

    fn keep(&self, stream: UnixStream) {
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(stream);
        }
    }

    /// Sends a request over a connection that is closed afterwards.
    pub(super) async fn ask_alone(&self, request: &[u8]) -> io::Result<Answer> {
        exchange(&mut self.connect().await?, request).await
    }

    /// Opens connections, as many as programs keep that ask a lot.
    pub(super) async fn warm(&self) -> io::Result<()> {
        while self.idle().len() < WARM {
            let stream = self.connect().await?;
            self.keep(stream);
        }
        Ok(())
    }

    /// Another connection.
    pub(super) async fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&*self.socket).await
    }

    /// Closes what is kept.
    pub(super) fn close(&self) {
        self.idle().clear();
    }

    /// Keeps the threads that ask from sleeping until these tasks are aborted. In a virtual machine
    /// it takes 5 to 10 µs to wake a thread of another processor, and whoever writes to it pays for
    /// that: here the service, for each answer. Clients on other machines cost it nothing.
    fn stay_awake(&self) -> Vec<JoinHandle<()>> {
        let threads = self.runtime.metrics().num_workers();
        let spin = || {
            self.runtime.spawn(async {
                loop {
                    tokio::task::yield_now().await
                }
            })
        };
        (0..threads).map(|_| spin()).collect()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<UnixStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is sent as it is.
pub(super) fn request(path: &str, body: &str) -> Vec<u8> {
    request_within(path, body, None)
}

fn request_within(path: &str, body: &str, within: Option<Duration>) -> Vec<u8> {
    let length = body.len();
    let within = within.map(|time| format!("{TIMEOUT}: {}\r\n", time.as_millis()));
    format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
         {}content-length: {length}\r\n\r\n{body}",
        within.unwrap_or_default()
    )
    .into_bytes()
}

async fn exchange(stream: &mut UnixStream, request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request).await?;
    let mut read = Vec::with_capacity(1024);
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(answer) = whole(&read) {
            return Ok(answer);
        }
    }
}

/// The answer, if all of it is there.
fn whole(read: &[u8]) -> Option<Answer> {
    let end = read.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&read[..end]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: "))?;
    let body = read.get(end..end + length.parse::<usize>().ok()?)?;
    Some(Answer { status, body: body.to_vec() })
}

impl Answer {
    /// What became of a login.
    pub(super) fn end(&self) -> End {
        let has = |text: &str| self.body.windows(text.len()).any(|part| part == text.as_bytes());
        match self.status {
            200 if has("\"outcome\":\"match\"") => End::Match,
            200 if has("\"outcome\":\"mismatch\"") => End::Mismatch,
            503 if has("problem:expired\"") => End::Expired,
            503 if has("\"outcome\":\"overloaded\"") => End::Refused,
            _ => End::Other,
        }
    }
}

/// As many logins as there can be.
pub(super) struct Saturated {
    /// Logins a second.
    pub(super) rate: f64,
    pub(super) count: f64,
    /// By the service meanwhile.
    pub(super) spent: Spent,
}

/// Logins that are all the same, of a password that matches.
pub(super) struct Logins {
    caller: Caller,
    password: String,
    stored: String,
    /// Whether who asks has processors of its own.
    awake: bool,
}

impl Logins {
    pub(super) fn new(caller: Caller, password: &str, stored: &str, awake: bool) -> Self {
        Logins { caller, password: password.to_owned(), stored: stored.to_owned(), awake }
    }

    fn request(&self, within: Option<Duration>) -> Arc<[u8]> {
        let body = serde_json::json!({
            "account": "account", "password": self.password, "hash": self.stored
        });
        request_within("/v1/verify", &body.to_string(), within).into()
    }

    /// The client that programs use.
    pub(super) fn client(&self) -> Client {
        Client::unix(&*self.caller.socket)
    }

    /// Milliseconds of a login of which there is no other: the median of 25.
    pub(super) fn alone(&self) -> anyhow::Result<f64> {
        let (request, mut times) = (self.request(None), Vec::new());
        for _ in 0..25 {
            let start = Instant::now();
            let answer = self.caller.runtime.block_on(self.caller.ask(&request))?;
            times.push(1e3 * start.elapsed().as_secs_f64());
            ensure!(answer.end() == End::Match, "a login was refused, or wrong");
        }
        Ok(median(&times))
    }

    /// As many logins as there can be, from so many that ask one after the other, for so long.
    pub(super) fn saturate(
        &self,
        clients: usize,
        part: Duration,
        daemon: &Daemon,
    ) -> anyhow::Result<Saturated> {
        let (request, done) = (self.request(None), Arc::new(AtomicU64::new(0)));
        let mut asking = JoinSet::new();
        for _ in 0..clients {
            let (caller, request, done) =
                (self.caller.clone(), Arc::clone(&request), Arc::clone(&done));
            let ask = async move {
                while caller.ask(&request).await?.end() == End::Match {
                    done.fetch_add(1, Relaxed);
                }
                bail!("a login was refused, or wrong")
            };
            asking.spawn_on(ask, self.caller.runtime.handle());
        }
        // From one answer to another: groups end together.
        let next = |seen: u64| {
            while done.load(Relaxed) == seen && !asking.is_empty() {
                std::thread::sleep(Duration::from_micros(50));
            }
            (done.load(Relaxed), Instant::now(), daemon.spent())
        };
        std::thread::sleep(part / 4);
        let first = next(done.load(Relaxed));
        std::thread::sleep(part);
        let last = next(done.load(Relaxed));
        if let Some(failed) = asking.try_join_next() {
            failed??;
        }
        self.caller.runtime.block_on(asking.shutdown());
        let count = (last.0 - first.0) as f64;
        let seconds = (last.1 - first.1).as_secs_f64();
        Ok(Saturated { rate: count / seconds, count, spent: last.2.since(&first.2) })
    }

    /// So many logins a second at random times.
    pub(super) fn load(&self, rate: f64, time: Duration, asker: Asker, seed: u64) -> Load {
        let ((sender, ended), asker) = (mpsc::channel(), Arc::new(asker));
        let request = self.request(asker.within());
        let login: Arc<[String; 2]> = Arc::new([self.password.clone(), self.stored.clone()]);
        // A connection that is refused is missed below.
        let _ = self.caller.runtime.block_on(self.caller.warm());
        let awake = if self.awake { self.caller.stay_awake() } else { Vec::new() };
        let start = Instant::now() + Duration::from_millis(5);
        for at in Arrivals::new(rate, seed).take_while(|at| *at < time.as_secs_f64()) {
            let due = start + Duration::from_secs_f64(at);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let (caller, request, sender) =
                (self.caller.clone(), Arc::clone(&request), sender.clone());
            let (asker, login) = (Arc::clone(&asker), Arc::clone(&login));
            self.caller.runtime.spawn(async move {
                let sent = Instant::now();
                let end = match &*asker {
                    Asker::Stranger { .. } => {
                        caller.ask(&request).await.map_or(End::Other, |answer| answer.end())
                    }
                    Asker::Ours(client) => {
                        let [password, stored] = &*login;
                        End::of(&client.verify("account", password, Some(stored)).await)
                    }
                };
                let ms = |time: Duration| 1e3 * time.as_secs_f64();
                let (lag, time) = (ms(sent - due), ms(due.elapsed()));
                let _ = sender.send(Login { at, lag, time, end });
            });
        }
        drop(sender);
        let logins: Vec<_> = ended.iter().collect();
        awake.iter().for_each(JoinHandle::abort);
        let wrong = logins.iter().filter(|login| !login.end.is_right()).count();
        let expired = logins.iter().filter(|login| login.end == End::Expired).count();
        Load { logins, wrong, expired, seconds: time.as_secs_f64() }
    }

    /// A batch that has more lines than can be done, until it is ended.
    pub(super) fn batch(&self) -> Batch {
        let lines = Arc::new(AtomicU64::new(0));
        let line = serde_json::json!({
            "op": "verify", "password": self.password, "hash": self.stored
        });
        let task = batch(Arc::clone(&self.caller.socket), line.to_string(), Arc::clone(&lines));
        let task = self.caller.runtime.spawn(task);
        Batch { lines, task }
    }
}

/// Who asks when logins come at random times.
pub(super) enum Asker {
    /// Sends all of them, with so much time each.
    Stranger { within: Option<Duration> },
    /// Sends less while it is refused.
    Ours(Box<Client>),
}

impl Asker {
    fn within(&self) -> Option<Duration> {
        if let Asker::Stranger { within } = self { *within } else { None }
    }
}

/// A batch under way.
pub(super) struct Batch {
    lines: Arc<AtomicU64>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Batch {
    /// Goes away from it; how many lines were answered.
    pub(super) fn end(self) -> anyhow::Result<u64> {
        ensure!(!self.task.is_finished(), "the batch has ended, or an answer was wrong");
        self.task.abort();
        Ok(self.lines.load(Relaxed))
    }
}

/// Lines without an end, whose answers have to be matches.
async fn batch(socket: Arc<PathBuf>, line: String, matches: Arc<AtomicU64>) -> anyhow::Result<()> {
    let (mut answers, mut lines) = UnixStream::connect(&*socket).await?.into_split();
    let head = "POST /v1/batch HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-ndjson\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{line}\n\r\n", line.len() + 1);
    let write = async {
        lines.write_all(head.as_bytes()).await?;
        loop {
            lines.write_all(chunk.as_bytes()).await?;
        }
    };
    let read = async {
        let (mut buffer, mut begun) = (vec![0; 1 << 14], Vec::new());
        loop {
            let count = answers.read(&mut buffer).await?;
            ensure!(count > 0, "the service has ended the batch");
            begun.extend_from_slice(&buffer[..count]);
            while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = begun.drain(..=end).collect();
                if line.starts_with(b"{") {
                    let text = String::from_utf8_lossy(&line);
                    ensure!(text.contains("\"outcome\":\"match\""), "{text}");
                    matches.fetch_add(1, Relaxed);
                }
            }
        }
    };
    tokio::select! { ended = write => ended, ended = read => ended }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_once_all_of_it_is_there() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{\"outcome\":\"mismatch\"}";
        for end in 0..text.len() - 1 {
            assert!(whole(&text[..end]).is_none(), "{end}");
        }
        assert_eq!(whole(text).map(|answer| answer.end()), Some(End::Mismatch));
        let of = |status, body: &str| Answer { status, body: body.into() }.end();
        assert_eq!(of(200, "{\"outcome\":\"match\"}"), End::Match);
        assert_eq!(of(503, "{\"outcome\":\"overloaded\"}"), End::Refused);
        let expired = "{\"outcome\":\"overloaded\",\"type\":\"urn:saltern:problem:expired\"}";
        assert_eq!(of(503, expired), End::Expired);
        for (status, body) in [(503, "{\"outcome\":\"unavailable\"}"), (500, ""), (200, "{}")] {
            assert_eq!(of(status, body), End::Other);
        }
    }
}
