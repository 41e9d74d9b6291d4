//! Many hashes in one thread: those of one shape advance together.
//!
//! One hash waits most of the time for the results of multiplications and of loads from its S-boxes. Another one with the same
//! parameters fits into those gaps, so that two take much less time together than one after the other.

#[cfg(feature = "getrandom")]
use alloc::string::String;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::dispatch;
use crate::encoding::{HASH, HashString, Setting};
use crate::escrypt;
use crate::hasher::Admitted;
use crate::kdf::{derive_together, derive_together_with_roms};
use crate::pass::{Input, MAX_HASHES};
use crate::rom_set::{Places, Roms};
use crate::{CheckedParams, Error, Hasher, Params, Rom, Workspace};

/// One of many derivations with the same parameters.
pub struct Derivation<'a> {
    /// The password.
    pub password: &'a [u8],
    /// The salt.
    pub salt: &'a [u8],
    /// Where the result goes.
    pub out: &'a mut [u8],
}

impl core::fmt::Debug for Derivation<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Derivation { .. }")
    }
}

impl CheckedParams {
    /// How many hashes with these parameters advance together in one thread: [`derive_many`] does best with a multiple of it. Each
    /// needs [`CheckedParams::memory`] bytes.
    #[must_use]
    pub fn degree(&self) -> usize {
        dispatch::lanes(self.mode(), MAX_HASHES)
    }
}

/// [`derive`](crate::derive) for any number of passwords, [`CheckedParams::degree`] at a time.
///
/// Memory for that many hashes is taken from `workspace`; where it cannot be had, fewer advance together.
///
/// ```
/// use saltern_yescrypt::{Derivation, Limits, Params, Workspace, derive_many};
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
/// Those of [`derive`](crate::derive), which concern all jobs alike. Outputs are then in no defined state.
pub fn derive_many(
    jobs: &mut [Derivation<'_>],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    derive_all(jobs, params, &Roms::Plain(rom.copied()), workspace)
}

/// [`derive_many`] with any ROMs.
pub(crate) fn derive_all(
    jobs: &mut [Derivation<'_>],
    params: &CheckedParams,
    roms: &Roms<'_>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let mut degree = params.degree();
    let mut done = 0;
    while done < jobs.len() {
        let count = degree.min(jobs.len() - done);
        let mut inputs: [Input<'_>; MAX_HASHES] = Default::default();
        for (input, job) in inputs.iter_mut().zip(&mut jobs[done..done + count]) {
            *input = Input { password: job.password, salt: job.salt, out: &mut *job.out };
        }
        match derive_alike(&mut inputs[..count], params, roms, workspace) {
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

/// Derives up to [`MAX_HASHES`] at once.
pub(crate) fn derive_alike(
    inputs: &mut [Input<'_>],
    params: &CheckedParams,
    roms: &Roms<'_>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    match roms {
        Roms::Plain(rom) => derive_together(inputs, params, rom.as_ref(), workspace),
        Roms::List(list) => {
            let list: Vec<_> = list.iter().collect();
            derive_together_with_roms(inputs, params, &list, workspace)
        }
    }
}

/// A password and the stored hash that it may match.
#[derive(Clone, Copy)]
pub struct Verification<'a> {
    /// The password.
    pub password: &'a [u8],
    /// The stored string.
    pub hash: &'a [u8],
}

impl core::fmt::Debug for Verification<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Verification { .. }")
    }
}

/// A hash of a batch once it is known what there is to compute.
struct Pending<'a> {
    /// Its place in the batch.
    index: usize,
    password: &'a [u8],
    setting: &'a Setting,
    admitted: Admitted<'a>,
}

impl Hasher<'_> {
    /// [`Hasher::hash`] for many passwords. Results are in the order of the passwords; one that is refused does not touch the others.
    /// Takes the memory of [`CheckedParams::degree`] hashes.
    ///
    /// # Errors
    /// For each password those of [`Hasher::hash`].
    #[cfg(feature = "getrandom")]
    pub fn hash_many(
        &self,
        workspace: &mut Workspace,
        passwords: &[&[u8]],
    ) -> Vec<Result<String, Error>> {
        let setting = || {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|_| Error::Random)?;
            self.setting(&salt)
        };
        let settings: Vec<_> = passwords.iter().map(|_| setting()).collect();
        let pending =
            |i: usize| self.pending(i, passwords[i], settings[i].as_ref().map_err(|e| *e)?);
        let hashes = self.compute_many(workspace, (0..passwords.len()).map(pending).collect());
        hashes
            .into_iter()
            .zip(settings)
            .map(|(hash, setting)| Ok(crate::encoding::ascii(setting?.with_hash(&*hash?))))
            .collect()
    }

    /// [`Hasher::verify`] for many passwords and hashes of any parameters; those with the same ones are computed together.
    /// Results are in order; one that is refused does not touch the others. Limits are those of one hash: together they take the memory
    /// of up to [`CheckedParams::degree`] of them.
    ///
    /// ```
    /// use saltern_yescrypt::{Hasher, Params, Verification, Workspace};
    /// let hasher = Hasher::new().with_params(Params::from_cost(1)?);
    /// let mut workspace = Workspace::new();
    /// let stored: Vec<_> = hasher.hash_many(&mut workspace, &[b"one", b"two"]);
    /// let two = stored[1].as_ref().unwrap().as_bytes();
    /// let batch = [b"two", b"one"].map(|password| Verification { password, hash: two });
    /// assert_eq!(hasher.verify_many(&mut workspace, &batch), [Ok(true), Ok(false)]);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// For each item those of [`Hasher::verify`].
    pub fn verify_many(
        &self,
        workspace: &mut Workspace,
        items: &[Verification<'_>],
    ) -> Vec<Result<bool, Error>> {
        let stored: Vec<_> = items.iter().map(|item| HashString::parse(item.hash)).collect();
        let pending = |i: usize| {
            let stored = stored[i].as_ref().map_err(|e| *e)?;
            self.pending(i, items[i].password, stored.setting())
        };
        let hashes = self.compute_many(workspace, (0..items.len()).map(pending).collect());
        hashes
            .into_iter()
            .zip(stored)
            .zip(items)
            .map(|((hash, stored), item)| {
                // Strings of the older generation one by one.
                if escrypt::is_escrypt(item.hash) {
                    return self.verify(workspace, item.password, item.hash);
                }
                Ok(hash?.ct_eq(stored?.hash()).into())
            })
            .collect()
    }

    fn pending<'p>(
        &'p self,
        index: usize,
        password: &'p [u8],
        setting: &'p Setting,
    ) -> Result<Pending<'p>, Error> {
        Ok(Pending { index, password, setting, admitted: self.admit(password, setting)? })
    }

    /// Computes what there is, shape by shape; results in order.
    fn compute_many(
        &self,
        workspace: &mut Workspace,
        batch: Vec<Result<Pending<'_>, Error>>,
    ) -> Vec<Result<Zeroizing<[u8; HASH]>, Error>> {
        let mut results: Vec<_> = batch
            .iter()
            .map(|pending| pending.as_ref().map(|_| Zeroizing::default()).map_err(|e| *e))
            .collect();
        let mut batch: Vec<_> = batch.into_iter().flatten().collect();
        let alike = |a: &Pending<'_>, b: &Pending<'_>| {
            let places = |pending: &Pending<'_>| pending.admitted.roms.places();
            a.admitted.params == b.admitted.params && places(a) == places(b)
        };
        batch.sort_by_cached_key(|pending| shape(&pending.admitted));
        for alike in batch.chunk_by(alike) {
            let Admitted { params, roms, .. } = &alike[0].admitted;
            let mut hashes = alloc::vec![Zeroizing::new([0; HASH]); alike.len()];
            let jobs = alike.iter().zip(&mut hashes);
            let mut jobs: Vec<_> = jobs
                .map(|(job, out)| Derivation {
                    password: job.password,
                    salt: &job.admitted.salt,
                    out: &mut **out,
                })
                .collect();
            let outcome = derive_all(&mut jobs, params, roms, workspace);
            for (pending, hash) in alike.iter().zip(hashes) {
                results[pending.index] = outcome.map(|()| self.seal(pending.setting, hash));
            }
        }
        results
    }
}

/// What brings hashes of one shape next to each other.
fn shape(admitted: &Admitted<'_>) -> ([u64; 5], Option<u32>, Places) {
    let Params { n, r, p, t, nrom, .. } = *admitted.params.params();
    let numbers = [n, r.into(), p.into(), t.into(), nrom];
    (numbers, admitted.params.params().flags(), admitted.roms.places())
}
