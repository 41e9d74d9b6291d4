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
//!
//! Some programs give bcrypt a digest of the password instead, so that all of it counts:
//!
//! ```text
//! bcrypt_sha256$$2b$12$…                    Django: SHA-256 in hexadecimal digits
//! $wp$2y$10$…                               WordPress: HMAC-SHA-384 in base 64
//! $bcrypt-sha256$v=2,t=2b,r=12$salt$digest  passlib: HMAC-SHA-256 with the salt, in base 64
//! $bcrypt-sha256$2b,12$salt$digest          passlib before 1.7.3: SHA-256 in base 64
//! ```

use std::fmt;

use base64ct::{Base64, Base64Bcrypt, Encoding};
use blowfish::Blowfish;
use hmac::{Hmac, KeyInit, Mac};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha2::{Digest, Sha256, Sha384};

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

/// What bcrypt is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Password,
    Django,
    WordPress,
    /// Of this version.
    Passlib(u8),
}

#[derive(Clone)]
struct Bcrypt {
    over: Over,
    variant: u8,
    cost: u32,
    /// As written in the string.
    salt: String,
}

/// What is before the string of bcrypt in the forms of Django and WordPress, and which one it is.
const BEFORE: [(&str, Over); 2] = [("bcrypt_sha256$", Over::Django), ("$wp", Over::WordPress)];
const PASSLIB: &str = "$bcrypt-sha256$";

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    if let Some(rest) = text.strip_prefix(PASSLIB) {
        let expected = "v=2,t=2b,r=COST$, 22 digits of salt, $, and 31 of the digest";
        return Some(passlib(rest).ok_or(Error::malformed("bcrypt-sha256 string", expected)));
    }
    let before = BEFORE.into_iter().find_map(|(head, over)| Some((text.strip_prefix(head)?, over)));
    let (text, over) = before.unwrap_or((text, Over::Password));
    let rest = text.strip_prefix("$2")?;
    let (&variant, b'$') = (rest.as_bytes().first()?, rest.as_bytes().get(1)?) else { return None };
    if !b"abxy".contains(&variant) {
        return None;
    }
    let expected = "two digits of the cost (04 to 31), $, 22 digits of salt and 31 of the digest";
    let (setting, digest) = text.split_at_checked(SETTING).unwrap_or((text, ""));
    let found = setting.get(4..).and_then(|rest| rest.split_once('$'));
    let found = found.and_then(|(cost, salt)| fields((over, variant), cost, salt, digest));
    Some(found.ok_or(Error::malformed("bcrypt string", expected)))
}

fn passlib(rest: &str) -> Option<Foreign> {
    let (version, rest) = match rest.strip_prefix("v=2,t=") {
        Some(rest) => (2, rest.replacen(",r=", ",", 1)),
        None => (1, rest.to_owned()),
    };
    let (head, digest) = rest.rsplit_once('$')?;
    let (head, salt) = head.split_once('$')?;
    let (variant, cost) = head.split_once(',')?;
    let variant = match variant {
        "2a" if version == 1 => b'a',
        "2b" => b'b',
        _ => return None,
    };
    // Here the cost has no leading zero.
    let cost = super::decimal(cost).map(|cost| format!("{cost:02}"))?;
    fields((Over::Passlib(version), variant), &cost, salt, digest)
}

fn fields((over, variant): (Over, u8), cost: &str, salt: &str, digest: &str) -> Option<Foreign> {
    let two = cost.len() == 2 && cost.bytes().all(|c| c.is_ascii_digit());
    let cost = two.then(|| cost.parse().ok()).flatten().filter(|cost| (4..=31).contains(cost))?;
    let digits = |text: &str| text.bytes().all(|c| DIGITS.contains(&c));
    let whole = salt.len() == 22 && digest.len() == DIGEST && digits(salt) && digits(digest);
    let setting = Bcrypt { over, variant, cost, salt: salt.to_owned() };
    whole.then(|| Foreign::new(setting, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let digest = ".".repeat(DIGEST);
    if text.starts_with(PASSLIB) {
        return Some(format!("{text}${digest}"));
    }
    let before = BEFORE.iter().find_map(|(head, _)| text.strip_prefix(head));
    let inner = before.unwrap_or(text);
    (inner.starts_with("$2") && inner.len() == SETTING).then(|| text.to_owned() + &digest)
}

impl fmt::Display for Bcrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bcrypt { over, variant, cost, salt } = self;
        let variant = char::from(*variant);
        if let Over::Passlib(version) = over {
            return match version {
                1 => write!(f, "{PASSLIB}2{variant},{cost}${salt}"),
                _ => write!(f, "{PASSLIB}v={version},t=2{variant},r={cost}${salt}"),
            };
        }
        let before = BEFORE.iter().find(|(_, of)| of == over).map_or("", |(head, _)| head);
        write!(f, "{before}$2{variant}${cost:02}${salt}")
    }
}

impl Over {
    /// What bcrypt is given for a password.
    fn of(self, password: &[u8], salt: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let text = |digest: &[u8]| Zeroizing::new(Base64::encode_string(digest).into_bytes());
        let bytes = |digest: &[u8]| Zeroizing::new(digest.to_vec());
        Ok(match self {
            Over::Password => bytes(without_zeros(password)?),
            Over::Django => {
                let digest = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(password)));
                Zeroizing::new(base16ct::lower::encode_string(&*digest).into_bytes())
            }
            Over::WordPress => {
                let mac = <Hmac<Sha384> as KeyInit>::new_from_slice(b"wp-sha384");
                let mac = mac.map_err(|_| FAILED)?.chain_update(password);
                text(&bytes(&mac.finalize().into_bytes()))
            }
            Over::Passlib(1) => text(&*Zeroizing::new(<[u8; 32]>::from(Sha256::digest(password)))),
            Over::Passlib(_) => {
                let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(salt.as_bytes());
                let mac = mac.map_err(|_| FAILED)?.chain_update(password);
                text(&bytes(&mac.finalize().into_bytes()))
            }
        })
    }
}

const FAILED: Error = Error::Failed { scheme: Scheme::Bcrypt, why: "HMAC refused a key" };

impl Setting for Bcrypt {
    fn scheme(&self) -> Scheme {
        Scheme::Bcrypt
    }

    fn is_of_c_strings(&self) -> bool {
        self.over == Over::Password
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
        let password = self.over.of(password, &self.salt)?;
        let Keys { first, rest } = keys(self.variant, &password);
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
