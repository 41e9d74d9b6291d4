//! Files that the program writes: atomically, and without overwriting if they must be new.

use std::path::Path;

use anyhow::{Context, anyhow};
use saltern_rom::Error;

/// Check that a new file could be written here; an existing `what` is never overwritten.
///
/// Called before hours of work, whose result would be lost.
pub(crate) fn check(path: &Path, what: &str) -> anyhow::Result<()> {
    told(path, what, saltern_rom::check_new_file(path))
}

/// Write a new file; an existing `what` is never overwritten.
pub(crate) fn create(path: &Path, content: &[u8], what: &str) -> anyhow::Result<()> {
    told(path, what, saltern_rom::new_file(path, content))
}

/// Check that a file could be written here, replacing an existing one.
pub(crate) fn check_replace(path: &Path) -> anyhow::Result<()> {
    told(path, "it", saltern_rom::check_replace_file(path))
}

/// Write a file, replacing an existing one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    told(path, "it", saltern_rom::replace_file(path, content))
}

fn told(path: &Path, what: &str, written: Result<(), Error>) -> anyhow::Result<()> {
    let path = path.display();
    match written {
        Err(Error::Exists { .. }) => Err(anyhow!("{path} exists, and {what} is never overwritten")),
        // It says so itself.
        Err(error @ Error::Io { action: "write", .. }) => Err(error.into()),
        written => written.with_context(|| format!("cannot write {path}")),
    }
}
