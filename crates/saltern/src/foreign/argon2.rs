//! Argon2 in the PHC string format: `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`.

use std::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64ct::{Base64Unpadded, Encoding};
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;

use super::{Foreign, Setting, decimal};
use crate::error::Error;
use crate::scheme::Scheme;

/// Lengths of salts and digests, in bytes: what RFC 9106 recommends is 16 and 32.
const SALT: std::ops::RangeInclusive<usize> = 8..=64;
const DIGEST: std::ops::RangeInclusive<usize> = 16..=64;

/// The least number of 1 KiB blocks to allocate, though only those needed are written. Linux
/// allocators map sizes above 32 MiB and return them at once; of smaller ones they may keep some
/// for each thread, outside the pool's budget.
const MAPPED: usize = (32 << 10) + 1;

struct Argon {
    algorithm: Algorithm,
    /// Whether the version is written; without it, it is 16.
    version: Option<Version>,
    params: Params,
    salt: Vec<u8>,
    len: usize,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let (algorithm, rest) = [Algorithm::Argon2id, Algorithm::Argon2i, Algorithm::Argon2d]
        .into_iter()
        .find_map(|one| Some((one, text.strip_prefix('$')?.strip_prefix(one.as_str())?)))
        .and_then(|(one, rest)| Some((one, rest.strip_prefix('$')?)))?;
    let expected = "[v=19$]m=…,t=…,p=…$salt$digest, salts of 8 to 64 bytes, digests of 16 to 64";
    Some(fields(algorithm, rest).ok_or(Error::malformed("Argon2 string", expected)))
}

fn fields(algorithm: Algorithm, rest: &str) -> Option<Foreign> {
    let (version, rest) = match rest.strip_prefix("v=") {
        Some(rest) => {
            let (version, rest) = rest.split_once('$')?;
            (Some(Version::try_from(decimal(version)?).ok()?), rest)
        }
        None => (None, rest),
    };
    let mut parts = rest.split('$');
    let (costs, salt, digest) = (parts.next()?, parts.next()?, parts.next()?);
    let mut numbers = costs.split(',');
    let mut number = |name: &str| decimal(numbers.next()?.strip_prefix(name)?);
    let (m, t, p) = (number("m=")?, number("t=")?, number("p=")?);
    if parts.next().is_some() || numbers.next().is_some() {
        return None;
    }
    let salt = Base64Unpadded::decode_vec(salt).ok()?;
    let len = Base64Unpadded::decode_vec(digest).ok()?.len();
    if !SALT.contains(&salt.len()) || !DIGEST.contains(&len) {
        return None;
    }
    let params = Params::new(m, t, p, Some(len)).ok()?;
    Some(Foreign::new(Argon { algorithm, version, params, salt, len }, digest))
}

pub(super) fn complete(text: &str) -> Option<String> {
    let (setting, len) = text.starts_with("$argon2").then(|| text.rsplit_once('$')).flatten()?;
    let len = decimal(len).map(|len| len as usize).filter(|len| DIGEST.contains(len))?;
    Some(format!("{setting}${}", Base64Unpadded::encode_string(&vec![0; len])))
}

impl Argon {
    fn text(&self, salt: &[u8]) -> String {
        let version = self.version.map_or_else(String::new, |v| format!("v={}$", u32::from(v)));
        let (m, t, p) = (self.params.m_cost(), self.params.t_cost(), self.params.p_cost());
        let (name, salt) = (self.algorithm.as_str(), Base64Unpadded::encode_string(salt));
        format!("${name}${version}m={m},t={t},p={p}${salt}${}", self.len)
    }
}

impl fmt::Display for Argon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&self.salt))
    }
}

impl Setting for Argon {
    fn scheme(&self) -> Scheme {
        Scheme::Argon2
    }

    /// Each pass writes all of the memory once, at two fifths of the speed of yescrypt. It is
    /// zeroed before and wiped afterwards.
    fn cost(&self, _: usize) -> Task {
        let memory = u64::from(self.params.m_cost()) << 10;
        let passes = memory.saturating_mul(self.params.t_cost().into());
        let work = (passes.saturating_mul(5) / 2).saturating_add(memory / 4);
        Task { memory, work: work.saturating_add(64 << 10) }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        self.text(&vec![0; self.salt.len()])
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let version = self.version.unwrap_or(Version::V0x10);
        let argon2 = Argon2::new(self.algorithm, version, self.params.clone());
        let mut digest = Zeroizing::new(vec![0; self.len]);
        // The first blocks are quick to compute from the password.
        let mut blocks: Zeroizing<Vec<Block>> = Zeroizing::default();
        let (count, bytes) = (self.params.block_count(), u64::from(self.params.m_cost()) << 10);
        let reserved = blocks.try_reserve_exact(count.max(MAPPED));
        reserved.map_err(|_| saltern_yescrypt::Error::OutOfMemory { bytes })?;
        blocks.resize(count, Block::default());
        let salt = &self.salt;
        let made = argon2.hash_password_into_with_memory(password, salt, &mut digest, &mut *blocks);
        let why = "its parameters were refused";
        made.map_err(|_| Error::Failed { scheme: Scheme::Argon2, why })?;
        Ok(Zeroizing::new(Base64Unpadded::encode_string(&digest)))
    }
}
