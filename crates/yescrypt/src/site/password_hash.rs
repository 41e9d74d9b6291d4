//! The traits of the `password-hash` crate on [`Hasher`], for programs that are generic over them.
//! They make `$y$` strings, or `$7$` for parameters of classic scrypt, and verify strings of every
//! [`Scheme`]. A hasher and its clones keep memory between calls: as many workspaces as there were
//! simultaneous calls, each as large as its largest hash.

use alloc::string::String;

use password_hash::{CustomizedPasswordHasher, PasswordHasher, PasswordVerifier, Version};

use crate::core::params::Mode;
use crate::{Error, Hasher, Params, Scheme};

impl PasswordHasher<String> for Hasher {
    fn hash_password_with_salt(
        &self,
        password: &[u8],
        salt: &[u8],
    ) -> password_hash::Result<String> {
        Ok(self.memory().lend(|workspace| self.hash_with_salt(workspace, password, salt))?)
    }
}

impl CustomizedPasswordHasher<String> for Hasher {
    type Params = Params;

    /// `algorithm`, if given, is `y`, or `7` for classic scrypt, and must match the parameters. The
    /// formats have no versions.
    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<Version>,
        params: Params,
    ) -> password_hash::Result<String> {
        let own = if params.mode == Mode::Classic { "7" } else { "y" };
        match algorithm {
            Some("y" | "7") if algorithm != Some(own) => {
                return Err(password_hash::Error::ParamsInvalid);
            }
            None | Some("y" | "7") => {}
            Some(_) => return Err(password_hash::Error::Algorithm),
        }
        if version.is_some() {
            return Err(password_hash::Error::Version);
        }
        self.clone().with_params(params).hash_password_with_salt(password, salt)
    }
}

impl PasswordVerifier<str> for Hasher {
    fn verify_password(&self, password: &[u8], hash: &str) -> password_hash::Result<()> {
        if Scheme::of(hash.as_bytes()).is_none() {
            return Err(password_hash::Error::Algorithm);
        }
        match self.memory().lend(|workspace| self.verify(workspace, password, hash))? {
            true => Ok(()),
            false => Err(password_hash::Error::PasswordInvalid),
        }
    }
}

impl From<Error> for password_hash::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Malformed { .. } | Error::RefusedByCrypt { .. } => Self::EncodingInvalid,
            Error::InvalidParameter { name, .. } => Self::ParamInvalid { name },
            Error::OverLimit { what, .. } => Self::ParamInvalid { name: what.name() },
            Error::OutOfMemory { .. } => Self::OutOfMemory,
            Error::Random => Self::RngFailure,
            Error::BufferLength { .. } => Self::SaltInvalid,
            Error::FlavorNotAllowed
            | Error::RomUnavailable { .. }
            | Error::RomNotLoaded { .. }
            | Error::KeyNotLoaded { .. }
            | Error::RomNotUsed
            | Error::RomTooSmall { .. }
            | Error::RomTag
            | Error::RomAlignment
            | Error::KeyNotApplicable => Self::ParamsInvalid,
            Error::Cancelled | Error::Panicked => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traits_hash_and_verify() {
        let hasher = Hasher::new().with_params(Params::yescrypt(16, 1));
        let hash = hasher.hash_password_with_salt(b"password", b"0123456789abcdef").unwrap();
        assert!(hash.starts_with("$y$j1.$"));
        assert_eq!(hasher.verify_password(b"password", &hash), Ok(()));
        let mismatch = Err(password_hash::Error::PasswordInvalid);
        assert_eq!(hasher.verify_password(b"Password", &hash), mismatch);
        let bcrypt = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
        let other = Err(password_hash::Error::Algorithm);
        assert_eq!(hasher.verify_password(b"U*U", bcrypt), other);
        let cut = hasher.verify_password(b"password", &hash[..hash.len() - 1]);
        assert_eq!(cut, Err(password_hash::Error::EncodingInvalid));
        let params = Params::yescrypt(32, 1);
        let custom = hasher.hash_password_with_params(b"p", b"0123456789abcdef", params).unwrap();
        assert!(custom.starts_with("$y$j2.$"));
        let random = hasher.hash_password(b"password").unwrap();
        assert_eq!(hasher.verify_password(b"password", &random), Ok(()));
    }

    #[test]
    fn strings_of_every_scheme_verify_and_classic_scrypt_is_never_written_as_yescrypt() {
        let hasher = Hasher::new();
        for (password, stored) in [
            (
                &b"pleaseletmein"[..],
                "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.",
            ),
            // From passlib's documentation.
            (
                b"password",
                "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
            ),
        ] {
            assert_eq!(hasher.verify_password(password, stored), Ok(()), "{stored}");
            let mismatch = Err(password_hash::Error::PasswordInvalid);
            assert_eq!(hasher.verify_password(b"other", stored), mismatch);
        }
        let (salt, scrypt) = (b"0123456789abcdef", Params::scrypt(16, 1, 1));
        for algorithm in [None, Some("7")] {
            let made = hasher.hash_password_customized(b"p", salt, algorithm, None, scrypt);
            let made = made.unwrap();
            assert!(made.starts_with("$7$"), "{made}");
            assert_eq!(hasher.verify_password(b"p", &made), Ok(()));
        }
        for (algorithm, params) in [("y", scrypt), ("7", Params::yescrypt(16, 1))] {
            let refused =
                hasher.hash_password_customized(b"p", salt, Some(algorithm), None, params);
            assert_eq!(refused, Err(password_hash::Error::ParamsInvalid));
        }
    }
}
