//! Rust implementations of password hashes: the crates `yescrypt`, `scrypt` and `argon2`. The first
//! two allocate memory in every call.

use anyhow::{anyhow, bail, ensure};
use saltern_yescrypt::params::{Flavor, Mode};

use super::{Engine, Input, Setup, Task, one_by_one};
use crate::work::{Argon2, Work};

/// One of the crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Crate {
    Yescrypt,
    Scrypt,
    Argon2,
}

impl Engine for Crate {
    fn name(&self) -> String {
        match self {
            Crate::Yescrypt => "crate yescrypt",
            Crate::Scrypt => "crate scrypt",
            Crate::Argon2 => "crate argon2",
        }
        .to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        match (self, work) {
            (Crate::Yescrypt, Work::Yescrypt(params, None)) => {
                params.mode == Mode::Rw && params.flavor == Flavor::DEFAULT && params.t == 0
            }
            (Crate::Scrypt, Work::Yescrypt(params, None)) => {
                params.mode == Mode::Classic && params.flavor == Flavor::DEFAULT
            }
            (Crate::Argon2, Work::Argon2(_)) => true,
            _ => false,
        }
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        ensure!(self.computes(work), "{} does not compute this", self.name());
        // Memory of Argon2, reused.
        let mut blocks = match work {
            Work::Argon2(argon2) => vec![argon2::Block::new(); theirs(argon2)?.block_count()],
            _ => Vec::new(),
        };
        let (of, same) = (*self, work.clone());
        one_by_one(work, move |input, hash| of.hash(&same, &mut blocks, input, hash))
    }
}

fn theirs(argon2: &Argon2) -> anyhow::Result<argon2::Params> {
    let Argon2 { kib, t, p, .. } = *argon2;
    argon2::Params::new(kib, t, p, Some(32)).map_err(|error| anyhow!("crate argon2: {error}"))
}

impl Crate {
    fn hash(
        self,
        work: &Work,
        blocks: &mut [argon2::Block],
        Input { password, salt, .. }: &Input,
        hash: &mut [u8; 32],
    ) -> anyhow::Result<()> {
        let password = password.to_bytes();
        match (work, self) {
            (Work::Yescrypt(params, _), Crate::Yescrypt) => {
                let mode = yescrypt::Mode::default();
                yescrypt::Params::new(mode, params.n, params.r, params.p)
                    .and_then(|theirs| yescrypt::yescrypt(password, salt, &theirs, hash))
                    .map_err(|error| anyhow!("crate yescrypt: {error}"))?;
            }
            (Work::Yescrypt(params, _), Crate::Scrypt) => {
                let log_n = u8::try_from(params.n.ilog2())?;
                let theirs = scrypt::Params::new(log_n, params.r, params.p)
                    .map_err(|error| anyhow!("crate scrypt: {error}"))?;
                scrypt::scrypt(password, salt, &theirs, hash)
                    .map_err(|error| anyhow!("crate scrypt: {error}"))?;
            }
            (Work::Argon2(params), Crate::Argon2) => {
                let algorithm = if params.id {
                    argon2::Algorithm::Argon2id
                } else {
                    argon2::Algorithm::Argon2d
                };
                argon2::Argon2::new(algorithm, argon2::Version::V0x13, theirs(params)?)
                    .hash_password_into_with_memory(password, salt, hash, blocks)
                    .map_err(|error| anyhow!("crate argon2: {error}"))?;
            }
            _ => bail!("{self:?} does not compute {work:?}"),
        }
        Ok(())
    }
}
