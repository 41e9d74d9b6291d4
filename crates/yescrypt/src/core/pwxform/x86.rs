//! pwxform's lanes in XMM, YMM and ZMM registers.

use core::arch::asm;

use saltern_simd::x86::{Sse2, Wide128, Wide256, Wide512};

use super::Lane;

impl Lane for Wide256 {}
impl Lane for Wide512 {}

impl Lane for Wide128 {
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
