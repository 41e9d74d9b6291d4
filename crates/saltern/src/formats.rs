//! Every scheme whose strings are recognised, and identifying stored strings by their first
//! characters.

use std::borrow::Cow;
use std::fmt;

use saltern_yescrypt::Scheme as Ours;

use crate::error::Error;
use crate::forms::{self, Form, SHA256_CRYPT, SHA512_CRYPT};
use crate::scheme::Scheme;

/// A form of stored strings that is recognised: one line of the table that [`formats`] lists.
pub struct StringFormat {
    /// The prefix of its strings; empty for those that are recognised by their form.
    pub prefix: &'static str,
    /// The name that crypt(5) or the scheme's own documentation uses.
    pub name: &'static str,
    /// The scheme that a policy must accept for such strings to be verified; `None` if they are
    /// known only by name.
    pub scheme: Option<Scheme>,
    reading: Reading,
}

/// How a string is read.
#[derive(Clone, Copy)]
enum Reading {
    /// By `saltern-yescrypt`.
    Ours,
    /// By the file of its scheme in `foreign/`.
    Own,
    /// It is another program's prefix and a string of the same scheme.
    Prefixed,
    /// It is rewritten as a string of the same scheme.
    Form(Form),
    /// Not at all. What to do about it.
    NameOnly(&'static str),
}

impl StringFormat {
    /// Whether [`Passwords::wrap`](crate::Passwords::wrap) wraps such strings: those of all schemes
    /// that are verified, except yescrypt and scrypt.
    #[must_use]
    pub fn is_wrapped(&self) -> bool {
        self.scheme.is_some_and(|scheme| !scheme.is_ours())
    }

    /// For strings that are known only by name: what to do about them.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        if let Reading::NameOnly(advice) = self.reading { Some(advice) } else { None }
    }
}

/// One line of the table each.
impl PartialEq for StringFormat {
    fn eq(&self, other: &Self) -> bool {
        (self.prefix, self.name) == (other.prefix, other.name)
    }
}

impl Eq for StringFormat {}

/// Includes the prefix, as in `sha512crypt ($6$)`.
impl fmt::Display for StringFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            "" => f.write_str(self.name),
            prefix => write!(f, "{} ({prefix})", self.name),
        }
    }
}

impl fmt::Debug for StringFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StringFormat({self})")
    }
}

/// Every form of strings that is recognised, in the order in which they are looked for.
///
/// ```
/// use saltern::{policy::Scheme, table::formats};
/// let spring = formats().find(|known| known.prefix == "{bcrypt}").unwrap();
/// assert_eq!((spring.scheme, spring.is_wrapped()), (Some(Scheme::Bcrypt), true));
/// ```
pub fn formats() -> impl Iterator<Item = &'static StringFormat> {
    OF_FORM.iter().chain(KNOWN)
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
    let known = find(text).ok_or(UNKNOWN)?;
    Ok(match known.reading {
        Reading::Ours => Kind::Ours(known, text),
        _ => Kind::Foreign(known, text),
    })
}

fn find(text: &str) -> Option<&'static StringFormat> {
    let of_prefix = || KNOWN.iter().find(|known| text.starts_with(known.prefix));
    of_form(text).or_else(of_prefix)
}

/// A string as the scheme's own file reads it: without another program's prefix, and rewritten if
/// it has another program's form.
pub(crate) fn plain<'t>(
    known: &'static StringFormat,
    text: &'t str,
) -> Result<(&'static StringFormat, Cow<'t, str>), Error> {
    let name = known.name;
    let rest = text.strip_prefix(known.prefix).unwrap_or(text);
    let plain: Cow<'t, str> = match known.reading {
        Reading::Ours | Reading::Own => return Ok((known, text.into())),
        Reading::NameOnly(advice) => return Err(Error::NoVerifier { name, advice }),
        Reading::Prefixed => rest.into(),
        Reading::Form(Form { read, expected }) => {
            read(rest).ok_or(Error::malformed(name, expected))?.into()
        }
    };
    let inner = find(&plain).filter(|inner| {
        inner.scheme == known.scheme && matches!(inner.reading, Reading::Ours | Reading::Own)
    });
    let expected = "a string of its scheme after the prefix";
    Ok((inner.ok_or(Error::malformed(name, expected))?, plain))
}

/// For a string of which not even the name of the scheme is known.
const UNKNOWN: Error = Error::malformed(
    "stored string",
    "the beginning of a known scheme, such as $y$, $2b$, $6$, $argon2id$ or {SSHA}",
);

/// For a wrapped string that is not one.
pub(crate) const UNCLOSED: Error =
    Error::malformed("{over=…}", "a setting, } and a yescrypt string");

/// The form of a string that no prefix identifies.
fn of_form(text: &str) -> Option<&'static StringFormat> {
    let digits = |also: &[u8]| text.bytes().all(|c| c.is_ascii_alphanumeric() || also.contains(&c));
    let hex = |text: &str| text.bytes().all(|c| c.is_ascii_hexdigit());
    let [des, mysql, identity, postgresql, bare, md5, scrypt] = &OF_FORM;
    let is_read = |known: &StringFormat| match known.reading {
        Reading::Form(form) => text.strip_prefix(known.prefix).and_then(form.read).is_some(),
        _ => false,
    };
    match text.len() {
        13 if digits(b"./") => Some(des),
        41 if is_mysql(text) => Some(mysql),
        68 if text.starts_with('A') && is_read(identity) => Some(identity),
        35 if text.strip_prefix("md5").is_some_and(hex) => Some(postgresql),
        32 | 40 | 64 | 96 | 128 if hex(text) => Some(bare),
        29 if is_read(md5) => Some(md5),
        _ if is_read(scrypt) => Some(scrypt),
        _ => None,
    }
}

const fn ours(prefix: &'static str, name: &'static str, scheme: Scheme) -> StringFormat {
    StringFormat { prefix, name, scheme: Some(scheme), reading: Reading::Ours }
}

const fn own(prefix: &'static str, name: &'static str, scheme: Scheme) -> StringFormat {
    StringFormat { prefix, name, scheme: Some(scheme), reading: Reading::Own }
}

const fn prefixed(prefix: &'static str, name: &'static str, scheme: Scheme) -> StringFormat {
    StringFormat { prefix, name, scheme: Some(scheme), reading: Reading::Prefixed }
}

const fn form(
    prefix: &'static str,
    name: &'static str,
    scheme: Scheme,
    form: Form,
) -> StringFormat {
    StringFormat { prefix, name, scheme: Some(scheme), reading: Reading::Form(form) }
}

/// A scheme that is not verified here.
const fn name_only(prefix: &'static str, name: &'static str, advice: &'static str) -> StringFormat {
    StringFormat { prefix, name, scheme: None, reading: Reading::NameOnly(advice) }
}

const NEW: &str = "such accounts need a new password";
const PLAIN: &str = "it is the password itself: hash it as a new one, and delete this";
const ELSEWHERE: &str = "the password is checked by another server, and has no string here";

/// What [`of_form`] recognises, in its order.
static OF_FORM: [StringFormat; 7] = [
    own("", "traditional DES", Scheme::Libcrypt),
    own("", "MySQL's mysql_native_password", Scheme::Hex),
    form("", "PBKDF2 in the ASP.NET Identity 2 format", Scheme::Pbkdf2, forms::IDENTITY_2),
    name_only("", "PostgreSQL's MD5, salted with the name of the account", NEW),
    own("", "bare hexadecimal digits", Scheme::Hex),
    form("$md5$", "MD5 in the Kratos format", Scheme::Ldap, forms::KRATOS_MD5),
    form("$scrypt$ln=", "scrypt in the Kratos format", Scheme::Scrypt, forms::KRATOS_SCRYPT),
];

/// Longer prefixes come before shorter ones that begin them.
static KNOWN: &[StringFormat] = &[
    ours(Ours::Yescrypt.prefix(), "yescrypt", Scheme::Yescrypt),
    ours("{rom=", "yescrypt", Scheme::Yescrypt),
    ours("{key=", "yescrypt", Scheme::Yescrypt),
    ours(Ours::Extended.prefix(), "saltern-yescrypt", Scheme::Yescrypt),
    ours(Ours::Scrypt.prefix(), "scrypt", Scheme::Scrypt),
    ours(Ours::ScryptPhc.prefix(), "scrypt in the PHC format", Scheme::Scrypt),
    ours(Ours::Escrypt.prefix(), "escrypt 0.5", Scheme::Escrypt),
    form("$s0$", "scrypt in the s0 format", Scheme::Scrypt, forms::S0),
    form("scrypt$", "scrypt in the Django format", Scheme::Scrypt, forms::DJANGO_SCRYPT),
    form("scrypt:", "scrypt in the Werkzeug format", Scheme::Scrypt, forms::WERKZEUG_SCRYPT),
    form("{scrypt}$", "scrypt in the Spring format", Scheme::Scrypt, forms::S0),
    form("{scrypt@SpringSecurity_v5_8}$", "scrypt in the Spring format", Scheme::Scrypt, forms::S0),
    form("$9$", "Cisco type 9 (scrypt)", Scheme::Scrypt, forms::CISCO_9),
    own("$argon2id$", "Argon2id", Scheme::Argon2),
    own("$argon2i$", "Argon2i", Scheme::Argon2),
    own("$argon2d$", "Argon2d", Scheme::Argon2),
    form("argon2$", "Argon2 in the Django format", Scheme::Argon2, forms::DJANGO_ARGON2),
    prefixed("{argon2}", "Argon2 in the Spring format", Scheme::Argon2),
    prefixed("{argon2@SpringSecurity_v5_8}", "Argon2 in the Spring format", Scheme::Argon2),
    prefixed("{ARGON2}", "Argon2 in the OpenLDAP format", Scheme::Argon2),
    prefixed("{ARGON2ID}", "Argon2id in the Dovecot format", Scheme::Argon2),
    prefixed("{ARGON2I}", "Argon2i in the Dovecot format", Scheme::Argon2),
    own("$2a$", "bcrypt", Scheme::Bcrypt),
    own("$2b$", "bcrypt", Scheme::Bcrypt),
    own("$2x$", "bcrypt (with the sign extension bug)", Scheme::Bcrypt),
    own("$2y$", "bcrypt", Scheme::Bcrypt),
    own("$wp$2y$", "bcrypt in the WordPress format", Scheme::Bcrypt),
    own("bcrypt_sha256$$2", "bcrypt over SHA-256 in the Django format", Scheme::Bcrypt),
    own("$bcrypt-sha256$", "bcrypt over SHA-256 in the passlib format", Scheme::Bcrypt),
    prefixed("bcrypt$", "bcrypt in the Django format", Scheme::Bcrypt),
    prefixed("{bcrypt}", "bcrypt in the Spring format", Scheme::Bcrypt),
    prefixed("{BLF-CRYPT}", "bcrypt in the Dovecot format", Scheme::Bcrypt),
    own("$5$", "sha256crypt", Scheme::ShaCrypt),
    own("$6$", "sha512crypt", Scheme::ShaCrypt),
    own("$A$", "MySQL's caching_sha2_password", Scheme::ShaCrypt),
    form("0x2441", "MySQL's caching_sha2_password", Scheme::ShaCrypt, forms::MYSQL_HEX),
    prefixed("{SHA512-CRYPT}", "sha512crypt in the Dovecot format", Scheme::ShaCrypt),
    prefixed("{SHA256-CRYPT}", "sha256crypt in the Dovecot format", Scheme::ShaCrypt),
    form("$sha256-crypt$", "sha256crypt in the Kratos format", Scheme::ShaCrypt, SHA256_CRYPT),
    form("$sha512-crypt$", "sha512crypt in the Kratos format", Scheme::ShaCrypt, SHA512_CRYPT),
    own("$pbkdf2-sha512$", "PBKDF2-HMAC-SHA512", Scheme::Pbkdf2),
    own("$pbkdf2-sha256$", "PBKDF2-HMAC-SHA256", Scheme::Pbkdf2),
    own("$pbkdf2-sha1$", "PBKDF2-HMAC-SHA1", Scheme::Pbkdf2),
    own("$pbkdf2$", "PBKDF2-HMAC-SHA1", Scheme::Pbkdf2),
    own("pbkdf2_sha512$", "PBKDF2-HMAC-SHA512 in the Django format", Scheme::Pbkdf2),
    own("pbkdf2_sha256$", "PBKDF2-HMAC-SHA256 in the Django format", Scheme::Pbkdf2),
    own("pbkdf2_sha1$", "PBKDF2-HMAC-SHA1 in the Django format", Scheme::Pbkdf2),
    form("pbkdf2:", "PBKDF2 in the Werkzeug format", Scheme::Pbkdf2, forms::WERKZEUG_PBKDF2),
    form("{pbkdf2}", "PBKDF2 in the Spring format", Scheme::Pbkdf2, forms::SPRING_PBKDF2),
    form(
        "{pbkdf2@SpringSecurity_v5_8}",
        "PBKDF2 in the Spring format",
        Scheme::Pbkdf2,
        forms::SPRING_PBKDF2,
    ),
    form("{PBKDF2}$1$", "PBKDF2 in the Dovecot format", Scheme::Pbkdf2, forms::DOVECOT_PBKDF2),
    form("{PBKDF2}", "PBKDF2 in the OpenLDAP format", Scheme::Pbkdf2, forms::LDAP_SHA1),
    form(
        "{PBKDF2-SHA1}",
        "PBKDF2-HMAC-SHA1 in the OpenLDAP format",
        Scheme::Pbkdf2,
        forms::LDAP_SHA1,
    ),
    form(
        "{PBKDF2-SHA256}",
        "PBKDF2-HMAC-SHA256 in the OpenLDAP or the 389 format",
        Scheme::Pbkdf2,
        forms::LDAP_SHA256,
    ),
    form(
        "{PBKDF2-SHA512}",
        "PBKDF2-HMAC-SHA512 in the OpenLDAP or the 389 format",
        Scheme::Pbkdf2,
        forms::LDAP_SHA512,
    ),
    form("{PBKDF2_SHA256}", "PBKDF2-HMAC-SHA256 in the 389 format", Scheme::Pbkdf2, forms::DS_389),
    form("{PKCS5S2}", "PBKDF2 in the Atlassian format", Scheme::Pbkdf2, forms::ATLASSIAN),
    form("AQAAAA", "PBKDF2 in the ASP.NET Identity 3 format", Scheme::Pbkdf2, forms::IDENTITY_3),
    form("grub.pbkdf2.", "PBKDF2 in the GRUB format", Scheme::Pbkdf2, forms::GRUB),
    form("$8$", "Cisco type 8 (PBKDF2)", Scheme::Pbkdf2, forms::CISCO_8),
    own("SCRAM-SHA-256$", "SCRAM-SHA-256 in the PostgreSQL format", Scheme::Scram),
    own("{SCRAM-SHA-256}", "SCRAM-SHA-256 in the Dovecot format", Scheme::Scram),
    own("$firescrypt$", "Firebase's scrypt", Scheme::Firebase),
    own("$P$", "phpass", Scheme::Phpass),
    own("$H$", "phpass, as of phpBB", Scheme::Phpass),
    own("$S$", "Drupal 7 SHA-512", Scheme::Phpass),
    own("U$S$", "Drupal 7 SHA-512 over MD5", Scheme::Phpass),
    own("$apr1$", "Apache md5crypt", Scheme::Apr1),
    own("{SSHA512}", "LDAP salted SHA-512", Scheme::Ldap),
    own("{SSHA384}", "LDAP salted SHA-384", Scheme::Ldap),
    own("{SSHA256}", "LDAP salted SHA-256", Scheme::Ldap),
    own("{SSHA}", "LDAP salted SHA-1", Scheme::Ldap),
    own("{SHA512}", "LDAP SHA-512", Scheme::Ldap),
    own("{SHA384}", "LDAP SHA-384", Scheme::Ldap),
    own("{SHA256}", "LDAP SHA-256", Scheme::Ldap),
    own("{SHA}", "LDAP SHA-1", Scheme::Ldap),
    own("{SMD5}", "LDAP salted MD5", Scheme::Ldap),
    form("{MD5}$1$", "md5crypt in the Dovecot format", Scheme::Libcrypt, forms::MD5_CRYPT),
    own("{MD5}", "LDAP MD5", Scheme::Ldap),
    own("sha1$", "SHA-1 in the Django format", Scheme::Ldap),
    own("md5$", "MD5 in the Django format", Scheme::Ldap),
    form("{SHA1}", "SHA-1 in the Dovecot format", Scheme::Ldap, forms::DOVECOT_SHA1),
    form("{LDAP-MD5}", "MD5 in the Dovecot format", Scheme::Ldap, forms::DOVECOT_MD5),
    prefixed("{PLAIN-MD5}", "MD5 in the Dovecot format", Scheme::Hex),
    own("$md5$pf=", "salted MD5 in the Kratos format", Scheme::Ldap),
    own("$sha1$pf=", "salted SHA-1 in the Kratos format", Scheme::Ldap),
    own("$sha256$pf=", "salted SHA-256 in the Kratos format", Scheme::Ldap),
    own("$sha512$pf=", "salted SHA-512 in the Kratos format", Scheme::Ldap),
    own("$gy$", "gost-yescrypt", Scheme::Libcrypt),
    own("$sha1$", "sha1crypt", Scheme::Libcrypt),
    form("$md5-crypt$", "md5crypt in the Kratos format", Scheme::Libcrypt, forms::MD5_CRYPT),
    own("$md5", "SunMD5", Scheme::Libcrypt),
    own("$1$", "md5crypt", Scheme::Libcrypt),
    own("$3$", "NTHASH", Scheme::Libcrypt),
    own("_", "BSDi extended DES", Scheme::Libcrypt),
    prefixed("{MD5-CRYPT}", "md5crypt in the Dovecot format", Scheme::Libcrypt),
    prefixed("{DES-CRYPT}", "traditional DES in the Dovecot format", Scheme::Libcrypt),
    prefixed("{GOST_YESCRYPT}", "gost-yescrypt in the 389 format", Scheme::Libcrypt),
    name_only("$hmac-", "a keyed digest in the Kratos format", NEW),
    name_only("$sm3$", "sm3crypt", NEW),
    name_only("$argon2$", "Argon2 without its variant", NEW),
    name_only("sha256$", "HMAC-SHA-256 in the Werkzeug format, or SHA-256 in another", NEW),
    name_only("sha512$", "HMAC-SHA-512 in the Werkzeug format, or SHA-512 in another", NEW),
    name_only("{sha256}", "iterated SHA-256 in the Spring format", NEW),
    name_only("{SHA-256}", "SHA-256 in the Spring format", NEW),
    name_only("{SHA-1}", "SHA-1 in the Spring format", NEW),
    name_only("{noop}", "a plain password in the Spring format", PLAIN),
    name_only("{PLAIN}", "a plain password in the Dovecot format", PLAIN),
    name_only("{CLEARTEXT}", "a plain password in the LDAP format", PLAIN),
    name_only("{clear}", "a plain password in the 389 format", PLAIN),
    name_only("{SASL}", "OpenLDAP's pass-through authentication", ELSEWHERE),
    name_only("{SCRAM-SHA-1}", "SCRAM-SHA-1 in the Dovecot format", NEW),
    name_only("{CRAM-MD5}", "CRAM-MD5 in the Dovecot format", NEW),
    name_only("{DIGEST-MD5}", "DIGEST-MD5 in the Dovecot format", NEW),
    name_only("{HMAC-MD5}", "CRAM-MD5 in the Dovecot format", NEW),
    name_only("{NTLM}", "the NT hash in the Dovecot format", NEW),
    name_only("{LANMAN}", "the LM hash in the Dovecot format", NEW),
    name_only("{PBKDF2_SHA512}", "PBKDF2-HMAC-SHA512 in an unknown format", NEW),
    name_only("{ssha512}", "AIX's salted SHA-512", NEW),
    name_only("{ssha256}", "AIX's salted SHA-256", NEW),
    name_only("{ssha1}", "AIX's salted SHA-1", NEW),
    name_only("{smd5}", "AIX's salted MD5", NEW),
    name_only("{x-issha", "SAP's iterated salted SHA", NEW),
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
        assert_eq!(identify("AQAAAAbcdefgh"), Ok(Kind::Foreign(&OF_FORM[0], "AQAAAAbcdefgh")));
        // A hash of MySQL's, which nobody has locked.
        let mysql = "*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E1";
        assert_eq!(identify(mysql), Ok(Kind::Foreign(&OF_FORM[1], mysql)));
        assert_eq!(identify(&mysql.to_lowercase()), Ok(Kind::Locked));
        assert_eq!(identify(&mysql[..40]), Ok(Kind::Locked));
        for unknown in ["$Y$j9T$a", "xx", "secret", "{over=$6$a", "rqXexS6ZhobK:"] {
            assert!(identify(unknown).is_err(), "{unknown}");
        }
        let wrapped = Kind::Wrapped { inner: "$6$a", outer: "$y$" };
        assert_eq!(identify("{CRYPT}{over=$6$a}$y$"), Ok(wrapped));
        assert_eq!(identify("{seal=a}{CRYPT}{over=$6$a}$y$"), Ok(wrapped));
        let sealed = format!("{{seal=a}}{mysql}");
        assert_eq!(identify(&sealed), Ok(Kind::Foreign(&OF_FORM[1], mysql)));
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
            let all = formats();
            assert!(all.into_iter().any(|known| known.scheme == Some(scheme)), "{scheme}");
        }
    }
}
