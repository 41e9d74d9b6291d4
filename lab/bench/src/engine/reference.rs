//! The slow reference: never measured, but it knows every tuning, so that what has no peer is
//! checked against it.

use anyhow::{anyhow, ensure};
use saltern_reference::{
    blake2,
    yescrypt::{self as reference, escrypt},
};
use saltern_yescrypt::{Params, params::Mode};

use super::{Engine, Input, Setup, Task, blake2::messages, inputs};
use crate::work::{Message, Variant, Work};

/// The crate `saltern-reference`.
pub(super) struct Reference;

/// One computation of the reference.
type Compute<'a> = dyn Fn(&Input) -> Result<Vec<u8>, reference::Reject> + 'a;

impl Engine for Reference {
    fn name(&self) -> String {
        "reference".to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        match work {
            Work::Yescrypt(..) => true,
            Work::Argon2(_) | Work::Fill(_) | Work::Cats(_) => false,
            Work::Message(message) => message.variant != Variant::Blake3 && !message.file,
        }
    }

    fn task(&self, work: &Work, setup: &Setup) -> anyhow::Result<Box<dyn Task>> {
        ensure!(self.computes(work), "the reference does not compute this");
        Ok(Box::new(Slow { work: work.clone(), setup: setup.clone() }))
    }
}

struct Slow {
    work: Work,
    setup: Setup,
}

impl Task for Slow {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        self.answers(1).map(|_| ())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        if let Work::Message(message) = &self.work {
            return Ok(hashes(message, count));
        }
        let params = self.work.params()?;
        let image = self.setup.rom.as_ref().map(|rom| rom.bytes().to_vec());
        let compute: Box<Compute<'_>> = match params.mode {
            Mode::Escrypt(flags) => {
                let flags = escrypt::RW + if flags.pwxform { escrypt::PWXFORM } else { 0 };
                let salsa = params.flavor.salsa_mix();
                let slow = escrypt::Params {
                    p: params.p,
                    t: params.t,
                    tuning: escrypt::Tuning { salsa, ..escrypt::Tuning::DEFAULT },
                    ..escrypt::Params::new(flags, params.n, params.r)
                };
                let rom = image.map(|image| escrypt::Rom { image, mask: 1 });
                Box::new(move |Input { password, salt, .. }| {
                    escrypt::kdf(password.to_bytes(), salt, &slow, rom.as_ref(), 32)
                })
            }
            _ => {
                let (slow, rom) = (of_params(params), image.map(reference::Rom::new));
                Box::new(move |Input { password, salt, .. }| {
                    reference::kdf(password.to_bytes(), salt, &slow, rom.as_ref(), 32)
                })
            }
        };
        let refused = |reject: reference::Reject| anyhow!("the reference refuses: {}", reject.0);
        inputs(&self.work, count)?.iter().map(|input| compute(input).map_err(refused)).collect()
    }
}

/// The reference's parameters of the present generation.
fn of_params(params: &Params) -> reference::Params {
    let flavor = params.flavor;
    let tuning = reference::Tuning {
        simple: flavor.simple(),
        gather: flavor.gather(),
        rounds: flavor.rounds(),
        swidth: (flavor.sbox_bytes() / 24 / flavor.simple()).ilog2(),
        salsa_main: flavor.salsa_mix(),
        salsa_pwx: flavor.salsa_tail(),
    };
    let flags = match params.mode {
        Mode::Rw => tuning.flags().unwrap_or(reference::RW_DEFAULT),
        Mode::Worm => 1,
        Mode::Classic | Mode::Escrypt(_) => 0,
    };
    let mut slow = reference::Params::from_flags(flags);
    (slow.n, slow.r, slow.p, slow.t) = (params.n, params.r, params.p, params.t);
    (slow.nrom, slow.tuning) = (params.nrom, tuning);
    slow
}

fn hashes(message: &Message, count: usize) -> Vec<Vec<u8>> {
    let (family, length) = match message.variant {
        Variant::Blake2s | Variant::Blake2sp => (&blake2::BLAKE2S, 32),
        _ => (&blake2::BLAKE2B, 64),
    };
    let input = super::blake2::Input::new(message);
    let hash = |data: &[u8]| match message.variant {
        Variant::Blake2bp | Variant::Blake2sp => blake2::hash_parallel(family, length, &[], data),
        _ => blake2::hash(family, &blake2::Params::new(family), data),
    };
    messages(&input, message, 0).into_iter().take(count).map(hash).collect()
}
