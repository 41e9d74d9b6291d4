//! Memory to read into.

use std::hint::black_box;
use std::io;

/// Every read begins at a multiple of this, since unaligned input is hashed more slowly.
pub(super) const LINE: usize = 64;

/// Zeroed, page-aligned memory. Pages that are never written take no memory.
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
    /// The system has no memory left.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        // An allocation can be zeroed, or fallible, but not both: try a fallible one first.
        let mut trial = Vec::<u8>::new();
        trial.try_reserve_exact(len + Self::PAGE).map_err(|_| io::ErrorKind::OutOfMemory)?;
        drop(black_box(trial));
        let memory = vec![0; len + Self::PAGE];
        let start = memory.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Ok(Self { memory, start, len })
    }

    /// At least `len` bytes; replaces the buffer if it is smaller.
    pub(super) fn reserve(&mut self, len: usize) -> io::Result<()> {
        if self.len < len {
            // Frees the old one first.
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
