//! Booked against counted: nothing is left out, and nothing is booked many times over.

use proptest::prelude::*;

use super::counter::{Done, counted};
use super::*;
use crate::core::fill::RomParams;
use crate::core::kdf::derive_with_roms;
use crate::core::params::Flags;
use crate::core::reading::RomReading;
use crate::core::rom::{RomImage, RomView};
use crate::core::workspace::Workspace;

/// What the parts weigh that were counted, the ROM being in memory.
fn weighed(done: &Done, flavor: &Flavor) -> u128 {
    let mixed = |(blocks, bytes): (u128, u128), byte: u128| bytes * byte / ONE + blocks * BLOCK;
    mixed(done.pwxform, pwxform(flavor))
        // Blocks of S-boxes are among them, and are not far away.
        + done.salsa20.1 * salsa20(flavor) / ONE
        + done.reads * BLOCK
        + done.ends.0.max(done.ends.1) * END_BYTE
}

fn parameters() -> impl Strategy<Value = Params> {
    let mode = prop_oneof![Just(Mode::Rw), Just(Mode::Rw), Just(Mode::Worm), Just(Mode::Classic)];
    let flavor = (0..4usize, 0..4u32, 0..4u32, 0..4u32).prop_map(|(rounds, gather, simple, k)| {
        Flavor::new([1, 2, 3, 6][rounds], 1 << gather, 1 << simple, 6144 << k).unwrap()
    });
    (mode, flavor, 1..10u32, 4..20u32, 1..6u32, 0..4u32).prop_map(
        |(mode, flavor, log2_n, r, p, t)| {
            let mut params = Params::new(mode, 1 << log2_n, r);
            params.t = if mode == Mode::Classic { 0 } else { t };
            params.p = p.min(1 << (log2_n - 1));
            params.flavor = if mode == Mode::Rw { flavor } else { Flavor::DEFAULT };
            params
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_is_booked_bounds_what_is_done(params in parameters(), lists in lists()) {
        let lists = if params.mode == Mode::Rw { lists } else { Vec::new() };
        let image = RomParams::new(32, params.r, 1);
        let image = RomImage::init(&image, b"seed", &mut Workspace::new()).unwrap();
        let done = hashed(&params, &lists, RomView::new(&image).unwrap());
        let booked = params.work_with(&in_memory(&lists));
        let weighed = weighed(&done, &params.flavor);
        prop_assert!(booked >= weighed, "{params:?}: {booked} for {done:?}");
        let bytes = done.pwxform.1 + if params.mode == Mode::Rw { 0 } else { done.salsa20.1 };
        // Loops are made even, and a pass may come before.
        prop_assert!(params.mixed() <= bytes && bytes <= params.mixed() * 2);
        if lists.len() < 2 {
            prop_assert!(booked <= 2 * weighed + 3 * ENDS, "{params:?}: {booked} for {done:?}");
            let reads = lists.iter().map(|masks| params.reads(*masks)).sum::<u128>();
            prop_assert_eq!(done.reads, reads, "{:?} {:?}", params, lists);
        }
    }

    #[test]
    fn so_it_does_for_the_older_generation(
        bits in 0..8u32, log2_n in 2..9u32, r in 1..12u32, p in 1..5u32, t in 0..3u32,
        mask in proptest::option::of(mask()),
    ) {
        let flags = Flags::from_bits(bits).unwrap();
        let mut params = Params::new(Mode::Escrypt(flags), 1 << log2_n, r);
        (params.p, params.t) = (p.min(1 << (log2_n - 1)), t);
        let image = RomImage::zeroed(32 * 128 * r as usize).unwrap();
        let masks = mask.filter(|_| flags.rw).map(RomMasks::escrypt);
        let untagged = RomView::untagged(image.as_bytes()).unwrap();
        let done = hashed(&params, masks.as_slice(), untagged);
        let booked = params.work_with(&in_memory(masks.as_slice()));
        let weighed = weighed(&done, &Flavor::ESCRYPT);
        prop_assert!(booked >= weighed, "{params:?}: {booked} for {done:?}");
        prop_assert!(booked <= 3 * weighed + 3 * ENDS, "{params:?}: {booked} for {done:?}");
        prop_assert_eq!(done.reads, masks.map_or(0, |masks| params.reads(masks)));
        // What strings of this generation are admitted by: the densest mask.
        prop_assert!(params.work() >= weighed);
    }
}

/// Any mask; those that are of use, and those with bits above all steps, more often than by chance.
fn mask() -> impl Strategy<Value = u32> {
    let ones = |shift: u32| 1_u32.checked_shl(shift).unwrap_or(0).wrapping_sub(1);
    let high = |shift: u32| u32::MAX << shift | 1;
    prop_oneof![any::<u32>(), 0..64_u32, (0..=32_u32).prop_map(ones), (0..32_u32).prop_map(high)]
}

fn lists() -> impl Strategy<Value = Vec<RomMasks>> {
    let masks = || (mask(), mask()).prop_map(|(fill, mix)| RomMasks { fill, mix });
    prop_oneof![
        Just(Vec::new()),
        Just(vec![RomMasks::YESCRYPT]),
        proptest::collection::vec(masks(), 1),
        proptest::collection::vec(masks(), 2..=4),
    ]
}

fn in_memory(lists: &[RomMasks]) -> Vec<(RomMasks, Medium)> {
    lists.iter().map(|masks| (*masks, Medium::Memory)).collect()
}

/// What one hash does that reads a ROM of 32 blocks with each of these masks.
fn hashed(params: &Params, lists: &[RomMasks], rom: RomView<'_>) -> Done {
    let used = |masks: &RomMasks| {
        let reading = RomReading { masks: *masks, ..RomReading::new(32) };
        RomUse { rom, reading }
    };
    let roms: Vec<_> = lists.iter().map(used).collect();
    let (checked, out) = (params.checked().unwrap(), &mut [0; 32]);
    let mut workspace = Workspace::new();
    counted(|| derive_with_roms(b"p", b"s", &checked, &roms, &mut workspace, out).unwrap())
}

/// The costliest flavour that was measured, for its bytes, and reads of small blocks from a file.
#[test]
fn what_was_underrated_is_not_any_more() {
    let mut narrow = Params::yescrypt(4096, 32);
    let usual = narrow.work();
    narrow.flavor = Flavor::new(6, 1, 1, 786_432).unwrap();
    assert!(narrow.work() > 25 * usual, "measured: 25 times");
    let small = Params { t: 8, ..Params::yescrypt(65_536, 1) };
    let file = |masks| small.work_with(&[(masks, Medium::File)]);
    let every = file(RomMasks::YESCRYPT);
    assert!(every / 2_000_000_000 > 30, "measured: 36 seconds");
    // Rare reads are counted as such, and none as none.
    assert!(file(RomMasks { fill: 0, mix: 15 }) < every / 8);
    let never = (RomMasks { fill: 0, mix: 0 }, Medium::Memory);
    assert!(small.work_with(&[never; 4]) <= small.work_with(&[]) + 4 * BLOCK);
}

/// Masks whose bits are above all steps of a loop read as often as the mask without them. They were
/// booked as one read.
#[test]
fn bits_above_the_steps_of_a_loop_make_no_read_cheaper() {
    let params = Params { t: 3, ..Params::yescrypt(1 << 17, 1) };
    for medium in [Medium::Memory, Medium::Checked { bytes: 64 << 10 }, Medium::File] {
        let booked = |mask| params.work_with(&[(RomMasks { fill: mask, mix: mask }, medium)]);
        assert_eq!(booked(0xffe0_0001), booked(1));
        assert!(booked(0x0000_0003) < booked(1));
    }
}

/// A string with tiny blocks and a ROM of large chunks: each read has a whole chunk hashed. It was
/// booked at no more than a read.
#[test]
fn checks_of_what_was_read_are_booked() {
    let tiny = Params { t: 500_000, ..Params::yescrypt(4, 1) };
    let with = |medium| tiny.work_with(&[(RomMasks::YESCRYPT, medium)]);
    let reads = 1_000_000;
    assert!(with(Medium::Memory) < 2 << 30);
    assert!(with(Medium::Checked { bytes: 64 << 10 }) > reads * (64 << 10));
    // Of blocks that are chunks, the check costs about as much as all the rest.
    for r in [8, 32] {
        let usual = Params::yescrypt(131_072 / u64::from(r), r);
        let work = |medium| usual.work_with(&[(RomMasks::YESCRYPT, medium)]);
        let checked = work(Medium::Checked { bytes: 128 * r as usize });
        assert!(checked < 2 * work(Medium::Memory) && checked > 3 * work(Medium::Memory) / 2);
    }
}
