//! The pieces of crypt(3) strings (section 19): digits, numbers of fixed and of variable width,
//! byte strings.

use alloc::vec::Vec;

use crate::Error;

const NOT_A_DIGIT: Error = Error::malformed("a digit from ./0-9A-Za-z");

/// Of a character that is no digit.
const NO_DIGIT: u32 = u32::MAX;

/// The value of a digit. Hashes are decoded with it: no branch and no address depends on the
/// character.
fn value(character: u8) -> u32 {
    let character = i32::from(character);
    // One more than the value in this range of characters, 0 outside it.
    let within = |first: u8, last: u8, value: i32| {
        let (first, last) = (i32::from(first), i32::from(last));
        ((first - 1 - character) & (character - 1 - last)) >> 31 & (character - first + value + 1)
    };
    let more = within(b'.', b'9', 0) | within(b'A', b'Z', 12) | within(b'a', b'z', 38);
    (more as u32).wrapping_sub(1)
}

/// The digit of a value below 64, likewise.
fn character(value: u32) -> u8 {
    // What lies between two ranges of characters is left out from the first value of the next on.
    let skipped = |first: u32, characters: u32| (first.wrapping_sub(value + 1) >> 31) * characters;
    let after_9 = u32::from(b'A' - b'9' - 1);
    let after_z = u32::from(b'a' - b'Z' - 1);
    (u32::from(b'.') + value + skipped(12, after_9) + skipped(38, after_z)) as u8
}

/// The value of a digit that is not secret.
pub(crate) fn digit(character: u8) -> Option<u32> {
    Some(value(character)).filter(|value| *value != NO_DIGIT)
}

/// How leading digits encode variable-length numbers: the first digit of a range, digits in the
/// range, digits that follow.
const RANGES: [(u32, u32, u32); 6] =
    [(0, 48, 0), (48, 8, 1), (56, 4, 2), (60, 2, 3), (62, 1, 4), (63, 1, 5)];

/// A reader of the parameter part of a string.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Reader { rest: text }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes `text` if it comes next.
    pub(crate) fn accept(&mut self, text: &[u8]) -> bool {
        self.rest.strip_prefix(text).map(|rest| self.rest = rest).is_some()
    }

    pub(crate) fn digit(&mut self) -> Result<u32, Error> {
        let (first, rest) =
            self.rest.split_first().ok_or(Error::malformed("more digits, not the end"))?;
        self.rest = rest;
        digit(*first).ok_or(NOT_A_DIGIT)
    }

    /// A number of 30 bits in five digits, least significant first.
    pub(crate) fn fixed30(&mut self) -> Result<u32, Error> {
        let mut value = 0;
        for shift in (0..30).step_by(6) {
            value |= self.digit()? << shift;
        }
        Ok(value)
    }

    /// A variable-length number of at least `least`.
    pub(crate) fn number(&mut self, least: u32) -> Result<u32, Error> {
        let lead = self.digit()?;
        let mut value = least;
        for (first, count, tail) in RANGES {
            if lead < first + count {
                let mut offset = lead - first;
                for _ in 0..tail {
                    offset = offset << 6 | self.digit()?;
                }
                return Ok(value + offset);
            }
            value += count << (6 * tail);
        }
        Err(NOT_A_DIGIT)
    }
}

/// Appends a number of `bits` bits, least significant digit first.
pub(crate) fn push_fixed(text: &mut Vec<u8>, value: u32, bits: u32) {
    for shift in (0..bits).step_by(6) {
        text.push(character(value >> shift & 63));
    }
}

/// Appends a variable-length number of at least `least`.
pub(crate) fn push_number(
    text: &mut Vec<u8>,
    name: &'static str,
    value: u64,
    least: u32,
) -> Result<(), Error> {
    let refused =
        Error::invalid(name, value, "small enough for a string, and not below its minimum");
    let mut offset = value.checked_sub(least.into()).ok_or(refused)?;
    for (first, count, tail) in RANGES {
        let span = u64::from(count) << (6 * tail);
        if offset < span {
            let lead = first + (offset >> (6 * tail)) as u32;
            text.push(character(lead));
            for k in (0..tail).rev() {
                text.push(character((offset >> (6 * k) & 63) as u32));
            }
            return Ok(());
        }
        offset -= span;
    }
    Err(refused)
}

/// Appends a byte string.
pub(crate) fn push_bytes(text: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let value = group.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        push_fixed(text, value, 8 * group.len() as u32);
    }
}

/// Decodes a byte string of at most `limit` bytes, all of `text`. Each byte string has exactly one
/// encoding.
pub(crate) fn bytes(text: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    if text.len() > 4 * limit.div_ceil(3) {
        return Err(Error::malformed("a shorter salt or hash"));
    }
    let mut decoded = Vec::with_capacity(limit.min(3 * text.len().div_ceil(4)));
    let faults = decode(text, &mut decoded);
    if faults.others != 0 {
        return Err(NOT_A_DIGIT);
    }
    if faults.stray != 0 {
        return Err(Error::malformed("a byte string whose last digit has no stray bits"));
    }
    if decoded.len() > limit {
        return Err(Error::malformed("a shorter salt or hash"));
    }
    Ok(decoded)
}

/// What is wrong with a byte string, if these are not 0.
struct Faults {
    /// Bits of characters that are no digits.
    others: u32,
    /// Bits behind the last byte.
    stray: u32,
}

/// Decodes; no branch and no address depends on what the characters are.
fn decode(text: &[u8], decoded: &mut Vec<u8>) -> Faults {
    let mut faults = Faults { others: 0, stray: 0 };
    for group in text.chunks(4) {
        let mut bits = 0;
        for (shift, character) in (0..).step_by(6).zip(group) {
            let value = value(*character);
            faults.others |= value & !63;
            bits |= (value & 63) << shift;
        }
        let len = group.len() * 6 / 8;
        // One digit alone is not enough for a byte.
        faults.stray |= if len == 0 { 1 } else { bits >> (8 * len) };
        decoded.extend_from_slice(&bits.to_le_bytes()[..len]);
    }
    faults
}

#[cfg(test)]
mod tests {
    use saltern_testing::secrecy;

    use super::*;

    #[test]
    fn digits_are_numbered_in_order_and_nothing_else_is_one() {
        let digits = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (value, digit) in (0..).zip(digits) {
            assert_eq!(super::digit(*digit), Some(value));
            assert_eq!(character(value), *digit);
        }
        assert_eq!((0..=255).filter(|c| digit(*c).is_some()).count(), 64);
    }

    #[test]
    fn secrecy_of_a_hash_that_is_encoded_and_decoded() {
        let mut hash: Vec<u8> = (0..32_u32).map(|i| (i * 37) as u8).collect();
        secrecy::hide(&mut hash);
        let (mut text, mut decoded) = (Vec::new(), Vec::new());
        let leaks = secrecy::leaks(|| {
            push_bytes(&mut text, &hash);
            let Faults { others, stray } = decode(&text, &mut decoded);
            assert_eq!(secrecy::reveal(others | stray), 0);
        });
        assert_eq!(leaks, 0);
        let same = hash.iter().zip(&decoded).fold(0, |differ, (a, b)| differ | (a ^ b));
        assert_eq!((secrecy::reveal(same), decoded.len()), (0, 32));
    }

    #[test]
    fn numbers_round_trip_at_every_edge() {
        for value in [
            0,
            47,
            48,
            559,
            560,
            16943,
            16944,
            541_231,
            541_232,
            17_318_447,
            17_318_448,
            1_091_060_271,
        ] {
            for least in [0, 1, 2] {
                let mut text = Vec::new();
                push_number(&mut text, "x", value + u64::from(least), least).unwrap();
                let mut reader = Reader::new(&text);
                assert_eq!(u64::from(reader.number(least).unwrap()), value + u64::from(least));
                assert!(reader.rest().is_empty());
            }
        }
        assert!(push_number(&mut Vec::new(), "x", 1_091_060_272, 0).is_err());
        assert!(push_number(&mut Vec::new(), "x", 0, 1).is_err());
    }

    #[test]
    fn byte_strings_round_trip_and_are_unique() {
        for len in 0..70 {
            let data: Vec<u8> = (0..len).map(|i| (i * 37 + len) as u8).collect();
            let mut text = Vec::new();
            push_bytes(&mut text, &data);
            assert_eq!(bytes(&text, 64).ok(), (len <= 64).then_some(data));
        }
        for wrong in ["a", "aaaaa", "..2", ".2", "zz", "a~", "zzz", "a$b."] {
            let outcome = bytes(wrong.as_bytes(), 64);
            assert_eq!(outcome.is_ok(), wrong == "..2", "{wrong}");
        }
    }
}
