//! Hash encryption (22).

use sha2::{Digest, Sha256};

/// Which way the network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rounds 0 to 5.
    Encrypt,
    /// Rounds 5 to 0.
    Decrypt,
}

/// The Luby-Rackoff network over 0 to 64 bytes.
///
/// The two halves are kept as nibbles, low before high, so that an odd length needs no special case
/// but one: the middle byte's low nibble belongs to the left half and its high nibble to the right,
/// and both stand in their own place within a byte.
#[must_use]
pub fn feistel(data: &[u8], key: &[u8; 32], direction: Direction) -> Vec<u8> {
    let half = data.len() / 2;
    if data.is_empty() {
        return Vec::new();
    }
    let odd = data.len() % 2 == 1;
    let middle = if odd { data[data.len() - 1] } else { 0 };
    // Each half: its whole bytes, then (odd lengths) the byte that holds its nibble.
    let mut left = [&data[..half], &[middle & 0x0f]].concat();
    let mut right = [&data[half..2 * half], &[middle & 0xf0]].concat();
    let rounds: [u8; 6] = match direction {
        Direction::Encrypt => [0, 1, 2, 3, 4, 5],
        Direction::Decrypt => [5, 4, 3, 2, 1, 0],
    };
    for k in rounds {
        let (source, target, nibble) =
            if k % 2 == 0 { (&left, &mut right, 0xf0) } else { (&right, &mut left, 0x0f) };
        let mut hash = Sha256::new();
        hash.update([0x00, 0x20, data.len() as u8, k]);
        hash.update(key);
        hash.update(&source[..half + usize::from(odd)]);
        let f = hash.finalize();
        for i in 0..half {
            target[i] ^= f[i];
        }
        if odd {
            target[half] ^= f[half] & nibble;
        }
    }
    let mut out = [&left[..half], &right[..half]].concat();
    if odd {
        out.push(left[half] | right[half]);
    }
    out
}
