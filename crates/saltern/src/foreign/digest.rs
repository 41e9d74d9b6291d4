//! Fast digests, unsuitable for passwords: those of LDAP, such as `{SSHA}` and base 64 of the
//! digest and the salt, and bare hexadecimal digits. They are supported so that they can be
//! wrapped, at once.
//!
//! As settings they are written without braces: `SSHA$` and the salt in base 64; `md5`, `sha1`,
//! `sha256` or `sha512`. Their digests are written in hexadecimal digits.

use std::fmt;

use base64ct::{Base64, Encoding};
use md5::Md5;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::{Foreign, Setting};
use crate::error::Error;
use crate::scheme::Scheme;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Hash {
    const ALL: [Hash; 4] = [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha512];

    /// The name of bare digits.
    const fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha256 => "sha256",
            Hash::Sha512 => "sha512",
        }
    }

    const fn len(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
        }
    }

    /// The digest of the password followed by the salt.
    fn compute(self, password: &[u8], salt: &[u8]) -> Zeroizing<Vec<u8>> {
        fn of<D: Digest>(password: &[u8], salt: &[u8]) -> Zeroizing<Vec<u8>> {
            let digest = D::new().chain_update(password).chain_update(salt).finalize();
            Zeroizing::new(digest.to_vec())
        }
        match self {
            Hash::Md5 => of::<Md5>(password, salt),
            Hash::Sha1 => of::<Sha1>(password, salt),
            Hash::Sha256 => of::<Sha256>(password, salt),
            Hash::Sha512 => of::<Sha512>(password, salt),
        }
    }
}

/// The names of LDAP, and whether there is a salt.
const LDAP: [(&str, Hash, bool); 6] = [
    ("MD5", Hash::Md5, false),
    ("SMD5", Hash::Md5, true),
    ("SHA", Hash::Sha1, false),
    ("SSHA", Hash::Sha1, true),
    ("SSHA256", Hash::Sha256, true),
    ("SSHA512", Hash::Sha512, true),
];

/// The longest salt, in bytes.
const SALT: usize = 64;

#[derive(Clone)]
struct Plain {
    hash: Hash,
    /// The LDAP name and the salt; `None` for bare digits.
    ldap: Option<(&'static str, Vec<u8>)>,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    if let Some(rest) = text.strip_prefix('{') {
        let (name, rest) = rest.split_once('}')?;
        let (name, hash, salted) = LDAP.into_iter().find(|(known, ..)| *known == name)?;
        let expected = "base 64 of a digest and, in salted schemes, of a salt of 1 to 64 bytes";
        return Some(
            ldap(name, (hash, salted), rest).ok_or(Error::malformed("LDAP string", expected)),
        );
    }
    let hash = Hash::ALL.into_iter().find(|hash| 2 * hash.len() == text.len())?;
    let hex = text.bytes().all(|c| c.is_ascii_hexdigit());
    hex.then(|| Ok(Foreign::new(Plain { hash, ldap: None }, text.to_ascii_lowercase())))
}

fn ldap(name: &'static str, (hash, salted): (Hash, bool), rest: &str) -> Option<Foreign> {
    let bytes = Base64::decode_vec(rest).ok()?;
    let (digest, salt) = bytes.split_at_checked(hash.len())?;
    let fits = if salted { (1..=SALT).contains(&salt.len()) } else { salt.is_empty() };
    let setting = Plain { hash, ldap: Some((name, salt.to_vec())) };
    fits.then(|| Foreign::new(setting, &*Zeroizing::new(base16ct::lower::encode_string(digest))))
}

pub(super) fn complete(text: &str) -> Option<String> {
    if let Some(hash) = Hash::ALL.into_iter().find(|hash| hash.name() == text) {
        return Some("0".repeat(2 * hash.len()));
    }
    let (name, salt) = text.split_once('$').unwrap_or((text, ""));
    let (name, hash, _) = LDAP.into_iter().find(|(known, ..)| *known == name)?;
    let mut bytes = vec![0; hash.len()];
    bytes.extend(Base64::decode_vec(salt).ok()?);
    Some(format!("{{{name}}}{}", Base64::encode_string(&bytes)))
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ldap {
            None => f.write_str(self.hash.name()),
            Some((name, salt)) if salt.is_empty() => f.write_str(name),
            Some((name, salt)) => write!(f, "{name}${}", Base64::encode_string(salt)),
        }
    }
}

impl Setting for Plain {
    fn scheme(&self) -> Scheme {
        if self.ldap.is_some() { Scheme::Ldap } else { Scheme::Hex }
    }

    fn cost(&self, password: usize) -> Task {
        Task { memory: 4 << 10, work: (password as u64).saturating_mul(16).saturating_add(4096) }
    }

    fn salt(&self) -> usize {
        self.ldap.as_ref().map_or(0, |(_, salt)| salt.len())
    }

    fn unsalted(&self) -> String {
        let ldap = self.ldap.as_ref().map(|(name, salt)| (*name, vec![0; salt.len()]));
        Plain { ldap, ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let salt = self.ldap.as_ref().map_or(&[][..], |(_, salt)| salt);
        Ok(Zeroizing::new(base16ct::lower::encode_string(&self.hash.compute(password, salt))))
    }
}
