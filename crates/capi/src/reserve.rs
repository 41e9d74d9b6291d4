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
const PIECE: usize = 256;
/// Pieces whose owners one number tells, and how many such numbers there are.
const GROUP: usize = u64::BITS as usize;
const GROUPS: usize = 32;

#[repr(C, align(4096))]
struct Pieces(UnsafeCell<[[u8; PIECE * GROUP]; GROUPS]>);

// SAFETY: a piece is handed out to one owner at a time, which its bit in `TAKEN` sees to.
unsafe impl Sync for Pieces {}

static RESERVE: Pieces = Pieces(UnsafeCell::new([[0; PIECE * GROUP]; GROUPS]));
static TAKEN: [AtomicU64; GROUPS] = [const { AtomicU64::new(0) }; GROUPS];

struct WithReserve;

#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

/// How many pieces are taken.
fn taken() -> u32 {
    TAKEN.iter().map(|group| group.load(Ordering::Relaxed).count_ones()).sum()
}

/// Whether there is enough in it for an entry to begin.
pub(crate) fn is_ready() -> bool {
    taken() < u64::BITS * GROUPS as u32 / 2
}

/// Pieces for so many bytes, as the bits of the first ones of a group.
fn run_of(bytes: usize) -> Option<(usize, u64)> {
    let pieces = bytes.div_ceil(PIECE).max(1);
    (pieces <= GROUP).then(|| (pieces, u64::MAX >> (GROUP - pieces)))
}

fn take(layout: Layout) -> *mut u8 {
    let Some((pieces, bits)) = run_of(layout.size()).filter(|_| layout.align() <= PIECE) else {
        return ptr::null_mut();
    };
    for (number, group) in TAKEN.iter().enumerate() {
        for first in 0..=GROUP - pieces {
            let bits = bits << first;
            let free = |taken: u64| (taken & bits == 0).then_some(taken | bits);
            if group.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_ok() {
                let piece = number * GROUP + first;
                return RESERVE.0.get().cast::<u8>().wrapping_add(piece * PIECE);
            }
        }
    }
    ptr::null_mut()
}

/// The number of the piece that begins at an address.
fn place(address: *mut u8) -> Option<usize> {
    let offset = address.addr().wrapping_sub(RESERVE.0.get().addr());
    (offset < size_of::<Pieces>()).then_some(offset / PIECE)
}

fn give_back(piece: usize, layout: Layout) {
    if let Some((_, bits)) = run_of(layout.size()) {
        TAKEN[piece / GROUP].fetch_and(!(bits << (piece % GROUP)), Ordering::Release);
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

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 8).unwrap()
    }

    /// One test, since all tests share the reserve.
    #[test]
    fn pieces_are_apart_and_come_back_and_what_grows_keeps_its_bytes() {
        let sizes = [100, PIECE * GROUP, 2 * PIECE, 1];
        let places = sizes.map(|bytes| place(take(layout(bytes))).unwrap());
        assert_eq!(places, [0, GROUP, 1, 3]);
        assert!(take(layout(PIECE * GROUP + 1)).is_null());
        assert!(take(Layout::from_size_align(1, 2 * PIECE).unwrap()).is_null());
        assert!(is_ready());
        let others: Vec<_> = (0..1000).map(|_| place(take(layout(8))).unwrap()).collect();
        assert!(!is_ready(), "{}", taken());
        others.into_iter().for_each(|piece| give_back(piece, layout(8)));
        places.into_iter().zip(sizes).for_each(|(piece, bytes)| give_back(piece, layout(bytes)));
        assert_eq!(taken(), 0);

        let old = take(layout(3));
        // SAFETY: three bytes of a piece that is this test's.
        let grown = unsafe {
            old.copy_from_nonoverlapping(b"abc".as_ptr(), 3);
            ALLOCATOR.realloc(old, layout(3), 9000)
        };
        assert!(place(grown).is_none() && taken() == 0);
        // SAFETY: the three bytes were copied, and the rest is given back as it was allocated.
        unsafe {
            assert_eq!(std::slice::from_raw_parts(grown, 3), b"abc");
            ALLOCATOR.dealloc(grown, layout(9000));
        }
    }
}
