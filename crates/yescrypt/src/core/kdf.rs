//! The KDF (section 15): the checks of a call, the pass before the main one, the main one.

use crate::Error;
use crate::core::blockmix::MAX_LANES;
use crate::core::params::CheckedParams;
use crate::core::pass::{Derivation, Kind, Pass, Sizes};
use crate::core::pbkdf2::Secret;
use crate::core::reading::{Reads, RomReading, RomUse};
use crate::core::rom::RomView;
use crate::core::workspace::Workspace;

/// Derives `out.len()` bytes from a password: the bare function, without strings.
///
/// In every mode but classic a shorter output is a prefix of a longer one. Takes
/// [`CheckedParams::memory`] bytes in `workspace`, and time proportional to
/// [`Params::work`](crate::Params::work).
///
/// # Errors
/// [`Error::RomUnavailable`] or [`Error::RomNotUsed`] if `rom` and the parameters disagree,
/// [`Error::RomTooSmall`] or [`Error::RomTag`] if it is not a ROM of that size,
/// [`Error::InvalidParameter`] for an `out` above 32 * (2^32 - 1) bytes, and
/// [`Error::OutOfMemory`].
pub fn derive(
    password: impl AsRef<[u8]>,
    salt: impl AsRef<[u8]>,
    params: &CheckedParams,
    rom: Option<&RomView<'_>>,
    workspace: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    let (password, salt) = (password.as_ref(), salt.as_ref());
    derive_together(&mut [Derivation { password, salt, out }], params, rom, workspace)
}

/// [`derive`] for up to [`MAX_LANES`] independent inputs at once. Errors concern all of them: they
/// depend on the parameters, the ROM and the machine, not on a password. All outputs have the same
/// length.
pub(crate) fn derive_together(
    inputs: &mut [Derivation<'_>],
    params: &CheckedParams,
    rom: Option<&RomView<'_>>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let list = match (rom, params.params().nrom) {
        (None, 0) => None,
        (None, nrom) => return Err(Error::RomUnavailable { nrom }),
        (Some(_), 0) => return Err(Error::RomNotUsed),
        (Some(&rom), nrom) => Some(RomUse { rom, reading: RomReading::new(nrom) }),
    };
    let params = &params.without_nrom();
    run(inputs, params, &Reads::new(params, list.as_slice())?, workspace)
}

/// [`derive()`] with a list of at most [`MAX_ROMS`](crate::rom::MAX_ROMS) ROMs, each read according
/// to its masks.
///
/// If several are due in a step, only the first of them is read: list the rarest first. The first
/// step of the first loop reads the last block of the first ROM with a mask for that loop. One ROM
/// with [`RomMasks::YESCRYPT`](crate::rom::RomMasks::YESCRYPT) gives the same hash as [`derive()`]
/// with its NROM; every other list gives hashes that only Saltern computes.
///
/// # Errors
/// Those of [`derive()`]; [`Error::InvalidParameter`] for more ROMs, for an NROM in `params`
/// itself, or in a mode without ROMs.
///
/// ```
/// use saltern_yescrypt::{Error, Limits, Params, Workspace, rom::*};
/// let mut workspace = Workspace::new();
/// let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut workspace)?;
/// let masks = RomMasks { fill: 0, mix: 15 };
/// let reading = RomReading { masks, ..RomReading::new(64) };
/// let rarely = RomUse { rom: RomView::new(&image)?, reading };
/// let params = Params::yescrypt(64, 8).check(&Limits::server())?;
/// let mut out = [0; 32];
/// derive_with_roms(b"password", b"salt", &params, &[rarely], &mut workspace, &mut out)?;
/// # Ok::<(), Error>(())
/// ```
pub fn derive_with_roms(
    password: impl AsRef<[u8]>,
    salt: impl AsRef<[u8]>,
    params: &CheckedParams,
    roms: &[RomUse<RomView<'_>>],
    workspace: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    let (password, salt) = (password.as_ref(), salt.as_ref());
    run(&mut [Derivation { password, salt, out }], params, &Reads::new(params, roms)?, workspace)
}

/// Up to [`MAX_LANES`] independent inputs at once, with ROMs that are in memory.
pub(crate) fn run(
    inputs: &mut [Derivation<'_>],
    params: &CheckedParams,
    roms: &Reads<'_>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let roms = roms.in_memory()?;
    let roms = roms.schedule();
    for input in &*inputs {
        params.check_output(input.out.len() as u64)?;
    }
    let (target, threads) = (workspace.target, workspace.threads);
    let plan = Sizes::new(params, inputs.len(), threads)?;
    let (v, scratch) = workspace.arena.take(plan.total())?.split_at_mut(plan.v);
    let pass = |params, kind| Pass { params, kind, roms, target, threads, watch: None };
    let Some(small) = params.prehash() else {
        return pass(*params, Kind::Main).run(inputs, [v, scratch]);
    };
    let mut passwords: [Secret; MAX_LANES] = Default::default();
    let mut first: [Derivation<'_>; MAX_LANES] = Default::default();
    let first = &mut first[..inputs.len()];
    for ((first, input), out) in first.iter_mut().zip(&*inputs).zip(&mut passwords) {
        *first = Derivation { password: input.password, salt: input.salt, out: &mut **out };
    }
    pass(small, Kind::Prehash).run(first, [&mut *v, &mut *scratch])?;
    let mut second: [Derivation<'_>; MAX_LANES] = Default::default();
    let second = &mut second[..inputs.len()];
    for ((second, input), password) in second.iter_mut().zip(inputs).zip(&passwords) {
        *second = Derivation { password: &**password, salt: input.salt, out: &mut *input.out };
    }
    pass(*params, Kind::Main).run(second, [v, scratch])
}
