//! What a program keeps: hashing and verifying under a policy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use saltern_pool::{Pool, Terms};
use saltern_yescrypt::params::Syntax;
use saltern_yescrypt::{Error as Hashing, HashString, Hasher, Limit};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::policy::Policy;
use crate::prepared::{Parts, Prepared};
use crate::site::Successor;
use crate::stored::{Hash, Stored, wrapped};
use crate::table::Table;
use crate::ticket::Ticket;

/// Hashing and verifying under one policy: one value for a whole program, shared by all threads.
/// Clones are cheap and share everything.
///
/// Everything is computed in the threads of one pool, within its memory and its queue; each call
/// returns a [`Ticket`] at once. Passwords are copied, and wiped when what they are for has ended.
///
/// ```
/// use saltern::{Outcome, Passwords, Policy};
/// let passwords = Passwords::new(Policy::default())?;
/// let stored = passwords.hash("correct horse").wait()?;
/// assert!(stored.starts_with("$y$j9T$"));
/// let wrong = passwords.verify("alice", "battery staple", Some(&stored)).wait()?;
/// assert_eq!(wrong, Outcome::Mismatch);
/// let unknown = passwords.verify("mallory", "battery staple", None).wait()?;
/// assert_eq!(unknown, Outcome::Mismatch); // after the same time
/// # Ok::<(), saltern::Error>(())
/// ```
#[derive(Clone)]
pub struct Passwords {
    inner: Arc<Inner>,
    bulk: bool,
    updates: bool,
    within: Option<Duration>,
}

struct Inner {
    prepared: Prepared,
    pool: Arc<Pool>,
}

impl Inner {
    fn parts(&self) -> &Parts {
        self.prepared.parts()
    }
}

/// What a login comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The password is right.
    Match {
        /// If the stored string is to be replaced, by what.
        update: Option<Update>,
    },
    /// It is not, or there is no such account.
    Mismatch,
    /// The stored string is that of a locked account: `!` or `*` stands before it. No password
    /// matches, and none is tried.
    Locked,
}

/// A stored string that takes the place of another one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Update {
    /// What was verified. Write only where this still stands (`UPDATE … WHERE id = … AND hash =
    /// old`): another login, or a change of the password, may have come between.
    pub old: String,
    /// What to write: never weaker than the old one.
    pub new: String,
}

impl Outcome {
    /// Whether the password is right.
    #[must_use]
    pub const fn is_match(&self) -> bool {
        matches!(self, Outcome::Match { .. })
    }
}

impl Passwords {
    /// Reads the files of keys and ROMs, and starts the threads.
    ///
    /// # Errors
    /// [`Error::Policy`]; [`Error::Unavailable`] for a key or a ROM that is not there or is another
    /// one; those of [`Pool::new`].
    pub fn new(policy: Policy) -> Result<Self, Error> {
        let prepared = Prepared::new(policy)?;
        let pool = Pool::new(prepared.pool_config())?;
        Ok(Self::in_pool(&prepared, Arc::new(pool)))
    }

    /// With the threads, the memory and the queue of a pool that others use as well, whatever
    /// [`Policy::pool`] says. ROMs that are left in their files need one that can read them:
    /// [`Prepared::pool_config`].
    #[must_use]
    pub fn in_pool(prepared: &Prepared, pool: Arc<Pool>) -> Self {
        let within = prepared.table().policy().deadline;
        let inner = Inner { prepared: prepared.clone(), pool };
        Passwords { inner: Arc::new(inner), bulk: false, updates: true, within }
    }

    /// With the policy in a file: [`Policy::read`] and [`Passwords::new`].
    ///
    /// # Errors
    /// Those of both.
    #[cfg(feature = "file")]
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn open(policy: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        Self::new(Policy::read(policy)?)
    }

    /// The same with this much time for each call that follows, instead of [`Policy::deadline`].
    /// What cannot end in time is refused at once; what has not begun by then never begins.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        Passwords { within: Some(time), ..self.clone() }
    }

    /// The same for work that nobody waits for in particular: it runs on what logins leave, and has
    /// no deadline.
    #[must_use]
    pub fn bulk(&self) -> Self {
        Passwords { bulk: true, within: None, ..self.clone() }
    }

    /// The same for whoever has no use for updates: a match has none, and nothing is computed for
    /// one.
    #[must_use]
    pub fn without_updates(&self) -> Self {
        Passwords { updates: false, ..self.clone() }
    }

    /// What can be done with stored strings without passwords.
    #[must_use]
    pub fn table(&self) -> &Table {
        self.inner.prepared.table()
    }

    /// The pool, to see what it does ([`Pool::stats`]).
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.inner.pool
    }

    /// What people should know about files of keys and ROMs: loose permissions, what could not be
    /// had.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.table().notes()
    }

    /// Hashes a new password into a string to store.
    ///
    /// # Errors
    /// In the ticket: a password of more than [`Limits::max_password`](crate::policy::Limits) bytes
    /// or with a zero byte; *overloaded*; *internal*.
    pub fn hash(&self, password: impl AsRef<[u8]>) -> Ticket<String> {
        let (inner, terms) = (&self.inner, self.terms());
        Ticket::of(inner.pool.hash_one(&inner.parts().hasher, password, terms))
    }

    /// [`Passwords::hash`] with a given salt of at most 64 bytes. Salts have to be unique: this is
    /// for systems that make and keep salts themselves, and for tests.
    ///
    /// # Errors
    /// As there, and for a salt that is too long.
    pub fn hash_with_salt(
        &self,
        password: impl AsRef<[u8]>,
        salt: impl AsRef<[u8]>,
    ) -> Ticket<String> {
        let (inner, terms) = (&self.inner, self.terms());
        let hasher = &inner.parts().hasher;
        let setting = match hasher.setting(salt) {
            Ok(setting) => setting,
            Err(error) => return Ticket::done(Err(error.into())),
        };
        let item = inner.pool.hash_one_with_setting(hasher, password, setting.as_bytes(), terms);
        let text = |hash: HashString| String::from_utf8_lossy(hash.as_bytes()).into_owned();
        Ticket::then(item, move |hash| Ticket::done(hash.map(text)))
    }

    /// Whether a password is the one of an account, whose stored string is given; `None` if there
    /// is no such account, or it has no password.
    ///
    /// After a match an [`Update`] may be there: the string is outdated ([`Table::needs_rehash`])
    /// and this is the new one. It is computed after the answer is known, within the same deadline;
    /// where that is too short, or the pool too busy, the match has no update, and the next login
    /// has it. `{CRYPT}` before a string stays before its update.
    ///
    /// Without a stored string, and for a locked account, as much is computed as for an account of
    /// the table: see [`Decoy`](crate::policy::Decoy). The account's name is only for that: it is
    /// no part of any hash.
    ///
    /// # Errors
    /// In the ticket. *Bad input*: a stored string that is none, a password that no scheme takes.
    /// *Over limit*: a scheme or a cost that the policy does not allow. *Unavailable*: a key or a
    /// ROM. *Overloaded*, *internal*. The password was not found to be wrong in any of these.
    pub fn verify(
        &self,
        account: impl AsRef<[u8]>,
        password: impl AsRef<[u8]>,
        stored: Option<&str>,
    ) -> Ticket<Outcome> {
        let (password, account) = (password.as_ref(), account.as_ref());
        let started = self.admit(password).and_then(|()| match stored {
            None => self.pretend(account, password, Outcome::Mismatch),
            Some(text) => {
                let stored = Stored::parse(text)?;
                match stored.to_verify() {
                    None => self.pretend(account, password, Outcome::Locked),
                    Some(hash) => self.check(hash, password, text, stored.before),
                }
            }
        });
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }

    /// Puts our hash over one of another scheme, without the password: `{over=…}$y$…`. It is
    /// verified as before, and the update after a match is a hash of the password alone. `None` for
    /// a string that is ours already, or has none.
    ///
    /// Store it only where the old string still stands.
    ///
    /// # Errors
    /// In the ticket: as [`Passwords::verify`].
    pub fn wrap(&self, stored: &str) -> Ticket<Option<String>> {
        let parsed = Stored::parse(stored);
        let Stored { before, hash, .. } = match parsed {
            Ok(stored) => stored,
            Err(error) => return Ticket::done(Err(error)),
        };
        let Some(Hash::Foreign(foreign)) = hash else { return Ticket::done(Ok(None)) };
        let (inner, setting) = (&self.inner, foreign.setting.clone());
        let policy = inner.prepared.table().policy();
        if let Err(error) = policy.admit(&Hash::Foreign(foreign.clone()), 0) {
            return Ticket::done(Err(error));
        }
        if crate::foreign::setting(&setting.to_string()).is_err() {
            let expected = "one whose setting can stand between braces";
            return Ticket::done(Err(Error::malformed("string to be wrapped", expected)));
        }
        let before = before.to_owned();
        let item = inner.pool.hash_one(&inner.parts().hasher, &foreign.digest, self.terms());
        Ticket::then(item, move |ours| {
            Ticket::done(ours.map(|ours| Some(before + &wrapped(&*setting, &ours))))
        })
    }

    /// What is asked of the pool for a call that begins now.
    fn terms(&self) -> Terms {
        let terms = if self.bulk { Terms::bulk() } else { Terms::interactive() };
        let until = self.within.and_then(|time| Instant::now().checked_add(time));
        until.map_or(terms, |until| terms.by(until))
    }

    /// Refuses a password whatever it is compared with.
    fn admit(&self, password: &[u8]) -> Result<(), Error> {
        let limits = &self.table().policy().limits;
        let (value, limit) = (password.len() as u64, limits.max_password as u64);
        if value > limit {
            return Err(Hashing::OverLimit { what: Limit::Password, value, limit }.into());
        }
        if limits.syntax == Syntax::Crypt3 && password.contains(&0) {
            return Err(Hashing::RefusedByCrypt { why: "a zero byte in the password" }.into());
        }
        Ok(())
    }

    fn check(
        &self,
        hash: &Hash,
        password: &[u8],
        text: &str,
        before: &str,
    ) -> Result<Ticket<Outcome>, Error> {
        let policy = self.table().policy();
        policy.admit(hash, password.len())?;
        let terms = self.terms();
        let successor = match self.updates {
            true => self.table().site.successor(hash, before)?,
            false => None,
        };
        let matched = Matched {
            inner: Arc::clone(&self.inner),
            password: copy(password),
            old: text.to_owned(),
            successor,
            terms,
        };
        let then = move |matches| matched.outcome(matches);
        Ok(self.compare(hash, password, terms, then))
    }

    /// Computes what an account costs that is not there.
    fn pretend(
        &self,
        account: &[u8],
        password: &[u8],
        outcome: Outcome,
    ) -> Result<Ticket<Outcome>, Error> {
        let hash = self.inner.parts().decoys.of(account);
        self.table().policy().admit(hash, password.len())?;
        let then = move |matches: Result<bool, Error>| Ticket::done(matches.map(|_| outcome));
        Ok(self.compare(hash, password, self.terms(), then))
    }

    /// Whether a password is that of a hash, and what then.
    fn compare(
        &self,
        hash: &Hash,
        password: &[u8],
        terms: Terms,
        then: impl FnOnce(Result<bool, Error>) -> Ticket<Outcome> + Send + 'static,
    ) -> Ticket<Outcome> {
        let inner = &self.inner;
        match hash {
            Hash::Ours(ours) => Ticket::then(
                inner.pool.verify_one(&inner.parts().hasher, password, ours, terms),
                then,
            ),
            Hash::Foreign(foreign) => {
                let (foreign, password) = (foreign.clone(), copy(password));
                let cost = foreign.setting.cost(password.len());
                let run = move || foreign.matches(&password);
                let item = inner.pool.run_one(cost, run, terms);
                Ticket::then(item, |computed| then(computed.and_then(|matches| matches)))
            }
            Hash::Wrapped(setting, outer) => {
                let (setting, outer) = (Arc::clone(setting), outer.clone());
                let (inner, password) = (Arc::clone(inner), copy(password));
                let cost = setting.cost(password.len());
                let run = move || setting.compute(&password);
                let item = inner.pool.run_one(cost, run, terms);
                Ticket::then(item, move |digest| match digest.and_then(|digest| digest) {
                    Ok(digest) => {
                        let item =
                            inner.pool.verify_one(&inner.parts().hasher, &*digest, &outer, terms);
                        Ticket::then(item, then)
                    }
                    Err(error) => then(Err(error)),
                })
            }
        }
    }
}

/// What follows a match.
struct Matched {
    inner: Arc<Inner>,
    password: Zeroizing<Vec<u8>>,
    old: String,
    successor: Option<Successor>,
    terms: Terms,
}

impl Matched {
    fn outcome(self, matches: Result<bool, Error>) -> Ticket<Outcome> {
        match matches {
            Err(error) => Ticket::done(Err(error)),
            Ok(false) => Ticket::done(Ok(Outcome::Mismatch)),
            Ok(true) => self.update(),
        }
    }

    fn update(self) -> Ticket<Outcome> {
        let Matched { inner, password, old, successor, terms } = self;
        let (params, before) = match successor {
            None => return Ticket::done(Ok(Outcome::Match { update: None })),
            Some(Successor::Rekeyed(new)) => {
                let update = Some(Update { old, new });
                return Ticket::done(Ok(Outcome::Match { update }));
            }
            Some(Successor::Hashed(params, before)) => (params, before),
        };
        let hasher = if params == *inner.parts().hasher.params() {
            Arc::clone(&inner.parts().hasher)
        } else {
            Arc::new(Hasher::clone(&inner.parts().hasher).with_params(params))
        };
        let item = inner.pool.hash_one(&hasher, &*password, terms);
        Ticket::then(item, move |hashed| {
            // Who is right is right, whether there is time for more or not.
            let update = hashed.ok().map(|new| Update { old, new: before + &new });
            Ticket::done(Ok(Outcome::Match { update }))
        })
    }
}

fn copy(secret: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(secret.to_vec())
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Passwords {{ {:?} }}", self.inner.pool)
    }
}
