//! x86-64: one token for each level, and the lanes in registers.
#![allow(
    unsafe_code,
    reason = "tokens can be assumed inside functions compiled for their features"
)]

/// Intrinsics in a place whose feature is proven by a token: an argument, or a parameter of the vector's type,
/// which has no other source than [`Lanes`](crate::lanes::Lanes) and [`Row`](crate::lanes::Row) functions that take one.
macro_rules! proven {
    ($intrinsics:expr) => {{
        // SAFETY: a token proves the feature, as said above; these intrinsics ask for nothing else.
        unsafe { $intrinsics }
    }};
}

use core::arch::x86_64::__cpuid;

pub mod avx2;
pub mod avx512;
mod row;
pub mod sse41;
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
            ///
            /// # Safety
            /// From any other function: the processor must have the features.
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

/// A larger level proves the smaller ones.
macro_rules! includes {
    ($($large:ty => $small:ty),+ $(,)?) => {
        $(impl From<$large> for $small {
            #[inline(always)]
            fn from(_: $large) -> Self {
                Self(())
            }
        })+
    };
}

includes!(Sse41 => Sse2, Avx2 => Sse2, Avx2 => Sse41, Avx512 => Sse2, Avx512 => Sse41, Avx512 => Avx2);

/// Portable lanes need no proof.
macro_rules! includes_portable {
    ($($large:ty),+) => {
        $(impl From<$large> for () {
            #[inline(always)]
            fn from(_: $large) {}
        })+
    };
}

includes_portable!(Sse2, Sse41, Avx2, Avx512);

/// Proof of AVX-512 on a processor whose rotation instructions take two cycles, and shifts one: AMD's Zen 4. Where a
/// chain of operations is all that matters, rotations are better made of shifts there.
#[derive(Clone, Copy, Debug)]
pub struct Zen4(());

impl Zen4 {
    /// The token, if this processor is one.
    #[must_use]
    pub fn detect() -> Option<Self> {
        Avx512::detect().filter(|_| is_family_19h()).map(|_| Self(()))
    }

    /// As [`Avx512::here`]. Right on every processor with the features, but faster on this one alone.
    ///
    /// # Safety
    /// From a function without the features: the processor must have them.
    #[inline]
    #[must_use]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn here() -> Self {
        Self(())
    }
}

/// Whether the processor is of AMD's family 19h (Zen 3 and Zen 4). Asked once: the instruction traps in virtual machines.
fn is_family_19h() -> bool {
    use core::sync::atomic::{AtomicU8, Ordering};
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    if ANSWER.load(Ordering::Relaxed) == UNKNOWN {
        let (vendor, version) = (__cpuid(0), __cpuid(1).eax);
        let is_amd = [vendor.ebx, vendor.edx, vendor.ecx]
            == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes);
        let family = (version >> 8 & 0xF) + (version >> 20 & 0xFF);
        ANSWER.store(if is_amd && family == 0x19 { YES } else { NO }, Ordering::Relaxed);
    }
    ANSWER.load(Ordering::Relaxed) == YES
}
