//! How much a hash asks of whoever tries passwords: one number for every scheme.

use saltern_yescrypt::Params;

use crate::foreign::Setting;
use crate::stored::Hash;

/// Bytes of memory times units of work: the area that a chip needs, for the time that it needs it.
/// ROMs are not counted: they come on top.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Strength(u128);

impl Strength {
    pub(crate) fn of_params(params: &Params) -> Self {
        let mut params = *params;
        params.nrom = 0;
        Strength(params.memory().saturating_mul(params.work()))
    }

    pub(crate) fn of_setting(setting: &dyn Setting) -> Self {
        let cost = setting.cost(0);
        Strength(u128::from(cost.memory) * u128::from(cost.work))
    }

    /// Of a wrapped one, the hash around it.
    pub(crate) fn of(hash: &Hash) -> Self {
        match hash {
            Hash::Ours(ours) | Hash::Wrapped(_, ours) => Self::of_params(ours.setting().params()),
            Hash::Foreign(foreign) => Self::of_setting(&*foreign.setting),
        }
    }
}
