//! TLS 1.3 with mutual authentication.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context as Task, Poll, ready};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use saltern::policy::loose;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::der::Decode;

use crate::site::Peer;

/// The files of a listener with TLS, in PEM.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    /// The certificate of the service, and intermediate ones up to its authority.
    pub(crate) certificate: PathBuf,
    /// The key of the certificate.
    pub(crate) key: PathBuf,
    /// The authorities for client certificates.
    pub(crate) authorities: PathBuf,
}

/// A certificate that ends within this time is worth a remark.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// How long the result of checking a certificate is reused.
const AGE: Duration = Duration::from_millis(100);

/// The configuration for handshakes; read again at each reload.
pub(crate) struct Tls {
    files: TlsFiles,
    proofs: RwLock<Arc<Proofs>>,
}

/// The service's own certificate, and the verifier for those of clients.
struct Proofs {
    config: Arc<ServerConfig>,
    clients: Arc<dyn ClientCertVerifier>,
    notes: Vec<String>,
    /// When the service's own certificate ends.
    ends: SystemTime,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// If one of them cannot be read, or the key is not that of the certificate.
    pub(crate) fn open(files: TlsFiles) -> anyhow::Result<Self> {
        let proofs = RwLock::new(Arc::new(read(&files)?));
        Ok(Tls { files, proofs })
    }

    /// Reads the same files again; their contents are used once the returned function is called.
    ///
    /// # Errors
    /// As at the start. Nothing changes then.
    pub(crate) fn renew(&self) -> anyhow::Result<impl FnOnce()> {
        let new = Arc::new(read(&self.files)?);
        Ok(move || *self.proofs.write().unwrap_or_else(PoisonError::into_inner) = new)
    }

    /// Remarks for the operator: more than a group can read the key, or others can change it; the
    /// certificate ends soon, or has ended.
    pub(crate) fn notes(&self) -> Vec<String> {
        let proofs = self.proofs();
        let (mut notes, left) = (proofs.notes.clone(), self.left());
        let file = self.files.certificate.display();
        let ends = humantime::format_rfc3339_seconds(proofs.ends);
        if left.is_zero() {
            notes.push(format!(
                "the certificate in {file} has ended at {ends}: no client accepts it"
            ));
        } else if left < SOON {
            notes.push(format!("the certificate in {file} ends at {ends}"));
        }
        notes
    }

    /// When the certificate ends.
    pub(crate) fn ends(&self) -> SystemTime {
        self.proofs().ends
    }

    /// For how long the certificate is valid.
    pub(crate) fn left(&self) -> Duration {
        self.ends().duration_since(SystemTime::now()).unwrap_or_default()
    }

    fn proofs(&self) -> Arc<Proofs> {
        Arc::clone(&self.proofs.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Performs the handshake, which identifies the peer.
    ///
    /// # Errors
    /// If the handshake fails: the certificate is missing, has expired, or is not from a known
    /// authority.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        self: &Arc<Self>,
        stream: S,
    ) -> anyhow::Result<(Proven<S>, Peer)> {
        let (proofs, looked) = (self.proofs(), Instant::now());
        let stream = TlsAcceptor::from(Arc::clone(&proofs.config)).accept(stream).await?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let Some(certificate) = certificates.first() else { bail!("there is no certificate") };
        let peer = Peer::Certificate(names(certificate)?);
        Ok((Proven { stream, tls: Arc::clone(self), proofs, looked }, peer))
    }
}

/// A connection that ends when something arrives over it after its certificate has expired, or
/// after its authority was removed.
pub(crate) struct Proven<S> {
    stream: TlsStream<S>,
    tls: Arc<Tls>,
    /// The verifier that last checked the certificate, and when.
    proofs: Arc<Proofs>,
    looked: Instant,
}

impl<S> Proven<S> {
    /// Checks the certificate again, unless that was done a moment ago.
    fn is_valid(&mut self) -> bool {
        let proofs = self.tls.proofs();
        if Arc::ptr_eq(&proofs, &self.proofs) && self.looked.elapsed() < AGE {
            return true;
        }
        (self.proofs, self.looked) = (proofs, Instant::now());
        let certificates = self.stream.get_ref().1.peer_certificates();
        let Some((first, others)) = certificates.and_then(<[_]>::split_first) else { return false };
        self.proofs.clients.verify_client_cert(first, others, UnixTime::now()).is_ok()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Proven<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(task, buffer))?;
        if buffer.filled().len() > before && !self.is_valid() {
            return Poll::Ready(Err(ErrorKind::PermissionDenied.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Proven<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

/// The names of machines in a certificate, and its URIs.
fn names(certificate: &CertificateDer<'_>) -> anyhow::Result<Vec<String>> {
    let certificate = webpki::EndEntityCert::try_from(certificate)?;
    let names = certificate.valid_dns_names().chain(certificate.valid_uri_names());
    Ok(names.map(str::to_owned).collect())
}

fn read(files: &TlsFiles) -> anyhow::Result<Proofs> {
    let certificates = |path: &PathBuf| {
        let read =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let read = read.with_context(|| format!("the certificates in {}", path.display()))?;
        if read.is_empty() {
            bail!("there is no certificate in {}", path.display());
        }
        Ok(read)
    };
    let chain = certificates(&files.certificate)?;
    let place = || format!("the key in {}", files.key.display());
    let file = File::open(&files.key).with_context(place)?;
    let notes = loose(&file, &files.key, "key", true).into_iter().collect();
    let ends = match chain.first() {
        Some(own) => x509_cert::Certificate::from_der(own)?.tbs_certificate.validity.not_after,
        None => bail!("there is no certificate in {}", files.certificate.display()),
    };
    let ends = UNIX_EPOCH + ends.to_unix_duration();
    let key = PrivateKeyDer::from_pem_reader(file).with_context(place)?;
    let mut roots = RootCertStore::empty();
    for authority in certificates(&files.authorities)? {
        let added = roots.add(authority);
        added.with_context(|| format!("an authority in {}", files.authorities.display()))?;
    }
    let provider = Arc::new(default_provider());
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::clone(&clients))
        .with_single_cert(chain, key)
        .with_context(place)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would not be asked for a certificate that is still valid, and a handshake
    // costs little compared to a hash.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Proofs { config: Arc::new(config), clients, notes, ends })
}
