//! What measuring and tests need and no application does. Versions promise nothing about it.

use crate::Workspace;

/// Chooses, for hashes of the default flavour, the kernel that keeps two of pwxform's groups in one 256-bit register.
///
/// It computes the same and is slower wherever it has been measured (docs/seeds.md). Returns whether the level of
/// the workspace has such registers (AVX2 and above); otherwise nothing changes.
///
/// ```
/// use saltern_yescrypt::{Level, Workspace, hazmat};
/// let mut workspace = Workspace::with_level(Level::Portable)?;
/// assert!(!hazmat::pair_groups(&mut workspace));
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
pub fn pair_groups(workspace: &mut Workspace) -> bool {
    workspace.pair_groups()
}
