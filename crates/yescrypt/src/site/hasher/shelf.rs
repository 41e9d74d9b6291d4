//! Workspaces shared by the clones of a hasher.

#[cfg(feature = "std")]
use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

use crate::core::workspace::Workspace;

/// Workspaces not in use. Without the feature `std`, which provides the lock, there are none: each
/// call has its own.
#[derive(Default)]
pub(crate) struct WorkspaceCache {
    #[cfg(feature = "std")]
    idle: Mutex<Vec<Workspace>>,
}

impl WorkspaceCache {
    /// Does some work with the most recently used workspace. If the work panics, the workspace is
    /// not put back.
    #[cfg(feature = "std")]
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let taken = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = taken.unwrap_or_default();
        let done = work(&mut workspace);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        done
    }

    #[cfg(not(feature = "std"))]
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        work(&mut Workspace::new())
    }
}

impl core::fmt::Debug for WorkspaceCache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("WorkspaceCache { .. }")
    }
}
