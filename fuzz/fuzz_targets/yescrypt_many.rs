//! Many passwords and hash strings at once, under tight limits: the same answers as one by one.
//!
//! Input: lines, by turns a password and a hash string.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use saltern_yescrypt::{
    Hasher, Limits, Verification, Workspace,
    params::{FlavorPolicy, Syntax},
};

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
}

fuzz_target!(|input: &[u8]| {
    let lines: Vec<&[u8]> = input.split(|&byte| byte == b'\n').take(24).collect();
    let items: Vec<_> = lines
        .chunks_exact(2)
        .map(|pair| Verification { password: pair[0], hash: pair[1] })
        .collect();
    let mut limits = Limits::server();
    limits.max_memory = 1 << 19;
    limits.max_work = 1 << 22;
    (limits.flavors, limits.syntax) = (FlavorPolicy::Any, Syntax::Wide);
    limits.max_password = 4096;
    let hasher = Hasher::new().with_limits(limits);
    WORKSPACE.with_borrow_mut(|workspace| {
        let together = hasher.verify_many(workspace, &items);
        assert_eq!(together.len(), items.len());
        for (item, answer) in items.iter().zip(together) {
            assert_eq!(answer, hasher.verify(workspace, item.password, item.hash));
        }
    });
});
