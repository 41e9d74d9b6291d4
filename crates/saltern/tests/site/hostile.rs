//! Strings, passwords and moments that somebody chose to do harm.

use std::sync::mpsc;
use std::time::Duration;

use saltern::policy::{DecoyCost, KeySource, Params, Scheme, Secret};
use saltern::table::{Census, Table};
use saltern::{ErrorKind, Outcome, Passwords};
use saltern_pool::task::Task;
use saltern_pool::{OneTicket, Terms};
use saltern_yescrypt::params::Syntax;

use super::logins::{OLD, cheap, kept, key};

/// The kind of error of a login, or its outcome.
fn login(passwords: &Passwords, password: &str, stored: &str) -> Result<Outcome, ErrorKind> {
    passwords.verify("account", password, Some(stored)).wait().map_err(|error| error.kind())
}

/// Strings that no program of their scheme writes.
fn bad() -> Vec<String> {
    let (salt, digest) = ("c2FsdHNhbHRzYWx0c2FsdA", "Wb9DOLKUgwlL5fjad9tfCPU0SBAo0PEY/evJRhwtUR0");
    let argon2 = |fields: &str| format!("$argon2id$v=19${fields}${salt}${digest}");
    let django = |rounds: &str| {
        format!("pbkdf2_sha256${rounds}$seasalt$YIWkt6M1JFXrHg5s0jZjBSc7C2Cz6QvchSJ0h8Y+i7c=")
    };
    let sha = format!("$5${{}}saltstring${:.<43}", "");
    vec![
        // Fields that are not known, repeated, missing, out of order, or written in other ways.
        argon2("m=64,t=1,p=1,data=AAAA"),
        argon2("m=64,t=1,p=1,keyid=AAAA"),
        argon2("m=64,m=64,t=1,p=1"),
        argon2("t=1,m=64,p=1"),
        argon2("m=64,t=1"),
        argon2("m=+64,t=1,p=1"),
        argon2("m=064,t=1,p=1"),
        argon2("m=64,t=0,p=1"),
        argon2("m=8,t=1,p=2"),
        argon2("m=99999999999,t=1,p=1"),
        format!("$argon2id$v=18$m=64,t=1,p=1${salt}${digest}"),
        format!("$argon2id$v=19$v=19$m=64,t=1,p=1${salt}${digest}"),
        format!("$argon2id$v=19$m=64,t=1,p=1${salt}${digest}$"),
        format!("$argon2id$v=19$m=64,t=1,p=1${salt}=={digest}"),
        // Bits after the last byte that are not zero.
        format!("$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdB${digest}"),
        format!("$argon2id$v=19$m=64,t=1,p=1${salt}$Wb9DOLKUgwlL5fjad9tfCPU0SBAo0PEY/evJRhwtUR1"),
        format!("$argon2id$v=19$m=64,t=1,p=1${}${digest}", "A".repeat(1000)),
        django("+1000"),
        django("1_000"),
        django("01000"),
        django("1000 "),
        django("-1"),
        django("0"),
        django("4294967296"),
        django("1000").replace("i7c=", "i7d="),
        django("1000").replace("i7c=", "i7c"),
        django("1000").replace("seasalt", "sea\u{e9}"),
        format!("$pbkdf2-sha256$1000$c+lt${digest}"),
        format!("$pbkdf2-sha256$i=1000$c2FsdA${digest}"),
        format!("$pbkdf2-sha256$i=1000,l=31$c2FsdA${digest}"),
        format!("$pbkdf2-sha256$i=1000,l=32,l=32$c2FsdA${digest}"),
        format!("$pbkdf2-sha256$l=32,i=1000$c2FsdA${digest}"),
        sha.replace("{}", "rounds=999$"),
        sha.replace("{}", "rounds=1000000000$"),
        sha.replace("{}", "rounds=01000$"),
        sha.replace("{}", "rounds=+1000$"),
        sha.replace("{}", "rounds=1000$rounds=1000$"),
        sha.replace("{}", "toolong"),
        "$2b$4$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2b$03$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2b$32$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2b$+4$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2c$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzd\u{e9}".to_owned(),
        "{SSHA}Ixeqctr6CgfwWvR7qi44j5Xc9vM=".to_owned(),
        "{SHA}Ixeqctr6CgfwWvR7qi44j5Xc9vMxMjM0NTY3OA==".to_owned(),
        "{CRYPT}".to_owned(),
        "{CRYPT}{CRYPT}$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        // Wrapped ones: one level only, one spelling, nothing but yescrypt around it.
        format!("{{over=md5}}{{over=md5}}$y$j75$abcd${:.<43}", ""),
        format!("{{over=md5}}$7$46..../....SodiumChloride${:.<43}", ""),
        format!("{{over=md5}}{}", OLD[0].0),
        format!("{{over=$y$j75$abcd}}$y$j75$abcd${:.<43}", ""),
        format!("{{over=MD5 }}$y$j75$abcd${:.<43}", ""),
        format!("{{over=$5$rounds=05000$salt}}$y$j75$abcd${:.<43}", ""),
        format!("{{over=$5$sa}}lt}}$y$j75$abcd${:.<43}", ""),
        format!("{{over=}}$y$j75$abcd${:.<43}", ""),
        "{over=md5}".to_owned(),
    ]
}

/// Whatever is wrong with a string, it is said, and is no mismatch; nothing is computed.
#[test]
fn strings_of_no_scheme_are_bad_input() {
    let (passwords, bad) = (Passwords::new(cheap()).unwrap(), bad());
    for text in &bad {
        assert_eq!(login(&passwords, "password", text), Err(ErrorKind::BadInput), "{text}");
        // Behind the mark of a locked account it is damaged all the same, and to be told.
        if text.starts_with(['$', '{']) && text != "{CRYPT}" {
            let locked = format!("!{text}");
            let mut census = Census::default();
            assert!(passwords.table().count(&locked, &mut census).is_err(), "{text}");
            assert_eq!((census.bad, census.accounts), (1, 0));
        }
    }
    assert_eq!(bad.len(), 58);
    let stats = passwords.pool().stats();
    assert_eq!((stats.work, stats.hashes), (0, 0));
}

/// Costs above the limits are refused before there is memory or time for them, whatever the scheme,
/// and the same behind `{CRYPT}` and within a wrapped string.
#[test]
fn costs_above_the_limits_are_refused_before_they_are_paid() {
    let mut policy = cheap();
    policy.limits.max_memory = 8 << 20;
    policy.limits.max_work = 64 << 20;
    let passwords = Passwords::new(policy).unwrap();
    let digest = "Wb9DOLKUgwlL5fjad9tfCPU0SBAo0PEY/evJRhwtUR0";
    let dots = ".".repeat(86);
    let (five, six) = (format!("${}", &dots[..43]), format!("${dots}"));
    let settings: [(&str, &str, &str); _] = [
        ("$argon2id$v=19$m=8193,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$", digest, "32"),
        ("$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$", digest, "32"),
        ("$argon2id$v=19$m=64,t=4294967295,p=1$c2FsdHNhbHRzYWx0c2FsdA$", digest, "32"),
        ("$argon2id$v=19$m=4294967295,t=4294967295,p=16777215$c2FsdHNhbHQ$", digest, "32"),
        ("$pbkdf2-sha256$i=4294967295,l=32$c2FsdA$", digest, "32"),
        ("$pbkdf2-sha512$4294967295$c2FsdA$", digest, "32"),
        ("pbkdf2_sha1$4294967295$salt$", "Wb9DOLKUgwlL5fjad9tfCPU0SBA=", "20"),
        ("$2b$31$abcdefghijklmnopqrstuu", "ghE8Ev8uGFaUgY2cNEySvxngrb/Jzdm", ""),
        ("$2x$09$abcdefghijklmnopqrstuu", "ghE8Ev8uGFaUgY2cNEySvxngrb/Jzdm", ""),
        ("$5$rounds=999999999$salt", &five, ""),
        ("$6$rounds=999999999$salt", &six, ""),
        #[cfg(feature = "libcrypt")]
        ("$md5,rounds=4294967295$saltsalt$", &dots[..22], ""),
        #[cfg(feature = "libcrypt")]
        ("$md5$rounds=4294967295$saltsalt$", &dots[..22], ""),
        #[cfg(feature = "libcrypt")]
        ("$sha1$4294967295$saltsalt$", &dots[..28], ""),
        #[cfg(feature = "libcrypt")]
        ("_zzzzsalt", &dots[..11], ""),
        #[cfg(feature = "libcrypt")]
        ("$gy$jFT$saltsalt$", &dots[..43], ""),
    ];
    let mut count = 0;
    for (setting, digest, len) in &settings {
        for text in [
            format!("{setting}{digest}"),
            format!("{{CRYPT}}{setting}{digest}"),
            format!("{{over={setting}{len}}}$y$j75$abcd${:.<43}", ""),
        ] {
            assert_eq!(login(&passwords, "password", &text), Err(ErrorKind::OverLimit), "{text}");
            let wrapped = passwords.wrap(&text).wait();
            let refused = wrapped.map_err(|error| error.kind());
            let within = text.starts_with("{over=");
            assert_eq!(
                refused,
                if within { Ok(None) } else { Err(ErrorKind::OverLimit) },
                "{text}"
            );
            count += 1;
        }
    }
    assert_eq!(count, if cfg!(feature = "libcrypt") { 48 } else { 33 });
}

/// What would end a wrapped string too soon is not wrapped: nobody could log in any more.
#[test]
fn a_salt_with_a_brace_is_verified_and_not_wrapped() {
    let passwords = Passwords::new(cheap()).unwrap();
    let sha = format!("$5$sa}}lt${:.<43}", "");
    let django = "pbkdf2_sha256$1$s}a$YIWkt6M1JFXrHg5s0jZjBSc7C2Cz6QvchSJ0h8Y+i7c=";
    for text in [&*sha, django] {
        assert_eq!(login(&passwords, "password", text), Ok(Outcome::Mismatch));
        let refused = passwords.wrap(text).wait().map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::BadInput), "{text}");
    }
}

#[test]
fn locked_accounts_are_known_by_marks_in_every_place() {
    let passwords = Passwords::new(cheap()).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    let old = OLD[0].0;
    for locked in [
        "!",
        "*",
        "!!",
        "*LK*",
        "*NP*",
        "!x",
        "{CRYPT}!",
        "{crypt}*",
        "!{CRYPT}*",
        "*0",
        "!ad8Xz1gqhWlYQhAsoq3IyjWOkzEFPw0R6YU9WLdX",
    ] {
        assert_eq!(login(&passwords, "secret", locked), Ok(Outcome::Locked), "{locked}");
        assert!(!passwords.table().needs_rehash(locked).unwrap().any(), "{locked}");
        assert_eq!(passwords.wrap(locked).wait(), Ok(None));
    }
    for before in ["!", "*", "!{CRYPT}", "{CRYPT}!", "!!{CRYPT}**"] {
        for hash in [&*stored, old] {
            let locked = format!("{before}{hash}");
            assert_eq!(login(&passwords, "secret", &locked), Ok(Outcome::Locked), "{locked}");
        }
        // The marks stay where they are.
        let wrapped = passwords.wrap(&format!("{before}{old}")).wait().unwrap().unwrap();
        let unlocked = wrapped.strip_prefix(before).unwrap();
        assert!(login(&passwords, OLD[0].1, unlocked).unwrap().is_match(), "{wrapped}");
        assert_eq!(login(&passwords, OLD[0].1, &wrapped), Ok(Outcome::Locked));
    }
    assert_eq!(login(&passwords, "secret", "!$y$j9T$damaged"), Ok(Outcome::Locked));
}

/// Of two hashes, one around the other, the memory is that of the larger.
#[cfg(feature = "argon2")]
#[test]
fn a_wrapped_hash_takes_the_memory_of_the_larger() {
    let inner = "{over=$argon2id$v=19$m=65536,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$32}";
    let outer = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    let cost = |text: &str| saltern::table::cost(text).unwrap().unwrap();
    assert_eq!(cost(outer).1 >> 20, 1);
    let (scheme, memory) = cost(&format!("{inner}{outer}"));
    assert_eq!((scheme, memory >> 20), (Scheme::Argon2, 64));
}

/// A hash that is stronger than new ones stays so, also within another one around it.
#[test]
fn a_wrapped_hash_that_is_stronger_than_new_ones_is_kept() {
    let strong = "$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm";
    let mut policy = cheap();
    (policy.params, policy.floor) = (Params::yescrypt(16, 8), Params::yescrypt(16, 8));
    let weak = Passwords::new(policy.clone()).unwrap();
    assert_eq!(login(&weak, "password", strong), Ok(kept(&weak, strong)));
    let wrapped = weak.wrap(strong).wait().unwrap().unwrap();
    assert_eq!(login(&weak, "password", &wrapped), Ok(kept(&weak, &wrapped)));
    assert!(!weak.table().needs_rehash(&wrapped).unwrap().any());
    let mut census = Census::default();
    weak.table().count(&wrapped, &mut census).unwrap();
    assert_eq!((census.wrapped, census.outdated), (1, 0));
    // It still moves between keys.
    policy.keys.push(key("2026", 1, true));
    let keyed = Passwords::new(policy).unwrap();
    let Ok(Outcome::Match { update: Some(update), .. }) = login(&keyed, "password", &wrapped)
    else {
        panic!("no update")
    };
    assert!(update.new.starts_with("{over=$2b$04$abcdefghijklmnopqrstuu}{key=2026+"), "{update:?}");
    assert!(login(&keyed, "password", &update.new).unwrap().is_match());
    // Under a policy with stronger hashes it is outdated.
    let stronger = Passwords::new(cheap()).unwrap();
    let outcome = login(&stronger, "password", &wrapped);
    let Ok(Outcome::Match { update: Some(update), .. }) = outcome else { panic!("{outcome:?}") };
    assert!(update.new.starts_with("$y$"));
}

/// Without an active key, and with a key for strings that name none, a string that lost its name
/// would be taken to be encrypted: it keeps it.
#[test]
fn no_string_loses_its_key_where_one_is_assumed() {
    let mut policy = cheap();
    policy.keys.push(key("old", 1, true));
    let stored = Passwords::new(policy.clone()).unwrap().hash("secret").wait().unwrap();
    policy.keys[0].active = false;
    policy.assume_unnamed_key = Some(KeySource::Value(Secret::new([2; 32])));
    let passwords = Passwords::new(policy).unwrap();
    assert!(!passwords.table().needs_rehash(&stored).unwrap().any());
    assert_eq!(passwords.table().rekey(&stored), Ok(None));
    assert_eq!(login(&passwords, "secret", &stored), Ok(kept(&passwords, &stored)));
}

/// Whatever the account is, it is told the same of a password that cannot be, and of a deadline
/// that has passed; nothing is computed.
#[test]
fn a_password_and_a_deadline_do_not_tell_accounts_apart() {
    let passwords = Passwords::new(cheap()).unwrap();
    let own = passwords.hash("secret").wait().unwrap();
    let wrapped = passwords.wrap(OLD[4].0).wait().unwrap().unwrap();
    let before = passwords.pool().stats().work;
    let accounts = [None, Some("!"), Some(&*own), Some(&*wrapped), Some(OLD[0].0), Some(OLD[8].0)];
    let late = passwords.within(Duration::ZERO);
    for stored in accounts {
        let kind = |passwords: &Passwords, password: &str| {
            let outcome = passwords.verify("account", password, stored).wait();
            outcome.map_err(|error| error.kind())
        };
        assert_eq!(kind(&passwords, &"x".repeat(512)), Err(ErrorKind::OverLimit), "{stored:?}");
        assert_eq!(kind(&passwords, "a\0b"), Err(ErrorKind::BadInput), "{stored:?}");
        assert_eq!(kind(&late, "secret"), Err(ErrorKind::Overloaded), "{stored:?}");
        assert_eq!(kind(&late, "secret").is_err(), kind(&late, "Secret").is_err());
    }
    // Where the policy allows more bytes than crypt(3) does, they match nothing that it has made.
    let mut policy = cheap();
    policy.limits.max_password = 1024;
    let longer = Passwords::new(policy).unwrap();
    let none = |stored| if stored == Some("!") { Outcome::Locked } else { Outcome::Mismatch };
    let libcrypt = "$sha1$4$saltsalt$............................";
    for stored in accounts.into_iter().chain([Some(libcrypt)]) {
        let outcome = longer.verify("account", "x".repeat(600), stored).wait();
        assert_eq!(outcome, Ok(none(stored)), "{stored:?}");
    }
    // With the wide syntax a zero byte is like others; C strings are of no such password.
    let mut wide = cheap();
    wide.limits.syntax = Syntax::Wide;
    let wide = Passwords::new(wide).unwrap();
    let wrapped = wide.wrap(OLD[0].0).wait().unwrap().unwrap();
    for stored in accounts.into_iter().chain([Some(OLD[9].0), Some(libcrypt), Some(&*wrapped)]) {
        assert_eq!(wide.verify("a", "password\0", stored).wait(), Ok(none(stored)), "{stored:?}");
    }
    let late = late.wrap(OLD[0].0).wait().map_err(|error| error.kind());
    assert_eq!(late, Err(ErrorKind::Overloaded));
    assert_eq!(passwords.pool().stats().work, before);
}

/// The match is told at the deadline of the login, however busy the pool is with other things; a
/// login without a deadline waits for as long as the pool is patient.
#[test]
fn a_match_does_not_wait_for_its_update_for_ever() {
    let mut policy = cheap();
    (policy.pool.threads, policy.pool.patience) = (1, Duration::from_millis(200));
    let passwords = Passwords::new(policy).unwrap();
    let (stored, password) = OLD[4];
    for passwords in [passwords.within(Duration::from_secs(3)), passwords] {
        let before = passwords.pool().stats();
        let ticket = passwords.verify("account", password, Some(stored));
        until(|| {
            let stats = passwords.pool().stats();
            assert_eq!(stats.expired, 0);
            stats.hashes > before.hashes
        });
        let busy = Busy::keep(&passwords);
        let outcome = ticket.wait_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(outcome, Ok(kept(&passwords, stored)));
        // The login, what keeps the pool busy, and the update.
        assert_eq!(passwords.pool().stats().batches, before.batches + 3);
        busy.end();
    }
}

/// What keeps the only thread of a pool busy until it is told to end.
struct Busy {
    task: OneTicket<()>,
    end: mpsc::Sender<()>,
}

impl Busy {
    fn keep(passwords: &Passwords) -> Self {
        let (end, ends) = mpsc::channel::<()>();
        let task = move || {
            let _ = ends.recv();
        };
        let task = passwords.pool().run_one(SMALL, task, Terms::interactive()).unwrap();
        until(|| passwords.pool().stats().waiting == 0);
        Busy { task, end }
    }

    fn end(self) {
        drop(self.end);
        assert_eq!(self.task.wait(), Ok(()));
    }
}

const SMALL: Task = Task { memory: 4096, work: 1 };

fn until(is: impl Fn() -> bool) {
    while !is() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whoever waits to log in comes before the new string of somebody who has.
#[test]
fn an_update_takes_no_waiting_logins_place() {
    let mut policy = cheap();
    policy.pool.threads = 1;
    let passwords = Passwords::new(policy).unwrap();
    let (stored, password) = OLD[4];
    let ticket = passwords.verify("account", password, Some(stored));
    until(|| passwords.pool().stats().hashes > 0);
    let busy = Busy::keep(&passwords);
    let waiting = passwords.pool().run_one(SMALL, || (), Terms::interactive()).unwrap();
    let outcome = ticket.wait_timeout(Duration::from_secs(60));
    assert_eq!(outcome.ok(), Some(Ok(kept(&passwords, stored))));
    assert_eq!(passwords.pool().stats().batches, 3, "no update was submitted");
    busy.end();
    assert_eq!(waiting.wait(), Ok(()));
    let login = login(&passwords, password, stored);
    assert!(matches!(login, Ok(Outcome::Match { update: Some(_), .. })), "{login:?}");
}

/// Whoever cannot wait for the new hash has the match.
#[test]
fn what_is_known_is_told_without_the_rest() {
    let mut policy = cheap();
    policy.pool.threads = 1;
    let passwords = Passwords::new(policy).unwrap();
    let (stored, password) = OLD[4];
    let ticket = passwords.verify("account", password, Some(stored));
    until(|| passwords.pool().stats().hashes > 0);
    let busy = Busy::keep(&passwords);
    let late = ticket.wait_timeout(Duration::from_millis(10)).unwrap_err();
    assert_eq!(late.known_now(), Some(Ok(kept(&passwords, stored))));
    let ticket = passwords.verify("account", password, Some(stored));
    assert_eq!(ticket.known_now(), None, "nothing is known before it was computed");
    busy.end();
}

/// The answer is known and nothing more is taken on: the match is told, without an update.
#[test]
fn an_overloaded_pool_costs_the_update_and_not_the_login() {
    let mut policy = cheap();
    (policy.pool.threads, policy.pool.max_waiting) = (1, 1);
    let passwords = Passwords::new(policy).unwrap();
    let (stored, password) = OLD[4];
    let ticket = passwords.verify("account", password, Some(stored));
    until(|| passwords.pool().stats().work > 0);
    let busy = Busy::keep(&passwords);
    let waiting = passwords.pool().run_one(SMALL, || (), Terms::interactive()).unwrap();
    assert_eq!(ticket.wait(), Ok(kept(&passwords, stored)));
    // A login that comes now is refused, and is no mismatch.
    assert_eq!(login(&passwords, "wrong", stored), Err(ErrorKind::Overloaded));
    busy.end();
    assert_eq!(waiting.wait(), Ok(()));
    let later = login(&passwords, password, stored);
    assert!(matches!(later, Ok(Outcome::Match { update: Some(_), .. })), "{later:?}");
}

/// Tickets have what they need, whatever becomes of the policy and its value meanwhile.
#[test]
fn a_key_that_is_retired_meanwhile_does_not_matter_to_tickets() {
    let mut policy = cheap();
    policy.keys.push(key("old", 1, true));
    let before = Passwords::new(policy.clone()).unwrap();
    let stored = before.hash("secret").wait().unwrap();
    let ticket = before.verify("account", "secret", Some(&stored));
    let kept = kept(&before, &stored);
    drop(before);
    assert_eq!(ticket.wait(), Ok(kept));
    policy.keys.clear();
    let after = Passwords::new(policy).unwrap();
    assert_eq!(login(&after, "secret", &stored), Err(ErrorKind::Unavailable));
}

#[test]
fn what_decoys_need_and_what_is_not_there_is_not_retired() {
    let mut policy = cheap();
    policy.keys.extend([key("old", 1, false), key("new", 2, true)]);
    let like = "{key=old}$y$j75$......................".to_owned();
    policy.decoy.costs = vec![DecoyCost { like, share: 1 }];
    let table = Table::open(&policy).unwrap();
    let needed = table.retire_key("old", &Census::default()).unwrap_err();
    assert!(needed.to_string().contains("decoy.costs"), "{needed}");
    let unknown = table.retire_key("odl", &Census::default()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unavailable);
    let unknown = table.retire_rom("0011223344556677", &Census::default()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unavailable);
    policy.decoy.costs.clear();
    assert_eq!(Table::open(&policy).unwrap().retire_key("old", &Census::default()), Ok(()));
}

/// A scheme that is not accepted any more is refused, wrapped or not, and is no mismatch.
#[test]
fn a_scheme_that_is_not_accepted_any_more_is_over_the_limit() {
    let passwords = Passwords::new(cheap()).unwrap();
    let mut policy = cheap();
    policy.schemes = vec![Scheme::Yescrypt];
    let strict = Passwords::new(policy).unwrap();
    for (stored, password) in OLD {
        let wrapped = passwords.wrap(stored).wait().unwrap();
        for text in std::iter::once(stored).chain(wrapped.as_deref()) {
            assert_eq!(login(&strict, password, text), Err(ErrorKind::OverLimit), "{text}");
            let mut census = Census::default();
            strict.table().count(text, &mut census).unwrap();
            assert_eq!((census.refused, census.costs.len()), (1, 0));
        }
    }
}

/// What programs log of a login or a line holds no salt and no hash.
#[test]
fn debug_output_holds_no_stored_string() {
    use saltern::table::{Entry, Format, each_line};
    let passwords = Passwords::new(cheap()).unwrap();
    let (old, password) = OLD[0];
    let outcome = passwords.verify("a", password, Some(old)).wait().unwrap();
    let Outcome::Match { update: Some(update), .. } = &outcome else { panic!("{outcome:?}") };
    let mut shown = format!("{outcome:?} {update:?}");
    let mut operation = |entry: &Entry<'_>| {
        shown += &format!(" {entry:?}");
        Ok(None).into()
    };
    let input = format!("alice:{old}\n");
    each_line(input.as_bytes(), Vec::new(), &Format::Detect, &mut operation, |_, _| {}).unwrap();
    assert_eq!(
        shown,
        "Match { outdated: [\"scheme\", \"cost\", \"floor\"], update: Some(Update { .. }), remembered: false } Update { .. } Entry { number: 1, .. }"
    );
}
