//! Saltern itself: `saltern`, `saltern avx2` at a level, `saltern pairs` with two groups of pwxform
//! in one register, `saltern wiping` with memory that is wiped after each call, `saltern resumable`
//! with the driver that pools use.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use saltern_yescrypt::{
    HashString, Hasher, Limits, Workspace, hazmat,
    hazmat::{Derivation, Level, derive_many},
    params::{CheckedParams, Mode},
    rom::{RomReading, RomUse, RomView, derive_with_roms},
};

use super::resumable::Resumed;
use super::rom::{self, RomMemory};
use super::{Engine, Found, Input, Setup, Task, blake2, inputs};
use crate::work::{Message, Variant, Work, is_escrypt};

/// Saltern at a level.
pub struct Saltern {
    level: Level,
    named: bool,
    pairs: bool,
    wiping: bool,
    resumable: bool,
}

/// By the words after `saltern`.
pub(super) fn find<'w>(words: impl Iterator<Item = &'w str>) -> anyhow::Result<Found> {
    let mut found = Saltern {
        level: Level::detect(),
        named: false,
        pairs: false,
        wiping: false,
        resumable: false,
    };
    for word in words {
        match word {
            "pairs" => found.pairs = true,
            "wiping" => found.wiping = true,
            "resumable" => found.resumable = true,
            level => match super::level(level)? {
                Ok(level) => (found.level, found.named) = (level, true),
                Err(missing) => return Ok(Err(missing)),
            },
        }
    }
    if found.pairs && !hazmat::pair_groups(&mut Workspace::with_level(found.level)?) {
        return Ok(Err(format!("level {} has no 256-bit registers to pair in", found.level)));
    }
    Ok(Ok(Arc::new(found)))
}

impl Engine for Saltern {
    fn name(&self) -> String {
        let mut name = "saltern".to_owned();
        if self.named {
            name += &format!(" {}", self.level);
        }
        if self.pairs {
            name += " pairs";
        }
        if self.wiping {
            name += " wiping";
        }
        if self.resumable {
            name += " resumable";
        }
        name
    }

    fn computes(&self, work: &Work) -> bool {
        match work {
            Work::Yescrypt(params, rom) if self.resumable => rom.is_none() && !is_escrypt(params),
            _ if self.resumable => false,
            Work::Yescrypt(..) | Work::Fill(_) => true,
            Work::Argon2(_) | Work::Cats(_) => false,
            Work::Message(message) => message.variant != Variant::Blake3 && !message.file,
        }
    }

    fn task(&self, work: &Work, setup: &Setup) -> anyhow::Result<Box<dyn Task>> {
        if let Work::Message(message) = work {
            return blake2::task(self, message);
        }
        if let Work::Fill(fill) = work {
            let workspace = Workspace::with_level(self.level)?;
            return Ok(Box::new(rom::Filling::new(*fill, workspace)?));
        }
        let mut workspace = Workspace::with_level(self.level)?;
        if let Some(pages) = setup.pages {
            workspace = workspace.with_pages(pages);
        }
        let params = work.checked()?;
        if self.pairs {
            ensure!(
                hazmat::pair_groups(&mut workspace),
                "level {} has no 256-bit registers",
                self.level
            );
        }
        // Lists of ROMs are for one hash at a time.
        let older_rom = matches!(work, Work::Yescrypt(params, Some(_)) if is_escrypt(params));
        let degree = if older_rom { 1 } else { params.degree() };
        let together = setup.together.unwrap_or(degree);
        ensure!(
            (1..=degree).contains(&together),
            "{together} hashes at once: 1 to {degree} of these advance together"
        );
        let inputs = inputs(work, together)?;
        if self.resumable {
            return Ok(Box::new(Resumed::new(workspace, params, inputs)));
        }
        let mut task = Passwords {
            params,
            rom: setup.rom.clone(),
            workspace,
            wiping: self.wiping,
            hasher: Hasher::new().with_limits(Limits::unlimited()),
            inputs,
            hashes: vec![[0; 32]; together],
            stored: Vec::new(),
        };
        if task.inputs.iter().all(|input| input.setting.is_some()) {
            task.store()?;
        }
        Ok(Box::new(task))
    }

    fn hash(&self, message: &Message) -> Option<blake2::Hash> {
        blake2::saltern(message, self.level)
    }
}

/// One thread's passwords.
///
/// Where the parameters have a text, measuring starts from it, as it does for the peers that are
/// given one: a batch is verified, because hashing many takes random salts (the work is the same).
/// Otherwise the bare function is called.
struct Passwords {
    params: CheckedParams,
    rom: Option<Arc<RomMemory>>,
    workspace: Workspace,
    wiping: bool,
    hasher: Hasher,
    inputs: Vec<Input>,
    hashes: Vec<[u8; 32]>,
    /// Complete strings, if measuring starts from text.
    stored: Vec<Vec<u8>>,
}

impl Passwords {
    fn store(&mut self) -> anyhow::Result<()> {
        for input in &self.inputs {
            let (password, text) = (input.password.to_bytes(), input.setting()?.to_bytes());
            let hash = self.hasher.hash_with_setting(&mut self.workspace, password, text)?;
            self.stored.push(hash.into_bytes());
        }
        Ok(())
    }

    /// Without a text.
    fn derive(&mut self) -> anyhow::Result<()> {
        if let (Mode::Escrypt(_), Some(rom)) = (self.params.params().mode, &self.rom) {
            let whole = RomReading::whole(rom.bytes().len() as u64, self.params.params().r);
            let reading = whole.context("a ROM of odd size")?;
            let (password, salt) = (self.inputs[0].password.to_bytes(), &self.inputs[0].salt);
            let (rom, hash) = (RomView::untagged(rom.bytes())?, &mut self.hashes[0]);
            let (params, workspace) = (&self.params, &mut self.workspace);
            let roms = &[RomUse { rom, reading }];
            return Ok(derive_with_roms(password, salt, params, roms, workspace, hash)?);
        }
        let jobs = self.inputs.iter().zip(&mut self.hashes);
        let mut jobs: Vec<_> = jobs
            .map(|(input, out)| Derivation {
                password: input.password.to_bytes(),
                salt: &input.salt,
                out,
            })
            .collect();
        let rom = self.rom.as_ref().map(|rom| rom.rom()).transpose()?;
        Ok(derive_many(&mut jobs, &self.params, rom.as_ref(), &mut self.workspace)?)
    }

    /// Whether each password matches its string.
    fn verify(&mut self) -> anyhow::Result<bool> {
        let parsed: Result<Vec<_>, _> = self.stored.iter().map(HashString::parse).collect();
        let stored = parsed?;
        let passwords = self.inputs.iter().map(|input| input.password.to_bytes());
        let pairs = passwords.clone().zip(&stored);
        let plans = pairs.map(|(password, stored)| self.hasher.plan(password, stored.setting()));
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        let jobs = passwords.zip(&plans).zip(&mut self.hashes);
        let mut jobs: Vec<_> = jobs
            .map(|((password, plan), out)| Derivation { password, salt: &plan.salt, out })
            .collect();
        derive_many(&mut jobs, &plans[0].params, None, &mut self.workspace)?;
        let mut all = true;
        for (stored, hash) in stored.iter().zip(&self.hashes) {
            all &= self.hasher.matches(stored, hash)?;
        }
        Ok(all)
    }
}

impl Task for Passwords {
    fn together(&self) -> usize {
        self.inputs.len()
    }

    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        match self.stored.len() {
            0 => {
                self.derive()?;
                black_box(&self.hashes);
            }
            1 => {
                let (password, text) = (self.inputs[0].password.to_bytes(), &self.stored[0]);
                black_box(self.hasher.hash_with_setting(&mut self.workspace, password, text)?);
            }
            _ => {
                black_box(self.verify()?);
            }
        }
        if self.wiping {
            self.workspace.wipe();
        }
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        if !self.stored.is_empty() {
            ensure!(self.verify()?, "a batch differs");
            let hash = |stored| Ok(HashString::parse(stored)?.hash().to_vec());
            return self.stored.iter().take(count).map(&hash).collect();
        }
        self.derive()?;
        if self.hashes.is_empty() {
            bail!("no hashes");
        }
        Ok(self.hashes.iter().take(count).map(|hash| hash.to_vec()).collect())
    }
}
