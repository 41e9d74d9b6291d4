//! Digests in the forms that Ory Kratos imports.

use base64ct::{Base64, Encoding};

use super::{Form, base64, fields, text_salt};

/// `$md5$` and base 64, which everybody else writes `{MD5}`.
pub(crate) const KRATOS_BARE_MD5: Form = Form {
    read: |rest| (base64(rest)?.len() == 16).then(|| format!("{{MD5}}{rest}")),
    expected: "base 64 of 16 bytes",
};

pub(crate) const KRATOS_MD5: Form =
    Form { read: |rest| salted(["SMD5", "md5"], 16, rest), expected: SALTED };

pub(crate) const KRATOS_SHA1: Form =
    Form { read: |rest| salted(["SSHA", "sha1"], 20, rest), expected: SALTED };

pub(crate) const KRATOS_SHA256: Form =
    Form { read: |rest| salted(["SSHA256", ""], 32, rest), expected: SALTED };

pub(crate) const KRATOS_SHA512: Form =
    Form { read: |rest| salted(["SSHA512", ""], 64, rest), expected: SALTED };

const SALTED: &str = "format$salt$digest in base 64, of which the format is {PASSWORD}{SALT}, or for \
                      MD5 and SHA-1 {SALT}{PASSWORD} with a salt in ASCII";

/// As LDAP has it where the salt follows the password, and as Django where it comes first.
fn salted([ldap, django]: [&str; 2], len: usize, rest: &str) -> Option<String> {
    let [format, salt, digest] = fields(rest, '$')?;
    let (salt, mut digest) = (base64(salt)?, base64(digest).filter(|digest| digest.len() == len)?);
    match &*base64(format)? {
        b"{PASSWORD}{SALT}" => {
            digest.extend(salt);
            Some(format!("{{{ldap}}}{}", Base64::encode_string(&digest)))
        }
        b"{SALT}{PASSWORD}" if !django.is_empty() => {
            let (salt, digest) =
                (String::from_utf8(salt).ok()?, base16ct::lower::encode_string(&digest));
            let salt = text_salt(&salt).and_then(|_| (!salt.contains('$')).then_some(&*salt))?;
            Some(format!("{django}${salt}${digest}"))
        }
        _ => None,
    }
}
