//! Memory of other schemes, as counted by the system. In a separate process: other tests would
//! disturb it.
#![cfg(all(target_os = "linux", feature = "argon2"))]

use saltern::policy::{DecoyCost, Scheme};
use saltern::{Outcome, Passwords, Policy};
use saltern_testing::process::memory;

/// What Argon2 took goes back to the system: it is not in the books of the pool any more.
#[test]
fn memory_of_argon2_goes_back() {
    let mut policy = Policy::default();
    policy.schemes.push(Scheme::Argon2);
    policy.pool.threads = 2;
    let like = "$argon2id$v=19$m=19456,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$32".to_owned();
    policy.decoy.costs = vec![DecoyCost { like, share: 1 }];
    let passwords = Passwords::new(policy).unwrap();
    let before = memory("self", "VmRSS");
    for _ in 0..4 {
        let logins: Vec<_> = (0..4).map(|_| passwords.verify("nobody", "secret", None)).collect();
        for login in logins {
            assert_eq!(login.wait(), Ok(Outcome::Mismatch));
        }
    }
    assert_eq!(passwords.pool().stats().reserved, 0);
    let kept = memory("self", "VmRSS").saturating_sub(before);
    assert!(kept < 8 << 20, "{} MiB", kept >> 20);
}
