//! ROMs in memory, made for a run.

use std::sync::Arc;

use anyhow::Context;
use saltern_yescrypt::{
    Workspace,
    hazmat::Pages,
    rom::{RomImage, RomParams, RomView, init_rom},
};

use super::Task;
use crate::work::{Fill, Work, ensure_memory};

/// A filled ROM.
pub struct RomMemory {
    image: Image,
    bytes: usize,
}

enum Image {
    /// On huge pages, where the system gives them.
    Huge(RomImage),
    /// In memory that nobody asked huge pages for, from an aligned place on.
    Standard(Vec<u8>, usize),
}

/// ROM images begin at a page.
const PAGE: usize = 4096;

/// What ROMs of benchmarks are made from: no secret.
pub(crate) const SEED: &[u8] = b"saltern bench: a ROM of no secret seed";

impl RomMemory {
    /// Makes the ROM of `nrom` blocks of `r` times 128 bytes. Costs three passes over half of it.
    ///
    /// # Errors
    /// Too little memory, and parameters that define no ROM.
    pub fn fill(nrom: u64, r: u32, pages: Pages) -> anyhow::Result<RomMemory> {
        // Two slices, which one thread fills at once.
        let params = RomParams::new(nrom, r, 2);
        let bytes = usize::try_from(params.size()).context("a ROM larger than any memory")?;
        ensure_memory(bytes as u64)?;
        let mut workspace = Workspace::new();
        workspace.set_threads(crate::machine::processors().len());
        let image = match pages {
            Pages::Huge => Image::Huge(RomImage::init(&params, SEED, &mut workspace)?),
            Pages::Standard => {
                let mut memory = vec![0; bytes + PAGE];
                let start = memory.as_ptr().align_offset(PAGE);
                init_rom(&params, SEED, &mut memory[start..start + bytes], &mut workspace)?;
                Image::Standard(memory, start)
            }
        };
        Ok(RomMemory { image, bytes })
    }

    /// The ROM to hash with.
    ///
    /// # Errors
    /// None: it was filled.
    pub fn rom(&self) -> Result<RomView<'_>, saltern_yescrypt::Error> {
        RomView::from_bytes(self.bytes())
    }

    /// The bytes of the image.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.image {
            Image::Huge(image) => image.as_bytes(),
            Image::Standard(memory, start) => &memory[*start..start + self.bytes],
        }
    }
}

/// The ROMs that are in use; those of other sections are given back.
#[derive(Default)]
pub struct Roms {
    kept: Vec<((u64, u32, Pages), Arc<RomMemory>)>,
}

impl Roms {
    /// The ROM of some work, made if it is not there yet; none for work without one.
    ///
    /// # Errors
    /// Those of [`RomMemory::fill`].
    pub fn of(&mut self, work: &Work) -> anyhow::Result<Option<Arc<RomMemory>>> {
        let Work::Yescrypt(params, Some(pages)) = work else { return Ok(None) };
        let key @ (nrom, r, pages) = (params.nrom, params.r, *pages);
        if let Some((_, rom)) = self.kept.iter().find(|(known, _)| *known == key) {
            return Ok(Some(Arc::clone(rom)));
        }
        let rom = Arc::new(RomMemory::fill(nrom, r, pages)?);
        self.kept.push((key, Arc::clone(&rom)));
        Ok(Some(rom))
    }

    /// Gives all memory back.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Filling the same memory again and again.
pub(super) struct Filling {
    params: RomParams,
    image: RomImage,
    workspace: Workspace,
}

impl Filling {
    pub(super) fn new(fill: Fill, mut workspace: Workspace) -> anyhow::Result<Self> {
        workspace.set_threads(fill.threads.into());
        ensure_memory(fill.bytes())?;
        let image = RomImage::zeroed(usize::try_from(fill.bytes())?)?;
        Ok(Filling { params: RomParams::new(fill.nrom, fill.r, fill.p), image, workspace })
    }
}

impl Task for Filling {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        self.answers(1).map(|_| ())
    }

    fn answers(&mut self, _: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let image = self.image.as_bytes_mut();
        let digest = init_rom(&self.params, SEED, image, &mut self.workspace)?;
        Ok(vec![digest.to_vec()])
    }
}
