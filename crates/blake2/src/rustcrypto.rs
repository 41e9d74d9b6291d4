//! The names and traits of the crate [`blake2`](https://docs.rs/blake2) (RustCrypto), version 0.11,
//! for code that is generic over hash functions: the output length is a part of the type.
//!
//! [`Fixed`] is a [`digest::Digest`] without a key and a [`digest::Mac`] with one. BLAKE2X is
//! [`digest::ExtendableOutput`]. A personalisation makes a separate function for each use:
//! [`TryCustomizedInit`], or with a salt too [`Fixed::with_salt_and_personal`].
//!
//! ```
//! use saltern_blake2::rustcrypto::{Blake2b, Blake2b512, Blake2sMac256};
//! use saltern_blake2::digest::{consts::U20, Digest, KeyInit, Mac, TryCustomizedInit};
//!
//! assert_eq!(Blake2b512::digest(b"abc")[..2], [0xBA, 0x80]);
//! assert_eq!(Blake2b::<U20>::digest(b"abc").len(), 20);
//! let ours = Blake2b512::try_new_customized(b"an application")?.chain_update(b"abc").finalize();
//! assert_ne!(ours, Blake2b512::digest(b"abc"));
//!
//! let mac = Blake2sMac256::new_from_slice(b"a key of up to 32 bytes")?.chain_update(b"message");
//! mac.clone().verify(&mac.finalize().into_bytes())?;
//! assert!(Blake2sMac256::new_from_slice(b"").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use digest::array::ArraySize;
use digest::block_api::{AlgorithmName, BlockSizeUser};
use digest::common::{InvalidLength, KeySizeUser};
use digest::consts::{U16, U32, U64, U128};
use digest::{
    ExtendableOutput, FixedOutput, FixedOutputReset, HashMarker, Key, KeyInit, MacMarker, Output,
    OutputSizeUser, Reset, TryCustomizedInit, Update, XofReader,
};

use crate::error::Error;
use crate::function::{self, Function};
use crate::hasher::Hasher;
use crate::output::Hash;
use crate::params::Params;
use crate::variant::Variant;
use crate::{tree, xof};

pub use digest::{self, Digest};

/// BLAKE2b with `N` bytes of output, 1 to 64.
pub type Blake2b<N> = Fixed<Hasher<function::Blake2b>, N, Hashing>;
/// BLAKE2s with `N` bytes of output, 1 to 32.
pub type Blake2s<N> = Fixed<Hasher<function::Blake2s>, N, Hashing>;
/// BLAKE2bp with `N` bytes of output, 1 to 64.
pub type Blake2bp<N> = Fixed<tree::Hasher<function::Blake2b>, N, Hashing>;
/// BLAKE2sp with `N` bytes of output, 1 to 32.
pub type Blake2sp<N> = Fixed<tree::Hasher<function::Blake2s>, N, Hashing>;
/// Keyed BLAKE2b with `N` bytes of output.
pub type Blake2bMac<N> = Fixed<Hasher<function::Blake2b>, N, Keyed>;
/// Keyed BLAKE2s with `N` bytes of output.
pub type Blake2sMac<N> = Fixed<Hasher<function::Blake2s>, N, Keyed>;
/// Keyed BLAKE2bp with `N` bytes of output.
pub type Blake2bpMac<N> = Fixed<tree::Hasher<function::Blake2b>, N, Keyed>;
/// Keyed BLAKE2sp with `N` bytes of output.
pub type Blake2spMac<N> = Fixed<tree::Hasher<function::Blake2s>, N, Keyed>;

/// BLAKE2b with 16 bytes of output.
pub type Blake2b128 = Blake2b<U16>;
/// BLAKE2b with 32 bytes of output.
pub type Blake2b256 = Blake2b<U32>;
/// BLAKE2b with 64 bytes of output.
pub type Blake2b512 = Blake2b<U64>;
/// BLAKE2s with 16 bytes of output.
pub type Blake2s128 = Blake2s<U16>;
/// BLAKE2s with 32 bytes of output.
pub type Blake2s256 = Blake2s<U32>;
/// BLAKE2bp with 64 bytes of output.
pub type Blake2bp512 = Blake2bp<U64>;
/// BLAKE2sp with 32 bytes of output.
pub type Blake2sp256 = Blake2sp<U32>;
/// Keyed BLAKE2b with 64 bytes of output.
pub type Blake2bMac512 = Blake2bMac<U64>;
/// Keyed BLAKE2s with 32 bytes of output.
pub type Blake2sMac256 = Blake2sMac<U32>;

/// BLAKE2Xb, with an output of 2³² blocks of 64 bytes.
pub type Blake2xb = crate::blake2xb::Hasher;
/// BLAKE2Xs, with an output of 2³² blocks of 32 bytes.
pub type Blake2xs = crate::blake2xs::Hasher;

/// Marks a [`Fixed`] without a key.
#[derive(Clone, Copy, Debug)]
pub enum Hashing {}

/// Marks a [`Fixed`] with a key.
#[derive(Clone, Copy, Debug)]
pub enum Keyed {}

/// A hasher whose output length is a value; [`Fixed`] turns it into a type. Sealed: only types of
/// this crate implement it.
pub trait Streaming: sealed::Sealed + Update + Clone + fmt::Debug {
    /// BLAKE2b or BLAKE2s.
    type Function: Variant;
    /// The name of the algorithm.
    const NAME: &'static str;
    #[doc(hidden)]
    fn start(length: usize, key: &[u8]) -> Result<Self, Error>;
    #[doc(hidden)]
    fn hash(&self) -> Hash<Self::Function>;
}

mod sealed {
    pub trait Sealed {}
    impl<V: super::Variant> Sealed for super::Hasher<V> {}
    impl<V: super::Variant> Sealed for super::tree::Hasher<V> {}
}

impl<V: Variant> Streaming for Hasher<V> {
    type Function = V;
    const NAME: &'static str = if V::OUT_BYTES == 64 { "Blake2b" } else { "Blake2s" };

    fn start(length: usize, key: &[u8]) -> Result<Self, Error> {
        Ok(Params::new().hash_length(length)?.key(key)?.to_hasher())
    }

    fn hash(&self) -> Hash<V> {
        self.finalize()
    }
}

impl<V: Variant> Streaming for tree::Hasher<V> {
    type Function = V;
    const NAME: &'static str = if V::OUT_BYTES == 64 { "Blake2bp" } else { "Blake2sp" };

    fn start(length: usize, key: &[u8]) -> Result<Self, Error> {
        Ok(tree::Params::new().hash_length(length)?.key(key)?.to_hasher())
    }

    fn hash(&self) -> Hash<V> {
        self.finalize()
    }
}

/// A hash function with `N` bytes of output; an `N` above the function's limit does not compile.
#[derive(Clone)]
pub struct Fixed<H, N, K> {
    hasher: H,
    /// The initial state, for resets.
    start: H,
    marker: PhantomData<(N, K)>,
}

impl<H: Streaming, N: ArraySize, K> Fixed<H, N, K> {
    fn of(start: H) -> Self {
        const { assert!(N::USIZE > 0 && N::USIZE <= H::Function::OUT_BYTES, "no such output length") };
        Self { hasher: start.clone(), start, marker: PhantomData }
    }
}

impl<V: Variant, N: ArraySize> Fixed<Hasher<V>, N, Hashing> {
    /// A separate function for a salt and a personalisation of up to 16 bytes each (BLAKE2b) or 8
    /// (BLAKE2s).
    ///
    /// # Errors
    /// [`Error::SaltLength`], [`Error::PersonalLength`].
    pub fn with_salt_and_personal(salt: &[u8], personal: &[u8]) -> Result<Self, Error> {
        let params = Params::new().hash_length(N::USIZE)?.salt(salt)?.personal(personal)?;
        Ok(Self::of(params.to_hasher()))
    }
}

impl<V: Variant, N: ArraySize> Fixed<Hasher<V>, N, Keyed> {
    /// A MAC with a key, which must not be empty, a salt and a personalisation.
    ///
    /// # Errors
    /// [`InvalidLength`] where one of them is too long, or the key empty.
    pub fn new_with_salt_and_personal(
        key: &[u8],
        salt: &[u8],
        personal: &[u8],
    ) -> Result<Self, InvalidLength> {
        if key.is_empty() {
            return Err(InvalidLength);
        }
        let params = Params::new().hash_length(N::USIZE).and_then(|params| params.key(key));
        let params = params.and_then(|params| params.salt(salt)?.personal(personal));
        Ok(Self::of(params.map_err(|_| InvalidLength)?.to_hasher()))
    }
}

impl<H: Streaming, N: ArraySize> Default for Fixed<H, N, Hashing> {
    fn default() -> Self {
        const { assert!(N::USIZE > 0 && N::USIZE <= H::Function::OUT_BYTES, "no such output length") };
        match H::start(N::USIZE, &[]) {
            Ok(start) => Self::of(start),
            Err(_) => unreachable!("the length was compared when this was compiled"),
        }
    }
}

/// With the customization as personalisation.
impl<V: Variant, N: ArraySize> TryCustomizedInit for Fixed<Hasher<V>, N, Hashing> {
    type Error = Error;

    fn try_new_customized(customization: &[u8]) -> Result<Self, Error> {
        Self::with_salt_and_personal(&[], customization)
    }
}

impl<H: fmt::Debug, N, K> fmt::Debug for Fixed<H, N, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hasher.fmt(f)
    }
}

impl<H: Streaming, N, K> Update for Fixed<H, N, K> {
    fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }
}

impl<H: Streaming, N: ArraySize, K> OutputSizeUser for Fixed<H, N, K> {
    type OutputSize = N;
}

impl<H: Streaming, N: ArraySize, K> FixedOutput for Fixed<H, N, K> {
    fn finalize_into(self, out: &mut Output<Self>) {
        out.copy_from_slice(self.hasher.hash().as_bytes());
    }
}

impl<H: Streaming, N, K> Reset for Fixed<H, N, K> {
    fn reset(&mut self) {
        self.hasher = self.start.clone();
    }
}

impl<H: Streaming, N: ArraySize, K> FixedOutputReset for Fixed<H, N, K> {
    fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
        out.copy_from_slice(self.hasher.hash().as_bytes());
        self.reset();
    }
}

impl<H: Streaming, N: ArraySize, K> AlgorithmName for Fixed<H, N, K> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", H::NAME, 8 * N::USIZE)
    }
}

impl<H, N> HashMarker for Fixed<H, N, Hashing> {}

impl<H, N> MacMarker for Fixed<H, N, Keyed> {}

/// Sizes as types, which cannot be derived from numbers.
macro_rules! sizes {
    ($($hasher:ty: $block:ty, $key:ty;)+) => {
        $(
            impl<N, K> BlockSizeUser for Fixed<$hasher, N, K> {
                type BlockSize = $block;
            }

            impl<N> KeySizeUser for Fixed<$hasher, N, Keyed> {
                type KeySize = $key;
            }
        )+
    };
}

sizes! {
    Hasher<function::Blake2b>: U128, U64;
    Hasher<function::Blake2s>: U64, U32;
    tree::Hasher<function::Blake2b>: U128, U64;
    tree::Hasher<function::Blake2s>: U64, U32;
}

/// Keys of the maximum length or, with `new_from_slice`, of any length from 1 byte.
impl<H: Streaming, N: ArraySize> KeyInit for Fixed<H, N, Keyed>
where
    Self: KeySizeUser,
{
    fn new(key: &Key<Self>) -> Self {
        match Self::new_from_slice(key) {
            Ok(mac) => mac,
            Err(_) => unreachable!("keys of this type are as long as a key may be"),
        }
    }

    fn new_from_slice(key: &[u8]) -> Result<Self, InvalidLength> {
        if key.is_empty() {
            return Err(InvalidLength);
        }
        Ok(Self::of(H::start(N::USIZE, key).map_err(|_| InvalidLength)?))
    }
}

impl<V: Variant> Update for Hasher<V> {
    fn update(&mut self, data: &[u8]) {
        Hasher::update(self, data);
    }
}

impl<V: Variant> Update for tree::Hasher<V> {
    fn update(&mut self, data: &[u8]) {
        tree::Hasher::update(self, data);
    }
}

impl<V: Variant> Update for xof::Hasher<V> {
    fn update(&mut self, data: &[u8]) {
        xof::Hasher::update(self, data);
    }
}

impl<V: Variant> ExtendableOutput for xof::Hasher<V> {
    type Reader = OutputReader<V>;

    fn finalize_xof(self) -> OutputReader<V> {
        OutputReader(self.finalize())
    }
}

/// The output of BLAKE2X as a [`XofReader`].
#[derive(Clone, Debug)]
pub struct OutputReader<V: Variant>(xof::Reader<V>);

impl<V: Variant> XofReader for OutputReader<V> {
    /// The next bytes of the output.
    ///
    /// # Panics
    /// After the end of the output, since the trait has no way to report it: after as many bytes as
    /// were announced, or after 256 GiB (BLAKE2Xb) or 128 GiB (BLAKE2Xs).
    /// `fill` of [`blake2xb::Reader`](crate::blake2xb::Reader) returns an error instead.
    fn read(&mut self, buffer: &mut [u8]) {
        if let Err(error) = self.0.fill(buffer) {
            panic!("{error}");
        }
    }
}
