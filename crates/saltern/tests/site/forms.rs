//! Strings in other programs' forms.

use std::collections::HashSet;

use base64ct::{Base64, Encoding};
use saltern::table::{Census, Kind, Table, formats, identify, scheme};
use saltern::{ErrorKind, Outcome, Passwords};
use saltern_testing::json_lines;
use saltern_testing::vectors::{bytes, cases, text};
use serde_json::Value;

use super::logins::cheap;

/// Names a file that `scripts/form-vectors` has made, to be read in place of the repository's.
const FILE: &str = "SALTERN_FORM_VECTORS";

/// Strings and right passwords, made by the programs that the forms are of.
fn vectors() -> Vec<Value> {
    if let Some(file) = std::env::var_os(FILE) {
        let mut cases = json_lines(&std::fs::read_to_string(file).unwrap());
        let header = cases.remove(0);
        assert_eq!(header["cases"].as_u64(), Some(cases.len() as u64));
        return cases;
    }
    let expected = [
        ("django", 300),
        ("werkzeug", 180),
        ("libpass", 720),
        ("openldap", 360),
        ("dovecot", 585),
        ("ds_389", 225),
        ("grub", 20),
        ("apache", 60),
        ("php", 100),
        ("postgresql", 40),
        ("documented", 510),
        ("kratos", 180),
    ];
    cases("stored_forms", &expected)
}

fn login(passwords: &Passwords, password: &[u8], stored: &str) -> Result<Outcome, ErrorKind> {
    passwords.verify("account", password, Some(stored)).wait().map_err(|error| error.kind())
}

/// Another password, which differs in its first character: of some, later ones do not count.
fn wrong(password: &[u8]) -> Vec<u8> {
    [b"+", password].concat()
}

#[test]
fn every_string_of_every_form_matches_its_password_and_no_other() {
    let (passwords, cases) = (Passwords::new(cheap()).unwrap().without_updates(), vectors());
    let (mut names, mut forms, mut right) = (HashSet::new(), HashSet::new(), 0);
    let check = |(case, stored): (&Value, &str)| {
        let password = bytes(case, "password");
        let outcome = passwords.verify("a", &password, Some(stored));
        (outcome, passwords.verify("a", wrong(&password), Some(stored)))
    };
    for chunk in cases.chunks(64) {
        let strings = chunk.iter().map(|case| (case, text(case, "stored")));
        let tickets: Vec<_> = strings.clone().map(check).collect();
        for ((case, stored), (good, bad)) in strings.zip(tickets) {
            let form = (text(case, "kind"), text(case, "form"));
            let good = good.wait().unwrap_or_else(|error| panic!("{form:?} {stored}: {error}"));
            assert!(good.is_match(), "{form:?} {stored}");
            assert_eq!(bad.wait(), Ok(Outcome::Mismatch), "{form:?} {stored}");
            let (Kind::Foreign(known, _) | Kind::Ours(known, _)) = identify(stored).unwrap() else {
                panic!("{stored}")
            };
            // `{CRYPT}` before a string of libcrypt is no form of its own.
            assert_eq!(known.scheme, scheme(stored).unwrap(), "{stored}");
            names.insert(known.prefix);
            forms.insert(form.1);
            right += 1;
        }
    }
    println!("{right} strings of {} forms", forms.len());
    if std::env::var_os(FILE).is_none() {
        assert_eq!((right, forms.len()), (3280, 73));
    }
    // Whatever is read here in another program's form has been made by a program.
    let missing: Vec<_> = formats()
        .filter(|known| known.scheme.is_some() && known.name.contains(" in the "))
        .filter(|known| !names.contains(known.prefix))
        .map(|known| known.prefix)
        .collect();
    let others = ["$scrypt$", "pbkdf2_sha512$", "pbkdf2_sha256$", "pbkdf2_sha1$"];
    assert!(missing.iter().all(|prefix| others.contains(prefix)), "{missing:?}");
}

/// A wrapped string has the same password, and one that is not wrapped is of scrypt.
#[test]
fn every_form_is_wrapped_and_replaced() {
    let (passwords, table) = (Passwords::new(cheap()).unwrap(), Table::open(&cheap()).unwrap());
    let (mut seen, mut wrapped, mut census) = (HashSet::new(), 0, Census::default());
    for case in vectors() {
        let (password, stored) = (bytes(&case, "password"), text(&case, "stored"));
        if !seen.insert((text(&case, "kind").to_owned(), text(&case, "form").to_owned())) {
            continue;
        }
        table.count(stored, &mut census).unwrap();
        let known = formats().find(|known| stored.starts_with(known.prefix)).unwrap();
        let over = passwords.wrap(stored).wait().unwrap();
        assert_eq!(over.is_some(), !scheme(stored).unwrap().unwrap().is_ours(), "{known}");
        let one = over.as_deref().unwrap_or(stored);
        let outcome = login(&passwords, &password, one).unwrap();
        let Outcome::Match { outdated, update, .. } = outcome else { panic!("{one}") };
        assert_eq!(outdated.wrapped, over.is_some() && update.is_some(), "{one}");
        assert_eq!(login(&passwords, &wrong(&password), one), Ok(Outcome::Mismatch), "{one}");
        wrapped += usize::from(over.is_some());
        if let Some(update) = update {
            let new = update.new.strip_prefix("{CRYPT}").or(update.new.strip_prefix("{crypt}"));
            assert!(new.unwrap_or(&update.new).starts_with("$y$"), "{update:?}");
            assert!(login(&passwords, &password, &update.new).unwrap().is_match());
        }
    }
    assert_eq!((census.accounts, census.bad, census.refused), (seen.len() as u64, 0, 0));
    assert_eq!(census.needs_wrap, wrapped as u64);
    assert!(wrapped > 70, "{wrapped}");
}

/// The costs of these are far above the limits, and so they are refused before there is memory or
/// time for them.
#[test]
fn the_costs_of_forms_are_refused_before_they_are_paid() {
    let mut policy = cheap();
    policy.limits.max_memory = 8 << 20;
    policy.limits.max_work = 64 << 20;
    let passwords = Passwords::new(policy).unwrap();
    let (hex20, hex64) = ("ab".repeat(20), "ab".repeat(64));
    let b32 = "Wb9DOLKUgwlL5fjad9tfCPU0SBAo0PEY/evJRhwtUR0";
    let b64 = format!("{}==", "A".repeat(86));
    let ds_389 = format!("{{PBKDF2_SHA256}}/////{}", "A".repeat(427));
    let dear = [
        format!("pbkdf2:sha512:4294967295$salt${hex64}"),
        format!("grub.pbkdf2.sha512.4294967295.{hex64}.{hex64}"),
        format!("{{PBKDF2}}$1$salt$4294967295${hex20}"),
        format!("{{PBKDF2-SHA256}}4294967295$c2FsdA${b32}"),
        ds_389,
        format!("AQAAAAH/////AAAAE{}", "A".repeat(71)),
        format!("SCRAM-SHA-256$4294967295:c2FsdA==${b32}=:{b32}="),
        format!("{{SCRAM-SHA-256}}4294967295,c2FsdA==,{b32}=,{b32}="),
        format!("scrypt:2147483648:8:1$salt${hex64}"),
        format!("scrypt:16384:1048576:1$salt${hex64}"),
        format!("$scrypt$ln=2147483648,r=8,p=1$c2FsdA==${b32}="),
        format!("$sha512-crypt$rounds=999999999$salt${}", ".".repeat(86)),
        format!("scrypt:16384:8:1048576$salt${hex64}"),
        format!("scrypt$2147483648$salt$8$1${b64}"),
        format!("{{scrypt}}$1f0801$c2FsdA==${b32}="),
        format!("$s0$1fff01$c2FsdA==${b32}="),
        format!("argon2$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ${b32}"),
        format!("{{argon2}}$argon2id$v=19$m=64,t=4294967295,p=1$c2FsdHNhbHQ${b32}"),
        "bcrypt_sha256$$2b$31$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$wp$2y$31$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        "$bcrypt-sha256$v=2,t=2b,r=31$abcdefghijklmnopqrstuu$ghE8Ev8uGFaUgY2cNEySvxngrb/Jzdm"
            .to_owned(),
        "{bcrypt}$2b$31$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm".to_owned(),
        format!("$P$S12345678{}", ".".repeat(22)),
        format!("$S$S12345678{}", ".".repeat(43)),
        format!("$A$FFF$12345678901234567890{}", ".".repeat(43)),
        format!("{{SHA512-CRYPT}}$6$rounds=999999999$salt${}", ".".repeat(86)),
    ];
    for text in &dear {
        let refused = login(&passwords, b"password", text);
        assert_eq!(refused, Err(ErrorKind::OverLimit), "{text}");
        let mut census = Census::default();
        passwords.table().count(text, &mut census).unwrap();
        assert_eq!((census.refused, census.costs.len()), (1, 0), "{text}");
    }
    assert_eq!(dear.len(), 26);
    let stats = passwords.pool().stats();
    assert_eq!((stats.work, stats.hashes), (0, 0));
}

/// From hash/hash_comparator_test.go of Kratos, all for the password `test`; and what is no format.
#[test]
fn formats_of_kratos_have_any_text_around_the_password() {
    let passwords = Passwords::new(cheap()).unwrap().without_updates();
    let published = [
        "$sha1$pf=Pz9zdGF0aWNQcmVmaXg/P3tTQUxUfXtQQVNTV09SRH0=$NW9wbWtnejAzcg==$SAAxMUn7jxckQXkBmsVF0nHwqso=",
        "$sha1$pf=e1BBU1NXT1JEfSUle1NBTFR9$NW9wbWtnejAzcg==$YX0AW8/MW5ojUlnzTaR43ucHCog=",
        "$sha1$pf=JHtQQVNTV09SRH0ke1NBTFR9JA==$NW9wbWtnejAzcg==$iE5n1yjX3oAdxRHwZ4u57I4LpQo=",
        "$sha256$pf=e1NBTFR9e1BBU1NXT1JEfQ==$NW9wbWtnejAzcg==$0gfRVLCvtBCk20udLDEY5vNhujWx7RGjwRIS1ebMsLY=",
        "$md5$CY9rzUYh03PK3k6DJie09g==",
        "$scrypt$ln=16384,r=8,p=1$2npRo7P03Mt8keSoMbyD/tKFWyUzjiQf2svUaNDSrhA=$MiCzNcIplSMqSBrm4HckjYqYhaVPPjTARTzwB1cVNYE=",
    ];
    for stored in published {
        assert!(login(&passwords, b"test", stored).unwrap().is_match(), "{stored}");
        assert_eq!(login(&passwords, b"Test", stored), Ok(Outcome::Mismatch), "{stored}");
    }
    let of = |format: &str, salt: &[u8]| {
        let [format, salt, digest] = [format.as_bytes(), salt, &[0; 16]].map(Base64::encode_string);
        login(&passwords, b"x", &format!("$md5$pf={format}${salt}${digest}"))
    };
    assert_eq!(of("{SALT}{PASSWORD}", &[0xff; 64]), Ok(Outcome::Mismatch));
    assert_eq!(of(&("{SALT}".repeat(30) + "{PASSWORD}"), b"xy"), Ok(Outcome::Mismatch));
    for (format, salt) in [
        ("", &b"salt"[..]),
        ("{SALT}", b"salt"),
        ("{PASSWORD}{PASSWORD}", b"salt"),
        ("{SALT}{PASSWORD}", &[0xff; 65]),
        ("{SALT}{PASSWORD}", b"{PASSWORD}"),
        ("{PASSWORD}{SALT}", b"{SALT}"),
        (&("{SALT}".repeat(65) + "{PASSWORD}"), b""),
    ] {
        assert_eq!(of(format, salt), Err(ErrorKind::BadInput), "{format}");
    }
}

/// What is wrong with a form is said, by its name, and is no mismatch.
#[test]
fn damaged_forms_are_bad_input() {
    let passwords = Passwords::new(cheap()).unwrap();
    let mut count = 0;
    let mut seen = HashSet::new();
    for case in vectors() {
        let stored = text(&case, "stored").to_owned();
        if !seen.insert(text(&case, "form").to_owned()) {
            continue;
        }
        let half = &stored[..stored.floor_char_boundary(stored.len() / 2)];
        let longer = format!("{stored}$x");
        for damaged in [half, &longer, &stored.replacen('$', "$$", 1), &format!("{stored}~")] {
            let same = damaged == stored || damaged.contains("$1$$");
            match login(&passwords, b"password", damaged) {
                Err(ErrorKind::BadInput) => count += 1,
                // A salt may be empty, or longer by one character.
                Ok(Outcome::Mismatch) if same || damaged.contains("$$") => {}
                // Less than all digits of MySQL's are the mark of a locked account.
                Ok(Outcome::Locked) if damaged.starts_with('*') => {}
                other => panic!("{other:?} {damaged}"),
            }
        }
    }
    assert!(count > 200, "{count}");
}

/// What nobody verifies is said by its name, and what to do about it.
#[test]
fn what_is_known_by_name_has_advice() {
    let passwords = Passwords::new(cheap()).unwrap();
    let mut count = 0;
    for known in formats() {
        let Some(advice) = known.advice() else { continue };
        let text = match known.prefix {
            "" => "md5d41d8cd98f00b204e9800998ecf8427e".to_owned(),
            prefix => format!("{prefix}secret"),
        };
        let error = passwords.verify("a", "secret", Some(&text)).wait().unwrap_err();
        assert!(error.to_string().contains(known.name) && error.to_string().contains(advice));
        assert_eq!(error.kind(), ErrorKind::OverLimit, "refused, not bad: {error}");
        count += 1;
    }
    assert_eq!(count, 26);
}
