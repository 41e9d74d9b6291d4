//! The md5crypt of Apache's htpasswd: `$apr1$salt$digest`, a thousand rounds of MD5.

use std::fmt;

use base64ct::{Base64ShaCrypt, Encoding};
use md5::{Digest, Md5};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;

use super::{Foreign, Setting};
use crate::error::Error;
use crate::scheme::Scheme;

const PREFIX: &str = "$apr1$";
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The longest salt.
const SALT: usize = 8;
/// Characters of the digest.
const DIGEST: usize = 22;
const ROUNDS: usize = 1000;

#[derive(Clone)]
struct Apr1 {
    salt: String,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let rest = text.strip_prefix(PREFIX)?;
    let expected = "a salt of at most 8 characters, $ and 22 digits";
    Some(fields(rest).ok_or(Error::malformed("Apache md5crypt string", expected)))
}

fn fields(rest: &str) -> Option<Foreign> {
    let (salt, digest) = rest.split_once('$')?;
    let plain = |c: u8| c.is_ascii_graphic() && c != b':';
    let digits = digest.len() == DIGEST && digest.bytes().all(|c| DIGITS.contains(&c));
    let fits = salt.len() <= SALT && salt.bytes().all(plain);
    (digits && fits).then(|| Foreign::new(Apr1 { salt: salt.to_owned() }, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    text.starts_with(PREFIX).then(|| format!("{text}${}", ".".repeat(DIGEST)))
}

impl fmt::Display for Apr1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.salt)
    }
}

impl Setting for Apr1 {
    fn scheme(&self) -> Scheme {
        Scheme::Apr1
    }

    /// As for md5crypt of libcrypt.
    fn cost(&self, password: usize) -> Task {
        let bytes = (password as u64).saturating_mul(10_000);
        Task { memory: 4 << 10, work: bytes.saturating_add(450_000) }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        Apr1 { salt: ".".repeat(self.salt.len()) }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let salt = self.salt.as_bytes();
        let of = |hash: Md5| Zeroizing::new(<[u8; 16]>::from(hash.finalize()));
        let other = of(Md5::new().chain_update(password).chain_update(salt).chain_update(password));
        let mut hash = Md5::new().chain_update(password).chain_update(PREFIX).chain_update(salt);
        password.chunks(other.len()).for_each(|chunk| hash.update(&other[..chunk.len()]));
        // The bits of the length, from the lowest: a zero byte for 1, the first character for 0.
        let mut length = password.len();
        while length > 0 {
            hash.update(if length & 1 == 1 { &[0] } else { &password[..1] });
            length >>= 1;
        }
        let mut digest = of(hash);
        for round in 0..ROUNDS {
            let mut hash = Md5::new();
            hash.update(if round & 1 == 1 { password } else { &digest[..] });
            hash.update(if round % 3 == 0 { &[][..] } else { salt });
            hash.update(if round % 7 == 0 { &[][..] } else { password });
            hash.update(if round & 1 == 1 { &digest[..] } else { password });
            digest = of(hash);
        }
        // Three bytes for four digits, the last of them first.
        let order = [12, 6, 0, 13, 7, 1, 14, 8, 2, 15, 9, 3, 5, 10, 4, 11];
        let bytes = Zeroizing::new(order.map(|at| digest[at]));
        Ok(Zeroizing::new(Base64ShaCrypt::encode_string(&*bytes)))
    }
}
