//! The four functions with their names in this program, and a common streaming state.

use std::fmt;
use std::num::NonZero;

use saltern_blake2::generic::Params;
use saltern_blake2::many::{self, Job};
use saltern_blake2::{
    Blake2b, Blake2s, Error, Function, Variant, blake2b, blake2bp, blake2s, blake2sp,
};
use saltern_wipe::Zeroizing;
use subtle::ConstantTimeEq;

/// Longest digest of any of the functions, in bytes.
const MAX_BYTES: usize = 64;

/// A function of the BLAKE2 family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Algorithm {
    /// 64-bit words, up to 512 bits; the function of `b2sum`
    Blake2b,
    /// 32-bit words, up to 256 bits
    Blake2s,
    /// four BLAKE2b leaves and a root, for wide vectors and several processors
    Blake2bp,
    /// eight BLAKE2s leaves and a root, for wide vectors and several processors
    Blake2sp,
}

impl Algorithm {
    /// Every function, those with the longer names first so that a prefix search finds the right
    /// one.
    const ALL: [Self; 4] = [Self::Blake2bp, Self::Blake2sp, Self::Blake2b, Self::Blake2s];

    /// The name that `--tag` lines and messages use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blake2b => "BLAKE2b",
            Self::Blake2s => "BLAKE2s",
            Self::Blake2bp => "BLAKE2bp",
            Self::Blake2sp => "BLAKE2sp",
        }
    }

    /// Longest digest, and longest key, in bytes.
    pub(super) fn max_bytes(self) -> usize {
        match self {
            Self::Blake2b | Self::Blake2bp => 64,
            Self::Blake2s | Self::Blake2sp => 32,
        }
    }

    /// Take the name of a function off the front of a `--tag` line.
    pub(super) fn strip_tag(line: &[u8]) -> Option<(Self, &[u8])> {
        let strip = |a: Self| line.strip_prefix(a.name().as_bytes()).map(|rest| (a, rest));
        Self::ALL.into_iter().find_map(strip)
    }
}

/// A function together with the length of its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    algorithm: Algorithm,
    bytes: usize,
}

impl Spec {
    /// `bytes` of digest, or `None` where the function cannot give that many.
    pub(super) fn new(algorithm: Algorithm, bytes: usize) -> Option<Self> {
        (1..=algorithm.max_bytes()).contains(&bytes).then_some(Self { algorithm, bytes })
    }

    /// The function with its full-length digest.
    pub(super) fn full(algorithm: Algorithm) -> Self {
        Self { algorithm, bytes: algorithm.max_bytes() }
    }

    /// Which function this is.
    pub(super) fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Length of the digest in bytes.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// A state that has seen no input yet.
    pub(super) fn hasher(self, key: Option<&Key>) -> Result<Hasher, Error> {
        let key = key.map_or(&[][..], Key::as_bytes);
        Ok(match self.algorithm {
            Algorithm::Blake2b => {
                let params = blake2b::Params::new().hash_length(self.bytes)?.key(key)?;
                Hasher::B(Box::new(params.to_hasher()))
            }
            Algorithm::Blake2s => {
                let params = blake2s::Params::new().hash_length(self.bytes)?.key(key)?;
                Hasher::S(Box::new(params.to_hasher()))
            }
            Algorithm::Blake2bp => {
                let params = blake2bp::Params::new().hash_length(self.bytes)?.key(key)?;
                Hasher::Bp(Box::new(params.to_hasher()))
            }
            Algorithm::Blake2sp => {
                let params = blake2sp::Params::new().hash_length(self.bytes)?.key(key)?;
                Hasher::Sp(Box::new(params.to_hasher()))
            }
        })
    }
}

/// How many messages of the function the processor hashes side by side; 1 if that gains nothing.
pub(super) fn degree(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Blake2b => many::degree::<Blake2b>(),
        Algorithm::Blake2s => many::degree::<Blake2s>(),
        Algorithm::Blake2bp | Algorithm::Blake2sp => 1,
    }
}

/// The digests of whole messages, side by side where the function and the processor can.
pub(super) fn hash_many(
    algorithm: Algorithm,
    messages: &[(usize, &[u8])],
    key: Option<&Key>,
) -> Result<Vec<Digest>, Error> {
    let key_bytes = key.map_or(&[][..], Key::as_bytes);
    match algorithm {
        Algorithm::Blake2b => side_by_side::<Blake2b>(messages, key_bytes),
        Algorithm::Blake2s => side_by_side::<Blake2s>(messages, key_bytes),
        Algorithm::Blake2bp | Algorithm::Blake2sp => {
            let one = |&(bytes, message): &(usize, &[u8])| {
                let mut hasher = Spec { algorithm, bytes }.hasher(key)?;
                hasher.update(message);
                Ok(hasher.finalize())
            };
            messages.iter().map(one).collect()
        }
    }
}

fn side_by_side<V: Variant>(messages: &[(usize, &[u8])], key: &[u8]) -> Result<Vec<Digest>, Error> {
    let params = |&(bytes, _): &_| Params::<V>::new().hash_length(bytes)?.key(key);
    let params = messages.iter().map(params).collect::<Result<Vec<_>, _>>()?;
    let jobs = params.iter().zip(messages).map(|(params, (_, message))| Job::new(params, message));
    let mut jobs: Vec<_> = jobs.collect();
    many::hash_many(&mut jobs);
    Ok(jobs.iter().map(|job| Digest::new(job.hash().as_bytes())).collect())
}

/// Absorb the next piece of each message, side by side where the functions and the processor can.
pub(super) fn update_many<'a>(updates: impl Iterator<Item = (&'a mut Hasher, &'a [u8])>) {
    let (mut b, mut s) = (Vec::new(), Vec::new());
    for (hasher, piece) in updates {
        match hasher {
            Hasher::B(hasher) => b.push((&mut **hasher, piece)),
            Hasher::S(hasher) => s.push((&mut **hasher, piece)),
            other => other.update(piece),
        }
    }
    // A single message needs no lanes.
    match &mut b[..] {
        [(hasher, piece)] => drop(hasher.update(piece)),
        several => many::update_many(several),
    }
    match &mut s[..] {
        [(hasher, piece)] => drop(hasher.update(piece)),
        several => many::update_many(several),
    }
}

/// The secret of `--keyed`: wiped when dropped and absent from `Debug`.
pub(super) struct Key(Zeroizing<Vec<u8>>);

impl Key {
    /// Wrap the bytes of a key; its length is the caller's to check.
    pub(super) fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// The bytes of the key.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A running hash of any of the four functions.
pub(super) enum Hasher {
    B(Box<blake2b::Hasher>),
    S(Box<blake2s::Hasher>),
    Bp(Box<blake2bp::Hasher>),
    Sp(Box<blake2sp::Hasher>),
}

impl Hasher {
    /// The function that is computed.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::B(_) => Algorithm::Blake2b,
            Self::S(_) => Algorithm::Blake2s,
            Self::Bp(_) => Algorithm::Blake2bp,
            Self::Sp(_) => Algorithm::Blake2sp,
        }
    }

    /// Absorb `data`.
    pub(super) fn update(&mut self, data: &[u8]) {
        match self {
            Self::B(hasher) => drop(hasher.update(data)),
            Self::S(hasher) => drop(hasher.update(data)),
            Self::Bp(hasher) => drop(hasher.update(data)),
            Self::Sp(hasher) => drop(hasher.update(data)),
        }
    }

    /// How many threads can work on one message: one per leaf, or one.
    pub(super) fn threads(&self) -> usize {
        match self {
            Self::B(_) | Self::S(_) => 1,
            Self::Bp(_) => Blake2b::LEAVES,
            Self::Sp(_) => Blake2s::LEAVES,
        }
    }

    /// Absorb `data` with as many threads as [can work on it](Self::threads), or with one if that
    /// would be more than `threads`.
    pub(super) fn update_threaded(&mut self, data: &[u8], threads: usize) {
        let threads = NonZero::new(threads);
        match self {
            Self::Bp(hasher) => drop(hasher.update_threaded(data, threads)),
            Self::Sp(hasher) => drop(hasher.update_threaded(data, threads)),
            Self::B(_) | Self::S(_) => self.update(data),
        }
    }

    /// The digest of everything absorbed.
    pub(super) fn finalize(&self) -> Digest {
        match self {
            Self::B(hasher) => Digest::new(hasher.finalize().as_bytes()),
            Self::S(hasher) => Digest::new(hasher.finalize().as_bytes()),
            Self::Bp(hasher) => Digest::new(hasher.finalize().as_bytes()),
            Self::Sp(hasher) => Digest::new(hasher.finalize().as_bytes()),
        }
    }
}

/// A digest of 1 to 64 bytes. Comparison takes the same time wherever two digests differ, since
/// with a key they are authentication tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Digest {
    fn new(digest: &[u8]) -> Self {
        let mut bytes = [0; MAX_BYTES];
        bytes[..digest.len()].copy_from_slice(digest);
        Self { bytes, len: digest.len() }
    }

    /// Read hexadecimal digits of either case; `None` unless there are 1 to 64 whole bytes of them.
    pub(super) fn from_hex(digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 2 * MAX_BYTES {
            return None;
        }
        let mut digest = Self { bytes: [0; MAX_BYTES], len: digits.len() / 2 };
        base16ct::mixed::decode(digits, &mut digest.bytes).ok()?;
        Some(digest)
    }

    /// The bytes of the digest.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes().ct_eq(other.as_bytes()).into()
    }
}
