//! Many hashes for one thread: those of one shape advance together.
//!
//! One hash waits most of the time for the results of multiplications and of loads from its S-boxes. A second one of the same
//! parameters fills those gaps, so that two take much less time than one after the other.
use crate::Error;
use crate::dispatch;
use crate::kdf::derive_together;
use crate::params::CheckedParams;
use crate::pass::Input;
use crate::rom::Rom;
use crate::workspace::Workspace;

/// One of many derivations.
#[derive(Debug)]
pub struct Derivation<'a> {
    /// The password.
    pub password: &'a [u8],
    /// The salt.
    pub salt: &'a [u8],
    /// Where the result goes.
    pub out: &'a mut [u8],
}

/// doc
pub fn derive_many(
    jobs: &mut [Derivation<'_>],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let mut rest = jobs;
    while !rest.is_empty() {
        let lanes = dispatch::lanes(params.params().mode, rest.len());
        let (now, later) = rest.split_at_mut(lanes);
        rest = later;
        let mut inputs: [Input<'_>; 4] = Default::default();
        for (i, j) in inputs.iter_mut().zip(now) {
            *i = Input { password: j.password, salt: j.salt, out: j.out };
        }
        derive_together(&mut inputs[..lanes], params, rom, workspace)?;
    }
    Ok(())
}
