//! ROMs while hashes are computed with them: read block by block, and checked.

pub(crate) mod checked;
pub(crate) mod direct;
pub(crate) mod open_rom;
pub(crate) mod open_roms;
pub(crate) mod recheck;
pub(crate) mod source;
