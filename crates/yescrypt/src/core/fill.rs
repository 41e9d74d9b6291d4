//! Filling a ROM from its seed (section 18): three passes, a tag and a digest.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::core::flavor::Flavor;
use crate::core::memory::{self, SubBlock};
use crate::core::params::{CheckedParams, Mode, Params, block_bytes};
use crate::core::pass::{Derivation, Kind, Pass, Sizes, Watch};
use crate::core::reading::{RomInUse, RomMasks, Schedule};
use crate::core::rom::{RomImage, TAG, TRAILER, write_trailer};
use crate::core::workspace::Workspace;
use crate::error::Error;

/// The parameters of a ROM, beside its seed. The same parameters and seed give the same image on
/// all machines with the same byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RomParams {
    /// The flavour; hashes may use the ROM with any other.
    pub flavor: Flavor,
    /// NROM: the number of blocks, a power of two of at least 4.
    pub nrom: u64,
    /// r: block size in units of 128 bytes.
    pub r: u32,
    /// p: slices that are filled independently of each other; affects the result.
    pub p: u32,
    /// t: extra time.
    pub t: u32,
}

impl RomParams {
    /// A ROM of `128 * r * nrom` bytes in the default flavour, `t` = 0.
    #[must_use]
    pub const fn new(nrom: u64, r: u32, p: u32) -> Self {
        RomParams { flavor: Flavor::DEFAULT, nrom, r, p, t: 0 }
    }

    /// Bytes in the image: `128 * r * nrom`, saturated.
    #[must_use]
    pub const fn size(&self) -> u64 {
        block_bytes(self.r).saturating_mul(self.nrom)
    }

    /// Checks that these parameters define a ROM that this machine can address.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`], [`Error::OutOfMemory`].
    pub fn check(&self) -> Result<(), Error> {
        self.passes().map(|_| ())
    }

    /// The parameters of the three passes, each of which fills one half. All checks are made here,
    /// before any pass.
    fn passes(&self) -> Result<CheckedParams, Error> {
        let RomParams { flavor, nrom, r, p, t } = *self;
        check_nrom(nrom)?;
        let pass = |n| Params { flavor, p, t, ..Params::new(Mode::Rw, n, r) }.checked();
        pass(nrom)?;
        pass(nrom / 2)
    }
}

/// Fills a ROM into the caller's memory: exactly [`RomParams::size`] bytes, aligned to 64. Returns
/// its digest.
///
/// `seed` may have any length and is secret: with it and the parameters the ROM can be made again.
/// Takes three passes over half the image and a few blocks in `workspace`; with p > 1 and
/// [`Workspace::set_threads`], slices are filled in parallel. An old tag is destroyed first, so
/// that a partly filled image is refused.
///
/// # Errors
/// [`Error::InvalidParameter`] for parameters that define no ROM, [`Error::BufferLength`],
/// [`Error::RomAlignment`], [`Error::OutOfMemory`].
pub fn init_rom(
    params: &RomParams,
    seed: impl AsRef<[u8]>,
    image: &mut [u8],
    workspace: &mut Workspace,
) -> Result<[u8; 32], Error> {
    fill(params, seed.as_ref(), image, workspace, None)
}

/// The progress of filling a ROM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RomProgress {
    /// Which of the three passes: 1 and 3 fill the lower half, 2 the upper.
    pub pass: u8,
    /// Bytes that have gone through block mixes in all passes so far. (Where addresses have 32 bits
    /// it stays at 512 GiB.)
    pub done: u64,
    /// What `done` will be at the end: about four times the size of half the image, more with t >
    /// 0.
    pub total: u64,
}

/// [`init_rom`] that reports progress and can be cancelled: `watch` is called about once per MiB,
/// by any of the working threads.
///
/// ```
/// use core::ops::ControlFlow;
/// use saltern_yescrypt::{Error, Workspace, rom::{RomImage, RomParams, init_rom_with}};
/// let params = RomParams::new(64, 8, 1);
/// let mut image = RomImage::zeroed(128 * 8 * 64)?;
/// let stop = |_| ControlFlow::Break(());
/// let ended = init_rom_with(&params, b"seed", image.as_bytes_mut(), &mut Workspace::new(), &stop);
/// assert_eq!(ended, Err(Error::Cancelled));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`init_rom`], and [`Error::Cancelled`] after `watch` has returned
/// [`ControlFlow::Break`]: the image then holds no ROM.
pub fn init_rom_with(
    params: &RomParams,
    seed: impl AsRef<[u8]>,
    image: &mut [u8],
    workspace: &mut Workspace,
    watch: &(dyn Fn(RomProgress) -> ControlFlow<()> + Sync),
) -> Result<[u8; 32], Error> {
    fill(params, seed.as_ref(), image, workspace, Some(watch))
}

fn fill(
    params: &RomParams,
    seed: &[u8],
    image: &mut [u8],
    workspace: &mut Workspace,
    watch: Option<&(dyn Fn(RomProgress) -> ControlFlow<()> + Sync)>,
) -> Result<[u8; 32], Error> {
    let half = params.passes()?;
    // Refuse before anything is changed.
    image_of(image, params.size())?;
    let tail = image.len() - TRAILER;
    image[tail..].fill(0);
    let blocks = memory::from_bytes_mut(image)?;
    let (lower, upper) = blocks.split_at_mut(blocks.len() / 2);
    let total = 3 * half.rom_work();
    // Not every processor has 64-bit atomics. Blocks are multiples of this unit.
    const UNIT: u64 = 128;
    let (done, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut digest = [0; 32];
    for pass in 1..=3 {
        let told = |bytes: u64| {
            let add = |done: usize| Some(done.saturating_add((bytes / UNIT) as usize));
            let before = done.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
            let done = (before.unwrap_or_default() as u64 * UNIT).saturating_add(bytes);
            let progress = RomProgress { pass, done: done.min(total), total };
            if watch.is_some_and(|watch| watch(progress).is_break()) {
                ended.store(true, Ordering::Relaxed);
            }
            !ended.load(Ordering::Relaxed)
        };
        let watch: Option<&Watch<'_>> = if watch.is_some() { Some(&told) } else { None };
        let salt = digest;
        let salt = if pass == 1 { TAG.as_slice() } else { &salt };
        let memory = match pass {
            1 => (Kind::RomInit, &mut *lower, None),
            2 => (Kind::RomInit, &mut *upper, Some(&*lower)),
            _ => (Kind::RomInit, &mut *lower, Some(&*upper)),
        };
        let input = Derivation { password: seed, salt, out: &mut digest };
        rom_pass(&half, input, memory, workspace, watch)?;
        if ended.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
    }
    write_trailer(memory::from_bytes_mut(image)?, &digest);
    Ok(digest)
}

/// One pass of making a ROM: fills `v`, reading `rom`.
pub(crate) fn rom_pass(
    params: &CheckedParams,
    input: Derivation<'_>,
    (kind, v, rom): (Kind, &mut [SubBlock], Option<&[SubBlock]>),
    workspace: &mut Workspace,
    watch: Option<&Watch<'_>>,
) -> Result<(), Error> {
    let (target, threads) = (workspace.target, workspace.threads);
    let scratch = workspace.arena.take(Sizes::new(params, 1, threads)?.scratch)?;
    let reads = rom.map(|rom| RomInUse::new(rom, params.params().n, RomMasks::YESCRYPT));
    let roms = Schedule::new(reads.as_slice(), params.mode() == Mode::Rw);
    let pass = Pass { params: *params, kind, roms, target, threads, watch };
    pass.run(&mut [input], [v, scratch])
}

/// Memory of this many bytes as that of a ROM, of either generation.
pub(crate) fn image_of(image: &mut [u8], needed: u64) -> Result<&mut [SubBlock], Error> {
    if image.len() as u64 != needed {
        return Err(Error::BufferLength { needed, actual: image.len() as u64 });
    }
    memory::from_bytes_mut(image)
}

/// Both generations define ROMs with this many blocks.
pub(crate) fn check_nrom(nrom: u64) -> Result<(), Error> {
    if !nrom.is_power_of_two() || nrom < 4 {
        return Err(Error::invalid("NROM", nrom, "a power of two of at least 4"));
    }
    Ok(())
}

impl RomImage {
    /// A ROM made from a seed; see [`init_rom`].
    ///
    /// ```
    /// use saltern_yescrypt::{Workspace, rom::{RomImage, RomParams}};
    /// let rom = RomImage::init(&RomParams::new(64, 8, 1), b"a seed from the random generator", &mut Workspace::new())?;
    /// assert_eq!(rom.as_bytes().len(), 128 * 8 * 64);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`init_rom`].
    pub fn init(
        params: &RomParams,
        seed: impl AsRef<[u8]>,
        workspace: &mut Workspace,
    ) -> Result<Self, Error> {
        params.check()?;
        let refused = Error::OutOfMemory { bytes: params.size() };
        let mut image = Self::zeroed(usize::try_from(params.size()).map_err(|_| refused)?)?;
        init_rom(params, seed, image.as_bytes_mut(), workspace)?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters that are legal, though nobody will see the end.
    #[test]
    fn progress_of_extreme_parameters_does_not_overflow() {
        let mut seen = 0;
        for log2 in 2..40 {
            for (r, p) in [(1, 1), (1, 2), (8, 1), (4096, 1)] {
                let params = RomParams { t: u32::MAX, ..RomParams::new(1 << log2, r, p) };
                let Ok(half) = params.passes() else { continue };
                assert!(half.rom_work().checked_mul(3).is_some(), "NROM = 2^{log2}, r = {r}");
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen}");
    }
}
