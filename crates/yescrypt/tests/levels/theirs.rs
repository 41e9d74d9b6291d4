//! The parameters of a hash in the reference's terms.

use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{Params, params::Mode};

pub(crate) fn theirs(params: &Params) -> reference::Params {
    let flavor = params.flavor;
    let tuning = reference::Tuning {
        simple: flavor.simple(),
        gather: flavor.gather(),
        rounds: flavor.rounds(),
        swidth: (flavor.sbox_bytes() / (24 * flavor.simple())).ilog2(),
        salsa_main: flavor.salsa_mix(),
        salsa_pwx: flavor.salsa_tail(),
    };
    let flags = match params.mode {
        Mode::Classic => 0,
        Mode::Worm => 1,
        // Any flags word will do for a tuning that none names.
        Mode::Rw => tuning.flags().unwrap_or(reference::RW_DEFAULT),
        Mode::Escrypt(_) => unreachable!("another generation: {params:?}"),
    };
    let &Params { n, r, p, t, g, nrom, .. } = params;
    reference::Params { flags, n, r, p, t, g, nrom, tuning }
}
