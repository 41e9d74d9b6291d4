//! Every operation of [`Diagonal`] and [`Wide`] on every level of this machine equals the portable
//! one, on random lanes and on those with all bits set or clear.
#![allow(unsafe_code, reason = "loads and stores of lanes through pointers")]

use saltern_simd::lanes::{Diagonal, Quad, Vector};
use saltern_simd::{Level, PortableWide, Split, Wide};
use saltern_testing::Random;

/// Lanes to try in each operation.
const TRIALS: usize = 2000;

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

fn diagonal_operations<D: Diagonal>() -> [Binary<D>; 12] {
    [
        ("add", D::add),
        ("xor", D::xor),
        ("words 1", |a, _| a.rotate_words(1)),
        ("words 2", |a, _| a.rotate_words(2)),
        ("words 3", |a, _| a.rotate_words(3)),
        ("rotate 1", |a, _| a.rotate_right(32 - 1)),
        ("rotate 7", |a, _| a.rotate_right(32 - 7)),
        ("rotate 9", |a, _| a.rotate_right(32 - 9)),
        ("rotate 13", |a, _| a.rotate_right(32 - 13)),
        ("rotate 16", |a, _| a.rotate_right(32 - 16)),
        ("rotate 18", |a, _| a.rotate_right(32 - 18)),
        ("rotate 31", |a, _| a.rotate_right(32 - 31)),
    ]
}

/// How many results were compared.
fn check_diagonal<D: Diagonal>(token: D::Token, name: &str) -> usize {
    let mut random = RandomLanes(Random::new(1));
    let mut compared = 0;
    for _ in 0..TRIALS {
        let mut pairs = || [(); 2].map(|()| [random.lane(), random.lane()]);
        // Of two states.
        let (a, b) = (pairs(), pairs());
        for ((operation, ours), (_, portable)) in
            diagonal_operations::<D>().iter().zip(diagonal_operations())
        {
            let (mut out, mut expected) = ([[0; 2]; 2], [[0; 2]; 2]);
            let load = |pairs: [[u64; 2]; 2]| D::gather(token, |state| pairs[state]);
            ours(load(a), load(b)).scatter(|state, words| out[state] = words);
            for state in 0..D::STATES {
                let [a, b] = [a, b].map(|pairs| <[u32; 4]>::gather((), |_| pairs[state]));
                portable(a, b).scatter(|_, words| expected[state] = words);
            }
            assert_eq!(out, expected, "{name} {operation} of {a:x?} and {b:x?}");
            compared += 1;
        }
        let mut out = [[0; 2]; 2];
        D::gather(token, |state| a[state]).scatter(|state, words| out[state] = words);
        assert_eq!(out[..D::STATES], a[..D::STATES], "{name} load and store");
    }
    compared
}

/// The same for two vectors of a level.
fn check_both<A: Diagonal, B: Diagonal<Token = A::Token>>(token: A::Token, name: &str) -> usize {
    check_diagonal::<A>(token, name) + check_diagonal::<B>(token, name)
}

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

/// The registers of a level, if there are any of its own: diagonals and wide values compared.
fn check(level: Level) -> [usize; 2] {
    type P2 = PortableWide<2>;
    type P4 = PortableWide<4>;
    type P8 = PortableWide<8>;
    let name = level.name();
    match level {
        Level::Portable => [
            check_diagonal::<[u32; 4]>((), name),
            check_wide::<PortableWide<1>, PortableWide<1>>((), name)
                + check_wide::<Split<PortableWide<2>, 2>, P4>((), name)
                + check_wide::<Split<PortableWide<1>, 8>, P8>((), name),
        ],
        #[cfg(target_arch = "x86_64")]
        Level::Sse2 => {
            use saltern_simd::x86::sse41::U32x4;
            use saltern_simd::x86::{Sse2, Wide128};
            let token = Sse2::detect().unwrap();
            let wide = check_wide::<Wide128, P2>(token, name)
                + check_wide::<Split<Wide128, 2>, P4>(token, name)
                + check_wide::<Split<Wide128, 4>, P8>(token, name);
            [check_diagonal::<U32x4<Sse2>>(token, name), wide]
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            use saltern_simd::x86::avx2::U32x8;
            use saltern_simd::x86::sse41::U32x4;
            use saltern_simd::x86::{Avx2, Wide256};
            let token = Avx2::detect().unwrap();
            let wide = check_wide::<Wide256, P4>(token, name)
                + check_wide::<Split<Wide256, 2>, P8>(token, name);
            [check_both::<U32x4<Avx2>, U32x8<Avx2>>(token, name), wide]
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            use saltern_simd::x86::avx2::U32x8;
            use saltern_simd::x86::sse41::U32x4;
            use saltern_simd::x86::{Avx512, Wide512};
            let token = Avx512::detect().unwrap();
            [
                check_both::<U32x4<Avx512>, U32x8<Avx512>>(token, name),
                check_wide::<Wide512, P8>(token, name),
            ]
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => {
            use saltern_simd::aarch64::neon::U32x4;
            use saltern_simd::aarch64::{Neon, WideNeon};
            let token = Neon::detect().unwrap();
            let wide = check_wide::<WideNeon, P2>(token, name)
                + check_wide::<Split<WideNeon, 2>, P4>(token, name)
                + check_wide::<Split<WideNeon, 4>, P8>(token, name);
            [check_diagonal::<U32x4>(token, name), wide]
        }
        _ => [0, 0],
    }
}

#[test]
fn every_operation_of_every_level_equals_the_portable_one() {
    let (diagonal, wide) = (12 * TRIALS, 4 * TRIALS);
    for level in Level::available() {
        let expected = match level {
            Level::Portable | Level::Sse2 | Level::Neon => [diagonal, 3 * wide],
            // yescrypt has no kernel for SSE4.1.
            Level::Sse41 => [0, 0],
            Level::Avx2 => [2 * diagonal, 2 * wide],
            Level::Avx512 => [2 * diagonal, wide],
        };
        assert_eq!(check(level), expected, "{level}");
    }
}

/// The definitions themselves, on lanes whose results can be seen.
#[test]
fn the_portable_operations_are_what_their_documentation_says() {
    let row = <[u32; 4]>::gather((), |_| [0x8000_0002_8000_0001, 0x8000_0004_8000_0003]);
    let words = |row: [u32; 4]| {
        let mut lanes = [0; 2];
        row.scatter(|_, words| lanes = words);
        lanes.map(|lane| [lane as u32, (lane >> 32) as u32]).concat()
    };
    assert_eq!(words(row), [0x8000_0001, 0x8000_0002, 0x8000_0003, 0x8000_0004]);
    assert_eq!(words(row.add(row)), [2, 4, 6, 8]);
    assert_eq!(words(row.xor(row)), [0; 4]);
    assert_eq!(words(row.rotate_right(32 - 1)), [3, 5, 7, 9]);
    assert_eq!(words(row.rotate_words(1))[..2], [0x8000_0002, 0x8000_0003]);
    assert_eq!(words(row.rotate_words(2))[..2], [0x8000_0003, 0x8000_0004]);
    assert_eq!(words(row.rotate_words(3))[..2], [0x8000_0004, 0x8000_0001]);
    let (a, b) = (Lanes([u64::MAX; 8]), Lanes([3; 8]));
    let wide = |operation| apply::<PortableWide<1>>((), operation, &a, &b).0[0];
    assert_eq!(wide(Wide::add), 2);
    assert_eq!(wide(Wide::xor), !3);
    assert_eq!(wide(|a, _| a.multiply_halves()), 0xffff_fffe_0000_0001);
}
