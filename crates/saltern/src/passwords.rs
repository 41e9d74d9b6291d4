//! The value that a program keeps: hashing and verifying under a policy.

// Size: the interface of a login is one type, and everything it promises is documented with it.

mod any;
mod login;
mod matched;

use std::sync::Arc;
use std::time::{Duration, Instant};

use saltern_pool::terms::Share;
use saltern_pool::{Error as PoolError, OneTicket, Pool, PoolConfig, Terms};
use saltern_yescrypt::{HashString, Hasher, Setting};

use self::any::Given;
use crate::error::Error;
use crate::foreign;
use crate::policy::Policy;
use crate::prepared::Prepared;
use crate::rehash::Reasons;
use crate::scrubber::SiteScrubber;
use crate::stored::{Hash, Stored, wrapped};
use crate::table::Table;
use crate::ticket::Ticket;

/// Hashing and verifying under one policy: one value for a whole program, shared by all threads.
/// Clones are cheap and share everything.
///
/// Everything is computed in the threads of one pool, within its memory budget and its queue; each
/// call returns a [`Ticket`] at once. Passwords are copied, and the copies are wiped when the call
/// has ended or its ticket is dropped.
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
    within: Option<Duration>,
    share: Share,
    updates: bool,
    /// With the account of this handle.
    table: Table,
}

struct Inner {
    prepared: Prepared,
    pool: Arc<Pool>,
    watch: SiteScrubber,
}

impl Inner {
    fn hasher(&self) -> &Arc<Hasher> {
        &self.prepared.opened().hasher
    }
}

/// The result of a login. If the answer could not be determined, there is an [`Error`] instead.
#[derive(Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The password is right.
    Match {
        /// The ways in which the stored string differs from a new one.
        outdated: Reasons,
        /// The replacement to store, if the stored string is outdated.
        update: Option<Update>,
        /// Whether the answer was remembered from an earlier login, so that no hash was computed:
        /// see [`Policy::remember`].
        remembered: bool,
    },
    /// The password is wrong, or there is no such account.
    Mismatch,
    /// The account is locked: its stored string has `!` or `*` before it. No password matches, and
    /// none is checked.
    Locked,
}

/// A new string to store in place of the one that was verified.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// The string that was verified. Write the new one only if this one is still stored (`UPDATE …
    /// WHERE id = … AND hash = old`): another login, or a change of the password, may have come in
    /// between.
    pub old: String,
    /// The string to write. It is never weaker than the old one, except where
    /// [`Policy::replace`] says so.
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
    /// Reads the key files, attaches the ROMs, and starts the threads.
    ///
    /// Everything that would make logins fail later is refused here: a missing key, a ROM other
    /// than the policy's, a decoy that cannot be computed, libcrypt if it is accepted but not
    /// installed. Attaching a ROM checks all of it, which takes a second for some gigabytes.
    ///
    /// # Errors
    /// [`Error::Policy`] if the policy contradicts itself; [`Error::Unavailable`] if a key, a ROM
    /// or a library is missing or is the wrong one; the errors of [`Pool::new`].
    pub fn new(policy: Policy) -> Result<Self, Error> {
        let prepared = Prepared::new(policy)?;
        let pool = Pool::new(prepared.pool_config())?;
        Ok(Self::in_pool(&prepared, Arc::new(pool)))
    }

    /// The same site under another policy: for servers that switch to a new policy, new keys or new
    /// ROMs without interruption. Use the result for new calls and drop this one. Calls that have
    /// begun here end under the old policy.
    ///
    /// Keys are read again. ROMs that are already in memory, with the same entry in the policy,
    /// stay where they are, unless one of them has been found damaged
    /// ([`Passwords::damaged_roms`]). The threads and their memory are reused, unless
    /// [`Policy::pool`] has changed: then new ones exist beside the old ones until the calls that
    /// began here have ended.
    ///
    /// ```
    /// use saltern::{Passwords, Policy, policy::Params};
    /// let mut policy = Policy::default();
    /// let passwords = Passwords::new(policy.clone())?;
    /// policy.params = Params::from_cost(4)?;
    /// let renewed = passwords.renew(policy)?;
    /// assert!(renewed.hash("correct horse").wait()?.starts_with("$y$j8T$"));
    /// # Ok::<(), saltern::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Passwords::new`]. Nothing changes then.
    pub fn renew(&self, policy: Policy) -> Result<Self, Error> {
        // Damaged ROMs are attached again.
        let sound = self.damaged_roms().is_empty().then(|| self.inner.prepared.opened());
        let prepared = Prepared::beside(&policy, sound)?;
        let (present, asked) = (&self.inner.pool, prepared.pool_config());
        let pool = match serves(present.config(), &asked) {
            true => Arc::clone(present),
            false => Arc::new(Pool::new(asked)?),
        };
        Ok(Self::in_pool(&prepared, pool))
    }

    /// Makes a `Passwords` that computes in a shared pool, ignoring [`Policy::pool`]. ROMs that
    /// stay in their files need a pool that can read them: [`Prepared::pool_config`].
    #[must_use]
    pub fn in_pool(prepared: &Prepared, pool: Arc<Pool>) -> Self {
        let within = prepared.table().policy().deadline;
        let watch = SiteScrubber::start(prepared.opened());
        let inner = Inner { prepared: prepared.clone(), pool, watch };
        Passwords {
            inner: Arc::new(inner),
            bulk: false,
            within,
            share: Share::default(),
            updates: true,
            table: prepared.table().clone(),
        }
    }

    /// Reads a policy from a file and makes a `Passwords` from it: [`Policy::read`], then
    /// [`Passwords::new`].
    ///
    /// # Errors
    /// The errors of both.
    #[cfg(feature = "file")]
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn open(policy: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        Self::new(Policy::read(policy)?)
    }

    /// A handle whose calls have this much time each, instead of [`Policy::deadline`]. A call that,
    /// by the pool's prediction, cannot finish in time is refused at once; one that has not begun
    /// by its deadline never begins. Both are [`ErrorKind::Overloaded`](crate::ErrorKind).
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        Passwords { within: Some(time), ..self.clone() }
    }

    /// A handle for work that no user waits for, such as wrapping a table: it runs only while no
    /// login waits, and has no deadline.
    #[must_use]
    pub fn bulk(&self) -> Self {
        Passwords { bulk: true, within: None, ..self.clone() }
    }

    /// A handle for one of several clients that share the pool: while all of them have logins
    /// waiting, each is given work by its weight, whatever it sends and whatever its deadlines.
    ///
    /// ```
    /// use saltern::{Passwords, Policy, policy::Share};
    /// let passwords = Passwords::new(Policy::default())?;
    /// let shop = passwords.share(Share::of("shop").weight(3));
    /// assert!(shop.hash("correct horse").wait().is_ok());
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn share(&self, share: Share) -> Self {
        Passwords { share, ..self.clone() }
    }

    /// A handle for callers that do not store updates: a match has none, and no new hash is
    /// computed after it. The ways in which the string is outdated are still reported.
    #[must_use]
    pub fn without_updates(&self) -> Self {
        Passwords { updates: false, ..self.clone() }
    }

    /// Whether a call could be accepted now, as far as that does not depend on the password and the
    /// stored string: for servers that refuse a request before they read it. One that is not
    /// refused here may still be when it is made.
    ///
    /// # Errors
    /// *Overloaded*.
    pub fn admits(&self) -> Result<(), Error> {
        // A login that is remembered is answered however much waits.
        match self.inner.prepared.remembered() {
            Some(_) => Ok(()),
            None => Ok(self.inner.pool.admits(self.terms())?),
        }
    }

    /// A handle for the strings of one account, given by an id that never changes: what it hashes
    /// is sealed for this account if the policy has an active key for seals
    /// ([`SealPolicy`](crate::policy::SealPolicy)), and sealed strings can be wrapped. Logins take
    /// the account themselves.
    #[must_use]
    pub fn for_account(&self, account: impl AsRef<[u8]>) -> Self {
        Passwords { table: self.table.for_account(account), ..self.clone() }
    }

    /// The operations on stored strings that need no password, for the account of this handle if it
    /// has one.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The pool that computes everything; [`Pool::stats`] shows its load.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.inner.pool
    }

    /// Remarks for the operator about the files of keys and ROMs, such as permissions that let
    /// others read a key, or huge pages that were not available. Log them at the start.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.table().notes()
    }

    /// The ROMs in memory that a check has found damaged since the start, one line each; usually
    /// none. All of each ROM is checked again once its last check is older than
    /// [`Policy::check_roms`].
    ///
    /// No answer depends on these checks: what a hash has read is checked before a mismatch or a
    /// new hash is returned, and damage there is an error. But they find damage before a login
    /// does. Call this from time to time, for example in a health check.
    #[must_use]
    pub fn damaged_roms(&self) -> Vec<String> {
        self.inner.watch.damaged_roms()
    }

    /// Hashes a new password into a string to store. It is sealed if the account is known
    /// ([`Passwords::for_account`]) and the policy has an active key for seals.
    ///
    /// # Errors
    /// In the ticket. *Bad input* for a password with a zero byte (unless
    /// [`Limits::syntax`](crate::policy::Limits) is wide), for an account id that does not have 1
    /// to 4096 bytes, and without an account if the policy requires seals; *over limit* for one of
    /// more than [`Limits::max_password`](crate::policy::Limits) bytes; *overloaded*; *internal*.
    pub fn hash(&self, password: impl AsRef<[u8]>) -> Ticket<String> {
        let (inner, terms) = (&self.inner, self.terms());
        let hash = || inner.pool.hash_one(inner.hasher(), &password, terms);
        self.sealed(hash, |hash: String| hash)
    }

    /// What the pool hashes, in the form of new strings. Nothing is computed for an account that no
    /// string can be sealed for.
    fn sealed<S: Send + 'static>(
        &self,
        begin: impl FnOnce() -> Result<OneTicket<S>, PoolError>,
        text: impl FnOnce(S) -> String + Send + 'static,
    ) -> Ticket<String> {
        let table = self.table.clone();
        let possible = table.opened.dressed(table.account(), "", "");
        if let Err(error) = possible {
            return Ticket::done(Err(error));
        }
        Ticket::then(begin(), move |hash| {
            let dressed = |hash| table.opened.dressed(table.account(), "", &text(hash));
            Ticket::done(hash.and_then(dressed))
        })
    }

    /// [`Passwords::hash`] with a given salt of at most 64 bytes. Salts must be unique: this is for
    /// systems that make and keep salts themselves, and for tests.
    ///
    /// # Errors
    /// Those of [`Passwords::hash`], and *bad input* for a salt that is too long.
    pub fn hash_with_salt(
        &self,
        password: impl AsRef<[u8]>,
        salt: impl AsRef<[u8]>,
    ) -> Ticket<String> {
        match self.inner.hasher().setting(salt) {
            Ok(setting) => self.hash_with_setting(password, setting),
            Err(error) => Ticket::done(Err(error.into())),
        }
    }

    /// [`Passwords::hash`] under a given setting: parameters and a salt, with the key and the ROMs
    /// that it names. It may be of any scheme of the crate `saltern-yescrypt`, and is not compared
    /// with the policy's parameters, only with its limits. [`Prepared::hasher`] makes settings.
    ///
    /// ```
    /// use saltern::{Passwords, Policy, policy::Setting};
    /// let passwords = Passwords::new(Policy::default())?;
    /// let setting = Setting::parse("$y$j75$LdJMENpBABJJ3hIHjB1Bi.")?;
    /// let stored = passwords.hash_with_setting("pleaseletmein", setting).wait()?;
    /// assert_eq!(stored, "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4");
    /// # Ok::<(), saltern::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Passwords::hash`]; *bad input* for a salt that is not UTF-8; *over limit* for a
    /// cost above the limits; *unavailable* for a key or a ROM that the policy does not have.
    pub fn hash_with_setting(
        &self,
        password: impl AsRef<[u8]>,
        setting: Setting,
    ) -> Ticket<String> {
        if str::from_utf8(setting.as_bytes()).is_err() {
            return Ticket::done(Err(Error::malformed("setting", "UTF-8")));
        }
        let (inner, terms) = (&self.inner, self.terms());
        let hash = || inner.pool.hash_one_with_setting(inner.hasher(), &password, setting, terms);
        let text = |hash: HashString| String::from_utf8_lossy(hash.as_bytes()).into_owned();
        self.sealed(hash, text)
    }

    /// Verifies a password against the stored string of an account. Pass `None` for the string if
    /// there is no such account, or if it has no password.
    ///
    /// If the password matches, the outcome reports in which ways the string is outdated, as
    /// [`Table::needs_rehash`] does, and if it is, has an [`Update`] with a new string; but a
    /// string of another scheme that is stronger than new hashes is kept even if its salt is short.
    /// The new string is computed once the answer is known, within the same deadline: if too little
    /// time is left, or another login waits, the match comes without it, and a later login gets it.
    /// `{CRYPT}` before a string is kept in its update.
    ///
    /// For an unknown or a locked account as much is computed as for an account in the table, so
    /// that the response time does not give it away: see [`Decoy`](crate::policy::Decoy).
    ///
    /// If the policy has keys for seals ([`SealPolicy`](crate::policy::SealPolicy)), `account` is
    /// the id that the string was sealed for: the seal is checked before anything is computed, and
    /// an update is sealed. The account affects no hash.
    ///
    /// # Errors
    /// In the ticket. None of them means that the password is wrong. *Bad input* for a string that
    /// is damaged or of no known scheme, or a password that its scheme does not allow; *over limit*
    /// for a scheme or a cost that the policy does not allow; *unavailable* if a key or a ROM is
    /// missing; *tampered* for a string that is not the one sealed for the account, at once: log
    /// it, and let an operator look at the table; *overloaded*; *internal*.
    pub fn verify(
        &self,
        account: impl AsRef<[u8]>,
        password: impl AsRef<[u8]>,
        stored: Option<&str>,
    ) -> Ticket<Outcome> {
        let given = Given { password: password.as_ref(), stand_in: None };
        let started = self.begin(account.as_ref(), given, stored);
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }

    /// Wraps a stored hash of another scheme in a new one, without the password: `{over=…}$y$…`.
    /// Such a string is verified like any other, and the update after a match is a plain hash of
    /// the password. The result is `None` for a string that needs no wrapping: one of yescrypt or
    /// scrypt, a wrapped one, or that of a locked account without a hash.
    ///
    /// Store the result only if the old string is still stored. A sealed string needs its account
    /// ([`Passwords::for_account`]): its seal is checked, and the result is sealed. One without a
    /// seal gets none.
    ///
    /// # Errors
    /// In the ticket: those of [`Passwords::verify`] for the string, and *bad input* for a sealed
    /// string without its account. A string whose salt contains a
    /// `}` cannot be wrapped, which is *bad input*.
    pub fn wrap(&self, stored: &str) -> Ticket<Option<String>> {
        let started = self.wrapping(stored);
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }

    fn wrapping(&self, stored: &str) -> Result<Ticket<Option<String>>, Error> {
        let (inner, table) = (&self.inner, self.table.clone());
        let sealed = table.opened.check_seal(table.account(), stored)?;
        let Stored { marks, sealed_with, before, hash, .. } = Stored::of(sealed)?;
        let Some(hash @ Hash::Foreign(_)) = hash else { return Ok(Ticket::done(Ok(None))) };
        inner.prepared.table().policy().admit(&hash)?;
        let hash = inner.prepared.opened().unsigned(hash)?;
        let Hash::Foreign(foreign) = &hash else { return Ok(Ticket::done(Ok(None))) };
        let setting = Arc::clone(&foreign.setting);
        if foreign::setting(&setting.to_string()).is_err() {
            let expected = "one whose setting can be put between braces";
            return Err(Error::malformed("string to be wrapped", expected));
        }
        // What has no seal gets none here.
        let is_sealed = sealed_with.is_some();
        let (marks, before) = (marks.to_owned(), before.to_owned());
        let hasher = &inner.prepared.opened().over_digests;
        let item = inner.pool.hash_one(hasher, foreign.digest.as_bytes(), self.terms());
        Ok(Ticket::then(item, move |ours| {
            let dressed = |ours: String| {
                let text = before + &wrapped(&*setting, &ours);
                table.opened.dressed(table.account().filter(|_| is_sealed), &marks, &text)
            };
            Ticket::done(ours.and_then(dressed).map(Some))
        }))
    }

    /// The terms under which the pool computes a call that begins now.
    pub(crate) fn terms(&self) -> Terms {
        let terms = if self.bulk { Terms::bulk() } else { Terms::interactive() };
        let terms = terms.share(self.share);
        let until = self.within.and_then(|time| Instant::now().checked_add(time));
        until.map_or(terms, |until| terms.by(until))
    }
}

/// Whether a pool meets a configuration. It may be able to read ROMs without need.
fn serves(pool: &PoolConfig, asked: &PoolConfig) -> bool {
    let threads = |config: &PoolConfig| (config.threads, config.in_flight, config.level);
    let memory = |config: &PoolConfig| (config.memory, config.pages, config.wipe, config.prepare);
    let queue = |config: &PoolConfig| (config.max_waiting, config.patience);
    (threads(pool), memory(pool), queue(pool)) == (threads(asked), memory(asked), queue(asked))
        && pool.processors == asked.processors
        && (asked.sources.is_none() || pool.sources.is_some())
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Passwords {{ {:?} }}", self.inner.pool)
    }
}

/// Omits salts and hashes, for logs.
impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Match { outdated, update, remembered } => {
                let mut shown = f.debug_struct("Match");
                shown.field("outdated", &outdated.words()).field("update", update);
                shown.field("remembered", remembered).finish()
            }
            Outcome::Mismatch => f.write_str("Mismatch"),
            Outcome::Locked => f.write_str("Locked"),
        }
    }
}

/// Omits salts and hashes, for logs.
impl std::fmt::Debug for Update {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Update").finish_non_exhaustive()
    }
}
