//! The BLAKE2 family as wide as the processor: [`blake2b`](fn@blake2b) and [`blake2s`](fn@blake2s),
//! their parallel forms [`blake2bp`](fn@blake2bp) and [`blake2sp`](fn@blake2sp), outputs of any
//! length ([`blake2xb`], [`blake2xs`]), and [`many`] messages at once.
//!
//! ```
//! use saltern_blake2::{Error, blake2b, many};
//!
//! // One message.
//! assert!(blake2b(b"abc").to_hex().starts_with("ba80a53f981c4d0d"));
//!
//! // With parameters: a shorter output and a key, which makes it a MAC. Comparison is in constant time.
//! let params = blake2b::Params::new().hash_length(32)?.key(b"secret")?;
//! let tag = params.to_hasher().update(b"a message ").update(b"in pieces").finalize();
//! assert_eq!(tag, params.hash(b"a message in pieces"));
//!
//! // Many messages, several times as fast as one after the other.
//! let texts = ["any", "number", "of", "messages"];
//! let mut jobs: Vec<_> = texts.iter().map(|text| many::Job::new(&params, text.as_bytes())).collect();
//! many::hash_many(&mut jobs);
//! assert_eq!(jobs[2].hash(), params.hash(b"of"));
//! # Ok::<(), Error>(())
//! ```
//!
//! Features: `std` (the default) adds threads for batches and for single long trees, and
//! `std::io`'s traits for hashers and outputs; `digest` re-exports the crate
//! [`digest`](https://docs.rs/digest) and adds the module `rustcrypto`, with its traits for types
//! under the names of the crate `blake2`. Neither changes a result.
//!
//! Do not store passwords as plain BLAKE2 hashes. Keyed states and keys are wiped on drop, and the
//! time to compare hashes depends only on their lengths; no branch or address depends on data or
//! key.
//!
//! The instruction set is chosen at run time: portable code, SSE4.1, AVX2, AVX-512 or NEON;
//! [`Level`] lists them, and each `Params` has a `level` method to select a lower one. Results
//! never depend on it. The crate is `no_std` and needs `alloc`.

// To change … open …
//     the round                             compress.rs
//     BLAKE2b beside BLAKE2s                function.rs
//     the kernel of each level              dispatch.rs
//     a message or tree in memory as whole  whole.rs
//     trees in pieces; parameters           tree.rs; params.rs
//     many messages: equal length; any      many.rs; batch.rs, engine.rs
//     BLAKE2X; other libraries' interfaces  xof.rs; rustcrypto.rs, hazmat.rs
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, unused_imports, reason = "without vectors nothing uses their kernels")
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod batch;
mod compress;
mod dispatch;
mod engine;
mod error;
mod function;
mod hasher;
pub mod hazmat;
#[cfg(feature = "std")]
mod io;
mod job;
pub mod many;
mod output;
mod params;
#[cfg(feature = "digest")]
pub mod rustcrypto;
// Kept outside the published sources: it needs the reference, which is not published.
#[cfg(test)]
#[path = "../tests/inside/kernels.rs"]
mod tests;
mod tree;
mod variant;
mod whole;
mod xof;

#[cfg(feature = "digest")]
pub use digest;
pub use error::Error;
pub use function::{Blake2b, Blake2s, Function};
pub use output::HexString;
pub use saltern_simd::Level;
pub use variant::Variant;

pub mod generic {
    //! The types of [`blake2b`](mod@crate::blake2b) and [`blake2s`](mod@crate::blake2s) under
    //! common names, for functions that are generic over a [`Variant`](crate::Variant).
    //!
    //! ```
    //! use saltern_blake2::{Blake2b, Blake2s, Variant, blake2b, generic::Params};
    //! fn longest<V: Variant>(data: &[u8]) -> Vec<u8> {
    //!     Params::<V>::new().hash(data).as_bytes().to_vec()
    //! }
    //! assert_eq!(longest::<Blake2b>(b"abc"), blake2b::hash(b"abc").as_bytes());
    //! assert_eq!(longest::<Blake2s>(b"abc").len(), 32);
    //! ```

    pub use crate::hasher::Hasher;
    pub use crate::output::Hash;
    pub use crate::params::Params;
}

pub mod blake2b {
    //! BLAKE2b: for 64-bit processors, outputs of 1 to 64 bytes.

    use crate::{Blake2b, Function};

    /// The parameters of a BLAKE2b hash.
    pub type Params = crate::params::Params<Blake2b>;
    /// A BLAKE2b computation in progress.
    pub type Hasher = crate::hasher::Hasher<Blake2b>;
    /// A BLAKE2b or BLAKE2bp hash.
    pub type Hash = crate::output::Hash<Blake2b>;

    /// The longest output, in bytes.
    pub const OUT_BYTES: usize = Blake2b::OUT_BYTES;
    /// The longest key, in bytes.
    pub const KEY_BYTES: usize = Blake2b::OUT_BYTES;
    /// The longest salt, in bytes.
    pub const SALT_BYTES: usize = Blake2b::SALT_BYTES;
    /// The longest personalisation, in bytes.
    pub const PERSONAL_BYTES: usize = Blake2b::SALT_BYTES;
    /// Bytes compressed at a time.
    pub const BLOCK_BYTES: usize = Blake2b::BLOCK_BYTES;

    /// The 64-byte hash of `data`, without a key.
    #[must_use]
    pub fn hash(data: &[u8]) -> Hash {
        Params::new().hash(data)
    }
}

pub mod blake2s {
    //! BLAKE2s: for 32-bit processors and short outputs, 1 to 32 bytes.

    use crate::{Blake2s, Function};

    /// The parameters of a BLAKE2s hash.
    pub type Params = crate::params::Params<Blake2s>;
    /// A BLAKE2s computation in progress.
    pub type Hasher = crate::hasher::Hasher<Blake2s>;
    /// A BLAKE2s or BLAKE2sp hash.
    pub type Hash = crate::output::Hash<Blake2s>;

    /// The longest output, in bytes.
    pub const OUT_BYTES: usize = Blake2s::OUT_BYTES;
    /// The longest key, in bytes.
    pub const KEY_BYTES: usize = Blake2s::OUT_BYTES;
    /// The longest salt, in bytes.
    pub const SALT_BYTES: usize = Blake2s::SALT_BYTES;
    /// The longest personalisation, in bytes.
    pub const PERSONAL_BYTES: usize = Blake2s::SALT_BYTES;
    /// Bytes compressed at a time.
    pub const BLOCK_BYTES: usize = Blake2s::BLOCK_BYTES;

    /// The 32-byte hash of `data`, without a key.
    #[must_use]
    pub fn hash(data: &[u8]) -> Hash {
        Params::new().hash(data)
    }
}

pub mod blake2bp {
    //! BLAKE2bp: four BLAKE2b leaves under a root, about three times as fast on long messages. Its
    //! hashes are not BLAKE2b's.

    pub use crate::blake2b::{Hash, KEY_BYTES, OUT_BYTES};

    use crate::Blake2b;

    /// The parameters of a BLAKE2bp hash.
    pub type Params = crate::tree::Params<Blake2b>;
    /// A BLAKE2bp computation in progress.
    pub type Hasher = crate::tree::Hasher<Blake2b>;

    /// The 64-byte hash of `data`, without a key.
    #[must_use]
    pub fn hash(data: &[u8]) -> Hash {
        Params::new().hash(data)
    }
}

pub mod blake2sp {
    //! BLAKE2sp: eight BLAKE2s leaves under a root, several times as fast on long messages. Its
    //! hashes are not BLAKE2s's.

    pub use crate::blake2s::{Hash, KEY_BYTES, OUT_BYTES};

    use crate::Blake2s;

    /// The parameters of a BLAKE2sp hash.
    pub type Params = crate::tree::Params<Blake2s>;
    /// A BLAKE2sp computation in progress.
    pub type Hasher = crate::tree::Hasher<Blake2s>;

    /// The 32-byte hash of `data`, without a key.
    #[must_use]
    pub fn hash(data: &[u8]) -> Hash {
        Params::new().hash(data)
    }
}

pub mod blake2xb {
    //! BLAKE2Xb: outputs of any length from BLAKE2b.

    use crate::Blake2b;

    /// The parameters of a BLAKE2Xb output.
    pub type Params = crate::xof::Params<Blake2b>;
    /// A BLAKE2Xb computation that is still taking its message.
    pub type Hasher = crate::xof::Hasher<Blake2b>;
    /// A BLAKE2Xb output.
    pub type Reader = crate::xof::Reader<Blake2b>;
}

pub mod blake2xs {
    //! BLAKE2Xs: outputs of any length from BLAKE2s.

    use crate::Blake2s;

    /// The parameters of a BLAKE2Xs output.
    pub type Params = crate::xof::Params<Blake2s>;
    /// A BLAKE2Xs computation that is still taking its message.
    pub type Hasher = crate::xof::Hasher<Blake2s>;
    /// A BLAKE2Xs output.
    pub type Reader = crate::xof::Reader<Blake2s>;
}

/// The 64-byte BLAKE2b hash of `data`, without a key.
///
/// ```
/// assert_eq!(saltern_blake2::blake2b(b"").to_hex().len(), 128);
/// ```
#[must_use]
pub fn blake2b(data: &[u8]) -> blake2b::Hash {
    blake2b::hash(data)
}

/// The 32-byte BLAKE2s hash of `data`, without a key.
///
/// ```
/// assert_eq!(saltern_blake2::blake2s(b"").to_hex().len(), 64);
/// ```
#[must_use]
pub fn blake2s(data: &[u8]) -> blake2s::Hash {
    blake2s::hash(data)
}

/// The 64-byte BLAKE2bp hash of `data`, without a key.
///
/// ```
/// assert!(saltern_blake2::blake2bp(b"abc") != saltern_blake2::blake2b(b"abc"));
/// ```
#[must_use]
pub fn blake2bp(data: &[u8]) -> blake2bp::Hash {
    blake2bp::hash(data)
}

/// The 32-byte BLAKE2sp hash of `data`, without a key.
///
/// ```
/// assert!(saltern_blake2::blake2sp(b"abc") != saltern_blake2::blake2s(b"abc"));
/// ```
#[must_use]
pub fn blake2sp(data: &[u8]) -> blake2sp::Hash {
    blake2sp::hash(data)
}
