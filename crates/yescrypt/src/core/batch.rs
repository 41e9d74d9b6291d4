//! Many hashes in one thread: hashes of the same shape advance together.
//!
//! One hash waits most of the time for the results of multiplications and of loads from its
//! S-boxes. Another one with the same parameters fits into those gaps, so two take much less time
//! together than one after the other.

use crate::core::blockmix::MAX_LANES;
use crate::core::dispatch;
use crate::core::kdf::derive_together;
use crate::core::params::CheckedParams;
use crate::core::pass::Derivation;
use crate::core::rom::RomView;
use crate::core::workspace::Workspace;
use crate::error::Error;

impl CheckedParams {
    /// How many hashes with these parameters advance together in one thread: [`derive_many`] does
    /// best with a multiple of it. Each needs [`CheckedParams::memory`] bytes.
    #[must_use]
    pub fn degree(&self) -> usize {
        dispatch::lanes(self.mode(), MAX_LANES)
    }
}

/// [`derive`](crate::derive) for any number of passwords, [`CheckedParams::degree`] at a time.
///
/// Memory for that many hashes is taken from `workspace`; if it cannot be allocated, fewer advance
/// together.
///
/// ```
/// use saltern_yescrypt::{Limits, Params, Workspace, hazmat::{Derivation, derive_many}};
/// let params = Params::yescrypt(64, 8).check(&Limits::server())?;
/// let mut keys = [[0; 32]; 3];
/// let mut jobs = Vec::new();
/// for (out, password) in keys.iter_mut().zip([b"a", b"b", b"c"]) {
///     jobs.push(Derivation { password, salt: b"salt", out });
/// }
/// derive_many(&mut jobs, &params, None, &mut Workspace::new())?;
/// assert_ne!(keys[0], keys[2]);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # Errors
/// Those of [`derive`](crate::derive), which concern all jobs alike. The contents of the outputs
/// are then unspecified.
pub fn derive_many(
    jobs: &mut [Derivation<'_>],
    params: &CheckedParams,
    rom: Option<&RomView<'_>>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let mut degree = params.degree();
    let mut done = 0;
    while done < jobs.len() {
        let count = degree.min(jobs.len() - done);
        match derive_together(&mut jobs[done..done + count], params, rom, workspace) {
            // One alone may still fit.
            Err(Error::OutOfMemory { .. }) if count > 1 => degree = count / 2,
            outcome => {
                outcome?;
                done += count;
            }
        }
    }
    Ok(())
}
