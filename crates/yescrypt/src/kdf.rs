//! The KDF (section 15): the checks of a call, the pass before the main one, the main one.

use crate::Error;
use crate::params::CheckedParams;
use crate::pass::{Input, Kind, MAX_HASHES, Pass, Plan};
use crate::pbkdf2::Secret;
use crate::rom::Rom;
use crate::workspace::Workspace;

/// Derives `out.len()` bytes from a password: the bare function, without strings.
///
/// For every mode but classic a shorter output is a prefix of a longer one. Costs [`CheckedParams::memory`] bytes in `workspace`, and
/// time in proportion to [`Params::work`](crate::Params::work).
///
/// # Errors
/// [`Error::RomUnavailable`] or [`Error::RomNotUsed`] if `rom` and the parameters disagree, [`Error::RomTooSmall`] or
/// [`Error::RomTag`] if it is not a ROM of that size, [`Error::InvalidParameter`] for an `out` above 32 * (2^32 - 1) bytes, and
/// [`Error::OutOfMemory`].
pub fn derive(
    password: &[u8],
    salt: &[u8],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    derive_together(&mut [Input { password, salt, out }], params, rom, workspace)
}

/// [`derive`] for up to [`MAX_HASHES`] independent inputs at once. Errors concern all of them: each depends on the parameters, the ROM and
/// the machine, not on a password. Outputs have one length.
pub(crate) fn derive_together(
    inputs: &mut [Input<'_>],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    for input in &*inputs {
        params.check_output(input.out.len() as u64)?;
    }
    let rom = match (rom, params.params().nrom) {
        (None, 0) => None,
        (None, nrom) => return Err(Error::RomUnavailable { nrom }),
        (Some(_), 0) => return Err(Error::RomNotUsed),
        (Some(rom), _) => Some(rom.blocks_for(params)?),
    };
    let (target, threads) = (workspace.target(), workspace.threads());
    let plan = Plan::new(params, inputs.len(), threads)?;
    let (v, scratch) = workspace.take(plan.v + plan.scratch)?.split_at_mut(plan.v);
    let pass = |params, kind| Pass { params, kind, rom, target, threads };
    let Some(small) = params.prehash() else {
        return pass(*params, Kind::Main).run(inputs, [v, scratch]);
    };
    let mut passwords: [Secret; MAX_HASHES] = Default::default();
    let mut first: [Input<'_>; MAX_HASHES] = Default::default();
    let first = &mut first[..inputs.len()];
    for ((first, input), out) in first.iter_mut().zip(&*inputs).zip(&mut passwords) {
        *first = Input { password: input.password, salt: input.salt, out: &mut **out };
    }
    pass(small, Kind::Prehash).run(first, [&mut *v, &mut *scratch])?;
    let mut second: [Input<'_>; MAX_HASHES] = Default::default();
    let second = &mut second[..inputs.len()];
    for ((second, input), password) in second.iter_mut().zip(inputs).zip(&passwords) {
        *second = Input { password: &**password, salt: input.salt, out: &mut *input.out };
    }
    pass(*params, Kind::Main).run(second, [v, scratch])
}
