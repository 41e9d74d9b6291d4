//! The schemes of stored strings, and their names in a policy.

use std::fmt;

/// A scheme of stored strings, or a family of them, that a policy may accept. Each description
/// begins with the name in policies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// `yescrypt`: `$y$` and `$saltern-yescrypt$`. New hashes are of this scheme.
    Yescrypt,
    /// `scrypt`: `$7$` and `$scrypt$ln=`….
    Scrypt,
    /// `escrypt`: `$7X`, generation 0.5 of yescrypt.
    Escrypt,
    /// `argon2`: `$argon2id$`, `$argon2i$` and `$argon2d$` of versions 16 and 19, without a key or
    /// associated data. Feature `argon2`.
    Argon2,
    /// `bcrypt`: `$2a$`, `$2b$`, `$2y$` and `$2x$`, each as libxcrypt computes it. For a few
    /// passwords with bytes above 127, `$2a$` differs from `$2b$`. `$2x$` is for strings made by an
    /// old program that handled such bytes wrongly. Also bcrypt over a digest of the password, as
    /// WordPress (`$wp$2y$`), Django (`bcrypt_sha256$`) and passlib (`$bcrypt-sha256$`) compute it.
    ///
    /// Only the first 72 bytes of a password count, so a longer one matches by its beginning. The
    /// update after a match is a hash of the whole password that was given then. Feature `bcrypt`.
    Bcrypt,
    /// `sha-crypt`: `$5$` and `$6$`, and `$A$` of MySQL's caching_sha2_password. Feature
    /// `sha-crypt`.
    ShaCrypt,
    /// `pbkdf2`: PBKDF2 with HMAC of SHA-1, SHA-256 or SHA-512, as written in the PHC string format
    /// and by many programs ([`formats`](crate::table::formats)). Feature `pbkdf2`.
    Pbkdf2,
    /// `scram`: SCRAM-SHA-256 as PostgreSQL and Dovecot store it, which is PBKDF2 with two further
    /// digests. Feature `scram`.
    Scram,
    /// `firebase`: `$firescrypt$`, the scrypt of Firebase Authentication, with the fingerprint of
    /// the project's signer key ([`Firebase`](crate::policy::Firebase)) or, as Kratos writes it,
    /// with the key itself. The policy has to have that key. Feature `firebase`.
    Firebase,
    /// `phpass`: `$P$` and `$H$`, an iterated MD5, and `$S$` of Drupal 7, an iterated SHA-512.
    /// Feature `digest`.
    Phpass,
    /// `apr1`: `$apr1$`, the md5crypt of Apache's htpasswd. Feature `digest`.
    Apr1,
    /// `ldap`: `{SSHA}`, `{SSHA256}`, `{SSHA384}`, `{SSHA512}` and `{SMD5}`, the same without salt
    /// (`{SHA}`, `{MD5}`, …), and `sha1$` and `md5$` of Django. One fast digest each: wrap such a
    /// table at once. Feature `digest`.
    Ldap,
    /// `hex`: the hexadecimal digits of MD5, SHA-1, SHA-256, SHA-384 or SHA-512 and nothing else;
    /// their number determines which; and `*` with 40 digits, MySQL's SHA-1 of SHA-1. As weak as
    /// `ldap` without salt. Feature `digest`.
    Hex,
    /// `libcrypt`: `$1$`, `$gy$`, `$sha1$`, `$md5`, `$3$`, DES and BSDi's DES, computed by the
    /// libcrypt of the machine (libxcrypt 4.4). DES uses only the first 8 bytes of a password; the
    /// update after a match is a hash of the whole password that was given then. The others match
    /// no password of more than 511 bytes, which libcrypt does not take. Feature `libcrypt`.
    Libcrypt,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Scheme; 14] = [
        Scheme::Yescrypt,
        Scheme::Scrypt,
        Scheme::Escrypt,
        Scheme::Argon2,
        Scheme::Bcrypt,
        Scheme::ShaCrypt,
        Scheme::Pbkdf2,
        Scheme::Scram,
        Scheme::Firebase,
        Scheme::Phpass,
        Scheme::Apr1,
        Scheme::Ldap,
        Scheme::Hex,
        Scheme::Libcrypt,
    ];

    /// The name of the scheme in policies.
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
            Scheme::Scram => "scram",
            Scheme::Firebase => "firebase",
            Scheme::Phpass => "phpass",
            Scheme::Apr1 => "apr1",
            Scheme::Ldap => "ldap",
            Scheme::Hex => "hex",
            Scheme::Libcrypt => "libcrypt",
        }
    }

    /// The scheme with this name, if there is one.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Whether `saltern-yescrypt` computes it; [`Passwords::wrap`](crate::Passwords::wrap) leaves
    /// such strings as they are.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Scheme::Yescrypt | Scheme::Scrypt | Scheme::Escrypt)
    }

    /// Whether it is a single fast digest, so that most passwords can be guessed from a stolen
    /// table: wrap such a table at once.
    #[must_use]
    pub const fn is_fast(self) -> bool {
        matches!(self, Scheme::Ldap | Scheme::Hex)
    }

    /// The feature that this build lacks to compute the scheme; `None` if it lacks nothing.
    #[must_use]
    pub const fn missing_feature(self) -> Option<&'static str> {
        match self {
            Scheme::Argon2 if !cfg!(feature = "argon2") => Some("argon2"),
            Scheme::Bcrypt if !cfg!(feature = "bcrypt") => Some("bcrypt"),
            Scheme::ShaCrypt if !cfg!(feature = "sha-crypt") => Some("sha-crypt"),
            Scheme::Pbkdf2 if !cfg!(feature = "pbkdf2") => Some("pbkdf2"),
            Scheme::Scram if !cfg!(feature = "scram") => Some("scram"),
            Scheme::Firebase if !cfg!(feature = "firebase") => Some("firebase"),
            Scheme::Phpass | Scheme::Apr1 | Scheme::Ldap | Scheme::Hex
                if !cfg!(feature = "digest") =>
            {
                Some("digest")
            }
            Scheme::Libcrypt if !cfg!(feature = "libcrypt") => Some("libcrypt"),
            _ => None,
        }
    }
}

/// Its name.
#[cfg(feature = "json")]
#[cfg_attr(docsrs, doc(cfg(feature = "json")))]
impl serde::Serialize for Scheme {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
