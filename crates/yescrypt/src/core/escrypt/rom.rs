//! ROMs of escrypt 0.5: an image without a tag, filled in three or four passes.

use super::kdf::{Call, Plan, check_output};
use super::params::{CheckedParams, Filling, Flags, Params, Tuning};
use crate::core::memory::{self, SubBlock};
use crate::core::reading::{RomMasks, RomReads, Schedule};
use crate::core::workspace::Workspace;
use crate::{Error, Limits};

/// What a ROM is made from, beside its seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RomParams {
    /// The number of blocks, a power of two of at least 4.
    pub nrom: u64,
    /// r: block size in units of 128 bytes.
    pub r: u32,
    /// p: slices that are filled independently of each other; part of the result.
    pub p: u32,
    /// Of this only the rounds of Salsa20 matter.
    pub tuning: Tuning,
}

impl RomParams {
    /// A ROM of `128 * r * nrom` bytes in the default tuning.
    #[must_use]
    pub const fn new(nrom: u64, r: u32, p: u32) -> Self {
        RomParams { nrom, r, p, tuning: Tuning::DEFAULT }
    }

    /// Bytes in the image: `128 * r * nrom`.
    #[must_use]
    pub const fn size(&self) -> u128 {
        128 * self.r as u128 * self.nrom as u128
    }

    /// The parameters of the pass over the whole image and of those over a half. All checks are made here.
    fn passes(&self) -> Result<[CheckedParams; 2], Error> {
        if !self.nrom.is_power_of_two() || self.nrom < 4 {
            return Err(Error::invalid("NROM", self.nrom, "a power of two of at least 4"));
        }
        let flags = Flags { rw: true, parallel_smix: true, pwxform: false };
        let RomParams { nrom, r, p, tuning } = *self;
        let passes = [nrom, nrom / 2].map(|n| Params { p, tuning, ..Params::new(flags, n, r) });
        let limits = Limits::unlimited();
        Ok([passes[0].check(&limits)?, passes[1].check(&limits)?])
    }
}

/// Fills a ROM into memory of the caller: exactly [`RomParams::size`] bytes, aligned to 64. Its digest goes to `digest` and
/// nowhere else: the image holds none, so keep it if the image is to be recognised. Digests of another length than 32 bytes are unrelated to
/// that one.
///
/// `seed` is secret. Slices are filled in parallel if p > 1 and [`Workspace::set_threads`] allows it.
///
/// ```
/// use saltern_yescrypt::{RomImage, Workspace, escrypt};
/// let params = escrypt::RomParams::new(64, 8, 1);
/// let mut image = RomImage::zeroed(128 * 8 * 64)?;
/// let mut digest = [0; 32];
/// escrypt::init_rom(&params, b"a seed", image.as_bytes_mut(), &mut Workspace::new(), &mut digest)?;
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for parameters that define no ROM, [`Error::BufferLength`], [`Error::RomAlignment`],
/// [`Error::OutOfMemory`].
pub fn init_rom(
    params: &RomParams,
    seed: &[u8],
    image: &mut [u8],
    workspace: &mut Workspace,
    digest: &mut [u8],
) -> Result<(), Error> {
    let [whole, half] = &params.passes()?;
    check_output(digest.len() as u64)?;
    let needed = u64::try_from(params.size()).unwrap_or(u64::MAX);
    if image.len() as u64 != needed {
        return Err(Error::BufferLength { needed, actual: image.len() as u64 });
    }
    let blocks = memory::from_bytes_mut(image)?;
    let mut salt = [0; 32];
    fill(whole, [seed, &[]], (Filling::Rom, blocks, None), workspace, &mut salt)?;
    let (lower, upper) = blocks.split_at_mut(blocks.len() / 2);
    let mut last = salt;
    if params.p > 1 {
        let pass = (Filling::RomAgain, &mut *upper, Some(&*lower));
        fill(half, [seed, &last], pass, workspace, &mut salt)?;
        last = salt;
    }
    let pass = (Filling::Rom, &mut *lower, Some(&*upper));
    fill(half, [seed, &last], pass, workspace, &mut salt)?;
    fill(half, [seed, &salt], (Filling::Rom, upper, Some(lower)), workspace, digest)
}

/// One pass: fills `v`, reading `rom`.
fn fill(
    params: &CheckedParams,
    seed_and_salt: [&[u8]; 2],
    (filling, v, rom): (Filling, &mut [SubBlock], Option<&[SubBlock]>),
    workspace: &mut Workspace,
    digest: &mut [u8],
) -> Result<(), Error> {
    let (target, threads) = (workspace.target(), workspace.threads());
    let scratch = workspace.take(Plan::new(params, threads)?.scratch)?;
    let nrom = params.params().n;
    let reads = rom.map(|rom| RomReads::new(rom, nrom, RomMasks::escrypt(1)));
    let roms = Schedule::new(reads.as_slice(), false);
    Call { params, roms, target, threads, filling }.run(seed_and_salt, (v, scratch), digest)
}

/// A ROM to hash with: a borrowed image and the mask that says when it is read.
///
/// There is nothing in an image to tell whether it is a ROM at all, or which: another image of the same size, or another mask, gives other
/// hashes without any error. So does a ROM where there should be none.
#[derive(Clone, Copy)]
pub struct Rom<'a> {
    blocks: &'a [SubBlock],
    masks: RomMasks,
}

impl<'a> Rom<'a> {
    /// The ROM in any memory that is aligned to 64 bytes, all of it: its size divided by that of a block has to be a power of
    /// two above 1 for every hash.
    ///
    /// `mask` is the frequency mask, see [`RomMasks::escrypt`]: 1 was usual for a ROM in shared memory, 14 for one in a file.
    ///
    /// # Errors
    /// [`Error::RomAlignment`].
    pub fn from_bytes(image: &'a [u8], mask: u32) -> Result<Self, Error> {
        Ok(Rom { blocks: memory::from_bytes(image)?, masks: RomMasks::escrypt(mask) })
    }

    /// The ROM that a hasher holds.
    pub(crate) fn of(rom: &'a crate::Rom, mask: u32) -> Result<Self, Error> {
        Self::from_bytes(rom.view(1)?.image(), mask)
    }

    /// The checked view for one hash.
    pub(super) fn reads(&self, params: &CheckedParams) -> Result<RomReads<'a>, Error> {
        let flags = params.params().flags;
        if !flags.rw {
            let expected = "with RW (1), which a ROM needs: leave out the ROM";
            return Err(Error::invalid("flags", flags.bits().into(), expected));
        }
        let nrom = (self.blocks.len() / params.block_len()) as u64;
        if !nrom.is_power_of_two() || nrom < 2 {
            let expected = "a power of two above 1: the ROM's size divided by 128 * r";
            return Err(Error::invalid("NROM", nrom, expected));
        }
        Ok(RomReads::new(self.blocks, nrom, self.masks))
    }
}

impl core::fmt::Debug for Rom<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Rom {{ {} bytes, {:?} }}", size_of_val(self.blocks), self.masks)
    }
}
