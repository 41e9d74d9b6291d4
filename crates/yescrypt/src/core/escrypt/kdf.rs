//! The KDF of escrypt 0.5: one pass, and its ends.

use zeroize::Zeroizing;

use super::params::{CheckedParams, Filling};
use super::rom::Rom;
use super::smix::{Smix, lanes};
use crate::Error;
use crate::core::dispatch::Target;
use crate::core::memory::SubBlock;
use crate::core::pbkdf2::{self, Secret};
use crate::core::reading::Schedule;
use crate::core::threads;
use crate::core::workspace::Workspace;

/// Derives `out.len()` bytes from a password.
///
/// Outputs of 32 bytes are hashed once more at the end, except for classic scrypt, so they are no prefix of longer ones. Costs
/// [`CheckedParams::memory`] bytes in `workspace`, and time in proportion to [`Params::work`](super::Params::work). With PARALLEL_SMIX as many threads
/// work on it as [`Workspace::set_threads`] allows.
///
/// ```
/// use saltern_yescrypt::{Limits, Workspace, escrypt};
/// let params = escrypt::Params::new(escrypt::Flags::from_bits(5)?, 64, 8);
/// let mut key = [0; 32];
/// let params = params.check(&Limits::server())?;
/// escrypt::derive(b"password", b"salt", &params, None, &mut Workspace::new(), &mut key)?;
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidParameter`] for an `out` above 32 * (2^32 - 1) bytes, for a ROM without RW or one whose size is no power of two above 1
/// times that of a block; [`Error::OutOfMemory`].
pub fn derive(
    password: &[u8],
    salt: &[u8],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    check_output(out.len() as u64)?;
    let reads = rom.map(|rom| rom.reads(params)).transpose()?;
    let (target, threads) = (workspace.target(), workspace.threads());
    let plan = Plan::new(params, threads)?;
    let memory = workspace.take(plan.v + plan.scratch)?.split_at_mut(plan.v);
    let roms = Schedule::new(reads.as_slice(), false);
    let call = Call { params, roms, target, threads, filling: Filling::Memory };
    call.run([password, salt], memory, out)
}

/// Output lengths are limited by PBKDF2's block counter.
pub(super) fn check_output(len: u64) -> Result<(), Error> {
    if len > 32 * 0xffff_ffff {
        return Err(Error::invalid("output length", len, "at most 32 * (2^32 - 1) bytes"));
    }
    Ok(())
}

/// How many sub-blocks a call needs.
pub(super) struct Plan {
    /// For V: N blocks.
    pub(super) v: usize,
    /// For B of all p, the S-boxes of one SMix, and spare blocks for each thread.
    pub(super) scratch: usize,
}

impl Plan {
    pub(super) fn new(params: &CheckedParams, threads: usize) -> Result<Self, Error> {
        let (len, instances) = (params.block_len(), params.instances());
        let spare = threads::useful(threads, instances) * lanes(params, instances);
        let plan = || {
            let v = params.n().checked_mul(len)?;
            let boxes = params.sbox_len().checked_mul(instances)?;
            let blocks = params.p().checked_add(spare)?.checked_mul(len)?;
            let scratch = blocks.checked_add(boxes)?;
            v.checked_add(scratch)?;
            Some(Plan { v, scratch })
        };
        plan().ok_or(Error::OutOfMemory { bytes: u64::MAX })
    }
}

impl CheckedParams {
    /// Sub-blocks that one hash in one thread takes from a workspace, if any memory has as many.
    #[cfg(feature = "std")]
    pub(crate) fn sub_blocks(&self) -> Option<usize> {
        Plan::new(self, 1).ok().map(|plan| plan.v + plan.scratch)
    }
}

/// One call of the KDF.
pub(super) struct Call<'a> {
    pub(super) params: &'a CheckedParams,
    pub(super) roms: Schedule<'a>,
    pub(super) target: Target,
    pub(super) threads: usize,
    pub(super) filling: Filling,
}

impl Call<'_> {
    /// `v` and `scratch` are at least as long as [`Plan`] says.
    pub(super) fn run(
        &self,
        [password, salt]: [&[u8]; 2],
        (v, scratch): (&mut [SubBlock], &mut [SubBlock]),
        out: &mut [u8],
    ) -> Result<(), Error> {
        let (params, len) = (self.params, self.params.block_len());
        let plain = params.plain();
        let (b, scratch) = scratch.split_at_mut(params.p() * len);
        let v = &mut v[..params.n() * len];
        let hashed = pbkdf2::sha256(password);
        pbkdf2::fill(if plain { password } else { &*hashed }, salt, b);
        let first = Zeroizing::new(b[0].to_bytes());
        let mut secret = Secret::default();
        secret.copy_from_slice(&first[..32]);
        let smix = Smix { call: self };
        for b in b.chunks_exact_mut(params.instances() * len) {
            smix.run(b, v, scratch)?;
        }
        pbkdf2::extract(if plain { password } else { &*secret }, b, out);
        if !plain && out.len() == 32 {
            let client_key = pbkdf2::hmac(out, b"Client Key");
            out.copy_from_slice(&*pbkdf2::sha256(&*client_key));
        }
        Ok(())
    }
}
