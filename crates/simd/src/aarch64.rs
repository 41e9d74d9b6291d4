//! aarch64: NEON is part of the baseline, so its token is always available.

/// Intrinsics that ask for nothing but NEON.
macro_rules! neon {
    ($intrinsics:expr) => {{
        // SAFETY: NEON is part of the baseline of the targets that have this module.
        unsafe { $intrinsics }
    }};
}

mod wide;

pub use wide::WideNeon;

pub mod neon;

/// Proof of NEON.
#[derive(Clone, Copy, Debug)]
pub struct Neon(());

impl Neon {
    /// The token; never absent on this architecture.
    #[inline]
    #[must_use]
    pub fn detect() -> Option<Self> {
        Some(Self(()))
    }

    /// The token, in a function that has the feature itself.
    ///
    /// # Safety
    /// From any other function: the processor must have the feature, as all with this
    /// architecture's targets have.
    #[inline]
    #[must_use]
    #[target_feature(enable = "neon")]
    pub fn here() -> Self {
        Self(())
    }
}

impl From<Neon> for () {
    #[inline(always)]
    fn from(_: Neon) {}
}
