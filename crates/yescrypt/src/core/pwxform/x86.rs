//! pwxform's lanes in XMM, YMM and ZMM registers.

use core::arch::asm;

use saltern_simd::x86::{Sse2, Wide128, Wide256, Wide512};

use super::{Constants, Lane, State, Tables};

impl Lane for Wide256 {}
impl Lane for Wide512 {}

impl Lane for Wide128 {
    #[inline(always)]
    unsafe fn pwxform<const GATHER: usize, const K: usize>(
        token: Sse2,
        constants: Constants,
        tables: &Tables,
        x: &mut State<Self, GATHER, K>,
    ) {
        let [s0, s1, s2] = tables.boxes;
        let s2 = s2.wrapping_add(tables.write);
        if GATHER == 4 && constants == Constants::DEFAULT {
            match K {
                1 => unsafe { one(x, s0, s1, s2) },
                2 => unsafe { two(x, s0, s1, s2) },
                _ => unsafe { super::pwxform(token, constants, tables, x) },
            }
        } else {
            // SAFETY: promised by the caller.
            unsafe { super::pwxform(token, constants, tables, x) }
        }
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
        Self::from_register(x)
    }
}

macro_rules! rounds {
    ($lanes:literal, $($operands:tt)*) => {
        asm!(
            ".irp keep, -1, 0, 64, 128, 192, -1",
            concat!(".irp j, ", $lanes),
            "movq rax, xmm\\j",
            "pshufd {h}, xmm\\j, 0xf5",
            "and rax, rdx",
            "pmuludq xmm\\j, {h}",
            "mov ecx, eax",
            "shr rax, 32",
            "paddq xmm\\j, [rsi + rcx + 12288*(\\j/4)]",
            "pxor xmm\\j, [rdi + rax + 12288*(\\j/4)]",
            ".if \\keep + 1",
            "movaps [{s2} + \\keep + 16*\\j + 12224*(\\j/4)], xmm\\j",
            ".endif",
            ".endr",
            ".endr",
            h = out(xmm_reg) _, out("rax") _, out("rcx") _,
            $($operands)*
            options(nostack),
        )
    };
}

#[inline(always)]
unsafe fn one<const GATHER: usize, const K: usize>(x: &mut State<Wide128, GATHER, K>, s0: *const u64, s1: *const u64, s2: *mut u64) {
    let mut r = [x[0][0].register(), x[0][1].register(), x[0][2].register(), x[0][3].register()];
    unsafe {
        rounds!("0, 1, 2, 3",
            inout("xmm0") r[0], inout("xmm1") r[1], inout("xmm2") r[2], inout("xmm3") r[3],
            in("rdx") Constants::DEFAULT.mask, in("rsi") s0, in("rdi") s1, s2 = in(reg) s2,
        );
    }
    for j in 0..4 { x[0][j] = Wide128::from_register(r[j]); }
}

#[inline(always)]
unsafe fn two<const GATHER: usize, const K: usize>(x: &mut State<Wide128, GATHER, K>, s0: *const u64, s1: *const u64, s2: *mut u64) {
    let mut r = [x[0][0].register(), x[0][1].register(), x[0][2].register(), x[0][3].register(),x[1][0].register(), x[1][1].register(), x[1][2].register(), x[1][3].register()];
    unsafe {
        rounds!("0, 1, 2, 3, 4, 5, 6, 7",
            inout("xmm0") r[0], inout("xmm1") r[1], inout("xmm2") r[2], inout("xmm3") r[3],
            inout("xmm4") r[4], inout("xmm5") r[5], inout("xmm6") r[6], inout("xmm7") r[7],
            in("rdx") Constants::DEFAULT.mask, in("rsi") s0, in("rdi") s1, s2 = in(reg) s2,
        );
    }
    for j in 0..8 { x[j / 4][j % 4] = Wide128::from_register(r[j]); }
}
