//! What a policy decides alike at logins, in a census, for wrapping and for decoys.

use saltern::policy::{DecoyCost, Limits, Params, Replace, Scheme};
use saltern::table::{Census, Table};
use saltern::{ErrorKind, Outcome, Passwords, Policy};

use super::logins::{OLD, cheap};

/// The kind of error of a login, or its outcome.
fn login(passwords: &Passwords, password: &str, stored: &str) -> Result<Outcome, ErrorKind> {
    passwords.verify("account", password, Some(stored)).wait().map_err(|error| error.kind())
}

/// Of a long password sha-crypt takes more. What decides is the longest one that the policy takes,
/// for logins as for everything that has no password: nobody's length of a password is told, and a
/// census knows what will be refused.
#[test]
fn one_length_decides_whether_a_string_is_too_expensive() {
    let mut policy = cheap();
    policy.limits.max_work = 64 << 20;
    let near = format!("$5$rounds=30000$salt${:.<43}", "");
    for (longest, admitted) in [(511, false), (100, true)] {
        policy.limits.max_password = longest;
        let passwords = Passwords::new(policy.clone()).unwrap();
        let expected = if admitted { Ok(Outcome::Mismatch) } else { Err(ErrorKind::OverLimit) };
        assert_eq!(login(&passwords, "short", &near), expected);
        assert_eq!(login(&passwords, &"x".repeat(longest), &near), expected);
        let wrapped = passwords.wrap(&near).wait().map(|wrapped| wrapped.is_some());
        assert_eq!(wrapped.is_ok(), admitted);
        let mut census = Census::default();
        passwords.table().count(&near, &mut census).unwrap();
        assert_eq!(census.refused == 0, admitted);
        let mut decoys = policy.clone();
        decoys.decoy.costs = vec![DecoyCost { like: "$5$rounds=30000$salt".to_owned(), share: 1 }];
        assert_eq!(decoys.check().is_ok(), admitted);
        let prepared = saltern::Prepared::new(policy.clone()).unwrap();
        assert_eq!(prepared.can_verify(&near).is_ok(), admitted);
    }
}

/// Whatever a policy allows, a cost is a number.
#[test]
fn no_limit_is_too_large_to_be_counted_with() {
    let mut policy = cheap();
    policy.limits = Limits::unlimited();
    policy.pool.memory = u64::MAX;
    let table = Table::open(&policy).unwrap();
    let mut census = Census::default();
    for (stored, _) in OLD {
        table.count(stored, &mut census).unwrap();
    }
    assert_eq!((census.accounts, census.refused), (OLD.len() as u64, 0));
}

/// What a login refuses it does not keep, and a census says of a string what `needs_rehash` says.
#[test]
fn a_census_agrees_with_what_is_said_of_each_string() {
    let mut policy = cheap();
    (policy.params, policy.floor) = (Params::yescrypt(16, 8), Params::yescrypt(16, 8));
    policy.schemes.retain(|scheme| *scheme != Scheme::Bcrypt);
    let (table, mut census) = (Table::open(&policy).unwrap(), Census::default());
    table.count(OLD[0].0, &mut census).unwrap();
    assert_eq!(table.needs_rehash(OLD[0].0).unwrap().words(), ["scheme"]);
    assert_eq!((census.refused, census.kept), (1, 0));
    assert_eq!((census.outdated, census.needs_login), (1, 1));
}

/// A string of another scheme that is stronger than new ones is kept, and that is said; under
/// `Replace::Others` a match replaces it.
#[test]
fn the_policy_says_whether_stronger_strings_of_other_schemes_are_replaced() {
    let strong = "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm";
    let mut policy = cheap();
    (policy.params, policy.floor) = (Params::yescrypt(16, 8), Params::yescrypt(16, 8));
    let kept = |policy: &Policy, stored: &str| {
        let (table, mut census) = (Table::open(policy).unwrap(), Census::default());
        table.count(stored, &mut census).unwrap();
        (census.kept, census.outdated)
    };
    let weaker = Passwords::new(policy.clone()).unwrap();
    let wrapped = weaker.wrap(strong).wait().unwrap().unwrap();
    policy.replace = Replace::Others;
    let text = policy.to_toml().unwrap();
    assert!(text.contains("\nreplace = \"others\"\n"), "{text}");
    assert_eq!(Policy::parse(&text, "").unwrap().replace, Replace::Others);
    let others = Passwords::new(policy.clone()).unwrap();
    for stored in [strong, &wrapped] {
        assert_eq!(kept(weaker.table().policy(), stored), (1, 0), "{stored}");
        assert_eq!(kept(&policy, stored), (0, 1), "{stored}");
        let outcome = login(&others, "password", stored);
        let Ok(Outcome::Match { update: Some(update), .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(update.new.starts_with("$y$"), "{update:?}");
        assert!(!others.table().needs_rehash(&update.new).unwrap().any());
    }
    // By scheme: also within another hash, and no other scheme than those that are named.
    policy.replace = Replace::Schemes(vec![Scheme::Bcrypt, Scheme::Hex]);
    let text = policy.to_toml().unwrap();
    assert!(text.contains("\nreplace = [\"bcrypt\", \"hex\"]\n"), "{text}");
    assert_eq!(Policy::parse(&text, "").unwrap().replace, policy.replace);
    let named = Passwords::new(policy.clone()).unwrap();
    let mut other = policy.clone();
    other.replace = Replace::Schemes(vec![Scheme::Hex]);
    let of_another = Passwords::new(other.clone()).unwrap();
    for stored in [strong, &wrapped] {
        assert_eq!(kept(&policy, stored), (0, 1), "{stored}");
        assert_eq!(kept(&other, stored), (1, 0), "{stored}");
        let reasons = named.table().needs_rehash(stored).unwrap();
        assert_eq!(reasons.words(), [if stored == strong { "scheme" } else { "wrapped" }]);
        let update = |passwords| match login(passwords, "password", stored) {
            Ok(Outcome::Match { update, .. }) => update,
            outcome => panic!("{outcome:?}"),
        };
        assert!(update(&named).unwrap().new.starts_with("$y$"));
        assert_eq!(update(&of_another), None);
    }
    // A weaker one is replaced, whatever is named.
    let weak = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
    assert_eq!(kept(&other, weak), (0, 1));
    // A stronger one of ours is kept under each.
    let ours = Passwords::new(cheap()).unwrap().hash("password").wait().unwrap();
    for policy in [weaker.table().policy(), others.table().policy(), &policy] {
        assert_eq!(kept(policy, &ours), (0, 0));
    }
}

/// Passwords that crypt(3) does not take: old strings of other programs may have them. Whoever has
/// one logs in, and keeps the string, of which no new one can be made.
#[test]
fn a_password_too_long_for_crypt_matches_and_its_string_is_kept() {
    let mut policy = cheap();
    policy.limits.max_password = 1024;
    let passwords = Passwords::new(policy).unwrap();
    // PBKDF2-HMAC-SHA256 of 600 times `x`, salt `seasalt`, 1000 rounds, by Python's hashlib.
    let stored = "pbkdf2_sha256$1000$seasalt$0aBSauOjyP2tuRJF9y70pjz/H/PPNfECaB8AieB28hQ=";
    let long = "x".repeat(600);
    let outcome = login(&passwords, &long, stored);
    let Ok(Outcome::Match { outdated, update: None, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(outdated.scheme);
    assert_eq!(login(&passwords, &"x".repeat(599), stored), Ok(Outcome::Mismatch));
    let new = passwords.hash(&long).wait();
    assert_eq!(new.map_err(|error| error.kind()), Err(ErrorKind::BadInput));
}

/// What a policy says of passwords does not hold for the digest in a wrapped string, which may be
/// longer.
#[test]
fn a_short_limit_of_passwords_refuses_no_wrapped_string() {
    let mut policy = cheap();
    policy.limits.max_password = 16;
    let passwords = Passwords::new(policy).unwrap();
    for (stored, password) in OLD.into_iter().filter(|(stored, _)| !stored.starts_with("$7$")) {
        let wrapped = passwords.wrap(stored).wait().unwrap().unwrap();
        assert!(login(&passwords, password, &wrapped).is_ok_and(|outcome| outcome.is_match()));
        assert_eq!(login(&passwords, "no", &wrapped), Ok(Outcome::Mismatch), "{wrapped}");
        assert_eq!(login(&passwords, &"x".repeat(17), &wrapped), Err(ErrorKind::OverLimit));
    }
}

/// Where a password that the policy refuses has a stand-in, strings of ours are of that, and those
/// of other programs of the password itself.
#[test]
fn a_refused_password_is_compared_with_what_other_programs_have_made() {
    let passwords = Passwords::new(cheap()).unwrap();
    let login = |password: &[u8], stored: Option<&str>| {
        let ticket = passwords.verify_any("account", password, "stand-in", stored);
        ticket.wait().map_err(|error| error.kind())
    };
    let long = [b'x'; 600];
    let ours = passwords.hash("stand-in").wait().unwrap();
    let of_itself = passwords.hash("short").wait().unwrap();
    let pbkdf2 = "pbkdf2_sha256$1000$seasalt$0aBSauOjyP2tuRJF9y70pjz/H/PPNfECaB8AieB28hQ=";
    let wrapped = passwords.wrap(pbkdf2).wait().unwrap().unwrap();
    let locked = format!("!{pbkdf2}");
    for stored in [&*ours, pbkdf2, &wrapped] {
        assert!(login(&long, Some(stored)).is_ok_and(|outcome| outcome.is_match()), "{stored}");
    }
    for stored in [&*of_itself, pbkdf2, &wrapped] {
        assert_eq!(login(&long[1..], Some(stored)), Ok(Outcome::Mismatch), "{stored}");
        assert_eq!(login(b"a\0b", Some(stored)), Ok(Outcome::Mismatch), "{stored}");
        assert_eq!(login(b"stand-in", Some(stored)), Ok(Outcome::Mismatch), "{stored}");
    }
    assert_eq!(login(&long, Some(&locked)), Ok(Outcome::Locked));
    assert_eq!(login(&long, None), Ok(Outcome::Mismatch));
    // What the policy takes has no stand-in.
    assert!(login(b"short", Some(&of_itself)).is_ok_and(|outcome| outcome.is_match()));
    assert_eq!(login(b"short", Some(&ours)), Ok(Outcome::Mismatch));
    // What takes longer for it is refused at every length, and the string if it costs too much.
    let slow = format!("$5$salt${:.<43}", "");
    let costly = format!("$5$rounds=900000$salt${:.<43}", "");
    let slow_within = passwords.wrap(&slow).wait().unwrap().unwrap();
    for stored in [&slow, &slow_within] {
        assert_eq!(login(&[b'x'; 511], Some(stored)), Ok(Outcome::Mismatch), "{stored}");
        assert_eq!(login(&long, Some(stored)), Err(ErrorKind::OverLimit), "{stored}");
    }
    for password in [&b"a\0b"[..], &long, b"short"] {
        assert_eq!(login(password, Some(&costly)), Err(ErrorKind::OverLimit));
    }
}
