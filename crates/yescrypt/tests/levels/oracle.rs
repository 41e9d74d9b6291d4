//! One computation, asked of this crate and of the reference.

use std::ops::RangeInclusive;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::strategy::Union;
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    Limits, Params, Workspace, derive,
    params::{CheckedParams, Flavor, Mode},
    rom::{RomImage, RomView},
};

use super::theirs::theirs;

/// A password, a salt and how many bytes are wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    pub(crate) password: Vec<u8>,
    pub(crate) salt: Vec<u8>,
    pub(crate) len: usize,
}

impl Ask {
    /// One of a row of different ones, lengths included.
    pub(crate) fn number(i: usize) -> Self {
        let text =
            |seed: usize, len: usize| (0..len).map(|k| (seed + 31 * i + 7 * k) as u8).collect();
        Ask { password: text(1, 5 * i % 70), salt: text(2, 3 * i % 20), len: (17 * i + 32) % 101 }
    }
}

/// Every tuning that there is, 512 of them.
pub(crate) fn all_flavors() -> Vec<Flavor> {
    let mut all = Vec::new();
    for rounds in [1, 2, 3, 6] {
        for gather in [1, 2, 4, 8] {
            for simple in [1, 2, 4, 8] {
                for k in 0..8 {
                    all.push(Flavor::new(rounds, gather, simple, 6144 << k).unwrap());
                }
            }
        }
    }
    all
}

/// What the reference says.
pub(crate) fn expected(params: &Params, rom: Option<&[u8]>, ask: &Ask) -> Vec<u8> {
    let rom = rom.map(reference::Rom::from_native);
    let params = theirs(params);
    let Ask { password, salt, len } = ask;
    reference::kdf(password, salt, &params, rom.as_ref(), *len as u64).unwrap()
}

/// What this crate says.
pub(crate) fn derived(
    params: &CheckedParams,
    rom: Option<&RomImage>,
    ask: &Ask,
    workspace: &mut Workspace,
) -> Vec<u8> {
    let rom = rom.map(|image| RomView::new(image).unwrap());
    let mut out = vec![0xee; ask.len];
    derive(&ask.password, &ask.salt, params, rom.as_ref(), workspace, &mut out).unwrap();
    out
}

pub(crate) fn checked(params: &Params) -> CheckedParams {
    params.check(&Limits::unlimited()).unwrap()
}

/// Parameters of every kind, small: N up to 128, r up to 9.
pub(crate) fn any_params(modes: &'static [Mode]) -> impl Strategy<Value = Params> {
    let numbers = (1u32..=7, 0u32..=5, 1u32..=9, 0u32..=3);
    (prop::sample::select(modes), any_flavor(), numbers).prop_map(|(mode, flavor, numbers)| {
        let (log2_n, more_r, p, t) = numbers;
        let mut params = Params::new(mode, 1 << log2_n, flavor.min_r() + more_r);
        params.flavor = flavor;
        params.p = if mode == Mode::Rw { p.min(1 << (log2_n - 1)) } else { p };
        params.t = if mode == Mode::Classic { 0 } else { t };
        params
    })
}

/// The default tuning and all others, with the usual and other Salsa20 counts.
fn any_flavor() -> impl Strategy<Value = Flavor> {
    let tunings =
        Union::new([Just(Flavor::DEFAULT).boxed(), prop::sample::select(all_flavors()).boxed()]);
    let salsa = Union::new([Just((8, 2)).boxed(), (1u32..=8, 1u32..=8).boxed()]);
    (tunings, salsa).prop_map(|(flavor, (mix, tail))| flavor.with_salsa(mix, tail).unwrap())
}

/// Lengths around the edges of SHA-256 blocks and HMAC keys, and long ones.
pub(crate) fn any_ask() -> impl Strategy<Value = Ask> {
    let bytes = |len: RangeInclusive<usize>| prop::collection::vec(any::<u8>(), len);
    let text = move || {
        Union::new([bytes(0..=16).boxed(), bytes(62..=66).boxed(), bytes(900..=1000).boxed()])
    };
    (text(), text(), 0usize..=100).prop_map(|(password, salt, len)| Ask { password, salt, len })
}
