//! The traits of the `password-hash` crate on [`Hasher`], for programs that are generic over them: `$y$` strings out, `$y$` and
//! `$7$` strings in. Each call has memory of its own; a server with many logins calls [`Hasher`]'s own methods, which reuse it.

use alloc::string::String;

use password_hash::{CustomizedPasswordHasher, PasswordHasher, PasswordVerifier, Version};

use crate::{Error, Hasher, Params, Scheme, Workspace};

impl PasswordHasher<String> for Hasher {
    fn hash_password_with_salt(
        &self,
        password: &[u8],
        salt: &[u8],
    ) -> password_hash::Result<String> {
        Ok(self.hash_with_salt(&mut Workspace::new(), password, salt)?)
    }
}

impl CustomizedPasswordHasher<String> for Hasher {
    type Params = Params;

    /// `algorithm` is `y` if given; the format has no versions.
    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<Version>,
        params: Params,
    ) -> password_hash::Result<String> {
        if algorithm.is_some_and(|name| name != "y") {
            return Err(password_hash::Error::Algorithm);
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
        match self.verify(&mut Workspace::new(), password, hash.as_bytes())? {
            true => Ok(()),
            false => Err(password_hash::Error::PasswordInvalid),
        }
    }
}

impl From<Error> for password_hash::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Malformed { .. } | Error::RefusedByCrypt { .. } => Self::EncodingInvalid,
            Error::InvalidParameter { name, .. } | Error::OverLimit { name, .. } => {
                Self::ParamInvalid { name }
            }
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
            Error::Overloaded { .. }
            | Error::Cancelled
            | Error::Forked
            | Error::NoThread { .. }
            | Error::Panicked => Self::Internal,
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
    }
}
