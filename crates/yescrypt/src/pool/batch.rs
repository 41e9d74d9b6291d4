//! One batch: what its items are computed from, and their answers as they come.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::lock;
use super::queue::Shape;
use crate::core::reading::RomUse;
use crate::text::HASH;
use crate::text::ascii;
use crate::text::encoding::{HashString, Setting};
use crate::{Error, Hasher};

/// A batch as workers see it.
pub(super) trait Work: Send + Sync {
    /// Password and salt of an item.
    fn input(&self, index: usize) -> (&[u8], &[u8]);

    /// The ROMs of an item.
    fn roms(&self, index: usize) -> &[RomUse];

    /// The bytes of an item, or why there are none. Comes once for each.
    fn settle(&self, index: usize, outcome: Result<Zeroizing<Vec<u8>>, Error>);
}

/// What a batch answers for an item: a string (`String` or `Vec<u8>`), a match (`bool`) or a key (`Zeroizing<Vec<u8>>`).
///
/// The trait cannot be named outside of this crate.
pub trait Answer: Send + Sized + 'static {
    /// What makes an answer of the computed bytes.
    #[doc(hidden)]
    type Check: Send + Sync + 'static;

    #[doc(hidden)]
    fn answer(check: &Self::Check, hash: Zeroizing<Vec<u8>>, seal: &Seal<'_>) -> Self;
}

/// The bytes of a string's hash.
type Hash = Zeroizing<[u8; HASH]>;

/// What encrypts the hash of a setting that needs a key.
type Seal<'s> = dyn Fn(&Setting, Hash) -> Hash + 's;

fn sealed(bytes: &[u8], setting: &Setting, seal: &Seal<'_>) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(bytes);
    seal(setting, hash)
}

impl Answer for Vec<u8> {
    type Check = Setting;

    fn answer(check: &Self::Check, hash: Zeroizing<Vec<u8>>, seal: &Seal<'_>) -> Self {
        check.with_hash(&sealed(&hash, check, seal))
    }
}

impl Answer for String {
    type Check = Setting;

    fn answer(check: &Self::Check, hash: Zeroizing<Vec<u8>>, seal: &Seal<'_>) -> Self {
        ascii(Vec::answer(check, hash, seal))
    }
}

impl Answer for bool {
    type Check = HashString;

    fn answer(check: &Self::Check, hash: Zeroizing<Vec<u8>>, seal: &Seal<'_>) -> Self {
        sealed(&hash, check.setting(), seal).ct_eq(check.hash()).into()
    }
}

impl Answer for Zeroizing<Vec<u8>> {
    type Check = ();

    fn answer((): &(), hash: Zeroizing<Vec<u8>>, _: &Seal<'_>) -> Self {
        hash
    }
}

/// An item that is to be computed.
pub(super) struct Item<C> {
    pub(super) roms: Vec<RomUse>,
    pub(super) password: Zeroizing<Vec<u8>>,
    /// As it goes into the KDF.
    pub(super) salt: Zeroizing<Vec<u8>>,
    pub(super) shape: Shape,
    pub(super) check: C,
}

pub(super) struct Batch<T: Answer> {
    /// Has the keys; none for derivations.
    hasher: Option<Arc<Hasher>>,
    /// `None` for those that were refused.
    items: Vec<Option<Item<T::Check>>>,
    answers: Mutex<Answers<T>>,
    done: Condvar,
}

struct Answers<T> {
    answers: Vec<Option<Result<T, Error>>>,
    /// How many are missing.
    open: usize,
    /// Who polls.
    waker: Option<Waker>,
}

impl<T: Answer> Batch<T> {
    /// Items to be computed, or why they are not.
    pub(super) fn new(
        hasher: Option<Arc<Hasher>>,
        items: Vec<Result<Item<T::Check>, Error>>,
    ) -> Self {
        let answers = items.iter().map(|item| item.as_ref().err().map(|e| Err(*e))).collect();
        let items: Vec<_> = items.into_iter().map(Result::ok).collect();
        let open = items.iter().flatten().count();
        let answers = Mutex::new(Answers { answers, open, waker: None });
        Batch { hasher, items, answers, done: Condvar::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// How many answers are missing.
    pub(super) fn open(&self) -> usize {
        lock(&self.answers).open
    }

    /// Shapes of the items to be computed, with their indices.
    pub(super) fn shapes(&self) -> impl Iterator<Item = (usize, Shape)> {
        self.items.iter().enumerate().filter_map(|(i, item)| Some((i, item.as_ref()?.shape)))
    }

    /// Waits for all answers, at most for so long; whether they are there.
    pub(super) fn wait(&self, timeout: Option<std::time::Duration>) -> bool {
        let missing = |answers: &mut Answers<T>| answers.open > 0;
        let answers = lock(&self.answers);
        let poisoned = std::sync::PoisonError::into_inner;
        match timeout {
            None => {
                drop(self.done.wait_while(answers, missing).unwrap_or_else(poisoned));
                true
            }
            Some(timeout) => {
                let waited = self.done.wait_timeout_while(answers, timeout, missing);
                waited.unwrap_or_else(|e| e.into_inner()).0.open == 0
            }
        }
    }

    /// The answers, which have to be there; nothing the second time.
    pub(super) fn take(&self) -> Vec<Result<T, Error>> {
        Self::drain(&mut lock(&self.answers))
    }

    /// The answers if they are there; otherwise `waker` is woken once they are.
    pub(super) fn poll(&self, waker: &Waker) -> Option<Vec<Result<T, Error>>> {
        let mut answers = lock(&self.answers);
        if answers.open > 0 {
            answers.waker = Some(waker.clone());
            return None;
        }
        Some(Self::drain(&mut answers))
    }

    fn drain(answers: &mut MutexGuard<'_, Answers<T>>) -> Vec<Result<T, Error>> {
        answers.answers.drain(..).flatten().collect()
    }
}

impl<T: Answer> Work for Batch<T> {
    fn input(&self, index: usize) -> (&[u8], &[u8]) {
        match &self.items[index] {
            Some(item) => (&item.password, &item.salt),
            None => (&[], &[]),
        }
    }

    fn roms(&self, index: usize) -> &[RomUse] {
        self.items[index].as_ref().map_or(&[], |item| &item.roms)
    }

    fn settle(&self, index: usize, outcome: Result<Zeroizing<Vec<u8>>, Error>) {
        let Some(item) = &self.items[index] else { return };
        let seal = |setting: &Setting, hash| match &self.hasher {
            Some(hasher) => hasher.seal(setting, hash),
            None => hash,
        };
        let answer = outcome.map(|hash| T::answer(&item.check, hash, &seal));
        let mut answers = lock(&self.answers);
        answers.answers[index] = Some(answer);
        answers.open -= 1;
        if answers.open > 0 {
            return;
        }
        let waker = answers.waker.take();
        drop(answers);
        self.done.notify_all();
        if let Some(waker) = waker {
            // This is foreign code in a thread of the pool: what it does must not end the thread.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake()));
        }
    }
}
