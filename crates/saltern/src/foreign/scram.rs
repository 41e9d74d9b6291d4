//! SCRAM-SHA-256 as a verifier, in two forms:
//!
//! ```text
//! SCRAM-SHA-256$4096:salt$stored key:server key      PostgreSQL
//! {SCRAM-SHA-256}4096,salt,stored key,server key     Dovecot, which leaves out SASLprep
//! ```
//!
//! Both keys, which follow from PBKDF2 of the password, are the digest. As a setting, the second is
//! `dovecot-SCRAM-SHA-256$4096:salt`.

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

const POSTGRESQL: &str = "SCRAM-SHA-256$";
const DOVECOT: &str = "{SCRAM-SHA-256}";
/// The second form as a setting.
const SETTING: &str = "dovecot-SCRAM-SHA-256$";
/// Bytes of a key.
const KEY: usize = 32;
/// The longest salt, in bytes.
const SALT: usize = 64;

#[derive(Clone)]
struct Scram {
    /// Whether passwords are normalised first.
    prepares: bool,
    rounds: u32,
    salt: Vec<u8>,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let expected = "rounds, salt, stored key and server key, in base 64, the keys of 32 bytes";
    let whole = |found: Option<Foreign>| found.ok_or(Error::malformed("SCRAM-SHA-256", expected));
    if let Some(rest) = text.strip_prefix(POSTGRESQL) {
        let parts = rest.split_once('$').and_then(|(setting, digest)| {
            let (rounds, salt) = setting.split_once(':')?;
            fields(true, [rounds, salt], digest)
        });
        return Some(whole(parts));
    }
    let mut parts = text.strip_prefix(DOVECOT)?.splitn(3, ',');
    let mut next = || parts.next().unwrap_or_default();
    let (setting, digest) = ([next(), next()], next());
    Some(whole(fields(false, setting, &digest.replacen(',', ":", 1))))
}

fn fields(prepares: bool, [rounds, salt]: [&str; 2], digest: &str) -> Option<Foreign> {
    let rounds = decimal(rounds).filter(|rounds| *rounds > 0)?;
    let salt = Base64::decode_vec(salt).ok().filter(|salt| (1..=SALT).contains(&salt.len()))?;
    let (stored, server) = digest.split_once(':')?;
    let is_key = |text| Base64::decode_vec(text).is_ok_and(|key| key.len() == KEY);
    (is_key(stored) && is_key(server))
        .then(|| Foreign::new(Scram { prepares, rounds, salt }, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let key = Base64::encode_string(&[0; KEY]);
    if let Some(setting) = text.strip_prefix(SETTING) {
        return Some(format!("{DOVECOT}{},{key},{key}", setting.replacen(':', ",", 1)));
    }
    text.starts_with(POSTGRESQL).then(|| format!("{text}${key}:{key}"))
}

impl fmt::Display for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.prepares { POSTGRESQL } else { SETTING };
        write!(f, "{prefix}{}:{}", self.rounds, Base64::encode_string(&self.salt))
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
        let prepared = self.prepares.then(|| prepared(password));
        let password = prepared.as_ref().map_or(password, |prepared| &prepared[..]);
        pbkdf2_hmac::<Sha256>(password, &self.salt, self.rounds, &mut *salted);
        let client = hmac(&*salted, b"Client Key")?;
        let stored = Zeroizing::new(<[u8; KEY]>::from(Sha256::digest(&client[..])));
        let server = hmac(&*salted, b"Server Key")?;
        let [stored, server] =
            [stored, server].map(|key| Zeroizing::new(Base64::encode_string(&*key)));
        Ok(Zeroizing::new(format!("{}:{}", *stored, *server)))
    }
}

/// The password after SASLprep (RFC 4013), or as it is if that refuses it: as PostgreSQL does.
fn prepared(password: &[u8]) -> Zeroizing<Vec<u8>> {
    let text = str::from_utf8(password).ok();
    let prepared = text.and_then(|text| stringprep::saslprep(text).ok());
    Zeroizing::new(
        prepared.map_or_else(|| password.to_vec(), |text| text.into_owned().into_bytes()),
    )
}

fn hmac(key: &[u8], text: &[u8]) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let why = "HMAC refused a key";
    let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key);
    let mac = mac.map_err(|_| Error::Failed { scheme: Scheme::Scram, why })?;
    Ok(Zeroizing::new(mac.chain_update(text).finalize().into_bytes().into()))
}
