//! What the benchmark programs share.

pub mod paired;
