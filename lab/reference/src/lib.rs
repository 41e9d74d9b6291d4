//! Slow, readable implementations, written from the specifications alone and sharing no code with
//! the fast crates. They are the oracle of property tests and fuzzers; nothing that ships depends
//! on them. They wipe nothing, compare nothing in constant time and take no care of secrets.

pub mod blake2;
pub mod yescrypt;
