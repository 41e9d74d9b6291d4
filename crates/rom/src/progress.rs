//! Progress of long operations, and a way to cancel them.

use std::fmt;
use std::ops::ControlFlow;

use crate::Error;

/// The progress of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Bytes of this stage so far.
    pub done: u64,
    /// What `done` will be at the end of the stage.
    pub total: u64,
}

/// The stages of long work, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stage {
    /// Computing the ROM, in this pass, 1 to 3; bytes are those of all three.
    Fill(u8),
    /// Hashing the image, and writing it if necessary.
    Write,
    /// Reading the image.
    Read,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Fill(pass) => write!(f, "filling, pass {pass} of 3"),
            Stage::Write => f.write_str("writing"),
            Stage::Read => f.write_str("reading"),
        }
    }
}

/// Receives progress every MiB or so, from any thread, and cancels the work by returning
/// [`ControlFlow::Break`].
///
/// For example, it can check a flag that a Ctrl-C handler sets.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// A [`Watch`] that ignores progress.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("site.rom");
/// # let seed = saltern_rom::Seed::from_bytes(b"sixteen bytes and more")?;
/// # saltern_rom::Create::new(saltern_yescrypt::rom::RomParams::new(1024, 8, 1), &seed).file(&path)?;
/// saltern_rom::verify(&path, None, &saltern_rom::no_progress)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn no_progress(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Bytes that are hashed, read and written at a time: a multiple of every chunk.
pub(crate) const PIECE: usize = 4 << 20;

/// Passes on memory piece by piece, each with its offset, and reports progress.
pub(crate) fn each_piece(
    bytes: &[u8],
    stage: Stage,
    watch: Watch<'_>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut done, total) = (0, bytes.len() as u64);
    for piece in bytes.chunks(PIECE) {
        take(done, piece)?;
        done += piece.len() as u64;
        tell(watch, Progress { stage, done, total })?;
    }
    Ok(())
}

/// Reports progress; fails if the watch cancels.
pub(crate) fn tell(watch: Watch<'_>, progress: Progress) -> Result<(), Error> {
    if watch(progress).is_break() { Err(Error::Cancelled) } else { Ok(()) }
}
