//! What is wiped is zero in memory that is freed next. In a release build, the optimiser would
//! leave that out if it could: `scripts/test instructions` runs these tests in one.

// The allocator looks at freed memory, initialised or not, which Miri rejects: a fault of this
// instrument, not of what it measures.
#![cfg(not(miri))]

use std::hint::black_box;
use std::mem::MaybeUninit;

use saltern_testing::allocator::{Watching, freed};
use saltern_wipe::{Zeroize, Zeroizing, overwrite};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// So many bytes that are no zeros.
fn bytes(len: usize) -> Vec<u8> {
    black_box(vec![0xa5; len])
}

const CLEAN: (usize, usize) = (1, 0);

#[test]
fn plain_memory_is_seen_to_be_dirty() {
    assert_eq!(freed(|| drop(bytes(1 << 16))), (1, 1));
}

#[test]
fn lists_and_texts_are_zero_with_what_they_do_not_use() {
    assert_eq!(freed(|| drop(Zeroizing::new(bytes(1 << 16)))), CLEAN);
    assert_eq!(freed(|| drop(Zeroizing::new(String::from_utf8(vec![b'x'; 5000]).unwrap()))), CLEAN);
    assert_eq!(freed(|| drop(Zeroizing::new(black_box(vec![(u64::MAX, 7_u8); 5000])))), CLEAN);
    let shortened = || {
        let mut list = Zeroizing::new(bytes(5001));
        list.truncate(3);
    };
    assert_eq!(freed(shortened), CLEAN);
    let reused = || {
        let mut list = bytes(5001);
        list.zeroize();
        assert!(list.is_empty() && list.capacity() >= 5001);
        let mut text = String::from_utf8(vec![b'x'; 5000]).unwrap();
        text.zeroize();
        assert!(text.is_empty() && text.capacity() >= 5000);
    };
    assert_eq!(freed(reused), (2, 0));
}

#[test]
fn values_in_place_are_zero() {
    // Without the barrier the compiler leaves the zeros out here.
    assert_eq!(freed(|| drop(black_box(Box::new(Zeroizing::new([0xa5_u8; 5001]))))), CLEAN);
    assert_eq!(freed(|| drop(black_box(Box::new(Zeroizing::new([[7_u32; 8]; 999]))))), CLEAN);
    let in_part = || {
        let mut list = bytes(6000);
        list[..6000].zeroize();
    };
    assert_eq!(freed(in_part), CLEAN);
    let taken = || {
        let mut value = Box::new(Some(black_box([0xa5_u64; 1024])));
        black_box(value.take());
        value.zeroize();
        assert!(black_box(&value).is_none());
    };
    assert_eq!(freed(taken), CLEAN);
}

#[test]
fn memory_that_holds_no_value_is_zero() {
    let work = || {
        let mut memory: Box<[MaybeUninit<u8>]> = Box::new_uninit_slice(5000);
        memory.fill(MaybeUninit::new(0xa5));
        overwrite(&mut black_box(memory));
    };
    assert_eq!(freed(work), CLEAN);
}

#[test]
fn nothing_is_shown() {
    assert_eq!(format!("{:?}", Zeroizing::new(*b"secret")), "Zeroizing { .. }");
}
