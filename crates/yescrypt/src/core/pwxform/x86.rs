//! pwxform's lanes in XMM, YMM and ZMM registers, and all of pwxform for the default flavour in
//! assembly. Under Miri, which has no assembly, XMM registers are used as the others are.
#![cfg_attr(miri, allow(dead_code, unused_imports, unused_macros, reason = "no assembly"))]

use core::arch::asm;

use saltern_simd::x86::{Sse2, Wide128, Wide256, Wide512};

use super::{Constants, Lane, State, Tables};

impl Lane for Wide256 {}
impl Lane for Wide512 {}

#[cfg(miri)]
impl Lane for Wide128 {}

#[cfg(not(miri))]
impl Lane for Wide128 {
    #[inline(always)]
    unsafe fn pwxform<const GATHER: usize, const K: usize>(
        token: Sse2,
        constants: Constants,
        tables: &Tables,
        x: &mut State<Self, GATHER, K>,
    ) {
        // The groups of one state, or of two.
        let states: &mut [[Self; GATHER]] = x;
        match states {
            [state] if constants.usual => {
                if let Some(lanes) = four(state) {
                    // SAFETY: promised by the caller; `usual` constants are those that the assembly
                    // is for.
                    return unsafe {
                        match constants.stateless {
                            false => one::<3>(lanes, tables),
                            true => one::<2>(lanes, tables),
                        }
                    };
                }
            }
            [first, second] if constants.usual => {
                if let (Some([a, b, c, d]), Some([e, f, g, h])) = (four(first), four(second)) {
                    let lanes = [a, b, c, d, e, f, g, h];
                    // SAFETY: as above.
                    return unsafe {
                        match constants.stateless {
                            false => two::<3>(lanes, tables),
                            true => two::<2>(lanes, tables),
                        }
                    };
                }
            }
            _ => {}
        }
        // SAFETY: promised by the caller.
        unsafe { super::pwxform(token, constants, tables, x) }
    }

    #[inline(always)]
    fn absorb(self, input: Self) -> Self {
        let mut x = self.register();
        let input = input.register();
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            asm!("pxor {0}, {1}", inout(xmm_reg) x, in(xmm_reg) input, options(pure, nomem, nostack, preserves_flags));
        }
        self.with_register(x)
    }

    #[inline(always)]
    fn fixed(self) -> Self {
        let mut x = self.register();
        // SAFETY: no instruction at all.
        unsafe {
            asm!("/* {0} */", inout(xmm_reg) x, options(pure, nomem, nostack, preserves_flags))
        };
        self.with_register(x)
    }

    #[inline(always)]
    unsafe fn round_dense(self, _: Sse2, mask: u64, s0: *const u64, s1: *const u64) -> Self {
        let mut x = self.register();
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "movq {t}, {x}",
                "pshufd {h}, {x}, 0xf5",
                "and {t}, {mask}",
                "pmuludq {x}, {h}",
                "mov {l:e}, {t:e}",
                "shr {t}, 32",
                "paddq {x}, [{s0} + {l}]",
                "pxor {x}, [{s1} + {t}]",
                x = inout(xmm_reg) x, h = out(xmm_reg) _, t = out(reg) _, l = out(reg) _,
                mask = in(reg) mask, s0 = in(reg) s0, s1 = in(reg) s1,
                options(pure, readonly, nostack),
            );
        }
        self.with_register(x)
    }
}

/// The groups of a state, if there are four.
#[inline(always)]
fn four<const GATHER: usize>(state: &mut [Wide128; GATHER]) -> Option<[&mut Wide128; 4]> {
    let groups: &mut [Wide128] = state;
    if let [a, b, c, d] = groups { Some([a, b, c, d]) } else { None }
}

/// The assembly of section 7 for the default flavour, for lanes in the registers from `xmm0` on,
/// four for each state: [`super::pwxform`] with the lane of [`Lane::round_dense`], its loops
/// expanded by the assembler. `keep` is where in the 256 bytes after S2's write position a round
/// puts its lanes, or -1 for a round that stores none; where a state has two boxes, as in
/// generation 0.5, no round does.
///
/// One piece of assembly for the whole call, so that the compiler has nothing to spill, copy or
/// encode differently: 243 instead of 281 instructions a sub-block for one hash and 237 instead of
/// 255 for two together, and in time 1.25 and 1.06 (medians on a shared core, 4 MiB). Its encodings
/// are SSE's on every level, since `paddq` with two registers in its address is one operation and
/// `vpaddq` two.
macro_rules! six_rounds {
    ($lanes:literal, $boxes:ident, $tables:ident, $($register:tt $x:ident),*) => {{
        let [s0, s1, s2] = $tables.boxes;
        let s2 = s2.wrapping_byte_add($tables.write);
        let [any, ..] = [$(*$x),*];
        $(let mut $x = $x.register();)*
        // SAFETY: in `one` and `two`.
        unsafe { asm!(
            ".irp keep, -1, 0, 64, 128, 192, -1",
            concat!(".irp lane, ", $lanes),
            "movq rax, xmm\\lane",
            "pshufd {h}, xmm\\lane, 0xf5",
            "and rax, rdx",
            "pmuludq xmm\\lane, {h}",
            "mov ecx, eax",
            "shr rax, 32",
            "paddq xmm\\lane, [rsi + rcx + {size} * (\\lane / 4)]",
            "pxor xmm\\lane, [rdi + rax + {size} * (\\lane / 4)]",
            ".if ({boxes} - 2) * (\\keep + 1) > 0",
            "movaps [{s2} + \\keep + 16 * \\lane + ({size} - 64) * (\\lane / 4)], xmm\\lane",
            ".endif",
            ".endr",
            ".endr",
            $(inout($register) $x,)*
            h = out(xmm_reg) _, out("rax") _, out("rcx") _,
            in("rdx") Constants::DEFAULT.mask,
            in("rsi") s0, in("rdi") s1, s2 = in(reg) s2,
            boxes = const $boxes, size = const $boxes * 8 * Constants::DEFAULT.box_lanes,
            options(nostack),
        ) };
        [$(any.with_register($x)),*]
    }};
}

/// [`super::pwxform`] for one state of the default flavour, which has three boxes, or of that of
/// generation 0.5, which has two.
///
/// # Safety
/// That of [`super::pwxform`] for [`Constants::DEFAULT`] or [`Constants::ESCRYPT`]: for reads,
/// masked offsets are below 4096 - 15 in boxes of 4096 bytes; for writes, the 256 bytes from S2's
/// write position on are within S2, whose size the position divides.
#[inline(always)]
unsafe fn one<const BOXES: usize>([a, b, c, d]: [&mut Wide128; 4], tables: &Tables) {
    [*a, *b, *c, *d] = six_rounds!(
        "0, 1, 2, 3", BOXES, tables, "xmm0" a, "xmm1" b, "xmm2" c, "xmm3" d
    );
}

/// [`super::pwxform`] for two states.
///
/// # Safety
/// That of [`one`], for the second state at the same places of the next boxes.
#[inline(always)]
unsafe fn two<const BOXES: usize>([a, b, c, d, e, f, g, h]: [&mut Wide128; 8], tables: &Tables) {
    [*a, *b, *c, *d, *e, *f, *g, *h] = six_rounds!(
        "0, 1, 2, 3, 4, 5, 6, 7", BOXES, tables,
        "xmm0" a, "xmm1" b, "xmm2" c, "xmm3" d, "xmm4" e, "xmm5" f, "xmm6" g, "xmm7" h
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::blockmix::Boxes;
    use crate::core::memory::SubBlock;
    use saltern_simd::Wide;

    /// 50 calls one after the other, with all rotations and write positions, of `K` states: the
    /// states and the boxes that they leave.
    fn fifty<const K: usize>(token: Sse2, constants: Constants) -> (Vec<u64>, Vec<[u64; 8]>) {
        let mut random = saltern_testing::Random::new(K as u64);
        let mut next = || SubBlock(core::array::from_fn(|_| random.next_u64()));
        let mut memory: Vec<SubBlock> = (0..K * 192).map(|_| next()).collect();
        let mut words: Vec<SubBlock> = (0..K).map(|_| next()).collect();
        let mut x: State<Wide128, 4, K> = core::array::from_fn(|k| {
            // SAFETY: four groups of two lanes in a sub-block.
            core::array::from_fn(|j| unsafe { Wide128::load(token, &raw const words[k].0[2 * j]) })
        });
        let mut boxes = Boxes::new(&mut memory);
        let mut tables = Tables::of(&mut boxes, constants);
        for _ in 0..50 {
            // SAFETY: K times three boxes of 4096 bytes, or more than two.
            unsafe { Wide128::pwxform(token, constants, &tables, &mut x) };
            tables.advance(constants, 8);
        }
        for (x, words) in x.iter().zip(&mut words) {
            for (j, lane) in x.iter().enumerate() {
                // SAFETY: as above.
                unsafe { lane.store(&raw mut words.0[2 * j]) };
            }
        }
        (
            words.iter().flat_map(|word| word.0).collect(),
            memory.iter().map(|block| block.0).collect(),
        )
    }

    #[test]
    fn by_hand_is_as_generic() {
        let token = Sse2::detect().unwrap();
        for usual in [Constants::DEFAULT, Constants::ESCRYPT] {
            let generic = Constants { usual: false, ..usual };
            assert_eq!(fifty::<1>(token, usual), fifty::<1>(token, generic));
            assert_eq!(fifty::<2>(token, usual), fifty::<2>(token, generic));
        }
    }
}
