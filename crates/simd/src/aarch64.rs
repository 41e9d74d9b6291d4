//! aarch64: NEON is part of the baseline, so its token can always be had.
#![allow(
    unsafe_code,
    reason = "tokens can be assumed inside functions compiled for their features"
)]

mod row;
mod wide;

pub use row::RowNeon;
pub use wide::WideNeon;

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

    /// The token; as safe as [`Neon::detect`] here, unsafe to be like the other architectures' tokens.
    ///
    /// # Safety
    /// None needed on aarch64.
    #[inline(always)]
    #[must_use]
    pub unsafe fn assume() -> Self {
        Self(())
    }
}

impl From<Neon> for () {
    #[inline(always)]
    fn from(_: Neon) {}
}
