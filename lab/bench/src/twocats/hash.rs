//! The four hash functions, and hashing of states: words in memory, little-endian bytes in hashes.

use saltern_blake2::many::{self, Job};
use saltern_blake2::{Variant, blake2b, blake2s};
use saltern_yescrypt::hazmat::Level;
use sha2::Digest;

use super::error::Error;

/// A state of the longer functions; the shorter use the first half.
pub(super) type State = [u32; 16];

/// The hash function under TwoCats or SkinnyCat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// BLAKE2s, 32 bytes: what the candidates use by default.
    Blake2s,
    /// BLAKE2b, 64 bytes.
    Blake2b,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// The length of a hash: 32 or 64 bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        4 * self.words()
    }

    pub(super) fn words(self) -> usize {
        match self {
            Hash::Blake2s | Hash::Sha256 => 8,
            Hash::Blake2b | Hash::Sha512 => 16,
        }
    }
}

/// The function chosen, at a level.
#[derive(Debug)]
pub(super) struct Hasher {
    hash: Hash,
    s: blake2s::Params,
    b: blake2b::Params,
}

/// The most bytes of a state and the number hashed after it.
const MESSAGE: usize = 68;
/// Messages in one batch: several for each of the lanes that any processor has.
const BATCH: usize = 64;

impl Hasher {
    pub(super) fn new(hash: Hash, level: Level) -> Result<Self, Error> {
        let lacking = |_| Error::new("level", level as u8, "one that this processor has");
        let s = blake2s::Params::new().level(level).map_err(lacking)?;
        let b = blake2b::Params::new().level(level).map_err(lacking)?;
        Ok(Self { hash, s, b })
    }

    pub(super) fn words(&self) -> usize {
        self.hash.words()
    }

    /// The hash of some bytes that follow each other.
    pub(super) fn digest(&self, parts: &[&[u8]]) -> State {
        let mut words = [0; 16];
        match self.hash {
            Hash::Blake2s => {
                let mut hasher = self.s.to_hasher();
                parts.iter().for_each(|part| _ = hasher.update(part));
                load(hasher.finalize().as_bytes(), &mut words);
            }
            Hash::Blake2b => {
                let mut hasher = self.b.to_hasher();
                parts.iter().for_each(|part| _ = hasher.update(part));
                load(hasher.finalize().as_bytes(), &mut words);
            }
            Hash::Sha256 => sha::<sha2::Sha256>(parts, &mut words),
            Hash::Sha512 => sha::<sha2::Sha512>(parts, &mut words),
        }
        words
    }

    /// As [`digest`](Self::digest), of one message.
    fn digest_one(&self, message: &[u8]) -> State {
        let mut words = [0; 16];
        match self.hash {
            Hash::Blake2s => load(self.s.hash(message).as_bytes(), &mut words),
            Hash::Blake2b => load(self.b.hash(message).as_bytes(), &mut words),
            Hash::Sha256 => sha::<sha2::Sha256>(&[message], &mut words),
            Hash::Sha512 => sha::<sha2::Sha512>(&[message], &mut words),
        }
        words
    }

    /// The hash of a state.
    pub(super) fn scramble(&self, state: &State) -> State {
        let message = self.message(state, 0);
        self.digest_one(&message[..self.hash.bytes()])
    }

    /// The hash of a state and a number.
    pub(super) fn hash_state(&self, state: &State, number: u32) -> State {
        let message = self.message(state, number);
        self.digest_one(&message[..self.hash.bytes() + 4])
    }

    /// The hashes of a state and the numbers from 0, one after the other, until `out` is full; with
    /// BLAKE2, as many at once as the processor has lanes.
    pub(super) fn expand(&self, state: &State, out: &mut [u32]) {
        let words = self.words();
        for (batch, out) in out.chunks_mut(BATCH * words).enumerate() {
            let first = (batch * BATCH) as u32;
            let messages: [_; BATCH] =
                std::array::from_fn(|i| self.message(state, first + i as u32));
            let messages = messages.each_ref().map(|message| &message[..4 * words + 4]);
            let wanted = out.len() / words;
            match self.hash {
                Hash::Blake2s => {
                    store(&mut messages.map(|m| Job::new(&self.s, m))[..wanted], words, out);
                }
                Hash::Blake2b => {
                    store(&mut messages.map(|m| Job::new(&self.b, m))[..wanted], words, out);
                }
                Hash::Sha256 | Hash::Sha512 => {
                    for (out, message) in out.chunks_exact_mut(words).zip(messages) {
                        out.copy_from_slice(&self.digest_one(message)[..words]);
                    }
                }
            }
        }
    }

    fn message(&self, state: &State, number: u32) -> [u8; MESSAGE] {
        let mut message = [0; MESSAGE];
        let words = self.words();
        for (bytes, word) in message.as_chunks_mut().0.iter_mut().zip(&state[..words]) {
            *bytes = word.to_le_bytes();
        }
        message[4 * words..][..4].copy_from_slice(&number.to_le_bytes());
        message
    }

    /// A state as bytes.
    pub(super) fn write(&self, state: &State, out: &mut [u8]) -> Result<(), Error> {
        self.check_length(out)?;
        out.copy_from_slice(&self.message(state, 0)[..self.hash.bytes()]);
        Ok(())
    }

    /// The state that some bytes are.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<State, Error> {
        self.check_length(bytes)?;
        let mut state = [0; 16];
        load(bytes, &mut state);
        Ok(state)
    }

    fn check_length(&self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() == self.hash.bytes() {
            return Ok(());
        }
        Err(Error::new(
            "hash length",
            bytes.len() as u64,
            "the length of the hash function's digest",
        ))
    }
}

fn sha<D: Digest>(parts: &[&[u8]], words: &mut State) {
    let mut hasher = D::new();
    parts.iter().for_each(|part| hasher.update(part));
    load(&hasher.finalize(), words);
}

/// Little-endian words.
fn load(bytes: &[u8], words: &mut [u32]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
}

/// Computes the jobs and stores their hashes.
fn store<V: Variant>(jobs: &mut [Job<'_, V>], words: usize, out: &mut [u32]) {
    many::hash_many(jobs);
    for (out, job) in out.chunks_exact_mut(words).zip(jobs) {
        load(job.hash().as_bytes(), out);
    }
}
