//! Which kernel runs: the instruction sets, each with three short shells that compile the bodies for it, and the choice among
//! them. No algorithm.
#![allow(unsafe_code, reason = "`#[target_feature]` functions that call the kernels")]

use saltern_simd::{Level, PortableRow, PortableWide, Row, Wide};

use crate::blockmix::{BlockFn, Boxes, Io, Kernel, PLAIN, SAVE, XOR};
use crate::flavor::Flavor;
use crate::params::Mode;
use crate::pwxform::{self, Constants};
use crate::salsa20;

/// The kernel for a mode and flavour at a level, which has to be available.
pub(crate) fn kernel<const K: usize>(level: Level, mode: Mode, flavor: &Flavor) -> Kernel<K> {
    if mode != Mode::Rw {
        return salsa20_kernel(level, flavor);
    }
    let steps = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => pwxform_steps::<x86::Avx512, K>(flavor),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => pwxform_steps::<x86::Avx2, K>(flavor),
        #[cfg(target_arch = "x86_64")]
        Level::Sse2 | Level::Sse41 => pwxform_steps::<x86::Sse2, K>(flavor),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => pwxform_steps::<aarch64::Neon, K>(flavor),
        _ => pwxform_steps::<Portable, K>(flavor),
    };
    let sbox_len = flavor.sbox_bytes() as usize / 64;
    Kernel { steps, in_place: true, sbox_len, flavor: *flavor }
}

/// The Salsa20 block mix: classic scrypt, WORM and the fill of the S-boxes.
pub(crate) fn salsa20_kernel<const K: usize>(level: Level, flavor: &Flavor) -> Kernel<K> {
    let steps = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => salsa20_steps::<x86::Avx512, K>(flavor),
        #[cfg(target_arch = "x86_64")]
        Level::Sse2 | Level::Sse41 | Level::Avx2 => salsa20_steps::<x86::Sse2, K>(flavor),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => salsa20_steps::<aarch64::Neon, K>(flavor),
        _ => salsa20_steps::<Portable, K>(flavor),
    };
    Kernel { steps, in_place: false, sbox_len: 0, flavor: *flavor }
}

/// The shells of one instruction set for one flavour: the default flavour with its numbers as literals.
fn salsa20_steps<I: Isa, const K: usize>(flavor: &Flavor) -> [BlockFn<K>; 3] {
    if flavor.salsa_mix() == 8 {
        return [I::salsa20_8::<K, PLAIN>, I::salsa20_8::<K, XOR>, I::salsa20_8::<K, SAVE>];
    }
    [I::salsa20::<K, PLAIN>, I::salsa20::<K, XOR>, I::salsa20::<K, SAVE>]
}

fn pwxform_steps<I: Isa, const K: usize>(flavor: &Flavor) -> [BlockFn<K>; 3] {
    if *flavor == Flavor::DEFAULT {
        return [I::default::<K, PLAIN>, I::default::<K, XOR>, I::default::<K, SAVE>];
    }
    match flavor.simple() {
        1 => gather_steps::<I, I::Wide1, K>(flavor.gather()),
        2 => gather_steps::<I, I::Wide2, K>(flavor.gather()),
        4 => gather_steps::<I, I::Wide4, K>(flavor.gather()),
        _ => gather_steps::<I, I::Wide8, K>(flavor.gather()),
    }
}

fn gather_steps<I, W, const K: usize>(gather: u32) -> [BlockFn<K>; 3]
where
    I: Isa,
    W: Wide<Token: From<I>>,
{
    match gather {
        1 => {
            [I::pwxform::<W, 1, K, PLAIN>, I::pwxform::<W, 1, K, XOR>, I::pwxform::<W, 1, K, SAVE>]
        }
        2 => {
            [I::pwxform::<W, 2, K, PLAIN>, I::pwxform::<W, 2, K, XOR>, I::pwxform::<W, 2, K, SAVE>]
        }
        4 => {
            [I::pwxform::<W, 4, K, PLAIN>, I::pwxform::<W, 4, K, XOR>, I::pwxform::<W, 4, K, SAVE>]
        }
        _ => {
            [I::pwxform::<W, 8, K, PLAIN>, I::pwxform::<W, 8, K, XOR>, I::pwxform::<W, 8, K, SAVE>]
        }
    }
}

impl Constants {
    /// The default flavour as literals.
    const DEFAULT: Constants =
        Constants { rounds: 6, mask: 0x0ff0_0000_0ff0, box_lanes: 512, tail: 2 };

    #[inline(always)]
    fn of(flavor: &Flavor) -> Self {
        let mask = u64::from(flavor.offset_mask());
        Constants {
            rounds: flavor.rounds(),
            mask: mask << 32 | mask,
            box_lanes: flavor.sbox_bytes() as usize / 24,
            tail: flavor.salsa_tail(),
        }
    }
}

/// An instruction set, as the token that proves it: its registers, and the bodies compiled for it.
///
/// The functions have the type [`BlockFn`] and are unsafe for its two reasons: the processor must have the instructions, and the bodies'
/// own contracts, which [`Kernel`] keeps.
trait Isa: Copy {
    type Row: Row<Token: From<Self>>;
    /// S-box entries of 1, 2, 4 and 8 lanes.
    type Wide1: Wide<Token: From<Self>>;
    type Wide2: Wide<Token: From<Self>>;
    type Wide4: Wide<Token: From<Self>>;
    type Wide8: Wide<Token: From<Self>>;

    /// [`salsa20::blockmix`] with eight rounds.
    unsafe fn salsa20_8<const K: usize, const STEP: u8>(
        flavor: &Flavor,
        boxes: &mut Boxes<'_>,
        len: usize,
        io: [Io; K],
    );

    /// [`salsa20::blockmix`] with the flavour's rounds.
    unsafe fn salsa20<const K: usize, const STEP: u8>(
        flavor: &Flavor,
        boxes: &mut Boxes<'_>,
        len: usize,
        io: [Io; K],
    );

    /// [`pwxform::blockmix`] for the default flavour.
    unsafe fn default<const K: usize, const STEP: u8>(
        flavor: &Flavor,
        boxes: &mut Boxes<'_>,
        len: usize,
        io: [Io; K],
    );

    /// [`pwxform::blockmix`] for the flavours with this entry width and number of groups.
    unsafe fn pwxform<
        W: Wide<Token: From<Self>>,
        const GATHER: usize,
        const K: usize,
        const STEP: u8,
    >(
        flavor: &Flavor,
        boxes: &mut Boxes<'_>,
        len: usize,
        io: [Io; K],
    );
}

/// Stamps the shells of one instruction set: the bodies, compiled with its features, with its token.
macro_rules! isa {
    ($token:ty, $make:expr, [$row:ty, $w1:ty, $w2:ty, $w4:ty, $w8:ty] $(, $features:literal)?) => {
        impl Isa for $token {
            type Row = $row;
            type Wide1 = $w1;
            type Wide2 = $w2;
            type Wide4 = $w4;
            type Wide8 = $w8;

            $(#[target_feature(enable = $features)])?
            unsafe fn salsa20_8<const K: usize, const STEP: u8>(
                _: &Flavor, _: &mut Boxes<'_>, len: usize, io: [Io; K],
            ) {
                // SAFETY: promised by the caller.
                unsafe { salsa20::blockmix::<$row, K, STEP>($make.into(), 8, len, io) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn salsa20<const K: usize, const STEP: u8>(
                flavor: &Flavor, _: &mut Boxes<'_>, len: usize, io: [Io; K],
            ) {
                let rounds = flavor.salsa_mix();
                // SAFETY: promised by the caller.
                unsafe { salsa20::blockmix::<$row, K, STEP>($make.into(), rounds, len, io) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn default<const K: usize, const STEP: u8>(
                _: &Flavor, boxes: &mut Boxes<'_>, len: usize, io: [Io; K],
            ) {
                let constants = Constants::DEFAULT;
                // SAFETY: promised by the caller; these are the numbers of the default flavour.
                unsafe {
                    let tokens = ($make.into(), $make.into());
                    pwxform::blockmix::<$w2, $row, 4, K, STEP>(tokens, constants, boxes, len, io)
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn pwxform<
                W: Wide<Token: From<Self>>, const GATHER: usize, const K: usize, const STEP: u8,
            >(
                flavor: &Flavor, boxes: &mut Boxes<'_>, len: usize, io: [Io; K],
            ) {
                let constants = Constants::of(flavor);
                // SAFETY: promised by the caller; a flavour's numbers fit each other.
                unsafe {
                    let tokens = ($make.into(), $make.into());
                    pwxform::blockmix::<W, $row, GATHER, K, STEP>(tokens, constants, boxes, len, io)
                }
            }
        }
    };
}

/// No instruction set: the definition.
#[derive(Clone, Copy)]
struct Portable;

impl From<Portable> for () {
    fn from(_: Portable) {}
}

isa!(
    Portable,
    Portable,
    [PortableRow, PortableWide<1>, PortableWide<2>, PortableWide<4>, PortableWide<8>]
);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use saltern_simd::Split;
    pub(super) use saltern_simd::x86::{Avx2, Avx512, Sse2};
    use saltern_simd::x86::{RowAvx512, RowSse2, Wide128, Wide256, Wide512};

    use super::*;

    type Wide1 = PortableWide<1>;

    isa!(
        Sse2,
        Sse2::assume(),
        [RowSse2, Wide1, Wide128, Split<Wide128, 2>, Split<Wide128, 4>]
    );
    isa!(
        Avx2,
        Avx2::assume(),
        [RowSse2, Wide1, Wide128, Wide256, Split<Wide256, 2>],
        "avx2"
    );
    isa!(
        Avx512,
        Avx512::assume(),
        [RowAvx512, Wide1, Wide128, Wide256, Wide512],
        "avx2,avx512f,avx512vl,avx512bw,avx512dq"
    );
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use saltern_simd::Split;
    pub(super) use saltern_simd::aarch64::Neon;
    use saltern_simd::aarch64::{RowNeon, WideNeon};

    use super::*;

    isa!(
        Neon,
        Neon::assume(),
        [RowNeon, PortableWide<1>, WideNeon, Split<WideNeon, 2>, Split<WideNeon, 4>]
    );
}
