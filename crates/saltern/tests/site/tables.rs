//! Whole tables, as lines.

use saltern::table::{Census, Entry, Format, Report, Table, each_line};
use saltern::{Error, ErrorKind, Passwords, Ticket};

use super::logins::{OLD, cheap, key};

/// What an operation makes of a text, what it says of lines, and the report.
fn run(
    input: &str,
    format: &Format,
    mut operation: impl FnMut(&str) -> Ticket<Option<String>>,
) -> (String, Vec<(u64, ErrorKind)>, Report) {
    let (mut output, mut bad) = (Vec::new(), Vec::new());
    let tell = |line, error: &Error| bad.push((line, error.kind()));
    let operation = |entry: &Entry<'_>| operation(entry.stored);
    let report = each_line(input.as_bytes(), &mut output, format, operation, tell).unwrap();
    (String::from_utf8(output).unwrap(), bad, report)
}

#[test]
fn a_table_is_wrapped_and_every_account_keeps_its_password() {
    let passwords = Passwords::new(cheap()).unwrap();
    let bulk = passwords.bulk();
    let lines: Vec<String> = OLD
        .iter()
        .enumerate()
        .map(|(number, (stored, _))| format!("user{number}:{stored}:1000:x"))
        .collect();
    let input = format!("# head\n{}\nbroken:$y$j9T$abc:1\nlocked:!:2\nshort", lines.join("\r\n"));
    let (output, bad, report) =
        run(&input, &Format::Fields { stored: 1, account: 0 }, |stored| bulk.wrap(stored));
    // The last one lacks the field.
    assert_eq!(bad, [(13, ErrorKind::BadInput), (15, ErrorKind::BadInput)]);
    assert_eq!((report.lines, report.others, report.bad), (15, 1, 2));
    // All but the string of scrypt.
    assert_eq!(report.changed, 10);
    let (old, new): (Vec<_>, Vec<_>) = (input.lines().collect(), output.lines().collect());
    assert_eq!(old.len(), new.len());
    assert_eq!((old[0], &old[12..]), (new[0], &new[12..]));
    assert_eq!(output.matches("\r\n").count(), 10);
    for ((line, number), (_, password)) in new[1..12].iter().zip(0..).zip(OLD) {
        let mut fields = line.split(':');
        assert_eq!(fields.next(), Some(&*format!("user{number}")));
        let stored = fields.next().unwrap();
        assert!(stored.starts_with("{over=") || number == 10, "{stored}");
        let login = |password| passwords.verify("a", password, Some(stored)).wait().unwrap();
        assert!(login(password).is_match(), "{stored}");
        assert!(!login("wrong").is_match());
    }
    // A second run changes nothing.
    let (again, _, report) =
        run(&output, &Format::Fields { stored: 1, account: 0 }, |stored| bulk.wrap(stored));
    assert_eq!((again, report.changed), (output, 0));
}

#[test]
fn lines_of_json_keep_all_but_the_string() {
    let mut policy = cheap();
    policy.keys.push(key("a", 1, true));
    let table = Table::open(&policy).unwrap();
    let stored = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    let escaped = stored.replace("$y$", "\\u0024y$");
    let input = format!(
        "{{\"id\": 1, \"hash\" : \"{stored}\", \"x\":[1.0, {{\"hash\":\"{stored}\"}}]}}\n\
         {{\"hash\":\"{escaped}\"}}\n{{\"hash\":null}}\n{{\"other\":1}}\n\n[1]\n{{\"hash\":7}}\n{{\"hash\":\n"
    );
    let format = Format::Json { stored: "hash".to_owned(), account: None };
    let rekey = |stored: &str| Ticket::from(table.rekey(stored));
    let (output, bad, report) = run(&input, &format, rekey);
    let bad: Vec<u64> = bad.into_iter().map(|(line, _)| line).collect();
    assert_eq!((bad, report.changed, report.others), (vec![6, 7, 8], 2, 3));
    let new = table.rekey(stored).unwrap().unwrap();
    let expected = input.replacen(stored, &new, 1).replace(&escaped, &new);
    assert_eq!(output, expected);
    assert_eq!(run(&output, &format, rekey).0, output);
}

/// More lines than are on their way at once, in their order.
#[test]
fn order_is_kept() {
    let passwords = Passwords::new(cheap()).unwrap().bulk();
    let digest = |number: usize| format!("{number:032x}");
    let input: String = (0..700).map(|number| digest(number) + "\n").collect();
    let (output, bad, _) = run(&input, &Format::Bare, |stored| {
        if stored.ends_with('7') { Ticket::from(Ok(None)) } else { passwords.wrap(stored) }
    });
    assert!(bad.is_empty());
    for (number, line) in output.lines().enumerate() {
        if digest(number).ends_with('7') {
            assert_eq!(line, digest(number));
        } else {
            assert!(line.starts_with("{over=md5}$y$"));
        }
    }
    assert_eq!(output.lines().count(), 700);
}

#[test]
fn a_census_counts_and_retires() {
    let mut policy = cheap();
    policy.keys.extend([key("old", 1, false), key("new", 2, true)]);
    let table = Table::open(&policy).unwrap();
    let mut before = cheap();
    before.keys.push(key("old", 1, true));
    let before = Passwords::new(before).unwrap();
    let stored = before.hash("password").wait().unwrap();
    let mut census = Census::default();
    for text in [&*stored, &*format!("!{stored}"), "*", OLD[0].0] {
        table.count(text, &mut census).unwrap();
    }
    assert_eq!((census.accounts, census.locked, census.bad, census.refused), (4, 2, 0, 0));
    // What costs too much to be verified is no cost for decoys.
    let huge = "$2b$31$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm";
    let mut odd = Census::default();
    table.count(huge, &mut odd).unwrap();
    assert_eq!((odd.accounts, odd.refused, odd.costs.len()), (1, 1, 0));
    assert_eq!((census.keys["old"], census.outdated), (2, 3));
    assert_eq!((census.needs_rekey, census.needs_wrap), (2, 1));
    assert!(table.retire_key("new", &Census::default()).is_err(), "it is active");
    assert!(table.retire_key("old", &census).unwrap_err().to_string().contains("2 stored strings"));
    let mut after = Census::default();
    for text in [&*stored, &*format!("!{stored}")] {
        let new = table.rekey(text).unwrap().unwrap();
        assert_eq!(new.starts_with('!'), text.starts_with('!'));
        table.count(&new, &mut after).unwrap();
    }
    assert_eq!(table.retire_key("old", &after), Ok(()));
    assert!(table.count("what?", &mut after).is_err());
    assert!(table.retire_key("old", &after).is_err(), "who knows what that was");
}

/// What nobody verifies is said by its name, and is neither damaged nor locked.
#[test]
fn known_schemes_that_are_not_verified_are_refused_by_name() {
    let (table, mut census) = (Table::open(&cheap()).unwrap(), Census::default());
    let others = [
        ("md5d41d8cd98f00b204e9800998ecf8427e", "PostgreSQL's MD5"),
        ("{noop}password", "Spring"),
        ("{CRAM-MD5}5389b33b9725e5657cb631dc50017ff1", "Dovecot"),
        ("{SASL}alice@example.org", "OpenLDAP"),
        ("sha256$salt$0123", "Werkzeug"),
        ("{ssha256}06$salt$0123", "AIX"),
        ("$sm3$salt$digest", "sm3crypt"),
    ];
    for (stored, _) in others {
        table.count(stored, &mut census).unwrap();
    }
    let count = others.len() as u64;
    assert_eq!((census.accounts, census.refused, census.bad), (count, count, 0));
    assert_eq!((census.locked, census.costs.len()), (0, 0));
    assert_eq!(census.unsupported.values().sum::<u64>(), count);
    let passwords = Passwords::new(cheap()).unwrap();
    for (stored, name) in others {
        assert!(census.unsupported.keys().any(|known| known.contains(name)), "{name}");
        let error = passwords.verify("alice", "password", Some(stored)).wait().unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(error.kind(), saltern::ErrorKind::OverLimit, "refused, not bad: {error}");
    }
}

/// What a table names is counted by name as long as nobody wrote it to fill memory, and what the
/// policy names always is.
#[test]
fn a_census_does_not_grow_for_ever() {
    let mut policy = cheap();
    policy.keys.push(key("old", 1, true));
    let stored = Passwords::new(policy.clone()).unwrap().hash("password").wait().unwrap();
    policy.keys[0].active = false;
    let (table, mut census) = (Table::open(&policy).unwrap(), Census::default());
    for number in 0..10_007 {
        let other = stored.replacen("key=old", &format!("key=k{number}"), 1);
        table.count(&other, &mut census).unwrap();
    }
    table.count(&stored, &mut census).unwrap();
    assert_eq!((census.keys.len(), census.other_keys, census.keys["old"]), (10_001, 7, 1));
    assert!(table.retire_key("old", &census).is_err(), "it is counted");

    // In pieces, of which the first has more keys than are told apart.
    let mut part = Census::default();
    table.count(&stored, &mut part).unwrap();
    table.merge(&mut census, part);
    assert_eq!((census.keys.len(), census.other_keys, census.keys["old"]), (10_001, 7, 2));
    let mut whole = Census::default();
    table.merge(&mut whole, census.clone());
    assert_eq!((whole.keys["old"], whole.accounts, whole.other_keys), (2, census.accounts, 7));
    assert!(table.retire_key("old", &whole).is_err(), "it is counted");
}
