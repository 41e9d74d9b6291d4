//! A client for the service.
//!
//! ```no_run
//! use saltern_server::api::Verdict;
//! use saltern_server::client::Client;
//! # async fn login() -> Result<(), saltern_server::client::Error> {
//! let client = Client::unix("/run/salternd/socket");
//! let stored = client.hash("correct horse").await?;
//! let login = client.verify("alice", "correct horse", Some(&stored)).await?;
//! assert_eq!(login.outcome, Verdict::Match);
//! if let Some(update) = login.update {
//!     // UPDATE … SET hash = update WHERE name = 'alice' AND hash = stored
//! }
//! # Ok(()) }
//! ```

mod throttle;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
#[cfg(feature = "tls")]
use rustls::{ClientConfig, pki_types::ServerName};
use saltern_wipe::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use self::throttle::{Throttle, jittered, random};
use crate::api::{
    Checked, Hashed, Kind, Problem, Reason, Rekeyed, Sealed, TIMEOUT_HEADER, Verified,
};
use crate::body::{Body, whole};

/// The longest answer that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// The time to wait for an answer by default: longer than the service takes to refuse.
const PATIENCE: Duration = Duration::from_secs(30);

/// Additional time after a call's deadline, for the service to report that it has passed.
const MARGIN: Duration = Duration::from_secs(1);

/// Calls a service, over as many connections as there are simultaneous calls. Clones are cheap and
/// share everything. Needs a tokio runtime.
///
/// While the service refuses requests because it has too much to do, the client sends only about a
/// tenth more than are accepted, and ends the others at once ([`Reason::Throttled`]): refusals cost
/// the service time that logins could have.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    within: Option<Duration>,
    account: Option<Arc<str>>,
    patience: Duration,
}

struct Inner {
    target: Target,
    throttle: Throttle,
    idle: Mutex<Vec<SendRequest<Body>>>,
}

enum Target {
    Unix(PathBuf),
    Tcp(String),
    #[cfg(feature = "tls")]
    Tls(String, ServerName<'static>, Arc<ClientConfig>),
}

/// Why there is no answer. A wrong password is not one of these reasons.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The service refused the request; the problem gives the reason.
    Problem(Problem),
    /// The service cannot be reached, or the connection ended. A hash may have been computed
    /// nevertheless; nothing else has changed.
    Connection(Box<dyn std::error::Error + Send + Sync>),
    /// This client does not understand the answer.
    Answer {
        /// Its status.
        status: u16,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Problem(problem) => f.write_str(&problem.detail),
            Error::Connection(error) => write!(f, "the service cannot be reached: {error}"),
            Error::Answer { status } => write!(f, "an answer of status {status} is not understood"),
        }
    }
}

impl std::error::Error for Error {}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(Error::Connection(error.into()))
    }
}

/// An error on its way out.
struct Failure(Error);

#[derive(Default, Serialize)]
struct Question<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Option<&'a str>>,
}

impl Client {
    /// A service on a Unix socket.
    #[must_use]
    pub fn unix(socket: impl Into<PathBuf>) -> Self {
        Self::of(Target::Unix(socket.into()))
    }

    /// A service on this machine, without TLS: `127.0.0.1:8080`.
    #[must_use]
    pub fn tcp(address: impl Into<String>) -> Self {
        Self::of(Target::Tcp(address.into()))
    }

    /// A service on another machine: its address, such as `auth.example.org:8443`, the name in its
    /// certificate, and a TLS configuration with a certificate for this client.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    #[must_use]
    pub fn tls(
        address: impl Into<String>,
        name: ServerName<'static>,
        config: Arc<ClientConfig>,
    ) -> Self {
        Self::of(Target::Tls(address.into(), name, config))
    }

    fn of(target: Target) -> Self {
        let inner = Inner { target, throttle: Throttle::new(), idle: Mutex::default() };
        Client { inner: Arc::new(inner), within: None, patience: Duration::ZERO, account: None }
    }

    /// A client whose calls have this much time each: calls that cannot finish in time are refused
    /// at once. If the service does not respond at all, the client waits one second longer, or 30
    /// seconds if this is not called.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        Client { within: Some(time), ..self.clone() }
    }

    /// A client that sends a request again if the service had no room or time for it, once the
    /// service says that it may succeed and up to as long again, as long as that is within this
    /// time from the first one. Such requests have not been computed.
    #[must_use]
    pub fn retrying(&self, patience: Duration) -> Self {
        Client { patience, ..self.clone() }
    }

    /// A client for the strings of one account, given by the id that its logins give: new strings
    /// are sealed for it where the policy has an active key for seals.
    #[must_use]
    pub fn for_account(&self, account: &str) -> Self {
        Client { account: Some(account.into()), ..self.clone() }
    }

    /// Hashes a new password into a string to store.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn hash(&self, password: &str) -> Result<String, Error> {
        let question = Question { password: Some(password), ..self.question() };
        let hashed: Hashed = self.ask("/v1/hash", &question).await?;
        Ok(hashed.hash)
    }

    /// Verifies a password against the stored string of an account; `None` if there is no such
    /// account.
    ///
    /// # Errors
    /// [`Error`], none of which means that the password is wrong.
    pub async fn verify(
        &self,
        account: &str,
        password: &str,
        stored: Option<&str>,
    ) -> Result<Verified, Error> {
        let (account, password) = (Some(account), Some(password));
        let question = Question { account, password, hash: Some(stored) };
        self.ask("/v1/verify", &question).await
    }

    /// Returns whether a stored string is outdated, and why.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn needs_rehash(&self, stored: &str) -> Result<Checked, Error> {
        self.ask("/v1/needs-rehash", &self.about(stored)).await
    }

    /// Re-encrypts a stored string with the active key.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn rekey(&self, stored: &str) -> Result<Rekeyed, Error> {
        self.ask("/v1/rekey", &self.about(stored)).await
    }

    /// Seals a stored string for the account of this client ([`Client::for_account`]).
    ///
    /// # Errors
    /// [`Error`]; *tampered* for a string that is not the one sealed for this account.
    pub async fn seal(&self, stored: &str) -> Result<Sealed, Error> {
        self.ask("/v1/seal", &self.about(stored)).await
    }

    fn question(&self) -> Question<'_> {
        Question { account: self.account.as_deref(), ..Question::default() }
    }

    fn about<'a>(&'a self, stored: &'a str) -> Question<'a> {
        Question { hash: Some(Some(stored)), ..self.question() }
    }

    /// Whether the service answers requests.
    ///
    /// # Errors
    /// Why it does not: *unavailable* while it starts or if a ROM is damaged, *overloaded* while it
    /// ends; or the error of the connection.
    pub async fn ready(&self) -> Result<(), Error> {
        let asked = async {
            let (status, read) = self.exchange(Method::GET, "/ready", Bytes::new()).await?;
            let unknown = || Failure(Error::Answer { status });
            match Problem::read(status, &read) {
                _ if status == 200 => Ok(()),
                Some(problem) => Err(Failure(Error::Problem(problem))),
                None => Err(unknown()),
            }
        };
        asked.await.map_err(|Failure(error)| error)
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        path: &'static str,
        question: &Question<'_>,
    ) -> Result<A, Error> {
        self.answer(path, question).await.map_err(|Failure(error)| error)
    }

    async fn answer<A: DeserializeOwned>(
        &self,
        path: &'static str,
        question: &Question<'_>,
    ) -> Result<A, Failure> {
        let text = |text: Option<&str>| text.map_or(0, str::len);
        let length =
            text(question.account) + text(question.password) + text(question.hash.flatten());
        // Large enough for the longest escapes: a growing buffer would leave copies of the
        // password.
        let mut body = Zeroizing::new(Vec::with_capacity(6 * length + 128));
        serde_json::to_writer(&mut *body, question)?;
        // Wiped when the last part of it has been sent.
        let body = Bytes::from_owner(body);
        let until = Instant::now().checked_add(self.patience);
        loop {
            let answer = self.attempt(path, body.clone()).await;
            let Err(Failure(Error::Problem(Problem { retry_after: Some(time), .. }))) = &answer
            else {
                return answer;
            };
            let time = jittered(*time, random());
            if until.is_some_and(|until| Instant::now() + time > until) {
                return answer;
            }
            tokio::time::sleep(time).await;
        }
    }

    /// Sends a request once, if the service has accepted enough of those before it.
    async fn attempt<A: DeserializeOwned>(
        &self,
        path: &'static str,
        body: Bytes,
    ) -> Result<A, Failure> {
        let throttle = &self.inner.throttle;
        if !throttle.may_send(Instant::now(), random()) {
            let detail = "not sent: the service refuses most requests of this client";
            return Err(Failure(Error::Problem(Problem::new(Reason::Throttled, detail))));
        }
        let answer = self.asked(path, body).await;
        // A guesser at one account is no reason to send less for the others.
        let overloaded = |problem: &Problem| {
            problem.kind == Kind::Overloaded && problem.reason != Reason::AccountRate
        };
        if !matches!(&answer, Err(Failure(Error::Problem(problem))) if overloaded(problem)) {
            throttle.accepted(Instant::now());
        }
        answer
    }

    async fn asked<A: DeserializeOwned>(
        &self,
        path: &'static str,
        body: Bytes,
    ) -> Result<A, Failure> {
        let (status, read) = self.exchange(Method::POST, path, body).await?;
        let unknown = || Failure(Error::Answer { status });
        if status == 200 {
            return serde_json::from_slice(&read).map_err(|_| unknown());
        }
        let problem = Problem::read(status, &read);
        Err(problem.map_or_else(unknown, |problem| Failure(Error::Problem(problem))))
    }

    /// Sends a request; the status and the body of its answer.
    async fn exchange(
        &self,
        method: Method,
        path: &'static str,
        body: Bytes,
    ) -> Result<(u16, Zeroizing<Vec<u8>>), Failure> {
        let time = self.within.map_or(PATIENCE, |within| within.saturating_add(MARGIN));
        let asked = timeout(time, async {
            let (response, sender) = self.send(method, path, body).await?;
            let status = response.status().as_u16();
            let read = whole(&mut response.into_body(), LONGEST, time).await;
            let read = read.map_err(|problem| Failure(Error::Connection(problem.detail.into())))?;
            Ok::<_, Failure>((status, read, sender))
        });
        let silent = || format!("no answer within {time:?}");
        let asked = asked.await.map_err(|_| Failure(Error::Connection(silent().into())))?;
        let (status, read, sender) = asked?;
        {
            let mut idle = self.idle();
            idle.retain(|sender| !sender.is_closed());
            idle.push(sender);
        }
        Ok((status, read))
    }

    /// Sends a request over an idle connection, or over a new one if that has ended meanwhile: the
    /// service closes connections that were idle for long, and every request can safely be
    /// repeated.
    async fn send(
        &self,
        method: Method,
        path: &'static str,
        body: Bytes,
    ) -> Result<(Response<Incoming>, SendRequest<Body>), Failure> {
        loop {
            let idle = self.idle().pop();
            let new = idle.is_none();
            let mut sender = match idle {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            if sender.ready().await.is_err() && !new {
                continue;
            }
            match sender.try_send_request(self.request(&method, path, body.clone())?).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut error) => {
                    let unsent = error.take_message().is_some();
                    if new || !(unsent || error.error().is_incomplete_message()) {
                        return Err(error.into_error().into());
                    }
                }
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        path: &'static str,
        body: Bytes,
    ) -> Result<Request<Body>, Failure> {
        let mut request = Request::new(Body::Whole(Some(body)));
        *request.method_mut() = method.clone();
        *request.uri_mut() = path.parse()?;
        let headers = request.headers_mut();
        let host = match &self.inner.target {
            Target::Unix(_) => HeaderValue::from_static("localhost"),
            Target::Tcp(address) => HeaderValue::from_str(address)?,
            #[cfg(feature = "tls")]
            Target::Tls(address, ..) => HeaderValue::from_str(address)?,
        };
        headers.insert(HOST, host);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(time) = self.within {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            headers.insert(TIMEOUT_HEADER, time.into());
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<SendRequest<Body>, Failure> {
        match &self.inner.target {
            Target::Unix(path) => speak(UnixStream::connect(path).await?).await,
            Target::Tcp(address) => speak(tcp(address).await?).await,
            #[cfg(feature = "tls")]
            Target::Tls(address, name, config) => {
                let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
                speak(connector.connect(name.clone(), tcp(address).await?).await?).await
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SendRequest<Body>>> {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn tcp(address: &str) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Speaks HTTP over a stream.
async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Body>, Failure> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
