//! ROMs of generation 0.5: an image without a tag, filled in three or four passes. Its hashes are
//! those of [`Mode::Escrypt`].

use crate::core::fill::{check_nrom, image_of, rom_pass};
use crate::core::flavor::Flavor;
use crate::core::memory::SubBlock;
use crate::core::params::{CheckedParams, Flags, Mode, Params, block_bytes};
use crate::core::pass::{Derivation, Kind};
use crate::core::workspace::Workspace;
use crate::error::Error;

/// The parameters of a ROM, beside its seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EscryptRomParams {
    /// The number of blocks, a power of two of at least 4.
    pub nrom: u64,
    /// r: block size in units of 128 bytes.
    pub r: u32,
    /// p: slices that are filled independently of each other; affects the result.
    pub p: u32,
    /// The flavour, of which only the rounds of Salsa20 matter.
    pub flavor: Flavor,
}

impl EscryptRomParams {
    /// A ROM of `128 * r * nrom` bytes in the default tuning.
    #[must_use]
    pub const fn new(nrom: u64, r: u32, p: u32) -> Self {
        EscryptRomParams { nrom, r, p, flavor: Flavor::ESCRYPT }
    }

    /// Bytes in the image: `128 * r * nrom`, saturated.
    #[must_use]
    pub const fn size(&self) -> u64 {
        block_bytes(self.r).saturating_mul(self.nrom)
    }

    /// The parameters of the pass over the whole image and of the passes over a half. All checks
    /// are made here.
    fn passes(&self) -> Result<[CheckedParams; 2], Error> {
        check_nrom(self.nrom)?;
        let flags = Flags { rw: true, parallel_smix: true, pwxform: false };
        let EscryptRomParams { nrom, r, p, flavor } = *self;
        let mode = Mode::Escrypt(flags);
        let pass = |n| Params { p, flavor, ..Params::new(mode, n, r) }.checked();
        Ok([pass(nrom)?, pass(nrom / 2)?])
    }
}

/// Fills a ROM into the caller's memory: exactly [`EscryptRomParams::size`] bytes, aligned to 64.
/// Its digest is written to `digest` only: the image does not contain it, so keep it if you need to
/// recognise the image. Digests of other lengths are unrelated to the one of 32 bytes.
///
/// `seed` is secret. Slices are filled in parallel if p > 1 and [`Workspace::set_threads`] allows
/// it.
///
/// ```
/// use saltern_yescrypt::{Workspace, escrypt, rom::RomImage};
/// let params = escrypt::EscryptRomParams::new(64, 8, 1);
/// let mut image = RomImage::zeroed(128 * 8 * 64)?;
/// let mut digest = [0; 32];
/// escrypt::init_rom(&params, b"a seed", image.as_bytes_mut(), &mut Workspace::new(), &mut digest)?;
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for parameters that define no ROM, [`Error::BufferLength`],
/// [`Error::RomAlignment`], [`Error::OutOfMemory`].
pub fn init_rom(
    params: &EscryptRomParams,
    seed: impl AsRef<[u8]>,
    image: &mut [u8],
    workspace: &mut Workspace,
    digest: &mut [u8],
) -> Result<(), Error> {
    let seed = seed.as_ref();
    let [whole, half] = &params.passes()?;
    whole.check_output(digest.len() as u64)?;
    let blocks = image_of(image, params.size())?;
    type Memory<'a> = (Kind, &'a mut [SubBlock], Option<&'a [SubBlock]>);
    let mut pass = |params, salt: &[u8], memory: Memory<'_>, out: &mut [u8]| {
        rom_pass(params, Derivation { password: seed, salt, out }, memory, workspace, None)
    };
    let mut salt = [0; 32];
    pass(whole, &[], (Kind::RomInit, &mut *blocks, None), &mut salt)?;
    let (lower, upper) = blocks.split_at_mut(blocks.len() / 2);
    let mut last = salt;
    if params.p > 1 {
        pass(half, &last, (Kind::RomAgain, &mut *upper, Some(&*lower)), &mut salt)?;
        last = salt;
    }
    pass(half, &last, (Kind::RomInit, &mut *lower, Some(&*upper)), &mut salt)?;
    pass(half, &salt, (Kind::RomInit, upper, Some(lower)), digest)
}
