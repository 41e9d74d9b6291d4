//! The algorithm of generation 0.5.

mod kdf;
mod params;
mod rom;
mod smix;

pub use kdf::derive;
pub use params::{CheckedParams, Flags, Params, Tuning};
pub use rom::{Rom, RomParams, init_rom};
