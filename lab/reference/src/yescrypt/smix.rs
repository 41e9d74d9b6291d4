//! The two loops, how often they run, and SMix (10 – 13).

use super::mix::{
    Block, Boxes, block_of, blockmix_pwxform, blockmix_salsa, bytes_from_lanes, integerify,
    lanes_from_bytes, p2floor, wrap, xor,
};
use super::params::INIT;
use super::{Params, Tuning, hmac};

/// A ROM and when it is read. yescrypt 1.1 has one at most, with both masks 1 and no look-ahead;
/// the rest is an extension.
#[derive(Clone, Copy, Debug)]
pub struct RomPlan<'a> {
    /// A power of two of blocks, with tag and digest at the end.
    pub image: &'a [u8],
    /// The first loop reads it in steps i with i & mask = 1, and in step 0 the last block of the
    /// first ROM whose mask is not 0.
    pub fill_mask: u32,
    /// The second loop reads it in steps i with i & mask = 1. Of several ROMs the first one is
    /// read.
    pub mix_mask: u32,
    /// Step i takes the index from X at step max(i - look_ahead, 0) of the same loop.
    pub look_ahead: u32,
}

/// What one loop needs to know besides the block and the memory.
struct Loop<'a> {
    tuning: &'a Tuning,
    /// Whether blocks of the memory are read in the first loop and written in the second.
    rw: bool,
    /// The ROMs, none by default.
    roms: &'a [RomPlan<'a>],
}

impl Loop<'_> {
    /// The block mix: 8 with boxes, 5 without.
    fn blockmix(&self, x: &[u64], boxes: Option<&mut Boxes>) -> Block {
        match boxes {
            Some(boxes) => blockmix_pwxform(x, boxes, self.tuning),
            None => blockmix_salsa(x, self.tuning.salsa_main),
        }
    }

    /// The first ROM of the list that step `i` reads, by the mask that `mask` picks.
    fn rom_at(&self, i: u64, mask: impl Fn(&RomPlan<'_>) -> u32) -> Option<&RomPlan<'_>> {
        self.roms.iter().find(|rom| i & u64::from(mask(rom)) == 1)
    }

    /// XOR with the ROM block that `choose` picks from the number of blocks.
    fn xor_rom(x: &[u64], rom: &RomPlan<'_>, choose: impl Fn(u64) -> u64) -> Block {
        let nrom = (rom.image.len() / (8 * x.len())) as u64;
        xor(x, &block_of(rom.image, choose(nrom), x.len()))
    }

    /// The first loop (10): `n` blocks are made from `block`, which is replaced by the result.
    fn first(&self, block: &mut Vec<u8>, n: usize, mut boxes: Option<&mut Boxes>) -> Vec<Block> {
        let mut memory: Vec<Block> = Vec::with_capacity(n);
        // step 1
        let mut x = lanes_from_bytes(block);
        // step 2
        for i in 0..n {
            // step 3
            memory.push(x.clone());
            let j = integerify(&x);
            let opening = self.roms.iter().find(|rom| i == 0 && rom.fill_mask != 0);
            if let Some(rom) = opening {
                // step 4
                x = Self::xor_rom(&x, rom, |nrom| nrom - 1);
            } else if let Some(rom) = self.rom_at(i as u64, |rom| rom.fill_mask) {
                // step 5
                let j = integerify(&memory[i.saturating_sub(rom.look_ahead as usize)]);
                x = Self::xor_rom(&x, rom, |nrom| j & (nrom - 1));
            } else if self.rw && i > 1 {
                // step 6
                x = xor(&x, &memory[wrap(j, i)]);
            }
            // step 7
            x = self.blockmix(&x, boxes.as_deref_mut());
        }
        // step 8
        *block = bytes_from_lanes(&x);
        memory
    }

    /// The second loop (11), `count` times over `memory`, whose length is a power of two.
    fn second(
        &self,
        block: &mut Vec<u8>,
        count: u64,
        memory: &mut [Block],
        mut boxes: Option<&mut Boxes>,
    ) {
        // step 1
        let mut x = lanes_from_bytes(block);
        let mut indices = Vec::new();
        // step 2
        for i in 0..count {
            let j = integerify(&x);
            indices.push(j);
            match self.rom_at(i, |rom| rom.mix_mask) {
                // step 3
                Some(rom) => {
                    let j = indices[i.saturating_sub(rom.look_ahead.into()) as usize];
                    x = Self::xor_rom(&x, rom, |nrom| j & (nrom - 1));
                }
                // step 4
                None => {
                    let v = &mut memory[(j & (memory.len() as u64 - 1)) as usize];
                    x = xor(&x, v);
                    if self.rw {
                        v.clone_from(&x);
                    }
                }
            }
            // step 5
            x = self.blockmix(&x, boxes.as_deref_mut());
        }
        // step 6
        *block = bytes_from_lanes(&x);
    }
}

/// How much the loops do (12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopCounts {
    /// Blocks in a slice of the memory, but for the last slice.
    pub chunk: u64,
    /// Rounds of the second loop altogether.
    pub all: u64,
    /// Those of them that stay in the slice and write.
    pub rw: u64,
}

/// The loop counts (12) of a call with these `n`, `p`, `t` and flags.
#[must_use]
pub fn loop_counts(params: &Params) -> LoopCounts {
    let (p, t) = (u64::from(params.p), u64::from(params.t));
    let n = params.n / p;
    let all = second_loop(params.is_rw(), n, t);
    // The division is of the unrounded count.
    let rw = if params.flags & INIT != 0 {
        all
    } else if params.is_rw() {
        all / p
    } else {
        0
    };
    LoopCounts { chunk: n - n % 2, all: all + all % 2, rw: rw + rw % 2 }
}

/// Rounds of the second loop over `n` blocks (12), before they are made even.
pub(super) fn second_loop(rw: bool, n: u64, t: u64) -> u64 {
    match (rw, t) {
        (true, 0) => n.div_ceil(3),
        (true, 1) => (2 * n).div_ceil(3),
        (true, _) => n * (t - 1),
        (false, 0) => n,
        (false, 1) => n + n.div_ceil(2),
        (false, _) => n * t,
    }
}

/// Fills the S-boxes from the first 128 bytes of a block, which change (13 steps 5 and 6).
#[must_use]
pub fn fill_boxes(block: &mut [u8], tuning: &Tuning) -> Boxes {
    let filling = Loop { tuning, rw: false, roms: &[] };
    let mut head = block[..128].to_vec();
    let memory = filling.first(&mut head, tuning.sbytes() / 128, None);
    block[..128].copy_from_slice(&head);
    Boxes::new(&memory.concat())
}

/// What SMix leaves behind.
pub(super) struct Smix {
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) memory: Vec<Block>,
    pub(super) secret: Vec<u8>,
}

/// SMix (13) over as many blocks as `params.p` says.
pub(super) fn smix(
    blocks: &[Vec<u8>],
    params: &Params,
    roms: &[RomPlan<'_>],
    secret: &[u8],
) -> Smix {
    let rw = params.is_rw();
    let tuning = &params.tuning;
    let n_all = params.n as usize;
    let mut out = Smix { blocks: blocks.to_vec(), memory: Vec::new(), secret: secret.to_vec() };
    let mut boxes: Vec<Option<Boxes>> = Vec::new();
    // step 1
    let counts = loop_counts(params);
    let last = blocks.len() - 1;
    // step 2
    for (i, block) in out.blocks.iter_mut().enumerate() {
        // step 3
        let n = if i < last { counts.chunk as usize } else { n_all - out.memory.len() };
        // step 4
        let mut own = None;
        if rw {
            // steps 5 and 6
            own = Some(fill_boxes(block, tuning));
            // step 7
            if i == 0 {
                out.secret = hmac(&block[block.len() - 64..], &out.secret).to_vec();
            }
        }
        // step 8
        let loops = Loop { tuning, rw, roms };
        let mut slice = loops.first(block, n, own.as_mut());
        // step 9
        loops.second(block, counts.rw, &mut slice[..p2floor(n)], own.as_mut());
        // step 10
        out.memory.append(&mut slice);
        boxes.push(own);
    }
    // step 11
    let loops = Loop { tuning, rw: false, roms };
    for (block, own) in out.blocks.iter_mut().zip(&mut boxes) {
        loops.second(block, counts.all - counts.rw, &mut out.memory, own.as_mut());
    }
    out
}
