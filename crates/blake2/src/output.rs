//! A finished hash and its hexadecimal form.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::str::FromStr;

use saltern_simd::lanes::Word;
use subtle::{Choice, ConstantTimeEq};

use crate::error::Error;
use crate::function::{Function, State};

/// The most bytes in any output of fixed length.
const MAX_BYTES: usize = 64;

/// A finished hash: 1 to 64 bytes (BLAKE2b, BLAKE2bp) or 1 to 32 (BLAKE2s, BLAKE2sp).
///
/// The time of a comparison with `==`, to another hash or to bytes, depends only on the lengths, so
/// a keyed hash can be checked with it. `Debug` shows the bytes: a hash is not treated as secret.
///
/// ```
/// let hash = saltern_blake2::blake2s(b"abc");
/// assert!(hash == hash.as_bytes() && hash != [0; 32]);
/// assert!(hash.to_hex().starts_with("508c5e8c"));
/// ```
#[derive(Clone, Copy)]
pub struct Hash<V: Function> {
    bytes: [u8; MAX_BYTES],
    length: u8,
    variant: PhantomData<V>,
}

impl<V: Function> Hash<V> {
    /// The first `length` bytes of a state; `length` is at most `V::OUT_BYTES`.
    pub(crate) fn from_state(h: &State<V>, length: u8) -> Self {
        let mut bytes = [0; MAX_BYTES];
        V::Word::write(h, &mut bytes);
        Self { bytes, length, variant: PhantomData }
    }

    /// The hash, with the length that was asked for.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The hash in lower-case hexadecimal, two characters for each byte.
    #[must_use]
    pub fn to_hex(self) -> HexString {
        let mut digits = [0; 2 * MAX_BYTES];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.as_bytes()) {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        HexString { digits, length: 2 * self.length }
    }
}

/// A hash from elsewhere, from 1 byte up to the function's full length; other lengths do not
/// compile.
impl<V: Function, const N: usize> From<[u8; N]> for Hash<V> {
    fn from(hash: [u8; N]) -> Self {
        const { assert!(N > 0 && N <= V::OUT_BYTES, "no such hash length") };
        let mut bytes = [0; MAX_BYTES];
        bytes[..N].copy_from_slice(&hash);
        Self { bytes, length: N as u8, variant: PhantomData }
    }
}

/// A hash from elsewhere in hexadecimal, in either case.
///
/// # Errors
/// [`Error::Hex`] for anything but an even number of digits, for 1 byte up to the function's full
/// length.
impl<V: Function> FromStr for Hash<V> {
    type Err = Error;

    fn from_str(digits: &str) -> Result<Self, Error> {
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let error = Error::Hex { digits: digits.len(), max: 2 * V::OUT_BYTES };
        if pairs.is_empty() || pairs.len() > V::OUT_BYTES || !rest.is_empty() {
            return Err(error);
        }
        let value = |digit: u8| char::from(digit).to_digit(16).ok_or(error);
        let mut bytes = [0; MAX_BYTES];
        for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (value(high)? << 4 | value(low)?) as u8;
        }
        Ok(Self { bytes, length: pairs.len() as u8, variant: PhantomData })
    }
}

impl<V: Function> fmt::LowerHex for Hash<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_hex())
    }
}

impl<V: Function> fmt::UpperHex for Hash<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hex = self.to_hex();
        hex.digits.make_ascii_uppercase();
        f.pad(&hex)
    }
}

impl<V: Function> AsRef<[u8]> for Hash<V> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<V: Function> fmt::Debug for Hash<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.to_hex())
    }
}

impl<V: Function> ConstantTimeEq for Hash<V> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.as_bytes().ct_eq(other.as_bytes())
    }
}

impl<V: Function> PartialEq for Hash<V> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl<V: Function> Eq for Hash<V> {}

impl<V: Function> PartialEq<[u8]> for Hash<V> {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_bytes().ct_eq(other).into()
    }
}

impl<V: Function> PartialEq<&[u8]> for Hash<V> {
    fn eq(&self, other: &&[u8]) -> bool {
        *self == **other
    }
}

impl<V: Function, const N: usize> PartialEq<[u8; N]> for Hash<V> {
    fn eq(&self, other: &[u8; N]) -> bool {
        *self == other[..]
    }
}

/// A hash in hexadecimal, without allocation. Displays as, and dereferences to, the string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HexString {
    digits: [u8; 2 * MAX_BYTES],
    length: u8,
}

impl HexString {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.digits[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl Deref for HexString {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for HexString {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for HexString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for HexString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
