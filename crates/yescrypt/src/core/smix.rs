//! The two loops over memory (sections 9 to 11), for a group of instances that advance together.
//!
//! Everything here sees blocks as slices of `len` = 2r sub-blocks and knows nothing of what a
//! kernel does inside. V of one instance is one slice; block `i` is `V[i * len..][..len]`. A slice
//! of slices has one entry for each lane of the group.

use saltern_wipe::Zeroize;

use crate::core::blockmix::{Boxes, Io, Kernel, MAX_LANES};
use crate::core::log::ReadRecorder;
use crate::core::memory::SubBlock;
use crate::core::reading::{Loop, MAX_LOOK_AHEAD, MAX_ROMS, RomInUse, Schedule};

/// Blocks or memories of a group's instances, padded with empty ones.
pub(crate) type Lanes<'a> = [&'a mut [SubBlock]; MAX_LANES];

/// `memory` cut into pieces of `len`.
pub(crate) fn split(memory: &mut [SubBlock], len: usize) -> Lanes<'_> {
    let mut pieces = memory.chunks_exact_mut(len);
    core::array::from_fn(|_| pieces.next().unwrap_or_default())
}

/// The state that both loops need beside memory.
pub(crate) struct Mixer<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) roms: Schedule<'a>,
    /// Random reads in the first loop, writes in the second.
    pub(crate) rw: bool,
    /// The blocks requested by [`Stop::Needs`], one for each lane.
    pub(crate) supplied: &'a [&'a [SubBlock]],
    /// Notes what is read of ROMs that can be checked.
    pub(crate) pen: Option<ReadRecorder<'a>>,
}

/// The progress of a loop. Each loop begins with a new one.
pub(crate) struct Cursor {
    /// The next step.
    pub(crate) step: u64,
    /// The loop returns before this step.
    pause: u64,
    /// For each ROM, the first step whose read has not been announced.
    announced: [u64; MAX_ROMS],
    /// Whether the blocks that the next step needs are available.
    pub(crate) fed: bool,
    trail: Trail,
}

impl Cursor {
    /// Lets the loop return after some more steps. Returns the next one.
    pub(crate) fn pause_after(&mut self, steps: u64) -> u64 {
        self.pause = self.step.saturating_add(steps);
        self.step
    }
}

impl Default for Cursor {
    fn default() -> Self {
        let trail = Trail::default();
        Cursor { step: 0, pause: u64::MAX, announced: [0; MAX_ROMS], fed: false, trail }
    }
}

/// Why a loop returned before its end or its pause. Only ROMs that are not in memory stop a loop.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    /// This step or a later one will read these blocks of a ROM. Reads of a ROM are announced in
    /// the order in which they are needed.
    Announces { rom: usize, blocks: [u64; MAX_LANES] },
    /// The next step reads the blocks announced for it. It continues with `supplied`.
    Needs { rom: usize },
}

impl Mixer<'_> {
    /// SMix1: fills all of each `v`, at least two blocks, from `x`; leaves the block after the last
    /// in `x`.
    ///
    /// The specification's X at step i is V_i, so each block is mixed from its place in `v`
    /// straight into the next.
    pub(crate) fn fill(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut [&mut [SubBlock]],
        v: &mut [&mut [SubBlock]],
        cursor: &mut Cursor,
    ) -> Option<Stop> {
        match x.len() {
            1 => self.fill_lanes(boxes, lanes_mut::<1, _>(x), lanes_mut(v), cursor),
            2 => self.fill_lanes(boxes, lanes_mut::<2, _>(x), lanes_mut(v), cursor),
            _ => self.fill_lanes(boxes, lanes_mut::<MAX_LANES, _>(x), lanes_mut(v), cursor),
        }
    }

    /// [`Mixer::fill`] for `K` lanes: the code for each block is then straight-line.
    fn fill_lanes<const K: usize>(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut [&mut [SubBlock]; K],
        v: &mut [&mut [SubBlock]; K],
        cursor: &mut Cursor,
    ) -> Option<Stop> {
        let len = x[0].len();
        let n = v[0].len() / len;
        if cursor.step == 0 {
            for (v, x) in v.iter_mut().zip(&*x) {
                v[..len].copy_from_slice(x);
            }
        }
        let end = cursor.pause.min(n as u64);
        for i in cursor.step as usize..end as usize {
            if self.roms.elsewhere {
                let now = |lane: usize| integerify(block(v[lane], i, len));
                let stop = self.stop(cursor, (Loop::Fill, i as u64, n as u64), now, K);
                if stop.is_some() {
                    return stop;
                }
            }
            let mut io = [Io::NONE; K];
            for (lane, (io, (x, v))) in io.iter_mut().zip(x.iter_mut().zip(&mut *v)).enumerate() {
                let (done, next) = v.split_at_mut((i + 1) * len);
                let dst = if i + 1 < n { &mut next[..len] } else { &mut **x };
                *io = Io::mix(&done[i * len..], self.fill_reads(i, lane, done, len), dst);
            }
            self.kernel.run(boxes, &io);
        }
        cursor.step = end;
        None
    }

    /// Steps 4 to 6 of SMix1: which block is XORed in at step `i`, `done` being everything up to
    /// V_i.
    #[inline(always)]
    fn fill_reads<'b>(
        &'b self,
        i: usize,
        lane: usize,
        done: &'b [SubBlock],
        len: usize,
    ) -> Option<&'b [SubBlock]> {
        if i == 0 {
            let rom = self.roms.opening()?;
            return Some(self.noted(rom, lane, rom.nrom - 1, rom.last(len)));
        }
        if let Some(rom) = self.roms.at(Loop::Fill, i as u64) {
            let source = i.saturating_sub(rom.look_ahead as usize);
            return Some(self.rom_block(rom, lane, integerify(block(done, source, len)), len));
        }
        if !self.rw || i == 1 {
            return None;
        }
        Some(block(done, wrap(integerify(block(done, i, len)), i), len))
    }

    /// SMix2, with writes if each `v` takes them: `loops` steps (an even number) on the first
    /// p2floor(n) of its n blocks. `spare` is scratch of one block each.
    pub(crate) fn mix<V: Memory>(
        &self,
        boxes: &mut Boxes<'_>,
        (x, spare): (&mut [&mut [SubBlock]], &mut [&mut [SubBlock]]),
        v: &mut [V],
        loops: u64,
        cursor: &mut Cursor,
    ) -> Option<Stop> {
        match x.len() {
            1 => self.mix_lanes(boxes, Pair::<1>::new(x, spare), lanes_mut(v), loops, cursor),
            2 => self.mix_lanes(boxes, Pair::<2>::new(x, spare), lanes_mut(v), loops, cursor),
            _ => {
                self.mix_lanes(boxes, Pair::<MAX_LANES>::new(x, spare), lanes_mut(v), loops, cursor)
            }
        }
    }

    /// [`Mixer::mix`] for `K` lanes.
    fn mix_lanes<V: Memory, const K: usize>(
        &self,
        boxes: &mut Boxes<'_>,
        blocks: Pair<'_, K>,
        v: &mut [V; K],
        loops: u64,
        cursor: &mut Cursor,
    ) -> Option<Stop> {
        let Pair { mut x, mut spare } = blocks;
        let len = x[0].len();
        let n = p2floor(v[0].size() / len);
        // The two blocks of each lane as they are before this step: `settle` has exchanged them as
        // often.
        if cursor.step % 2 == 1 {
            self.settle(&mut x, &mut spare);
        }
        let end = cursor.pause.min(loops);
        for i in cursor.step..end {
            if self.roms.ahead || self.roms.elsewhere {
                let stop = self.arrive(cursor, [i, loops], &x);
                if stop.is_some() {
                    return stop;
                }
            }
            let rom = self.roms.at(Loop::Mix, i);
            let mut io = [Io::NONE; K];
            let each = x.iter_mut().zip(&mut spare).zip(&mut *v);
            for (lane, (io, ((x, spare), v))) in io.iter_mut().zip(each).enumerate() {
                let j = integerify(x);
                *io = match rom {
                    Some(rom) => {
                        let j = cursor.trail.look(rom.look_ahead, i, lane).unwrap_or(j);
                        Io::step(&self.kernel, x, spare, self.rom_block(rom, lane, j, len))
                    }
                    None => v.step(&self.kernel, x, spare, (j as usize & (n - 1)) * len),
                };
            }
            self.kernel.run(boxes, &io);
            self.settle(&mut x, &mut spare);
        }
        cursor.step = end;
        None
    }

    /// The beginning of a step of the second loop with ROMs that are read ahead or are not in
    /// memory.
    #[inline(never)]
    fn arrive(
        &self,
        cursor: &mut Cursor,
        [i, loops]: [u64; 2],
        x: &[&mut [SubBlock]],
    ) -> Option<Stop> {
        let now = |lane: usize| integerify(x[lane]);
        if self.roms.ahead {
            cursor.trail.keep(i, x.len(), now);
        }
        if !self.roms.elsewhere {
            return None;
        }
        self.stop(cursor, (Loop::Mix, i, loops), now, x.len())
    }

    /// Whether a loop must stop at step `i` of `steps`, where `now` gives X for each lane. If so,
    /// `cursor` remembers the step.
    fn stop(
        &self,
        cursor: &mut Cursor,
        (which, i, steps): (Loop, u64, u64),
        now: impl Fn(usize) -> u64,
        lanes: usize,
    ) -> Option<Stop> {
        for (index, rom) in self.roms.roms.iter().enumerate().filter(|(_, rom)| rom.elsewhere) {
            // Reads whose index comes from this step: in the first step all of the first ones,
            // later one at most.
            let until = (i + u64::from(rom.look_ahead) + 1).min(steps);
            while cursor.announced[index] < until {
                let step = cursor.announced[index];
                cursor.announced[index] += 1;
                if step > 0 && self.roms.index_at(which, step) == Some(index) {
                    let block = |lane| if lane < lanes { now(lane) & (rom.nrom - 1) } else { 0 };
                    cursor.step = i;
                    let blocks = core::array::from_fn(block);
                    return Some(Stop::Announces { rom: index, blocks });
                }
            }
        }
        let needed = self.roms.index_at(which, i).filter(|rom| self.roms.roms[*rom].elsewhere)?;
        if i == 0 || core::mem::take(&mut cursor.fed) {
            return None;
        }
        cursor.step = i;
        Some(Stop::Needs { rom: needed })
    }

    /// The block that lane `lane` reads from a ROM.
    #[inline]
    fn rom_block<'b>(
        &'b self,
        rom: &'b RomInUse<'_>,
        lane: usize,
        x: u64,
        len: usize,
    ) -> &'b [SubBlock] {
        if rom.elsewhere {
            return self.supplied[lane];
        }
        self.noted(rom, lane, x & (rom.nrom - 1), rom.block(x, len))
    }

    /// A block of a ROM in memory that a lane reads.
    #[inline]
    fn noted<'b>(
        &self,
        rom: &RomInUse<'_>,
        lane: usize,
        x: u64,
        block: &'b [SubBlock],
    ) -> &'b [SubBlock] {
        if let Some(pen) = self.pen.filter(|_| rom.checked) {
            pen.note(lane, rom.index, x, block);
        }
        block
    }

    /// If the kernel wrote to `spare`, that becomes the new `x`. After an even number of steps both
    /// are back in their places.
    #[inline(always)]
    fn settle<'b, const K: usize>(
        &self,
        x: &mut [&'b mut [SubBlock]; K],
        spare: &mut [&'b mut [SubBlock]; K],
    ) {
        if !self.kernel.in_place {
            core::mem::swap(x, spare);
        }
    }
}

/// The blocks that the second loop works on, and as many to write to.
struct Pair<'a, const K: usize> {
    x: [&'a mut [SubBlock]; K],
    spare: [&'a mut [SubBlock]; K],
}

impl<'a, const K: usize> Pair<'a, K> {
    fn new(x: &'a mut [&mut [SubBlock]], spare: &'a mut [&mut [SubBlock]]) -> Self {
        let x = lanes_mut(x).each_mut().map(|block| &mut **block);
        Pair { x, spare: lanes_mut(spare).each_mut().map(|block| &mut **block) }
    }
}

/// A lane's V in the second loop.
pub(crate) trait Memory {
    /// In sub-blocks.
    fn size(&self) -> usize;
    /// The step with the block from sub-block `at` on.
    fn step<'b>(
        &'b mut self,
        kernel: &Kernel,
        x: &'b mut [SubBlock],
        spare: &'b mut [SubBlock],
        at: usize,
    ) -> Io<'b>;
}

/// With writes.
impl Memory for &mut [SubBlock] {
    fn size(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn step<'b>(
        &'b mut self,
        kernel: &Kernel,
        x: &'b mut [SubBlock],
        spare: &'b mut [SubBlock],
        at: usize,
    ) -> Io<'b> {
        let len = x.len();
        Io::step_save(kernel, x, spare, &mut self[at..][..len])
    }
}

/// Without.
impl Memory for &[SubBlock] {
    fn size(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn step<'b>(
        &'b mut self,
        kernel: &Kernel,
        x: &'b mut [SubBlock],
        spare: &'b mut [SubBlock],
        at: usize,
    ) -> Io<'b> {
        let len = x.len();
        Io::step(kernel, x, spare, &self[at..][..len])
    }
}

/// The first `K` of some lanes, of which there are as many.
#[inline(always)]
fn lanes_mut<const K: usize, T>(lanes: &mut [T]) -> &mut [T; K] {
    lanes.first_chunk_mut().expect("kernels exist for 1, 2 and 4 lanes")
}

/// Integerify at the last steps of the second loop, by step and lane, once there is a ROM that is
/// read with a look-ahead.
#[derive(Default)]
struct Trail(Option<[[u64; MAX_LANES]; Trail::SIZE]>);

impl Trail {
    const SIZE: usize = MAX_LOOK_AHEAD as usize + 1;

    fn keep(&mut self, i: u64, lanes: usize, now: impl Fn(usize) -> u64) {
        let values = self.0.get_or_insert([[0; MAX_LANES]; Self::SIZE]);
        let values = &mut values[i as usize % Self::SIZE];
        for (lane, value) in values[..lanes].iter_mut().enumerate() {
            *value = now(lane);
        }
    }

    /// The index for a read at step `i`, if it is not the value of this step.
    #[inline]
    fn look(&self, look_ahead: u32, i: u64, lane: usize) -> Option<u64> {
        if look_ahead == 0 {
            return None;
        }
        let source = i.saturating_sub(u64::from(look_ahead));
        Some(self.0.as_ref()?[source as usize % Self::SIZE][lane])
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if let Some(values) = &mut self.0 {
            values.zeroize();
        }
    }
}

/// Block `i` of `v`.
#[inline]
fn block(v: &[SubBlock], i: usize, len: usize) -> &[SubBlock] {
    &v[i * len..][..len]
}

/// Section 9: the first eight bytes, in natural order, of the last sub-block.
#[inline]
fn integerify(x: &[SubBlock]) -> u64 {
    x.last().map_or(0, |last| (last.0[0] & 0xffff_ffff) | (last.0[6] >> 32 << 32))
}

/// Section 9: `x` reduced to one of the last p2floor(i) blocks before block `i`, which is at least
/// 1.
#[inline]
fn wrap(x: u64, i: usize) -> usize {
    let n = p2floor(i);
    (x as usize & (n - 1)) + (i - n)
}

/// The largest power of two up to `x`, which is at least 1.
pub(crate) fn p2floor(x: usize) -> usize {
    1 << x.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_stays_behind_and_reaches_everything() {
        for i in 1..100 {
            let n = p2floor(i);
            assert!(n <= i && 2 * n > i);
            let reached: Vec<usize> = (0..n as u64).map(|x| wrap(x, i)).collect();
            assert_eq!(reached, (i - n..i).collect::<Vec<_>>());
            assert_eq!(wrap(u64::MAX, i), i - 1);
        }
    }
}
