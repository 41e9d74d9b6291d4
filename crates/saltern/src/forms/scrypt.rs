//! scrypt in the forms of frameworks and devices.

use super::pbkdf2::cisco;
use super::{Form, base64, fields, hex, phc, text_salt};
use crate::foreign::decimal;

/// Bytes of a digest in the PHC string format. Longer ones begin with it: they are made of blocks
/// of this length, each of which depends on the whole password.
const DIGEST: usize = 32;

/// The string in the PHC string format.
fn string(ln: u32, [r, p]: [u32; 2], salt: &[u8], digest: &[u8]) -> Option<String> {
    let digest = digest.get(..DIGEST)?;
    Some(format!("$scrypt$ln={ln},r={r},p={p}${}${}", *phc(salt), *phc(digest)))
}

/// The logarithm of a power of two.
fn log(n: &str) -> Option<u32> {
    decimal(n).filter(|n| n.is_power_of_two()).map(u32::ilog2)
}

/// `$s0$PARAMS$SALT$DIGEST`, also behind `{scrypt}` of Spring: the parameters are hexadecimal
/// digits of log2 N, r and p, of which the last two take a byte each; salt and digest in base 64.
pub(crate) const S0: Form = Form {
    read: |rest| {
        let [params, salt, digest] = fields(rest, '$')?;
        let plain = (5..=6).contains(&params.len()) && params.bytes().all(is_lower_hex);
        let params = plain.then(|| u32::from_str_radix(params, 16).ok()).flatten()?;
        let digest = base64(digest).filter(|digest| [32, 64].contains(&digest.len()))?;
        let (ln, r, p) = (params >> 16, params >> 8 & 0xff, params & 0xff);
        string(ln, [r, p], &base64(salt)?, &digest)
    },
    expected: "parameters in 5 or 6 hexadecimal digits, salt and digest in base 64",
};

fn is_lower_hex(c: u8) -> bool {
    matches!(c, b'0'..=b'9' | b'a'..=b'f')
}

/// `scrypt$N$SALT$R$P$DIGEST`, the salt as text, 64 bytes of the digest in base 64; or, as the
/// package django-scrypt writes it, `scrypt$SALT$LN$R$P$64$DIGEST`.
pub(crate) const DJANGO_SCRYPT: Form = Form {
    read: |rest| {
        let of_package = |[salt, ln, r, p, len, digest]: [_; 6]| {
            (len == "64").then_some((decimal(ln), [salt, r, p, digest]))
        };
        let own = |[n, salt, r, p, digest]: [_; 5]| (log(n), [salt, r, p, digest]);
        let found = fields(rest, '$').and_then(of_package);
        let (ln, [salt, r, p, digest]) = found.or_else(|| fields(rest, '$').map(own))?;
        let digest = base64(digest).filter(|digest| digest.len() == 64)?;
        string(ln?, [decimal(r)?, decimal(p)?], text_salt(salt)?, &digest)
    },
    expected: "N$salt$r$p$ and base 64 of 64 bytes",
};

/// `$scrypt$ln=N,r=R,p=P$SALT$DIGEST`, as Kratos imports it: N itself, which is above 63, where the
/// PHC string format has its logarithm, which is not; with padding.
pub(crate) const KRATOS_SCRYPT: Form = Form {
    read: |rest| {
        let [params, salt, digest] = fields(rest, '$')?;
        let [n, r, p] = fields(params, ',')?;
        let ln = log(n).filter(|ln| *ln > 5)?;
        let [r, p] = [r.strip_prefix("r=")?, p.strip_prefix("p=")?].map(decimal);
        string(ln, [r?, p?], &base64(salt)?, &base64(digest)?)
    },
    expected: "N,r=…,p=…$salt$digest",
};

/// `scrypt:N:R:P$SALT$DIGEST`, the salt as text, 64 bytes of the digest in hexadecimal digits.
pub(crate) const WERKZEUG_SCRYPT: Form = Form {
    read: |rest| {
        let [params, salt, digest] = fields(rest, '$')?;
        let [n, r, p] = fields(params, ':')?;
        let digest = hex(digest).filter(|digest| digest.len() == 64)?;
        string(log(n)?, [decimal(r)?, decimal(p)?], text_salt(salt)?, &digest)
    },
    expected: "N:r:p$salt$digest, the digest in 128 hexadecimal digits",
};

/// `$9$SALT$DIGEST`: N = 16384, r = 1, p = 1, a salt of 14 characters.
pub(crate) const CISCO_9: Form = Form {
    read: |rest| {
        let (salt, digest) = cisco(rest)?;
        string(14, [1, 1], salt, &digest)
    },
    expected: "a salt of 14 characters, $ and 43 digits",
};
