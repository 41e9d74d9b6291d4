//! Any parameters, for properties.

use proptest::prelude::*;
use saltern_yescrypt::{
    Params,
    params::{Flavor, Mode},
};

/// Any tuning with small S-boxes.
pub(crate) fn flavor() -> impl Strategy<Value = Flavor> {
    let size = prop::sample::select(vec![1, 2, 4, 8]);
    let rounds = prop::sample::select(vec![1, 2, 3, 6]);
    let salsa = prop::option::of((1..=8u32, 1..=8u32));
    (rounds, size.clone(), size, 0..3u32, salsa).prop_map(|(rounds, gather, simple, k, salsa)| {
        let flavor = Flavor::new(rounds, gather, simple, 6144 << k).expect("a valid tuning");
        match salsa {
            None => flavor,
            Some((mix, tail)) => flavor.with_salsa(mix, tail).expect("1 to 8 rounds"),
        }
    })
}

/// Small parameters, most of them valid.
pub(crate) fn params() -> impl Strategy<Value = Params> {
    let mode = prop::sample::select(vec![Mode::Classic, Mode::Worm, Mode::Rw, Mode::Rw]);
    let nrom = prop::option::weighted(0.4, 2..6u32);
    (mode, 1..7u32, 1..9u32, 1..6u32, 0..4u32, nrom, flavor()).prop_map(
        |(mode, log2_n, r, p, t, log2_nrom, flavor)| {
            let mut params = Params::new(mode, 1 << log2_n, r);
            (params.p, params.t) = (p, t);
            if mode == Mode::Rw {
                params.flavor = flavor;
                params.nrom = log2_nrom.map_or(0, |log2| 1 << log2);
            }
            params
        },
    )
}
