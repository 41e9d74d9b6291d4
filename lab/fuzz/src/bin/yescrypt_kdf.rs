//! The KDF with any small parameters, tuning and ROM, on any level: one at a time or several
//! together, against the portable level, and one call in eight against the reference, which is far
//! slower.
#![no_main]

#[path = "../../../../crates/yescrypt/tests/levels/theirs.rs"]
mod theirs;

use std::cell::RefCell;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    Limits, Params, Workspace, derive,
    hazmat::{Derivation, Level, derive_many},
    params::{CheckedParams, Flavor, Mode},
    rom::{RomImage, RomParams, RomView, init_rom},
};
use theirs::theirs;

/// A call, in numbers that are scaled to something small by [`Call::params`].
#[derive(Arbitrary, Debug)]
struct Call<'a> {
    mode: u8,
    /// Two bits each: rounds, gather, simple, S-box size.
    flavor: u16,
    salsa: Option<(u8, u8)>,
    log2_n: u8,
    r: u8,
    p: u8,
    t: u8,
    log2_nrom: u8,
    length: u8,
    level: u8,
    /// How many together, which of them is looked at, and what it is compared with.
    partner: u8,
    password: &'a [u8],
    salt: &'a [u8],
}

impl Call<'_> {
    fn params(&self) -> Params {
        let mode = [Mode::Classic, Mode::Worm, Mode::Rw, Mode::Rw][usize::from(self.mode % 4)];
        // Mostly the smallest that there are, for thousands of calls a second.
        let [n, r, p, t]: [u8; 4] = if self.is_large() { [5, 6, 4, 5] } else { [3, 2, 2, 2] };
        let mut params =
            Params::new(mode, 1 << (1 + self.log2_n % n), 1 + u32::from(self.r) % u32::from(r));
        params.p = 1 + u32::from(self.p) % u32::from(p);
        params.t = u32::from(self.t % t);
        if mode == Mode::Rw {
            params.flavor = self.flavor();
        }
        if self.log2_nrom % 8 == 7 {
            params.nrom = 1 << (2 + self.log2_nrom / 8 % 3);
        }
        params
    }

    fn is_large(&self) -> bool {
        self.length >= 252
    }

    /// The password and the salt of one of several calls.
    fn input(&self, which: usize) -> (&[u8], &[u8]) {
        match which {
            0 => (self.password, self.salt),
            1 => (self.salt, self.password),
            2 => (b"", self.salt),
            _ => (self.password, b"salt"),
        }
    }

    fn flavor(&self) -> Flavor {
        let bits = |at: u32| usize::from(self.flavor >> at & 3);
        let rounds = [1, 2, 3, 6][bits(0)];
        // The largest S-boxes would take all the time there is.
        let sbox_bytes = if self.is_large() { [6144, 6144, 12288, 24576][bits(6)] } else { 6144 };
        let flavor = Flavor::new(rounds, 1 << bits(2), 1 << bits(4), sbox_bytes)
            .expect("every combination is valid");
        match self.salsa {
            None => flavor,
            Some((mix, tail)) => flavor
                .with_salsa(1 + u32::from(mix % 8), 1 + u32::from(tail % 8))
                .expect("1 to 8 rounds are valid"),
        }
    }
}

thread_local! {
    static WORKSPACES: RefCell<Vec<Workspace>> = RefCell::new(
        Level::available().map(|level| Workspace::with_level(level).expect("available")).collect(),
    );
}

/// The ROM of a call on one level, or the reason why there is none.
fn make_rom(params: &Params, seed: &[u8], ws: &mut Workspace) -> Option<(RomImage, [u8; 32])> {
    let mut rom = RomParams::new(params.nrom, params.r, params.p);
    rom.flavor = params.flavor;
    rom.t = params.t;
    let mut image = RomImage::zeroed(rom.size() as usize).expect("a small image");
    let digest = init_rom(&rom, seed, image.as_bytes_mut(), ws).ok()?;
    Some((image, digest))
}

/// What one call computes, alone or with others of other lengths beside it.
fn compute(
    call: &Call,
    params: &CheckedParams,
    rom: Option<&RomView>,
    ws: &mut Workspace,
) -> Vec<u8> {
    let length = usize::from(call.length % 100);
    let (count, which) = (usize::from(call.partner & 3), usize::from(call.partner >> 2 & 3));
    let (password, salt) = call.input(which);
    let mut out = vec![0; length];
    if which > count {
        derive(password, salt, params, rom, ws, &mut out).expect("checked parameters");
        return out;
    }
    let mut together: [_; 4] = std::array::from_fn(|i| vec![0; 20 * i]);
    together[which] = out;
    let jobs = together[..=count].iter_mut().enumerate();
    let mut jobs: Vec<_> = jobs
        .map(|(i, out)| {
            let (password, salt) = call.input(i);
            Derivation { password, salt, out }
        })
        .collect();
    derive_many(&mut jobs, params, rom, ws).expect("checked parameters");
    std::mem::take(&mut together[which])
}

/// Whether the reference computes the same, or refuses as well.
fn check_reference(call: &Call, params: &Params, ws: &mut Workspace) {
    let theirs = theirs(params);
    let their_rom = match params.nrom {
        0 => None,
        _ => match reference::rom_init(call.salt, &theirs) {
            Ok(rom) => Some(rom),
            // Then ours has to refuse as well, if the parameters are those of a ROM at all.
            Err(_) if params.mode != Mode::Rw => None,
            Err(_) => return assert!(make_rom(params, call.salt, ws).is_none()),
        },
    };
    let (password, salt) = call.input(usize::from(call.partner >> 2 & 3));
    let length = u64::from(call.length % 100);
    let expected = reference::kdf(password, salt, &theirs, their_rom.as_ref(), length);
    let checked = params.check(&Limits::unlimited());
    let Ok(expected) = expected else {
        assert!(checked.is_err(), "{params:?}: not refused");
        return;
    };
    let checked = checked.expect("what the reference computes is valid");
    let made = their_rom.as_ref().map(|theirs| {
        let (image, digest) = make_rom(params, call.salt, ws).expect("a valid ROM");
        assert_eq!(image.as_bytes(), theirs.image());
        assert_eq!(digest, theirs.digest().expect("a tag"));
        image
    });
    let rom = made.as_ref().map(|image| RomView::new(image).expect("a fresh ROM"));
    let out = compute(call, &checked, rom.as_ref(), ws);
    assert_eq!(out, expected, "{} {params:?}", ws.level());
}

/// Whether the portable level computes the same, one by one.
fn check_portable(call: &Call, params: &Params, portable: &mut Workspace, ws: &mut Workspace) {
    let Ok(checked) = params.check(&Limits::unlimited()) else { return };
    let made = match params.nrom {
        0 => None,
        _ => match (make_rom(params, call.salt, portable), make_rom(params, call.salt, ws)) {
            (Some(expected), Some(made)) => {
                assert_eq!(made.0.as_bytes(), expected.0.as_bytes());
                assert_eq!(made.1, expected.1);
                Some(made.0)
            }
            (expected, made) => return assert!(expected.is_none() && made.is_none()),
        },
    };
    let rom = made.as_ref().map(|image| RomView::new(image).expect("a fresh ROM"));
    let (password, salt) = call.input(usize::from(call.partner >> 2 & 3));
    let mut expected = vec![0; usize::from(call.length % 100)];
    derive(password, salt, &checked, rom.as_ref(), portable, &mut expected)
        .expect("checked parameters");
    let out = compute(call, &checked, rom.as_ref(), ws);
    assert_eq!(out, expected, "{} {params:?}", ws.level());
}

fuzz_target!(|call: Call| {
    let params = call.params();
    WORKSPACES.with_borrow_mut(|workspaces| {
        let (portable, others) = workspaces.split_first_mut().expect("a portable level");
        let which = usize::from(call.level) % (others.len() + 1);
        match (call.partner >> 5, which) {
            (0, 0) => check_reference(&call, &params, portable),
            (0, _) => check_reference(&call, &params, &mut others[which - 1]),
            _ if others.is_empty() => {}
            _ => check_portable(&call, &params, portable, &mut others[which % others.len()]),
        }
    });
});
