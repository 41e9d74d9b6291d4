//! Lines of a stream as bytes, with bounded memory per line.

use std::io::{self, BufRead, Read};

/// The result of [`Lines::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, with its newline unless it is the last one and has none.
    Whole,
    /// The beginning of a line longer than the bound; the following calls return the rest of it.
    Start,
    /// A further piece of a long line.
    Middle,
    /// The last piece of a long line.
    End,
}

/// A stream read line by line.
pub(crate) struct Lines<R> {
    input: R,
    bound: usize,
    inside: bool,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines longer than `bound` bytes (at least 1) are returned in pieces of that size.
    pub(crate) fn new(input: R, bound: usize) -> Lines<R> {
        Lines { input, bound, inside: false, number: 0 }
    }

    /// The number of the last line, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Replace the content of `line` by the next line or piece of one; `None` at the end of the
    /// stream.
    pub(crate) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Line>> {
        line.clear();
        let bound = u64::try_from(self.bound).unwrap_or(u64::MAX);
        let read = self.input.by_ref().take(bound).read_until(b'\n', line)?;
        if read == 0 && !self.inside {
            return Ok(None);
        }
        let ended = read < self.bound || line.last() == Some(&b'\n');
        let kind = match (self.inside, ended) {
            (false, true) => Line::Whole,
            (false, false) => Line::Start,
            (true, false) => Line::Middle,
            (true, true) => Line::End,
        };
        if !self.inside {
            self.number += 1;
        }
        self.inside = !ended;
        Ok(Some(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], bound: usize) -> Vec<(u64, Line, Vec<u8>)> {
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
        for bound in 1..=text.len() + 1 {
            let found = all(text, bound);
            let joined: Vec<u8> = found.iter().flat_map(|(_, _, line)| line.clone()).collect();
            assert_eq!(joined, text, "bound {bound}");
            assert_eq!(found.last().unwrap().0, 5);
        }
    }

    #[test]
    fn long_lines_are_told_apart() {
        let found = all(b"ab\nabcdefgh\nc\n", 4);
        let kinds: Vec<_> = found.iter().map(|(number, kind, _)| (*number, *kind)).collect();
        let expected = [
            (1, Line::Whole),
            (2, Line::Start),
            (2, Line::Middle),
            (2, Line::End),
            (3, Line::Whole),
        ];
        assert_eq!(kinds, expected);
        // A last line of exactly the bound must end, too.
        assert_eq!(all(b"abcd", 4).last().unwrap().1, Line::End);
        assert_eq!(all(b"", 4), []);
    }
}
