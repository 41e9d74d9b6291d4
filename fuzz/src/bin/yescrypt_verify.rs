//! Any password and any bytes as a hash string, under tight limits: an answer, quickly, within the
//! memory allowed, and the reference's answer where it is a yes or a no.
//!
//! Input: the password, a newline, the hash string (the password is empty without a newline).
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use saltern_reference::yescrypt::{crypt, escrypt as reference};
use saltern_yescrypt::{
    Hasher, Limits, Scheme, Workspace,
    params::{FlavorPolicy, Syntax},
};

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
}

fuzz_target!(|input: &[u8]| {
    let (password, hash) = match input.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (&b""[..], input),
    };
    // The reference knows neither extended strings nor names before `$y$`: those are for another
    // target.
    if Scheme::of(hash) == Some(Scheme::Extended) || hash.starts_with(b"{") {
        return;
    }
    let mut limits = Limits::server();
    limits.max_memory = 1 << 20;
    limits.max_work = 1 << 23;
    (limits.flavors, limits.syntax) = (FlavorPolicy::Any, Syntax::Wide);
    limits.max_password = 4096;
    let hasher = Hasher::new().with_limits(limits);
    let answer = WORKSPACE.with_borrow_mut(|workspace| hasher.verify(workspace, password, hash));
    if let Ok(matches) = answer {
        let expected = match Scheme::of(hash) == Some(Scheme::Escrypt) {
            true => reference::crypt(password, hash, None),
            false => crypt(password, hash, None, None),
        };
        assert_eq!(matches, expected.expect("what verifies can be hashed") == hash);
    }
});
