//! Logins that are remembered, and everything that makes them other logins.

use std::time::Duration;

use saltern::policy::{Params, Remember};
use saltern::{ErrorKind, Outcome, Passwords, Policy};

use super::logins::{OLD, cheap, key};

fn remembering() -> Policy {
    let mut policy = cheap();
    policy.remember = Some(Remember { time: Duration::from_secs(3600), entries: 1000 });
    policy
}

/// Whether a login matches, and whether its answer was remembered. If it was, nothing was computed.
#[track_caller]
fn login(passwords: &Passwords, account: &str, password: &str, stored: &str) -> (bool, bool) {
    let before = passwords.pool().stats().hashes;
    let outcome = passwords.verify(account, password, Some(stored)).wait().unwrap();
    let computed = passwords.pool().stats().hashes > before;
    let remembered = matches!(outcome, Outcome::Match { remembered: true, .. });
    assert_eq!(computed, !remembered, "{outcome:?}");
    (outcome.is_match(), remembered)
}

#[test]
fn a_login_that_matched_is_answered_again_without_a_hash() {
    let passwords = Passwords::new(remembering()).unwrap();
    let [stored, other] = [(); 2].map(|()| passwords.hash("secret").wait().unwrap());
    assert_eq!(login(&passwords, "alice", "Secret", &stored), (false, false));
    assert_eq!(login(&passwords, "alice", "Secret", &stored), (false, false));
    assert_eq!(login(&passwords, "alice", "secret", &stored), (true, false));
    assert_eq!(login(&passwords, "alice", "secret", &stored), (true, true));
    assert_eq!(login(&passwords, "alice", "Secret", &stored), (false, false));
    assert_eq!(login(&passwords, "bob", "secret", &stored), (true, false));
    assert_eq!(login(&passwords, "alice", "secret", &other), (true, false));
    let locked = format!("!{stored}");
    let outcome = passwords.verify("alice", "secret", Some(&locked)).wait();
    assert_eq!(outcome, Ok(Outcome::Locked));
    assert_eq!(passwords.verify("alice", "secret", None).wait(), Ok(Outcome::Mismatch));
}

#[test]
fn a_new_policy_remembers_nothing_of_the_old_one() {
    let passwords = Passwords::new(remembering()).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    assert_eq!(login(&passwords, "alice", "secret", &stored), (true, false));
    let mut policy = remembering();
    policy.keys.push(key("2026", 7, false));
    for policy in [remembering(), policy] {
        let renewed = passwords.renew(policy).unwrap();
        assert_eq!(login(&renewed, "alice", "secret", &stored), (true, false));
        assert_eq!(login(&renewed, "alice", "secret", &stored), (true, true));
    }
    let mut stricter = remembering();
    stricter.limits.max_memory = 1 << 16;
    (stricter.params, stricter.floor) = (Params::yescrypt(16, 8), Params::yescrypt(16, 8));
    let renewed = passwords.renew(stricter).unwrap();
    let refused = renewed.verify("alice", "secret", Some(&stored)).wait();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OverLimit);
    assert_eq!(login(&passwords, "alice", "secret", &stored), (true, true));
}

/// A string whose replacement is not stored yet is computed until it is, so that the caller gets
/// the replacement; one who stores none is answered.
#[test]
fn an_update_that_is_due_is_not_forgotten() {
    let passwords = Passwords::new(remembering()).unwrap();
    let without = passwords.without_updates();
    for (stored, password) in OLD {
        for _ in 0..2 {
            let outcome = passwords.verify("alice", password, Some(stored)).wait().unwrap();
            let Outcome::Match { update, remembered, .. } = outcome else { panic!("{stored}") };
            assert!(update.is_some() && !remembered, "{stored}");
        }
        assert_eq!(login(&without, "alice", password, stored), (true, false), "{stored}");
        assert_eq!(login(&without, "alice", password, stored), (true, true), "{stored}");
        let outcome = without.verify("alice", password, Some(stored)).wait().unwrap();
        let Outcome::Match { outdated, .. } = outcome else { panic!("{stored}") };
        assert_eq!(outdated, passwords.table().needs_rehash(stored).unwrap());
        let outcome = passwords.verify("alice", password, Some(stored)).wait().unwrap();
        assert!(matches!(outcome, Outcome::Match { update: Some(_), .. }), "{stored}");
    }
}

#[test]
fn nothing_is_remembered_unless_the_policy_asks_for_it() {
    let passwords = Passwords::new(cheap()).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    for _ in 0..2 {
        assert_eq!(login(&passwords, "alice", "secret", &stored), (true, false));
    }
}

/// A password that is refused at a login is refused, whatever is remembered.
#[test]
fn what_is_refused_is_not_answered() {
    let mut policy = remembering();
    policy.limits.max_password = 6;
    let passwords = Passwords::new(policy).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    assert_eq!(login(&passwords, "alice", "secret", &stored), (true, false));
    let refused = passwords.verify("alice", "secrets", Some(&stored)).wait();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OverLimit);
}

#[test]
fn its_keys_in_a_file() {
    let parse = |text: &str| Policy::parse(text, "");
    assert_eq!(parse("# none\n").unwrap().remember, None);
    assert_eq!(parse("[remember]\n").unwrap().remember, Some(Remember::default()));
    let policy = parse("[remember]\ntime = \"90s\"\nentries = 12\n").unwrap();
    let expected = Remember { time: Duration::from_secs(90), entries: 12 };
    assert_eq!(policy.remember, Some(expected.clone()));
    assert_eq!(parse(&policy.to_toml().unwrap()).unwrap().remember, Some(expected));
    for (text, message) in [
        (
            "time = \"1441min\"",
            "policy:2: remember.time = \"1441min\": \
             expected a time above zero, at most a day: \"1440min\"",
        ),
        ("entries = 0", "policy:2: remember.entries = 0: expected 1 to 4194304"),
        ("entries = 4194305", "policy:2: remember.entries = 4194305: expected 1 to 4194304"),
        ("size = 3", "policy:2: remember.size = 3: expected a known key: one of entries, time"),
    ] {
        let invalid = parse(&format!("[remember]\n{text}\n")).unwrap_err();
        assert_eq!(invalid.to_string(), message);
    }
}
