//! MySQL's caching_sha2_password: `$A$005$salt+digest`, with thousands of rounds in three
//! hexadecimal digits, a salt of 20 bytes, and nothing between it and the 43 digits. It is crypt(3)
//! with SHA-256 except that crypt(3) takes only 16 bytes of a salt.
//!
//! A salt may have any character, so a setting has it in hexadecimal digits: `$A$005*` and 40
//! digits.

use std::fmt;
use std::iter::repeat_n;

use base64ct::{Base64ShaCrypt, Encoding};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha2::{Digest, Sha256};

use super::{Foreign, Setting, without_zeros};
use crate::error::Error;
use crate::scheme::Scheme;

const PREFIX: &str = "$A$";
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SALT: usize = 20;
/// Characters of the digest.
const DIGEST: usize = 43;
/// Bytes of a digest.
const BYTES: usize = 32;

#[derive(Clone)]
struct CachingSha2 {
    thousands: u32,
    salt: [u8; SALT],
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let rest = text.strip_prefix(PREFIX)?;
    let expected = "three hexadecimal digits, $, 20 bytes of salt and 43 digits";
    Some(fields(rest).ok_or(Error::malformed("caching_sha2_password string", expected)))
}

fn fields(rest: &str) -> Option<Foreign> {
    let (rounds, rest) = rest.split_once('$')?;
    let thousands = rounds_of(rounds)?;
    let (salt, digest) = rest.split_at_checked(SALT)?;
    let digits = digest.len() == DIGEST && digest.bytes().all(|c| DIGITS.contains(&c));
    let salt = salt.as_bytes().try_into().ok()?;
    digits.then(|| Foreign::new(CachingSha2 { thousands, salt }, digest))
}

fn rounds_of(digits: &str) -> Option<u32> {
    let upper = digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'A'..=b'F'));
    let number = (digits.len() == 3 && upper).then(|| u32::from_str_radix(digits, 16).ok());
    number.flatten().filter(|thousands| *thousands > 0)
}

pub(super) fn complete(text: &str) -> Option<String> {
    let (rounds, salt) = text.strip_prefix(PREFIX)?.split_once('*')?;
    let salt = String::from_utf8(base16ct::lower::decode_vec(salt).ok()?).ok()?;
    Some(format!("{PREFIX}{rounds}${salt}{}", ".".repeat(DIGEST)))
}

impl fmt::Display for CachingSha2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let salt = base16ct::lower::encode_string(&self.salt);
        write!(f, "{PREFIX}{:03X}*{salt}", self.thousands)
    }
}

impl Setting for CachingSha2 {
    fn scheme(&self) -> Scheme {
        Scheme::ShaCrypt
    }

    /// As for `$5$`.
    fn cost(&self, password: usize) -> Task {
        let (rounds, password) = (u64::from(self.thousands) * 1000, password as u64);
        let rounds = (rounds + 300).saturating_mul(password.saturating_mul(6).saturating_add(400));
        let before = password.saturating_mul(password).saturating_mul(6);
        Task { memory: 4 << 10, work: rounds.saturating_add(before) }
    }

    fn salt(&self) -> usize {
        SALT
    }

    fn unsalted(&self) -> String {
        CachingSha2 { salt: [b'.'; SALT], ..*self }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let (password, salt) = (without_zeros(password)?, &self.salt[..]);
        let first = digest([password, salt, password]);
        let mut hash = Sha256::new().chain_update(password).chain_update(salt);
        password.chunks(BYTES).for_each(|chunk| hash.update(&first[..chunk.len()]));
        // The bits of the length, from the lowest.
        let mut length = password.len();
        while length > 0 {
            hash.update(if length & 1 == 1 { &first[..] } else { password });
            length >>= 1;
        }
        let mut last = Zeroizing::new(<[u8; BYTES]>::from(hash.finalize()));
        let of_password = stretched(&digest(repeat_n(password, password.len())), password.len());
        let of_salt = stretched(&digest(repeat_n(salt, 16 + usize::from(last[0]))), SALT);
        for round in 0..self.thousands * 1000 {
            let odd = round & 1 == 1;
            last = digest([
                if odd { &of_password[..] } else { &last[..] },
                if round % 3 == 0 { &[] } else { &of_salt },
                if round % 7 == 0 { &[] } else { &of_password },
                if odd { &last[..] } else { &of_password },
            ]);
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES));
        let mut at = [0, 10, 20];
        for _ in 0..BYTES / 3 {
            bytes.extend(at.iter().rev().map(|at| last[at % 30]));
            at = [at[2] + 1, at[0] + 1, at[1] + 1];
        }
        bytes.extend(&last[30..]);
        Ok(Zeroizing::new(Base64ShaCrypt::encode_string(&bytes)))
    }
}

/// The digest of several texts, one after the other.
fn digest<'t>(parts: impl IntoIterator<Item = &'t [u8]>) -> Zeroizing<[u8; BYTES]> {
    let hash = parts.into_iter().fold(Sha256::new(), |hash, part| hash.chain_update(part));
    Zeroizing::new(hash.finalize().into())
}

/// This many bytes: the digest, repeated.
fn stretched(digest: &[u8; BYTES], length: usize) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    bytes.extend(digest.iter().cycle().take(length));
    bytes
}
