//! A buffered reader whose buffer is wiped: passwords pass through it.

use std::io::{self, BufRead, Read};

use saltern_wipe::{Zeroize, Zeroizing};

const BUFFER: usize = 64 << 10;

/// Like [`io::BufReader`], but data is wiped from memory once it is consumed.
pub(super) struct WipedReader<R> {
    input: R,
    buffer: Zeroizing<Vec<u8>>,
    /// The unread data.
    start: usize,
    end: usize,
}

impl<R: Read> WipedReader<R> {
    pub(super) fn new(input: R) -> Self {
        WipedReader { input, buffer: Zeroizing::new(vec![0; BUFFER]), start: 0, end: 0 }
    }
}

impl<R: Read> BufRead for WipedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, self.input.read(&mut self.buffer)?);
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, amount: usize) {
        let end = (self.start + amount).min(self.end);
        self.buffer[self.start..end].zeroize();
        self.start = end;
    }
}

impl<R: Read> Read for WipedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_once_and_in_order() {
        let bytes: Vec<u8> = (0..3 * BUFFER + 7).map(|i| (i % 251) as u8).collect();
        let mut reader = WipedReader::new(&bytes[..]);
        let mut found = Vec::new();
        reader.read_until(200, &mut found).unwrap();
        assert_eq!(found.len(), 201);
        reader.read_to_end(&mut found).unwrap();
        assert!(found == bytes);
    }
}
