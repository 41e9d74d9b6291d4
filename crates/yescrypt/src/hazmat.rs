//! For benchmarks, tests and crates that schedule hashes themselves; applications do not need it.
//! Exempt from semantic versioning.

use core::ops::Range;

pub use saltern_simd::{Level, UnavailableLevel};

pub use crate::core::batch::derive_many;
pub use crate::core::blockmix::MAX_LANES;
pub use crate::core::memory::Pages;
pub use crate::core::pass::Derivation;
pub use crate::core::resumable::{Advance, BlocksNeeded, Resumable, WaitingReads};
pub use crate::site::encrypt::reencrypt;
pub use crate::site::hasher::Plan;
pub use crate::text::HASH_DIGITS;

pub mod crypt3 {
    //! Limits of crypt(3) on a current Linux (libxcrypt).

    pub use crate::text::crypt3::{PASSWORD, RESULT, TEXT, byte_refused_by_crypt};
}

use crate::core::params::CheckedParams;
use crate::core::pass::Sizes;
use crate::{Error, Workspace};

/// Selects, for hashes of the default flavour, the kernel that keeps two pwxform groups in one
/// 256-bit register.
///
/// The results are the same; it was slower wherever it was measured (docs/seeds.md). Returns
/// whether the workspace's level has such registers (AVX2 and above); otherwise nothing changes.
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

/// Allocates the memory that this many simultaneous hashes need in one thread, and touches every
/// page of it.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn prepare(
    workspace: &mut Workspace,
    params: &CheckedParams,
    hashes: usize,
) -> Result<(), Error> {
    let plan = Sizes::new(params, hashes, 1)?;
    workspace.arena.reserve(plan.total())?;
    workspace.arena.fault_in();
    Ok(())
}

/// The addresses of a workspace's memory.
#[must_use]
pub fn addresses(workspace: &Workspace) -> Range<usize> {
    workspace.arena.addresses()
}

/// Whether a workspace's memory holds anything but zeros. Reads all of it.
#[must_use]
pub fn residue(workspace: &Workspace) -> bool {
    workspace.arena.residue()
}
