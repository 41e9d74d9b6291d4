//! Memory for small allocations when the system has none left.
//!
//! A C program may continue after malloc has failed, so a library must not end it. Large
//! allocations here (memory of hashes, tables of batches, buffers) are fallible. Small ones (a
//! boxed value, a name, the handle of a thread) are not, in these crates as in the standard
//! library, and Rust aborts the process if they fail: `link/memory.c` then takes them from this
//! reserve. An entry that finds the reserve half empty does not begin, and reports lack of memory.
//!
//! The crypt(3) to preload takes its small allocations from the first part of the reserve even when
//! there is memory: malloc gives a thread that has not called it yet 64 MiB of addresses of its
//! own, which a program under RLIMIT_AS may not have.
#![allow(unsafe_code, reason = "memory in pieces, for C")]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes in a piece. Larger allocations take several consecutive ones.
const PIECE: usize = 256;
/// Pieces whose bits are in one number, and how many such numbers there are.
const GROUP: usize = u64::BITS as usize;
const GROUPS: usize = 32;
/// How many of these serve while there is other memory: pieces for more calls than can wait.
const FIRST: usize = GROUPS / 2 - 1;

#[repr(C, align(4096))]
struct Pieces(UnsafeCell<[[u8; PIECE * GROUP]; GROUPS]>);

// SAFETY: a piece is given to one owner at a time, which its bit in `TAKEN` ensures.
unsafe impl Sync for Pieces {}

static RESERVE: Pieces = Pieces(UnsafeCell::new([[0; PIECE * GROUP]; GROUPS]));
static TAKEN: [AtomicU64; GROUPS] = [const { AtomicU64::new(0) }; GROUPS];
/// For the first of several consecutive pieces, their number.
static LENGTHS: [AtomicU8; GROUP * GROUPS] = [const { AtomicU8::new(0) }; GROUP * GROUPS];

/// How many pieces are taken.
fn taken() -> u32 {
    TAKEN.iter().map(|group| group.load(Ordering::Relaxed).count_ones()).sum()
}

/// Whether enough is left for an entry to begin.
pub(crate) fn is_ready() -> bool {
    taken() < u64::BITS * GROUPS as u32 / 2
}

/// The bits of the first `pieces` pieces of a group.
const fn run(pieces: usize) -> u64 {
    u64::MAX >> (GROUP - pieces)
}

/// Room for this many bytes, aligned to 256; a null pointer if there is none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn saltern_reserve_take(bytes: usize) -> *mut c_void {
    take(bytes, GROUPS)
}

/// Room for this many bytes while there is other memory: from the part that is used first.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn saltern_reserve_take_first(bytes: usize) -> *mut c_void {
    take(bytes, FIRST)
}

fn take(bytes: usize, groups: usize) -> *mut c_void {
    let pieces = bytes.div_ceil(PIECE).max(1);
    if pieces > GROUP {
        return ptr::null_mut();
    }
    for (number, group) in TAKEN[..groups].iter().enumerate() {
        for first in 0..=GROUP - pieces {
            let bits = run(pieces) << first;
            let free = |taken: u64| (taken & bits == 0).then_some(taken | bits);
            if group.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_ok() {
                let piece = number * GROUP + first;
                LENGTHS[piece].store(pieces as u8, Ordering::Relaxed);
                return RESERVE.0.get().cast::<u8>().wrapping_add(piece * PIECE).cast();
            }
        }
    }
    ptr::null_mut()
}

/// The number of the piece that begins at an address.
fn piece_at(address: *const c_void) -> Option<usize> {
    let offset = address.addr().wrapping_sub(RESERVE.0.get().addr());
    (offset < size_of::<Pieces>()).then_some(offset / PIECE)
}

/// Bytes at an address of the reserve; 0 for any other.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn saltern_reserve_size(address: *const c_void) -> usize {
    let length = |piece: usize| usize::from(LENGTHS[piece].load(Ordering::Relaxed)) * PIECE;
    piece_at(address).map_or(0, length)
}

/// Takes back memory from `saltern_reserve_take`; returns whether it was such memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn saltern_reserve_give(address: *mut c_void) -> c_int {
    let Some(piece) = piece_at(address) else { return 0 };
    let pieces = usize::from(LENGTHS[piece].swap(0, Ordering::Relaxed));
    if (1..=GROUP).contains(&pieces) {
        let bits = run(pieces) << (piece % GROUP);
        TAKEN[piece / GROUP].fetch_and(!bits, Ordering::Release);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since all tests share the reserve.
    #[test]
    fn pieces_are_apart_and_come_back() {
        let sizes = [100, PIECE * GROUP, 2 * PIECE, 0];
        let places = sizes.map(|bytes| saltern_reserve_take(bytes));
        assert_eq!(places.map(|place| piece_at(place).unwrap()), [0, GROUP, 1, 3]);
        assert_eq!(places.map(|place| saltern_reserve_size(place)), [256, 16384, 512, 256]);
        assert!(saltern_reserve_take(PIECE * GROUP + 1).is_null());
        assert!(is_ready());
        let others: Vec<_> = (0..1000).map(|_| saltern_reserve_take(8)).collect();
        assert!(!is_ready(), "{}", taken());
        let give = |place: *mut c_void| assert_eq!(saltern_reserve_give(place), 1);
        others.into_iter().for_each(give);
        places.into_iter().for_each(give);
        assert_eq!(taken(), 0);
        let first: Vec<_> =
            (0..).map(|_| saltern_reserve_take_first(8)).take_while(|at| !at.is_null()).collect();
        assert!(first.len() == FIRST * GROUP && is_ready());
        first.into_iter().for_each(give);
        let mut elsewhere = 0;
        assert_eq!(saltern_reserve_give((&raw mut elsewhere).cast()), 0);
        assert_eq!(saltern_reserve_size((&raw const elsewhere).cast()), 0);
    }
}
