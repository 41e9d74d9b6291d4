//! Memory to read into.

/// Every read begins at a multiple of this, since input that straddles cache lines is hashed more slowly.
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
    pub(super) fn new(len: usize) -> Self {
        let memory = vec![0; len + Self::PAGE];
        let start = memory.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Self { memory, start, len }
    }

    /// At least `len` bytes, which are new ones if there were fewer.
    pub(super) fn reserve(&mut self, len: usize) {
        if self.len < len {
            *self = Self::new(len);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
