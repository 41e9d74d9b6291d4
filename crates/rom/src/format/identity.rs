//! The id of a ROM: a hash over every byte of the image and over its parameters.
//!
//! The image is cut into chunks, and a chunk into leaves of 4 KiB. Each level is BLAKE2b with its
//! own personalisation:
//!
//! ```text
//! leaf   BLAKE2b-128, "saltern leaf",  of up to 4 KiB of the image
//! chunk  BLAKE2b-128, "saltern chunk", of the hashes of its leaves
//! group  BLAKE2b-128, "saltern group", of the hashes of up to 64 chunks
//! root   BLAKE2b-256, "saltern root",  of the parameters and the hashes of all groups
//! ```
//!
//! So a chunk can be checked alone, at the cost of hashing it and, once, the 1 KiB of its group.
//! docs/rom.md describes the same in words and in Python.

use std::fmt;
use std::str::FromStr;

use saltern_blake2::{blake2b, many};
use saltern_wipe::Zeroizing;
use saltern_yescrypt::rom::{RomId, RomParams};

use crate::format::hex;

/// Bytes of a leaf.
pub(crate) const LEAF: usize = 4096;
/// Chunks of a group.
pub(crate) const GROUP: usize = 64;
/// The most leaves that are hashed side by side.
const BATCH: usize = 64;

/// The hash of a leaf, a chunk or a group.
pub(crate) type Digest = [u8; 16];

/// The hash of a ROM: over every byte of its image, its parameters and how it is cut into chunks.
/// Written as 64 lower-case hexadecimal digits.
///
/// The first 16 of them are the ROM's id in stored strings ([`RomHash::id`]), which distinguishes
/// the ROMs of a site. Wherever a ROM must be the right one, require the whole hash.
///
/// ```
/// use saltern_rom::RomHash;
/// let hash: RomHash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff".parse()?;
/// assert_eq!(hash.id().to_string(), "0011223344556677");
/// assert!("0011223344556677".parse::<RomHash>().is_err());
/// # Ok::<(), saltern_rom::InvalidRomHash>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RomHash([u8; 32]);

impl RomHash {
    /// The id that belongs to it: its first eight bytes.
    #[must_use]
    pub fn id(&self) -> RomId {
        RomId::of_digest(&self.0)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for RomHash {
    fn from(bytes: [u8; 32]) -> Self {
        RomHash(bytes)
    }
}

impl fmt::Display for RomHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::text(&self.0))
    }
}

impl fmt::Debug for RomHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RomHash({self})")
    }
}

impl FromStr for RomHash {
    type Err = InvalidRomHash;

    fn from_str(text: &str) -> Result<Self, InvalidRomHash> {
        hex::parse(text).map(RomHash).ok_or(InvalidRomHash)
    }
}

/// A text is not the hash of a ROM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidRomHash;

impl fmt::Display for InvalidRomHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the hash of a ROM has 64 lower-case hexadecimal digits (`saltern rom info` shows it)",
        )
    }
}

impl std::error::Error for InvalidRomHash {}

/// BLAKE2b with hashes of `len` bytes for one of the levels.
fn level(personal: &[u8], len: usize) -> blake2b::Params {
    let params = blake2b::Params::new().hash_length(len);
    params.and_then(|params| params.personal(personal)).expect("at most 16 and 32 bytes")
}

/// The hash parameters for images: one for each level below the root.
pub(crate) struct Levels {
    leaf: blake2b::Params,
    chunk: blake2b::Params,
    group: blake2b::Params,
}

impl Levels {
    pub(crate) fn new() -> Self {
        Levels {
            leaf: level(b"saltern leaf", 16),
            chunk: level(b"saltern chunk", 16),
            group: level(b"saltern group", 16),
        }
    }

    /// The hashes of chunks, in order: hashed many at once, which takes a fraction of the time of
    /// one after the other.
    pub(crate) fn chunks<'b>(&self, chunks: impl Iterator<Item = &'b [u8]>) -> Vec<Digest> {
        let chunks: Vec<&[u8]> = chunks.collect();
        let mut found = Vec::with_capacity(chunks.len());
        // As many as fit into the nearest cache.
        let leaves = |chunk: &&[u8]| chunk.len().div_ceil(LEAF).max(1);
        let most = chunks.first().map_or(1, |first| BATCH.div_ceil(leaves(first)));
        for chunks in chunks.chunks(most) {
            let leaves = chunks.iter().flat_map(|chunk| chunk.chunks(LEAF));
            let leaves = Zeroizing::new(hash_many(&self.leaf, leaves));
            let mut rest = leaves.as_slice();
            let own = chunks.iter().map(|chunk| {
                let (own, others) = rest.split_at(chunk.len().div_ceil(LEAF));
                rest = others;
                own.as_flattened()
            });
            found.extend(hash_many(&self.chunk, own));
        }
        found
    }

    /// The hashes of groups, from those of their chunks.
    pub(crate) fn groups(&self, groups: &[Box<[Digest]>]) -> Vec<Digest> {
        hash_many(&self.group, groups.iter().map(|chunks| chunks.as_flattened()))
    }
}

/// The hashes of many messages.
fn hash_many<'b>(level: &blake2b::Params, messages: impl Iterator<Item = &'b [u8]>) -> Vec<Digest> {
    // The choice of messages reveals something about passwords.
    let jobs = messages.map(|message| many::Job::new(level, message));
    let mut jobs = Zeroizing::new(jobs.collect::<Vec<_>>());
    many::hash_many(&mut jobs);
    jobs.iter().map(|job| digest(job.hash().as_bytes())).collect()
}

/// Computes the hash of the ROM that has these parameters from the hashes of its groups of chunks
/// of this size.
pub(crate) struct Root(blake2b::Hasher);

impl Root {
    pub(crate) fn new(params: &RomParams, chunk: u32) -> Self {
        let mut hasher = level(b"saltern root", 32).to_hasher();
        let flavor = params.flavor;
        let size = params.size();
        for number in [size, params.nrom] {
            hasher.update(&number.to_le_bytes());
        }
        let of_flavor = [flavor.rounds(), flavor.gather(), flavor.simple(), flavor.sbox_bytes()];
        let of_salsa = [flavor.salsa_mix(), flavor.salsa_tail(), chunk];
        for number in [params.r, params.p, params.t].into_iter().chain(of_flavor).chain(of_salsa) {
            hasher.update(&number.to_le_bytes());
        }
        Root(hasher)
    }

    /// The hashes of the next groups, one after the other.
    pub(crate) fn update(&mut self, groups: &[u8]) {
        self.0.update(groups);
    }

    pub(crate) fn finish(self) -> RomHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(self.0.finalize().as_bytes());
        RomHash(hash)
    }
}

fn digest(bytes: &[u8]) -> Digest {
    let mut digest = [0; 16];
    digest.copy_from_slice(bytes);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_has_a_hash_even_one_without_bytes() {
        let (whole, none) = ([7; 1024], [0; 0]);
        for chunks in [[&whole[..], &none[..]], [&none[..], &whole[..]]] {
            let hashes = Levels::new().chunks(chunks.into_iter());
            assert_eq!(hashes.len(), 2);
            assert_ne!(hashes[0], hashes[1]);
        }
    }
}
