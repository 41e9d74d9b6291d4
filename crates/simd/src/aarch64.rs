//! aarch64: NEON is part of the baseline, so its token can always be had.

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
}
