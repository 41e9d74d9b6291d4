//! Batches: many at once equal one by one.

use std::collections::BTreeSet;

use proptest::prelude::{Strategy, prop};
use saltern_yescrypt::{
    Error, Params, Workspace,
    hazmat::{Derivation, Level, derive_many},
    params::{Flavor, Mode},
    rom::RomView,
};

use super::oracle::{Ask, any_ask, any_params, checked, derived, expected};
use super::{MODES, runner, workspaces};

/// The answers of one call of [`derive_many`].
pub(crate) fn together(params: &Params, asks: &[Ask], workspace: &mut Workspace) -> Vec<Vec<u8>> {
    together_with(params, None, asks, workspace)
}

pub(crate) fn together_with(
    params: &Params,
    rom: Option<&RomView<'_>>,
    asks: &[Ask],
    workspace: &mut Workspace,
) -> Vec<Vec<u8>> {
    let mut outs: Vec<_> = asks.iter().map(|ask| vec![0xee; ask.len]).collect();
    let mut jobs: Vec<_> = asks
        .iter()
        .zip(&mut outs)
        .map(|(ask, out)| Derivation { password: &ask.password, salt: &ask.salt, out })
        .collect();
    derive_many(&mut jobs, &checked(params), rom, workspace).unwrap();
    outs
}

/// The default shape, one where p makes instances of one hash and of several meet in a group, and
/// the modes without S-boxes.
fn shapes() -> Vec<Params> {
    let mut shapes = Vec::new();
    for mode in MODES {
        for p in [1, 2, 3, 5] {
            let mut params = Params::new(mode, 16, 2);
            params.p = p;
            shapes.push(params);
        }
    }
    let mut wide = Params::yescrypt(16, 5);
    wide.flavor = Flavor::new(3, 8, 8, 12288).unwrap();
    shapes.push(wide);
    shapes
}

#[test]
fn batches_of_every_size_equal_one_by_one() {
    let (mut compared, mut degrees) = (0, BTreeSet::new());
    for params in shapes() {
        let asks: Vec<_> = (0..9).map(Ask::number).collect();
        let answers: Vec<_> = asks.iter().map(|ask| expected(&params, None, ask)).collect();
        for mut workspace in workspaces() {
            for size in 0..=9 {
                workspace.set_threads(1 + size % 3);
                assert_eq!(together(&params, &asks[..size], &mut workspace), answers[..size]);
                compared += size;
            }
        }
        degrees.insert(checked(&params).degree());
    }
    assert_eq!(compared, 13 * 45 * Level::available().count());
    assert!(degrees.iter().all(|degree| *degree > 1), "several advance together: {degrees:?}");
}

/// Random batches: each output is that of its own input alone; then one input changes, and no other
/// output does.
#[test]
fn nothing_leaks_between_lanes() {
    const CASES: u32 = 60;
    let asks = prop::collection::vec(any_ask(), 2..=6);
    let strategy = (any_params(&MODES), asks, 0usize..6, any_ask());
    // Outputs of at least 8 bytes, which do not agree by chance.
    let strategy = strategy.prop_map(|(params, mut asks, at, mut other)| {
        asks.iter_mut().chain([&mut other]).for_each(|ask| ask.len += 8);
        (params, asks, at, other)
    });
    let changed = std::cell::Cell::new(0);
    let outcome = runner(CASES).run(&strategy, |(params, mut asks, at, mut other)| {
        let at = at % asks.len();
        other.len = asks[at].len;
        for mut workspace in workspaces() {
            let before = together(&params, &asks, &mut workspace);
            let alone =
                asks.iter().map(|ask| derived(&checked(&params), None, ask, &mut workspace));
            assert!(alone.eq(before.iter().cloned()), "{params:?}");
            let kept = std::mem::replace(&mut asks[at], other.clone());
            let after = together(&params, &asks, &mut workspace);
            for (i, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(before == after, i != at || kept == other, "{i} of {params:?}");
            }
            asks[at] = kept;
            changed.set(changed.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(changed.get(), CASES as usize * Level::available().count());
}

/// A refusal that concerns all is one for each, and leaves nothing behind that a later batch would
/// see.
#[test]
fn errors_of_a_whole_batch() {
    let mut workspace = Workspace::new();
    let mut params = Params::yescrypt(16, 2);
    params.nrom = 16;
    let mut out = [0; 32];
    let mut jobs = [Derivation { password: b"p", salt: b"s", out: &mut out }];
    let refused = derive_many(&mut jobs, &checked(&params), None, &mut workspace);
    assert_eq!(refused, Err(Error::RomUnavailable { nrom: 16 }));
    assert_eq!(derive_many(&mut [], &checked(&params), None, &mut workspace), Ok(()));
    let params = Params::new(Mode::Rw, 16, 2);
    let ask = Ask::number(4);
    let alone = std::slice::from_ref(&ask);
    assert_eq!(together(&params, alone, &mut workspace), [expected(&params, None, &ask)]);
}
