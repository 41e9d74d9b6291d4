//! x86-64: one token for each level, and the lanes in registers.

mod row;
mod wide;

pub use row::{RowAvx512, RowSse2};
pub use wide::{Wide128, Wide256, Wide512};

/// Declares a token: a value that can only be made where the processor has the features.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $module:ident, $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        cpufeatures::new!($module, $($feature),+);

        impl $name {
            /// The token, if this processor (and its operating system) has the features.
            #[inline]
            #[must_use]
            pub fn detect() -> Option<Self> {
                $module::get().then_some(Self(()))
            }

            /// The token, in a function that has the features itself: such a call needs no `unsafe` and no
            /// question to the processor, because the function could only be entered where they are there.
            #[inline]
            #[must_use]
            #[target_feature($(enable = $feature),+)]
            pub fn here() -> Self {
                Self(())
            }
        }
    };
}

token!(
    /// Proof of SSE2, which every x86-64 processor has.
    Sse2, cpuid_sse2, "sse2"
);
token!(
    /// Proof of SSSE3 and SSE4.1.
    Sse41, cpuid_sse41, "ssse3", "sse4.1"
);
token!(
    /// Proof of AVX2.
    Avx2, cpuid_avx2, "avx2"
);
token!(
    /// Proof of AVX-512 F, BW, DQ and VL, and of AVX2.
    Avx512, cpuid_avx512, "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"
);

impl Avx512 {
    /// AVX-512 includes SSE2.
    #[inline(always)]
    #[must_use]
    pub fn sse2(self) -> Sse2 {
        Sse2(())
    }
}

impl Avx2 {
    /// AVX2 includes SSE2.
    #[inline(always)]
    #[must_use]
    pub fn sse2(self) -> Sse2 {
        Sse2(())
    }
}
