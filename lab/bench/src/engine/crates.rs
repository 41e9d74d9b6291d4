//! Rust implementations of password hashes: the crates `yescrypt`, `scrypt` and `argon2`. The first
//! two allocate memory in every call.

use anyhow::{anyhow, bail};
use saltern_yescrypt::params::{Flavor, Mode};

use super::{HashOne, Input, Peer};
use crate::work::Work;

type Crate = Peer<fn(&Work) -> anyhow::Result<HashOne>>;

pub(super) const YESCRYPT: Crate = Peer {
    name: "crate yescrypt",
    computes: |work| {
        let Work::Yescrypt(params, None) = work else { return false };
        params.mode == Mode::Rw && params.flavor == Flavor::DEFAULT && params.t == 0
    },
    open: |work| {
        let params = *work.params()?;
        one(move |Input { password, salt, .. }, hash| {
            let mode = yescrypt::Mode::default();
            yescrypt::Params::new(mode, params.n, params.r, params.p)
                .and_then(|theirs| yescrypt::yescrypt(password.to_bytes(), salt, &theirs, hash))
                .map_err(|error| anyhow!("crate yescrypt: {error}"))
        })
    },
};

pub(super) const SCRYPT: Crate = Peer {
    name: "crate scrypt",
    computes: |work| {
        let Work::Yescrypt(params, None) = work else { return false };
        params.mode == Mode::Classic && params.flavor == Flavor::DEFAULT
    },
    open: |work| {
        let params = work.params()?;
        let theirs = scrypt::Params::new(u8::try_from(params.n.ilog2())?, params.r, params.p)
            .map_err(|error| anyhow!("crate scrypt: {error}"))?;
        one(move |Input { password, salt, .. }, hash| {
            scrypt::scrypt(password.to_bytes(), salt, &theirs, hash)
                .map_err(|error| anyhow!("crate scrypt: {error}"))
        })
    },
};

pub(super) const ARGON2: Crate = Peer {
    name: "crate argon2",
    computes: |work| matches!(work, Work::Argon2(_)),
    open: |work| {
        let Work::Argon2(params) = work else { bail!("{work:?} is not Argon2") };
        let algorithm =
            if params.id { argon2::Algorithm::Argon2id } else { argon2::Algorithm::Argon2d };
        let theirs = argon2::Params::new(params.kib, params.t, params.p, Some(32))
            .map_err(|error| anyhow!("crate argon2: {error}"))?;
        let mut blocks = vec![argon2::Block::new(); theirs.block_count()];
        one(move |Input { password, salt, .. }, hash| {
            argon2::Argon2::new(algorithm, argon2::Version::V0x13, theirs.clone())
                .hash_password_into_with_memory(password.to_bytes(), salt, hash, &mut blocks)
                .map_err(|error| anyhow!("crate argon2: {error}"))
        })
    },
};

/// What fills the 32 bytes of a hash.
fn one(
    mut fill: impl FnMut(&Input, &mut [u8; 32]) -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<HashOne> {
    Ok(Box::new(move |input| {
        let mut hash = [0; 32];
        fill(input, &mut hash)?;
        Ok(hash)
    }))
}
