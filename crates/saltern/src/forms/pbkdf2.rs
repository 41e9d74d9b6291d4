//! PBKDF2 in the forms of LDAP servers, frameworks and devices.

use super::{Form, base64, fields, hex, phc, text_salt};
use crate::foreign::decimal;

/// The hash function, as the PHC string format names it.
type Hash = &'static str;
const SHA1: Hash = "sha1";
const SHA256: Hash = "sha256";
const SHA512: Hash = "sha512";

/// The string in the PHC string format.
fn string(hash: &str, rounds: u32, salt: &[u8], digest: &[u8]) -> Option<String> {
    let (salt, len, digest) = (phc(salt), digest.len(), phc(digest));
    Some(format!("$pbkdf2-{hash}$i={rounds},l={len}${}${}", *salt, *digest))
}

/// `{PBKDF2-SHA256}ROUNDS$SALT$DIGEST`, as the modules of OpenLDAP and 389 and passlib write it:
/// base 64, in which `.` may stand for `+`, with its padding or without.
pub(crate) const LDAP_SHA1: Form = ldap(|rest| read_ldap(SHA1, rest));
pub(crate) const LDAP_SHA256: Form = ldap(|rest| read_ldap(SHA256, rest));
pub(crate) const LDAP_SHA512: Form = ldap(|rest| read_ldap(SHA512, rest));

const fn ldap(read: fn(&str) -> Option<String>) -> Form {
    Form { read, expected: "rounds$salt$digest, salt and digest in base 64" }
}

fn read_ldap(hash: Hash, rest: &str) -> Option<String> {
    let [rounds, salt, digest] = fields(rest, '$')?;
    let decode = |text: &str| base64(&text.replace('.', "+"));
    string(hash, decimal(rounds)?, &decode(salt)?, &decode(digest)?)
}

/// `{PBKDF2}$1$SALT$ROUNDS$DIGEST`, the salt as text, the digest in hexadecimal digits.
pub(crate) const DOVECOT_PBKDF2: Form = Form {
    read: |rest| {
        let [salt, rounds, digest] = fields(rest, '$')?;
        let digest = hex(digest).filter(|digest| digest.len() == 20)?;
        string(SHA1, decimal(rounds)?, text_salt(salt)?, &digest)
    },
    expected: "salt$rounds$digest, the digest in 40 hexadecimal digits",
};

/// `{PBKDF2_SHA256}` and base 64 of the rounds (4 bytes), 64 bytes of salt and 256 of the digest.
pub(crate) const DS_389: Form = Form {
    read: |rest| {
        let bytes = base64(rest).filter(|bytes| bytes.len() == 4 + 64 + 256)?;
        let (rounds, rest) = number(&bytes)?;
        let (salt, digest) = rest.split_at_checked(64)?;
        string(SHA256, rounds, salt, digest)
    },
    expected: "base 64 of 4 bytes of rounds, 64 of salt and 256 of the digest",
};

/// A big-endian number, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// `pbkdf2:sha256:ROUNDS$SALT$DIGEST`, the salt as text, the digest in hexadecimal digits.
pub(crate) const WERKZEUG_PBKDF2: Form = Form {
    read: |rest| {
        let [method, salt, digest] = fields(rest, '$')?;
        let [hash, rounds] = fields(method, ':')?;
        let hash = [SHA1, SHA256, SHA512].into_iter().find(|known| *known == hash)?;
        string(hash, decimal(rounds)?, text_salt(salt)?, &hex(digest)?)
    },
    expected: "sha1, sha256 or sha512, :rounds$salt$digest, the digest in hexadecimal digits",
};

/// `{pbkdf2}` and hexadecimal digits of salt and digest. The rounds are those of the defaults of
/// Spring Security 5.5 (8 bytes of salt) and 5.8 (16), without a secret.
pub(crate) const SPRING_PBKDF2: Form = Form {
    read: |rest| {
        let bytes = hex(rest)?;
        let (hash, rounds, salt) = match bytes.len() {
            40 => (SHA1, 185_000, 8),
            48 => (SHA256, 310_000, 16),
            _ => return None,
        };
        let (salt, digest) = bytes.split_at_checked(salt)?;
        string(hash, rounds, salt, digest)
    },
    expected: "hexadecimal digits of 8 or 16 bytes of salt and 32 of the digest, as the defaults \
               of Spring Security 5.5 and 5.8 make them",
};

/// `{PKCS5S2}` and base 64 of 16 bytes of salt and 32 of the digest.
pub(crate) const ATLASSIAN: Form = Form {
    read: |rest| {
        let bytes = base64(rest).filter(|bytes| bytes.len() == 48)?;
        let (salt, digest) = bytes.split_at_checked(16)?;
        string(SHA1, 10_000, salt, digest)
    },
    expected: "base 64 of 16 bytes of salt and 32 of the digest",
};

/// Version 2 of ASP.NET Identity: base 64 of a zero byte, 16 bytes of salt and 32 of the digest.
pub(crate) const IDENTITY_2: Form = Form {
    read: |text| {
        let bytes = base64(text).filter(|bytes| bytes.len() == 49)?;
        let (&0, rest) = bytes.split_first()? else { return None };
        let (salt, digest) = rest.split_at_checked(16)?;
        string(SHA1, 1000, salt, digest)
    },
    expected: "base 64 of a zero byte, 16 bytes of salt and 32 of the digest",
};

/// Version 3 of ASP.NET Identity, whose first five bytes `AQAAAA` says in part: 1; the function,
/// the rounds and the length of the salt, 4 bytes each; salt and digest.
pub(crate) const IDENTITY_3: Form = Form {
    read: |rest| {
        let bytes = base64(&format!("AQAAAA{rest}"))?;
        let (function, rest) = number(bytes.get(1..)?)?;
        let (rounds, rest) = number(rest)?;
        let (salt, rest) = number(rest)?;
        let hash = *[SHA1, SHA256, SHA512].get(usize::try_from(function).ok()?)?;
        let (salt, digest) = rest.split_at_checked(usize::try_from(salt).ok()?)?;
        string(hash, rounds, salt, digest)
    },
    expected: "base 64 of 1, the function, the rounds, the length of the salt, salt and digest",
};

/// `grub.pbkdf2.sha512.ROUNDS.SALT.DIGEST` in hexadecimal digits.
pub(crate) const GRUB: Form = Form {
    read: |rest| {
        let [hash, rounds, salt, digest] = fields(rest, '.')?;
        let hash = [SHA1, SHA256, SHA512].into_iter().find(|known| *known == hash)?;
        string(hash, decimal(rounds)?, &hex(salt)?, &hex(digest)?)
    },
    expected: "sha512.rounds.salt.digest, salt and digest in hexadecimal digits",
};

/// `$8$SALT$DIGEST`: 20 000 rounds, a salt of 14 characters, base 64 with the digits of crypt(3).
pub(crate) const CISCO_8: Form = Form {
    read: |rest| {
        let (salt, digest) = cisco(rest)?;
        string(SHA256, 20_000, salt, &digest)
    },
    expected: "a salt of 14 characters, $ and 43 digits",
};

/// The salt and the digest of a string of Cisco's.
pub(super) fn cisco(rest: &str) -> Option<(&[u8], Vec<u8>)> {
    let [salt, digest] = fields(rest, '$')?;
    let salt = text_salt(salt).filter(|salt| salt.len() == 14)?;
    let standard = |c: u8| {
        let value = OF_CRYPT.iter().position(|digit| *digit == c)?;
        Some(char::from(STANDARD[value]))
    };
    let digest: String = digest.bytes().map(standard).collect::<Option<_>>()?;
    Some((salt, base64(&digest).filter(|digest| digest.len() == 32)?))
}

/// The digits of crypt(3), in the order of those of base 64.
const OF_CRYPT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
