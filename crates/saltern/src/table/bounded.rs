//! Lines of a stream as bytes, with bounded memory per line.

use std::io::{self, BufRead, Read};

/// The result of [`Lines::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A line, with its newline unless it is the last one and has none.
    Whole,
    /// The beginning of a line longer than the bound; the following calls return the rest of it.
    Start,
    /// A further piece of a long line, empty if the stream ends there.
    Rest,
}

/// A stream read line by line, into the caller's memory of at most `bound` bytes and a
/// newline, which the caller must wipe if lines contain passwords.
///
/// ```
/// use saltern::table::{Lines, Piece};
/// let (mut lines, mut line) = (Lines::new(&b"one\nthe second\nthree"[..], 5), Vec::new());
/// let mut found = Vec::new();
/// while let Some(piece) = lines.next(&mut line)? {
///     found.push((lines.number(), piece));
/// }
/// let long = [(2, Piece::Start), (2, Piece::Rest)];
/// assert_eq!(found, [&[(1, Piece::Whole)], &long[..], &[(3, Piece::Whole)]].concat());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    /// Bytes of a line with its newline.
    most: usize,
    inside: bool,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines longer than `bound` bytes, not counting the newline, are returned in pieces of one
    /// byte more.
    pub fn new(input: R, bound: usize) -> Self {
        Lines { input, most: bound.saturating_add(1), inside: false, number: 0 }
    }

    /// The number of the last line, counted from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Replaces the content of `line` by the next line or piece of one; `None` at the end of the
    /// stream.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Piece>> {
        line.clear();
        let read = self.input.by_ref().take(self.most as u64).read_until(b'\n', line)?;
        if read == 0 && !self.inside {
            return Ok(None);
        }
        let goes_on = read == self.most && !line.ends_with(b"\n");
        let piece = match (std::mem::replace(&mut self.inside, goes_on), goes_on) {
            (true, _) => Piece::Rest,
            (false, true) => Piece::Start,
            (false, false) => Piece::Whole,
        };
        self.number += u64::from(piece != Piece::Rest);
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], bound: usize) -> Vec<(u64, Piece, Vec<u8>)> {
        let (mut lines, mut line) = (Lines::new(text, bound), Vec::new());
        let mut found = Vec::new();
        while let Some(kind) = lines.next(&mut line).unwrap() {
            found.push((lines.number(), kind, line.clone()));
        }
        found
    }

    #[test]
    fn pieces_join_to_the_stream() {
        let text = b"short\n\nexactly8\na line that is too long for it\nend";
        for bound in 0..=text.len() {
            let found = all(text, bound);
            let joined: Vec<u8> = found.iter().flat_map(|(_, _, line)| line.clone()).collect();
            assert_eq!(joined, text, "bound {bound}");
            assert_eq!(found.last().unwrap().0, 5);
        }
    }

    #[test]
    fn long_lines_are_told_apart() {
        let found = all(b"abc\nabcdefgh\nc\n", 3);
        let kinds: Vec<_> = found.iter().map(|(number, kind, _)| (*number, *kind)).collect();
        let expected = [
            (1, Piece::Whole),
            (2, Piece::Start),
            (2, Piece::Rest),
            (2, Piece::Rest),
            (3, Piece::Whole),
        ];
        assert_eq!(kinds, expected);
        // Exactly the bound, with a newline and without; then one byte more, which must end, too.
        assert_eq!(
            all(b"abc\nabc", 3).iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>(),
            [Piece::Whole; 2]
        );
        assert_eq!(all(b"abcd", 3).last().unwrap().1, Piece::Rest);
        assert_eq!(all(b"", 3), []);
    }
}
