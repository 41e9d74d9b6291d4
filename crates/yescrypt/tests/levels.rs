//! Every kernel on every level of this machine, through the public API, against the slow reference:
//! parameters of all kinds, ROMs, threads, batches, and workspaces that go from one shape to
//! another. Each test counts what it ran.

#[path = "levels/batch.rs"]
mod batch;
#[path = "levels/oracle.rs"]
mod oracle;
#[path = "levels/roms.rs"]
mod roms;
#[path = "levels/theirs.rs"]
mod theirs;

use std::cell::Cell;
use std::collections::BTreeSet;

use batch::together;
use oracle::{Ask, all_flavors, any_ask, any_params, checked, derived, expected};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    Params, Workspace,
    hazmat::Level,
    params::{Flavor, Mode},
    rom::{RomImage, RomParams, RomView},
};
use theirs::theirs;

const MODES: [Mode; 3] = [Mode::Classic, Mode::Worm, Mode::Rw];

/// A workspace for each level of this machine.
fn workspaces() -> Vec<Workspace> {
    Level::available().map(|level| Workspace::with_level(level).unwrap()).collect()
}

/// The same cases on every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn every_level_of_the_architecture_is_exercised() {
    let levels: Vec<Level> = Level::available().collect();
    assert_eq!(levels[0], Level::Portable);
    let baseline = if cfg!(target_arch = "x86_64") { Level::Sse2 } else { Level::Neon };
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(levels.contains(&baseline), "{levels:?}");
    }
    assert_eq!(levels.last(), Some(&Level::detect()));
}

/// Three hashes at a time, so that kernels for one lane and for several run; small N and changing
/// r, p and t.
#[test]
fn every_flavor_on_every_level_equals_the_reference() {
    let flavors = all_flavors();
    let mut workspaces = workspaces();
    let mut compared = 0;
    for (i, flavor) in flavors.iter().enumerate() {
        let salsa = if i % 3 == 0 { (1 + i as u32 % 8, 1 + i as u32 / 8 % 8) } else { (8, 2) };
        let flavor = flavor.with_salsa(salsa.0, salsa.1).unwrap();
        let mut params = Params::yescrypt([4, 8, 16][i % 3], flavor.min_r() + i as u32 / 4 % 3);
        (params.flavor, params.p, params.t) = (flavor, 1 + i as u32 % 2, i as u32 % 4);
        let asks = [i, i + 1, i + 2].map(Ask::number);
        let answers = asks.each_ref().map(|ask| expected(&params, None, ask));
        for workspace in &mut workspaces {
            let outs = together(&params, &asks, workspace);
            assert_eq!(outs, answers, "{} {params:?}", workspace.level());
            compared += outs.len();
        }
    }
    assert_eq!((flavors.len(), compared), (512, 512 * 3 * workspaces.len()));
}

#[test]
fn random_parameters_on_every_level_equal_the_reference() {
    const CASES: u32 = 300;
    let compared = Cell::new(0);
    let seen = std::cell::RefCell::new(BTreeSet::new());
    let strategy = (any_params(&MODES), any_ask(), 1usize..=4);
    let outcome = runner(CASES).run(&strategy, |(params, ask, threads)| {
        let answer = expected(&params, None, &ask);
        for mut workspace in workspaces() {
            workspace.set_threads(threads);
            let out = derived(&checked(&params), None, &ask, &mut workspace);
            assert_eq!(out, answer, "{} {params:?}", workspace.level());
            compared.set(compared.get() + 1);
        }
        let mode = MODES.iter().position(|mode| *mode == params.mode);
        seen.borrow_mut().insert((mode, params.p > 1, threads > 1));
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(compared.get(), CASES as usize * Level::available().count());
    assert_eq!(seen.borrow().len(), 3 * 2 * 2, "modes, with p > 1 and not, with threads and not");
}

/// The kernel that has to be asked for: default flavour, one hash and three, with and without a ROM
/// being read.
#[test]
fn pairs_of_groups_equal_the_reference() {
    let mut compared = 0;
    for level in Level::available() {
        let mut workspace = Workspace::with_level(level).unwrap();
        let wide = matches!(level, Level::Avx2 | Level::Avx512);
        assert_eq!(saltern_yescrypt::hazmat::pair_groups(&mut workspace), wide, "{level}");
        for (i, t) in (0..24).zip([0, 1, 2].into_iter().cycle()) {
            let mut params = Params::yescrypt(4 << (i % 4), 1 + i % 5);
            (params.p, params.t) = (1 + i % 2, t);
            let asks = [i as usize, 7, 8].map(Ask::number);
            let outs = together(&params, &asks, &mut workspace);
            let answers = asks.each_ref().map(|ask| expected(&params, None, ask));
            assert_eq!(outs, answers, "{level} {params:?}");
            compared += 3;
        }
    }
    assert_eq!(compared, 72 * Level::available().count());
}

/// p that divides N, p that does not, and the most there may be, where slices have two blocks.
#[test]
fn threads_change_nothing() {
    let mut compared = 0;
    for mode in MODES {
        for p in [1, 2, 3, 5, 8, 13, 16] {
            let mut params = Params::new(mode, 32, 3);
            (params.p, params.t) = (p, u32::from(mode != Mode::Classic));
            let ask = Ask::number(p as usize);
            let answer = expected(&params, None, &ask);
            for mut workspace in workspaces() {
                for threads in 1..=4 {
                    workspace.set_threads(threads);
                    let out = derived(&checked(&params), None, &ask, &mut workspace);
                    assert_eq!(out, answer, "{mode:?} p {p}, {threads} threads");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 3 * 7 * 4 * Level::available().count());
}

/// The smallest costs at which a pass over a 64th of the memory comes first, and the largest at
/// which it does not.
#[test]
fn the_pass_before_the_main_one_runs_in_batches_too() {
    for (n, r, p) in [(256, 512, 1), (256, 511, 1), (1024, 257, 2)] {
        let mut params = Params::yescrypt(n, r);
        params.p = p;
        let asks = [1, 2, 3].map(Ask::number);
        let answers = asks.each_ref().map(|ask| expected(&params, None, ask));
        for level in [Level::Portable, Level::detect()] {
            let mut workspace = Workspace::with_level(level).unwrap();
            assert_eq!(batch::together(&params, &asks, &mut workspace), answers, "{level}");
        }
    }
}

#[test]
fn roms_on_every_level_equal_the_reference() {
    let mut images = 0;
    for (i, (nrom, r, p, t)) in
        [(16, 1, 1, 0), (64, 4, 1, 0), (64, 3, 5, 1), (32, 2, 4, 2), (8, 8, 2, 3)]
            .iter()
            .enumerate()
    {
        let mut params = RomParams::new(*nrom, *r, *p);
        params.t = *t;
        if i % 2 == 1 {
            params.flavor = Flavor::new(3, 2, 4, 24576).unwrap();
        }
        let mut whole = Params::yescrypt(2, *r);
        (whole.flavor, whole.p, whole.t, whole.nrom) = (params.flavor, *p, *t, *nrom);
        let answer = reference::rom_init(b"seed", &theirs(&whole)).unwrap();
        for mut workspace in workspaces() {
            for threads in [1, 3] {
                workspace.set_threads(threads);
                let image = RomImage::init(&params, b"seed", &mut workspace).unwrap();
                assert!(image.as_bytes() == answer.image(), "{params:?} {}", workspace.level());
                images += 1;
            }
        }
    }
    assert_eq!(images, 5 * 2 * Level::available().count());
}

/// One image as several ROMs: with smaller blocks and more of them, and one nested at its start.
#[test]
fn hashes_with_roms_on_every_level_equal_the_reference() {
    let mut plain = Workspace::new();
    let inner = RomImage::init(&RomParams::new(32, 8, 1), b"inner", &mut plain).unwrap();
    let outer = RomImage::init(&RomParams::new(128, 8, 2), b"outer", &mut plain).unwrap();
    let mut nested = RomImage::zeroed(outer.as_bytes().len()).unwrap();
    nested.as_bytes_mut().copy_from_slice(outer.as_bytes());
    nested.as_bytes_mut()[..inner.as_bytes().len()].copy_from_slice(inner.as_bytes());
    let mut compared = 0;
    for (r, nrom) in [(8, 128), (4, 256), (1, 1024), (16, 64), (8, 32), (2, 128), (32, 8)] {
        for (i, (n, p, t)) in
            [(4, 1, 0), (16, 1, 1), (16, 3, 2), (32, 4, 0)].into_iter().enumerate()
        {
            let mut params = Params::yescrypt(n, r);
            (params.p, params.t, params.nrom) = (p, t, nrom);
            let asks = [i, i + 1, i + 2].map(Ask::number);
            let answers =
                asks.each_ref().map(|ask| expected(&params, Some(nested.as_bytes()), ask));
            for mut workspace in workspaces() {
                workspace.set_threads(1 + compared % 3);
                let rom = RomView::new(&nested).unwrap();
                let outs = batch::together_with(&params, Some(&rom), &asks, &mut workspace);
                assert_eq!(outs, answers, "{params:?} {}", workspace.level());
                assert_eq!(
                    derived(&checked(&params), Some(&nested), &asks[1], &mut workspace),
                    answers[1]
                );
                compared += outs.len() + 1;
            }
        }
    }
    assert_eq!(compared, 7 * 4 * 4 * Level::available().count());
}

/// Small after large, large after small, one mode after another: nothing that an earlier hash left
/// shows.
#[test]
fn a_workspace_serves_one_shape_after_another() {
    let flavors = [
        Flavor::DEFAULT,
        Flavor::new(6, 8, 8, 98304).unwrap(),
        Flavor::new(2, 1, 1, 6144).unwrap(),
    ];
    let mut shapes = Vec::new();
    for (i, (log2_n, r, p)) in
        [(7, 8, 1), (2, 4, 1), (5, 5, 3), (1, 4, 1), (6, 9, 8), (3, 4, 2), (8, 4, 1)]
            .into_iter()
            .enumerate()
    {
        for (k, mode) in MODES.into_iter().enumerate() {
            let mut params = Params::new(mode, 1 << log2_n, r);
            (params.p, params.flavor) = (p.min(1 << (log2_n - 1)), flavors[(i + k) % 3]);
            shapes.push(params);
        }
    }
    let ask = Ask::number(3);
    let answers: Vec<_> = shapes.iter().map(|params| expected(params, None, &ask)).collect();
    let mut computed = 0;
    for mut workspace in workspaces() {
        // Steps that have no factor in common with the number of shapes meet each pair of
        // neighbours in many orders.
        for step in [1, 2, 5, 8, 11, 20] {
            for i in 0..shapes.len() {
                let i = i * step % shapes.len();
                let out = derived(&checked(&shapes[i]), None, &ask, &mut workspace);
                assert_eq!(out, answers[i], "{:?}", shapes[i]);
                computed += 1;
            }
        }
    }
    assert_eq!(computed, 21 * 6 * Level::available().count());
}
