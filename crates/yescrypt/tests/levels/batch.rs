//! Batches: many at once equal one by one, whatever they are mixed of.

use std::collections::BTreeSet;

use proptest::prelude::{Strategy, prop};
use saltern_yescrypt::{
    Error, Hasher, Params, Verification, Workspace,
    hazmat::{Derivation, Level, derive_many},
    keys::HashKey,
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

/// What a batch is mixed of: shapes that repeat, a hash twice, wrong passwords, and everything that
/// is refused.
fn stored(hasher: &Hasher) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut workspace = Workspace::new();
    let mut hash = |setting: &[u8], password: &[u8]| {
        let hash = hasher.hash_with_setting(&mut workspace, password, setting).unwrap();
        (password.to_vec(), hash.into_bytes())
    };
    let good = [
        hash(b"$y$j1.$abcdefgh", b"one"),
        hash(b"$7$2/..../....salt", b"two"),
        hash(b"$y$j1.$ijklmnop", b"three"),
        hash(b"$y$j3/.0$abcd", b""),
        hash(b"$y$.1.$abcd", b"four"),
        hash(b"$y$/1.$abcd", b"five"),
        hash(b"$y$j1.$", b"six"),
    ];
    let mut wrong = good[2].clone();
    wrong.0 = b"THREE".to_vec();
    let mut flipped = good[0].clone();
    let last = flipped.1.len() - 3;
    flipped.1[last] = if flipped.1[last] == b'.' { b'/' } else { b'.' };
    let refused: [(&[u8], &[u8]); 6] = [
        (b"x", b"not a hash"),
        (b"x", b"$y$j1.$abcdefgh$short"),
        (b"x", b"$y$jT.$abcdefgh$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6"),
        (b"x", b"$y$j1.7.$abcdefgh$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6"),
        (&[b'x'; 5000], b"$y$j1.$abcdefgh$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6"),
        (b"", b""),
    ];
    let mut all = good.to_vec();
    all.extend([wrong, flipped, good[0].clone(), good[0].clone()]);
    // Refusals in the middle, not at the end.
    for (i, (password, hash)) in refused.into_iter().enumerate() {
        all.insert(2 * i, (password.to_vec(), hash.to_vec()));
    }
    all
}

fn verification((password, hash): &(Vec<u8>, Vec<u8>)) -> Verification<'_> {
    Verification { password, hash }
}

#[test]
fn verify_many_answers_each_item_as_verify_does() {
    let hasher = Hasher::new();
    let items = stored(&hasher);
    let one_by_one: Vec<_> = items
        .iter()
        .map(|(password, hash)| hasher.verify(&mut Workspace::new(), password, hash))
        .collect();
    let count =
        |wanted: fn(&Result<bool, Error>) -> bool| one_by_one.iter().filter(|r| wanted(r)).count();
    assert_eq!(
        [count(|r| *r == Ok(true)), count(|r| *r == Ok(false)), count(Result::is_err)],
        [9, 2, 6]
    );
    let mut compared = 0;
    for mut workspace in workspaces() {
        for size in 0..=items.len() {
            // Another selection and order for each size.
            let order = (0..size).map(|i| (i * 5 + size) % items.len());
            let picked: Vec<_> = order.clone().map(|i| verification(&items[i])).collect();
            let answers: Vec<_> = order.map(|i| one_by_one[i]).collect();
            assert_eq!(hasher.verify_many(&mut workspace, &picked), answers, "{size}");
            compared += size;
        }
    }
    assert_eq!(compared, 17 * 18 / 2 * Level::available().count());
}

#[test]
fn hash_many_makes_hashes_that_verify() {
    for key in [None, Some(HashKey::new([9; 32]))] {
        let mut hasher = Hasher::new().with_params(Params::yescrypt(16, 2));
        if let Some(key) = key {
            hasher = hasher.assuming_unnamed_key(key);
        }
        let long = [b'x'; 5000];
        for mut workspace in workspaces() {
            for size in 0..=9 {
                let passwords = [&b"a"[..], b"b", &long, b"", b"a", b"c", b"d", &long, b"e"];
                let hashes = hasher.hash_many(&mut workspace, &passwords[..size]);
                assert_eq!(hashes.len(), size);
                let mut distinct = BTreeSet::new();
                for (password, hash) in passwords.iter().zip(&hashes) {
                    let Ok(hash) = hash else {
                        // What crypt(3) takes, and so the default.
                        let limit = 511;
                        let refusal = Error::OverLimit {
                            what: saltern_yescrypt::Limit::Password,
                            value: 5000,
                            limit,
                        };
                        assert_eq!((hash, password.len()), (&Err(refusal), 5000));
                        continue;
                    };
                    assert_ne!(password.len(), 5000);
                    assert_eq!(hasher.verify(&mut workspace, password, hash.as_bytes()), Ok(true));
                    assert!(distinct.insert(hash.clone()), "salts are fresh");
                }
            }
        }
    }
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
