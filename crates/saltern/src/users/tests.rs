use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    Users::parse(text).map(drop).unwrap_err().to_string().replace("policy:", "")
}

#[test]
fn lines_have_a_name_and_a_string_and_comments_stay() {
    let text = "# staff\n\nalice:$2y$05$x\r\nbob:{SHA}y=:Bob, who left:1\ncarol:\nd\u{e9}:!\n";
    let mut users = Users::parse(text).unwrap();
    let found = ["alice", "bob", "carol", "d\u{e9}", "# staff", ""].map(|name| users.find(name));
    assert_eq!(found, [Some("$2y$05$x"), Some("{SHA}y="), Some(""), Some("!"), None, None]);
    assert_eq!((users.count(), users.text()), (4, text));
    users.set("bob", "$y$z").unwrap();
    users.set("eve", "*").unwrap();
    assert!(users.remove("alice").unwrap() && !users.remove("alice").unwrap());
    let left = "# staff\n\nbob:$y$z:Bob, who left:1\ncarol:\nd\u{e9}:!\neve:*\n";
    assert_eq!(users.text(), left);
    assert!(format!("{users:?}") == "Users { 4 }");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, told) in [
        ("a:b\nc", "2: expected an end of the last line: the file may not be complete"),
        ("a:b\nalice\n", "2: expected a name, a colon and a stored string"),
        ("a:b\n\na:c\n", "3: name = a: expected each name once: it is in line 1"),
        (":b\n", "1: name = \"\": expected a name of 1 to 255 bytes"),
        ("a\tb:c\n", "1: name = \"a\\tb\": expected a name of 1 to 255 bytes"),
        ("a:b\nadm :c\n", "2: name = \"adm \": expected a name of 1 to 255 bytes"),
        ("\u{a0}x:c\n", "1: name = \"\\u{a0}x\": expected a name of 1 to 255 bytes"),
        ("\u{feff}a:c\n", "1: name = \"\\u{feff}a\": expected a name of 1 to 255 bytes"),
        (&("x".repeat(256) + ":c\n"), "expected a name of 1 to 255 bytes"),
        (&"#".repeat(MAX + 1), "8388609 bytes: expected at most 8388608"),
    ] {
        assert!(error(text).contains(told), "{}", error(text));
    }
    let mut users = Users::parse("a:b\n").unwrap();
    for (name, stored) in [("", "x"), ("a:b", "x"), ("#a", "x"), ("a\n", "x"), ("c", "x:y")] {
        assert!(users.set(name, stored).is_err(), "{name} {stored}");
    }
    assert!(users.set("c", "x\ny:z").is_err());
    assert_eq!(users.text(), "a:b\n");
}

proptest! {
    /// Whatever a file holds, changing one user leaves all others and their order.
    #[test]
    fn one_user_changes_and_no_other(
        entries in prop::collection::btree_map("[a-e]{1,3}", "[$a-z.]{0,8}", 0..12),
        name in "[a-e]{1,3}",
        stored in "[$a-z.]{0,8}",
        remove: bool,
    ) {
        let text: String = entries.iter().map(|(name, stored)| format!("{name}:{stored}\n")).collect();
        let mut users = Users::parse(text).unwrap();
        let mut expected = entries.clone();
        if remove {
            let was = expected.remove(&name).is_some();
            prop_assert_eq!(users.remove(&name).unwrap(), was);
        } else {
            expected.insert(name.clone(), stored.clone());
            users.set(&name, &stored).unwrap();
        }
        prop_assert_eq!(users.count(), expected.len());
        for (name, stored) in &expected {
            prop_assert_eq!(users.find(name), Some(&**stored));
        }
    }

    #[test]
    fn no_text_is_too_odd(text: String, name: String, stored: String) {
        if let Ok(mut users) = Users::parse(text) {
            let _ = users.set(&name, &stored);
            let _ = users.remove(&name);
            prop_assert!(Users::parse(users.text()).is_ok());
        }
    }
}
