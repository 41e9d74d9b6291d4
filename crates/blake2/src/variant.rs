//! The two functions together with the kernels that compute them.

use saltern_simd::Level;

use crate::dispatch::{self, Kernels};
use crate::function::{Blake2b, Blake2s, Function};

/// BLAKE2b or BLAKE2s with kernels for every level. Sealed: only these two types implement it.
pub trait Variant: Function {
    #[doc(hidden)]
    fn kernels(level: Level) -> &'static Kernels<Self>;
}

impl Variant for Blake2b {
    fn kernels(level: Level) -> &'static Kernels<Self> {
        dispatch::blake2b(level)
    }
}

impl Variant for Blake2s {
    fn kernels(level: Level) -> &'static Kernels<Self> {
        dispatch::blake2s(level)
    }
}
