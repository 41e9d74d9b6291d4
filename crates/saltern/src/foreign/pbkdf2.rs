//! PBKDF2 with HMAC, in three forms; `forms/pbkdf2.rs` rewrites the others as the first:
//!
//! ```text
//! $pbkdf2-sha256$i=600000,l=32$salt$digest     PHC
//! $pbkdf2-sha256$29000$salt$digest             passlib; $pbkdf2$ for SHA-1; `.` for `+`
//! pbkdf2_sha256$600000$salt$digest             Django; the salt is text
//! ```

use std::fmt;

use base64ct::{Base64, Base64Unpadded, Encoding};
use pbkdf2::pbkdf2_hmac;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::{Foreign, Setting, decimal};
use crate::error::Error;
use crate::scheme::Scheme;

/// Bytes of a digest: the longest are those of 389.
const DIGEST: std::ops::RangeInclusive<usize> = 16..=256;
/// The longest salt, in bytes.
const SALT: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Phc,
    Passlib,
    Django,
}

#[derive(Clone)]
struct Pbkdf2 {
    form: Form,
    hash: Hash,
    rounds: u32,
    salt: Vec<u8>,
    len: usize,
}

/// The prefixes of strings, without the final `$`.
const PREFIXES: [(&str, Form, Hash); 9] = [
    ("$pbkdf2-sha1$i=", Form::Phc, Hash::Sha1),
    ("$pbkdf2-sha256$i=", Form::Phc, Hash::Sha256),
    ("$pbkdf2-sha512$i=", Form::Phc, Hash::Sha512),
    ("$pbkdf2$", Form::Passlib, Hash::Sha1),
    ("$pbkdf2-sha256$", Form::Passlib, Hash::Sha256),
    ("$pbkdf2-sha512$", Form::Passlib, Hash::Sha512),
    ("pbkdf2_sha1$", Form::Django, Hash::Sha1),
    ("pbkdf2_sha256$", Form::Django, Hash::Sha256),
    ("pbkdf2_sha512$", Form::Django, Hash::Sha512),
];

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let known = |(prefix, form, hash)| Some((form, hash, text.strip_prefix(prefix)?));
    let (form, hash, rest) = PREFIXES.into_iter().find_map(known)?;
    let expected = "rounds, a salt of at most 128 bytes, and a digest of 16 to 256";
    Some(fields(form, hash, rest).ok_or(Error::malformed("PBKDF2 string", expected)))
}

fn fields(form: Form, hash: Hash, rest: &str) -> Option<Foreign> {
    let mut parts = rest.split('$');
    let (costs, salt, digest) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let len = form.decode(digest)?.len();
    let rounds = match form {
        Form::Phc => {
            let (rounds, stated) = costs.split_once(",l=")?;
            (decimal(stated)? as usize == len).then_some(rounds)?
        }
        Form::Passlib | Form::Django => costs,
    };
    let rounds = decimal(rounds).filter(|rounds| *rounds > 0)?;
    let plain = |c: u8| c.is_ascii_graphic() || c == b' ';
    let salt = match form {
        Form::Django => salt.bytes().all(plain).then(|| salt.as_bytes().to_vec())?,
        Form::Phc | Form::Passlib => form.decode(salt)?,
    };
    let fits = salt.len() <= SALT && DIGEST.contains(&len);
    fits.then(|| Foreign::new(Pbkdf2 { form, hash, rounds, salt, len }, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    PREFIXES.iter().find(|(prefix, ..)| text.starts_with(prefix)).and_then(|(_, form, _)| {
        let (setting, len) = text.rsplit_once('$')?;
        let len = decimal(len).map(|len| len as usize).filter(|len| DIGEST.contains(len))?;
        Some(format!("{setting}${}", form.encode(&vec![0; len])))
    })
}

impl Form {
    fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Form::Phc => Base64Unpadded::decode_vec(text).ok(),
            Form::Passlib if text.contains('+') => None,
            Form::Passlib => Base64Unpadded::decode_vec(&text.replace('.', "+")).ok(),
            Form::Django => Base64::decode_vec(text).ok(),
        }
    }

    fn encode(self, bytes: &[u8]) -> String {
        match self {
            Form::Phc => Base64Unpadded::encode_string(bytes),
            Form::Passlib => Zeroizing::new(Base64Unpadded::encode_string(bytes)).replace('+', "."),
            Form::Django => Base64::encode_string(bytes),
        }
    }
}

impl fmt::Display for Pbkdf2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pbkdf2 { form, hash, rounds, ref salt, len } = *self;
        let one = |(_, a, b): &&(&str, Form, Hash)| (*a, *b) == (form, hash);
        let prefix = PREFIXES.iter().find(one).map_or("", |(prefix, ..)| prefix);
        let stated = if form == Form::Phc { format!(",l={len}") } else { String::new() };
        let salt = match form {
            Form::Django => String::from_utf8_lossy(salt).into_owned(),
            Form::Phc | Form::Passlib => form.encode(salt),
        };
        write!(f, "{prefix}{rounds}{stated}${salt}${len}")
    }
}

impl Setting for Pbkdf2 {
    fn scheme(&self) -> Scheme {
        Scheme::Pbkdf2
    }

    /// Two compressions for each round of each block of the digest.
    fn cost(&self, password: usize) -> Task {
        let (block, round) = match self.hash {
            Hash::Sha1 => (20, 540),
            Hash::Sha256 => (32, 540),
            Hash::Sha512 => (64, 2900),
        };
        let rounds = u64::from(self.rounds) * self.len.div_ceil(block) as u64;
        Task {
            memory: 4 << 10,
            work: rounds.saturating_mul(round).saturating_add((password as u64).saturating_mul(64)),
        }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        let zero = if self.form == Form::Django { b'0' } else { 0 };
        Pbkdf2 { salt: vec![zero; self.salt.len()], ..self.clone() }.to_string()
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let mut digest = Zeroizing::new(vec![0; self.len]);
        let compute = match self.hash {
            Hash::Sha1 => pbkdf2_hmac::<Sha1>,
            Hash::Sha256 => pbkdf2_hmac::<Sha256>,
            Hash::Sha512 => pbkdf2_hmac::<Sha512>,
        };
        compute(password, &self.salt, self.rounds, &mut digest);
        Ok(Zeroizing::new(self.form.encode(&digest)))
    }
}
