//! escrypt, one hash after the other.

use std::hint::black_box;
use std::sync::Arc;

use saltern_yescrypt::{
    Limits, Workspace,
    params::CheckedParams,
    rom::{RomMasks, RomReading, RomUse, RomView, derive_with_roms},
};

use crate::engine::rom::RomMemory;
use crate::engine::{Input, Task, inputs};
use crate::work::{Escrypt, Work};

/// One thread's password.
pub(super) struct Older {
    work: Work,
    params: CheckedParams,
    rom: Option<Arc<RomMemory>>,
    workspace: Workspace,
    input: Vec<Input>,
}

impl Older {
    pub(super) fn new(
        old: &Escrypt,
        rom: Option<Arc<RomMemory>>,
        workspace: Workspace,
    ) -> anyhow::Result<Self> {
        let work = Work::Escrypt(*old);
        let (params, input) = (old.params.check(&Limits::unlimited())?, inputs(&work, 1)?);
        Ok(Older { work, params, rom, workspace, input })
    }

    fn hash(&mut self, input: &Input) -> anyhow::Result<[u8; 32]> {
        let rom = self.rom.as_ref();
        let block = 128 * u64::from(self.params.params().r);
        let masks = RomMasks::escrypt(1);
        let rom = rom.map(|rom| RomView::untagged(rom.bytes())).transpose()?;
        let rom = rom.map(|rom| {
            let nrom = rom.size() as u64 / block;
            RomUse { rom, reading: RomReading { nrom, masks, look_ahead: 0 } }
        });
        let (password, salt, mut hash) = (input.password.to_bytes(), &input.salt, [0; 32]);
        let Self { params, workspace, .. } = self;
        derive_with_roms(password, salt, params, rom.as_slice(), workspace, &mut hash)?;
        Ok(hash)
    }
}

impl Task for Older {
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
