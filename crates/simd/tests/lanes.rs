//! Every operation of every vector type against its scalar meaning, on random words.

use saltern_simd::lanes::{Diagonal, Lanes, Row, Vector, Word};
use saltern_testing::Random;

/// How often each operation is tried; Miri takes seconds for one round.
const ROUNDS: usize = if cfg!(miri) { 1 } else { 100 };

fn words<W: Word>(random: &mut Random, count: usize) -> Vec<W> {
    (0..count).map(|_| W::truncate(random.next_u64().into())).collect()
}

fn blocks<W: Word>(random: &mut Random, count: usize) -> Vec<W::Block> {
    let mut blocks = vec![W::ZERO_BLOCK; count];
    for byte in blocks.iter_mut().flat_map(|block| block.as_mut()) {
        *byte = random.next_u64() as u8;
    }
    blocks
}

/// The word type's own operations, as the definition.
trait Scalar: Vector<Word = Self, Token = ()> + Word {}
impl Scalar for u32 {}
impl Scalar for u64 {}

/// All distances: those that kernels use have code of their own.
fn distances<W: Word>() -> std::ops::Range<u32> {
    1..8 * W::BYTES as u32
}

fn check_lanes<L: Lanes>(token: L::Token) -> usize
where
    L::Word: Scalar,
{
    let mut random = Random::new(0x1234_5678_9ABC_DEF1);
    let mut checks = 0;
    let words_of = |lanes: L| {
        let mut words = vec![L::Word::default(); L::COUNT];
        lanes.store(&mut words);
        words
    };
    for _ in 0..ROUNDS {
        let (a, b) =
            (words::<L::Word>(&mut random, L::COUNT), words::<L::Word>(&mut random, L::COUNT));
        let (x, y) = (L::load(token, &a), L::load(token, &b));
        let each = |f: &dyn Fn(L::Word, L::Word) -> L::Word| -> Vec<L::Word> {
            a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect()
        };
        assert_eq!(words_of(x.add(y)), each(&|a, b| a.add(b)));
        assert_eq!(words_of(x.xor(y)), each(&|a, b| a.xor(b)));
        for n in distances::<L::Word>() {
            assert_eq!(words_of(x.rotate_right(n)), each(&|a, _| Vector::rotate_right(a, n)));
            let expected = each(&|a, b| Vector::rotate_right(a.xor(b), n));
            assert_eq!(words_of(x.xor_rotate(y, n)), expected);
        }
        assert_eq!(words_of(L::splat(token, a[0])), vec![a[0]; L::COUNT]);
        assert_eq!(x.first(), a[0]);
        let sum = x.add(y);
        let four = L::schedule_barrier([x, y, sum, x]);
        assert_eq!(four.map(words_of), [x, y, sum, x].map(words_of));
        let blocks = blocks::<L::Word>(&mut random, L::COUNT);
        let message = L::message(token, &blocks.iter().collect::<Vec<_>>());
        for (i, lanes) in message.into_iter().enumerate() {
            let expected: Vec<_> = blocks.iter().map(|block| L::Word::of_block(block, i)).collect();
            assert_eq!(words_of(lanes), expected);
        }
        let rows = [(); 8].map(|()| words::<L::Word>(&mut random, L::COUNT));
        let mut lanes_seen = vec![0; L::COUNT];
        L::columns(std::array::from_fn(|j| L::load(token, &rows[j])), |lane, words| {
            assert_eq!(words, std::array::from_fn(|j| rows[j][lane]));
            lanes_seen[lane] += 1;
        });
        assert_eq!(lanes_seen, vec![1; L::COUNT]);
        checks += 1;
    }
    checks
}

fn check_row<R: Row>(token: R::Token) -> usize
where
    R::Word: Scalar,
{
    let mut random = Random::new(0xFEDC_BA98_7654_3210);
    let mut checks = 0;
    for round in 0..ROUNDS {
        let four = |random: &mut Random| -> [R::Word; 4] { words(random, 4).try_into().unwrap() };
        let (a, b) = (four(&mut random), four(&mut random));
        let (x, y) = (R::from_words(token, a), R::from_words(token, b));
        let each = |f: &dyn Fn(R::Word, R::Word) -> R::Word| -> [R::Word; 4] {
            std::array::from_fn(|i| f(a[i], b[i]))
        };
        assert_eq!(x.add(y).to_words(), each(&|a, b| a.add(b)));
        assert_eq!(x.xor(y).to_words(), each(&|a, b| a.xor(b)));
        for n in distances::<R::Word>() {
            assert_eq!(x.rotate_right(n).to_words(), each(&|a, _| Vector::rotate_right(a, n)));
            let expected = each(&|a, b| Vector::rotate_right(a.xor(b), n));
            assert_eq!(x.xor_rotate(y, n).to_words(), expected);
        }
        for by in 1..4 {
            let expected: [R::Word; 4] = std::array::from_fn(|i| a[(i + by) % 4]);
            assert_eq!(x.rotate_words(by).to_words(), expected);
        }
        // The first blocks of as many states as any row holds; all orders come up, repetitions
        // included.
        let blocks = blocks::<R::Word>(&mut random, 16);
        let message = R::message(token, &blocks.iter().collect::<Vec<_>>());
        let order: [usize; 16] =
            std::array::from_fn(|i| if round == 0 { i } else { random.next_u64() as usize % 16 });
        for (j, row) in R::schedule(token, &message, &order).into_iter().enumerate() {
            let expected: [R::Word; 4] =
                std::array::from_fn(|i| R::Word::of_block(&blocks[0], order[4 * j + i]));
            assert_eq!(row.to_words(), expected);
        }
        checks += 1;
    }
    checks
}

/// The operations that diagonals have beyond those of lanes.
fn check_diagonal<D: Diagonal>(token: D::Token) -> usize {
    let mut random = Random::new(0x0123_4567_89AB_CDEF);
    let pairs = |[a, b, c, d]: [u32; 4]| {
        [[a, b], [c, d]].map(|[low, high]| u64::from(low) | u64::from(high) << 32)
    };
    for _ in 0..ROUNDS {
        let states: Vec<[u32; 4]> =
            (0..D::STATES).map(|_| words(&mut random, 4).try_into().unwrap()).collect();
        let diagonal = D::gather(token, |state| pairs(states[state]));
        for (by, turned) in
            [diagonal].into_iter().chain((1..4).map(|by| diagonal.rotate_words(by))).enumerate()
        {
            let mut seen = vec![0; D::STATES];
            turned.scatter(|state, words| {
                let expected = std::array::from_fn(|i| states[state][(i + by) % 4]);
                assert_eq!(words, pairs(expected));
                seen[state] += 1;
            });
            assert_eq!(seen, vec![1; D::STATES]);
        }
    }
    ROUNDS
}

#[test]
fn portable() {
    assert_eq!(check_diagonal::<[u32; 4]>(()), ROUNDS);
    assert_eq!(check_lanes::<u32>(()) + check_lanes::<u64>(()), 2 * ROUNDS);
    assert_eq!(check_row::<[u32; 4]>(()) + check_row::<[u64; 4]>(()), 2 * ROUNDS);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use saltern_simd::x86::avx2::{U32x8, U64x4};
    use saltern_simd::x86::avx512::{U32x16, U64x8};
    use saltern_simd::x86::sse41::{U32x4, U64x2, U64x2x2};
    use saltern_simd::x86::{Avx2, Avx512, Sse2, Sse41};

    #[test]
    fn sse2() {
        let token = Sse2::detect().unwrap();
        assert_eq!(
            check_lanes::<U64x2<Sse2>>(token) + check_lanes::<U32x4<Sse2>>(token),
            2 * ROUNDS
        );
        assert_eq!(check_diagonal::<U32x4<Sse2>>(token), ROUNDS);
    }

    #[test]
    fn sse41() {
        let Some(token) = Sse41::detect() else { return eprintln!("skipped: no SSE4.1 here") };
        assert_eq!(
            check_lanes::<U64x2<Sse41>>(token) + check_lanes::<U32x4<Sse41>>(token),
            2 * ROUNDS
        );
        assert_eq!(check_row::<U64x2x2>(token) + check_row::<U32x4<Sse41>>(token), 2 * ROUNDS);
        assert_eq!(check_row::<[U64x2<Sse41>; 4]>(token), ROUNDS);
    }

    #[test]
    fn avx2() {
        let Some(token) = Avx2::detect() else { return eprintln!("skipped: no AVX2 here") };
        assert_eq!(
            check_lanes::<U64x4<Avx2>>(token) + check_lanes::<U32x8<Avx2>>(token),
            2 * ROUNDS
        );
        assert_eq!(
            check_row::<U64x4<Avx2>>(token) + check_row::<[U32x8<Avx2>; 4]>(token),
            2 * ROUNDS
        );
        assert_eq!(check_row::<U32x4<Avx2>>(token) + check_lanes::<U64x2<Avx2>>(token), 2 * ROUNDS);
        let diagonals = check_diagonal::<U32x4<Avx2>>(token) + check_diagonal::<U32x8<Avx2>>(token);
        assert_eq!(diagonals, 2 * ROUNDS);
    }

    #[test]
    fn avx512() {
        let Some(token) = Avx512::detect() else { return eprintln!("skipped: no AVX-512 here") };
        assert_eq!(
            check_lanes::<U64x8<Avx512>>(token) + check_lanes::<U32x16<Avx512>>(token),
            2 * ROUNDS
        );
        assert_eq!(
            check_lanes::<U64x4<Avx512>>(token) + check_lanes::<U32x8<Avx512>>(token),
            2 * ROUNDS
        );
        assert_eq!(
            check_row::<U64x4<Avx512>>(token) + check_row::<U32x4<Avx512>>(token),
            2 * ROUNDS
        );
        let one = check_diagonal::<U32x4<Avx512>>(token);
        assert_eq!(one + check_diagonal::<U32x8<Avx512>>(token), 2 * ROUNDS);
    }

    #[test]
    fn zen4() {
        use saltern_simd::x86::Zen4;
        let Some(token) = Zen4::detect() else { return eprintln!("skipped: not a Zen 4") };
        assert_eq!(
            check_lanes::<U64x4<Zen4>>(token) + check_lanes::<U32x4<Zen4>>(token),
            2 * ROUNDS
        );
        assert_eq!(check_row::<U64x4<Zen4>>(token) + check_row::<U32x4<Zen4>>(token), 2 * ROUNDS);
    }
}

#[cfg(target_arch = "aarch64")]
#[test]
fn neon() {
    use saltern_simd::aarch64::Neon;
    use saltern_simd::aarch64::neon::{U32x4, U64x2, U64x2x2};
    let token = Neon::detect().unwrap();
    assert_eq!(check_lanes::<U64x2>(token) + check_lanes::<U32x4>(token), 2 * ROUNDS);
    assert_eq!(check_row::<U64x2x2>(token) + check_row::<U32x4>(token), 2 * ROUNDS);
    assert_eq!(check_diagonal::<U32x4>(token), ROUNDS);
}
