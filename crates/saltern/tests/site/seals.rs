//! Seals: what passes, what does not, and what becomes of sealed strings.

use std::io::Write;
use std::process::{Command, Stdio};

use saltern::policy::{Params, SealPolicy};
use saltern::table::{Census, Table};
use saltern::{Error, ErrorKind, Outcome, Passwords, Policy, Prepared};
use saltern_testing::{Random, hex::hex, skipped, vectors};

use super::logins::{OLD, cheap, key};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/vectors/seal.py");

/// A policy with these keys for seals, of which the last one is active.
fn sealing(keys: &[(&str, u8)], required: bool) -> Policy {
    let mut policy = cheap();
    let last = keys.len() - 1;
    let key = |(at, (name, byte)): (usize, &(&str, u8))| key(name, *byte, at == last);
    policy.seal.keys = keys.iter().enumerate().map(key).collect();
    policy.seal.required = required;
    policy
}

fn table(keys: &[(&str, u8)], required: bool) -> Table {
    Table::open(&sealing(keys, required)).unwrap()
}

/// What a string is worth, in the words of the second implementation.
fn judged(table: &Table, account: &[u8], stored: &str) -> &'static str {
    match table.for_account(account).seal(stored) {
        Ok(None) if stored.contains("{seal=") => "sealed",
        Ok(_) => "unsealed",
        Err(Error::Tampered { .. }) => "tampered",
        Err(Error::Unavailable { .. }) => "unavailable",
        Err(Error::Malformed { what: "{seal=…}", .. }) => "malformed",
        Err(Error::Malformed { .. } | Error::Pool(_)) => "unsealed",
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_vectors_agree() {
    let kinds =
        [("malformed", 10), ("sealed", 379), ("tampered", 10), ("unavailable", 3), ("unsealed", 3)];
    let cases = vectors::cases("seal", &kinds);
    for case in &cases {
        let bytes: [u8; 32] = vectors::bytes(case, "key").try_into().unwrap();
        let mut policy = cheap();
        policy.seal.keys = vec![key(vectors::text(case, "name"), 0, true)];
        policy.seal.keys[0].source =
            saltern::policy::KeySource::Value(saltern::policy::Secret::new(bytes));
        let table = Table::open(&policy).unwrap();
        let (account, stored) = (vectors::bytes(case, "account"), vectors::text(case, "stored"));
        assert_eq!(judged(&table, &account, stored), vectors::text(case, "kind"), "{case}");
        // Made anew, it is the same.
        if vectors::text(case, "kind") == "sealed" && stored.starts_with('{') {
            let (_, plain) = stored.split_once('}').unwrap();
            let sealed = table.for_account(&account).seal(plain).unwrap();
            assert_eq!(sealed.as_deref(), Some(stored));
        }
    }
}

/// A random case: a sealed string, often with a flipped bit, another account or another order.
fn case(random: &mut Random, tables: &[(Table, &str, u8)]) -> (String, Vec<u8>, String, String) {
    let (table, name, _) = &tables[random.below(2) as usize];
    let length = 1 + random.below(40) as usize;
    let mut account = random.bytes(length);
    let before = ["", "!", "{CRYPT}", "{CRYPT}*"][random.below(4) as usize];
    let plain = format!("{before}{}", hex(&random.bytes(16)));
    let mut stored = table.for_account(&account).seal(&plain).unwrap().unwrap();
    match random.below(6) {
        0 => stored.insert_str(0, ["!", "*!", "{CRYPT}", "!{CRYPT}"][random.below(4) as usize]),
        1 => account[length - 1] ^= 1 << random.below(8),
        2 => account.push(0),
        3 => {
            // ASCII stays ASCII.
            let mut bytes = stored.into_bytes();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(7);
            stored = String::from_utf8(bytes).unwrap();
        }
        4 => {
            let at = random.below(stored.len() as u64) as usize;
            stored.remove(at);
        }
        _ => {}
    }
    ((*name).to_owned(), account, stored, plain)
}

/// 100,000 cases when `SALTERN_SEALS` asks for them; fewer otherwise.
fn count() -> usize {
    std::env::var("SALTERN_SEALS").map_or(10_000, |count| count.parse().unwrap())
}

#[test]
fn the_second_implementation_agrees() {
    let mut command = Command::new("python3");
    command.args([PYTHON, "judge"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let python = command.spawn();
    let Ok(mut python) = python else { return skipped("python3 cannot be started") };
    let keys = [("old", 1), ("new", 2)];
    let both = table(&keys, false);
    let tables = keys.map(|(name, byte)| (table(&[(name, byte)], false), name, byte));
    let json = keys.map(|(name, byte)| format!("\"{name}\":\"{}\"", hex(&[byte; 32]))).join(",");
    let mut random = Random::new(0x5EA1);
    let cases: Vec<_> = (0..count()).map(|_| case(&mut random, &tables)).collect();
    let line = |(name, account, stored, plain): &(String, Vec<u8>, String, String)| {
        let (account, [stored, plain]) = (hex(account), [stored, plain].map(|t| quoted(t)));
        format!(
            "{{\"keys\":{{{json}}},\"name\":\"{name}\",\"account\":\"{account}\",\
             \"stored\":{stored},\"plain\":{plain}}}\n"
        )
    };
    let lines: String = cases.iter().map(line).collect();
    let mut stdin = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), cases.len());
    let mut seen = std::collections::BTreeMap::new();
    for (answer, (name, account, stored, plain)) in answers.lines().zip(&cases) {
        let (verdict, made): (String, String) = serde_json::from_str(answer).unwrap();
        // With a policy whose active key is that of the string, so that a good one stays.
        let of = &tables.iter().find(|(_, known, _)| known == name).unwrap().0;
        assert_eq!(of.for_account(account).seal(plain).unwrap().unwrap(), made);
        let ours = match judged(of, account, stored) {
            "unavailable" => match both.for_account(account).seal(stored) {
                Ok(_) => "sealed",
                Err(Error::Tampered { .. }) => "tampered",
                Err(_) => "unavailable",
            },
            other => other,
        };
        assert_eq!(ours, verdict, "{stored}");
        *seen.entry(verdict).or_insert(0_u32) += 1;
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whoever writes to the table and moves every string to another account logs in nowhere, and is
/// noticed everywhere, before anything is computed.
#[test]
fn a_shuffled_table_matches_nowhere() {
    let rows = count() * 10;
    let passwords = Passwords::new(sealing(&[("2026", 1)], true)).unwrap();
    let plain = passwords.for_account("0").hash("secret").wait().unwrap();
    let (_, plain) = plain.split_once('}').unwrap();
    let moving = table(&[("2026", 1)], false);
    let sealed = |id: usize| moving.for_account(id.to_string()).seal(plain).unwrap().unwrap();
    let mut strings: Vec<String> = (0..rows).map(sealed).collect();
    assert!(passwords.verify("7", "secret", Some(&strings[7])).wait().unwrap().is_match());
    // A permutation in one cycle moves every string.
    let mut random = Random::new(7);
    for at in (1..rows).rev() {
        strings.swap(at, random.below(at as u64) as usize);
    }
    let before = passwords.pool().stats().hashes;
    for (id, stored) in strings.iter().enumerate() {
        let error = passwords.verify(id.to_string(), "secret", Some(stored)).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tampered);
    }
    assert_eq!(passwords.pool().stats().hashes, before, "nothing was computed");
}

/// The census finds every edit of someone who writes to the table, and nothing else.
#[test]
fn a_census_finds_planted_edits_and_nothing_else() {
    let (rows, edits) = (20_000, 1000);
    let moving = table(&[("2026", 1)], false);
    let strict = table(&[("2026", 1)], true);
    let thief = table(&[("2026", 66)], false);
    let mut random = Random::new(1000);
    let plain = |random: &mut Random| {
        let digits: String = hex(&random.bytes(32))[..43].replace('f', "z");
        format!("$y$j9T$LdJMENpBABJJ3hIHjB1Bi.${}5", &digits[..42])
    };
    let mut table: Vec<(String, String)> = (0..rows)
        .map(|id| {
            let id = format!("user{id}");
            let sealed = moving.for_account(&id).seal(&plain(&mut random)).unwrap().unwrap();
            (id, sealed)
        })
        .collect();
    let mut planted: Vec<String> = Vec::new();
    for edit in 0..edits {
        // Far enough apart that no two edits meet.
        let at = edit * 20 + random.below(10) as usize;
        let (id, stored) = table[at].clone();
        let (seal, text) = stored.split_at(stored.find('}').unwrap() + 1);
        match edit % 7 {
            0 => {
                let other = table[at + 1].clone();
                table[at].1 = other.1;
                table[at + 1].1 = stored;
                planted.push(other.0);
            }
            1 => table[at].1 = format!("{seal}{}", text.replace("$j9T$", "$j75$")),
            2 => table[at].1 = format!("{seal}{}", OLD[0].0),
            3 => table[at].1 = format!("{seal}{}", text.replace("LdJM", "MdJM")),
            4 => table[at].1 = text.to_owned(),
            5 => table[at].1 = thief.for_account(&id).seal(text).unwrap().unwrap(),
            _ => {
                table[at].0 = format!("{id}-renamed");
                planted.push(table[at].0.clone());
                continue;
            }
        }
        planted.push(id);
    }
    let mut census = Census::default();
    let found = table.iter().filter(|(id, stored)| {
        let counted = strict.for_account(id).count(stored, &mut census);
        counted.is_err()
    });
    let mut found: Vec<String> = found.map(|(id, _)| id.clone()).collect();
    found.sort();
    planted.sort();
    assert_eq!(found, planted);
    // Strings that the thief has sealed under his own key are told apart.
    let foreign = (0..edits).filter(|edit| edit % 7 == 5).count() as u64;
    assert_eq!(census.unknown_seals, foreign);
    assert_eq!(census.tampered + census.unknown_seals, planted.len() as u64);
    assert_eq!(census.sealed + planted.len() as u64, rows as u64);
    assert_eq!((census.accounts, census.bad, census.unsealed), (rows as u64, 0, 0));
    assert!(strict.retire_seal_key("2026", &census).is_err());
}

#[test]
fn a_flipped_bit_never_matches_and_is_no_mismatch() {
    let passwords = Passwords::new(sealing(&[("2026", 1)], true)).unwrap();
    let account = b"account 17";
    let stored = passwords.for_account(account).hash("secret").wait().unwrap();
    let verify =
        |account: &[u8], stored: &str| passwords.verify(account, "secret", Some(stored)).wait();
    assert!(verify(account, &stored).unwrap().is_match());
    let before = passwords.pool().stats().hashes;
    let (mut flips, mut kinds) = (0, Vec::new());
    for at in 0..stored.len() * 8 {
        let mut bytes = stored.clone().into_bytes();
        bytes[at / 8] ^= 1 << (at % 8);
        // A column of text holds nothing else.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let kind = verify(account, &text).expect_err(&text).kind();
        // Another name or fingerprint is another key.
        let is_key = (6..27).contains(&(at / 8)) && kind == ErrorKind::Unavailable;
        assert!(kind == ErrorKind::Tampered || is_key, "{text}: {kind:?}");
        (flips, kinds) = (flips + 1, [kinds, vec![kind]].concat());
    }
    assert!(flips > stored.len() * 6 && kinds.contains(&ErrorKind::Unavailable));
    for at in 0..account.len() * 8 {
        let mut other = *account;
        other[at / 8] ^= 1 << (at % 8);
        assert_eq!(verify(&other, &stored).unwrap_err().kind(), ErrorKind::Tampered);
    }
    for at in 0..256 {
        let mut policy = sealing(&[("2026", 1)], true);
        let mut bytes = [1; 32];
        bytes[at / 8] ^= 1 << (at % 8);
        policy.seal.keys[0].source =
            saltern::policy::KeySource::Value(saltern::policy::Secret::new(bytes));
        let table = Table::open(&policy).unwrap().for_account(account);
        assert_eq!(table.seal(&stored).unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert_eq!(passwords.pool().stats().hashes, before, "nothing was computed");
}

/// While a table is being moved, unsealed strings verify, and logins seal them; afterwards they do
/// not.
#[test]
fn logins_seal_and_reseal() {
    let before = Passwords::new(cheap()).unwrap();
    let plain = before.hash("secret").wait().unwrap();
    let moving = Passwords::new(sealing(&[("2026", 1)], false)).unwrap();
    let login = |passwords: &Passwords, stored: &str| {
        let outcome = passwords.verify("alice", "secret", Some(stored)).wait().unwrap();
        let Outcome::Match { outdated, update, .. } = outcome else { panic!("{stored}") };
        (outdated.words(), update.map(|update| update.new))
    };
    let (words, update) = login(&moving, &plain);
    let sealed = update.unwrap();
    assert_eq!((words, sealed.ends_with(&format!("}}{plain}"))), (vec!["seal"], true));
    assert_eq!(login(&moving, &sealed), (vec![], None));
    let wrong = moving.verify("alice", "wrong", Some(&sealed)).wait();
    assert_eq!(wrong, Ok(Outcome::Mismatch));
    let other = moving.verify("bob", "secret", Some(&sealed)).wait().unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Tampered, "also while seals are not required");
    // Another key, with a new hash or without one.
    let rotated = Passwords::new(sealing(&[("2026", 1), ("2027", 2)], true)).unwrap();
    let (words, update) = login(&rotated, &sealed);
    let update = update.unwrap();
    assert_eq!((words, &update[..11]), (vec!["seal"], "{seal=2027+"));
    assert_eq!(rotated.table().for_account("alice").seal(&update), Ok(None));
    let mut dear = sealing(&[("2026", 1), ("2027", 2)], true);
    dear.params = Params::yescrypt(512, 8);
    let (words, update) = login(&Passwords::new(dear).unwrap(), &sealed);
    assert_eq!((words, &update.unwrap()[..11]), (vec!["cost", "seal"], "{seal=2027+"));
    // Of an old scheme, with what stands before it.
    for (stored, password) in OLD {
        let stored = format!("{{CRYPT}}{stored}");
        let sealed = moving.table().for_account("alice").seal(&stored).unwrap().unwrap();
        let outcome = rotated.verify("alice", password, Some(&sealed)).wait().unwrap();
        let Outcome::Match { update: Some(update), .. } = outcome else { panic!("{stored}") };
        assert!(update.new.contains("}{CRYPT}$y$"), "{}", update.new);
        assert!(rotated.verify("alice", password, Some(&update.new)).wait().unwrap().is_match());
    }
    // Once seals are required, what has none is no string of the table.
    for text in [&*plain, "nonsense", "", "$y$j9T$abc", "{seal=", "x", &format!("!{plain}")] {
        let error = rotated.verify("alice", "secret", Some(text)).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tampered, "{text}");
        let sealed = rotated.table().for_account("alice").seal(text);
        assert_eq!(sealed.unwrap_err().kind(), ErrorKind::Tampered, "{text}");
    }
    assert_eq!(rotated.hash("secret").wait().unwrap_err().kind(), ErrorKind::BadInput);
    assert!(rotated.hash_with_salt("secret", [1; 16]).wait().is_err());
    let salted = rotated.for_account("alice").hash_with_salt("secret", [1; 16]).wait().unwrap();
    assert!(rotated.verify("alice", "secret", Some(&salted)).wait().unwrap().is_match());
}

#[test]
fn locked_accounts_are_sealed_with_their_marks() {
    let passwords = Passwords::new(sealing(&[("2026", 1)], true)).unwrap();
    let moving = table(&[("2026", 1)], false).for_account("alice");
    let plain = passwords.for_account("alice").hash("secret").wait().unwrap();
    let (_, plain) = plain.split_once('}').unwrap();
    let verify = |stored: &str| passwords.verify("alice", "secret", Some(stored)).wait();
    let locked = moving.seal(&format!("!{plain}")).unwrap().unwrap();
    assert_eq!(verify(&locked), Ok(Outcome::Locked));
    // Whoever takes the mark away has altered the string.
    assert_eq!(verify(&locked.replace("}!", "}")).unwrap_err().kind(), ErrorKind::Tampered);
    // usermod -L, and back.
    let sealed = moving.seal(plain).unwrap().unwrap();
    let marked = format!("!{sealed}");
    assert_eq!(verify(&marked), Ok(Outcome::Locked));
    let other = passwords.verify("bob", "secret", Some(&marked)).wait().unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Tampered);
    let rotated = table(&[("2026", 1), ("2027", 2)], true).for_account("alice");
    let moved = rotated.seal(&marked).unwrap().unwrap();
    assert!(moved.starts_with("!{seal=2027+"), "{moved}");
    assert!(rotated.seal(&moved[1..]).unwrap().is_none());
    for mark in ["*", "!", "!!", "*LK*"] {
        assert_eq!(verify(mark), Ok(Outcome::Locked));
        assert_eq!(moving.seal(mark), Ok(None));
    }
}

/// What needs no password keeps strings sealed, and refuses what it cannot seal.
#[test]
fn keys_and_wrapping_keep_strings_sealed() {
    let mut policy = sealing(&[("2026", 1)], true);
    policy.keys.push(key("hash", 3, true));
    let (passwords, prepared) =
        (Passwords::new(policy.clone()).unwrap(), Prepared::new(policy).unwrap());
    let moving = table(&[("2026", 1)], false).for_account("alice");
    for (stored, password) in OLD {
        let sealed = moving.seal(stored).unwrap().unwrap();
        let refused = passwords.wrap(&sealed).wait().map(|_| ());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::BadInput, "whose is it?");
        let other = passwords.for_account("bob").wrap(&sealed).wait().map(|_| ());
        assert_eq!(other.unwrap_err().kind(), ErrorKind::Tampered);
        let of_alice = passwords.for_account("alice");
        let wrapped = of_alice.wrap(&sealed).wait().unwrap().unwrap_or(sealed);
        assert!(wrapped.starts_with("{seal=2026+"), "{wrapped}");
        assert!(passwords.verify("alice", password, Some(&wrapped)).wait().unwrap().is_match());
        assert!(prepared.for_account("alice").can_verify(&wrapped).unwrap());
        assert!(prepared.for_account("bob").can_verify(&wrapped).is_err());
        assert!(prepared.can_verify(&wrapped).is_err());
    }
    let plain = Passwords::new(cheap()).unwrap().hash("secret").wait().unwrap();
    let sealed = moving.seal(&plain).unwrap().unwrap();
    assert_eq!(prepared.table().rekey(&sealed).unwrap_err().kind(), ErrorKind::BadInput);
    let rekeyed = prepared.table().for_account("alice").rekey(&sealed).unwrap().unwrap();
    assert!(rekeyed.contains("}{key=hash+"), "{rekeyed}");
    assert_eq!(prepared.table().for_account("alice").rekey(&rekeyed), Ok(None));
    assert!(passwords.verify("alice", "secret", Some(&rekeyed)).wait().unwrap().is_match());
    assert!(prepared.table().for_account("bob").rekey(&sealed).is_err());
    assert_eq!(prepared.table().rekey(&plain).unwrap_err().kind(), ErrorKind::Tampered);
    // Also what nobody verifies.
    let sm3 = "$sm3$abcdefgh$mGcuGEgSsbxLNaXGdkHkcYSLdxxxxxxxxxxxxxxxxxx";
    let sealed = moving.seal(sm3).unwrap().unwrap();
    let mut census = Census::default();
    prepared.table().for_account("alice").count(&sealed, &mut census).unwrap();
    assert_eq!((census.refused, census.sealed, census.seals["2026"]), (1, 1, 1));
}

#[test]
fn a_census_says_what_is_left_and_which_key_can_go() {
    let both = table(&[("2026", 1), ("2027", 2)], false);
    let [old, new] = [table(&[("2026", 1)], false), table(&[("2027", 2)], false)];
    let plain = OLD[0].0;
    let mut census = Census::default();
    for (id, table) in [("a", &old), ("b", &old), ("c", &new)] {
        let sealed = table.for_account(id).seal(plain).unwrap().unwrap();
        both.for_account(id).count(&sealed, &mut census).unwrap();
        // Without the account it is only counted.
        both.count(&sealed, &mut Census::default()).unwrap();
        // As it is by those who have no keys.
        Table::open(&cheap()).unwrap().count(&sealed, &mut Census::default()).unwrap();
    }
    both.for_account("d").count(plain, &mut census).unwrap();
    both.for_account("e").count("!", &mut census).unwrap();
    assert_eq!((census.sealed, census.unsealed, census.needs_seal), (3, 1, 3));
    assert_eq!((census.seals["2026"], census.seals["2027"]), (2, 1));
    let error = both.retire_seal_key("2026", &census).unwrap_err();
    assert!(error.to_string().contains("2 stored strings need it"), "{error}");
    assert!(both.retire_seal_key("2027", &census).is_err(), "it is active");
    assert!(both.retire_seal_key("2028", &census).is_err(), "there is none");
    let mut whole = Census::default();
    both.merge(&mut whole, census);
    assert_eq!((whole.sealed, whole.seals["2026"]), (3, 2));
    assert_eq!(both.retire_seal_key("2026", &Census::default()), Ok(()));
}

/// A census that could not check a seal must not look like one that found nothing.
#[test]
fn a_census_without_accounts_is_no_good_news_once_seals_are_required() {
    let (moving, strict) = (table(&[("2026", 1)], false), table(&[("2026", 1)], true));
    let sealed = moving.for_account("alice").seal(OLD[0].0).unwrap().unwrap();
    let mut census = Census::default();
    let error = strict.count(&sealed, &mut census).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadInput);
    assert_eq!((census.accounts, census.bad, census.sealed, census.tampered), (0, 1, 0, 0));
    moving.count(&sealed, &mut census).unwrap();
    assert_eq!((census.accounts, census.bad, census.sealed), (1, 1, 1));
}

#[test]
fn accounts_have_limits_and_keys_are_needed() {
    let passwords = Passwords::new(sealing(&[("2026", 1)], false)).unwrap();
    for account in [vec![], vec![0; 4097]] {
        let of = passwords.for_account(&account);
        assert_eq!(of.hash("secret").wait().unwrap_err().kind(), ErrorKind::BadInput);
        assert_eq!(
            of.table().for_account(&account).seal(OLD[0].0).unwrap_err().kind(),
            ErrorKind::BadInput
        );
        // The same for known and unknown accounts.
        for stored in [None, Some(OLD[0].0)] {
            let error = passwords.verify(&account, "secret", stored).wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadInput);
        }
    }
    let longest = passwords.for_account([7; 4096]).hash("secret").wait().unwrap();
    assert!(passwords.verify([7; 4096], "secret", Some(&longest)).wait().unwrap().is_match());
    let without = Passwords::new(cheap()).unwrap();
    let error = without.verify([7; 4096], "secret", Some(&longest)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let error = without.table().for_account("a").seal(OLD[0].0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(without.verify("", "secret", None).wait().is_ok(), "no seals, no limits");
    // Without an active key, seals are checked, and come off.
    let mut policy = sealing(&[("2026", 1)], false);
    policy.seal.keys[0].active = false;
    let back = Passwords::new(policy.clone()).unwrap();
    let outcome = back.verify([7; 4096], "secret", Some(&longest)).wait().unwrap();
    let Outcome::Match { update: Some(update), .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(update.new, longest.split_once('}').unwrap().1);
    assert!(back.for_account("a").hash("secret").wait().unwrap().starts_with("$y$"));
    policy.seal.required = true;
    assert!(policy.check().unwrap_err().to_string().contains("seal.required"));
    let SealPolicy { keys, .. } = policy.seal;
    assert_eq!(keys.len(), 1);
}
