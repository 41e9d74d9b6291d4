//! x86-64: one token for each level, and the lanes in registers.
//!
//! Safe code needs a token for every instruction above the baseline. A register alone does not
//! help: the rotation of a level cannot be named outside,
//!
//! ```compile_fail
//! use saltern_simd::x86::{Avx512, sse41::Rotate128};
//! fn rotate(register: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
//!     <Avx512 as Rotate128>::rotate_64(register, 1)
//! }
//! ```
//!
//! nor are registers in the form of a message of any use without a token,
//!
//! ```compile_fail
//! use saltern_simd::{lanes::Row, x86::{Sse41, sse41::U32x4}};
//! type Rows = U32x4<Sse41>;
//! fn schedule(message: &<Rows as Row>::Message, order: &[usize; 16]) -> [Rows; 4] {
//!     Rows::schedule(message, order)
//! }
//! ```
//!
//! nor can a vector or a token be constructed directly.
//!
//! ```compile_fail
//! use saltern_simd::x86::{Avx2, avx2::U64x4};
//! fn vector(register: core::arch::x86_64::__m256i, token: Avx2) -> U64x4<Avx2> {
//!     U64x4(register, token)
//! }
//! ```
//!
//! With a token it is all safe:
//!
//! ```
//! use saltern_simd::{lanes::Row, x86::{Sse41, sse41::U32x4}};
//! type Rows = U32x4<Sse41>;
//! fn schedule(token: Sse41, message: &<Rows as Row>::Message, order: &[usize; 16]) -> [Rows; 4] {
//!     Rows::schedule(token, message, order)
//! }
//! if let Some(token) = Sse41::detect() {
//!     let rows = schedule(token, &Rows::message(token, &[&[0; 64]]), &[0; 16]);
//!     assert_eq!(rows[3].to_words(), [0; 4]);
//! }
//! ```
#![allow(
    unsafe_code,
    reason = "tokens can be assumed inside functions compiled for their features"
)]

/// Intrinsics in a place whose feature is proven by a token: an argument, or a part of the vector.
/// The helper functions that use it without one are private to these modules, and their callers
/// have a token.
macro_rules! proven {
    ($intrinsics:expr) => {{
        // SAFETY: a token proves the feature, as said above; these intrinsics require nothing else.
        unsafe { $intrinsics }
    }};
}

/// Generates the trait by which the tokens of levels rotate the words of a register: to the right,
/// by a constant.
macro_rules! rotate {
    ($(#[$doc:meta])* $name:ident, $register:ty, $xor:ident) => {
        $(#[$doc])*
        pub(crate) trait $name: Copy {
            /// 64-bit words.
            fn rotate_64(self, vector: $register, bits: u32) -> $register;
            /// 32-bit words.
            fn rotate_32(self, vector: $register, bits: u32) -> $register;
            /// The rotated sum, soon after `late` is known: see [`Vector::xor_rotate`].
            #[inline(always)]
            fn xor_rotate_64(self, early: $register, late: $register, bits: u32) -> $register {
                self.rotate_64(proven!($xor(early, late)), bits)
            }
            /// `xor`, then rotation of each 32-bit word.
            #[inline(always)]
            fn xor_rotate_32(self, early: $register, late: $register, bits: u32) -> $register {
                self.rotate_32(proven!($xor(early, late)), bits)
            }
        }
    };
}

/// Generates a vector type whose operations are one intrinsic each: all of
/// [`Vector`](crate::lanes::Vector), and of [`Lanes`](crate::lanes::Lanes) everything but
/// transpositions, which are written out in the braces. A value holds the token that it was made
/// from. In order: name and trait of the token; register; words; addition, exclusive or, rotation,
/// rotated sum, splat; the first word.
macro_rules! lanes {
    (
        $(#[$doc:meta])*
        $name:ident<$rotate:ident>, $register:ty = [$word:ty as $signed:ty; $count:literal];
        $add:ident, $xor:ident, $turn:ident, $xor_turn:ident, $set:ident, |$v:ident| $first:expr;
        { $($by_hand:item)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(pub(super) $register, pub(super) T);

        impl<T: $rotate> Vector for $name<T> {
            type Token = T;
            type Word = $word;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(proven!($add(self.0, other.0)), self.1)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(proven!($xor(self.0, other.0)), self.1)
            }

            #[inline(always)]
            fn rotate_right(self, bits: u32) -> Self {
                Self(self.1.$turn(self.0, bits), self.1)
            }

            #[inline(always)]
            fn xor_rotate(self, late: Self, bits: u32) -> Self {
                Self(self.1.$xor_turn(self.0, late.0, bits), self.1)
            }
        }

        impl<T: $rotate> Lanes for $name<T> {
            const COUNT: usize = $count;

            #[inline(always)]
            fn splat(token: T, word: $word) -> Self {
                Self(proven!($set(word as $signed)), token)
            }

            #[inline(always)]
            fn load(token: T, words: &[$word]) -> Self {
                Self(load(words), token)
            }

            #[inline(always)]
            fn store(self, words: &mut [$word]) {
                store(self.0, words);
            }

            #[inline(always)]
            fn first(self) -> $word {
                let $v = self.0;
                proven!($first) as $word
            }

            $($by_hand)*
        }
    };
}

use core::arch::x86_64::__cpuid;

pub mod avx2;
pub mod avx512;
pub mod sse41;
mod wide;

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

            /// The token, in a function that has the features itself: such a call needs no `unsafe`
            /// and no query of the processor, because the function can only be entered where they
            /// are available.
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

/// A higher level proves the lower ones.
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

includes!(Sse41 => Sse2, Avx2 => Sse2, Avx2 => Sse41, Avx512 => Sse2, Avx512 => Avx2);
includes!(Zen4 => Avx512);

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

/// Proof of AVX-512 on a processor whose rotation instructions take two cycles, and shifts one:
/// AMD's Zen 4. Where only the length of a chain of operations matters, rotations are better made
/// of shifts there.
#[derive(Clone, Copy, Debug)]
pub struct Zen4(());

impl Zen4 {
    /// The token, if this is such a processor.
    #[must_use]
    pub fn detect() -> Option<Self> {
        Avx512::detect().filter(|_| is_family_19h()).map(|_| Self(()))
    }

    /// Like [`Avx512::here`]. Correct on every processor with the features, but faster only on this
    /// one.
    ///
    /// # Safety
    /// From a function without the features: the processor must have them.
    #[inline]
    #[must_use]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn here() -> Self {
        let Avx512(()) = Avx512::here(); // the same features
        Self(())
    }
}

/// Whether the processor is of AMD's family 19h (Zen 3 and Zen 4). Queried once: the instruction
/// traps in virtual machines.
fn is_family_19h() -> bool {
    use core::sync::atomic::{AtomicU8, Ordering};
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    if ANSWER.load(Ordering::Relaxed) == UNKNOWN {
        // SAFETY: every x86-64 processor has the instruction, and both leaves.
        #[allow(unused_unsafe, reason = "newer compilers call the function safe")]
        let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let is_amd = [vendor.ebx, vendor.edx, vendor.ecx]
            == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes);
        let family = (version >> 8 & 0xF) + (version >> 20 & 0xFF);
        ANSWER.store(if is_amd && family == 0x19 { YES } else { NO }, Ordering::Relaxed);
    }
    ANSWER.load(Ordering::Relaxed) == YES
}
