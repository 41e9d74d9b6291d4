//! Every scheme whose strings are recognised, and identifying stored strings by their first
//! characters.

use std::fmt;

use saltern_yescrypt::Scheme as Ours;

use crate::error::Error;
use crate::scheme::Scheme;

/// A scheme whose strings are recognised.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StringFormat {
    /// The prefix of its strings; empty for those that are recognised by their form.
    pub prefix: &'static str,
    /// The name that crypt(5) or the scheme's own documentation uses.
    pub name: &'static str,
    /// The scheme that a policy must accept for such strings to be verified; `None` if they are
    /// known only by name.
    pub scheme: Option<Scheme>,
}

/// Includes the prefix, as in `sha512crypt ($6$)`.
impl fmt::Display for StringFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            "" => f.write_str(self.name),
            prefix => write!(f, "{} ({prefix})", self.name),
        }
    }
}

/// The kind of a stored string. The string may still be malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind<'t> {
    /// Nothing: the account has no password.
    Empty,
    /// A single `x`: the string is in another file, such as `/etc/shadow`.
    Shadowed,
    /// The marks of a locked account, `!` or `*`, with anything after them: no password matches.
    Locked,
    /// A string of yescrypt or scrypt, without `{CRYPT}`.
    Ours(&'static StringFormat, &'t str),
    /// A string of another scheme, without `{CRYPT}`.
    Foreign(&'static StringFormat, &'t str),
    /// `{over=…}`: a yescrypt hash over the digest of another scheme.
    Wrapped {
        /// The setting of the hash within.
        inner: &'t str,
        /// The yescrypt string around it.
        outer: &'t str,
    },
}

/// Identifies the kind of a stored string. Nothing is computed.
///
/// ```
/// use saltern::table::{Kind, identify};
/// let Kind::Foreign(known, _) = identify("{CRYPT}$2b$12$abc")? else { unreachable!() };
/// assert_eq!(known.to_string(), "bcrypt ($2b$)");
/// assert_eq!(identify("!$y$j9T$a$b")?, Kind::Locked);
/// assert!(identify("secret").is_err());
/// # Ok::<(), saltern::Error>(())
/// ```
///
/// # Errors
/// [`Error::Malformed`] for anything unknown.
pub fn identify(stored: &str) -> Result<Kind<'_>, Error> {
    let (before, text) = split(stored);
    if is_locked(before) { Ok(Kind::Locked) } else { kind(text) }
}

/// The prefix of a wrapped string.
pub(crate) const OVER: &str = "{over=";
/// The beginning of a seal.
pub(crate) const SEAL: &str = "{seal=";
/// The prefix that LDAP writes before crypt(3) strings.
const CRYPT: &str = "{CRYPT}";

/// The marks of a locked account: any number of them, before or after `{CRYPT}`.
const MARKS: [char; 2] = ['!', '*'];

/// The part before a string, including a seal, and the string.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let sealed = split_seal(text).map_or(text, |(_, _, sealed)| sealed);
    if is_mysql(sealed) {
        return text.split_at(text.len() - sealed.len());
    }
    let unmarked = sealed.trim_start_matches(MARKS);
    let rest = strip_crypt(unmarked).map_or(unmarked, |rest| rest.trim_start_matches(MARKS));
    text.split_at(text.len() - rest.len())
}

/// Whether a text begins like a sealed string, perhaps after marks of a locked account.
pub(crate) fn begins_sealed(text: &str) -> bool {
    text.trim_start_matches(MARKS).starts_with(SEAL)
}

/// The marks before a seal, what is between its braces, and what it seals, which is not empty.
pub(crate) fn split_seal(text: &str) -> Option<(&str, &str, &str)> {
    let seal = text.trim_start_matches(MARKS);
    let (within, sealed) = seal.strip_prefix(SEAL)?.split_once('}')?;
    let marks = &text[..text.len() - seal.len()];
    (!sealed.is_empty()).then_some((marks, within, sealed))
}

/// Whether this is a string of MySQL's old PASSWORD(): `*` and 40 digits in upper case. An account
/// whose bare SHA-1 is locked looks the same only if its digits are in upper case, too.
fn is_mysql(text: &str) -> bool {
    let digits = text.strip_prefix('*').filter(|digits| digits.len() == 40);
    digits.is_some_and(|digits| digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'A'..=b'F')))
}

/// Whether the part before a string marks a locked account.
pub(crate) fn is_locked(before: &str) -> bool {
    before.contains(MARKS)
}

/// The rest, if the text begins with this prefix, ignoring case.
fn strip_crypt(text: &str) -> Option<&str> {
    let (head, rest) = text.split_at_checked(CRYPT.len())?;
    head.eq_ignore_ascii_case(CRYPT).then_some(rest)
}

/// The kind of a string, without the part that [`split`] finds before it.
pub(crate) fn kind(text: &str) -> Result<Kind<'_>, Error> {
    match text {
        "" => return Ok(Kind::Empty),
        "x" => return Ok(Kind::Shadowed),
        _ => {}
    }
    if let Some(rest) = text.strip_prefix(OVER) {
        let (inner, outer) = rest.split_once('}').ok_or(UNCLOSED)?;
        return Ok(Kind::Wrapped { inner, outer });
    }
    let of_prefix = KNOWN.iter().find(|known| text.starts_with(known.prefix));
    let known = of_form(text).or(of_prefix);
    let known = known.ok_or(UNKNOWN)?;
    Ok(match known.scheme {
        Some(Scheme::Yescrypt | Scheme::Scrypt | Scheme::Escrypt) => Kind::Ours(known, text),
        _ => Kind::Foreign(known, text),
    })
}

/// For a string of which not even the name of the scheme is known.
const UNKNOWN: Error = Error::malformed(
    "stored string",
    "the beginning of a known scheme, such as $y$, $2b$, $6$, $argon2id$ or {SSHA}",
);

/// For a wrapped string that is not one.
pub(crate) const UNCLOSED: Error =
    Error::malformed("{over=…}", "a setting, } and a yescrypt string");

/// The scheme of a string without a prefix.
fn of_form(text: &str) -> Option<&'static StringFormat> {
    let digits = |also: &[u8]| text.bytes().all(|c| c.is_ascii_alphanumeric() || also.contains(&c));
    match text.len() {
        13 if digits(b"./") => Some(&DES),
        41 if is_mysql(text) => Some(&MYSQL),
        32 | 40 | 64 | 128 if text.bytes().all(|c| c.is_ascii_hexdigit()) => Some(&HEX),
        _ => None,
    }
}

const fn known(prefix: &'static str, name: &'static str, scheme: Scheme) -> StringFormat {
    StringFormat { prefix, name, scheme: Some(scheme) }
}

/// A scheme that is not verified here.
const fn by_name(prefix: &'static str, name: &'static str) -> StringFormat {
    StringFormat { prefix, name, scheme: None }
}

static DES: StringFormat = known("", "traditional DES", Scheme::Libcrypt);
static HEX: StringFormat = known("", "bare hexadecimal digits", Scheme::Hex);
static MYSQL: StringFormat = by_name("", "MySQL's mysql_native_password");

/// Longer prefixes come before shorter ones that begin them.
static KNOWN: [StringFormat; 84] = [
    known(Ours::Yescrypt.prefix(), "yescrypt", Scheme::Yescrypt),
    known("{rom=", "yescrypt", Scheme::Yescrypt),
    known("{key=", "yescrypt", Scheme::Yescrypt),
    known(Ours::Extended.prefix(), "saltern-yescrypt", Scheme::Yescrypt),
    known(Ours::Scrypt.prefix(), "scrypt", Scheme::Scrypt),
    known(Ours::ScryptPhc.prefix(), "scrypt in the PHC format", Scheme::Scrypt),
    known(Ours::Escrypt.prefix(), "escrypt 0.5", Scheme::Escrypt),
    known("$argon2id$", "Argon2id", Scheme::Argon2),
    known("$argon2i$", "Argon2i", Scheme::Argon2),
    known("$argon2d$", "Argon2d", Scheme::Argon2),
    known("$2a$", "bcrypt", Scheme::Bcrypt),
    known("$2b$", "bcrypt", Scheme::Bcrypt),
    known("$2x$", "bcrypt (with the sign extension bug)", Scheme::Bcrypt),
    known("$2y$", "bcrypt", Scheme::Bcrypt),
    known("$5$", "sha256crypt", Scheme::ShaCrypt),
    known("$6$", "sha512crypt", Scheme::ShaCrypt),
    known("$pbkdf2-sha512$", "PBKDF2-HMAC-SHA512", Scheme::Pbkdf2),
    known("$pbkdf2-sha256$", "PBKDF2-HMAC-SHA256", Scheme::Pbkdf2),
    known("$pbkdf2-sha1$", "PBKDF2-HMAC-SHA1", Scheme::Pbkdf2),
    known("$pbkdf2$", "PBKDF2-HMAC-SHA1", Scheme::Pbkdf2),
    known("pbkdf2_sha512$", "PBKDF2-HMAC-SHA512 in the Django format", Scheme::Pbkdf2),
    known("pbkdf2_sha256$", "PBKDF2-HMAC-SHA256 in the Django format", Scheme::Pbkdf2),
    known("pbkdf2_sha1$", "PBKDF2-HMAC-SHA1 in the Django format", Scheme::Pbkdf2),
    known("{SSHA512}", "LDAP salted SHA-512", Scheme::Ldap),
    known("{SSHA256}", "LDAP salted SHA-256", Scheme::Ldap),
    known("{SSHA}", "LDAP salted SHA-1", Scheme::Ldap),
    known("{SHA}", "LDAP SHA-1", Scheme::Ldap),
    known("{SMD5}", "LDAP salted MD5", Scheme::Ldap),
    known("{MD5}", "LDAP MD5", Scheme::Ldap),
    known("$gy$", "gost-yescrypt", Scheme::Libcrypt),
    known("$sha1$", "sha1crypt", Scheme::Libcrypt),
    known("$md5", "SunMD5", Scheme::Libcrypt),
    known("$1$", "md5crypt", Scheme::Libcrypt),
    known("$3$", "NTHASH", Scheme::Libcrypt),
    known("_", "BSDi extended DES", Scheme::Libcrypt),
    by_name("$sm3$", "sm3crypt"),
    by_name("$apr1$", "Apache md5crypt"),
    by_name("$s0$", "scrypt in the s0 format"),
    by_name("$P$", "phpass"),
    by_name("$H$", "phpass"),
    by_name("$S$", "Drupal 7 SHA-512"),
    by_name("bcrypt_sha256$", "bcrypt over SHA-256 in the Django format"),
    by_name("bcrypt$", "bcrypt in the Django format"),
    by_name("argon2$", "Argon2 in the Django format"),
    by_name("scrypt$", "scrypt in the Django format"),
    by_name("sha1$", "SHA-1 in the Django format"),
    by_name("md5$", "MD5 in the Django format"),
    by_name("scrypt:", "scrypt in the Werkzeug format"),
    by_name("pbkdf2:", "PBKDF2 in the Werkzeug format"),
    by_name("{bcrypt}", "bcrypt in the Spring format"),
    by_name("{argon2", "Argon2 in the Spring format"),
    by_name("{pbkdf2", "PBKDF2 in the Spring format"),
    by_name("{scrypt", "scrypt in the Spring format"),
    by_name("{sha256}", "SHA-256 in the Spring format"),
    by_name("{noop}", "a plain password in the Spring format"),
    by_name("{BLF-CRYPT}", "bcrypt in the Dovecot format"),
    by_name("{SHA512-CRYPT}", "sha512crypt in the Dovecot format"),
    by_name("{SHA256-CRYPT}", "sha256crypt in the Dovecot format"),
    by_name("{MD5-CRYPT}", "md5crypt in the Dovecot format"),
    by_name("{DES-CRYPT}", "traditional DES in the Dovecot format"),
    by_name("{ARGON2ID}", "Argon2id in the Dovecot format"),
    by_name("{ARGON2I}", "Argon2i in the Dovecot format"),
    by_name("{SHA512}", "SHA-512 in the Dovecot format"),
    by_name("{SHA256}", "SHA-256 in the Dovecot format"),
    by_name("{PLAIN}", "a plain password in the Dovecot format"),
    by_name("{ARGON2}", "Argon2 in the OpenLDAP format"),
    by_name("{PBKDF2}", "PBKDF2 in the OpenLDAP or the Dovecot format"),
    by_name("{PBKDF2-SHA1}", "PBKDF2-HMAC-SHA1 in the OpenLDAP format"),
    by_name("{PBKDF2-SHA256}", "PBKDF2-HMAC-SHA256 in the OpenLDAP format"),
    by_name("{PBKDF2-SHA512}", "PBKDF2-HMAC-SHA512 in the OpenLDAP or the 389 format"),
    by_name("{PBKDF2_SHA256}", "PBKDF2-HMAC-SHA256 in the 389 format"),
    by_name("{PBKDF2_SHA512}", "PBKDF2-HMAC-SHA512 in the 389 format"),
    by_name("{CLEARTEXT}", "a plain password in the LDAP format"),
    by_name("{PKCS5S2}", "PBKDF2 in the Atlassian format"),
    by_name("$wp$", "bcrypt in the WordPress format"),
    by_name("$8$", "Cisco type 8"),
    by_name("$9$", "Cisco type 9"),
    by_name("grub.pbkdf2.", "PBKDF2 in the GRUB format"),
    by_name("SCRAM-SHA-256$", "SCRAM-SHA-256, as of PostgreSQL"),
    by_name("$A$", "MySQL's caching_sha2_password"),
    by_name("AQAAAA", "PBKDF2 in the ASP.NET Identity format"),
    by_name("sha256$", "SHA-256 in the Django format"),
    by_name("$bcrypt-sha256$", "bcrypt over SHA-256 in the passlib format"),
    by_name("$argon2$", "Argon2 without its variant"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_hash_are_told_apart() {
        for locked in ["!$y$j9T$a$b", "!!", "*", "{CRYPT}!$y$j9T$a$b", "!{crypt}*", "*LK*"] {
            assert_eq!(identify(locked), Ok(Kind::Locked), "{locked}");
        }
        assert_eq!(identify(""), Ok(Kind::Empty));
        assert_eq!(identify("x"), Ok(Kind::Shadowed));
        // Its form comes first: no prefix consists of such digits only by more than chance.
        assert_eq!(identify("AQAAAAbcdefgh"), Ok(Kind::Foreign(&DES, "AQAAAAbcdefgh")));
        // A hash of MySQL's, which nobody has locked.
        let mysql = "*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E1";
        assert_eq!(identify(mysql), Ok(Kind::Foreign(&MYSQL, mysql)));
        assert_eq!(identify(&mysql.to_lowercase()), Ok(Kind::Locked));
        assert_eq!(identify(&mysql[..40]), Ok(Kind::Locked));
        for unknown in ["$Y$j9T$a", "xx", "secret", "{over=$6$a", "rqXexS6ZhobK:"] {
            assert!(identify(unknown).is_err(), "{unknown}");
        }
        let wrapped = Kind::Wrapped { inner: "$6$a", outer: "$y$" };
        assert_eq!(identify("{CRYPT}{over=$6$a}$y$"), Ok(wrapped));
        assert_eq!(identify("{seal=a}{CRYPT}{over=$6$a}$y$"), Ok(wrapped));
        assert_eq!(identify(&format!("{{seal=a}}{mysql}")), Ok(Kind::Foreign(&MYSQL, mysql)));
        for locked in ["!{seal=a}$y$", "{seal=a}!$y$", "{seal=a}{CRYPT}*"] {
            assert_eq!(identify(locked), Ok(Kind::Locked), "{locked}");
        }
        for wrong in ["{seal=a}", "{seal=a", "{seal=a}{seal=b}$y$", "{CRYPT}{seal=a}$y$"] {
            assert!(identify(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_prefix_hides_a_later_one() {
        for (at, late) in KNOWN.iter().enumerate() {
            let hidden = KNOWN[..at].iter().find(|early| late.prefix.starts_with(early.prefix));
            assert_eq!(hidden, None, "{}", late.prefix);
            assert!(!late.prefix.is_empty());
            // Exactly the schemes that are ours here are ours below.
            let ours = matches!(kind(late.prefix), Ok(Kind::Ours(..)));
            let named = late.prefix.starts_with('{') && late.name == "yescrypt";
            assert_eq!(ours, named || Ours::of(late.prefix).is_some(), "{}", late.prefix);
        }
        for scheme in Scheme::ALL {
            let all = KNOWN.iter().chain([&DES, &HEX]);
            assert!(all.into_iter().any(|known| known.scheme == Some(scheme)), "{scheme}");
        }
    }
}
