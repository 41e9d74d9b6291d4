//! What is wiped in place reads as zeros, what is not initialised becomes so, and nothing beyond is
//! touched. Short enough for Miri; `freed.rs` looks at memory after it was freed.

use std::mem::MaybeUninit;

use saltern_wipe::{Zeroize, Zeroizing, overwrite};

#[test]
fn a_part_is_zero_and_its_neighbours_are_not() {
    for (start, end) in [(0, 0), (0, 1), (1, 8), (3, 61), (0, 64)] {
        let mut bytes = [0xa5_u8; 64];
        bytes[start..end].zeroize();
        assert!((0..64).all(|at| bytes[at] == if (start..end).contains(&at) { 0 } else { 0xa5 }));
    }
    let mut words = [[7_u32; 3]; 5];
    words[1..4].zeroize();
    assert_eq!(words, [[7; 3], [0; 3], [0; 3], [0; 3], [7; 3]]);
}

#[test]
fn memory_that_is_not_initialised_is_overwritten() {
    overwrite::<u64>(&mut []);
    let mut memory = [MaybeUninit::<[u16; 5]>::uninit(); 9];
    overwrite(&mut memory);
    let mut list: Vec<(u64, u8)> = Vec::with_capacity(7);
    list.push((1, 2));
    list.zeroize();
    assert!(list.is_empty() && list.capacity() >= 7);
    list.zeroize();
}

#[test]
fn owners_wipe_what_they_hold() {
    let mut text = String::with_capacity(40);
    text.push_str("secret");
    text.zeroize();
    assert!(text.is_empty());
    let mut value = Some([1_u8; 16]);
    value.zeroize();
    assert!(value.is_none());
    let mut held = Zeroizing::new(vec![1_u8; 100]);
    held.truncate(3);
    assert_eq!(**held, [1; 3]);
}
