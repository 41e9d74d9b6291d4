//! PBKDF2-HMAC-SHA256 with one iteration (section 2) on both ends of a hash, and HMAC.

use hmac::digest::FixedOutput;
use hmac::{Hmac, KeyInit, Mac};
use saltern_wipe::Zeroizing;
use sha2::{Digest, Sha256};

use crate::core::memory::SubBlock;

/// 32 secret bytes that are wiped when they go out of scope.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

/// HMAC-SHA256.
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> Secret {
    let mut mac = keyed(key);
    mac.update(message);
    finish(mac)
}

/// SHA-256.
pub(crate) fn sha256(message: &[u8]) -> Secret {
    let mut hasher = Sha256::new();
    hasher.update(message);
    finish_sha256(&mut hasher)
}

/// The digest. The hasher, which buffers a part of its input, is not moved, so that the copy wiped
/// on drop is the only one.
pub(crate) fn finish_sha256(hasher: &mut Sha256) -> Secret {
    let mut digest = Zeroizing::new([0; 32]);
    hasher.finalize_into_reset((&mut *digest).into());
    digest
}

/// Fills blocks, shuffled, with PBKDF2 output.
pub(crate) fn fill(password: &[u8], salt: &[u8], blocks: &mut [SubBlock]) {
    #[cfg(test)]
    crate::core::cost::counter::count(|done| done.ends.0 += size_of_val(blocks) as u128);
    let mut mac = keyed(password);
    mac.update(salt);
    let mut counter = 0u32;
    let mut bytes = Zeroizing::new([0; 64]);
    for block in blocks {
        for half in bytes.as_chunks_mut::<32>().0 {
            counter += 1;
            *half = *numbered(&mac, counter);
        }
        *block = SubBlock::from_bytes(&bytes);
    }
}

/// PBKDF2 output with blocks, unshuffled, as the salt: fills `out` and returns the first 32 bytes,
/// whatever the length of `out`.
pub(crate) fn extract(password: &[u8], blocks: &[SubBlock], out: &mut [u8]) -> Secret {
    #[cfg(test)]
    crate::core::cost::counter::count(|done| done.ends.1 += size_of_val(blocks) as u128);
    let mut mac = keyed(password);
    for block in blocks {
        mac.update(&*Zeroizing::new(block.to_bytes()));
    }
    let first = numbered(&mac, 1);
    for (piece, counter) in out.chunks_mut(32).zip(1u32..) {
        let block = if counter == 1 { first.clone() } else { numbered(&mac, counter) };
        piece.copy_from_slice(&block[..piece.len()]);
    }
    first
}

fn numbered(mac: &Hmac<Sha256>, counter: u32) -> Secret {
    let mut mac = mac.clone();
    mac.update(&counter.to_be_bytes());
    finish(mac)
}

fn finish(mac: Hmac<Sha256>) -> Secret {
    // Not by `finalize`, of which a copy would be left unwiped.
    let mut code = Zeroizing::new([0; 32]);
    mac.finalize_into((&mut *code).into());
    code
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    // HMAC takes keys of any length; the error of this trait method is for other MACs.
    Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"))
}

#[cfg(test)]
mod tests {
    use saltern_testing::secrecy::{hide, leaks};

    use super::*;

    #[test]
    fn secrecy_of_passwords_and_digests() {
        let (mut password, mut salt) = (vec![7; 200], [3; 16]);
        hide(&mut password);
        hide(&mut salt);
        for len in [0, 1, 8, 63, 64, 65, 200] {
            let leaks = leaks(|| {
                let password = &password[..len];
                let _ = hmac(&sha256(password)[..], b"Client Key");
                let mut blocks = [SubBlock([0; 8]); 16];
                fill(password, &salt, &mut blocks);
                extract(password, &blocks, &mut [0; 100]);
            });
            assert_eq!(leaks, 0, "{len}");
        }
    }
}
