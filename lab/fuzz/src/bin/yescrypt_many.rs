//! Passwords and hash strings under tight limits, those of one shape computed together: the same
//! answers as one by one.
//!
//! Input: lines, by turns a password and a hash string.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_fuzz::{tight_limits, with_workspace};
use saltern_yescrypt::{
    HashString, Hasher,
    hazmat::{Derivation, derive_many},
};

fuzz_target!(|input: &[u8]| {
    let lines: Vec<&[u8]> = input.split(|&byte| byte == b'\n').take(24).collect();
    let mut limits = tight_limits();
    (limits.max_memory, limits.max_work) = (1 << 19, 1 << 22);
    let hasher = Hasher::new().with_limits(limits);
    let planned = lines.chunks_exact(2).filter_map(|pair| {
        let stored = HashString::parse(pair[1]).ok()?;
        Some((hasher.plan(pair[0], stored.setting()).ok()?, stored, pair))
    });
    let mut items: Vec<_> = planned.collect();
    with_workspace(|workspace| {
        while let Some((first, ..)) = items.first() {
            let params = first.params;
            let (alike, others): (Vec<_>, Vec<_>) =
                items.into_iter().partition(|(plan, ..)| plan.params == params);
            let mut hashes = vec![[0; 32]; alike.len()];
            let mut jobs: Vec<_> = alike
                .iter()
                .zip(&mut hashes)
                .map(|((plan, _, pair), out)| Derivation {
                    password: pair[0],
                    salt: &plan.salt,
                    out,
                })
                .collect();
            derive_many(&mut jobs, &params, None, workspace).unwrap();
            for ((_, stored, pair), hash) in alike.iter().zip(&hashes) {
                assert_eq!(
                    hasher.matches(stored, hash),
                    hasher.verify(workspace, pair[0], pair[1])
                );
            }
            items = others;
        }
    });
});
