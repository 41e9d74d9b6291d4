//! Several policies that share one pool, without updates, and with salts that are given.

use std::sync::Arc;

use saltern::policy::Params;
use saltern::{Outcome, Passwords, Prepared};
use saltern_pool::Pool;

use super::logins::{cheap, kept};

#[test]
fn policies_share_a_pool_and_keep_what_they_say() {
    let mut dear = cheap();
    dear.params = Params::yescrypt(1024, 8);
    let [cheap, dear] = [cheap(), dear].map(|policy| Prepared::new(policy).unwrap());
    let pool = Arc::new(Pool::new(dear.pool_config()).unwrap());
    assert!(!pool.is_forked());
    let [cheap, dear] = [cheap, dear].map(|one| Passwords::in_pool(&one, Arc::clone(&pool)));
    let stored = cheap.hash("password").wait().unwrap();
    let verify = |passwords: &Passwords, password: &str| {
        passwords.verify("account", password, Some(&stored)).wait().unwrap()
    };
    assert_eq!(verify(&cheap, "password"), kept(&cheap, &stored));
    assert!(matches!(verify(&dear, "password"), Outcome::Match { update: Some(_), .. }));
    // Both were computed there, and of the update nothing where nobody wants it.
    let before = pool.stats().hashes;
    let silent = dear.without_updates();
    assert_eq!(verify(&silent, "password"), kept(&silent, &stored));
    assert_eq!(verify(&silent, "wrong"), Outcome::Mismatch);
    assert_eq!(pool.stats().hashes, before + 2);
}

#[test]
fn a_salt_that_is_given_is_the_one_of_the_string() {
    let passwords = Passwords::new(cheap()).unwrap();
    let stored = passwords.hash_with_salt("password", b"salt").wait().unwrap();
    assert_eq!(stored, passwords.hash_with_salt("password", b"salt").wait().unwrap());
    let outcome = passwords.verify("account", "password", Some(&stored)).wait().unwrap();
    assert!(outcome.is_match());
    assert!(passwords.hash_with_salt("password", [0; 65]).wait().is_err());
    assert!(passwords.hash_with_salt("pass\0word", b"salt").wait().is_err());
}
