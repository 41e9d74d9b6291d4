//! Many messages at once: lanes that are kept full.
//!
//! Each lane holds one task. A step advances all lanes by the same number of blocks, up to where
//! the first of them needs attention; a lane whose task is done takes the next one. When tasks run
//! out, the remaining lanes are moved together and narrower kernels take over, down to the one for
//! a single message.

use saltern_simd::lanes::{MAX_LANES, Word};

use crate::compress::{Group, Inputs};
use crate::dispatch::Kernels;
use crate::function::{Block, State};
use crate::variant::Variant;
use crate::whole::copy_short;

/// Input for one state.
pub(crate) struct Task<'a, V: Variant> {
    pub(crate) h: &'a mut State<V>,
    /// Bytes compressed into the state before.
    pub(crate) count: u128,
    /// A block that comes before `input`.
    pub(crate) head: Option<&'a Block<V>>,
    /// The rest of the message; whole blocks, if `finish` is `None`.
    pub(crate) input: &'a [u8],
    /// Whether the message ends here; if so, whether this is the last node.
    pub(crate) finish: Option<bool>,
}

impl<'a, V: Variant> Task<'a, V> {
    fn is_done(&self) -> bool {
        self.finish.is_none() && self.head.is_none() && self.input.is_empty()
    }

    /// Blocks, at the current place, that are whole, contiguous and not the last.
    fn plain_blocks(&self) -> usize {
        if self.head.is_some() {
            return usize::from(self.finish.is_none() || !self.input.is_empty());
        }
        let reserved = usize::from(self.finish.is_some());
        self.input.len().saturating_sub(reserved) / V::BLOCK_BYTES
    }

    /// The bytes from the current place on, at least one block of them unless the last block comes
    /// next.
    fn place(&self) -> &'a [u8] {
        self.head.map_or(self.input, AsRef::as_ref)
    }

    /// Skips `blocks` plain blocks.
    fn advance(&mut self, blocks: usize) {
        self.count = self.count.wrapping_add((blocks * V::BLOCK_BYTES) as u128);
        if self.head.take().is_none() {
            self.input = &self.input[blocks * V::BLOCK_BYTES..];
        }
    }
}

/// The lanes: the first `active` hold tasks, and column `i` of the group is the state of task `i`.
struct Engine<'k, 'a, V: Variant, I> {
    kernels: &'k Kernels<V>,
    group: Group<V>,
    tasks: [Option<Task<'a, V>>; MAX_LANES],
    active: usize,
    waiting: I,
}

/// Carries out any number of tasks; the time is proportional to their lengths.
pub(crate) fn run<'a, V: Variant>(
    kernels: &Kernels<V>,
    waiting: impl Iterator<Item = Task<'a, V>>,
) {
    let mut engine = Engine {
        kernels,
        group: Group::new(),
        tasks: [const { None }; MAX_LANES],
        active: 0,
        waiting,
    };
    let widest = kernels.widest();
    while engine.active < widest && engine.refill(engine.active) {
        engine.active += 1;
    }
    let mut pads = [V::Word::ZERO_BLOCK; MAX_LANES];
    loop {
        match engine.active {
            0 => return,
            1 => engine.finish_alone(),
            active => engine.step(kernels.width_for(active), &mut pads),
        }
    }
}

impl<'a, V: Variant, I: Iterator<Item = Task<'a, V>>> Engine<'_, 'a, V, I> {
    /// Puts the next task that has anything to do into a lane, if there is one.
    fn refill(&mut self, lane: usize) -> bool {
        let task = self.waiting.find(|task| !task.is_done());
        if let Some(task) = &task {
            self.group.set_state(lane, task.h);
            // A new message without a key has neither a head block nor a count.
            self.group.is_secret |= task.head.is_some() || task.count > 0;
        }
        self.tasks[lane] = task;
        self.tasks[lane].is_some()
    }

    /// Takes the state of a lane whose task is done, and fills the lane: with the next task, else
    /// with the last lane.
    fn replace(&mut self, lane: usize) {
        if let Some(task) = &mut self.tasks[lane] {
            *task.h = self.group.state(lane);
        }
        if self.refill(lane) {
            return;
        }
        self.active -= 1;
        let last = self.active;
        self.group.set_state(lane, &self.group.state(last));
        self.tasks.swap(lane, last);
    }

    /// Advances all lanes with a kernel of `width` lanes, to where the first of them needs
    /// attention.
    fn step(&mut self, width: usize, pads: &mut [Block<V>; MAX_LANES]) {
        let plain = |task: &Option<Task<'_, V>>| task.as_ref().map_or(0, Task::plain_blocks);
        let shortest = self.tasks[..self.active].iter().map(plain).min().unwrap_or(0);
        if shortest > 0 {
            self.advance(width, shortest);
        } else {
            self.close(width, pads);
        }
        for lane in (0..self.active).rev() {
            if self.tasks[lane].as_ref().is_some_and(Task::is_done) {
                self.replace(lane);
            }
        }
    }

    /// A step of plain blocks only.
    fn advance(&mut self, width: usize, blocks: usize) {
        let mut inputs = Inputs { lanes: [&[]; MAX_LANES], stride: V::BLOCK_BYTES };
        for (lane, task) in self.tasks[..self.active].iter_mut().flatten().enumerate() {
            inputs.lanes[lane] = task.place();
            let count = task.count.wrapping_add(V::BLOCK_BYTES as u128);
            self.group.set_offset(lane, count, [false; 2]);
            task.advance(blocks);
        }
        self.run(width, inputs, blocks);
    }

    /// A step of one block in which at least one lane has its last.
    fn close(&mut self, width: usize, pads: &mut [Block<V>; MAX_LANES]) {
        let mut inputs = Inputs { lanes: [&[]; MAX_LANES], stride: V::BLOCK_BYTES };
        let lanes = self.tasks[..self.active].iter_mut().flatten().zip(pads);
        for (lane, (task, pad)) in lanes.enumerate() {
            let closes = task.plain_blocks() == 0;
            let place = task.place();
            let length = place.len().min(V::BLOCK_BYTES);
            let flags = [closes, closes && task.finish == Some(true)];
            self.group.set_offset(lane, task.count.wrapping_add(length as u128), flags);
            inputs.lanes[lane] = place;
            if length < V::BLOCK_BYTES {
                *pad = V::Word::ZERO_BLOCK;
                copy_short(pad.as_mut(), place);
                let pad: &Block<V> = pad;
                inputs.lanes[lane] = pad.as_ref();
            }
            if closes {
                (task.finish, task.head, task.input) = (None, None, &[]);
            } else {
                task.advance(1);
            }
        }
        self.run(width, inputs, 1);
    }

    /// Calls the kernel. Lanes without a task get the first one's input, and their results are
    /// ignored.
    fn run(&mut self, width: usize, mut inputs: Inputs<'_>, blocks: usize) {
        let first = inputs.lanes[0];
        for (lane, input) in inputs.lanes.iter_mut().enumerate().take(width).skip(self.active) {
            *input = first;
            self.group.set_offset(lane, 0, [false; 2]);
        }
        self.kernels.many(width, &mut self.group, inputs, blocks);
    }

    /// Finishes the only task left with the kernel for a single message or, where that is the only
    /// kernel, many tasks one after the other.
    fn finish_alone(&mut self) {
        let Some(mut task) = self.tasks[0].take() else { return self.active = 0 };
        *task.h = self.group.state(0);
        let mut blocks = task.plain_blocks();
        while blocks > 0 {
            let input = &task.place()[..blocks * V::BLOCK_BYTES];
            self.kernels.absorb(task.h, task.count, input);
            task.advance(blocks);
            blocks = task.plain_blocks();
        }
        if let Some(last_node) = task.finish {
            let (place, mut pad) = (task.place(), V::Word::ZERO_BLOCK);
            let count = task.count.wrapping_add(place.len() as u128);
            // As in a step: only a partial block is copied.
            let block = V::Word::first_block(place).unwrap_or_else(|| {
                pad.as_mut()[..place.len()].copy_from_slice(place);
                &pad
            });
            self.kernels.finish(task.h, count, block, last_node);
        }
        self.active = usize::from(self.refill(0));
    }
}
