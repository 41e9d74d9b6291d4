//! bcrypt: `$2b$12$`, 22 digits of salt and 31 of the digest, with nothing in between.
//!
//! The four variants are those of libxcrypt. `$2b$` and `$2y$` are equal and correct. `$2a$` is
//! correct as well, except for a few passwords with bytes above 127 whose hash would equal that of
//! another password under `$2x$`: these are changed so that it does not. `$2x$` was made by a
//! program that treated such bytes as negative numbers; it exists to verify strings stored then.
//!
//! Of the key, which is the password and a zero byte repeated, the first 72 bytes count: so longer
//! passwords match by their beginning, as they did when the string was made. The update after a
//! match is a hash of the whole password.

use std::fmt;

use base64ct::{Base64Bcrypt, Encoding};
use blowfish::Blowfish;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;

use super::{Foreign, Setting, without_zeros};
use crate::error::Error;
use crate::scheme::Scheme;

/// The digits of a character, in order: neither those of crypt(3) nor those of base 64.
const DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Characters up to the digest.
const SETTING: usize = 29;
/// Characters of the digest.
const DIGEST: usize = 31;
/// Bytes of a key that count: 18 words.
const KEY: usize = 72;

#[derive(Clone)]
struct Bcrypt {
    variant: u8,
    cost: u32,
    /// As written in the string.
    salt: String,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let rest = text.strip_prefix("$2")?;
    let (&variant, b'$') = (rest.as_bytes().first()?, rest.as_bytes().get(1)?) else { return None };
    if !b"abxy".contains(&variant) {
        return None;
    }
    let expected = "two digits of the cost (04 to 31), $, 22 digits of salt and 31 of the digest";
    Some(fields(variant, text).ok_or(Error::malformed("bcrypt string", expected)))
}

fn fields(variant: u8, text: &str) -> Option<Foreign> {
    let (setting, digest) = text.split_at_checked(SETTING)?;
    let (cost, salt) = setting.get(4..)?.split_once('$')?;
    let two = cost.len() == 2 && cost.bytes().all(|c| c.is_ascii_digit());
    let cost = two.then(|| cost.parse().ok()).flatten().filter(|cost| (4..=31).contains(cost))?;
    let digits = |text: &str| text.bytes().all(|c| DIGITS.contains(&c));
    let whole = salt.len() == 22 && digest.len() == DIGEST && digits(salt) && digits(digest);
    let setting = Bcrypt { variant, cost, salt: salt.to_owned() };
    whole.then(|| Foreign::new(setting, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    (text.starts_with("$2") && text.len() == SETTING).then(|| text.to_owned() + &".".repeat(DIGEST))
}

impl fmt::Display for Bcrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$2{}${:02}${}", char::from(self.variant), self.cost, self.salt)
    }
}

impl Setting for Bcrypt {
    fn scheme(&self) -> Scheme {
        Scheme::Bcrypt
    }

    /// Each step enciphers 2 * 521 blocks.
    fn cost(&self, _: usize) -> Task {
        Task { memory: 4 << 10, work: 180_000 << self.cost }
    }

    fn salt(&self) -> usize {
        16
    }

    fn unsalted(&self) -> String {
        Bcrypt { salt: ".".repeat(22), ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let Keys { first, rest } = keys(self.variant, without_zeros(password)?);
        let salt = decode(self.salt.as_bytes());
        let mut state = Blowfish::bc_init_state();
        state.salted_expand_key(&salt, &*first);
        for _ in 0..1_u64 << self.cost {
            state.bc_expand_key(&*rest);
            state.bc_expand_key(&salt);
        }
        let mut digest = Zeroizing::new(Vec::with_capacity(24));
        for block in b"OrpheanBeholderScryDoubt".as_chunks::<8>().0 {
            let [a, b, c, d, e, f, g, h] = *block;
            let mut halves = [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])];
            (0..64).for_each(|_| halves = state.bc_encrypt(halves));
            halves.iter().for_each(|half| digest.extend(half.to_be_bytes()));
        }
        Ok(Zeroizing::new(Base64Bcrypt::encode_string(&digest[..23])))
    }
}

/// The 18 words of a key, as bytes: for the first step, and for all other steps.
struct Keys {
    first: Zeroizing<[u8; KEY]>,
    rest: Zeroizing<[u8; KEY]>,
}

/// As `BF_set_key` of crypt_blowfish 1.3 computes them.
fn keys(variant: u8, password: &[u8]) -> Keys {
    let mut bytes = password.iter().copied().chain([0]).cycle();
    let (mut rest, mut sign, mut differ) = (Zeroizing::new([0; KEY]), 0, 0);
    for word in rest.as_chunks_mut::<4>().0 {
        let (mut right, mut wrong) = (0_u32, 0_u32);
        for place in 0..4 {
            let byte = bytes.next().unwrap_or_default();
            right = right << 8 | u32::from(byte);
            // A byte above 127 overwrites what is before it with ones.
            wrong = wrong << 8 | i32::from(byte.cast_signed()).cast_unsigned();
            if place > 0 {
                sign |= wrong & 0x80;
            }
        }
        differ |= right ^ wrong;
        *word = if variant == b'x' { wrong } else { right }.to_be_bytes();
    }
    let mut first = rest.clone();
    if variant == b'a' {
        // If the bug makes no difference although there are such bytes, this does.
        differ |= differ >> 16;
        let differs = (differ & 0xffff).wrapping_add(0xffff);
        let change = sign << 9 & !differs & 0x10000;
        first.iter_mut().zip(change.to_be_bytes()).for_each(|(byte, change)| *byte ^= change);
    }
    Keys { first, rest }
}

/// The 16 bytes of a salt of 22 digits: the remaining bits of the last one are ignored.
fn decode(digits: &[u8]) -> [u8; 16] {
    let mut bytes = digits.chunks(4).flat_map(|four| {
        let value = |c: &u8| DIGITS.iter().position(|digit| digit == c).unwrap_or_default() as u32;
        let word = four.iter().fold(0, |word, c| word << 6 | value(c)) << (6 * (4 - four.len()));
        [(word >> 16) as u8, (word >> 8) as u8, word as u8]
    });
    std::array::from_fn(|_| bytes.next().unwrap_or_default())
}
