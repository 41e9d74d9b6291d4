//! The traits of the [`digest`] crate, version 0.11, for code that is generic over hash functions.
//!
//! [`Fixed`] has its output length in its type and is a [`digest::Digest`] without a key and a [`digest::Mac`] with one.
//! The hashers of this crate, whose output length is a value, are [`digest::Update`].
//!
//! ```
//! use digest::{Digest, KeyInit, Mac};
//! use saltern_blake2::digest::{Blake2b512, Blake2s256Mac};
//!
//! assert_eq!(Blake2b512::digest(b"abc")[..2], [0xBA, 0x80]);
//! let mac = Blake2s256Mac::new_from_slice(b"a key of up to 32 bytes")?.chain_update(b"message");
//! mac.clone().verify(&mac.finalize().into_bytes())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use digest::array::ArraySize;
use digest::block_api::BlockSizeUser;
use digest::common::{InvalidLength, KeySizeUser};
use digest::consts::{U32, U64, U128};
use digest::{
    FixedOutput, FixedOutputReset, HashMarker, Key, KeyInit, MacMarker, Output, OutputSizeUser,
    Reset, Update,
};

use crate::hasher::Hasher;
use crate::params::Params;
use crate::variant::{Blake2b, Blake2s, Variant};

/// BLAKE2b with 64 bytes of output.
pub type Blake2b512 = Fixed<Blake2b, U64, Hashing>;
/// BLAKE2b with 32 bytes of output.
pub type Blake2b256 = Fixed<Blake2b, U32, Hashing>;
/// BLAKE2s with 32 bytes of output.
pub type Blake2s256 = Fixed<Blake2s, U32, Hashing>;
/// Keyed BLAKE2b with 64 bytes of output.
pub type Blake2b512Mac = Fixed<Blake2b, U64, Keyed>;
/// Keyed BLAKE2b with 32 bytes of output.
pub type Blake2b256Mac = Fixed<Blake2b, U32, Keyed>;
/// Keyed BLAKE2s with 32 bytes of output.
pub type Blake2s256Mac = Fixed<Blake2s, U32, Keyed>;

/// Marks a [`Fixed`] without a key.
#[derive(Clone, Copy, Debug)]
pub enum Hashing {}

/// Marks a [`Fixed`] with a key.
#[derive(Clone, Copy, Debug)]
pub enum Keyed {}

/// BLAKE2b or BLAKE2s with `N` bytes of output; `N` above the function's limit does not compile.
#[derive(Clone)]
pub struct Fixed<V: Variant, N, K> {
    hasher: Hasher<V>,
    /// To begin again with.
    start: Hasher<V>,
    marker: PhantomData<(N, K)>,
}

impl<V: Variant, N: ArraySize, K> Fixed<V, N, K> {
    fn with_key(key: &[u8]) -> Result<Self, InvalidLength> {
        const { assert!(N::USIZE > 0 && N::USIZE <= V::OUT_BYTES, "no such output length") };
        let params = Params::new().hash_length(N::USIZE).and_then(|params| params.key(key));
        let start = params.map_err(|_| InvalidLength)?.to_hasher();
        Ok(Self { hasher: start.clone(), start, marker: PhantomData })
    }
}

impl<V: Variant, N: ArraySize> Default for Fixed<V, N, Hashing> {
    fn default() -> Self {
        const { assert!(N::USIZE > 0 && N::USIZE <= V::OUT_BYTES, "no such output length") };
        let start = Params::new().truncated(N::USIZE as u8).to_hasher();
        Self { hasher: start.clone(), start, marker: PhantomData }
    }
}

impl<V: Variant, N, K> fmt::Debug for Fixed<V, N, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hasher.fmt(f)
    }
}

impl<V: Variant, N, K> Update for Fixed<V, N, K> {
    fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }
}

impl<V: Variant, N: ArraySize, K> OutputSizeUser for Fixed<V, N, K> {
    type OutputSize = N;
}

impl<V: Variant, N: ArraySize, K> FixedOutput for Fixed<V, N, K> {
    fn finalize_into(self, out: &mut Output<Self>) {
        out.copy_from_slice(self.hasher.finalize().as_bytes());
    }
}

impl<V: Variant, N, K> Reset for Fixed<V, N, K> {
    fn reset(&mut self) {
        self.hasher = self.start.clone();
    }
}

impl<V: Variant, N: ArraySize, K> FixedOutputReset for Fixed<V, N, K> {
    fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
        out.copy_from_slice(self.hasher.finalize().as_bytes());
        self.reset();
    }
}

impl<V: Variant, N> HashMarker for Fixed<V, N, Hashing> {}

impl<V: Variant, N> MacMarker for Fixed<V, N, Keyed> {}

impl<N, K> BlockSizeUser for Fixed<Blake2b, N, K> {
    type BlockSize = U128;
}

impl<N, K> BlockSizeUser for Fixed<Blake2s, N, K> {
    type BlockSize = U64;
}

impl<N> KeySizeUser for Fixed<Blake2b, N, Keyed> {
    type KeySize = U64;
}

impl<N> KeySizeUser for Fixed<Blake2s, N, Keyed> {
    type KeySize = U32;
}

impl<V: Variant, N: ArraySize> KeyInit for Fixed<V, N, Keyed>
where
    Self: KeySizeUser,
{
    fn new(key: &Key<Self>) -> Self {
        let start = Params::new().truncated(N::USIZE as u8).with_full_key(key).to_hasher();
        Self { hasher: start.clone(), start, marker: PhantomData }
    }

    fn new_from_slice(key: &[u8]) -> Result<Self, InvalidLength> {
        Self::with_key(key)
    }
}

impl<V: Variant> Update for Hasher<V> {
    fn update(&mut self, data: &[u8]) {
        Hasher::update(self, data);
    }
}
