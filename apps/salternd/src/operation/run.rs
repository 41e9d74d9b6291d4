//! Start, reload, drain, end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Context;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::changes::{changes, roms_without_files};
use super::config::{Config, Listen};
use super::descriptors::fit;
use super::memory;
use super::notify::notify;
use super::open::{Endpoint, Opened, Passed, open};
use super::start::{OWN, Sources, users_notes};
use crate::client::Client;
use crate::site::State;
use crate::transport::{Bound, Proof, Service, Tls, serve};

/// The status for the service manager once requests are served.
const READY: &str = "READY=1\nSTATUS=Ready";

/// How long a probe waits for an answer, and a second more.
const HEALTH: Duration = Duration::from_secs(2);

/// How the service is started.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// `salternd.toml`. Without it there is one Unix socket, for the user who starts the service.
    pub config: Option<PathBuf>,
    /// Without a file: the policy. Without that, the default one.
    pub policy: Option<PathBuf>,
    /// Without a file: the path of that socket. The default is in the user's runtime folder, or
    /// else in the folder for temporary files.
    pub socket: Option<PathBuf>,
    /// Whether there is a page at `/` for clients with the right `admin`.
    pub dashboard: bool,
    /// Without a file: an address on this machine to listen on as well, without TLS. Anyone who can
    /// connect to it may do everything.
    pub tcp: Option<SocketAddr>,
}

/// Runs the service until a signal ends it. `listening` is called once requests are served.
///
/// On SIGTERM and SIGINT, requests in progress may finish, for at most [`Config`]'s `drain`; a
/// second signal ends the process at once. SIGHUP reloads everything except the listeners and the
/// limits of connections.
///
/// # Errors
/// Why it cannot start.
pub fn run(options: &Options, listening: impl FnOnce(&[Endpoint])) -> anyhow::Result<()> {
    let sources = Sources { config: options.config.clone(), policy: options.policy.clone() };
    let config = Arc::new(sources.config()?);
    let state = Arc::new(State::new());
    let waiting = Arc::clone(&state);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Hashing has its own threads; the work here takes microseconds.
        .worker_threads(std::thread::available_parallelism().map_or(1, usize::from).min(4))
        .thread_name("salternd")
        .on_thread_park(move || waiting.before_waiting())
        .enable_all()
        .build()?;
    let ended = runtime.block_on(live(&sources, &config, options, &state, listening));
    state.log.flush();
    // Does not wait for what has not ended by now.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended
}

/// Reads everything that the service would, and reports the result, without listening. It takes
/// memory for ROMs that are copied, in addition to that of a running service.
///
/// # Errors
/// Why the service could not start.
pub fn check(options: &Options) -> anyhow::Result<Vec<String>> {
    let sources = Sources { config: options.config.clone(), policy: options.policy.clone() };
    let config = sources.config()?;
    let tls = config.listen.iter().filter_map(Listen::tls).count();
    let (_, note) = fit(config.limits(), config.listen.len(), tls)?;
    let mut notes: Vec<_> = note.into_iter().collect();
    for path in config.listen.iter().filter_map(|listen| listen.unix.as_deref()) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let (path, folder) = (path.display(), folder.display());
            anyhow::bail!("there is no folder {folder} for the socket {path}: make it first");
        }
    }
    for files in config.listen.iter().filter_map(Listen::tls) {
        let tls = Tls::open(files)?;
        notes.extend(tls.notes());
        anyhow::ensure!(!tls.left().is_zero(), "{}", notes.pop().unwrap_or_default());
    }
    let current = sources.current(&config, None)?;
    notes.extend(memory::note(current.passwords.table().policy(), &config));
    notes.extend_from_slice(current.passwords.notes());
    notes.extend(current.passwords.pool().note());
    notes.extend(users_notes(&current));
    Ok(notes)
}

/// Asks the running service with these options whether it answers requests.
///
/// # Errors
/// Why it does not, or why it cannot be asked: all listeners want certificates.
pub fn health(options: &Options) -> anyhow::Result<()> {
    let sources = Sources { config: options.config.clone(), policy: None };
    let config = sources.config()?;
    let unix = config.listen.iter().find_map(|listen| listen.unix.clone());
    let open = config.listen.iter().filter(|listen| listen.client.is_some());
    let tcp = options.tcp.or_else(|| open.filter_map(|listen| listen.tcp).next());
    let own = || options.socket.clone().unwrap_or_else(own_socket);
    let client = match (options.config.is_none(), unix, tcp) {
        (true, _, Some(tcp)) | (false, None, Some(tcp)) => Client::tcp(tcp.to_string()),
        (true, _, None) => Client::unix(own()),
        (false, Some(unix), _) => Client::unix(unix),
        (false, None, None) => anyhow::bail!(
            "all listeners want certificates: add one for probes, such as [[listen]] with tcp = \
             \"127.0.0.1:8081\" and a `client` without rights"
        ),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(client.within(HEALTH).ready())?)
}

async fn live(
    sources: &Sources,
    config: &Arc<Config>,
    options: &Options,
    state: &Arc<State>,
    listening: impl FnOnce(&[Endpoint]),
) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let (end, ending) = watch::channel(false);
    let opened = tokio::select! {
        opened = sockets(config, options) => opened?,
        () = signals.end() => return Ok(()),
    };
    let endpoints: Vec<_> = opened.iter().map(|opened| opened.endpoint.clone()).collect();
    let needs_proof = |opened: &&Opened| matches!(opened.bound, Bound::Tcp(_, Proof::Tls(_)));
    let tls = opened.iter().filter(needs_proof).count();
    let (limits, note) = fit(config.limits(), opened.len(), tls)?;
    if let Some(note) = note {
        state.log.warn("note", &[("detail", json!(note))]);
    }
    let service = Arc::new(Service::new(state, limits, options.dashboard));
    let (mut made, mut listeners) = (Vec::new(), JoinSet::new());
    let started = Arc::clone(config);
    let mut files = Files { sources: sources.clone(), started, tls: Vec::new() };
    for Opened { bound, file, .. } in opened {
        made.extend(file);
        if let Bound::Tcp(_, Proof::Tls(tls)) = &bound {
            files.tls.push(Arc::clone(tls));
        }
        listeners.spawn(serve(bound, Arc::clone(&service), ending.clone()));
    }
    let result = until_ended(&files, state, &mut signals, || listening(&endpoints)).await;
    state.end();
    notify("STOPPING=1");
    state.log.info("ending", &[]);
    let drained = async {
        // A service that starts meanwhile makes its own socket in this place.
        for made in &made {
            made.remove().await;
        }
        let _ = end.send(true);
        while listeners.join_next().await.is_some() {}
    };
    let in_time = tokio::select! {
        drained = tokio::time::timeout(config.drain.0, drained) => drained.is_ok(),
        // A second signal means that the user does not want to wait.
        () = signals.end() => false,
    };
    state.log.info("ended", &[("drained", json!(in_time))]);
    result
}

/// Starts, and reloads on request.
async fn until_ended(
    files: &Files,
    state: &Arc<State>,
    signals: &mut Signals,
    listening: impl FnOnce(),
) -> anyhow::Result<()> {
    tokio::select! {
        started = files.load(state) => started?,
        () = signals.end() => return Ok(()),
    }
    notify(READY);
    listening();
    while signals.next().await == Signal::Reload {
        tokio::select! {
            () = files.reload(state) => {}
            // Files being read are given up with the process.
            () = signals.end() => return Ok(()),
        }
    }
    Ok(())
}

/// Everything that is read at the start and at each reload.
struct Files {
    sources: Sources,
    /// The configuration that the process was started with.
    started: Arc<Config>,
    tls: Vec<Arc<Tls>>,
}

impl Files {
    /// Reads everything, and uses it for requests from then on.
    async fn load(&self, state: &Arc<State>) -> anyhow::Result<()> {
        let (sources, tls) = (self.sources.clone(), self.tls.clone());
        let started = Arc::clone(&self.started);
        let (state, began) = (Arc::clone(state), Instant::now());
        // Whole ROMs are read and checked.
        let loading = tokio::task::spawn_blocking(move || {
            let before = state.current();
            let config = sources.config()?;
            let renewed = tls.iter().map(|tls| tls.renew()).collect::<anyhow::Result<Vec<_>>>()?;
            let current = sources.current(&config, before.as_deref())?;
            let restart = config.restart(&started);
            if !restart.is_empty() {
                state.log.warn("restart", &[("keys", json!(restart))]);
            }
            state.metrics.restart.store(u64::from(!restart.is_empty()), Relaxed);
            renewed.into_iter().for_each(|renewed| renewed());
            let ends =
                tls.iter().filter_map(|tls| tls.ends().duration_since(UNIX_EPOCH).ok()).min();
            let ends = ends.map_or(0, |ends| ends.as_secs());
            state.metrics.certificate_ends.store(ends, Relaxed);
            let proofs = tls.iter().flat_map(|tls| tls.notes());
            let memory = memory::note(current.passwords.table().policy(), &config);
            let notes = proofs.chain(memory).chain(current.passwords.notes().iter().cloned());
            let notes = notes.chain(current.passwords.pool().note());
            for note in notes.chain(users_notes(&current)) {
                state.log.warn("note", &[("detail", json!(note))]);
            }
            let policy = current.passwords.table().policy();
            let schemes = policy.schemes.iter().map(ToString::to_string).collect::<Vec<_>>();
            let keys = policy.keys.iter().map(|key| key.name.to_string()).collect::<Vec<_>>();
            let roms = policy.roms.iter().map(|rom| rom.id.to_string()).collect::<Vec<_>>();
            let clients = current.clients.0.iter().map(|client| client.name.clone());
            let missing = match before {
                Some(_) => roms_without_files(policy),
                // They have just been read.
                None => Vec::new(),
            };
            state.metrics.roms_without_files.store(missing.len() as u64, Relaxed);
            for detail in missing {
                state.log.warn("rom", &[("detail", json!(detail))]);
            }
            let changes = before.as_deref().map(|before| changes(before, &current));
            let loaded = [
                ("schemes", json!(schemes)),
                ("keys", json!(keys)),
                ("roms", json!(roms)),
                ("clients", json!(clients.collect::<Vec<_>>())),
                ("ms", json!(began.elapsed().as_millis())),
            ];
            state.set(current);
            // A reader of the log may look at the count at once.
            state.metrics.reloads.fetch_add(u64::from(before.is_some()), Relaxed);
            drop(before);
            for change in changes.iter().flatten() {
                state.log.info("changed", &change.fields());
            }
            state.log.info("loaded", &loaded);
            anyhow::Ok(())
        });
        loading.await.context("the thread that reads the policy has failed")?
    }

    /// Reads everything again. An error changes nothing.
    async fn reload(&self, state: &Arc<State>) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
        match self.load(state).await {
            Ok(()) => notify(READY),
            Err(error) => {
                let detail = format!("{error:#}");
                notify(&format!("{READY}: nothing was reloaded: {}", detail.replace('\n', " ")));
                state.metrics.failed_reloads.fetch_add(1, Relaxed);
                state.log.warn("reload", &[("detail", json!(detail))]);
            }
        }
    }
}

async fn sockets(config: &Config, options: &Options) -> anyhow::Result<Vec<Opened>> {
    let own = || {
        let path = options.socket.clone().unwrap_or_else(own_socket);
        let tcp = |tcp| Listen { tcp: Some(tcp), client: Some(OWN.into()), ..Listen::default() };
        let socket = Listen { unix: Some(path), ..Listen::default() };
        std::iter::once(socket).chain(options.tcp.map(tcp)).collect::<Vec<_>>()
    };
    let own = options.config.is_none().then(own);
    let entries = own.as_ref().unwrap_or(&config.listen);
    if let Some(tcp) = options.tcp.filter(|tcp| !tcp.ip().is_loopback()) {
        anyhow::bail!("{tcp} is not a loopback address: another one needs a file (--config)");
    }
    let mut passed = Passed::take()?;
    let mut opened = Vec::new();
    for listen in entries {
        opened.push(open(listen, &mut passed).await?);
    }
    passed.finish()?;
    Ok(opened)
}

/// The default path of a user's socket.
fn own_socket() -> PathBuf {
    let name = format!("salternd-{}.sock", rustix::process::geteuid().as_raw());
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = folder.filter(|folder| Path::is_dir(folder));
    folder.unwrap_or_else(std::env::temp_dir).join(name)
}

/// A request to the process by a signal.
#[derive(PartialEq, Eq)]
enum Signal {
    Reload,
    End,
}

struct Signals {
    reload: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals {
            reload: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::End,
            _ = self.interrupt.recv() => Signal::End,
            _ = self.reload.recv() => Signal::Reload,
        }
    }

    /// Waits for the end. A reload requested meanwhile is left to [`Self::next`]: the files in
    /// question may have been read already.
    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
