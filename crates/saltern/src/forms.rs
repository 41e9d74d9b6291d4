//! Strings of known schemes as other programs write them, rewritten in the form that the scheme's
//! own file reads: PBKDF2 and scrypt in the PHC string format, for example. The password, the salt,
//! the cost and the digest stay the same, so the same ceilings apply, and a wrapped string has the
//! same setting whatever form it came in.
//!
//! A new form is a constant here and a line of the table in `formats.rs`.

mod pbkdf2;
mod scrypt;

use base64ct::{Base64Unpadded, Encoding};
use saltern_wipe::Zeroizing;

pub(crate) use self::pbkdf2::{
    ATLASSIAN, CISCO_8, DOVECOT_PBKDF2, DS_389, GRUB, IDENTITY_2, IDENTITY_3, LDAP_SHA1,
    LDAP_SHA256, LDAP_SHA512, SPRING_PBKDF2, WERKZEUG_PBKDF2,
};
pub(crate) use self::scrypt::{CISCO_9, DJANGO_SCRYPT, KRATOS_SCRYPT, S0, WERKZEUG_SCRYPT};

/// How a string is rewritten.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// What follows the prefix, rewritten; `None` if it is not of this form.
    pub(crate) read: fn(&str) -> Option<String>,
    /// What is expected after the prefix.
    pub(crate) expected: &'static str,
}

/// `argon2$argon2id$v=19$…`
pub(crate) const DJANGO_ARGON2: Form =
    Form { read: |rest| Some(format!("${rest}")), expected: "a string of Argon2 without its $" };

/// `{SHA1}` and base 64, which everybody else writes `{SHA}`.
pub(crate) const DOVECOT_SHA1: Form =
    Form { read: |rest| Some(format!("{{SHA}}{rest}")), expected: "base 64 of 20 bytes" };

/// `{LDAP-MD5}` and base 64, which everybody else writes `{MD5}`.
pub(crate) const DOVECOT_MD5: Form =
    Form { read: |rest| Some(format!("{{MD5}}{rest}")), expected: "base 64 of 16 bytes" };

/// `$md5$` of Kratos and base 64, which everybody else writes `{MD5}`.
pub(crate) const KRATOS_MD5: Form = Form {
    read: |rest| (base64(rest)?.len() == 16).then(|| format!("{{MD5}}{rest}")),
    expected: "base 64 of 16 bytes",
};

/// `{MD5}$1$…` of Dovecot, which is md5crypt and not MD5, and `$md5-crypt$` of Kratos.
pub(crate) const MD5_CRYPT: Form =
    Form { read: |rest| Some(format!("$1${rest}")), expected: "salt$digest" };

/// `$sha256-crypt$`, which everybody but Kratos writes `$5$`.
pub(crate) const SHA256_CRYPT: Form =
    Form { read: |rest| Some(format!("$5${rest}")), expected: "rounds, salt and digest" };

/// `$sha512-crypt$`, which everybody but Kratos writes `$6$`.
pub(crate) const SHA512_CRYPT: Form =
    Form { read: |rest| Some(format!("$6${rest}")), expected: "rounds, salt and digest" };

/// The hexadecimal digits of `$A$005$…`, as MySQL prints them, since a salt may have any character.
pub(crate) const MYSQL_HEX: Form = Form {
    read: |rest| Some(format!("$A{}", String::from_utf8(hex(rest)?).ok()?)),
    expected: "hexadecimal digits of $A$, three digits, $, 20 bytes of salt and 43 of the digest",
};

/// Exactly this many fields.
fn fields<const COUNT: usize>(text: &str, between: char) -> Option<[&str; COUNT]> {
    let mut parts = text.split(between);
    let mut fields = [""; COUNT];
    for field in &mut fields {
        *field = parts.next()?;
    }
    parts.next().is_none().then_some(fields)
}

/// Hexadecimal digits in either case.
fn hex(text: &str) -> Option<Vec<u8>> {
    base16ct::mixed::decode_vec(text).ok()
}

/// Base 64, with its padding or without.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padded = digits.len().next_multiple_of(4);
    let whole = text.len() == digits.len() || text.len() == padded;
    whole.then(|| Base64Unpadded::decode_vec(digits).ok()).flatten()
}

/// Base 64 in the PHC string format.
fn phc(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(Base64Unpadded::encode_string(bytes))
}

/// A salt that is text, of characters that cannot be mistaken for the end of it.
fn text_salt(salt: &str) -> Option<&[u8]> {
    let plain = |c: u8| c.is_ascii_graphic() || c == b' ';
    salt.bytes().all(plain).then_some(salt.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::formats::{Kind, formats, identify};
    use crate::stored::Stored;
    use crate::table::scheme;

    proptest! {
        /// Whatever follows a prefix, it is read or refused, and what it is called does not change.
        #[test]
        fn nothing_makes_a_parser_panic(
            at in 0_usize..200,
            rest in prop_oneof!["\\PC{0,90}", "[$:,.=a-zA-Z0-9/+]{0,120}", "[0-9]{1,20}[$:,.][A-Za-z0-9+/=$]{0,90}"],
        ) {
            let known = formats().nth(at % formats().count()).unwrap();
            let text = format!("{}{rest}", known.prefix);
            let parsed = Stored::parse(&text);
            if let (Ok(Kind::Foreign(named, _)), Ok(parsed)) = (identify(&text), parsed) {
                prop_assert_eq!(named.scheme, parsed.hash.map(|hash| hash.scheme()));
                prop_assert_eq!(named.scheme, scheme(&text).unwrap());
            }
        }
    }
}
