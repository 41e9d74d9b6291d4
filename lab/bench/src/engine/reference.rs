//! The slow reference: never measured, but it knows every tuning, so that what has no peer is
//! checked against it.

use anyhow::{bail, ensure};
use saltern_reference::{blake2, yescrypt as reference};
use saltern_yescrypt::{Params, params::Mode};

use super::{Engine, Setup, Task, blake2::messages, inputs};
use crate::work::{Escrypt, Message, Variant, Work};

/// The crate `saltern-reference`.
pub struct Reference;

impl Engine for Reference {
    fn name(&self) -> String {
        "reference".to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        match work {
            Work::Yescrypt(..) | Work::Escrypt(_) => true,
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
        match &self.work {
            Work::Yescrypt(params, _) => passwords(&self.work, params, &self.setup, count),
            Work::Escrypt(old) => older(&self.work, old, &self.setup, count),
            Work::Message(message) => Ok(hashes(message, count)),
            Work::Argon2(_) | Work::Fill(_) | Work::Cats(_) => {
                bail!("the reference does not compute this")
            }
        }
    }
}

fn passwords(
    work: &Work,
    params: &Params,
    setup: &Setup,
    count: usize,
) -> anyhow::Result<Vec<Vec<u8>>> {
    let flavor = params.flavor;
    let tuning = reference::Tuning {
        simple: flavor.simple(),
        gather: flavor.gather(),
        rounds: flavor.rounds(),
        swidth: (flavor.sbox_bytes() / 24 / flavor.simple()).ilog2(),
        salsa_main: flavor.salsa_mix(),
        salsa_pwx: flavor.salsa_tail(),
    };
    let mut slow = match params.mode {
        Mode::Escrypt(_) => unreachable!("another generation: {params:?}"),
        Mode::Rw => reference::Params::from_flags(tuning.flags().unwrap_or(reference::RW_DEFAULT)),
        Mode::Worm => reference::Params::from_flags(1),
        Mode::Classic => reference::Params::from_flags(0),
    };
    (slow.n, slow.r, slow.p, slow.t) = (params.n, params.r, params.p, params.t);
    (slow.nrom, slow.tuning) = (params.nrom, tuning);
    let rom = setup.rom.as_ref().map(|rom| reference::Rom::new(rom.bytes().to_vec()));
    let one = |input: &super::Input| {
        let (password, salt) = (input.password.to_bytes(), &input.salt);
        reference::kdf(password, salt, &slow, rom.as_ref(), 32)
            .map_err(|reject| anyhow::anyhow!("the reference refuses: {}", reject.0))
    };
    inputs(work, count)?.iter().map(one).collect()
}

fn older(work: &Work, old: &Escrypt, setup: &Setup, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    use reference::escrypt;
    let pwxform = matches!(old.params.mode, Mode::Escrypt(flags) if flags.pwxform);
    let flags = escrypt::RW + if pwxform { escrypt::PWXFORM } else { 0 };
    let params = escrypt::Params {
        p: old.params.p,
        t: old.params.t,
        tuning: escrypt::Tuning {
            salsa: old.params.flavor.salsa_mix(),
            ..escrypt::Tuning::DEFAULT
        },
        ..escrypt::Params::new(flags, old.params.n, old.params.r)
    };
    let rom = setup.rom.as_ref();
    let rom = rom.map(|rom| escrypt::Rom { image: rom.bytes().to_vec(), mask: 1 });
    let one = |input: &super::Input| {
        let (password, salt) = (input.password.to_bytes(), &input.salt);
        escrypt::kdf(password, salt, &params, rom.as_ref(), 32)
            .map_err(|reject| anyhow::anyhow!("the reference refuses: {}", reject.0))
    };
    inputs(work, count)?.iter().map(one).collect()
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
