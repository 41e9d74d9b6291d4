//! Slow, readable references.
pub mod blake2;
