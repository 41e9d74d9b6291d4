//! How much a hash costs an attacker who guesses passwords: one number for every scheme.

use saltern_yescrypt::Params;

use crate::foreign::Setting;
use crate::stored::Hash;

/// What a hash costs an attacker who guesses passwords, for comparison: bytes of memory times units
/// of work, which correspond to the area that a chip needs and the time. A policy's floor is such a
/// strength. ROMs are not counted: they come on top.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Strength(u128);

impl Strength {
    /// The strength of a hash with these parameters.
    #[must_use]
    pub fn of_params(params: &Params) -> Self {
        let mut params = *params;
        params.nrom = 0;
        Strength(params.memory().saturating_mul(params.work()))
    }

    fn of_setting(setting: &dyn Setting) -> Self {
        let cost = setting.cost(0);
        Strength(u128::from(cost.memory) * u128::from(cost.work))
    }

    /// The strength of a hash; for a wrapped one, the stronger of both: guessing a password takes
    /// both.
    pub(crate) fn of(hash: &Hash) -> Self {
        let ours = hash.ours().map(|ours| Self::of_params(ours.setting().params()));
        let foreign = hash.foreign().map(|setting| Self::of_setting(&**setting));
        ours.max(foreign).unwrap_or(Strength(0))
    }
}
