//! ROMs in use by hashes: reading them block by block, and checking them.

pub(crate) mod checked;
pub(crate) mod direct;
pub(crate) mod open_rom;
pub(crate) mod open_roms;
pub(crate) mod scrubber;
pub(crate) mod source;
