//! TwoCats and SkinnyCat: code of our own for comparisons, with memory that is kept from call to
//! call. Nobody else's is asked; its test vectors are in `vectors/twocats.jsonl`.

use std::hint::black_box;

use anyhow::bail;

use super::{Engine, Input, Setup, Task, inputs};
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
        let (hash, cost) = (Hash::Blake2s, cats.mem_cost);
        let cat = match cats.skinny {
            true => Cat::Skinny(Box::new(SkinnyCat::new(hash, cost)?)),
            false => Cat::Two(Box::new(TwoCats::new(Params::simple(hash, cost, 0, 1)?)?)),
        };
        Ok(Box::new(OneCat { cat, work: work.clone(), input: inputs(work, 1)? }))
    }
}

enum Cat {
    Skinny(Box<SkinnyCat>),
    Two(Box<TwoCats>),
}

struct OneCat {
    cat: Cat,
    work: Work,
    input: Vec<Input>,
}

impl Cat {
    fn hash(&mut self, input: &Input) -> anyhow::Result<[u8; 32]> {
        let (password, salt) = (input.password.to_bytes(), &input.salt[..]);
        let mut hash = [0; 32];
        match self {
            Cat::Skinny(cat) => cat.hash(password, salt, &mut hash)?,
            Cat::Two(cat) => cat.hash(password, salt, &mut hash)?,
        }
        Ok(hash)
    }
}

impl Task for OneCat {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        black_box(self.cat.hash(&self.input[0])?);
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let inputs = inputs(&self.work, count)?;
        inputs.iter().map(|input| Ok(self.cat.hash(input)?.to_vec())).collect()
    }
}
