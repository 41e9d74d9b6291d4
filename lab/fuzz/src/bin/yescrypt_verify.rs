//! Any password and any bytes as a hash string, under tight limits: an answer, quickly, within the
//! memory allowed, and the reference's answer where it is a yes or a no.
//!
//! Input: the password, a newline, the hash string (the password is empty without a newline).
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_fuzz::{is_of_the_reference, tight_limits, with_workspace};
use saltern_reference::yescrypt::{crypt, escrypt as reference};
use saltern_yescrypt::{Hasher, Scheme};

fuzz_target!(|input: &[u8]| {
    let (password, hash) = match input.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (&b""[..], input),
    };
    if !is_of_the_reference(hash) {
        return;
    }
    let hasher = Hasher::new().with_limits(tight_limits());
    let answer = with_workspace(|workspace| hasher.verify(workspace, password, hash));
    if let Ok(matches) = answer {
        let expected = match Scheme::of(hash) == Some(Scheme::Escrypt) {
            true => reference::crypt(password, hash, None),
            false => crypt(password, hash, None, None),
        };
        assert_eq!(matches, expected.expect("what verifies can be hashed") == hash);
    }
});
