//! What measuring, tests and crates that schedule hashes themselves need, and no application does.
//! Versions promise nothing about it.

#[cfg(feature = "std")]
use core::ops::Range;

pub use saltern_simd::{Level, UnavailableLevel};

pub use crate::core::batch::{Derivation, derive_many};
pub use crate::core::blockmix::MAX_LANES;
pub use crate::core::memory::Pages;
pub use crate::core::resumable::{Advance, BlocksNeeded, Resumable};
pub use crate::site::encrypt::reencrypt;
pub use crate::site::hasher::Plan;

#[cfg(feature = "std")]
use crate::Error;
use crate::Workspace;
#[cfg(feature = "std")]
use crate::core::params::CheckedParams;

/// Chooses, for hashes of the default flavour, the kernel that keeps two of pwxform's groups in one
/// 256-bit register.
///
/// It computes the same and is slower wherever it has been measured (docs/seeds.md). Returns
/// whether the level of the workspace has such registers (AVX2 and above); otherwise nothing
/// changes.
///
/// ```
/// use saltern_yescrypt::{Workspace, hazmat, hazmat::Level};
/// let mut workspace = Workspace::with_level(Level::Portable)?;
/// assert!(!hazmat::pair_groups(&mut workspace));
/// # Ok::<(), saltern_yescrypt::hazmat::UnavailableLevel>(())
/// ```
pub fn pair_groups(workspace: &mut Workspace) -> bool {
    workspace.pair_groups()
}

/// Allocates what this many hashes at once need in one thread, and touches every page of it.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[cfg(feature = "std")]
pub fn prepare(
    workspace: &mut Workspace,
    params: &CheckedParams,
    hashes: usize,
) -> Result<(), Error> {
    workspace.prepare(params, hashes)
}

/// The addresses of a workspace's memory.
#[cfg(feature = "std")]
#[must_use]
pub fn addresses(workspace: &Workspace) -> Range<usize> {
    workspace.addresses()
}

/// Whether anything but zeros is in a workspace's memory. Reads all of it.
#[cfg(feature = "std")]
#[must_use]
pub fn residue(workspace: &Workspace) -> bool {
    workspace.residue()
}
