//! Hints that a cache line will be needed soon. They never fault, whatever the address, and have no
//! effect that a program could see. Under Miri, which does not support the instructions, they do
//! nothing.
#![allow(unsafe_code, reason = "instructions for prefetching")]

/// Hints that the line at `address` will be read.
#[inline(always)]
pub fn prefetch_read<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE is part of x86-64, and a prefetch may name any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = address;
}

/// Hints that the line `AHEAD` bytes after `base + offset` will be written.
#[inline(always)]
pub fn prefetch_write<const AHEAD: usize, T>(base: *const T, offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch may name any address; processors without `prefetchw` take it for a no-op.
    unsafe {
        core::arch::asm!(
            "prefetchw [{} + {} + {}]", in(reg) base, in(reg) offset, const AHEAD,
            options(nostack, preserves_flags, readonly),
        );
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = (base, offset);
}
