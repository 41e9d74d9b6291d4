//! The process `salternd`, and what the system and the service itself say about it.

use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use saltern_bench::process;

/// A service, which is killed in the end.
pub(super) struct Daemon {
    child: Child,
    folder: tempfile::TempDir,
}

/// Seconds of processor time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spent {
    /// Of the threads of the pool.
    pub(super) hashing: f64,
    /// Of all others.
    pub(super) rest: f64,
}

/// What `GET /metrics` has answered.
pub(super) struct Metrics(String);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// A service under this policy, once it answers.
    pub(super) fn start(program: Option<&Path>, policy: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("saltern.toml"), policy)?;
        Self::start_in(program, folder)
    }

    /// A service with the policy `saltern.toml` in this folder, once it answers.
    pub(super) fn start_in(
        program: Option<&Path>,
        folder: tempfile::TempDir,
    ) -> anyhow::Result<Self> {
        let program = match program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe()?.with_file_name("salternd"),
        };
        let mut child = Command::new(&program)
            .arg("--policy")
            .arg(folder.path().join("saltern.toml"))
            .arg("--socket")
            .arg(folder.path().join("socket"))
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log"))?)
            .spawn()
            .with_context(|| {
                format!("{}: cargo build --release -p saltern-server", program.display())
            })?;
        let said = child.stdout.take();
        let daemon = Daemon { child, folder };
        let mut first = String::new();
        BufReader::new(said.context("no output")?).read_line(&mut first)?;
        ensure!(first.contains("listening on"), "it has not started: {}", daemon.log());
        Ok(daemon)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it read its files anew.
    pub(super) fn reload(&self) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::HUP)?)
    }

    /// What its descriptors are.
    pub(super) fn descriptors(&self) -> anyhow::Result<Vec<String>> {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?;
        let link = |entry: std::io::Result<std::fs::DirEntry>| {
            anyhow::Ok(std::fs::read_link(entry?.path())?.display().to_string())
        };
        entries.map(link).collect()
    }

    /// What it has logged.
    pub(super) fn log(&self) -> String {
        read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Processor time since its threads began; zero where the system does not tell.
    pub(super) fn spent(&self) -> Spent {
        let mut spent = Spent { hashing: 0.0, rest: 0.0 };
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        for task in tasks.into_iter().flatten().flatten() {
            let read = |name: &str| read_to_string(task.path().join(name)).unwrap_or_default();
            let nanoseconds = read("schedstat");
            let nanoseconds = nanoseconds.split(' ').next().and_then(|text| text.parse().ok());
            let seconds = nanoseconds.unwrap_or(0.0) / 1e9;
            if read("comm").starts_with("saltern-") {
                spent.hashing += seconds;
            } else {
                spent.rest += seconds;
            }
        }
        spent
    }

    /// The most memory that it ever had.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        process::peak_bytes(self.child.id())
    }

    /// What it counts, once it has a connection for that.
    pub(super) fn metrics(&self) -> anyhow::Result<Metrics> {
        let start = Instant::now();
        loop {
            let text = self.ask_metrics()?;
            if text.starts_with("HTTP/1.1 200 ") {
                return Ok(Metrics(text));
            }
            ensure!(start.elapsed() < Duration::from_secs(10), "no metrics: {text}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn ask_metrics(&self) -> anyhow::Result<String> {
        let mut stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Spent {
    pub(super) fn since(&self, before: &Spent) -> Spent {
        Spent { hashing: self.hashing - before.hashing, rest: self.rest - before.rest }
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, more: Spent) {
        self.hashing += more.hashing;
        self.rest += more.rest;
    }
}

impl Metrics {
    /// How much more of a metric there is than before.
    pub(super) fn since(&self, before: &Metrics, name: &str) -> f64 {
        self.of(name) - before.of(name)
    }

    /// A metric, or the sum of those of this name.
    pub(super) fn of(&self, name: &str) -> f64 {
        self.with(name, "")
    }

    /// The sum of those of this name that have this text in their labels.
    pub(super) fn with(&self, name: &str, label: &str) -> f64 {
        let of = |line: &&str| line.split([' ', '{']).next() == Some(name) && line.contains(label);
        let values = self.0.lines().filter(of).filter_map(|line| line.rsplit(' ').next());
        values.filter_map(|value| value.parse::<f64>().ok()).sum()
    }
}
