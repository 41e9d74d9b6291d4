//! A fixed pool of threads that hash: many callers, one budget of memory.

mod batch;
mod config;
mod ledger;
mod pages;
mod process;
mod queue;
#[cfg(test)]
mod tests;
mod ticket;
mod worker;

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use zeroize::Zeroizing;

use self::batch::{Answer, Batch, Item};
pub use self::config::{PoolConfig, WipePolicy};
use self::queue::Shape;
pub use self::ticket::Ticket;
use self::worker::{Shared, need, over_budget};
use crate::core::pass::MAX_HASHES;
use crate::core::reading::{RomReading, RomUse, places};
use crate::site::hasher::Plan;
use crate::text::HASH;
use crate::text::encoding::{HashString, Setting};
use crate::{CheckedParams, Error, Hasher, Rom};

/// Threads that compute hashes, each with one arena that it keeps, within a budget of memory.
///
/// A server makes one pool for all of its hashing. [`Pool::hash`], [`Pool::verify`], [`Pool::hash_with_settings`] and [`Pool::derive`]
/// take a batch of any size and return a [`Ticket`] at once; results are per item, in order, and the same as those of
/// [`Hasher`] and [`derive`](crate::derive). An item that is refused does not touch the others.
///
/// ```
/// use std::sync::Arc;
/// use saltern_yescrypt::{Hasher, Params, Pool, PoolConfig};
/// let pool = Pool::new(PoolConfig::default())?;
/// let hasher = Arc::new(Hasher::new().with_params(Params::from_cost(1)?));
/// let stored = pool.hash(&hasher, ["one", "two", "three"])?.wait();
/// let two = stored[1].as_ref().unwrap();
/// let found = pool.verify(&hasher, [("two", two), ("three", two)])?.wait();
/// assert_eq!(found, [Ok(true), Ok(false)]);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # What runs when
/// Waiting items of one shape (parameters, ROM and length of output), whichever batches they came with, are computed in groups of up to
/// [`CheckedParams::degree`] that advance together in one thread, the oldest item first. Groups are made smaller when there are idle
/// threads for the rest, and when memory does not suffice; a hash for which memory has to become free first is not overtaken while it
/// waits. A pool never runs more threads than it has: hashes with p > 1 get one, too.
///
/// # Memory
/// [`PoolConfig::memory`] bounds the arenas of all threads together; see there. An arena grows to what it is used for and is kept. At most
/// [`PoolConfig::max_waiting`] items wait, above that [`Error::Overloaded`] is the answer: shed the load or try later.
///
/// # Hashers and ROMs
/// Threads live as long as the pool, so what they use has to as well: hashers come as [`Arc`]s, passwords and salts are copied (and
/// wiped when their batch is done with; wiping the originals is up to the caller).
///
/// # The end, panics and forks
/// Dropping a pool cancels what waits and blocks until the hashes being computed are finished. A panic in a thread, which would be a defect of
/// this library, becomes [`Error::Panicked`] for its items, in programs that unwind; the pool goes on. In a process forked
/// from the one that made the pool there are no threads: every call answers [`Error::Forked`], nothing blocks, and a
/// pool made there works. [`Pool::scope`] alone cannot return in such a process.
pub struct Pool {
    shared: Arc<Shared>,
    /// None in a scope, which waits for them itself.
    threads: Vec<JoinHandle<()>>,
}

/// What a pool has done so far, and what it holds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PoolStats {
    /// Threads.
    pub threads: usize,
    /// Batches taken on.
    pub batches: u64,
    /// Batches refused as [`Error::Overloaded`].
    pub refused: u64,
    /// Hashes computed.
    pub hashes: u64,
    /// Items whose computation failed.
    pub failed: u64,
    /// Items cancelled.
    pub cancelled: u64,
    /// Groups computed: of one hash, of two, and so on.
    pub groups: [u64; MAX_HASHES],
    /// Groups lost to a panic.
    pub panics: u64,
    /// How often arenas were given back to make room for others.
    pub evictions: u64,
    /// Items that wait.
    pub waiting: usize,
    /// The most that ever waited.
    pub peak_waiting: usize,
    /// Bytes that all arenas hold, or may grow to with what is being computed.
    pub reserved: u64,
    /// The most that this ever was; at most [`PoolConfig::memory`].
    pub peak_reserved: u64,
}

/// What to derive: the same for all items of a batch.
#[derive(Clone, Debug)]
pub struct Derive {
    /// The parameters.
    pub params: CheckedParams,
    /// The ROM, if they name one.
    pub rom: Option<Rom>,
    /// Bytes of output for each item.
    pub len: usize,
}

impl Pool {
    /// A pool of its own.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a configuration that cannot be; [`Error::OverLimit`] if [`PoolConfig::prepare`] does not fit into the
    /// budget, and [`Error::OutOfMemory`] if it cannot be had; [`Error::NoThread`].
    pub fn new(config: PoolConfig) -> Result<Self, Error> {
        config.check()?;
        let shared = Arc::new(Shared::new(config));
        let mut pool = Pool { shared, threads: Vec::new() };
        for me in 0..pool.shared.config.threads {
            let shared = pool.shared.clone();
            let thread = name(me).spawn(move || shared.run(me));
            pool.threads.push(thread.map_err(|_| Error::NoThread { started: me as u64 })?);
        }
        pool.shared.await_ready()?;
        Ok(pool)
    }
}

impl Pool {
    /// Hashes passwords with random salts of 16 bytes into `$y$` strings, as [`Hasher::hash`].
    ///
    /// # Errors
    /// [`Error::Overloaded`]; [`Error::OverLimit`] for a batch that is larger than what may wait; [`Error::Forked`]. For each item
    /// those of [`Hasher::hash`], and [`Error::OverLimit`] if one hash needs more than [`PoolConfig::memory`].
    #[cfg(feature = "getrandom")]
    pub fn hash<P: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        passwords: impl IntoIterator<Item = P>,
    ) -> Result<Ticket<String>, Error> {
        let setting = || {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|_| Error::Random)?;
            hasher.setting(&salt)
        };
        self.texts(hasher, passwords.into_iter().map(move |password| (password, setting())))
    }

    /// Hashes passwords under settings of any scheme, as [`Hasher::hash_with_setting`].
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of [`Hasher::hash_with_setting`].
    pub fn hash_with_settings<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        items: impl IntoIterator<Item = (P, S)>,
    ) -> Result<Ticket<Vec<u8>>, Error> {
        let parsed = |(password, setting): (P, S)| {
            let setting = Setting::parse(setting.as_ref());
            (password, setting)
        };
        self.texts(hasher, items.into_iter().map(parsed))
    }

    fn texts<T: Answer<Check = Setting>, P: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        items: impl Iterator<Item = (P, Result<Setting, Error>)>,
    ) -> Result<Ticket<T>, Error> {
        self.submit(Some(hasher), || {
            let item = |(password, setting): (P, Result<Setting, Error>)| {
                let setting = setting?;
                let what = hasher.admit(password.as_ref(), &setting)?;
                self.item(password.as_ref(), what, setting)
            };
            items.map(item).collect()
        })
    }

    /// Verifies passwords against stored strings of any parameters, as [`Hasher::verify`].
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of [`Hasher::verify`]. None of these is a mismatch: the password was not tried.
    pub fn verify<P: AsRef<[u8]>, H: AsRef<[u8]>>(
        &self,
        hasher: &Arc<Hasher>,
        items: impl IntoIterator<Item = (P, H)>,
    ) -> Result<Ticket<bool>, Error> {
        self.submit(Some(hasher), || {
            let item = |(password, hash): (P, H)| {
                let check = HashString::parse(hash.as_ref())?;
                let what = hasher.admit(password.as_ref(), check.setting())?;
                self.item(password.as_ref(), what, check)
            };
            items.into_iter().map(item).collect()
        })
    }

    /// Derives keys from passwords and salts, as [`derive`](crate::derive). The limits are those that the parameters were checked
    /// with; passwords may have any length.
    ///
    /// ```
    /// use saltern_yescrypt::{Derive, Limits, Params, Pool, PoolConfig};
    /// let pool = Pool::new(PoolConfig::default())?;
    /// let params = Params::scrypt(16, 8, 1).check(&Limits::server())?;
    /// let keys = pool.derive(&Derive { params, rom: None, len: 64 }, [("password", "salt")])?.wait();
    /// assert_eq!(keys[0].as_ref().unwrap().len(), 64);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Pool::hash`]; for each item those of [`derive`](crate::derive).
    pub fn derive<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        what: &Derive,
        items: impl IntoIterator<Item = (P, S)>,
    ) -> Result<Ticket<Zeroizing<Vec<u8>>>, Error> {
        self.submit(None, || {
            let nrom = what.params.params().nrom;
            let roms = match (what.rom.clone(), nrom) {
                (None, 0) => Ok(Vec::new()),
                (None, nrom) => Err(Error::RomUnavailable { nrom }),
                (Some(_), 0) => Err(Error::RomNotUsed),
                (Some(rom), nrom) => Ok(vec![RomUse { rom, reading: RomReading::new(nrom) }]),
            };
            let shape = roms.and_then(|roms| {
                what.params.check_output(what.len as u64)?;
                Ok((self.shape(what.params.without_nrom(), &roms, what.len)?, roms))
            });
            let item = |(password, salt): (P, S)| {
                let (password, salt) = (copy(password.as_ref()), copy(salt.as_ref()));
                let (shape, roms) = shape.clone()?;
                Ok(Item { roms, password, salt, shape, check: () })
            };
            items.into_iter().map(item).collect()
        })
    }

    /// What the pool has done and holds.
    ///
    /// In a forked process nothing is known.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        if self.shared.forked() { PoolStats::default() } else { self.shared.stats() }
    }

    /// Bytes of the arenas that lie on transparent huge pages now, as the system tells: at most, since arenas are seen together with
    /// the memory beside them. `None` where it does not tell: elsewhere than on Linux, without the feature `os`, and in a forked process.
    ///
    /// Reads `/proc/self/smaps`, which takes the system a millisecond or more.
    #[must_use]
    pub fn huge_page_bytes(&self) -> Option<u64> {
        if self.shared.forked() { None } else { pages::huge_bytes(&self.shared.addresses()) }
    }

    /// Puts a batch together and into the queue.
    fn submit<T: Answer>(
        &self,
        hasher: Option<&Arc<Hasher>>,
        items: impl FnOnce() -> Vec<Result<Item<T::Check>, Error>>,
    ) -> Result<Ticket<T>, Error> {
        if self.shared.forked() {
            return Err(Error::Forked);
        }
        self.shared.admit()?;
        let items = items();
        let batch = Arc::new(Batch::new(hasher.cloned(), items));
        let shapes: Vec<_> = batch.shapes().collect();
        let work: Arc<dyn batch::Work> = batch.clone();
        self.shared.submit(&work, &shapes)?;
        Ok(Ticket::new(batch, self.shared.clone()))
    }

    /// An item that its hasher admits, if the pool does.
    fn item<C>(&self, password: &[u8], what: Plan, check: C) -> Result<Item<C>, Error> {
        let Plan { params, salt, roms } = what;
        let shape = self.shape(params, &roms, HASH)?;
        Ok(Item { roms, password: copy(password), salt, shape, check })
    }

    fn shape(&self, params: CheckedParams, roms: &[RomUse], len: usize) -> Result<Shape, Error> {
        let (need, budget) =
            (need(&params, self.shared.config.pages, 1), self.shared.config.memory);
        if need > budget {
            return Err(over_budget(need, budget));
        }
        Ok(Shape { params, roms: places(roms), out_len: len })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.shared.forked() {
            // There is nothing to wait for, and the handles mean threads of another process.
            core::mem::forget(core::mem::take(&mut self.threads));
            return;
        }
        self.shared.close();
        for thread in self.threads.drain(..) {
            // A future's waker runs in a thread of the pool, and may hold the last reference to it.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl core::fmt::Debug for Pool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let PoolConfig { threads, memory, .. } = &self.shared.config;
        write!(f, "Pool {{ {threads} threads, at most {memory} bytes }}")
    }
}

fn name(me: usize) -> std::thread::Builder {
    std::thread::Builder::new().name(alloc::format!("saltern-{me}"))
}

fn copy(secret: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(secret.to_vec())
}

/// No code that holds one of the pool's locks panics, so that a poisoned one is as good as another.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
