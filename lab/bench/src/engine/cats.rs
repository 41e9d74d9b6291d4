//! TwoCats and SkinnyCat: code of our own for comparisons, with memory that is kept from call to
//! call. Nobody else's is asked; its test vectors are in `lab/vectors/twocats.jsonl`.

use anyhow::bail;

use super::{Engine, Input, Setup, Task, one_by_one};
use crate::twocats::{Hash, Params, SkinnyCat, TwoCats};
use crate::work::Work;

/// Both, on BLAKE2s.
pub struct Cats;

impl Engine for Cats {
    fn name(&self) -> String {
        "twocats".to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        matches!(work, Work::Cats(_))
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        let Work::Cats(cats) = work else { bail!("TwoCats does not compute this") };
        let (blake2s, cost) = (Hash::Blake2s, cats.mem_cost);
        if cats.skinny {
            let mut cat = SkinnyCat::new(blake2s, cost)?;
            return one_by_one(work, move |Input { password, salt, .. }, hash| {
                Ok(cat.hash(password.to_bytes(), salt, hash)?)
            });
        }
        let mut cat = TwoCats::new(Params::simple(blake2s, cost, 0, 1)?)?;
        one_by_one(work, move |Input { password, salt, .. }, hash| {
            Ok(cat.hash(password.to_bytes(), salt, hash)?)
        })
    }
}
