//! Memory for small things when the system has none left.
//!
//! A C program may go on after malloc has failed, so a library must not end it. What is large here
//! (memory of hashes, tables of batches, buffers) is asked for fallibly. Small things (a boxed
//! value, a name, a queue's next piece) are not, and Rust ends the process where they cannot be
//! had: those come out of this reserve then. An entry that finds the reserve half empty does not
//! begin, and says that there is no memory.
#![allow(unsafe_code, reason = "the global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes in a piece. What is larger takes several that follow each other.
const PIECE: usize = 4096;
const PIECES: usize = u64::BITS as usize;

/// The most pieces that one thing gets.
const MOST: usize = 16;

#[repr(C, align(4096))]
struct Pieces(UnsafeCell<[[u8; PIECE]; PIECES]>);

// SAFETY: a piece is handed out to one owner at a time, which its bit in `TAKEN` sees to.
unsafe impl Sync for Pieces {}

static RESERVE: Pieces = Pieces(UnsafeCell::new([[0; PIECE]; PIECES]));
static TAKEN: AtomicU64 = AtomicU64::new(0);

struct WithReserve;

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

/// Whether there is enough in it for an entry to begin.
pub(crate) fn is_ready() -> bool {
    TAKEN.load(Ordering::Relaxed).count_ones() < u64::BITS / 2
}

/// Pieces for so many bytes, as the bits of the first ones.
fn run_of(bytes: usize) -> Option<(usize, u64)> {
    let pieces = bytes.div_ceil(PIECE).max(1);
    (pieces <= MOST).then(|| (pieces, (1 << pieces) - 1))
}

fn take(layout: Layout) -> *mut u8 {
    let Some((pieces, bits)) = run_of(layout.size()).filter(|_| layout.align() <= PIECE) else {
        return ptr::null_mut();
    };
    for first in 0..=PIECES - pieces {
        let bits = bits << first;
        let free = |taken: u64| (taken & bits == 0).then_some(taken | bits);
        if TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_ok() {
            return RESERVE.0.get().cast::<u8>().wrapping_add(first * PIECE);
        }
    }
    ptr::null_mut()
}

/// Where in the reserve an address is.
fn place(address: *mut u8) -> Option<usize> {
    let offset = address.addr().wrapping_sub(RESERVE.0.get().addr());
    (offset < PIECE * PIECES).then_some(offset / PIECE)
}

fn give_back(first: usize, layout: Layout) {
    if let Some((_, bits)) = run_of(layout.size()) {
        TAKEN.fetch_and(!(bits << first), Ordering::Release);
    }
}

// SAFETY: memory comes from the system's allocator or from the reserve, whose pieces have one owner
// and are aligned to 4096 bytes; each goes back to where its address says that it came from.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of this function.
        let new = unsafe { System.alloc(layout) };
        if new.is_null() { take(layout) } else { new }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of this function.
        let new = unsafe { System.alloc_zeroed(layout) };
        let new = if new.is_null() { take(layout) } else { return new };
        if !new.is_null() {
            // SAFETY: pieces for as many bytes, which have no other owner.
            unsafe { new.write_bytes(0, layout.size()) }
        }
        new
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        match place(old) {
            Some(first) => give_back(first, layout),
            // SAFETY: it is not of the reserve, so it is the system's.
            None => unsafe { System.dealloc(old, layout) },
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if place(old).is_none() {
            // SAFETY: it is not of the reserve, so it is the system's.
            let new = unsafe { System.realloc(old, layout, size) };
            if !new.is_null() {
                return new;
            }
        }
        let Ok(larger) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        // SAFETY: `alloc` takes any layout with a size, which is the caller's contract.
        let new = unsafe { self.alloc(larger) };
        if !new.is_null() {
            // SAFETY: both have as many bytes, and the new one has no other owner.
            unsafe { old.copy_to_nonoverlapping(new, size.min(layout.size())) };
            // SAFETY: the caller gives the old one up.
            unsafe { self.dealloc(old, layout) };
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_come_back() {
        let small = Layout::from_size_align(100, 8).unwrap();
        let large = Layout::from_size_align(MOST * PIECE, 64).unwrap();
        let [a, b, c] = [small, large, small].map(|layout| (place(take(layout)).unwrap(), layout));
        assert_eq!([a.0, b.0, c.0], [0, 1, 1 + MOST]);
        assert!(
            is_ready() && take(Layout::from_size_align(MOST * PIECE + 1, 1).unwrap()).is_null()
        );
        let others: Vec<_> = (0..20).map(|_| place(take(small)).unwrap()).collect();
        assert!(!is_ready(), "{}", TAKEN.load(Ordering::Relaxed).count_ones());
        others.into_iter().for_each(|first| give_back(first, small));
        [a, b, c].into_iter().for_each(|(first, layout)| give_back(first, layout));
        assert_eq!(TAKEN.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_grows_out_of_the_reserve_keeps_its_bytes() {
        let layout = Layout::from_size_align(3, 1).unwrap();
        let old = take(layout);
        // SAFETY: three bytes of a piece that is this test's.
        let grown = unsafe {
            old.copy_from_nonoverlapping(b"abc".as_ptr(), 3);
            ALLOCATOR.realloc(old, layout, 9000)
        };
        assert!(place(grown).is_none());
        // SAFETY: the three bytes were copied, and the rest is given back as it was allocated.
        unsafe {
            assert_eq!(std::slice::from_raw_parts(grown, 3), b"abc");
            ALLOCATOR.dealloc(grown, Layout::from_size_align(9000, 1).unwrap());
        }
    }
}
