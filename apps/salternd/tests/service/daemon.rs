//! A service that runs, and how it is asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use saltern_rom::{Create, Seed};
use saltern_yescrypt::keys::HashKey;
use saltern_yescrypt::rom::RomParams;
use serde_json::Value;
use tempfile::TempDir;

/// Hashes of 1 MiB, so that tests take no time.
pub(crate) const POLICY: &str = "[params]\ncost = 1\n[pool]\nthreads = 2\n";

/// Hashes of 128 MiB, so that one takes a while, and one at a time.
pub(crate) const SLOW: &str =
    "[params]\ncost = 8\n[pool]\nthreads = 1\n[limits]\nmemory = \"256MiB\"\n";

/// A login to an account that is not there.
pub(crate) const LOGIN: &str = r#"{"account":"a","password":"x","hash":null}"#;

/// Who runs the tests may do everything.
pub(crate) fn config(more: &str) -> String {
    let user = rustix::process::geteuid().as_raw();
    format!(
        "policy = \"saltern.toml\"\n{more}\n[[listen]]\nunix = \"socket\"\n[[clients]]\nname = \
         \"tests\"\nusers = [{user}]\nrights = [\"verify\", \"hash\", \"rekey\", \"admin\"]\n"
    )
}

/// A listener on TCP for everybody on this machine, as another client with these entries, for a
/// file; and its address.
pub(crate) fn another(entries: &str) -> (String, SocketAddr) {
    let address = free_address();
    let text = format!(
        "[[listen]]\ntcp = \"{address}\"\nclient = \"other\"\n[[clients]]\nname = \"other\"\n{entries}\n"
    );
    (text, address)
}

/// An address of this machine that nobody listens on.
pub(crate) fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A folder with these files.
pub(crate) fn folder(config: &str, policy: &str) -> Arc<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("salternd.toml"), config).unwrap();
    std::fs::write(folder.path().join("saltern.toml"), policy).unwrap();
    Arc::new(folder)
}

/// The entry of a policy for a key of these bytes in the file `key`, which is the active one.
pub(crate) fn key_entry(name: &str, bytes: [u8; 32]) -> String {
    let fingerprint = HashKey::new(bytes).fingerprint();
    format!(
        "[[keys]]\nname = \"{name}\"\nfile = \"key\"\nfingerprint = \"{fingerprint}\"\n\
         active = true\n"
    )
}

/// Makes a ROM of so many KiB from a seed; its hash.
pub(crate) fn rom(image: &Path, kib: u64, seed: &[u8]) -> String {
    let seed = Seed::from_bytes(seed).unwrap();
    Create::new(RomParams::new(kib, 8, 1), &seed).file(image).unwrap().hash.to_string()
}

/// The entry of a policy for a ROM in the file `a.rom`, which is the active one.
pub(crate) fn rom_entry(hash: &str, access: &str) -> String {
    format!(
        "[[roms]]\nimage = \"a.rom\"\nhash = \"{hash}\"\naccess = \"{access}\"\nactive = true\n"
    )
}

/// What `salternd check` says of a folder.
pub(crate) fn check(folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_salternd"));
    command.arg("check").arg("--config").arg(folder.join("salternd.toml")).output().unwrap()
}

/// The head of a request whose body is `length` long, as `content-length: 20` or
/// [`CHUNKED`] says.
pub(crate) fn head(path: &str, length: &str) -> String {
    let kind = kind(path);
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{kind}{length}\r\n\r\n")
}

/// The length of a body that comes in chunks.
pub(crate) const CHUNKED: &str = "transfer-encoding: chunked";

/// A chunk of a body.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The content type of what is sent there.
fn kind(path: &str) -> &'static str {
    match path {
        "/v1/batch" | "/v1/census" => "content-type: application/x-ndjson\r\n",
        _ => "content-type: application/json\r\n",
    }
}

/// A service, which is killed in the end.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) folder: Arc<TempDir>,
    /// What it has said on standard error.
    pub(crate) log: Arc<Mutex<String>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The outcome, which everything that is JSON has.
    #[track_caller]
    pub(crate) fn outcome(&self) -> String {
        self.json()["outcome"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }

    /// The reason of a problem, whose form is checked.
    #[track_caller]
    pub(crate) fn reason(&self) -> String {
        let json = self.json();
        assert!(self.head.contains("application/problem+json"), "{self:?}");
        assert_eq!(json["status"], self.status, "{self:?}");
        let reason = json["type"].as_str().unwrap().strip_prefix("urn:saltern:problem:");
        reason.unwrap().to_owned()
    }
}

impl Daemon {
    /// One with these files.
    pub(crate) fn start(config: &str, policy: &str) -> Self {
        Self::start_in(folder(config, policy))
    }

    /// One with the files that are there.
    pub(crate) fn start_in(folder: Arc<TempDir>) -> Self {
        let mut daemon = Self::begin(folder);
        let stdout = daemon.child.stdout.take().unwrap();
        let mut first = String::new();
        BufReader::new(stdout).read_line(&mut first).unwrap();
        assert!(first.starts_with("salternd: listening on "), "{first}{}", daemon.said());
        until(|| daemon.said().contains("\"event\":\"loaded\""));
        daemon
    }

    /// One whose log goes elsewhere.
    pub(crate) fn with_log(config: &str, log: Stdio) -> Self {
        let folder = folder(config, POLICY);
        let mut child = command(folder.path()).stderr(log).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("salternd: listening on "), "{first}");
        Daemon { child, folder, log: Arc::default() }
    }

    /// One that is not waited for.
    pub(crate) fn begin(folder: Arc<TempDir>) -> Self {
        let command = command(folder.path());
        Self::spawn(folder, command)
    }

    /// One that a shell limits first.
    pub(crate) fn limited(folder: Arc<TempDir>, limit: &str) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{limit}; exec \"$0\" \"$@\""));
        command.arg(env!("CARGO_BIN_EXE_salternd")).arg("--config");
        command.arg(folder.path().join("salternd.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self::spawn(folder, command)
    }

    /// One of another user, who may not be allowed to go to where the program was built: it runs a
    /// copy in the folder. Another process makes the copy, so that no child of this one keeps it
    /// open.
    pub(crate) fn of_user(folder: Arc<TempDir>, user: u32) -> Self {
        use std::os::unix::process::CommandExt;
        let program = folder.path().join("salternd");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_salternd")).arg(&program).status();
        assert!(copied.unwrap().success());
        let mut command = Command::new(program);
        command.arg("--config").arg(folder.path().join("salternd.toml")).stdin(Stdio::null());
        command.stdout(Stdio::null()).uid(user).gid(user);
        Self::spawn(folder, command)
    }

    fn spawn(folder: Arc<TempDir>, mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (log, stderr) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lines.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Daemon { child, folder, log }
    }

    /// One with the policy of the tests.
    pub(crate) fn simple() -> Self {
        Self::start(&config(""), POLICY)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn said(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    /// A connection to its socket.
    pub(crate) fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    /// One over which this has been sent.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> UnixStream {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).unwrap();
        stream
    }

    /// Writes a file in its folder.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.file(name), contents).unwrap();
    }

    /// Whether somebody answers on its socket.
    pub(crate) fn answers(&self) -> bool {
        let Ok(mut stream) = UnixStream::connect(self.socket()) else { return false };
        let head = b"GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(head).is_ok() && read(stream).status == 200
    }

    /// A request whose body does not end: the process is not done with it until this is dropped.
    pub(crate) fn unfinished(&self) -> UnixStream {
        let stream = self.unfinished_request();
        until(|| self.metric("saltern_client_requests", "") >= 2.0);
        stream
    }

    /// An unfinished request, without waiting until it has arrived.
    pub(crate) fn unfinished_request(&self) -> UnixStream {
        self.send(head("/v1/hash", "content-length: 9") + "{")
    }

    /// Reads its files anew, and waits for that.
    pub(crate) fn reload(&self) {
        let done = |text: &str| {
            text.matches("\"event\":\"loaded\"").count()
                + text.matches("\"event\":\"reload\"").count()
        };
        let before = done(&self.said());
        self.signal(Signal::HUP);
        until(|| done(&self.said()) > before);
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// How it ended, within ten seconds.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "it has not ended: {}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        post(&self.socket(), path, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(&self.socket(), "GET", path, "", "")
    }

    /// A new string.
    pub(crate) fn hash(&self, password: &str) -> String {
        let answer = self.post("/v1/hash", &format!(r#"{{"password":"{password}"}}"#));
        assert_eq!((answer.status, &*answer.outcome()), (200, "hashed"), "{answer:?}");
        answer.json()["hash"].as_str().unwrap().to_owned()
    }

    /// The value of a metric, the sum of all that have this text in their labels.
    pub(crate) fn metric(&self, name: &str, label: &str) -> f64 {
        let text = self.get("/metrics").body;
        let of = |line: &&str| line.split([' ', '{']).next() == Some(name) && line.contains(label);
        let values = text.lines().filter(of).map(|line| line.rsplit(' ').next().unwrap());
        values.map(|value| value.parse::<f64>().unwrap()).sum()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_salternd"));
    command.arg("--config").arg(folder.join("salternd.toml")).env_remove("NOTIFY_SOCKET");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Waits at most ten seconds for something.
#[track_caller]
pub(crate) fn until(mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(60), "it has not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends JSON over a connection of its own.
pub(crate) fn post(socket: &Path, path: &str, body: &str) -> Answer {
    ask(socket, "POST", path, kind(path), body)
}

/// Asks over a connection of its own.
pub(crate) fn ask(socket: &Path, method: &str, path: &str, head: &str, body: &str) -> Answer {
    let mut stream = UnixStream::connect(socket).unwrap();
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}content-length: \
         {length}\r\n\r\n{body}"
    );
    // It may be answered before it has been read.
    let _ = stream.write_all(text.as_bytes());
    read(stream)
}

/// Asks over TCP, and waits at most five seconds.
pub(crate) fn ask_tcp(address: SocketAddr, path: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (length, method) = (body.len(), if body.is_empty() { "GET" } else { "POST" });
    let kind = kind(path);
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
         {kind}content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    read(stream)
}

/// Asks over TCP with these headers.
pub(crate) fn ask_with(address: SocketAddr, path: &str, head: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    read(stream)
}

/// Reads an answer up to the end of the connection.
pub(crate) fn read(mut stream: impl Read) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let body = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        true => chunks(body),
        false => body.to_owned(),
    };
    Answer { status, head: head.to_ascii_lowercase(), body }
}

fn chunks(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    body
}
