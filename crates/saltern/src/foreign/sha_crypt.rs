//! crypt(3) with SHA-2: `$6$rounds=5000$salt$digest`; the rounds are left out if they are 5000.

use std::fmt;

use base64ct::{Base64ShaCrypt, Encoding};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::hazmat::crypt3::byte_refused_by_crypt;
use sha_crypt::{Params, sha256_crypt, sha512_crypt};

use super::{Foreign, Setting, decimal, without_zeros};
use crate::error::Error;
use crate::scheme::Scheme;

const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Longer salts are used up to this length.
const SALT: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha512,
}

#[derive(Clone)]
struct ShaCrypt {
    hash: Hash,
    /// If they are written.
    rounds: Option<u32>,
    salt: String,
}

impl Hash {
    fn of(text: &str) -> Option<(Self, &str)> {
        let strip = |prefix, hash| Some((hash, text.strip_prefix(prefix)?));
        strip("$5$", Hash::Sha256).or_else(|| strip("$6$", Hash::Sha512))
    }

    /// Characters of the digest.
    const fn digits(self) -> usize {
        match self {
            Hash::Sha256 => 43,
            Hash::Sha512 => 86,
        }
    }
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let (hash, rest) = Hash::of(text)?;
    let expected = "[rounds=1000 to 999999999$]a salt of at most 16 characters, $ and the digest";
    Some(fields(hash, rest).ok_or(Error::malformed("sha-crypt string", expected)))
}

fn fields(hash: Hash, rest: &str) -> Option<Foreign> {
    let (rounds, rest) = match rest.strip_prefix("rounds=") {
        Some(rest) => {
            let (rounds, rest) = rest.split_once('$')?;
            (Some(decimal(rounds).filter(|rounds| Params::new(*rounds).is_ok())?), rest)
        }
        None => (None, rest),
    };
    let (salt, digest) = rest.split_once('$')?;
    let plain = |c: u8| !byte_refused_by_crypt(c);
    let salt_fits = salt.len() <= SALT && salt.bytes().all(plain);
    let digest_fits = digest.len() == hash.digits() && digest.bytes().all(|c| DIGITS.contains(&c));
    let setting = ShaCrypt { hash, rounds, salt: salt.to_owned() };
    (salt_fits && digest_fits).then(|| Foreign::new(setting, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let (hash, _) = Hash::of(text)?;
    Some(format!("{text}${}", ".".repeat(hash.digits())))
}

impl fmt::Display for ShaCrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.hash == Hash::Sha256 { "$5$" } else { "$6$" })?;
        if let Some(rounds) = self.rounds {
            write!(f, "rounds={rounds}$")?;
        }
        f.write_str(&self.salt)
    }
}

impl ShaCrypt {
    fn params(&self) -> Params {
        self.rounds.and_then(|rounds| Params::new(rounds).ok()).unwrap_or_default()
    }
}

impl Setting for ShaCrypt {
    fn scheme(&self) -> Scheme {
        Scheme::ShaCrypt
    }

    /// A round absorbs the password up to twice, the salt and a digest. Before the first one the
    /// password is absorbed as often as it has bytes.
    fn cost(&self, password: usize) -> Task {
        let rounds = u64::from(self.rounds.unwrap_or(Params::RECOMMENDED_ROUNDS));
        let password = password as u64;
        let (round, byte): (u64, u64) = match self.hash {
            Hash::Sha256 => (400, 6),
            Hash::Sha512 => (1600, 26),
        };
        let rounds =
            (rounds + 300).saturating_mul(byte.saturating_mul(password).saturating_add(round));
        let before = password.saturating_mul(password).saturating_mul(byte);
        Task { memory: 4 << 10, work: rounds.saturating_add(before) }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        ShaCrypt { salt: ".".repeat(self.salt.len()), ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let (password, salt) = (without_zeros(password)?, self.salt.as_bytes());
        Ok(match self.hash {
            Hash::Sha256 => {
                let digest = Zeroizing::new(sha256_crypt(password, salt, self.params()));
                encode(&digest[..], [0, 10, 20], |[a, b, c]| [c + 1, a + 1, b + 1])
            }
            Hash::Sha512 => {
                let digest = Zeroizing::new(sha512_crypt(password, salt, self.params()));
                encode(&digest[..], [0, 21, 42], |[a, b, c]| [b + 1, c + 1, a + 1])
            }
        })
    }
}

/// The digits of three bytes at a time, the last of them first, in the scheme's own order, and then
/// of those that are left over.
fn encode(
    digest: &[u8],
    first: [usize; 3],
    turn: fn([usize; 3]) -> [usize; 3],
) -> Zeroizing<String> {
    let (threes, mut at) = (digest.len() / 3, first);
    let mut bytes = Zeroizing::new(Vec::with_capacity(digest.len()));
    for _ in 0..threes {
        bytes.extend(at.into_iter().rev().map(|at| digest[at % (3 * threes)]));
        at = turn(at);
    }
    bytes.extend(&digest[3 * threes..]);
    Zeroizing::new(Base64ShaCrypt::encode_string(&bytes))
}
