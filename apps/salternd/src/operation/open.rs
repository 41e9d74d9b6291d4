//! Opening sockets.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener as Socket;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use listenfd::ListenFd;
use rustix::fs::{Mode, OFlags};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::sleep;

use super::config::Listen;
use crate::transport::{Bound, Proof, Tls};

/// Where a service listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP address on this machine, without TLS.
    Tcp(SocketAddr),
    /// A TCP address with TLS.
    Tls(SocketAddr),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Tls(address) => write!(f, "https://{address}"),
            Endpoint::Tcp(address) => write!(f, "http://{address}"),
        }
    }
}

/// A listening socket.
pub(super) struct Opened {
    pub(super) endpoint: Endpoint,
    pub(super) bound: Bound,
    /// A file that is removed with the service; one from the service manager is kept.
    pub(super) file: Option<Made>,
}

/// Sockets that a service manager has opened (sd_listen_fds(3)).
pub(super) struct Passed(Vec<Handed>);

enum Handed {
    Unix(Socket),
    Tcp(std::net::TcpListener),
}

impl Passed {
    /// Those of this process.
    pub(super) fn take() -> anyhow::Result<Self> {
        let mut given = ListenFd::from_env();
        let mut passed = Vec::new();
        for at in 0..given.len() {
            let unix = given.take_unix_listener(at).ok().flatten().map(Handed::Unix);
            let tcp = || given.take_tcp_listener(at).ok().flatten().map(Handed::Tcp);
            let Some(socket) = unix.or_else(tcp) else {
                anyhow::bail!("socket {at} of the service manager is not a listening stream socket")
            };
            passed.push(socket);
        }
        Ok(Passed(passed))
    }

    /// The socket with the address of an entry, if there is one.
    fn of(&mut self, listen: &Listen) -> Option<Handed> {
        let is = |socket: &Handed| match socket {
            Handed::Unix(socket) => {
                let address = socket.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                let same = |path, wanted| {
                    canonical(path).is_some_and(|path| canonical(wanted) == Some(path))
                };
                path.zip(listen.unix.as_deref()).is_some_and(|(path, wanted)| same(path, wanted))
            }
            Handed::Tcp(socket) => socket.local_addr().ok() == listen.tcp,
        };
        let at = self.0.iter().position(is)?;
        Some(self.0.swap_remove(at))
    }

    /// Refuses sockets that match no entry.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Some(first) = self.0.first() else { return Ok(()) };
        let address = match first {
            Handed::Unix(socket) => format!("{:?}", socket.local_addr()?),
            Handed::Tcp(socket) => socket.local_addr()?.to_string(),
        };
        anyhow::bail!("no [[listen]] matches the socket of the service manager at {address}")
    }
}

/// The canonical path of a file.
fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Opens the socket of an entry, unless the service manager has.
pub(super) async fn open(listen: &Listen, passed: &mut Passed) -> anyhow::Result<Opened> {
    let handed = passed.of(listen);
    if let Some(path) = &listen.unix {
        let (listener, file) = match handed {
            Some(Handed::Unix(listener)) => (listener, None),
            _ => {
                // By default only for the owner.
                let made = unix(path, listen.mode.map_or(0o600, |mode| mode.0)).await;
                let (listener, file) = made.map_err(|error| named(path.display(), &error))?;
                (listener, Some(file))
            }
        };
        listener.set_nonblocking(true)?;
        let bound = Bound::Unix(UnixListener::from_std(listener)?);
        let endpoint = Endpoint::Unix(path.clone());
        return Ok(Opened { endpoint, bound, file });
    }
    let Some(tcp) = listen.tcp else { anyhow::bail!("there is no address to listen on") };
    let proof = match (listen.tls(), &listen.client) {
        (Some(files), _) => Proof::Tls(Arc::new(Tls::open(files)?)),
        (None, Some(client)) => Proof::Anybody { client: client.clone() },
        (None, None) => anyhow::bail!("clients that connect to {tcp} would not be authenticated"),
    };
    let listener = match handed {
        Some(Handed::Tcp(listener)) => listener,
        _ => std::net::TcpListener::bind(tcp).map_err(|error| named(tcp, &error))?,
    };
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let endpoint = match proof {
        Proof::Tls(_) => Endpoint::Tls(address),
        Proof::Anybody { .. } => Endpoint::Tcp(address),
    };
    let bound = Bound::Tcp(TcpListener::from_std(listener)?, proof);
    Ok(Opened { endpoint, bound, file: None })
}

fn named(what: impl fmt::Display, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot listen on {what}: {error}")
}

/// The file of a socket that this process has made.
pub(super) struct Made {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Made {
    /// Removes the file, unless another process has replaced it, or may be doing so.
    pub(super) async fn remove(&self) {
        let Ok(_lock) = lock(&self.path).await else { return };
        let now = std::fs::symlink_metadata(&self.path);
        if now.is_ok_and(|now| (now.dev(), now.ino()) == (self.device, self.inode)) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes a Unix socket. Replaces one left behind by a killed process, but not a socket on which
/// somebody listens, or any other file.
async fn unix(path: &Path, mode: u32) -> io::Result<(Socket, Made)> {
    let _lock = lock(path).await?;
    let listener = match bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_left_behind(path).await => {
            std::fs::remove_file(path)?;
            bind(path)?
        }
        bound => bound?,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    let file = std::fs::symlink_metadata(path)?;
    let made = Made { path: path.to_owned(), device: file.dev(), inode: file.ino() };
    Ok((listener, made))
}

/// How long another process may take to make or remove a socket.
const TURN: Duration = Duration::from_secs(3);

/// Prevents other processes of the service from making or removing this socket as long as the
/// result is held. The lock file, beside the socket, is kept.
async fn lock(path: &Path) -> io::Result<File> {
    let mut name = path.to_owned().into_os_string();
    name.push(".lock");
    let name = PathBuf::from(name);
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", name.display()));
    // Somebody else may have put something in its place.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || {
        let mut options = File::options();
        options.create(true).append(true).mode(0o600).custom_flags(flags.bits() as i32);
        options.open(&name)
    };
    let file = match open() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_stranded(&name) => {
            std::fs::remove_file(&name).and_then(|()| open())
        }
        opened => opened,
    };
    let is_file = match &file {
        Ok(file) => file.metadata().map(|found| found.is_file()),
        Err(_) => std::fs::symlink_metadata(&name).map(|found| found.is_file()),
    };
    if is_file.is_ok_and(|is_file| !is_file) {
        let other = "this is not a regular file, which the lock has to be: remove it";
        return Err(told(io::Error::new(ErrorKind::InvalidInput, other)));
    }
    let (file, start) = (file.map_err(told)?, Instant::now());
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(told(error)),
            Err(TryLockError::WouldBlock) if start.elapsed() > TURN => {
                let busy = "another process is starting or ending there, and holds this file";
                return Err(told(io::Error::new(ErrorKind::WouldBlock, busy)));
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Whether a lock belongs to another user in this user's own folder, for example because the
/// service was once started manually as root.
fn is_stranded(name: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner = |path: &Path| std::fs::symlink_metadata(path).map(|file| file.uid());
    let folder = name.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    owner(folder).is_ok_and(|owner| owner == user) && owner(name).is_ok_and(|owner| owner != user)
}

/// A socket to which only its owner can write, and therefore connect.
fn bind(path: &Path) -> io::Result<Socket> {
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = Socket::bind(path);
    rustix::process::umask(before);
    bound
}

/// Whether this is a socket on which nobody listens. A listener with a full queue counts as
/// listening.
async fn is_left_behind(path: &Path) -> bool {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = UnixStream::connect(path).await.map_err(|error| error.kind());
    socket && refused.is_err_and(|error| error == ErrorKind::ConnectionRefused)
}
