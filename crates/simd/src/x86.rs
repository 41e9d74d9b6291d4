//! x86-64: one token for each level, and the lanes that they prove.

/// Intrinsics in a place whose feature is proven by a token: an argument, or a parameter of the vector's type,
/// which has no other source than [`Lanes`](crate::lanes::Lanes) and [`Row`](crate::lanes::Row) functions that take one.
macro_rules! proven {
    ($intrinsics:expr) => {{
        // SAFETY: a token proves the feature, as said above; these intrinsics ask for nothing else.
        unsafe { $intrinsics }
    }};
}

pub mod avx2;
pub mod avx512;
pub mod sse41;

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
