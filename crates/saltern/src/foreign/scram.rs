//! SCRAM-SHA-256 as a verifier: `SCRAM-SHA-256$4096:salt$stored key:server key`, as PostgreSQL
//! stores it. Of both keys, which follow from PBKDF2 of the password, the digest has base 64.

use std::fmt;

use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha2::{Digest, Sha256};

use super::{Foreign, Setting, decimal};
use crate::error::Error;
use crate::scheme::Scheme;

const PREFIX: &str = "SCRAM-SHA-256$";
/// Bytes of a key.
const KEY: usize = 32;
/// The longest salt, in bytes.
const SALT: usize = 64;

#[derive(Clone)]
struct Scram {
    rounds: u32,
    salt: Vec<u8>,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let rest = text.strip_prefix(PREFIX)?;
    let expected = "rounds:salt$stored key:server key, in base 64, the keys of 32 bytes";
    Some(fields(rest).ok_or(Error::malformed("SCRAM-SHA-256 string", expected)))
}

fn fields(rest: &str) -> Option<Foreign> {
    let (setting, digest) = rest.split_once('$')?;
    let (rounds, salt) = setting.split_once(':')?;
    let rounds = decimal(rounds).filter(|rounds| *rounds > 0)?;
    let salt = Base64::decode_vec(salt).ok().filter(|salt| (1..=SALT).contains(&salt.len()))?;
    let (stored, server) = digest.split_once(':')?;
    let is_key = |text| Base64::decode_vec(text).is_ok_and(|key| key.len() == KEY);
    (is_key(stored) && is_key(server)).then(|| Foreign::new(Scram { rounds, salt }, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let key = Base64::encode_string(&[0; KEY]);
    text.starts_with(PREFIX).then(|| format!("{text}${key}:{key}"))
}

impl fmt::Display for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.rounds, Base64::encode_string(&self.salt))
    }
}

impl Setting for Scram {
    fn scheme(&self) -> Scheme {
        Scheme::Scram
    }

    /// Two compressions for each round.
    fn cost(&self, password: usize) -> Task {
        let bytes = (password as u64).saturating_mul(256);
        Task { memory: 4 << 10, work: (u64::from(self.rounds) + 16) * 540 + bytes }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        Scram { salt: vec![0; self.salt.len()], ..*self }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let mut salted = Zeroizing::new([0; KEY]);
        pbkdf2_hmac::<Sha256>(&prepared(password), &self.salt, self.rounds, &mut *salted);
        let client = hmac(&*salted, b"Client Key")?;
        let stored = Zeroizing::new(<[u8; KEY]>::from(Sha256::digest(&*client)));
        let server = hmac(&*salted, b"Server Key")?;
        let [stored, server] = [stored, server].map(|key| Zeroizing::new(Base64::encode_string(&*key)));
        Ok(Zeroizing::new(format!("{}:{}", *stored, *server)))
    }
}

/// The password after SASLprep (RFC 4013), or as it is if that refuses it: as PostgreSQL does.
fn prepared(password: &[u8]) -> Zeroizing<Vec<u8>> {
    let text = str::from_utf8(password).ok();
    let prepared = text.and_then(|text| stringprep::saslprep(text).ok());
    Zeroizing::new(prepared.map_or_else(|| password.to_vec(), |text| text.as_bytes().to_vec()))
}

fn hmac(key: &[u8], text: &[u8]) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let why = "HMAC refused a key";
    let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key);
    let mac = mac.map_err(|_| Error::Failed { scheme: Scheme::Scram, why })?;
    Ok(Zeroizing::new(mac.chain_update(text).finalize().into_bytes().into()))
}
