//! Overwriting what was secret, for all of Saltern.
//!
//! Memory is filled with zeros by ordinary stores, so it takes as long as `memset`; then the
//! compiler is told that somebody may read it ([`zeroize::optimization_barrier`]), so it cannot
//! leave the stores out although the memory is freed next. The types of the crate `zeroize` make
//! the same promise with volatile stores, of one byte each where bytes are wiped. That is why they
//! are used nowhere else in Saltern: `scripts/check-structure` checks it.
//!
//! Copies that a move left behind, registers, and what the kernel copied are out of reach.
//!
//! This crate is an internal part of Saltern: its API may change in any release.
#![no_std]
#![allow(unsafe_code, reason = "memory that is not initialised is overwritten, too")]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

/// Overwrites so many bytes of the stack, below the frame of the caller.
///
/// What left secrets there must have been called from the same frame, and not be inlined into it.
pub use zeroize::zeroize_stack;

/// A value that can be overwritten with zeros.
pub trait Zeroize {
    /// Overwrites it. A list or text is empty afterwards and keeps its memory, all of which is
    /// overwritten.
    fn zeroize(&mut self);
}

/// A type whose values are in one place, with a value that says nothing.
pub trait Zero: Copy {
    /// That value.
    const ZERO: Self;
}

macro_rules! zero {
    ($($type:ty),*) => { $(impl Zero for $type { const ZERO: Self = 0; })* };
}

zero!(u8, u32, u64, usize);

impl<T: Zero, const N: usize> Zero for [T; N] {
    const ZERO: Self = [T::ZERO; N];
}

impl<T: Zero> Zeroize for T {
    #[inline]
    fn zeroize(&mut self) {
        core::slice::from_mut(self).zeroize();
    }
}

impl<T: Zero> Zeroize for [T] {
    #[inline]
    fn zeroize(&mut self) {
        self.fill(T::ZERO);
        zeroize::optimization_barrier(self);
    }
}

impl<T: Zero> Zeroize for Option<T> {
    /// Also overwrites what a value that was taken left behind.
    #[inline]
    fn zeroize(&mut self) {
        *self = Some(T::ZERO);
        zeroize::optimization_barrier(self);
        *self = None;
    }
}

impl<T> Zeroize for Vec<T> {
    #[inline]
    fn zeroize(&mut self) {
        self.clear();
        overwrite(self.spare_capacity_mut());
    }
}

impl Zeroize for String {
    #[inline]
    fn zeroize(&mut self) {
        let mut bytes = core::mem::take(self).into_bytes();
        bytes.zeroize();
        *self = String::from_utf8(bytes).unwrap_or_default();
    }
}

/// Overwrites memory that holds no value, or none any more.
#[inline]
pub fn overwrite<T>(memory: &mut [MaybeUninit<T>]) {
    // SAFETY: so many elements are borrowed mutably, and any bytes are valid for `MaybeUninit`.
    unsafe { memory.as_mut_ptr().write_bytes(0, memory.len()) };
    zeroize::optimization_barrier(memory);
}

/// A value that is overwritten when it is dropped. Its `Debug` shows nothing of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Zeroizing<T: Zeroize>(T);

impl<T: Zeroize> Zeroizing<T> {
    /// Takes a value. Where it was before, a copy may be left.
    #[inline]
    pub const fn new(value: T) -> Self {
        Zeroizing(value)
    }
}

impl<T: Zeroize> Drop for Zeroizing<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> Deref for Zeroizing<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> DerefMut for Zeroizing<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<U: ?Sized, T: Zeroize + AsRef<U>> AsRef<U> for Zeroizing<T> {
    #[inline]
    fn as_ref(&self) -> &U {
        self.0.as_ref()
    }
}

impl<T: Zeroize> fmt::Debug for Zeroizing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Zeroizing { .. }")
    }
}
