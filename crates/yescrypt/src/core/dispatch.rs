//! The choice of kernels: the instruction sets, each with three short wrappers that compile the
//! bodies for it. No algorithm.
#![allow(unsafe_code, reason = "`#[target_feature]` functions that call the kernels")]

use saltern_simd::lanes::Diagonal;
use saltern_simd::{Level, PortableWide};

use crate::core::blockmix::{BlockFn, Boxes, Kernel, Pointers, Shape, Step};
use crate::core::flavor::Flavor;
use crate::core::params::Mode;
use crate::core::pwxform::{self, Constants, Lane};
use crate::core::salsa20;

/// How many of `instances` should advance together: one of the lane counts that kernels exist for.
/// More lanes hide more latency, until they need more registers and L1 cache than there are.
pub(crate) fn lanes(mode: Mode, instances: usize) -> usize {
    // Without vector registers, two hashes take 531 instructions for each sub-block and one 434.
    let vectors = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let best = match (mode.pwxform(), vectors) {
        (true, true) => 2,
        (true, false) => 1,
        (false, _) => 4,
    };
    [4, 2].into_iter().find(|lanes| *lanes <= best.min(instances)).unwrap_or(1)
}

/// The target that kernels are chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Must be available.
    pub(crate) level: Level,
    /// Two groups of the default flavour in one register, where the level has registers of 256
    /// bits.
    pub(crate) paired: bool,
}

/// Calls a function with the instruction set of a level as its first type.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => $function::<x86::Avx512>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => $function::<x86::Avx2>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 | Level::Sse41 => $function::<x86::Sse2>($($argument),*),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => $function::<aarch64::Neon>($($argument),*),
            Level::Portable => $function::<Portable>($($argument),*),
            // Levels of other architectures, which no workspace here has.
            #[cfg(not(target_arch = "x86_64"))]
            Level::Sse2 | Level::Sse41 | Level::Avx2 | Level::Avx512 => {
                $function::<Portable>($($argument),*)
            }
            #[cfg(not(target_arch = "aarch64"))]
            Level::Neon => $function::<Portable>($($argument),*),
        }
    };
}

/// The kernel for a mode and flavour.
pub(crate) fn kernel(target: Target, mode: Mode, flavor: &Flavor, lanes: usize) -> Kernel {
    match mode.pwxform() {
        true => pwxform_kernel(target, flavor, lanes),
        false => salsa20_kernel(target.level, flavor, lanes),
    }
}

/// The pwxform block mix, with the boxes that the flavour has.
pub(crate) fn pwxform_kernel(target: Target, flavor: &Flavor, lanes: usize) -> Kernel {
    let block = match target.level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if target.paired && *flavor == Flavor::DEFAULT => {
            x86::paired_block(lanes)
        }
        level => at_level!(level, pwxform_block(flavor, lanes)),
    };
    let sbox_len = flavor.sbox_bytes() as usize / 64;
    Kernel { block, lanes, in_place: true, sbox_len, flavor: *flavor }
}

/// The Salsa20 block mix: classic scrypt, WORM and the fill of the S-boxes.
pub(crate) fn salsa20_kernel(level: Level, flavor: &Flavor, lanes: usize) -> Kernel {
    let block = at_level!(level, salsa20_block(lanes));
    Kernel { block, lanes, in_place: false, sbox_len: 0, flavor: *flavor }
}

fn salsa20_block<I: Isa>(lanes: usize) -> BlockFn {
    match lanes {
        1 => I::salsa20::<I::Diagonal, 1>,
        2 if I::Diagonals::STATES == 2 => I::salsa20::<I::Diagonals, 1>,
        2 => I::salsa20::<I::Diagonals, 2>,
        _ if I::Diagonals::STATES == 2 => I::salsa20::<I::Diagonals, 2>,
        _ => I::salsa20::<I::Diagonals, 4>,
    }
}

fn pwxform_block<I: Isa>(flavor: &Flavor, lanes: usize) -> BlockFn {
    match (*flavor, lanes) {
        (Flavor::DEFAULT, 1) => I::usual::<I::Diagonal, 1, false>,
        (Flavor::DEFAULT, _) => I::usual::<I::Diagonals, 2, false>,
        (Flavor::ESCRYPT, 1) => I::usual::<I::Diagonal, 1, true>,
        (Flavor::ESCRYPT, _) => I::usual::<I::Diagonals, 2, true>,
        (_, 1) => wide_block::<I, 1>(flavor),
        (_, _) => wide_block::<I, 2>(flavor),
    }
}

fn wide_block<I: Isa, const K: usize>(flavor: &Flavor) -> BlockFn {
    match flavor.simple() {
        1 => gather_block::<I, I::Wide1, K>(flavor),
        2 => gather_block::<I, I::Wide2, K>(flavor),
        4 => gather_block::<I, I::Wide4, K>(flavor),
        _ => gather_block::<I, I::Wide8, K>(flavor),
    }
}

fn gather_block<I: Isa, W: Lane<Token: From<I>>, const K: usize>(flavor: &Flavor) -> BlockFn {
    match flavor.gather() {
        1 => I::pwxform::<W, 1, K>,
        2 => I::pwxform::<W, 2, K>,
        4 => I::pwxform::<W, 4, K>,
        _ => I::pwxform::<W, 8, K>,
    }
}

impl Constants {
    /// Those of [`Flavor::DEFAULT`], known when the kernels are compiled.
    pub(crate) const DEFAULT: Constants = Constants { usual: true, ..Self::of(&Flavor::DEFAULT) };
    /// Those of [`Flavor::ESCRYPT`], likewise.
    pub(crate) const ESCRYPT: Constants = Constants { usual: true, ..Self::of(&Flavor::ESCRYPT) };

    #[inline(always)]
    const fn of(flavor: &Flavor) -> Self {
        let mask = flavor.offset_mask() as u64;
        Constants {
            rounds: flavor.rounds(),
            mask: mask << 32 | mask,
            box_lanes: flavor.box_bytes() as usize / 8,
            tail: flavor.salsa_tail(),
            stateless: flavor.stateless(),
            usual: false,
        }
    }
}

/// An instruction set, as the token that proves it: its registers, and the bodies compiled for it.
///
/// The functions have the type [`BlockFn`] and are unsafe for its two reasons: the processor must
/// have the instructions, and the bodies' own contracts, which [`Kernel`] keeps.
trait Isa: Copy {
    /// For Salsa20 on one hash.
    type Diagonal: Diagonal<Token: From<Self>>;
    /// For Salsa20 on several hashes: one at a time, or two.
    type Diagonals: Diagonal<Token: From<Self>>;
    /// S-box entries of 1, 2, 4 and 8 lanes.
    type Wide1: Lane<Token: From<Self>>;
    type Wide2: Lane<Token: From<Self>>;
    type Wide4: Lane<Token: From<Self>>;
    type Wide8: Lane<Token: From<Self>>;

    /// [`salsa20::blockmix`].
    unsafe fn salsa20<D: Diagonal<Token: From<Self>>, const K: usize>(
        f: &Flavor,
        b: &mut Boxes<'_>,
        s: Shape,
        io: &[Pointers],
    );

    /// [`pwxform::blockmix`] with its numbers as literals: those of the default flavour, or of the
    /// tuning of escrypt 0.5.
    unsafe fn usual<D: Diagonal<Token: From<Self>>, const K: usize, const ESCRYPT: bool>(
        f: &Flavor,
        b: &mut Boxes<'_>,
        s: Shape,
        io: &[Pointers],
    );

    /// [`pwxform::blockmix`] for the flavours with this entry width and number of groups.
    unsafe fn pwxform<W: Lane<Token: From<Self>>, const GATHER: usize, const K: usize>(
        f: &Flavor,
        b: &mut Boxes<'_>,
        s: Shape,
        io: &[Pointers],
    );
}

/// Generates the wrappers of one instruction set: the bodies, compiled with its features, with its
/// token.
macro_rules! isa {
    (
        $token:ty, $make:expr,
        [$diagonal:ty, $diagonals:ty; $w1:ty, $w2:ty, $w4:ty, $w8:ty] $(, $features:literal)?
    ) => {
        impl Isa for $token {
            type Diagonal = $diagonal;
            type Diagonals = $diagonals;
            type Wide1 = $w1;
            type Wide2 = $w2;
            type Wide4 = $w4;
            type Wide8 = $w8;

            $(#[target_feature(enable = $features)])?
            unsafe fn salsa20<D: Diagonal<Token: From<Self>>, const K: usize>(
                flavor: &Flavor, _: &mut Boxes<'_>, shape: Shape, io: &[Pointers],
            ) {
                // SAFETY: promised by the caller.
                unsafe { salsa20_literal::<D, K>($make.into(), flavor, shape, io) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn usual<D: Diagonal<Token: From<Self>>, const K: usize, const ESCRYPT: bool>(
                _: &Flavor, boxes: &mut Boxes<'_>, shape: Shape, io: &[Pointers],
            ) {
                let constants = if ESCRYPT { Constants::ESCRYPT } else { Constants::DEFAULT };
                // SAFETY: promised by the caller.
                unsafe {
                    let (tokens, io) = (($make.into(), $make.into()), pointers::<K>(io));
                    literal::<$w2, D, 4, K>(tokens, constants, boxes, shape, io)
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn pwxform<W: Lane<Token: From<Self>>, const GATHER: usize, const K: usize>(
                flavor: &Flavor, boxes: &mut Boxes<'_>, shape: Shape, io: &[Pointers],
            ) {
                let (constants, io) = (Constants::of(flavor), pointers(io));
                // SAFETY: promised by the caller; a flavour's numbers fit each other.
                unsafe {
                    let tokens = ($make.into(), $make.into());
                    pwxform::blockmix::<W, $diagonal, GATHER, K>(tokens, constants, boxes, shape, io)
                }
            }
        }
    };
}

/// [`salsa20::blockmix`] with the step and the usual eight rounds as literals: the compiler makes a
/// version for each.
///
/// # Safety
/// That of [`salsa20::blockmix`].
#[inline(always)]
unsafe fn salsa20_literal<D: Diagonal, const K: usize>(
    token: D::Token,
    flavor: &Flavor,
    shape: Shape,
    io: &[Pointers],
) {
    let len = shape.len;
    let run = |rounds, step| {
        // SAFETY: promised by the caller.
        unsafe { salsa20::blockmix::<D, K>(token, rounds, Shape { len, step }, io) }
    };
    match (flavor.salsa_mix(), shape.step) {
        (8, Step::Plain) => run(8, Step::Plain),
        (8, Step::Xor) => run(8, Step::Xor),
        (8, Step::Save) => run(8, Step::Save),
        (rounds, step) => run(rounds, step),
    }
}

/// [`pwxform::blockmix`] with the step as a literal, and with the numbers of a usual tuning, which
/// the caller gives as such: four groups of two lanes, or two of a pair of them.
///
/// # Safety
/// That of [`pwxform::blockmix`].
#[inline(always)]
unsafe fn literal<W: Lane, D: Diagonal, const GATHER: usize, const K: usize>(
    tokens: (W::Token, D::Token),
    constants: Constants,
    boxes: &mut Boxes<'_>,
    shape: Shape,
    io: [Pointers; K],
) {
    let len = shape.len;
    let mut run = |step| {
        // SAFETY: promised by the caller.
        unsafe {
            let shape = Shape { len, step };
            pwxform::blockmix::<W, D, GATHER, K>(tokens, constants, boxes, shape, io)
        }
    };
    match shape.step {
        Step::Plain => run(Step::Plain),
        Step::Xor => run(Step::Xor),
        Step::Save => run(Step::Save),
    }
}

/// The pointers of `K` lanes.
#[inline(always)]
fn pointers<const K: usize>(io: &[Pointers]) -> [Pointers; K] {
    let mut pointers = [io[0]; K];
    pointers.copy_from_slice(&io[..K]);
    pointers
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
    [[u32; 4], [u32; 4]; PortableWide<1>, PortableWide<2>, PortableWide<4>, PortableWide<8>]
);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use saltern_simd::Split;
    use saltern_simd::x86::avx2::U32x8;
    use saltern_simd::x86::sse41::U32x4;
    pub(super) use saltern_simd::x86::{Avx2, Avx512, Sse2};
    use saltern_simd::x86::{Wide128, Wide256, Wide512};

    use super::*;
    use crate::core::pwxform::paired::Paired;

    type Wide1 = PortableWide<1>;

    pub(super) fn paired_block(lanes: usize) -> BlockFn {
        if lanes == 1 { paired::<1> } else { paired::<2> }
    }

    /// [`pwxform::blockmix`] for the default flavour in pairs of groups.
    #[target_feature(enable = "avx2")]
    unsafe fn paired<const K: usize>(
        _: &Flavor,
        boxes: &mut Boxes<'_>,
        shape: Shape,
        io: &[Pointers],
    ) {
        let tokens = (Avx2::here(), Avx2::here());
        // SAFETY: promised by the caller.
        unsafe {
            let constants = Constants::DEFAULT;
            literal::<Paired, U32x4<Avx2>, 2, K>(tokens, constants, boxes, shape, pointers(io))
        }
    }

    isa!(
        Sse2,
        Sse2::here(),
        [U32x4<Sse2>, U32x4<Sse2>; Wide1, Wide128, Split<Wide128, 2>, Split<Wide128, 4>]
    );
    isa!(
        Avx2,
        Avx2::here(),
        [U32x4<Avx2>, U32x8<Avx2>; Wide1, Wide128, Wide256, Split<Wide256, 2>],
        "avx2"
    );
    isa!(
        Avx512,
        Avx512::here(),
        [U32x4<Avx512>, U32x8<Avx512>; Wide1, Wide128, Wide256, Wide512],
        "avx2,avx512f,avx512vl,avx512bw,avx512dq"
    );
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use saltern_simd::Split;
    pub(super) use saltern_simd::aarch64::Neon;
    use saltern_simd::aarch64::WideNeon;
    use saltern_simd::aarch64::neon::U32x4;

    use super::*;

    isa!(
        Neon,
        Neon::here(),
        [U32x4, U32x4; PortableWide<1>, WideNeon, Split<WideNeon, 2>, Split<WideNeon, 4>]
    );
}
