//! What crates that schedule hashes themselves need of this one. Not for anybody else: nothing in
//! here is checked twice, and it changes whenever the inside does.

use core::ops::Range;

use crate::core::params::CheckedParams;
use crate::core::workspace::Workspace;
use crate::error::Error;

/// Allocates what this many hashes at once need in one thread, and touches every page of it.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn prepare(
    workspace: &mut Workspace,
    params: &CheckedParams,
    hashes: usize,
) -> Result<(), Error> {
    workspace.prepare(params, hashes)
}

/// The addresses of a workspace's memory.
#[must_use]
pub fn addresses(workspace: &Workspace) -> Range<usize> {
    workspace.addresses()
}

/// Whether anything but zeros is in a workspace's memory. Reads all of it.
#[must_use]
pub fn residue(workspace: &Workspace) -> bool {
    workspace.residue()
}
