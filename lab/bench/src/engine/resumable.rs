//! `saltern resumable`: hashes as pools compute them, by the driver that can stop at every read of
//! a ROM. Without a ROM it never does, and is to be as fast as the other one.

use std::hint::black_box;

use anyhow::Context;
use saltern_yescrypt::Workspace;
use saltern_yescrypt::hazmat::{Advance, Resumable};
use saltern_yescrypt::params::CheckedParams;

use super::{Input, Task};

/// One thread's passwords.
pub(super) struct Resumed {
    hash: Resumable,
    params: CheckedParams,
    inputs: Vec<Input>,
}

impl Resumed {
    pub(super) fn new(workspace: Workspace, params: CheckedParams, inputs: Vec<Input>) -> Self {
        Resumed { hash: Resumable::new(workspace), params, inputs }
    }
}

impl Task for Resumed {
    fn together(&self) -> usize {
        self.inputs.len()
    }

    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        let inputs: Vec<(&[u8], &[u8])> =
            self.inputs.iter().map(|input| (input.password.to_bytes(), &input.salt[..])).collect();
        self.hash.begin(&inputs, &self.params, &[], 32)?;
        while self.hash.advance(&[])? != Advance::Done {}
        black_box(self.hash.output(0));
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        self.run(0)?;
        let hash = |index| Ok(self.hash.output(index).context("no hash")?.to_vec());
        (0..count).map(hash).collect()
    }
}
