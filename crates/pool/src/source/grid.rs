//! An image in pieces of one size, as it is read and checked, and which of them a block lies in.

/// How an image is cut into pieces, which are read and checked as wholes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Bytes in the image.
    pub size: u64,
    /// Bytes in a piece, a power of two. The last one may reach beyond the image.
    pub piece: usize,
}

/// The pieces that contain some bytes of an image, which begin `skip` bytes into them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where in the image the first piece begins.
    pub offset: u64,
    /// Bytes of all pieces.
    pub len: usize,
    /// Bytes before the bytes in question.
    pub skip: usize,
    /// How many of the bytes are in the image: a piece at its end may reach beyond it.
    pub extent: usize,
}

impl Grid {
    /// The window around `len` bytes from `start` on.
    #[must_use]
    pub fn around(&self, start: u64, len: usize) -> Window {
        let piece = self.piece as u64;
        let offset = start - start % piece;
        let end = start.saturating_add(len as u64);
        let end = end.checked_next_multiple_of(piece).unwrap_or(u64::MAX);
        let extent = (end.min(self.size).max(offset) - offset) as usize;
        Window { offset, len: (end - offset) as usize, skip: (start - offset) as usize, extent }
    }

    /// The window around block `j` of `len` bytes.
    #[must_use]
    pub fn block(&self, j: u64, len: usize) -> Window {
        self.around(j.saturating_mul(len as u64), len)
    }

    /// The length of the longest window around a block of `len` bytes.
    #[must_use]
    pub fn longest(&self, len: usize) -> usize {
        // Blocks begin at multiples of this in a piece.
        let grain = 1 << self.piece.trailing_zeros().min(len.trailing_zeros());
        let reach = len.saturating_add(self.piece - grain);
        reach.checked_next_multiple_of(self.piece).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_window_is_that_of_the_worst_place() {
        let cases = [
            (1024, 128),
            (1024, 1024),
            (1024, 1536),
            (4096, 12_288),
            (8192, 12_288),
            (65_536, 384),
        ];
        for (piece, len) in cases {
            let grid = Grid { size: 4096 * len as u64, piece };
            let most = (0..4096).map(|j| grid.block(j, len).len).max().unwrap();
            assert_eq!(grid.longest(len), most, "{len} in {piece}");
        }
    }

    #[test]
    fn windows_end_with_the_image() {
        let grid = Grid { size: 2560, piece: 1024 };
        assert_eq!(grid.block(4, 512), Window { offset: 2048, len: 1024, skip: 0, extent: 512 });
        assert_eq!(
            grid.around(1000, 48),
            Window { offset: 0, len: 2048, skip: 1000, extent: 2048 }
        );
        assert_eq!(grid.block(u64::MAX, 512).extent, 0);
    }
}
