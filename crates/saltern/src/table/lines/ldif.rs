//! LDIF (RFC 2849): `userPassword: value`, or `userPassword:: ` and base 64, on one line or on
//! several, of which all but the first begin with a space.

use std::collections::VecDeque;
use std::io;

use super::{MAX_LINE, NumberedPiece, Piece, Place, Written};

/// The attribute that has the string, in any case, perhaps with options after a semicolon.
const ATTRIBUTE: &str = "userPassword";

/// Where the string is, if this is a line with a password.
pub(super) fn find(line: &[u8]) -> Option<Place> {
    let (name, base64, start) = attribute(line)?;
    let is_url = line.get(start - 1) == Some(&b'<');
    if is_url || !is_password(name) {
        return None;
    }
    let spaces = line[start..].iter().take_while(|c| **c == b' ').count();
    Some(Place {
        range: start + spaces..line.len(),
        written: Written::Ldif { base64 },
        ..Place::default()
    })
}

fn is_password(name: &[u8]) -> bool {
    let name = name.split(|c| *c == b';').next().unwrap_or_default();
    name.eq_ignore_ascii_case(ATTRIBUTE.as_bytes())
}

/// The name of an attribute, whether its value is in base 64, and where the value begins.
fn attribute(line: &[u8]) -> Option<(&[u8], bool, usize)> {
    let colon = line.iter().position(|c| *c == b':')?;
    let base64 = line.get(colon + 1) == Some(&b':');
    let mark = usize::from(matches!(line.get(colon + 1), Some(b':' | b'<')));
    Some((&line[..colon], base64, colon + 1 + mark))
}

/// Whether this is a line of LDIF, which would look like an account with or without a password:
/// `name:: value`, or `userPassword: value`.
pub(super) fn is_line(line: &[u8]) -> bool {
    attribute(line).is_some_and(|(name, base64, start)| {
        line.get(start) == Some(&b' ') && (base64 || is_password(name))
    })
}

/// Folded lines, put together, and the entries they are of.
#[derive(Default)]
pub(super) struct Unfolding {
    /// The line that may go on.
    held: Option<NumberedPiece>,
    ready: VecDeque<NumberedPiece>,
    /// Whether lines that begin with a space continue one that is too long.
    is_long: bool,
    /// The name of the entry.
    entry: Option<Vec<u8>>,
}

impl Unfolding {
    /// The next whole line, or a piece of one that is too long.
    pub(super) fn next(
        &mut self,
        read: &mut impl FnMut() -> Option<io::Result<NumberedPiece>>,
    ) -> Option<io::Result<NumberedPiece>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(Ok(self.named(ready)));
            }
            match read() {
                Some(Ok(next)) => self.take(next),
                // After an error the same is read again: the input has ended there.
                end if self.held.is_none() => return end,
                _ => self.ready.extend(self.held.take()),
            }
        }
    }

    fn take(&mut self, mut next: NumberedPiece) {
        let goes_on = next.line.starts_with(b" ") || next.piece == Piece::Rest;
        match self.held.as_mut().filter(|_| goes_on) {
            Some(held) => {
                let fits = held.line.len() + next.line.len() <= MAX_LINE;
                held.line.append(&mut next.line);
                if !fits || next.piece == Piece::Start {
                    (held.piece, self.is_long) = (Piece::Start, true);
                    self.ready.extend(self.held.take());
                }
            }
            None if goes_on && self.is_long => {
                next.piece = Piece::Rest;
                self.ready.push_back(next);
            }
            None => {
                self.ready.extend(self.held.take());
                self.is_long = next.piece == Piece::Start;
                if next.piece == Piece::Whole {
                    self.held = Some(next);
                } else {
                    self.ready.push_back(next);
                }
            }
        }
    }

    /// Remembers the name of an entry, and gives it to a line with a password.
    fn named(&mut self, mut piece: NumberedPiece) -> NumberedPiece {
        let line = piece.line.trim_ascii_end();
        match attribute(line) {
            None if line.is_empty() => self.entry = None,
            Some((name, base64, start)) if name.eq_ignore_ascii_case(b"dn") => {
                let value = Written::Ldif { base64 }.read(line[start..].trim_ascii_start());
                self.entry = value.map(|value| value.into_owned().into_bytes());
            }
            Some((name, ..)) if is_password(name) => piece.entry = self.entry.clone(),
            _ => {}
        }
        piece
    }
}
