//! The BLAKE2 family.
#![no_std]
