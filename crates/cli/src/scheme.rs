//! What a stored string is, told from its first characters.
//!
//! Only yescrypt and scrypt are computed by this program. Everything else that a password file can
//! hold is named, so that a line is never silently passed over.

use saltern_yescrypt::Scheme;

/// What the password field of an account holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// A string of a scheme that this program computes; it may still be malformed.
    Ours(Scheme),
    /// A string of a scheme that this program knows by name only.
    Foreign(&'static Foreign),
    /// `!` or `*` in front: no password matches.
    Locked,
    /// Nothing at all: the account has no password.
    Empty,
    /// A lone `x`: the string is in the shadow file.
    Elsewhere,
    /// None of these.
    Unknown,
}

/// A scheme known by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// What its strings begin with; for traditional DES, which has no prefix, what is told to
    /// people.
    pub(crate) prefix: &'static str,
    /// The name that crypt(5) or the scheme's own documentation uses.
    pub(crate) name: &'static str,
}

const fn foreign(prefix: &'static str, name: &'static str) -> Foreign {
    Foreign { prefix, name }
}

/// Longer prefixes come before shorter ones that begin them.
static FOREIGN: [Foreign; 30] = [
    foreign("$gy$", "gost-yescrypt"),
    foreign("$2a$", "bcrypt"),
    foreign("$2b$", "bcrypt"),
    foreign("$2x$", "bcrypt (with the sign extension bug)"),
    foreign("$2y$", "bcrypt"),
    foreign("$6$", "sha512crypt"),
    foreign("$5$", "sha256crypt"),
    foreign("$sha1$", "sha1crypt"),
    foreign("$sm3$", "sm3crypt"),
    foreign("$md5", "SunMD5"),
    foreign("$1$", "md5crypt"),
    foreign("$apr1$", "Apache md5crypt"),
    foreign("$3$", "NTHASH"),
    foreign("$argon2id$", "Argon2id"),
    foreign("$argon2i$", "Argon2i"),
    foreign("$argon2d$", "Argon2d"),
    foreign("$s0$", "scrypt in the s0 format"),
    foreign("$pbkdf2-sha512$", "PBKDF2-HMAC-SHA512"),
    foreign("$pbkdf2-sha256$", "PBKDF2-HMAC-SHA256"),
    foreign("$pbkdf2$", "PBKDF2-HMAC-SHA1"),
    foreign("$P$", "phpass"),
    foreign("$H$", "phpass"),
    foreign("$S$", "Drupal 7 SHA-512"),
    foreign("pbkdf2_sha256$", "PBKDF2-HMAC-SHA256 in the Django format"),
    foreign("bcrypt_sha256$", "bcrypt over SHA-256 in the Django format"),
    foreign("{SSHA}", "LDAP salted SHA-1"),
    foreign("{SSHA512}", "LDAP salted SHA-512"),
    foreign("{SHA}", "LDAP SHA-1"),
    foreign("{CRYPT}", "LDAP wrapping of a crypt(3) string"),
    foreign("_", "BSDi extended DES"),
];

/// Thirteen digits without a prefix.
static DES: Foreign = foreign("(none)", "traditional DES");

/// Tell what a password field holds.
pub(crate) fn identify(field: &[u8]) -> Stored {
    match field {
        b"" => return Stored::Empty,
        b"x" => return Stored::Elsewhere,
        [b'!' | b'*', ..] => return Stored::Locked,
        _ => {}
    }
    // With names before it a string is told by these: what is wrong with it is found later.
    let named = [&b"{rom="[..], b"{key="].iter().any(|names| field.starts_with(names));
    if named {
        return Stored::Ours(Scheme::Yescrypt);
    }
    if let Some(scheme) = Scheme::of(field) {
        return Stored::Ours(scheme);
    }
    if let Some(foreign) = FOREIGN.iter().find(|known| field.starts_with(known.prefix.as_bytes())) {
        return Stored::Foreign(foreign);
    }
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    if field.len() == 13 && field.iter().all(digit) {
        return Stored::Foreign(&DES);
    }
    Stored::Unknown
}

/// The name of a scheme that this program computes.
pub(crate) fn name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Yescrypt => "yescrypt",
        Scheme::Scrypt => "scrypt",
        Scheme::Extended => "saltern-yescrypt",
        Scheme::Escrypt => "escrypt 0.5",
        Scheme::ScryptPhc => "scrypt in the PHC format",
        _ => "another scheme",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign_name(field: &str) -> &'static str {
        match identify(field.as_bytes()) {
            Stored::Foreign(foreign) => foreign.name,
            other => panic!("{field}: {other:?}"),
        }
    }

    #[test]
    fn common_schemes_are_named() {
        assert_eq!(foreign_name("$6$salt$hash"), "sha512crypt");
        assert_eq!(foreign_name("$2b$12$abc"), "bcrypt");
        assert_eq!(foreign_name("$1$salt$hash"), "md5crypt");
        assert_eq!(foreign_name("$gy$j9T$salt$hash"), "gost-yescrypt");
        assert_eq!(foreign_name("$md5,rounds=904$salt$$hash"), "SunMD5");
        assert_eq!(foreign_name("rqXexS6ZhobKA"), "traditional DES");
        assert_eq!(foreign_name("_J9..K0AyUubDrfOgO4s"), "BSDi extended DES");
    }

    #[test]
    fn fields_without_a_hash_are_told_apart() {
        assert_eq!(identify(b"!$y$j9T$a$b"), Stored::Locked);
        assert_eq!(identify(b"!!"), Stored::Locked);
        assert_eq!(identify(b"*"), Stored::Locked);
        assert_eq!(identify(b""), Stored::Empty);
        assert_eq!(identify(b"x"), Stored::Elsewhere);
        assert_eq!(identify(b"\xff"), Stored::Unknown);
        assert_eq!(identify(b"$Y$j9T$a"), Stored::Unknown);
        assert_eq!(identify(b"$y$"), Stored::Ours(Scheme::Yescrypt));
        assert_eq!(identify(b"$7$x"), Stored::Ours(Scheme::Scrypt));
        assert_eq!(identify(b"$7X3$x"), Stored::Ours(Scheme::Escrypt));
    }

    #[test]
    fn no_prefix_hides_a_later_one() {
        for (at, late) in FOREIGN.iter().enumerate() {
            let hidden = FOREIGN[..at].iter().find(|early| late.prefix.starts_with(early.prefix));
            assert_eq!(hidden, None, "{}", late.prefix);
        }
    }
}
