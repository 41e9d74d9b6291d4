//! Many passwords at once: hashes of one shape advance together.

#[cfg(feature = "getrandom")]
use alloc::string::String;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::Plan;
use crate::core::batch::Derivation;
use crate::core::batch::derive_all;
use crate::core::reading::{Places, places};
use crate::text::HASH;
use crate::text::encoding::{HashString, Setting};
use crate::{Error, Hasher, Params, Workspace};

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
    admitted: Plan,
}

impl Hasher {
    /// [`Hasher::hash`] for many passwords. Results are in the order of the passwords; one that is
    /// refused does not touch the others. Takes the memory of
    /// [`CheckedParams::degree`](crate::params::CheckedParams::degree) hashes.
    ///
    /// # Errors
    /// For each password those of [`Hasher::hash`].
    #[cfg(feature = "getrandom")]
    pub fn hash_many(
        &self,
        workspace: &mut Workspace,
        passwords: &[impl AsRef<[u8]>],
    ) -> Vec<Result<String, Error>> {
        let settings: Vec<_> = passwords.iter().map(|_| self.random_setting()).collect();
        let pending = |i: usize| {
            self.pending(i, passwords[i].as_ref(), settings[i].as_ref().map_err(|e| *e)?)
        };
        let hashes = self.compute_many(workspace, (0..passwords.len()).map(pending).collect());
        hashes
            .into_iter()
            .zip(settings)
            .map(|(hash, setting)| Ok(crate::text::ascii(setting?.with_hash(&*hash?))))
            .collect()
    }

    /// [`Hasher::verify`] for many passwords and hashes of any parameters; those with the same ones
    /// are computed together. Results are in order; one that is refused does not touch the others.
    /// Limits are those of one hash: together they take the memory of up to
    /// [`CheckedParams::degree`](crate::params::CheckedParams::degree) of them.
    ///
    /// ```
    /// use saltern_yescrypt::{Hasher, Params, Verification, Workspace};
    /// let hasher = Hasher::new().with_params(Params::from_cost(1)?);
    /// let mut workspace = Workspace::new();
    /// let stored: Vec<_> = hasher.hash_many(&mut workspace, &["one", "two"]);
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
            .map(|(hash, stored)| Ok(hash?.ct_eq(stored?.hash()).into()))
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
            let places = |pending: &Pending<'_>| places(&pending.admitted.roms);
            a.admitted.params == b.admitted.params && places(a) == places(b)
        };
        batch.sort_by_cached_key(|pending| shape(&pending.admitted));
        for alike in batch.chunk_by(alike) {
            let Plan { params, roms, .. } = &alike[0].admitted;
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
fn shape(admitted: &Plan) -> ([u64; 5], Option<u32>, Places) {
    let Params { n, r, p, t, nrom, .. } = *admitted.params.params();
    let numbers = [n, r.into(), p.into(), t.into(), nrom];
    (numbers, admitted.params.params().flags(), places(&admitted.roms))
}
