//! SMix of escrypt 0.5: who works on which memory. The loops and kernels are those of 1.1.

use core::array;

use super::kdf::Call;
use super::params::{CheckedParams, Filling};
use crate::Error;
use crate::core::blockmix::{Boxes, Kernel, MAX_LANES};
use crate::core::dispatch;
use crate::core::memory::SubBlock;
use crate::core::params::Mode;
use crate::core::pass::{Group, Slices, groups, list, loops, spread};
use crate::core::smix::{Cursor, Lanes, Mixer, split};

/// How many of `instances` advance together.
pub(super) fn lanes(params: &CheckedParams, instances: usize) -> usize {
    let mode = if params.params().flags.pwxform { Mode::Rw } else { Mode::Classic };
    dispatch::lanes(mode, instances)
}

/// SMix05 of one call.
pub(super) struct Smix<'a> {
    pub(super) call: &'a Call<'a>,
}

impl Smix<'_> {
    /// On the blocks of all instances that share V: p with PARALLEL_SMIX, otherwise one.
    pub(super) fn run(
        &self,
        b: &mut [SubBlock],
        v: &mut [SubBlock],
        scratch: &mut [SubBlock],
    ) -> Result<(), Error> {
        let Call { params, threads, filling, .. } = *self.call;
        let (len, n) = (params.block_len(), params.n());
        let p = b.len() / len;
        let (sboxes, spare) = scratch.split_at_mut(p * params.sbox_len());
        let counts = params.counts(filling);
        let (own_loops, shared_loops) = (loops(counts.rw), loops(counts.all - counts.rw));
        let mut b = list(p, b.chunks_exact_mut(len))?;
        let mut slices = list(p, Slices { rest: &mut *v, index: 0, len, n, p })?;
        let writers = groups((&mut b, &mut slices, sboxes), |alike| lanes(params, alike));
        let mut writers = list(p, writers)?;
        spread(&mut writers, spare, threads, |group, spare| {
            self.fill_boxes(group);
            let mixer = self.mixer(group.x.len());
            let Group { x, v, boxes, .. } = group;
            if filling != Filling::RomAgain {
                mixer.fill(boxes, x, v, &mut Cursor::default());
            }
            mixer.mix_rw(boxes, (x, spare), v, own_loops, &mut Cursor::default());
        });
        if shared_loops == 0 {
            return Ok(());
        }
        // From here on all of V is read by all instances.
        let mut readers = list(writers.len(), writers.into_iter().map(Group::into_reader))?;
        let v: [&[SubBlock]; MAX_LANES] = array::from_fn(|_| &*v);
        spread(&mut readers, spare, threads, |group, spare| {
            let lanes = group.x.len();
            let (blocks, cursor) = ((&mut *group.x, spare), &mut Cursor::default());
            let mixer = self.mixer(lanes);
            mixer.mix_ro(&mut group.boxes, blocks, &v[..lanes], shared_loops, cursor);
        });
        Ok(())
    }

    /// With PWXFORM: the first loop with the boxes as V and the first two sub-blocks of B, r = 1, as X, reads of V and of the ROM included.
    /// The blocks of the ROM are those of 128 bytes at its start.
    fn fill_boxes(&self, group: &mut Group<'_, '_>) {
        let size = self.call.params.sbox_len();
        if size == 0 {
            return;
        }
        let lanes = group.x.len();
        let mut x: Lanes<'_> = Default::default();
        for (x, b) in x.iter_mut().zip(group.x.iter_mut()) {
            *x = &mut b[..2];
        }
        let mut v = split(group.boxes.as_blocks(), size);
        let mixer = self.mixer_with(self.salsa20(lanes));
        mixer.fill(&mut Boxes::none(), &mut x[..lanes], &mut v[..lanes], &mut Cursor::default());
    }

    fn mixer(&self, lanes: usize) -> Mixer<'_> {
        let params = self.call.params.params();
        self.mixer_with(if params.flags.pwxform {
            dispatch::pwxform_kernel(self.call.target, params.tuning.flavor(), lanes)
        } else {
            self.salsa20(lanes)
        })
    }

    fn mixer_with(&self, kernel: Kernel) -> Mixer<'_> {
        let rw = self.call.params.params().flags.rw;
        Mixer { kernel, roms: self.call.roms, rw, supplied: &[] }
    }

    fn salsa20(&self, lanes: usize) -> Kernel {
        let flavor = self.call.params.params().tuning.flavor();
        dispatch::salsa20_kernel(self.call.target.level, flavor, lanes)
    }
}
