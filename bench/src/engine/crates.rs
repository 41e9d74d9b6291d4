//! Rust implementations of password hashes: the crates `yescrypt`, `scrypt` and `argon2`. The first
//! two allocate memory in every call.

use std::hint::black_box;

use anyhow::{anyhow, bail, ensure};
use saltern_yescrypt::params::{Flavor, Mode};

use super::{Engine, Input, Setup, Task, inputs};
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
        let blocks = match work {
            Work::Argon2(argon2) => vec![argon2::Block::new(); theirs(argon2)?.block_count()],
            _ => Vec::new(),
        };
        Ok(Box::new(OfCrate { of: *self, work: work.clone(), input: inputs(work, 1)?, blocks }))
    }
}

struct OfCrate {
    of: Crate,
    work: Work,
    input: Vec<Input>,
    /// Memory of Argon2, reused.
    blocks: Vec<argon2::Block>,
}

fn theirs(argon2: &Argon2) -> anyhow::Result<argon2::Params> {
    let Argon2 { kib, t, p, .. } = *argon2;
    argon2::Params::new(kib, t, p, Some(32)).map_err(|error| anyhow!("crate argon2: {error}"))
}

impl OfCrate {
    fn hash(&mut self, input: &Input) -> anyhow::Result<[u8; 32]> {
        let (password, salt) = (input.password.to_bytes(), &input.salt[..]);
        let mut hash = [0; 32];
        match (&self.work, self.of) {
            (Work::Yescrypt(params, _), Crate::Yescrypt) => {
                let mode = yescrypt::Mode::default();
                yescrypt::Params::new(mode, params.n, params.r, params.p)
                    .and_then(|theirs| yescrypt::yescrypt(password, salt, &theirs, &mut hash))
                    .map_err(|error| anyhow!("crate yescrypt: {error}"))?;
            }
            (Work::Yescrypt(params, _), Crate::Scrypt) => {
                let log_n = u8::try_from(params.n.ilog2())?;
                let theirs = scrypt::Params::new(log_n, params.r, params.p)
                    .map_err(|error| anyhow!("crate scrypt: {error}"))?;
                scrypt::scrypt(password, salt, &theirs, &mut hash)
                    .map_err(|error| anyhow!("crate scrypt: {error}"))?;
            }
            (Work::Argon2(params), Crate::Argon2) => {
                let algorithm = if params.id {
                    argon2::Algorithm::Argon2id
                } else {
                    argon2::Algorithm::Argon2d
                };
                argon2::Argon2::new(algorithm, argon2::Version::V0x13, theirs(params)?)
                    .hash_password_into_with_memory(password, salt, &mut hash, &mut self.blocks)
                    .map_err(|error| anyhow!("crate argon2: {error}"))?;
            }
            (work, of) => bail!("{of:?} does not compute {work:?}"),
        }
        Ok(hash)
    }
}

impl Task for OfCrate {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        let input = std::mem::take(&mut self.input);
        let hash = self.hash(&input[0]);
        self.input = input;
        black_box(hash?);
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let inputs = inputs(&self.work, count)?;
        inputs.iter().map(|input| Ok(self.hash(input)?.to_vec())).collect()
    }
}
