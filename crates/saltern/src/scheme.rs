//! The schemes of stored strings, by the names that a policy has for them.

use std::fmt;

/// A scheme, or a family of them, that a policy accepts or does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// `yescrypt`: `$y$`, and `$saltern-yescrypt$`. New hashes are of this one.
    Yescrypt,
    /// `scrypt`: `$7$` and `$scrypt$ln=`….
    Scrypt,
    /// `escrypt`: `$7X`, generation 0.5 of yescrypt.
    Escrypt,
    /// `argon2`: `$argon2id$`, `$argon2i$`, `$argon2d$` of versions 16 and 19, without a key or
    /// associated data. Feature `argon2`.
    Argon2,
    /// `bcrypt`: `$2a$`, `$2b$`, `$2y$` and `$2x$`, all of them as libxcrypt computes them: `$2a$`
    /// is not `$2b$` for a few passwords with bytes above 127, and `$2x$` is never. Of a password
    /// the first 72 bytes count; the update after a match is a hash of all of it. Feature `bcrypt`.
    Bcrypt,
    /// `sha-crypt`: `$5$` and `$6$`. Feature `sha-crypt`.
    ShaCrypt,
    /// `pbkdf2`: with HMAC of SHA-1, SHA-256 or SHA-512, in the forms of the PHC, passlib and
    /// Django. Feature `pbkdf2`.
    Pbkdf2,
    /// `ldap`: `{SSHA}`, `{SSHA256}`, `{SSHA512}`, `{SMD5}`, and without salt `{SHA}` and `{MD5}`.
    /// Feature `digest`.
    Ldap,
    /// `hex`: bare hexadecimal digits of MD5, SHA-1, SHA-256 or SHA-512, told apart by their
    /// number. Feature `digest`.
    Hex,
    /// `libcrypt`: `$1$`, `$gy$`, `$sha1$`, `$md5`, `$3$`, DES and BSDi, by the machine's libcrypt.
    /// Feature `libcrypt`.
    Libcrypt,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Scheme; 10] = [
        Scheme::Yescrypt,
        Scheme::Scrypt,
        Scheme::Escrypt,
        Scheme::Argon2,
        Scheme::Bcrypt,
        Scheme::ShaCrypt,
        Scheme::Pbkdf2,
        Scheme::Ldap,
        Scheme::Hex,
        Scheme::Libcrypt,
    ];

    /// Its name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Yescrypt => "yescrypt",
            Scheme::Scrypt => "scrypt",
            Scheme::Escrypt => "escrypt",
            Scheme::Argon2 => "argon2",
            Scheme::Bcrypt => "bcrypt",
            Scheme::ShaCrypt => "sha-crypt",
            Scheme::Pbkdf2 => "pbkdf2",
            Scheme::Ldap => "ldap",
            Scheme::Hex => "hex",
            Scheme::Libcrypt => "libcrypt",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The feature without which this build cannot compute it; `None` if it can.
    #[must_use]
    pub const fn missing_feature(self) -> Option<&'static str> {
        match self {
            Scheme::Argon2 if !cfg!(feature = "argon2") => Some("argon2"),
            Scheme::Bcrypt if !cfg!(feature = "bcrypt") => Some("bcrypt"),
            Scheme::ShaCrypt if !cfg!(feature = "sha-crypt") => Some("sha-crypt"),
            Scheme::Pbkdf2 if !cfg!(feature = "pbkdf2") => Some("pbkdf2"),
            Scheme::Ldap | Scheme::Hex if !cfg!(feature = "digest") => Some("digest"),
            Scheme::Libcrypt if !cfg!(feature = "libcrypt") => Some("libcrypt"),
            _ => None,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
