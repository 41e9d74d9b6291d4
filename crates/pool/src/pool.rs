//! The pool: submissions and queries.

mod threads;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use saltern_wipe::Zeroizing;
use saltern_yescrypt::{HashString, Hasher, Setting, hazmat::Plan};

use crate::config::PoolConfig;
use crate::error::Error;
use crate::item::{Item, NeedsRomCheck, Outcome};
use crate::ledger::Need;
use crate::password::Password;
use crate::shape::{Derive, Shape};
use crate::shared::{Shared, Submission, lock};
use crate::stats::PoolStats;
use crate::task::Task;
use crate::terms::Terms;
use crate::ticket::{Answer, Answers, BatchTicket, OneTicket, Ticket};
use crate::{flight::Layout, pages};

/// Threads that compute hashes within a memory budget, in the order of their deadlines.
///
/// A server makes one pool for all of its hashing. Every call returns a [`Ticket`] at once; results
/// are the same as those of [`Hasher`] and [`derive`](saltern_yescrypt::derive()). Each kind of
/// work comes in two forms: one item, or a batch of any size with one result per item.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use saltern_pool::{Pool, PoolConfig, Terms};
/// use saltern_yescrypt::{HashString, Hasher, Params};
/// let pool = Pool::new(PoolConfig::default())?;
/// let hasher = Arc::new(Hasher::new().with_params(Params::from_cost(1)?));
/// let login = Terms::interactive().within(Duration::from_secs(5));
/// let stored = pool.hash_one(&hasher, "secret", login)?.wait()?;
/// assert!(pool.verify_one(&hasher, "secret", HashString::parse(&stored)?, login)?.wait()?);
/// let found = pool.verify(&hasher, [("secret", &stored), ("Secret", &stored)], Terms::bulk())?;
/// assert_eq!(found.wait(), [Ok(true), Ok(false)]);
/// # Ok::<(), saltern_pool::Error>(())
/// ```
///
/// # What runs when
/// Interactive items run before bulk ones; among them, shares take turns
/// ([`Share`](crate::terms::Share)), and within a share the earliest deadline comes first; see
/// [`Terms`]. Waiting items of one shape (parameters, ROMs and length of output), whichever call
/// they came with, are computed in groups of up to
/// [`degree`](saltern_yescrypt::params::CheckedParams::degree) that advance together in one thread.
/// A group never waits for a partner. Groups are made smaller when idle threads can take the rest,
/// and when memory does not suffice; a hash that waits for memory is not overtaken. A pool never
/// uses more threads than configured: hashes with p > 1 get one thread, too.
///
/// # Overload
/// At most [`PoolConfig::max_waiting`] items of each class wait; beyond that the answer is
/// [`Error::Overloaded`]. (A share may always have its part of that waiting, so that others cannot
/// keep it out: all together then have at most twice as many.) The pool measures its own speed, and
/// refuses on arrival what cannot end before its deadline ([`Error::TooLate`], with the predicted
/// time). An item whose deadline has passed never begins ([`Error::Expired`]); one that ends after
/// its deadline still has its result.
/// While a share submits more than can be computed, its items are accepted only if they will wait
/// for a fifth of their time: a queue that stays long serves nobody, and a burst still has all of
/// it. Once an interactive item without a deadline has waited longer than [`PoolConfig::patience`],
/// the newest of its share come first. So an overloaded pool computes items that somebody still
/// waits for.
///
/// # Memory
/// [`PoolConfig::memory`] bounds the memory of all threads together.
///
/// # ROMs
/// An item holds its hasher's ROMs until it ends, even if the hasher is dropped. ROMs in memory are
/// read in place. Those whose blocks are read on demand ([`stored_rom`](crate::source::stored_rom))
/// need [`PoolConfig::sources`]: while a block is read for a hash, the thread works on another one.
/// Blocks are checked immediately before they are used. Wrong bytes are read again; if that fails
/// too, the hashes that needed them end in [`Error::RomUnavailable`] and the others continue.
///
/// A damaged ROM gives a different hash. If a ROM in memory can be checked
/// ([`checker`](saltern_yescrypt::rom::RomMemory::checker), as those of `saltern-rom` can), the
/// same thread checks the blocks that a hash has read before a mismatch, a new hash or a derived
/// key is returned; a match needs no check. Damage results in [`Error::RomUnavailable`]. The last
/// block of a ROM whose blocks are read on demand stays in memory, and is checked in the same way
/// if it can be ([`BlockRom::checker`](crate::source::BlockRom::checker)). ROMs of generation 0.5
/// ([`Hasher::with_escrypt_rom`]) are never checked.
///
/// # The end, panics and forks
/// Dropping a pool cancels waiting items and blocks until the hashes being computed are finished.
/// Passwords and salts are copied, and wiped when their items end. A panic in a thread, which would
/// be a defect in this library or in the code that reads ROMs for it, becomes [`Error::Panicked`]
/// for its items, in programs that unwind; the pool continues. If a
/// [`BlockSource`](crate::source::BlockSource) panics, this affects all items that the thread has
/// begun, and the thread gets another source. A process forked from the one that made the pool has
/// no pool threads: every call returns [`Error::Forked`], nothing blocks, and a pool made there
/// works.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// As it was requested.
    config: PoolConfig,
}

/// An item that its hasher admits, and the function that turns its bytes into an answer.
struct Prepared<T> {
    shape: Arc<Shape>,
    password: Password,
    salt: Zeroizing<Vec<u8>>,
    needs_rom_check: NeedsRomCheck,
    finish: Finish<T>,
}

type Finish<T> = Box<dyn FnOnce(Zeroizing<Vec<u8>>) -> Result<T, Error> + Send>;

impl Pool {
    /// Hashes passwords with random salts of 16 bytes into strings, like [`Hasher::hash`].
    ///
    /// # Errors
    /// [`Error::Overloaded`], [`Error::TooLate`], [`Error::Forked`], and [`Error::BatchTooLarge`]
    /// for a batch larger than the queue. For each item those of [`Hasher::hash`], and
    /// [`Error::OverBudget`].
    #[cfg(feature = "getrandom")]
    pub fn hash<P: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        passwords: impl IntoIterator<Item = P>,
        terms: Terms,
    ) -> Result<BatchTicket<String>, Error> {
        self.submit(terms, || {
            passwords
                .into_iter()
                .map(|password| self.new_hash(hasher, Password::from(&password)))
                .collect()
        })
    }

    /// [`Pool::hash`] for one password.
    ///
    /// # Errors
    /// Those of the whole call; those of the item are in its result.
    #[cfg(feature = "getrandom")]
    pub fn hash_one(
        &self,
        hasher: &Arc<Hasher>,
        password: impl Into<Password>,
        terms: Terms,
    ) -> Result<OneTicket<String>, Error> {
        self.submit(terms, || vec![self.new_hash(hasher, password.into())])
    }

    /// Hashes passwords under settings of any scheme, like [`Hasher::hash_with_setting`].
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of [`Hasher::hash_with_setting`].
    pub fn hash_with_settings<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        items: impl IntoIterator<Item = (P, S)>,
        terms: Terms,
    ) -> Result<BatchTicket<HashString>, Error> {
        self.submit(terms, || {
            let item = |(password, setting): (P, S)| {
                self.under_setting(hasher, Password::from(&password), Setting::parse(setting)?, Ok)
            };
            items.into_iter().map(item).collect()
        })
    }

    /// [`Pool::hash_with_settings`] for one password, under a setting that has been parsed.
    ///
    /// # Errors
    /// Those of the whole call; those of the item are in its result.
    pub fn hash_one_with_setting(
        &self,
        hasher: &Arc<Hasher>,
        password: impl Into<Password>,
        setting: Setting,
        terms: Terms,
    ) -> Result<OneTicket<HashString>, Error> {
        self.submit(terms, || vec![self.under_setting(hasher, password.into(), setting, Ok)])
    }

    /// Verifies passwords against stored strings with any parameters, like [`Hasher::verify`].
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of [`Hasher::verify`]. None of these is a mismatch:
    /// the password was not checked.
    pub fn verify<P: AsRef<[u8]>, H: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        items: impl IntoIterator<Item = (P, H)>,
        terms: Terms,
    ) -> Result<BatchTicket<bool>, Error> {
        self.submit(terms, || {
            let item = |(password, hash): (P, H)| {
                self.against(hasher, Password::from(&password), HashString::parse(hash)?)
            };
            items.into_iter().map(item).collect()
        })
    }

    /// [`Pool::verify`] for one password, against a string that has been parsed.
    ///
    /// # Errors
    /// Those of the whole call; those of the item are in its result.
    pub fn verify_one(
        &self,
        hasher: &Arc<Hasher>,
        password: impl Into<Password>,
        hash: HashString,
        terms: Terms,
    ) -> Result<OneTicket<bool>, Error> {
        self.submit(terms, || vec![self.against(hasher, password.into(), hash)])
    }

    /// Derives keys from passwords and salts, like
    /// [`derive_with_roms`](saltern_yescrypt::rom::derive_with_roms). The limits are those that the
    /// parameters were checked against; passwords may have any length.
    ///
    /// ```
    /// use saltern_pool::{Derive, Pool, PoolConfig, Terms};
    /// use saltern_yescrypt::{Limits, Params};
    /// let pool = Pool::new(PoolConfig::default())?;
    /// let params = Params::scrypt(16, 8, 1).check(&Limits::server())?;
    /// let what = Derive { params, roms: Vec::new(), len: 64 };
    /// let keys = pool.derive(&what, [("password", "salt")], Terms::bulk())?.wait();
    /// assert_eq!(keys[0].as_ref().unwrap().len(), 64);
    /// # Ok::<(), saltern_pool::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of
    /// [`derive_with_roms`](saltern_yescrypt::rom::derive_with_roms).
    pub fn derive<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        what: &Derive,
        items: impl IntoIterator<Item = (P, S)>,
        terms: Terms,
    ) -> Result<BatchTicket<Zeroizing<Vec<u8>>>, Error> {
        self.submit(terms, || {
            let shape = self.shape(what.clone());
            let item = |(password, salt): (P, S)| {
                let salt = Zeroizing::new(salt.as_ref().to_vec());
                let password = Password::from(&password);
                let (shape, finish) = (shape.clone()?, Box::new(Ok));
                Ok(Prepared { shape, password, salt, needs_rom_check: None, finish })
            };
            items.into_iter().map(item).collect()
        })
    }

    /// Runs a function of the caller's in a thread of the pool: for other password hashes, which
    /// then wait in the same queue, have deadlines, and fit into the same memory budget. It runs
    /// alone and without interruption; until it ends, its thread does nothing else.
    ///
    /// ```
    /// use saltern_pool::{Pool, PoolConfig, Terms, task::Task};
    /// let pool = Pool::new(PoolConfig::default())?;
    /// let task = Task { memory: 4096, work: 1 << 20 };
    /// let sum = pool.run_one(task, || (1..=10).sum::<u32>(), Terms::interactive())?;
    /// assert_eq!(sum.wait(), Ok(55));
    /// # Ok::<(), saltern_pool::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Pool::hash`], and before that [`Error::OverBudget`]; for the item [`Error::Panicked`]
    /// if the function does.
    pub fn run_one<T: Send + 'static>(
        &self,
        task: Task,
        run: impl FnOnce() -> T + Send + 'static,
        terms: Terms,
    ) -> Result<OneTicket<T>, Error> {
        if self.shared.forked() {
            return Err(Error::Forked);
        }
        let (needed, limit) = (task.memory, self.shared.config.memory);
        if needed > limit {
            return Err(Error::OverBudget { needed, limit });
        }
        let answers = Arc::new(Answers::new(vec![None]));
        // The bytes of an item are for hashes: the value of a function is passed separately.
        let value = Arc::new(Mutex::new(None));
        let (put, take) = (Arc::clone(&value), Arc::clone(&answers));
        let run = move || {
            let computed = run();
            *lock(&put) = Some(computed);
            Ok(Zeroizing::default())
        };
        let reply = move |outcome: Outcome| {
            let computed = outcome.and_then(|_| lock(&value).take().ok_or(Error::Panicked));
            take.put(0, computed);
        };
        let item = Item::of_task(Box::new(run), Box::new(reply));
        let batch = self.enqueue(terms, vec![(Arc::new(Shape::task(task)), item)])?;
        Ok(Ticket::new(answers, Arc::clone(&self.shared), batch))
    }

    /// Whether an item of these terms could be accepted now, as far as that does not depend on the
    /// item itself: for servers, which can refuse a request before they have read it. What is
    /// refused is counted as a submission is; what is not may still be refused when it is
    /// submitted.
    ///
    /// ```
    /// use saltern_pool::{Pool, PoolConfig, Terms};
    /// let pool = Pool::new(PoolConfig::default())?;
    /// assert!(pool.admits(Terms::interactive()).is_ok());
    /// # Ok::<(), saltern_pool::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Overloaded`], [`Error::TooLate`], [`Error::Forked`].
    pub fn admits(&self, terms: Terms) -> Result<(), Error> {
        if self.shared.forked() {
            return Err(Error::Forked);
        }
        self.shared.admit(terms)
    }

    /// The statistics of the pool: its work, its resources, and its predictions.
    ///
    /// In a forked process the statistics are empty.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        if self.shared.forked() {
            return PoolStats::default();
        }
        PoolStats { threads: self.threads.len(), ..self.shared.stats() }
    }

    /// Whether this process was forked from the one that made the pool: every call then returns
    /// [`Error::Forked`], and another pool is needed.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.shared.forked()
    }

    /// The configuration that was requested.
    #[must_use]
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Bytes of the arenas that lie on transparent huge pages now, as reported by the system. This
    /// is an upper bound, since arenas are reported together with adjacent memory; arenas in use
    /// are not counted. `None` where there is no report: on systems other than Linux, without the
    /// feature `os`, and in a forked process.
    ///
    /// Reads `/proc/self/smaps`, which takes the system a millisecond or more.
    #[must_use]
    pub fn huge_page_bytes(&self) -> Option<u64> {
        if self.shared.forked() { None } else { pages::huge_bytes(&self.shared.addresses()) }
    }

    /// An item for a new string.
    #[cfg(feature = "getrandom")]
    fn new_hash(
        &self,
        hasher: &Arc<Hasher>,
        password: Password,
    ) -> Result<Prepared<String>, Error> {
        let text = |hash: HashString| Ok(hash.to_str().map_err(|_| Error::Panicked)?.to_owned());
        self.under_setting(hasher, password, hasher.random_setting()?, text)
    }

    /// An item for a string under a setting.
    fn under_setting<T: 'static>(
        &self,
        hasher: &Arc<Hasher>,
        password: Password,
        setting: Setting,
        text: fn(HashString) -> Result<T, Error>,
    ) -> Result<Prepared<T>, Error> {
        hasher.limits().admit_new_password(&password)?;
        let (shape, salt) = self.plan(hasher.plan(&*password, &setting)?)?;
        let hasher = Arc::clone(hasher);
        let finish =
            move |hash: Zeroizing<Vec<u8>>| text(hasher.complete(&setting, fixed(&hash)?)?);
        Ok(Prepared { shape, password, salt, needs_rom_check: None, finish: Box::new(finish) })
    }

    /// An item for a comparison with a stored string.
    fn against(
        &self,
        hasher: &Arc<Hasher>,
        password: Password,
        stored: HashString,
    ) -> Result<Prepared<bool>, Error> {
        let (shape, salt) = self.plan(hasher.plan(&*password, stored.setting())?)?;
        let hasher = Arc::clone(hasher);
        let matches = move |hash: &[u8]| Ok(hasher.matches(&stored, fixed(hash)?)?);
        let matches = Arc::new(matches);
        let again = Arc::clone(&matches);
        let needs_rom_check: NeedsRomCheck = Some(Box::new(move |hash| again(hash) != Ok(true)));
        let finish = Box::new(move |hash: Zeroizing<Vec<u8>>| matches(&hash));
        Ok(Prepared { shape, password, salt, needs_rom_check, finish })
    }

    /// The shape of what a hasher plans, and the salt.
    fn plan(&self, plan: Plan) -> Result<(Arc<Shape>, Zeroizing<Vec<u8>>), Error> {
        let Plan { params, salt, roms, .. } = plan;
        Ok((self.shape(Derive { params, roms, len: Plan::LEN })?, salt))
    }

    /// A shape, if the pool can compute one hash of it.
    fn shape(&self, what: Derive) -> Result<Arc<Shape>, Error> {
        let config = &self.shared.config;
        let shape = Shape::new(what, config.sources.is_some(), config.pages)?;
        let arena = shape.memory(1);
        let needed = Need { arena, buffers: Layout::new(&shape, 1).bytes() }.total();
        if needed > config.memory {
            return Err(Error::OverBudget { needed, limit: config.memory });
        }
        Ok(Arc::new(shape))
    }

    /// Puts a submission together and into the queue.
    fn submit<A: Answer>(
        &self,
        terms: Terms,
        items: impl FnOnce() -> Vec<Result<Prepared<A::Item>, Error>>,
    ) -> Result<Ticket<A>, Error> {
        // An overloaded pool refuses before parsing.
        self.admits(terms)?;
        let mut prepared = items();
        let refused = prepared.iter_mut().map(|item| match item {
            Ok(_) => None,
            Err(error) => Some(Err(error.clone())),
        });
        let answers = Arc::new(Answers::new(refused.collect()));
        let items = prepared.into_iter().enumerate();
        let items = items.filter_map(|(index, item)| Some(queued(item.ok()?, &answers, index)));
        let batch = self.enqueue(terms, items.collect())?;
        Ok(Ticket::new(answers, Arc::clone(&self.shared), batch))
    }
}

/// An item that answers at its place.
fn queued<T: Send + 'static>(
    prepared: Prepared<T>,
    answers: &Arc<Answers<T>>,
    index: usize,
) -> Submission {
    let Prepared { shape, password, salt, needs_rom_check, finish } = prepared;
    let answers = Arc::clone(answers);
    // The answer arrives in every case: somebody waits for it.
    let reply = move |outcome: Outcome| {
        let answer = catch_unwind(AssertUnwindSafe(move || outcome.and_then(finish)));
        answers.put(index, answer.unwrap_or(Err(Error::Panicked)));
    };
    (shape, Item::new(password, salt, needs_rom_check, Box::new(reply)))
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolConfig { threads, memory, .. } = &self.shared.config;
        write!(f, "Pool {{ {threads} threads, at most {memory} bytes }}")
    }
}

/// The bytes of a string's hash, which always has this length.
fn fixed(bytes: &[u8]) -> Result<&[u8; Plan::LEN], Error> {
    bytes.try_into().map_err(|_| Error::Panicked)
}

#[cfg(test)]
mod tests;
