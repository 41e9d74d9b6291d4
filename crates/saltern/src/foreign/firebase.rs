//! Firebase's scrypt: the key of AES-256 in counter mode is scrypt of the password, and what it
//! encrypts is the signer key of the project.
//!
//! ```text
//! $firescrypt$ln=14,r=8,p=1$salt$digest$separator$fingerprint of the signer key
//! ```
//!
//! Kratos writes the signer key itself at the end, which is read as its fingerprint. Without the
//! signer key the digest is that encrypted text; with it, the key stream alone, which is what a
//! password gives: from then on, also in a wrapped string, no signer key is needed. As a setting:
//! `$firescrypt$ln=14,r=8,p=1$salt$separator`.

use std::fmt;

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use base64ct::{Base64, Encoding};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::{Limits, Params, Workspace, derive};

use super::{Foreign, Setting, decimal};
use crate::error::Error;
use crate::scheme::Scheme;
use crate::signer_key::SignerKey;

const PREFIX: &str = "$firescrypt$";
/// Bytes of a digest and of a signer key.
const DIGEST: usize = 64;
/// Bytes of the largest page that memory is taken in.
const PAGE: u64 = 2 << 20;
/// The longest salt, and the longest separator.
const MAX: usize = 64;

#[derive(Clone)]
struct Firebase {
    ln: u32,
    r: u32,
    p: u32,
    salt: Vec<u8>,
    separator: Vec<u8>,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let rest = text.strip_prefix(PREFIX)?;
    let expected = "ln=…,r=…,p=…, salt, digest of 64 bytes and separator in base 64, and the \
                    fingerprint of the signer key";
    Some(whole(rest).ok_or(Error::malformed("Firebase string", expected)))
}

fn whole(rest: &str) -> Option<Foreign> {
    let mut parts = rest.split('$');
    let mut next = || parts.next();
    let (costs, salt, digest, separator, key) = (next()?, next()?, next()?, next()?, next()?);
    let setting = setting(costs, salt, separator)?;
    let digest = decode(digest).filter(|digest| digest.len() == DIGEST && next().is_none())?;
    // The signer key itself, or its fingerprint.
    let id = match SignerKey::of_text(key.as_bytes()) {
        Some(key) => key.id().ok()?,
        None => format!("firebase+{key}").parse().ok()?,
    };
    Some(Foreign { signed_with: Some(id), ..Foreign::new(setting, Base64::encode_string(&digest)) })
}

fn setting(costs: &str, salt: &str, separator: &str) -> Option<Firebase> {
    let (ln, rest) = costs.strip_prefix("ln=")?.split_once(",r=")?;
    let (r, p) = rest.split_once(",p=")?;
    let [ln, r, p] = [decimal(ln)?, decimal(r)?, decimal(p)?];
    let [salt, separator] = [decode(salt)?, decode(separator)?];
    let setting = Firebase { ln, r, p, salt, separator };
    let fits = setting.salt.len() <= MAX && setting.separator.len() <= MAX && (1..64).contains(&ln);
    (fits && setting.params().check(&Limits::unlimited()).is_ok()).then_some(setting)
}

/// Base 64 in either alphabet: Firebase's interfaces use both.
fn decode(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(&text.replace('-', "+").replace('_', "/")).ok()
}

pub(super) fn complete(text: &str) -> Option<String> {
    let (head, separator) = text.strip_prefix(PREFIX)?.rsplit_once('$')?;
    let digest = Base64::encode_string(&[0; DIGEST]);
    Some(format!("{PREFIX}{head}${digest}${separator}${:016}", 0))
}

/// A digest without the signer key that it was encrypted with.
pub(super) fn without(key: &SignerKey, digest: &str) -> Option<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0; DIGEST]);
    Base64::decode(digest, &mut bytes[..]).ok().filter(|bytes| bytes.len() == DIGEST)?;
    bytes.iter_mut().zip(key.bytes()).for_each(|(byte, of_key)| *byte ^= of_key);
    Some(Zeroizing::new(Base64::encode_string(&bytes[..])))
}

impl Firebase {
    fn params(&self) -> Params {
        Params::scrypt(1_u64.checked_shl(self.ln).unwrap_or(0), self.r, self.p)
    }
}

impl fmt::Display for Firebase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Firebase { ln, r, p, salt, separator } = self;
        let [salt, separator] = [salt, separator].map(|bytes| Base64::encode_string(bytes));
        write!(f, "{PREFIX}ln={ln},r={r},p={p}${salt}${separator}")
    }
}

impl Setting for Firebase {
    fn scheme(&self) -> Scheme {
        Scheme::Firebase
    }

    fn cost(&self, password: usize) -> Task {
        let params = self.params();
        let count = |number| u64::try_from(number).unwrap_or(u64::MAX);
        let (memory, work) = (count(params.memory()), count(params.work()));
        let bytes = (password as u64).saturating_mul(64);
        Task { memory: memory.saturating_add(PAGE), work: work.saturating_add(bytes) }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        Firebase { salt: vec![0; self.salt.len()], ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let params = self.params().check(&Limits::unlimited())?;
        let salt = [&self.salt[..], &self.separator].concat();
        let mut key = Zeroizing::new([0; 32]);
        derive(password, salt, &params, None, &mut Workspace::new(), &mut key[..])?;
        let cipher = Aes256::new((&*key).into());
        let mut stream = Zeroizing::new([0; DIGEST]);
        for (number, block) in (0..).zip(stream.as_chunks_mut::<16>().0) {
            block[15] = number;
            cipher.encrypt_block(<&mut Array<u8, _>>::from(block));
        }
        Ok(Zeroizing::new(Base64::encode_string(&stream[..])))
    }
}
