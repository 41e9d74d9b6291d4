//! What a derivation is asked for.

use saltern_yescrypt::params::CheckedParams;
use saltern_yescrypt::rom::RomUse;

/// What to derive: the same for all items of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Derive {
    /// The parameters. Their NROM is 0: each ROM of the list has its own.
    pub params: CheckedParams,
    /// The ROMs, as for [`derive_with_roms`](saltern_yescrypt::rom::derive_with_roms).
    pub roms: Vec<RomUse>,
    /// Bytes of output for each item.
    pub len: usize,
}
