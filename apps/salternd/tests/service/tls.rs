//! TLS: who is let in, and who is not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustix::fs::{FileType, Mode};
use rustix::process::Signal;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use saltern_server::api::{Reason, Verdict};
use saltern_server::client::{Client, Error};
use saltern_testing::chmod;
use tempfile::TempDir;

use super::daemon::{Daemon, LOGIN, POLICY, check, folder, free_address, until};

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

fn identity(issuer: &Issuer, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    Identity { certificate: certificate.der().clone(), pem: certificate.pem(), key }
}

/// A client with this certificate, or none, that trusts this authority.
fn client(address: SocketAddr, authority: &Issuer, identity: Option<&Identity>) -> Client {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let key = PrivateKeyDer::try_from(identity.key.serialize_der()).unwrap();
            config.with_client_auth_cert(vec![identity.certificate.clone()], key).unwrap()
        }
    };
    let name = ServerName::try_from("auth.example.org").unwrap();
    Client::tls(address.to_string(), name, Arc::new(config))
}

fn write(folder: &Path, server: &Identity, clients: &Issuer) {
    std::fs::write(folder.join("server.pem"), &server.pem).unwrap();
    std::fs::write(folder.join("server.key"), server.key.serialize_pem()).unwrap();
    std::fs::write(folder.join("clients.pem"), clients.pem()).unwrap();
}

/// A service, the authority of its clients, and its address.
fn service() -> (Daemon, Issuer, SocketAddr) {
    let (folder, authority, address) = files("");
    (Daemon::start_in(folder), authority, address)
}

/// The files of a service with these entries, the authority of its clients, and its address.
fn files(entries: &str) -> (Arc<TempDir>, Issuer, SocketAddr) {
    let authority = authority();
    let address = free_address();
    let user = rustix::process::geteuid().as_raw();
    let config = format!(
        "policy = \"saltern.toml\"\n{entries}[[listen]]\nunix = \"socket\"\n[[listen]]\ntcp = \"{address}\"\n\
         certificate = \"server.pem\"\nkey = \"server.key\"\nauthorities = \"clients.pem\"\n\
         [[clients]]\nname = \"login\"\ncertificates = [\"login.example.org\"]\nrights = [\"verify\"]\n\
         [[clients]]\nname = \"own\"\nusers = [{user}]\nrights = [\"hash\", \"admin\"]\n"
    );
    let folder = folder(&config, POLICY);
    write(folder.path(), &identity(&authority, "auth.example.org", |_| {}), &authority);
    (folder, authority, address)
}

/// Makes a certificate of the service a pipe: whoever reads it waits for what is written there.
fn pipe(certificate: &Path) {
    std::fs::remove_file(certificate).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, certificate, FileType::Fifo, mode, 0).unwrap();
}

/// A group may be meant to read the key of a certificate, and nobody else.
#[test]
fn a_key_that_others_can_read_or_change_is_noticed() {
    let (folder, ..) = files("");
    for (mode, noticed) in [(0o600, false), (0o640, false), (0o604, true), (0o602, true)] {
        chmod(folder.path().join("server.key"), mode);
        let said = String::from_utf8(check(folder.path()).stdout).unwrap();
        assert_eq!(said.contains("others can read or change the key file"), noticed, "{said}");
    }
}

/// What `salternd check` says of files whose certificate is valid until then.
fn checked_until(seconds: i64) -> (Option<i32>, String) {
    let (folder, authority, _) = files("");
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    let end = UNIX_EPOCH + Duration::from_secs((now + seconds) as u64);
    let own = identity(&authority, "auth.example.org", |params| params.not_after = end.into());
    write(folder.path(), &own, &authority);
    let output = check(folder.path());
    let told = [output.stdout, output.stderr].map(|told| String::from_utf8(told).unwrap());
    (output.status.code(), told.concat())
}

#[test]
fn a_certificate_that_ends_is_noticed_before_it_does() {
    let (status, told) = checked_until(-10);
    assert_eq!(status, Some(2), "{told}");
    assert!(told.contains("server.pem has ended at 20"), "{told}");
    let (status, told) = checked_until(86_400);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.contains("warning: the certificate in ") && told.contains(" ends at "), "{told}");
    let (status, told) = checked_until(30 * 86_400);
    assert_eq!((status, told.contains("certificate")), (Some(0), false), "{told}");
    let (daemon, ..) = service();
    let ends = daemon.metric("saltern_certificate_ends_seconds", "");
    assert!(ends > UNIX_EPOCH.elapsed().unwrap().as_secs_f64(), "{ends}");
}

/// What could never work is refused before the service is started.
#[test]
fn a_check_sees_names_that_match_nobody_and_folders_that_are_missing() {
    for (from, to, said) in [
        ("[\"login.example.org\"]", "[\"*.example.org\"]", "clients[0].certificates"),
        ("unix = \"socket\"", "unix = \"missing/socket\"", "make it first"),
    ] {
        let (folder, ..) = files("");
        let file = folder.path().join("salternd.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from));
        std::fs::write(&file, text.replace(from, to)).unwrap();
        let output = check(folder.path());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.contains(said)), (Some(2), true), "{told}");
    }
}

#[tokio::test]
async fn certificates_decide_who_may_do_what() {
    let (daemon, authority, address) = service();
    let stored = daemon.hash("secret");
    let login = identity(&authority, "login.example.org", |_| {});
    let client = client(address, &authority, Some(&login));
    let answer = client.verify("a", "secret", Some(&stored)).await.unwrap();
    assert_eq!(answer.outcome, Verdict::Match);
    let Err(Error::Problem(problem)) = client.hash("x").await else { panic!() };
    assert_eq!((problem.status, problem.reason), (403, Reason::Forbidden));
    let stranger = identity(&authority, "other.example.org", |_| {});
    let stranger = self::client(address, &authority, Some(&stranger));
    let Err(Error::Problem(problem)) = stranger.verify("a", "x", None).await else { panic!() };
    assert_eq!((problem.status, problem.reason), (403, Reason::Forbidden));
}

/// Without a certificate, with one of another authority, with one that has expired or is not valid
/// yet, with one that is not for clients: nothing is asked at all.
#[tokio::test]
async fn wrong_certificates_are_turned_away() {
    let (daemon, authority, address) = service();
    let foreign = self::authority();
    let name = "login.example.org";
    let wrong = [
        None,
        Some(identity(&foreign, name, |_| {})),
        Some(identity(&authority, name, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })),
        Some(identity(&authority, name, |params| {
            params.not_before = date_time_ymd(2090, 1, 1);
            params.not_after = date_time_ymd(2091, 1, 1);
        })),
        Some(identity(&authority, name, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        })),
    ];
    for (at, wrong) in wrong.iter().enumerate() {
        let client = client(address, &authority, wrong.as_ref());
        let answer = client.verify("a", "x", None).await;
        assert!(matches!(answer, Err(Error::Connection(_))), "{at}");
    }
    until(|| daemon.metric("saltern_connections_ended_total", "unknown") == wrong.len() as f64);
    until(|| daemon.said().contains("\"event\":\"handshake\""));
    assert_eq!(daemon.metric("saltern_requests_total", "op=\"verify\""), 0.0);
    // The client turns the service away as well, if it is another one.
    let login = identity(&authority, name, |_| {});
    let client = client(address, &foreign, Some(&login));
    assert!(matches!(client.verify("a", "x", None).await, Err(Error::Connection(_))));
}

/// Certificates are exchanged while the service runs, and wrong ones change nothing.
#[tokio::test]
async fn certificates_are_read_anew() {
    let (daemon, old, address) = service();
    let new = authority();
    daemon.write("server.key", "nonsense");
    daemon.reload();
    let login = |issuer: &Issuer| identity(issuer, "login.example.org", |_| {});
    let answer = client(address, &old, Some(&login(&old))).verify("a", "x", None).await;
    assert_eq!(answer.unwrap().outcome, Verdict::Mismatch);
    write(daemon.folder.path(), &identity(&new, "auth.example.org", |_| {}), &new);
    daemon.reload();
    let answer = client(address, &new, Some(&login(&new))).verify("a", "x", None).await;
    assert_eq!(answer.unwrap().outcome, Verdict::Mismatch);
    assert!(client(address, &old, Some(&login(&old))).verify("a", "x", None).await.is_err());
}

/// A certificate that has expired proves nothing, neither over a connection that is open nor with a
/// session of before.
#[tokio::test]
async fn a_certificate_that_has_expired_is_not_taken_any_more() {
    let (_daemon, authority, address) = service();
    // It is valid up to the end of a whole second, and looked at again after a tenth of one.
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let end = UNIX_EPOCH + Duration::from_secs(now + 1);
    let after = end + Duration::from_millis(1100);
    let login = identity(&authority, "login.example.org", |params| params.not_after = end.into());
    let client = client(address, &authority, Some(&login));
    let ask = || client.verify("a", "x", None);
    assert_eq!(ask().await.unwrap().outcome, Verdict::Mismatch);
    tokio::time::sleep(after.duration_since(SystemTime::now()).unwrap()).await;
    for again in 0..3 {
        assert!(matches!(ask().await, Err(Error::Connection(_))), "{again}");
    }
}

/// Connections end whose authority is taken away.
#[tokio::test]
async fn an_authority_that_is_taken_away_ends_its_connections() {
    let (daemon, old, address) = service();
    let login = identity(&old, "login.example.org", |_| {});
    let client = client(address, &old, Some(&login));
    assert_eq!(client.verify("a", "x", None).await.unwrap().outcome, Verdict::Mismatch);
    daemon.reload();
    // One that stays is no reason.
    assert_eq!(client.verify("a", "x", None).await.unwrap().outcome, Verdict::Mismatch);
    assert_eq!(daemon.metric("saltern_connections_open", ""), 2.0);
    daemon.write("clients.pem", authority().pem());
    daemon.reload();
    assert!(matches!(client.verify("a", "x", None).await, Err(Error::Connection(_))));
}

/// What is being read anew is not waited for.
#[test]
fn a_signal_ends_it_during_a_reload() {
    let (mut daemon, _, _) = service();
    pipe(&daemon.file("server.pem"));
    daemon.signal(Signal::HUP);
    // The pipe has a reader: the reload has come that far.
    let _writer = std::fs::File::options().write(true).open(daemon.file("server.pem")).unwrap();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().success());
    assert!(daemon.said().contains("\"drained\":true"), "{}", daemon.said());
}

/// Files that change while the service starts are read anew once it has, if it was asked to.
#[test]
fn a_reload_that_is_asked_for_during_the_start_is_done_after_it() {
    let (folder, _, _) = files("");
    let path = |name| folder.path().join(name);
    let pem = std::fs::read(path("server.pem")).unwrap();
    pipe(&path("server.pem"));
    let daemon = Daemon::begin(folder.clone());
    // It is read when the socket is opened, and then with everything else: this is after
    // salternd.toml.
    std::fs::write(path("server.pem"), &pem).unwrap();
    let mut writer = loop {
        let mut writer = std::fs::File::options().write(true).open(path("server.pem")).unwrap();
        // The first reader may not have closed it yet.
        std::thread::sleep(Duration::from_millis(100));
        if writer.write_all(&pem[..1]).is_ok() {
            break writer;
        }
    };
    let config = std::fs::read_to_string(path("salternd.toml")).unwrap();
    let config = config.replace("[\"hash\", \"admin\"]", "[\"verify\"]");
    std::fs::write(path("salternd.toml"), config).unwrap();
    daemon.signal(Signal::HUP);
    std::fs::write(path("new.pem"), &pem).unwrap();
    std::fs::rename(path("new.pem"), path("server.pem")).unwrap();
    writer.write_all(&pem[1..]).unwrap();
    drop(writer);
    until(|| daemon.post("/v1/verify", LOGIN).status == 200);
    until(|| daemon.said().matches("\"event\":\"loaded\"").count() == 2);
}

/// One client has not all connections of a listener.
#[tokio::test]
async fn connections_are_counted_by_certificate() {
    let (folder, authority, address) = files("[limits]\nconnections = 4\n");
    let daemon = Daemon::start_in(folder);
    let identity = |name| identity(&authority, name, |_| {});
    let (login, other) = (identity("login.example.org"), identity("other.example.org"));
    let ask = async |client: &Client| client.verify("a", "x", None).await;
    let clients = [(); 2].map(|()| client(address, &authority, Some(&login)));
    for client in &clients {
        assert_eq!(ask(client).await.unwrap().outcome, Verdict::Mismatch);
    }
    let third = client(address, &authority, Some(&login));
    let Err(Error::Problem(problem)) = ask(&third).await else { panic!() };
    assert_eq!((problem.status, problem.reason), (503, Reason::ClientConnections));
    let stranger = client(address, &authority, Some(&other));
    let Err(Error::Problem(problem)) = ask(&stranger).await else { panic!() };
    assert_eq!(problem.reason, Reason::Forbidden);
    drop((clients, stranger));
    while daemon.metric("saltern_connections_open", "") > 1.0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask(&third).await.unwrap().outcome, Verdict::Mismatch);
    assert_eq!(daemon.metric("saltern_connections_ended_total", "too-many"), 1.0);
}

/// Strangers take nothing from clients, silent or not, however many they are: neither the
/// connections of the listener, nor those of their address.
#[tokio::test]
async fn strangers_leave_a_listener_to_its_clients() {
    let (folder, authority, address) = files("[limits]\nconnections = 4\n");
    let daemon = Daemon::start_in(folder);
    let login = identity(&authority, "login.example.org", |_| {});
    // The start of a handshake, of which a byte comes now and then.
    let hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let (ending, mut strangers) = (Arc::new(AtomicBool::new(false)), Vec::new());
    for trickles in [false, true] {
        let ending = Arc::clone(&ending);
        strangers.push(std::thread::spawn(move || {
            let mut streams = Vec::new();
            while !ending.load(Relaxed) {
                streams.push((TcpStream::connect(address).unwrap(), hello.iter()));
                for (stream, hello) in streams.iter_mut().filter(|_| trickles) {
                    if let Some(byte) = hello.next() {
                        let _ = stream.write_all(&[*byte]);
                    }
                }
                // All that the listener has room for, and the first of them have ended.
                if streams.len() > 200 {
                    drop(streams.remove(0));
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }));
    }
    let ended = || daemon.metric("saltern_connections_ended_total", "unknown");
    while ended() < 100.0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for _ in 0..5 {
        let client = client(address, &authority, Some(&login));
        assert_eq!(client.verify("a", "x", None).await.unwrap().outcome, Verdict::Mismatch);
    }
    ending.store(true, Relaxed);
    strangers.into_iter().for_each(|stranger| stranger.join().unwrap());
}

/// A handshake that does not end is given up.
#[test]
fn a_handshake_has_a_deadline() {
    let (_daemon, _, address) = service();
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    silent.write_all(&[0x16, 3, 1]).unwrap();
    assert!(matches!(silent.read(&mut [0]), Ok(0)));
}
