//! phpass: `$P$`, a digit of the logarithm of the rounds, 8 characters of salt and 22 digits of an
//! iterated MD5; `$H$` is the same. Drupal 7: `$S$` and 43 digits of an iterated SHA-512, of which
//! the rest is left out; behind `U$S$`, the password is the MD5 of the password in hexadecimal
//! digits.

use std::fmt;

use base64ct::{Base64ShaCrypt, Encoding};
use md5::Md5;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha2::{Digest, Sha512};

use super::{Foreign, Setting};
use crate::error::Error;
use crate::scheme::Scheme;

const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Logarithms of the rounds that the programs accept.
const ROUNDS: std::ops::RangeInclusive<usize> = 7..=30;
const SALT: usize = 8;

#[derive(Clone, Copy)]
struct Variant {
    prefix: &'static str,
    hash: fn(&[&[u8]]) -> Zeroizing<Vec<u8>>,
    /// Characters of the digest.
    digits: usize,
    /// Units of work for a round, and for each byte of the password in it.
    round: u64,
    byte: u64,
    over_md5: bool,
}

const MD5: Variant =
    Variant { prefix: "$P$", hash: hash::<Md5>, digits: 22, round: 400, byte: 6, over_md5: false };
const DRUPAL: Variant = Variant {
    prefix: "$S$",
    hash: hash::<Sha512>,
    digits: 43,
    round: 1600,
    byte: 26,
    over_md5: false,
};
const VARIANTS: [Variant; 4] = [
    MD5,
    Variant { prefix: "$H$", ..MD5 },
    DRUPAL,
    Variant { prefix: "U$S$", over_md5: true, ..DRUPAL },
];

#[derive(Clone)]
struct Phpass {
    variant: Variant,
    /// The logarithm of the rounds.
    rounds: usize,
    salt: String,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let known = |one: Variant| Some((one, text.strip_prefix(one.prefix)?));
    let (variant, rest) = VARIANTS.into_iter().find_map(known)?;
    let expected = "5 to S for 2^7 to 2^30 rounds, 8 characters of salt, and the digest";
    Some(fields(variant, rest).ok_or(Error::malformed("phpass string", expected)))
}

fn fields(variant: Variant, rest: &str) -> Option<Foreign> {
    let (rounds, rest) = rest.split_at_checked(1)?;
    let (salt, digest) = rest.split_at_checked(SALT)?;
    let rounds = DIGITS.iter().position(|digit| [*digit] == rounds.as_bytes())?;
    let plain = |c: u8| c.is_ascii_graphic() && c != b'$' && c != b':';
    let digits = digest.bytes().all(|c| DIGITS.contains(&c));
    let whole = digest.len() == variant.digits && digits && salt.bytes().all(plain);
    let setting = Phpass { variant, rounds, salt: salt.to_owned() };
    (whole && ROUNDS.contains(&rounds)).then(|| Foreign::new(setting, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let variant = VARIANTS.into_iter().find(|one| text.starts_with(one.prefix))?;
    Some(format!("{text}{}", ".".repeat(variant.digits)))
}

impl fmt::Display for Phpass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = DIGITS.get(self.rounds).copied().unwrap_or_default();
        write!(f, "{}{}{}", self.variant.prefix, char::from(rounds), self.salt)
    }
}

/// The digest of several texts, one after the other.
fn hash<D: Digest>(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let hash = parts.iter().fold(D::new(), |hash, part| hash.chain_update(part));
    Zeroizing::new(hash.finalize().to_vec())
}

impl Setting for Phpass {
    fn scheme(&self) -> Scheme {
        Scheme::Phpass
    }

    /// Each round absorbs a digest and the password.
    fn cost(&self, password: usize) -> Task {
        let Variant { round, byte, .. } = self.variant;
        let round = byte.saturating_mul(password as u64).saturating_add(round);
        Task { memory: 4 << 10, work: round.saturating_mul(1 << self.rounds) }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        Phpass { salt: ".".repeat(SALT), ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let Variant { hash: of, digits, over_md5, .. } = self.variant;
        let inner = over_md5
            .then(|| Zeroizing::new(base16ct::lower::encode_string(&hash::<Md5>(&[password]))));
        let password = inner.as_ref().map_or(password, |inner| inner.as_bytes());
        let mut digest = of(&[self.salt.as_bytes(), password]);
        for _ in 0..1_u64 << self.rounds {
            digest = of(&[&digest, password]);
        }
        let mut text = Zeroizing::new(Base64ShaCrypt::encode_string(&digest));
        text.truncate(digits);
        Ok(text)
    }
}
