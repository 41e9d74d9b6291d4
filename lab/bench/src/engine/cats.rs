//! TwoCats and SkinnyCat: code of our own for comparisons, with memory that is kept from call to
//! call. Nobody else's is asked; its test vectors are in `lab/vectors/twocats.jsonl`.

use anyhow::bail;

use super::{HashOne, Input, Peer};
use crate::twocats::{Hash, Params, TwoCats};
use crate::work::{Cats, Work};

/// Both, on BLAKE2s.
pub(super) const CATS: Peer<fn(&Work) -> anyhow::Result<HashOne>> =
    Peer { name: "twocats", computes: |work| matches!(work, Work::Cats(_)), open };

fn open(work: &Work) -> anyhow::Result<HashOne> {
    let Work::Cats(Cats { skinny, mem_cost }) = *work else { bail!("{work:?} is none of theirs") };
    let mut cat = TwoCats::new(match skinny {
        true => Params::skinny(Hash::Blake2s, mem_cost)?,
        false => Params::simple(Hash::Blake2s, mem_cost, 0, 1)?,
    })?;
    Ok(Box::new(move |Input { password, salt, .. }| {
        let mut hash = [0; 32];
        cat.hash(password.to_bytes(), salt, &mut hash)?;
        Ok(hash)
    }))
}
