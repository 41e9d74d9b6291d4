//! `salternd.toml`: where the service listens, who may do what, and its limits. Hash parameters are
//! in the policy, a separate file that the program `saltern` reads as well.

mod clients;
mod listen;
mod users;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use saltern::policy::{Invalid, TIME, parse_time, read_text};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use self::clients::ClientEntry;
pub(crate) use self::listen::Listen;
use self::users::UsersEntry;
use crate::site::{Accounts, Clients, Rate, UserFiles};
use crate::transport::Limits;

/// The contents of `salternd.toml`, which docs/service.md describes. Names of other files in it are
/// relative to its folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub(crate) policy: Option<PathBuf>,
    pub(crate) timeout: Time,
    pub(crate) drain: Time,
    pub(crate) log_requests: bool,
    pub(crate) listen: Vec<Listen>,
    clients: Vec<ClientEntry>,
    users: Vec<UsersEntry>,
    limits: LimitEntries,
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
        time.map(Time).ok_or_else(|| D::Error::custom(format!("expected {TIME}, above zero")))
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
            users: Vec::new(),
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
            // Above the 60 s for which nginx keeps idle connections: it then closes them first.
            head_time: Time(Duration::from_secs(75)),
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

/// An error about the value of a key. An empty value is filled in where the key is in the text.
fn wrong(key: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> Invalid {
    let mut invalid = Invalid::new(key, value, allowed);
    invalid.file = Some("salternd.toml".into());
    invalid
}

impl Config {
    /// Reads a file of at most 1 MiB, as [`read_text`] does.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, has an unknown key or an invalid value, or contradicts
    /// itself.
    pub fn read(file: &Path) -> Result<Self, Invalid> {
        let named = |mut invalid: Invalid| {
            invalid.file = Some(file.to_owned());
            invalid
        };
        let text = read_text(file).map_err(|error| named(wrong("", error, "")))?;
        let beside = file.parent().unwrap_or(Path::new(""));
        Self::parse(&text, beside).map_err(named)
    }

    /// Parses the text of a file. Names of other files in it are relative to `beside`.
    ///
    /// # Errors
    /// [`Invalid`], with the line, the key, the value and what is allowed.
    pub fn parse(text: &str, beside: &Path) -> Result<Self, Invalid> {
        let mut config: Config = toml::from_str(text).map_err(|error| {
            let invalid = wrong("", error.message().replace('\n', " "), "");
            match error.span() {
                Some(span) => invalid.at(text, span.start),
                None => invalid,
            }
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
        for users in &mut config.users {
            users.file = beside.join(&users.file);
        }
        config.check().map_err(|invalid| invalid.placed(text))?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Invalid> {
        for (at, listen) in self.listen.iter().enumerate() {
            let key = format!("listen[{at}]");
            listen.check(&key)?;
            if let Some(client) = &listen.client
                && !self.clients.iter().any(|known| known.name == *client)
            {
                return Err(wrong(key + ".client", "", "a name of [[clients]]"));
            }
        }
        for (at, client) in self.clients.iter().enumerate() {
            let key = format!("clients[{at}]");
            if self.clients[..at].iter().any(|other| other.name == client.name) {
                return Err(wrong(key + ".name", "", "each name once"));
            }
            client.check(&key)?;
            if client.is_nobody() && !self.listen.iter().any(|listen| listen.stands_for(client)) {
                let allowed = "`users`, `groups` or `certificates`, or a [[listen]] that names it: \
                               nobody can be this client";
                return Err(wrong(key + ".name", "", allowed));
            }
        }
        for (at, users) in self.users.iter().enumerate() {
            let key = format!("users[{at}]");
            if self.users[..at].iter().any(|other| other.name == users.name) {
                return Err(wrong(key + ".name", "", "each name once"));
            }
            users.check(&key)?;
        }
        let limits = &self.limits;
        if limits.head < 8192 {
            return Err(wrong("limits.head", limits.head, "8192 or more"));
        }
        within("limits.body", limits.body, 16 << 20)?;
        // A line of a batch begins once there is room for the longest.
        if limits.bodies < 4 * limits.body || limits.bodies > 1 << 30 {
            let (value, least) = (limits.bodies, 4 * limits.body);
            let allowed = format!("{least} (4 * limits.body) to 1073741824");
            return Err(wrong("limits.bodies", value, allowed));
        }
        within("limits.connections", limits.connections, 1 << 20)?;
        let own = limits.client_connections.unwrap_or(1);
        within("limits.client_connections", own, limits.connections)?;
        within("limits.accounts", limits.accounts, 1 << 28)?;
        limits.rate()?;
        if self.listen.is_empty() {
            return Err(wrong("listen", "", "at least one [[listen]]"));
        }
        if self.policy.is_none() {
            return Err(wrong("policy", "", "the name of the policy's file"));
        }
        Ok(())
    }

    /// The keys that differ from those of an earlier file and whose values need a restart.
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

    /// The clients, with the counts of earlier ones that have the same name.
    pub(crate) fn clients(&self, before: Option<&Clients>) -> Result<Clients, Invalid> {
        let named = |name: &str| before.and_then(|before| before.named(name));
        let client = |(at, entry): (usize, &ClientEntry)| {
            entry.client(&format!("clients[{at}]"), named(&entry.name)).map(Arc::new)
        };
        self.clients.iter().enumerate().map(client).collect::<Result<_, _>>().map(Clients)
    }

    /// Where the files of users are.
    pub(crate) fn user_files(&self) -> impl Iterator<Item = &Path> {
        self.users.iter().map(|users| &*users.file)
    }

    /// The files of users, read.
    pub(crate) fn users(&self) -> Result<UserFiles, saltern::Error> {
        self.users.iter().map(UsersEntry::open).collect::<Result<_, _>>().map(UserFiles)
    }

    /// The counter of account logins: the earlier one, if it has the same configuration.
    pub(crate) fn accounts(
        &self,
        before: Option<&Arc<Accounts>>,
    ) -> Result<Option<Arc<Accounts>>, Invalid> {
        let Some(rate) = self.limits.rate()? else { return Ok(None) };
        let new = || Arc::new(Accounts::new(rate, self.limits.accounts));
        let same = |before: &&Arc<Accounts>| before.is_for(rate, self.limits.accounts);
        Ok(Some(before.filter(same).map_or_else(new, Arc::clone)))
    }
}

impl LimitEntries {
    fn rate(&self) -> Result<Option<Rate>, Invalid> {
        if self.account_burst.is_some() && self.account.is_none() {
            return Err(wrong("limits.account_burst", "", "only with `account`"));
        }
        rate("limits.account", self.account.as_deref(), self.account_burst.unwrap_or(10))
    }
}

/// Refuses a limit that is not from 1 to `most`.
fn within(key: &str, value: usize, most: usize) -> Result<(), Invalid> {
    match (1..=most).contains(&value) {
        true => Ok(()),
        false => Err(wrong(key, value, format!("1 to {most}"))),
    }
}

fn rate(key: &str, text: Option<&str>, burst: u32) -> Result<Option<Rate>, Invalid> {
    let Some(text) = text else { return Ok(None) };
    let allowed = "a rate such as \"10/min\" (or /s, /h) and a burst of at least 1";
    let wrong = || wrong(key, "", format!("{allowed}, which is {burst} here"));
    Rate::parse(text, burst).map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, Path::new("/etc")).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn the_example_of_the_documentation_is_valid() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/service.md");
        let page = std::fs::read_to_string(page).unwrap();
        let text = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
        let text = text.replace("\"www-data\"", "\"root\"");
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
            (
                "timeout = \"0s\"",
                "1: expected a time such as \"250ms\", \"2s\" or \"1min\", above zero",
            ),
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
            ("policy = \"a\"", "expected at least one [[listen]]"),
            ("[[listen]]\nunix = \"a\"", "expected the name of the policy's file"),
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
        // Its reported size is 0.
        let endless = Config::read(Path::new("/dev/zero")).map(drop).unwrap_err().to_string();
        assert!(endless.contains("/dev/zero: it is not a regular file"), "{endless}");
        let twice = "[[clients]]\nname = \"a\"\nrights = []\nusers = [1]\n";
        assert!(error(&twice.repeat(2)).contains("each name once"));
    }

    /// In the form of the errors of a policy.
    #[test]
    fn the_line_of_a_value_is_told_where_the_whole_file_says_that_it_is_wrong() {
        let client = "[[clients]]\nname = \"a\"\nrights = []\n";
        let known = format!("{client}users = [1]\n");
        for (text, told) in [
            ("# limits\n[limits]\nbody = 0".into(), "3: limits.body = 0: expected 1 to 16777216"),
            ("[limits]\n\nhead = 1".into(), "3: limits.head = 1: expected 8192 or more"),
            (
                "[limits]\naccount_burst = 7".into(),
                "2: limits.account_burst = 7: expected only with `account`",
            ),
            (
                "[limits]\nbodies = 1".into(),
                "2: limits.bodies = 1: expected 262144 (4 * limits.body)",
            ),
            ("\n\n[[listen]]\nkey = \"a\"".into(), "3: listen[0]: expected `unix`"),
            (
                "[[listen]]\nunix = \"a\"\n[[listen]]\ntcp = \"1.1.1.1:1\"\nclient = \"a\"".into(),
                "4: listen[1].tcp = \"1.1.1.1:1\": expected a loopback address",
            ),
            (
                "[[listen]]\ntcp = \"127.0.0.1:1\"\nclient = \"a\"".into(),
                "3: listen[0].client = \"a\": expected a name of [[clients]]",
            ),
            ("[[listen]]\nunix = \"a\"\nmode = \"8\"".into(), "3: \"8\": expected octal digits"),
            (client.to_owned(), "2: clients[0].name = \"a\": expected `users`, `groups`"),
            (known.clone() + &known, "6: clients[1].name = \"a\": expected each name once"),
            (known.clone() + "burst = 2", "5: clients[0].burst = 2: expected only with `rate`"),
            (known.clone() + "requests = 0", "5: clients[0].requests = 0: expected 1 or more"),
            (known.clone() + "rate = \"7\"", "5: clients[0].rate = \"7\": expected a rate"),
            (client.to_owned() + "groups = [\"?\"]", "4: clients[0].groups = \"?\": expected a "),
            ("policy = \"a\"".into(), " listen: expected at least one [[listen]]"),
        ] {
            let (error, told) = (error(&text), format!("salternd.toml:{told}"));
            assert!(error.starts_with(&told), "{text}: {error}");
        }
    }
}
