//! Single logins.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use saltern::policy::{Key, KeySource, Params, Scheme, Secret};
use saltern::{Error, ErrorKind, Outcome, Passwords, Policy};

/// A policy whose hashes take a millisecond.
pub(super) fn cheap() -> Policy {
    let mut policy = Policy::default();
    policy.params = Params::yescrypt(256, 8);
    policy.floor = Params::yescrypt(64, 8);
    policy.schemes =
        Scheme::ALL.into_iter().filter(|one| one.missing_feature().is_none()).collect();
    policy.pool.threads = 2;
    policy
}

pub(super) fn key(name: &str, byte: u8, active: bool) -> Key {
    let source = KeySource::Value(Secret::new([byte; 32]));
    Key { name: name.parse().unwrap(), source, active }
}

fn login(passwords: &Passwords, password: &str, stored: &str) -> Result<Outcome, Error> {
    passwords.verify("account", password, Some(stored)).wait()
}

/// A match whose string stays as it is, outdated as the table has it.
pub(super) fn kept(passwords: &Passwords, stored: &str) -> Outcome {
    let outdated = passwords.table().needs_rehash(stored).unwrap();
    Outcome::Match { outdated, update: None, remembered: false }
}

/// Old strings of many schemes, and their passwords. The other programs have made them.
pub(super) const OLD: [(&str, &str); 11] = [
    ("$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm", "password"),
    ("{SSHA}Ixeqctr6CgfwWvR7qi44j5Xc9vMxMjM0NTY3OA==", "password"),
    ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "password"),
    ("{MD5}X03MO1qnZdYdgyfeuILPmQ==", "password"),
    ("5f4dcc3b5aa765d61d8327deb882cf99", "password"),
    ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8", "password"),
    ("pbkdf2_sha256$1000$seasalt$YIWkt6M1JFXrHg5s0jZjBSc7C2Cz6QvchSJ0h8Y+i7c=", "password"),
    (
        "$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$\
         Wb9DOLKUgwlL5fjad9tfCPU0SBAo0PEY/evJRhwtUR0",
        "password",
    ),
    ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
    (
        "$6$rounds=1000$saltstring$EzTqOEb9gQc3Va/4p4pnqWqp/wIh1Otyhg9H9E8sV0eDyHGbNBkoMxYIM0ODHPBf\
         mDNWb6wRiAvTriYxeDgb9.",
        "password",
    ),
    ("$7$46..../....SodiumChloride$wQNDi28JAWNpxMMnflTwTz.2wZGzUu1uz3FMPxob31D", "pleaseletmein"),
];

#[test]
fn a_match_with_an_old_string_has_an_update_and_its_update_has_none() {
    let passwords = Passwords::new(cheap()).unwrap();
    for (stored, password) in OLD {
        for before in ["", "{CRYPT}"] {
            let stored = format!("{before}{stored}");
            assert_eq!(login(&passwords, "wrong", &stored), Ok(Outcome::Mismatch), "{stored}");
            let outcome = login(&passwords, password, &stored);
            let Ok(Outcome::Match { update: Some(update), .. }) = outcome else {
                panic!("{stored}: {outcome:?}")
            };
            assert_eq!(update.old, stored);
            assert!(update.new.starts_with(&format!("{before}$y$")), "{}", update.new);
            let again = login(&passwords, password, &update.new);
            assert_eq!(again, Ok(kept(&passwords, &update.new)));
            assert_eq!(login(&passwords, "wrong", &update.new), Ok(Outcome::Mismatch));
        }
    }
}

#[test]
fn a_stronger_hash_is_kept_and_moves_between_keys_as_it_is() {
    let mut strong = cheap();
    strong.params = Params::yescrypt(1024, 8);
    let stored = Passwords::new(strong).unwrap().hash("secret").wait().unwrap();
    let weaker = Passwords::new(cheap()).unwrap();
    assert_eq!(login(&weaker, "secret", &stored), Ok(kept(&weaker, &stored)));
    let mut keyed = cheap();
    keyed.keys.push(key("2026", 1, true));
    let keyed = Passwords::new(keyed).unwrap();
    let Ok(Outcome::Match { update: Some(update), .. }) = login(&keyed, "secret", &stored) else {
        panic!("no update")
    };
    // The same hash, encrypted: N is what it was.
    assert!(
        update.new.starts_with("{key=2026+") && update.new.contains(&stored[..7]),
        "{}",
        update.new
    );
    assert_eq!(login(&keyed, "secret", &update.new), Ok(kept(&keyed, &update.new)));
}

#[test]
fn who_stores_no_updates_has_none_and_nothing_is_computed_for_them() {
    let passwords = Passwords::new(cheap()).unwrap();
    let weak = saltern_yescrypt::Hasher::new().with_params(Params::yescrypt(64, 8));
    let stored = &weak.hash(&mut saltern_yescrypt::Workspace::new(), b"secret").unwrap();
    let asks = passwords.without_updates();
    assert_eq!(login(&asks, "secret", stored), Ok(kept(&asks, stored)));
    assert_eq!(passwords.pool().stats().hashes, 1);
    assert!(passwords.table().needs_rehash(stored).unwrap().cost, "and that is told");
    assert!(matches!(
        login(&passwords, "secret", stored),
        Ok(Outcome::Match { update: Some(_), .. })
    ));
    assert_eq!(passwords.pool().stats().hashes, 3);
    // It is the same in all else.
    assert_eq!(login(&asks.bulk(), "wrong", stored), Ok(Outcome::Mismatch));
}

#[test]
fn locked_accounts_match_nothing_and_cost_what_others_do() {
    let passwords = Passwords::new(cheap()).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    for (count, locked) in ["*", "!", "!!", "*LK*", &format!("!{stored}")].into_iter().enumerate() {
        assert_eq!(login(&passwords, "secret", locked), Ok(Outcome::Locked));
        assert_eq!(passwords.pool().stats().hashes, 2 + count as u64);
    }
}

#[test]
fn errors_have_kinds_and_are_no_mismatches() {
    let mut policy = cheap();
    policy.schemes = vec![Scheme::Yescrypt, Scheme::Argon2];
    let passwords = Passwords::new(policy).unwrap();
    let kind = |stored: &str| login(&passwords, "secret", stored).map_err(|error| error.kind());
    for bad in
        ["", "x", "hello", "$y$j9T$abc", "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA", "{over="]
    {
        assert_eq!(kind(bad), Err(ErrorKind::BadInput), "{bad}");
    }
    let digest = "c2FsdHNhbHRzYWx0c2FsdA";
    let over = [
        "5f4dcc3b5aa765d61d8327deb882cf99".to_owned(),
        format!("$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHQ${digest}"),
        format!("$argon2id$v=19$m=65536,t=999999999,p=1$c2FsdHNhbHQ${digest}"),
        format!(
            "{{over=$argon2id$v=19$m=65536,t=99999,p=1$c2FsdHNhbHQ$16}}$y$j75$abcd${:.<43}",
            ""
        ),
        "$y$jFT$abcdefgh$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8".to_owned(),
    ];
    for over in over {
        assert_eq!(kind(&over), Err(ErrorKind::OverLimit), "{over}");
    }
    let keyed = "{key=gone}$y$j75$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8";
    assert_eq!(kind(keyed), Err(ErrorKind::Unavailable));
    // Nothing of that was computed.
    assert_eq!(passwords.pool().stats().hashes, 0);
    for password in ["x".repeat(512), "a\0b".to_owned()] {
        for stored in [None, Some("*")] {
            assert!(passwords.verify("account", &password, stored).wait().is_err());
        }
    }
    let late = passwords.within(Duration::ZERO).hash("secret").wait();
    assert_eq!(late.map_err(|error| error.kind()), Err(ErrorKind::Overloaded));
}

/// The first 72 bytes count, as when the string was made; the update is a hash of all of them.
#[test]
fn bcrypt_ends_after_72_bytes_and_its_update_does_not() {
    let passwords = Passwords::new(cheap()).unwrap();
    let long = "a".repeat(72);
    let stored = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe";
    assert!(login(&passwords, &long, stored).unwrap().is_match());
    assert_eq!(login(&passwords, &long[1..], stored), Ok(Outcome::Mismatch));
    let beyond = login(&passwords, &(long.clone() + "b"), stored);
    let Ok(Outcome::Match { update: Some(update), .. }) = beyond else { panic!("{beyond:?}") };
    assert_eq!(login(&passwords, &long, &update.new), Ok(Outcome::Mismatch));
    assert!(login(&passwords, &(long + "b"), &update.new).unwrap().is_match());
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Under the smallest executor that there is.
fn block_on<F: Future>(future: F) -> F::Output {
    let (waker, mut future) = (Waker::from(Arc::new(Unpark(std::thread::current()))), pin!(future));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn tickets_are_futures_in_one_step_and_in_three() {
    let passwords = Passwords::new(cheap()).unwrap();
    block_on(async {
        let stored = passwords.hash("password").await.unwrap();
        assert!(passwords.verify("a", "password", Some(&stored)).await.unwrap().is_match());
        // The digest, the hash around it, and the hash that takes their place.
        let old = "5f4dcc3b5aa765d61d8327deb882cf99";
        let wrapped = passwords.wrap(old).await.unwrap().unwrap();
        assert!(wrapped.starts_with("{over=md5}$y$"));
        let outcome = passwords.verify("a", "password", Some(&wrapped)).await.unwrap();
        let Outcome::Match { update: Some(update), .. } = outcome else { panic!("{outcome:?}") };
        assert!(update.new.starts_with("$y$"));
        // The digest itself opens nothing.
        let digest = passwords.verify("a", old, Some(&wrapped)).await.unwrap();
        assert_eq!(digest, Outcome::Mismatch);
    });
    let slow = passwords.verify("a", "x", None);
    assert_eq!(slow.wait_timeout(Duration::from_secs(60)).unwrap(), Ok(Outcome::Mismatch));
}

#[test]
fn a_string_that_no_login_can_verify_is_outdated_however_strong_it_is() {
    let (strong, password) = OLD[0];
    let mut policy = cheap();
    (policy.params, policy.floor) = (Params::yescrypt(16, 8), Params::yescrypt(16, 8));
    let accepting = Passwords::new(policy.clone()).unwrap();
    assert!(!accepting.table().needs_rehash(strong).unwrap().any());
    let wrapped = accepting.wrap(strong).wait().unwrap().unwrap();
    policy.schemes = vec![Scheme::Yescrypt];
    let refusing = Passwords::new(policy).unwrap();
    for stored in [strong, &wrapped] {
        assert_eq!(login(&refusing, password, stored).unwrap_err().kind(), ErrorKind::OverLimit);
        assert_eq!(refusing.table().needs_rehash(stored).unwrap().words(), ["scheme"]);
    }
}
