//! Memory to read into.

use std::hint::black_box;
use std::io;

/// Every read begins at a multiple of this, since input that straddles cache lines is hashed more
/// slowly.
pub(super) const LINE: usize = 64;

/// Zeroed memory that begins at a page. Pages that are never written take no room.
#[derive(Default)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    const PAGE: usize = 4096;

    /// `len` bytes.
    ///
    /// # Errors
    ///
    /// The system has no memory to give.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        // Memory can be had zeroed, or with an error if there is none, but not both: ask for it
        // first.
        let mut trial = Vec::<u8>::new();
        trial.try_reserve_exact(len + Self::PAGE).map_err(|_| io::ErrorKind::OutOfMemory)?;
        drop(black_box(trial));
        let memory = vec![0; len + Self::PAGE];
        let start = memory.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Ok(Self { memory, start, len })
    }

    /// At least `len` bytes, which are new ones if there were fewer.
    pub(super) fn reserve(&mut self, len: usize) -> io::Result<()> {
        if self.len < len {
            // What there is goes first.
            *self = Self::default();
            *self = Self::new(len)?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
