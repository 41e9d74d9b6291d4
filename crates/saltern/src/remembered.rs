//! Logins that are remembered for a while, for clients that send the password with every request.
//!
//! What is remembered is a tag: keyed BLAKE2b over the account, the stored string and the password,
//! under a random key that never leaves the process. Any other account, string or password has
//! another tag, and every policy that is opened has another key: nothing has to be invalidated.
//! Only matches are remembered, so that a password that is wrong is always computed.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use saltern_blake2::blake2b;
use saltern_wipe::Zeroizing;

use crate::error::Error;
use crate::policy::Remember;
use crate::rehash::Reasons;
use crate::scheme::Scheme;

/// A personalisation that no other use of BLAKE2b here has.
const PERSONAL: &[u8] = b"saltern login 1";

/// Entries of a set.
const WAYS: usize = 8;

/// The remembered logins of an opened policy.
///
/// A table of sets: the tag chooses the set, in which the entry that was not used for longest makes
/// room for a new one. Its memory is taken at the start and never grows. Nobody can choose which
/// set an account gets, since nobody has the key.
pub(crate) struct Remembered {
    tags: blake2b::Params,
    sets: Box<[Mutex<Set>]>,
    time: Duration,
    start: Instant,
}

impl Remember {
    /// The bytes that the logins take, which are reserved at the start.
    ///
    /// ```
    /// assert_eq!(saltern::policy::Remember::default().memory() >> 10, 3200);
    /// ```
    #[must_use]
    pub fn memory(&self) -> u64 {
        (self.sets() * size_of::<Mutex<Set>>()) as u64
    }

    fn sets(&self) -> usize {
        self.entries.div_ceil(WAYS)
    }
}

/// What a login was about: its account, its stored string and its password.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    set: u64,
    tag: u128,
}

/// What is known of a login that is remembered.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) outdated: Reasons,
    /// An update may be due, so that only callers that store none are answered.
    pub(crate) update_due: bool,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u128,
    /// In nanoseconds since the start; 0 for an entry that was never used.
    until: u64,
    used: u64,
    outdated: Reasons,
    update_due: bool,
}

type Set = [Entry; WAYS];

impl Remembered {
    /// An empty table under a new key.
    ///
    /// # Errors
    /// *Internal* if the system has no random bytes or no memory.
    pub(crate) fn new(remember: &Remember) -> Result<Self, Error> {
        let failed = |why| Error::Failed { scheme: Scheme::Yescrypt, why };
        let mut key = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *key).map_err(|_| failed("the system has no random bytes"))?;
        let tags = blake2b::Params::new().hash_length(24).and_then(|params| params.key(&*key));
        let tags = tags.and_then(|params| params.personal(PERSONAL));
        let tags = tags.map_err(|_| failed("the key of remembered logins"))?;
        let mut sets = Vec::new();
        let count = remember.sets();
        let room = sets.try_reserve_exact(count);
        room.map_err(|_| failed("there is no memory for [remember] entries"))?;
        sets.resize_with(count, Mutex::default);
        let (sets, start) = (sets.into_boxed_slice(), Instant::now());
        Ok(Remembered { tags, sets, time: remember.time, start })
    }

    /// Lengths stand before the account and the string, so that no two logins have the same input.
    pub(crate) fn tag(&self, account: &[u8], stored: &str, password: &[u8]) -> Tag {
        let mut hasher = self.tags.to_hasher();
        for part in [account, stored.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let hash = hasher.update(password).finalize();
        let (mut set, mut tag) = ([0; 8], [0; 16]);
        set.copy_from_slice(&hash.as_bytes()[..8]);
        tag.copy_from_slice(&hash.as_bytes()[8..24]);
        Tag { set: u64::from_le_bytes(set), tag: u128::from_le_bytes(tag) }
    }

    /// What is known of a login, if it is remembered and its time has not passed.
    pub(crate) fn find(&self, tag: Tag) -> Option<Known> {
        let now = self.now();
        self.in_set(tag, |set| {
            let entry = set.iter_mut().find(|entry| entry.tag == tag.tag && now < entry.until)?;
            entry.used = now;
            Some(Known { outdated: entry.outdated, update_due: entry.update_due })
        })
    }

    /// Remembers a match that has just been computed.
    pub(crate) fn keep(&self, tag: Tag, known: Known) {
        let now = self.now();
        let time = u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX);
        let Known { outdated, update_due } = known;
        let until = now.saturating_add(time);
        let new = Entry { tag: tag.tag, until, used: now, outdated, update_due };
        self.in_set(tag, |set| {
            // What is forgotten already comes first, then what was not used for longest.
            let age = |entry: &Entry| (now < entry.until, entry.used);
            let same = set.iter().position(|entry| entry.tag == new.tag);
            let oldest = || (0..WAYS).min_by_key(|at| age(&set[*at])).unwrap_or(0);
            set[same.unwrap_or_else(oldest)] = new;
        });
    }

    fn in_set<T>(&self, tag: Tag, look: impl FnOnce(&mut Set) -> T) -> T {
        let at = (u128::from(tag.set) * self.sets.len() as u128) >> 64;
        look(&mut self.sets[at as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
