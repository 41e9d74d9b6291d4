//! Hash encryption (section 22): salt and hash are replaced by encrypted ones of the same length,
//! so that hashes are useless without a key kept elsewhere, and can be moved to another key without
//! the password.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use saltern_wipe::{Zeroize, Zeroizing, zeroize_stack};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::core::pbkdf2;
use crate::ids::KeyFingerprint;
use crate::text::ascii;
use crate::text::encoding::{HashString, Setting};
use crate::text::scheme::Scheme;

/// A prefix that no other use of SHA-256 on a key has: hash encryption begins with a zero.
const FINGERPRINT: &[u8] = b"saltern hash key fingerprint 1";

/// A key of 32 bytes for hash encryption. Wiped on drop; its `Debug` shows nothing. Moving the
/// value does not move the key in memory, so no copies are left behind.
pub struct HashKey(Box<[u8; 32]>);

impl Clone for HashKey {
    fn clone(&self) -> Self {
        Self::copied(&self.0)
    }
}

impl Drop for HashKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl HashKey {
    /// Takes a key, which should come from a random generator.
    #[must_use]
    pub fn new(mut key: [u8; 32]) -> Self {
        let boxed = Self::copied(&key);
        key.zeroize();
        boxed
    }

    /// The key in a slice.
    ///
    /// # Errors
    /// [`Error::BufferLength`] unless it has exactly 32 bytes.
    pub fn from_slice(key: impl AsRef<[u8]>) -> Result<Self, Error> {
        let key = key.as_ref();
        let length = Error::BufferLength { needed: 32, actual: key.len() as u64 };
        Ok(Self::copied(key.try_into().map_err(|_| length)?))
    }

    /// Without a copy on the stack.
    fn copied(key: &[u8; 32]) -> Self {
        let mut boxed = Box::new([0; 32]);
        boxed.copy_from_slice(key);
        HashKey(boxed)
    }

    /// The first eight bytes of `SHA-256("saltern hash key fingerprint 1" || key)`.
    ///
    /// Strings contain it in clear text. It does not help to find a key that came from a random
    /// generator; for a key that can be guessed, it confirms the guess.
    #[must_use]
    pub fn fingerprint(&self) -> KeyFingerprint {
        scrubbed(|| {
            let mut hasher = Sha256::new();
            hasher.update(FINGERPRINT);
            hasher.update(&self.0[..]);
            let mut fingerprint = [0; 8];
            fingerprint.copy_from_slice(&pbkdf2::finish_sha256(&mut hasher)[..8]);
            KeyFingerprint(fingerprint)
        })
    }

    /// Encrypts 0 to 64 bytes in place.
    pub(crate) fn encrypt(&self, data: &mut [u8]) {
        scrubbed(|| self.forward(data));
    }

    fn forward(&self, data: &mut [u8]) {
        (0..6).for_each(|round| self.round(data, round));
    }

    /// The inverse of [`HashKey::forward`].
    fn backward(&self, data: &mut [u8]) {
        (0..6).rev().for_each(|round| self.round(data, round));
    }

    /// One round of the Luby-Rackoff network, its own inverse. With an odd length the halves end in
    /// the middle of the last byte: its low nibble belongs to the left, its high one to the right.
    fn round(&self, data: &mut [u8], round: u8) {
        let len = data.len();
        if len == 0 {
            return;
        }
        let half = len / 2;
        let left_is_source = round & 1 == 0;
        let (source_nibble, target_nibble) =
            if left_is_source { (0x0f, 0xf0) } else { (0xf0, 0x0f) };
        let (left, right) = data.split_at_mut(half);
        let (right, middle) = right.split_at_mut(half);
        let (source, target) = if left_is_source { (left, right) } else { (right, left) };
        let mut hasher = Sha256::new();
        hasher.update([0, 32, len as u8, round]);
        hasher.update(&self.0[..]);
        hasher.update(&*source);
        if let [middle] = middle {
            hasher.update([*middle & source_nibble]);
        }
        let mask = pbkdf2::finish_sha256(&mut hasher);
        for (byte, mask) in target.iter_mut().zip(*mask) {
            *byte ^= mask;
        }
        if let [middle] = middle {
            *middle ^= mask[half] & target_nibble;
        }
    }
}

/// Bytes of stack that are overwritten: twice what SHA-256 of a key uses, in software or not. A
/// test measures it.
const SCRUBBED: usize = 4096;

/// Does something with keys, then overwrites the part of the stack where a hash function may have
/// left the block that holds a key.
#[inline(never)]
fn scrubbed<T>(work: impl FnOnce() -> T) -> T {
    #[inline(never)]
    fn run<T>(work: impl FnOnce() -> T) -> T {
        work()
    }
    let result = run(work);
    zeroize_stack::<SCRUBBED>();
    result
}

impl core::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("HashKey { .. }")
    }
}

/// Moves a `$y$` hash from one key to another, or encrypts it (`from` is `None`), or decrypts it
/// (`to` is `None`), as `yescrypt_reencrypt` in the C library does. No password is needed.
///
/// The string does not say which key it is encrypted with, so neither a wrong `from` nor an earlier
/// encryption can be detected: the result then matches no password. [`Hasher::rekey`] and
/// [`Hasher::without_key`] keep the name of the key in the string and do nothing twice.
///
/// [`Hasher::rekey`]: crate::Hasher::rekey
/// [`Hasher::without_key`]: crate::Hasher::without_key
///
/// ```
/// use saltern_yescrypt::{hazmat::reencrypt, keys::HashKey};
/// let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
/// let key = HashKey::new([7; 32]); // from a file that the password store does not hold
/// let encrypted = reencrypt(plain, None, Some(&key))?;
/// assert_eq!(reencrypt(&encrypted, Some(&key), None)?, plain);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// # Errors
/// [`Error::Malformed`] for anything that is not a complete `$y$` hash, [`Error::KeyNotApplicable`]
/// for a `$7$` or extended one, and for one preceded by the name of its key.
pub fn reencrypt(
    hash: impl AsRef<[u8]>,
    from: Option<&HashKey>,
    to: Option<&HashKey>,
) -> Result<String, Error> {
    let parsed = HashString::parse(hash)?;
    let setting = parsed.setting();
    if setting.scheme() != Scheme::Yescrypt || setting.key_id().is_some() {
        return Err(Error::KeyNotApplicable);
    }
    Ok(ascii(rekeyed(&parsed, setting, from, to)))
}

/// A hash moved from one key to another and written under `setting`, which differs from its own in
/// ids only.
pub(crate) fn rekeyed(
    parsed: &HashString,
    setting: &Setting,
    from: Option<&HashKey>,
    to: Option<&HashKey>,
) -> Vec<u8> {
    let mut salt = Zeroizing::new(setting.salt().to_vec());
    let mut hash = Zeroizing::new(*parsed.hash());
    // Hashing encrypts both, so what is stored is the decryption of the real salt.
    scrubbed(|| {
        if let Some(key) = from {
            key.forward(&mut salt);
            key.backward(&mut *hash);
        }
        if let Some(key) = to {
            key.backward(&mut salt);
            key.forward(&mut *hash);
        }
    });
    setting.with_salt(&salt).with_hash(&hash)
}

#[cfg(test)]
mod tests {
    use saltern_testing::secrecy;

    use super::*;

    #[test]
    fn secrecy_of_keys_and_of_what_they_encrypt() {
        let (mut key, mut data) = ([7; 32], [3; 64]);
        secrecy::hide(&mut key);
        secrecy::hide(&mut data);
        let leaks = secrecy::leaks(|| {
            let key = HashKey::new(key);
            for len in 0..=64 {
                key.encrypt(&mut data[..len]);
                key.backward(&mut data[..len]);
            }
            let _ = key.fingerprint();
        });
        assert_eq!(leaks, 0);
    }

    #[test]
    fn every_length_round_trips_and_changes() {
        let key = HashKey::new(core::array::from_fn(|i| i as u8));
        for len in 1..=64 {
            let data: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
            let mut changed = data.clone();
            key.forward(&mut changed);
            assert_ne!(changed, data, "{len}");
            key.backward(&mut changed);
            assert_eq!(changed, data, "{len}");
        }
    }
    /// The stack below the caller after `work`, which ran on zeros.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn stack_after(work: impl FnOnce()) -> Vec<u8> {
        use core::hint::black_box;
        use std::os::unix::fs::FileExt;

        const DEPTH: usize = 1 << 16;

        /// Reading the stack needs some of it, too: what is looked for lies deeper.
        #[inline(never)]
        fn lowered(work: impl FnOnce()) {
            let mut frame = [0_u8; 4096];
            black_box(&mut frame);
            work();
            black_box(&mut frame);
        }

        let here = 0_u8;
        let end = (&raw const here).addr() - 4096;
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let mut stack = alloc::vec![0; DEPTH];
        zeroize_stack::<{ 2 * DEPTH }>();
        lowered(work);
        memory.read_exact_at(&mut stack, (end - DEPTH) as u64).unwrap();
        stack
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn nothing_of_a_key_stays_on_the_stack() {
        use core::hint::black_box;

        let bytes: [u8; 32] = core::array::from_fn(|i| (i * 37 + 11) as u8 | 1);
        let found = |stack: &[u8]| {
            bytes.chunks(4).any(|word| {
                // As they lie in a block of SHA-256, or in its message schedule.
                let turned: Vec<u8> = word.iter().rev().copied().collect();
                stack.windows(4).any(|four| four == word || four == turned)
            })
        };
        let key = HashKey::new(bytes);
        let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
        assert!(!found(&stack_after(|| drop(reencrypt(plain, None, Some(&key)).unwrap()))));
        assert!(!found(&stack_after(|| _ = black_box(key.fingerprint()))));
        assert!(!found(&stack_after(|| key.encrypt(&mut [1; 32]))));
        // A copy on the stack is found.
        assert!(found(&stack_after(|| _ = black_box([*key.0; 100]))));

        let used = stack_after(|| key.forward(&mut [1; 32]));
        let used = used.len() - used.iter().position(|byte| *byte != 0).unwrap();
        assert!((256..SCRUBBED / 2).contains(&used), "{used} bytes");
    }
}
