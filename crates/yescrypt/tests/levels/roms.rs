//! Lists of ROMs: in memory, or supplied block by block where a hash stops.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::strategy::Union;
use saltern_reference::yescrypt::{self as reference, RomPlan};
use saltern_yescrypt::{
    Error, Params, Workspace,
    hazmat::{Advance, Resumable},
    params::{CheckedParams, Mode},
    rom::{
        MAX_LOOK_AHEAD, Rom, RomImage, RomMasks, RomReading, RomStore, RomUse, RomView,
        derive_with_roms,
    },
};

use crate::oracle::{Ask, any_ask, any_params, checked, derived};
use crate::theirs::theirs;
use crate::{runner, workspaces};

/// One ROM of a list, its contents made from a number: only a tag makes it a ROM.
#[derive(Clone, Debug)]
struct Plan {
    log2_nrom: u32,
    fill: u32,
    mix: u32,
    look_ahead: u32,
    /// Whether the resumable hash has to be given its blocks.
    elsewhere: bool,
    contents: u64,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let mask = || {
        let named = prop::sample::select(vec![0, 1, 3, 7, 15, 5, 2, 14, u32::MAX]);
        Union::new_weighted(vec![(4, named.boxed()), (1, any::<u32>().boxed())])
    };
    let ahead = Union::new([Just(0).boxed(), (0..=MAX_LOOK_AHEAD).boxed()]);
    (1u32..=6, mask(), mask(), ahead, any::<bool>(), any::<u64>()).prop_map(
        |(log2_nrom, fill, mix, look_ahead, elsewhere, contents)| Plan {
            log2_nrom,
            fill,
            mix,
            look_ahead,
            elsewhere,
            contents,
        },
    )
}

/// Standing for a file.
struct Elsewhere(Arc<RomImage>);

impl RomStore for Elsewhere {
    fn size(&self) -> u64 {
        self.0.as_bytes().len() as u64
    }

    fn tail(&self, len: usize) -> Option<&[u8]> {
        let image = self.0.as_bytes();
        image.get(image.len().checked_sub(len)?..)
    }
}

impl Plan {
    fn image(&self, r: u32) -> Arc<RomImage> {
        let mut image = RomImage::zeroed((128 * r as usize) << self.log2_nrom).unwrap();
        let mut state = self.contents;
        for word in image.as_bytes_mut().as_chunks_mut::<8>().0 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1442695040888963407);
            *word = (state ^ state >> 33).to_le_bytes();
        }
        let tag = image.as_bytes().len() - 48;
        image.as_bytes_mut()[tag..tag + 16].copy_from_slice(b"yescrypt-ROMhash");
        Arc::new(image)
    }

    fn reading(&self) -> RomReading {
        let masks = RomMasks { fill: self.fill, mix: self.mix };
        RomReading { nrom: 1 << self.log2_nrom, masks, look_ahead: self.look_ahead }
    }

    fn rom_use<'a>(&self, image: &'a RomImage) -> RomUse<RomView<'a>> {
        RomUse { rom: RomView::new(image).unwrap(), reading: self.reading() }
    }

    fn held(&self, image: &Arc<RomImage>) -> RomUse {
        let rom = match self.elsewhere {
            true => Rom::stored(Arc::new(Elsewhere(image.clone()))).unwrap(),
            false => Rom::new(image.clone()).unwrap(),
        };
        RomUse { rom, reading: self.reading() }
    }

    fn reference<'a>(&self, image: &'a RomImage) -> RomPlan<'a> {
        RomPlan {
            image: image.as_bytes(),
            fill_mask: self.fill,
            mix_mask: self.mix,
            look_ahead: self.look_ahead,
        }
    }
}

/// Runs what was begun to its end; returns how often it needed something.
fn finish(hash: &mut Resumable, roms: &[(Plan, Arc<RomImage>)], r: u32) -> usize {
    let mut announced = vec![VecDeque::new(); roms.len()];
    let mut stops = 0;
    let mut progress = hash.advance(&[]).unwrap();
    loop {
        progress = match progress {
            Advance::Announces(read) => {
                announced[read.rom].push_back(read);
                hash.advance(&[]).unwrap()
            }
            Advance::Needs(read) => {
                assert_eq!(announced[read.rom].pop_front(), Some(read));
                assert_eq!(hash.advance(&[]), Ok(Advance::Needs(read)), "asked again");
                stops += 1;
                let size = 128 * r as usize;
                let image = roms[read.rom].1.as_bytes();
                let blocks = read.blocks().iter().map(|j| &image[size * *j as usize..][..size]);
                hash.advance(&blocks.collect::<Vec<_>>()).unwrap()
            }
            Advance::Done => break,
        }
    }
    assert!(announced.iter().all(VecDeque::is_empty), "all that was announced was needed");
    stops
}

/// The outputs of resumable hashes, and how often they had to be supplied.
fn resumed(
    params: &CheckedParams,
    roms: &[(Plan, Arc<RomImage>)],
    asks: &[&Ask],
    workspace: &mut Workspace,
) -> (Vec<Vec<u8>>, usize) {
    let r = params.params().r;
    let sources: Vec<_> = roms.iter().map(|(plan, image)| plan.held(image)).collect();
    let inputs: Vec<_> = asks.iter().map(|ask| (&ask.password[..], &ask.salt[..])).collect();
    let mut hash = Resumable::new(std::mem::take(workspace));
    hash.begin(&inputs, params, &sources, asks[0].len).unwrap();
    assert_eq!(hash.output(0), None);
    let stops = finish(&mut hash, roms, r);
    let out = (0..asks.len()).map(|i| hash.output(i).unwrap().to_vec()).collect();
    *workspace = hash.into_workspace();
    (out, stops)
}

#[test]
fn lists_of_roms_equal_the_reference_in_memory_and_elsewhere() {
    const CASES: u32 = 200;
    let (compared, stops, seen) = (Cell::new(0), Cell::new(0), RefCell::new(BTreeSet::new()));
    let plans = prop::collection::vec(any_plan(), 0..=4);
    let asks = prop::collection::vec(any_ask(), 1..=4);
    let outcome = runner(CASES).run(&(any_params(&[Mode::Rw]), plans, asks), |case| {
        let (params, plans, asks) = case;
        let with_image = |plan: Plan| {
            let image = plan.image(params.r);
            (plan, image)
        };
        let roms: Vec<_> = plans.into_iter().map(with_image).collect();
        let len = asks[0].len;
        let list: Vec<_> = roms.iter().map(|(plan, image)| plan.reference(image)).collect();
        let expected = |ask: &Ask| {
            let params = theirs(&params);
            reference::kdf_with_roms(&ask.password, &ask.salt, &params, &list, len as u64).unwrap()
        };
        let answers: Vec<_> = asks.iter().map(expected).collect();
        let list: Vec<_> = roms.iter().map(|(plan, image)| plan.rom_use(image)).collect();
        for mut workspace in workspaces() {
            let level = workspace.level();
            let mut out = vec![0xee; len];
            let (ask, params) = (&asks[0], &checked(&params));
            derive_with_roms(&ask.password, &ask.salt, params, &list, &mut workspace, &mut out)
                .unwrap();
            assert_eq!(out, answers[0], "in memory, {level} {params:?} {roms:?}");
            let all: Vec<_> = asks.iter().collect();
            let (outs, count) = resumed(params, &roms, &all, &mut workspace);
            assert_eq!(outs, answers, "resumed, {level} {params:?} {roms:?}");
            compared.set(compared.get() + 1);
            stops.set(stops.get() + count);
        }
        let elsewhere = roms.iter().filter(|(plan, _)| plan.elsewhere).count();
        let ahead = roms.iter().any(|(plan, _)| plan.elsewhere && plan.look_ahead > 0);
        seen.borrow_mut().insert((elsewhere.min(2), ahead, asks.len()));
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(compared.get(), CASES as usize * workspaces().len());
    assert!(stops.get() > 10 * compared.get(), "{} stops", stops.get());
    assert_eq!(seen.borrow().len(), 5 * 4, "{seen:?}: none elsewhere, one, several; ahead or not");
}

/// One ROM as yescrypt 1.1 reads it, with the pass before the main one too.
#[test]
fn a_resumed_hash_with_one_rom_is_that_of_derive() {
    for (n, r, p) in [(256, 512, 1), (16, 8, 3), (64, 1, 1), (1024, 257, 2)] {
        let plan =
            Plan { log2_nrom: 5, fill: 1, mix: 1, look_ahead: 0, elsewhere: true, contents: n };
        let roms = [(plan.clone(), plan.image(r))];
        let mut params = Params::yescrypt(n, r);
        params.p = p;
        let asks = [1, 2, 3].map(|i| Ask { len: 40, ..Ask::number(i) });
        let mut with_rom = params;
        with_rom.nrom = 32;
        let with_rom = checked(&with_rom);
        let mut workspace = Workspace::new();
        let answers =
            asks.each_ref().map(|ask| derived(&with_rom, Some(&roms[0].1), ask, &mut workspace));
        let (outs, stops) = resumed(&checked(&params), &roms, &asks.each_ref(), &mut workspace);
        assert_eq!(outs, answers, "N {n}, r {r}, p {p}");
        assert!(stops as u64 > n / 3);
    }
}

#[test]
fn modes_without_roms_run_to_the_end() {
    for mode in [Mode::Classic, Mode::Worm] {
        let params = checked(&Params::new(mode, 32, 3));
        let ask = Ask { len: 32, ..Ask::number(4) };
        let mut workspace = Workspace::new();
        let answer = derived(&params, None, &ask, &mut workspace);
        assert_eq!(resumed(&params, &[], &[&ask, &ask], &mut workspace), (vec![answer; 2], 0));
    }
}

#[test]
fn what_cannot_be_supplied_or_begun_is_refused_and_harms_nothing() {
    let plan = Plan { log2_nrom: 4, fill: 1, mix: 3, look_ahead: 2, elsewhere: true, contents: 9 };
    let (image, ask) = (plan.image(2), Ask { len: 32, ..Ask::number(5) });
    let params = checked(&Params::yescrypt(8, 2));
    let mut hash = Resumable::new(Workspace::new());
    assert_eq!(hash.advance(&[]), Ok(Advance::Done), "nothing begun");
    let input = (&ask.password[..], &ask.salt[..]);
    let rom = plan.held(&image);
    let roms = std::slice::from_ref(&rom);
    let wrong_r = checked(&Params::yescrypt(8, 64));
    let refused = hash.begin(&[input], &wrong_r, roms, 32);
    assert_eq!(refused, Err(Error::RomTooSmall { needed: 8192, actual: 4096 }));
    for (change, name) in [((15, 0), "NROM"), ((16, MAX_LOOK_AHEAD + 1), "look-ahead")] {
        let reading = RomReading { nrom: change.0, look_ahead: change.1, ..rom.reading };
        let rom = RomUse { reading, ..rom.clone() };
        let refused = hash.begin(&[input], &params, &[rom], 32);
        assert!(matches!(refused, Err(Error::InvalidParameter { name: n, .. }) if n == name));
    }
    assert!(hash.begin(&[], &params, roms, 32).is_err());
    assert!(hash.begin(&[input; 5], &params, roms, 32).is_err());
    assert!(hash.begin(&[input], &params, &vec![rom.clone(); 5], 32).is_err());
    let worm = checked(&Params::new(Mode::Worm, 8, 2));
    assert_eq!(hash.begin(&[input], &worm, roms, 32), Err(Error::RomNotUsed));
    let mut named = Params::yescrypt(8, 2);
    named.nrom = 16;
    assert!(hash.begin(&[input], &checked(&named), roms, 32).is_err());

    hash.begin(&[input], &params, roms, 32).unwrap();
    let mut needs = hash.advance(&[]).unwrap();
    while matches!(needs, Advance::Announces(_)) {
        let refused = hash.advance(&[&image.as_bytes()[..256]]);
        assert_eq!(refused, Err(Error::BufferLength { needed: 0, actual: 1 }));
        needs = hash.advance(&[]).unwrap();
    }
    assert!(matches!(needs, Advance::Needs(_)));
    let bytes = image.as_bytes();
    let short = Err(Error::BufferLength { needed: 256, actual: 192 });
    assert_eq!(hash.advance(&[&bytes[..192]]), short);
    assert_eq!(hash.advance(&[&bytes[8..264]]), Err(Error::RomAlignment));
    assert!(hash.advance(&[&bytes[..256], &bytes[..256]]).is_err());
    while needs != Advance::Done {
        let Advance::Needs(read) = needs else {
            needs = hash.advance(&[]).unwrap();
            continue;
        };
        needs = hash.advance(&[&bytes[256 * read.blocks()[0] as usize..][..256]]).unwrap();
    }
    let list = [plan.rom_use(&image)];
    let mut out = vec![0; 32];
    let workspace = &mut Workspace::new();
    derive_with_roms(&ask.password, &ask.salt, &params, &list, workspace, &mut out).unwrap();
    assert_eq!(hash.output(0), Some(&out[..]));
    assert_eq!(hash.output(1), None);
    hash.wipe();
    assert_eq!(hash.output(0), None);
    assert_eq!(hash.advance(&[]), Ok(Advance::Done));
}
