//! `salternd.toml`: where the service listens, who may do what, and its limits. What hashes are is
//! in the policy, a file of its own, which the program `saltern` reads as well.

mod clients;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use saltern::policy::{parse_time, read_text};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use self::clients::ClientEntry;
use crate::site::{Accounts, Clients, Rate};
use crate::transport::{Limits, TlsFiles};

/// What `salternd.toml` says. Names of other files in it are relative to its folder.
///
/// ```toml
/// policy = "saltern.toml"
/// timeout = "10s"              # for an answer, if the policy has no deadline
/// drain = "25s"                # how long requests may take to finish at shutdown
/// log_requests = false         # one line for each request
///
/// [[listen]]
/// unix = "/run/salternd/socket"
/// mode = "0660"
///
/// [[listen]]
/// tcp = "127.0.0.1:8080"       # loopback only
/// client = "local"             # everyone who connects is this client
///
/// [[listen]]
/// tcp = "0.0.0.0:8443"         # TLS 1.3; clients need a certificate
/// certificate = "tls/server.pem"
/// key = "tls/server.key"
/// authorities = "tls/clients.pem"
///
/// [[clients]]
/// name = "login"
/// users = ["www-data", 1001]   # at the other end of a Unix socket; or groups
/// certificates = ["login.example.org"]   # names or URIs in them
/// rights = ["verify", "hash"]  # also: rekey, admin
/// rate = "500/s"
/// burst = 100                  # default: those of one second
/// requests = 200               # in progress at once
///
/// [limits]
/// body = 65536                 # bytes of a body, or of a line of a batch
/// bodies = 67108864            # bytes of all bodies together; half of them for one client
/// head = 16384                 # bytes
/// head_time = "30s"            # also how long an idle connection is kept
/// body_time = "10s"
/// answer_time = "10s"          # until a client takes more of its answer
/// connections = 4096           # of each listener
/// client_connections = 2048    # of one client; default: half of them
/// account = "10/min"           # logins of one account
/// account_burst = 10
/// accounts = 65536             # counted at once, in 16 bytes each
/// ```
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub(crate) policy: Option<PathBuf>,
    pub(crate) timeout: Time,
    pub(crate) drain: Time,
    pub(crate) log_requests: bool,
    pub(crate) listen: Vec<Listen>,
    clients: Vec<ClientEntry>,
    limits: LimitEntries,
}

/// Where the service listens.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    pub(crate) unix: Option<PathBuf>,
    /// Of the socket, octal.
    pub(crate) mode: Option<String>,
    pub(crate) tcp: Option<SocketAddr>,
    pub(crate) client: Option<String>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) authorities: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitEntries {
    body: usize,
    bodies: usize,
    head: usize,
    head_time: Time,
    body_time: Time,
    answer_time: Time,
    connections: usize,
    client_connections: Option<usize>,
    account: Option<String>,
    account_burst: Option<u32>,
    accounts: usize,
}

/// A time such as `10s`.
#[derive(Clone, Copy)]
pub(crate) struct Time(pub(crate) Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = parse_time(&text).filter(|time| !time.is_zero());
        time.map(Time).ok_or_else(|| {
            D::Error::custom("expected a time above zero, such as \"250ms\", \"2s\" or \"1min\"")
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        let seconds = |seconds| Time(Duration::from_secs(seconds));
        Config {
            policy: None,
            timeout: seconds(10),
            drain: seconds(25),
            log_requests: false,
            listen: Vec::new(),
            clients: Vec::new(),
            limits: LimitEntries::default(),
        }
    }
}

impl Default for LimitEntries {
    fn default() -> Self {
        LimitEntries {
            body: 64 << 10,
            bodies: 64 << 20,
            head: 16 << 10,
            head_time: Time(Duration::from_secs(30)),
            body_time: Time(Duration::from_secs(10)),
            answer_time: Time(Duration::from_secs(10)),
            connections: 4096,
            client_connections: None,
            account: None,
            account_burst: None,
            accounts: 65536,
        }
    }
}

/// What is wrong with `salternd.toml`, in one line: the file, the place, and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

fn wrong<T>(text: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError(text.into()))
}

impl Config {
    /// Reads a file of at most 1 MiB, as [`read_text`] does.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, has a key that is not known or a value that is not
    /// allowed, or contradicts itself.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let named = |why: &dyn fmt::Display| ConfigError(format!("{}: {why}", file.display()));
        let text = read_text(file).map_err(|error| named(&error))?;
        let beside = file.parent().unwrap_or(Path::new(""));
        Self::parse(&text, beside).map_err(|error| {
            // Places are `LINE: …` already.
            ConfigError(format!("{}:{}", file.display(), error.0))
        })
    }

    /// Parses the text of a file. Names of other files in it are relative to `beside`.
    ///
    /// # Errors
    /// As there.
    pub fn parse(text: &str, beside: &Path) -> Result<Self, ConfigError> {
        let mut config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| {
                1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
            });
            let line = line.map(|line| format!("{line}:")).unwrap_or_default();
            ConfigError(format!("{line} {}", error.message().replace('\n', " ")))
        })?;
        config.policy = config.policy.map(|policy| beside.join(policy));
        for listen in &mut config.listen {
            let files = [
                &mut listen.unix,
                &mut listen.certificate,
                &mut listen.key,
                &mut listen.authorities,
            ];
            files.into_iter().flatten().for_each(|file| *file = beside.join(&*file));
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        for listen in &self.listen {
            listen.check()?;
            if let Some(client) = &listen.client
                && !self.clients.iter().any(|known| known.name == *client)
            {
                return wrong(format!(
                    " listen.client = {client:?}: expected a name of [[clients]]"
                ));
            }
        }
        for (at, client) in self.clients.iter().enumerate() {
            if self.clients[..at].iter().any(|other| other.name == client.name) {
                return wrong(format!(
                    " clients.name = {:?}: expected each name once",
                    client.name
                ));
            }
            client.check()?;
            if client.is_nobody() && !self.listen.iter().any(|listen| listen.stands_for(client)) {
                let name = &client.name;
                return wrong(format!(
                    " clients.name = {name:?}: nobody can be this client: expected `users`, \
                     `groups` or `certificates`, or a [[listen]] that names it"
                ));
            }
        }
        let limits = &self.limits;
        if limits.head < 8192 {
            return wrong(format!(" limits.head = {}: expected 8192 or more", limits.head));
        }
        within("body", limits.body, 16 << 20)?;
        // A line of a batch begins once there is room for the longest.
        if limits.bodies < 4 * limits.body || limits.bodies > 1 << 30 {
            let (value, least) = (limits.bodies, 4 * limits.body);
            return wrong(format!(
                " limits.bodies = {value}: expected {least} (4 * limits.body) to 1073741824"
            ));
        }
        within("connections", limits.connections, 1 << 20)?;
        let own = limits.client_connections.unwrap_or(1);
        within("client_connections", own, limits.connections)?;
        within("accounts", limits.accounts, 1 << 28)?;
        limits.rate()?;
        if self.listen.is_empty() {
            return wrong(" listen: the file has no [[listen]]");
        }
        if self.policy.is_none() {
            return wrong(" policy: the name of the policy's file is missing");
        }
        Ok(())
    }

    /// The keys whose values take a restart, and are others than in a file of before.
    pub(crate) fn restart(&self, before: &Config) -> Vec<&'static str> {
        let (new, old) = (self.limits(), before.limits());
        let changed = [
            ("listen", self.listen != before.listen),
            ("drain", self.drain.0 != before.drain.0),
            ("limits", new != old),
        ];
        changed.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
    }

    pub(crate) fn limits(&self) -> Limits {
        let limits = &self.limits;
        Limits {
            body: limits.body,
            bodies: limits.bodies,
            head: limits.head,
            head_time: limits.head_time.0,
            body_time: limits.body_time.0,
            answer_time: limits.answer_time.0,
            connections: limits.connections,
            client_connections: limits.client_connections.unwrap_or(limits.connections.div_ceil(2)),
        }
    }

    /// The clients, with what is counted of those of before that have the same name.
    pub(crate) fn clients(&self, before: Option<&Clients>) -> Result<Clients, ConfigError> {
        let named = |name: &str| before.and_then(|before| before.named(name));
        let client = |entry: &ClientEntry| entry.client(named(&entry.name)).map(Arc::new);
        self.clients.iter().map(client).collect::<Result<_, _>>().map(Clients)
    }

    /// What counts the logins of accounts: that of before, if it is to be the same.
    pub(crate) fn accounts(
        &self,
        before: Option<&Arc<Accounts>>,
    ) -> Result<Option<Arc<Accounts>>, ConfigError> {
        let Some(rate) = self.limits.rate()? else { return Ok(None) };
        let new = || Arc::new(Accounts::new(rate, self.limits.accounts));
        let same = |before: &&Arc<Accounts>| before.is_for(rate, self.limits.accounts);
        Ok(Some(before.filter(same).map_or_else(new, Arc::clone)))
    }
}

impl Listen {
    fn check(&self) -> Result<(), ConfigError> {
        let files = [&self.certificate, &self.key, &self.authorities];
        let named = files.iter().filter(|file| file.is_some()).count();
        match (&self.unix, self.tcp, &self.client) {
            (Some(_), None, None) if named == 0 => self.mode().map(drop),
            (None, Some(tcp), Some(_)) if !tcp.ip().is_loopback() => {
                wrong(format!(" listen.tcp = \"{tcp}\": expected a loopback address with `client`"))
            }
            (None, Some(_), Some(_)) if named == 0 && self.mode.is_none() => Ok(()),
            (None, Some(_), None) if named == 3 && self.mode.is_none() => Ok(()),
            _ => wrong(
                " listen: expected `unix`, with or without `mode`; or `tcp` with `certificate`, `key` \
                 and `authorities`; or `tcp` with `client`",
            ),
        }
    }

    /// Whether everybody who connects there is this client.
    fn stands_for(&self, client: &ClientEntry) -> bool {
        self.client.as_ref() == Some(&client.name)
    }

    /// The files for TLS, if there are any.
    pub(crate) fn tls(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.certificate.clone()?,
            key: self.key.clone()?,
            authorities: self.authorities.clone()?,
        })
    }

    /// The mode of the socket; for the owner alone if nothing is said.
    pub(crate) fn mode(&self) -> Result<u32, ConfigError> {
        let Some(text) = &self.mode else { return Ok(0o600) };
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
        mode.map_or_else(
            || wrong(format!(" listen.mode = {text:?}: expected octal digits such as \"0660\"")),
            Ok,
        )
    }
}

impl LimitEntries {
    fn rate(&self) -> Result<Option<Rate>, ConfigError> {
        if self.account_burst.is_some() && self.account.is_none() {
            return wrong(" limits.account_burst: expected only with `account`");
        }
        rate("limits.account", self.account.as_deref(), self.account_burst.unwrap_or(10))
    }
}

/// Refuses a limit that is not from 1 to the most.
fn within(name: &str, value: usize, most: usize) -> Result<(), ConfigError> {
    match (1..=most).contains(&value) {
        true => Ok(()),
        false => wrong(format!(" limits.{name} = {value}: expected 1 to {most}")),
    }
}

fn rate(key: &str, text: Option<&str>, burst: u32) -> Result<Option<Rate>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    Rate::parse(text, burst).map_or_else(
        || {
            let allowed = "a rate such as \"10/min\" (or /s, /h) and a burst of at least 1";
            wrong(format!(" {key} = {text:?}, burst {burst}: expected {allowed}"))
        },
        |rate| Ok(Some(rate)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, Path::new("/etc")).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn the_example_is_valid() {
        let source = include_str!("config.rs");
        let lines = source.lines().skip_while(|line| !line.contains("```toml")).skip(1);
        let lines = lines.take_while(|line| !line.contains("```"));
        let text: String = lines.map(|line| line.replacen("///", "", 1) + "\n").collect();
        let text = text.replace("\"www-data\"", "\"root\"").replace("\"login\"", "\"local\"");
        let config = Config::parse(&text, Path::new("/etc/saltern")).unwrap();
        assert_eq!(config.policy.as_deref(), Some(Path::new("/etc/saltern/saltern.toml")));
        assert_eq!(config.listen.len(), 3);
        assert_eq!(config.listen[2].tls().unwrap().key, Path::new("/etc/saltern/tls/server.key"));
        let clients = config.clients(None).unwrap();
        assert_eq!(clients.0[0].who.users, [0, 1001]);
        let accounts = config.accounts(None).unwrap().unwrap();
        assert!(accounts.is_for(Rate::parse("10/min", 10).unwrap(), 65536));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, part) in [
            ("a = 1", "1: unknown field `a`"),
            ("\n[limits]\nbody = \"x\"", "3: invalid type"),
            ("timeout = \"0s\"", "1: expected a time above zero"),
            ("[[listen]]\ntcp = \"0.0.0.0:80\"\nclient = \"a\"", "a loopback address"),
            ("[[listen]]\ntcp = \"127.0.0.1:80\"\nclient = \"a\"", "a name of [[clients]]"),
            ("[[listen]]\ntcp = \"127.0.0.1:80\"", "expected `unix`"),
            ("[[listen]]\ntcp = \"[::1]:80\"\nkey = \"a\"", "expected `unix`"),
            ("[[listen]]\nunix = \"a\"\nmode = \"999\"", "octal digits"),
            ("[[clients]]\nname = \"a\"\nrights = [\"root\"]", "3: unknown variant `root`"),
            ("[[clients]]\nname = \"a\"\nrights = []\nusers = [\"no-such-user\"]", "or a name in"),
            ("[[clients]]\nname = \"a\"\nrights = []\nrate = \"7\"", "a rate such as"),
            ("[limits]\nhead = 100", "8192 or more"),
            ("[limits]\nbody = 0", "1 to 16777216"),
            ("[limits]\nbodies = 1000", "expected 262144 (4 * limits.body)"),
            ("[limits]\nconnections = 8\nclient_connections = 9", "expected 1 to 8"),
            ("[limits]\naccount = \"1/day\"", "a rate such as"),
            ("[limits]\naccount_burst = 7", "only with `account`"),
            ("[limits]\naccounts = 0", "1 to 268435456"),
            (
                "[[clients]]\nname = \"a\"\nrights = []\nusers = [-1]",
                "a number from 0 to 4294967295",
            ),
            ("[[clients]]\nname = \"a\"\nrights = []\nusers = [1]\nburst = 2", "only with `rate`"),
            ("[[clients]]\nname = \"a\"\nrights = []\nusers = [1]\nrequests = 0", "1 or more"),
            ("[[clients]]\nname = \"a\"\nrights = []", "nobody can be this client"),
            ("policy = \"a\"", "the file has no [[listen]]"),
            ("[[listen]]\nunix = \"a\"", "the policy's file is missing"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("salternd.toml");
        let read = |content: &[u8]| {
            std::fs::write(&file, content).unwrap();
            Config::read(&file).map(drop).unwrap_err().to_string()
        };
        assert!(read(b"a = 1").starts_with(&format!("{}:1: unknown field `a`", file.display())));
        assert!(
            read(b"a = '\xff'").contains("it is not UTF-8 text: invalid utf-8 sequence of 1 bytes")
        );
        assert!(read(&vec![b'#'; (1 << 20) + 1]).contains("at most 1 MiB"));
        // Its size is said to be 0.
        let endless = Config::read(Path::new("/dev/zero")).map(drop).unwrap_err().to_string();
        assert!(endless.contains("/dev/zero: it is not a regular file"), "{endless}");
        let twice = "[[clients]]\nname = \"a\"\nrights = []\nusers = [1]\n";
        assert!(error(&twice.repeat(2)).contains("each name once"));
    }
}
