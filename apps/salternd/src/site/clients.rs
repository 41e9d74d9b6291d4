//! Clients and their rights.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use saltern::policy::Share;

use super::rate::Bucket;
use crate::api::{Problem, Reason, Right};

/// The other end of a connection, as far as its identity is proved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    /// A process on this machine: the user and the group that it runs as.
    User { uid: u32, gid: u32 },
    /// The holder of a certificate's key: the names in the certificate.
    Certificate(Vec<String>),
    /// Anyone who can reach a listener without authentication, who counts as this client.
    Anybody { client: String },
}

/// A set of rights.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Rights(u8);

impl Rights {
    pub(crate) const ALL: Rights = Rights(0b1111);

    pub(crate) fn of(rights: &[Right]) -> Self {
        Rights(rights.iter().fold(0, |all, right| all | 1 << *right as u8))
    }

    fn has(self, right: Right) -> bool {
        self.0 & (1 << right as u8) != 0
    }
}

/// The peers that are a client.
#[derive(Clone, Default, Debug)]
pub(crate) struct Who {
    pub(crate) users: Vec<u32>,
    pub(crate) groups: Vec<u32>,
    pub(crate) certificates: Vec<String>,
}

impl Who {
    fn is(&self, name: &str, peer: &Peer) -> bool {
        match peer {
            Peer::User { uid, gid } => self.users.contains(uid) || self.groups.contains(gid),
            Peer::Certificate(names) => {
                names.iter().any(|name| self.certificates.iter().any(|known| known == name))
            }
            Peer::Anybody { client } => client == name,
        }
    }
}

/// A program that sends requests.
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) who: Who,
    pub(crate) rights: Rights,
    /// Its rate limit.
    pub(crate) rate: Option<Arc<Bucket>>,
    /// The most of its requests that may be in progress.
    pub(crate) most: usize,
    pub(crate) under_way: Arc<AtomicUsize>,
    /// Its requests that were refused or given up for lack of room or time.
    pub(crate) overloaded: Arc<AtomicU64>,
    /// Its requests that have ended, whatever came of them.
    pub(crate) ended: Arc<AtomicU64>,
    /// Its part of what the pool can do, beside the other clients.
    pub(crate) share: Share,
}

/// A request of a client, counted until this is dropped.
pub(crate) struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Client {
    /// A client without limits.
    pub(crate) fn new(name: impl Into<String>, who: Who, rights: Rights) -> Self {
        let name = name.into();
        Client {
            share: Share::of(&name),
            name,
            who,
            rights,
            rate: None,
            most: usize::MAX,
            under_way: Arc::default(),
            overloaded: Arc::default(),
            ended: Arc::default(),
        }
    }

    /// Takes over the counts of an earlier client: its requests are still in progress, and its rate
    /// limit starts again only if it has changed.
    pub(crate) fn go_on_from(&mut self, before: &Client) {
        self.under_way = Arc::clone(&before.under_way);
        self.overloaded = Arc::clone(&before.overloaded);
        self.ended = Arc::clone(&before.ended);
        if let (Some(rate), Some(before)) = (&mut self.rate, &before.rate)
            && rate.rate() == before.rate()
        {
            *rate = Arc::clone(before);
        }
    }

    /// Checks that the client has a right.
    pub(crate) fn may(&self, right: Right) -> Result<(), Problem> {
        if self.rights.has(right) {
            return Ok(());
        }
        let (name, right) = (&self.name, right.word());
        Err(Problem::new(Reason::Forbidden, format!("the client {name} lacks the right `{right}`")))
    }

    /// Checks that the client has one of these rights, if there are any.
    pub(crate) fn may_ask(&self, rights: &[Right]) -> Result<(), Problem> {
        match rights {
            [first, others @ ..] if !others.iter().any(|right| self.rights.has(*right)) => {
                self.may(*first)
            }
            _ => Ok(()),
        }
    }

    /// Counts a request, or refuses it if there are too many.
    pub(crate) fn begin(&self) -> Result<UnderWay, Problem> {
        let refused =
            |what| Problem::new(Reason::ClientRate, format!("the client {} {what}", self.name));
        // Counted first, so that two requests cannot take the same place.
        let guard = UnderWay(Arc::clone(&self.under_way));
        if self.under_way.fetch_add(1, Relaxed) >= self.most {
            let what = "has reached its limit of requests in progress";
            return Err(refused(what));
        }
        if let Some(rate) = &self.rate {
            let asked = "has exceeded its rate limit";
            rate.take().map_err(|wait| refused(asked).after(wait))?;
        }
        Ok(guard)
    }
}

/// All clients, in the order of the file: the first match counts.
#[derive(Clone, Default)]
pub(crate) struct Clients(pub(crate) Vec<Arc<Client>>);

impl Clients {
    pub(crate) fn named(&self, name: &str) -> Option<&Client> {
        self.0.iter().find(|client| client.name == name).map(|client| &**client)
    }

    /// The client that a peer is.
    ///
    /// # Errors
    /// *Forbidden* for a stranger.
    pub(crate) fn of(&self, peer: &Peer) -> Result<&Arc<Client>, Problem> {
        let stranger = || match peer {
            Peer::User { uid, gid } => {
                format!("user {uid} with group {gid} is not in [[clients]]: add it to `users`")
            }
            Peer::Certificate(_) => {
                "no name in the certificate is one of [[clients]]: add it to `certificates`".into()
            }
            Peer::Anybody { client } => format!("the client {client} is not in [[clients]]"),
        };
        let found = self.0.iter().find(|client| client.who.is(&client.name, peer));
        found.ok_or_else(|| Problem::new(Reason::Forbidden, stranger()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Rate;
    use super::*;

    fn client(name: &str, who: Who, rights: &[Right]) -> Arc<Client> {
        Arc::new(Client::new(name, who, Rights::of(rights)))
    }

    #[test]
    fn the_first_client_that_fits_is_the_one() {
        let users = |users: &[u32]| Who { users: users.to_vec(), ..Who::default() };
        let names = |names: &[&str]| Who {
            certificates: names.iter().map(ToString::to_string).collect(),
            ..Who::default()
        };
        let clients = Clients(vec![
            client("login", users(&[33]), &[Right::Verify]),
            client("remote", names(&["login.example"]), &[Right::Hash]),
            client("all", Who { groups: vec![7], ..users(&[33, 44]) }, &[Right::Admin]),
        ]);
        let name = |peer: Peer| clients.of(&peer).ok().map(|client| client.name.clone());
        let user = |uid, gid| name(Peer::User { uid, gid });
        assert_eq!(user(33, 7).as_deref(), Some("login"));
        assert_eq!((user(44, 0).as_deref(), user(1, 7).as_deref()), (Some("all"), Some("all")));
        assert_eq!(user(1, 33), None);
        let certificate = |names: &[&str]| {
            name(Peer::Certificate(names.iter().map(ToString::to_string).collect()))
        };
        assert_eq!(certificate(&["other", "login.example"]).as_deref(), Some("remote"));
        assert_eq!((certificate(&["LOGIN"]), certificate(&[])), (None, None));
        assert_eq!(name(Peer::Anybody { client: "all".into() }).as_deref(), Some("all"));
        let first = &clients.0[0];
        assert!(first.may(Right::Verify).is_ok());
        assert_eq!(first.may(Right::Hash).unwrap_err().status, 403);
    }

    /// A request refused because too many are in progress does not count against the rate.
    #[test]
    fn a_request_that_has_no_place_takes_nothing_from_the_rate() {
        let mut limited = Client::new("a", Who::default(), Rights::ALL);
        limited.most = 1;
        limited.rate = Some(Arc::new(Bucket::new(Rate::parse("1/h", 2).unwrap())));
        let one = limited.begin();
        assert!(one.is_ok());
        assert!((0..9).all(|_| limited.begin().is_err()));
        drop(one);
        assert!(limited.begin().is_ok());
        assert!(limited.begin().is_err());
    }

    #[test]
    fn requests_under_way_are_counted_until_they_end() {
        let mut limited = Client::new("a", Who::default(), Rights::ALL);
        limited.most = 2;
        let one = limited.begin().ok();
        let two = limited.begin().ok();
        assert!(one.is_some() && two.is_some());
        assert_eq!(limited.begin().err().map(|problem| problem.status), Some(429));
        assert_eq!(limited.under_way.load(Relaxed), 2);
        drop(one);
        assert!(limited.begin().is_ok());
        drop(two);
        assert_eq!(limited.under_way.load(Relaxed), 0);
    }
}
