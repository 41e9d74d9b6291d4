//! What measuring, tests and crates that schedule hashes themselves need, and no application does.
//! Versions promise nothing about it.

use core::ops::Range;

pub use saltern_simd::{Level, UnavailableLevel};

pub use crate::core::batch::derive_many;
pub use crate::core::blockmix::MAX_LANES;
pub use crate::core::memory::Pages;
pub use crate::core::pass::Derivation;
pub use crate::core::resumable::{Advance, BlocksNeeded, Resumable};
pub use crate::site::encrypt::reencrypt;
pub use crate::site::hasher::Plan;
pub use crate::text::crypt3::byte_refused_by_crypt;

use crate::core::params::CheckedParams;
use crate::core::pass::Sizes;
use crate::{Error, Workspace};

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
    workspace.target.paired = match workspace.target.level {
        Level::Avx2 | Level::Avx512 => true,
        Level::Portable | Level::Sse2 | Level::Sse41 | Level::Neon => false,
    };
    workspace.target.paired
}

/// Allocates what this many hashes at once need in one thread, and touches every page of it.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn prepare(
    workspace: &mut Workspace,
    params: &CheckedParams,
    hashes: usize,
) -> Result<(), Error> {
    let plan = Sizes::new(params, hashes, 1)?;
    workspace.arena.reserve(plan.v + plan.scratch)?;
    workspace.arena.fault_in();
    Ok(())
}

/// The addresses of a workspace's memory.
#[must_use]
pub fn addresses(workspace: &Workspace) -> Range<usize> {
    workspace.arena.addresses()
}

/// Whether anything but zeros is in a workspace's memory. Reads all of it.
#[must_use]
pub fn residue(workspace: &Workspace) -> bool {
    workspace.arena.residue()
}
