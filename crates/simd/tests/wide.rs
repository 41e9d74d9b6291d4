//! Every operation of [`Wide`] on every level of this machine equals the portable
//! one, on random lanes and on those with all bits set or clear.
#![allow(unsafe_code, reason = "loads and stores of lanes through pointers")]

use saltern_simd::{Level, PortableWide, Split, Wide};
use saltern_testing::Random;

/// Lanes to try in each operation; few for Miri.
const TRIALS: usize = if cfg!(miri) { 20 } else { 2000 };

/// Eight lanes, aligned as the widest register wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Lanes([u64; 8]);

/// A generator of lanes, every third of which is extreme in one half or both.
struct RandomLanes(Random);

impl RandomLanes {
    fn lane(&mut self) -> u64 {
        let z = self.0.next_u64();
        match z >> 59 {
            0..=2 => 0,
            3..=5 => u64::MAX,
            6..=8 => z | 0xffff_ffff,
            9..=10 => z & 0xffff_ffff_0000_0000,
            _ => z,
        }
    }

    fn lanes(&mut self) -> Lanes {
        Lanes(std::array::from_fn(|_| self.lane()))
    }
}

type Binary<T> = (&'static str, fn(T, T) -> T);

fn wide_operations<W: Wide>() -> [Binary<W>; 4] {
    [
        ("load and store", |a, _| a),
        ("xor", W::xor),
        ("add", W::add),
        ("multiply_halves", |a, _| a.multiply_halves()),
    ]
}

/// The result of an operation on the first lanes; the rest as they were, so that a store that is
/// too long shows.
fn apply<W: Wide>(token: W::Token, operation: fn(W, W) -> W, a: &Lanes, b: &Lanes) -> Lanes {
    let mut out = Lanes([0x5a5a_5a5a_5a5a_5a5a; 8]);
    // SAFETY: `Lanes` is eight lanes, aligned to 64 bytes.
    let value = unsafe { operation(W::load(token, a.0.as_ptr()), W::load(token, b.0.as_ptr())) };
    // SAFETY: as above.
    unsafe { value.store(out.0.as_mut_ptr()) };
    assert_eq!(value.first(), out.0[0]);
    out
}

fn check_wide<W: Wide, P: Wide<Token = ()>>(token: W::Token, name: &str) -> usize {
    assert_eq!(W::LANES, P::LANES, "{name}");
    let mut random = RandomLanes(Random::new(2));
    let mut compared = 0;
    for _ in 0..TRIALS {
        let (a, b) = (random.lanes(), random.lanes());
        for ((operation, ours), (_, portable)) in
            wide_operations::<W>().iter().zip(wide_operations())
        {
            let out = apply::<W>(token, *ours, &a, &b);
            let expected = apply::<P>((), portable, &a, &b);
            assert_eq!(out, expected, "{name} {operation} of {a:x?} and {b:x?}");
            compared += 1;
        }
    }
    compared
}

/// Values compared: those of a level's registers, if it has any of its own.
fn check(level: Level) -> usize {
    type P2 = PortableWide<2>;
    type P4 = PortableWide<4>;
    type P8 = PortableWide<8>;
    let name = level.name();
    match level {
        Level::Portable => {
            check_wide::<PortableWide<1>, PortableWide<1>>((), name)
                + check_wide::<Split<PortableWide<2>, 2>, P4>((), name)
                + check_wide::<Split<PortableWide<1>, 8>, P8>((), name)
        }
        #[cfg(target_arch = "x86_64")]
        Level::Sse2 => {
            use saltern_simd::x86::{Sse2, Wide128};
            let token = Sse2::detect().unwrap();
            check_wide::<Wide128, P2>(token, name)
                + check_wide::<Split<Wide128, 2>, P4>(token, name)
                + check_wide::<Split<Wide128, 4>, P8>(token, name)
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            use saltern_simd::x86::{Avx2, Wide256};
            let token = Avx2::detect().unwrap();
            check_wide::<Wide256, P4>(token, name)
                + check_wide::<Split<Wide256, 2>, P8>(token, name)
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            use saltern_simd::x86::{Avx512, Wide512};
            check_wide::<Wide512, P8>(Avx512::detect().unwrap(), name)
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => {
            use saltern_simd::aarch64::{Neon, WideNeon};
            let token = Neon::detect().unwrap();
            check_wide::<WideNeon, P2>(token, name)
                + check_wide::<Split<WideNeon, 2>, P4>(token, name)
                + check_wide::<Split<WideNeon, 4>, P8>(token, name)
        }
        _ => 0,
    }
}

#[test]
fn every_operation_of_every_level_equals_the_portable_one() {
    for level in Level::available() {
        let types = match level {
            Level::Portable | Level::Sse2 | Level::Neon => 3,
            // yescrypt has no kernel for SSE4.1.
            Level::Sse41 => 0,
            Level::Avx2 => 2,
            Level::Avx512 => 1,
        };
        assert_eq!(check(level), types * 4 * TRIALS, "{level}");
    }
}

/// The definitions themselves, on lanes whose results can be seen.
#[test]
fn the_portable_operations_are_what_their_documentation_says() {
    let (a, b) = (Lanes([u64::MAX; 8]), Lanes([3; 8]));
    let wide = |operation| apply::<PortableWide<1>>((), operation, &a, &b).0[0];
    assert_eq!(wide(Wide::add), 2);
    assert_eq!(wide(Wide::xor), !3);
    assert_eq!(wide(|a, _| a.multiply_halves()), 0xffff_fffe_0000_0001);
}
