//! The vectors for the whole field: the machine's crypt(3) agrees with every result.

use saltern_testing::vectors::{bytes, field, field_text, text};

use super::System;
use super::counts::FILES;

#[test]
fn the_vectors_for_the_field_are_what_it_computes() {
    let Some(mut system) = System::start() else { return };
    let (mut same, mut refused, mut verdicts) = (0, 0, 0);
    for (file, counts) in FILES {
        for (kind, test) in field(file, counts) {
            let shown = format!("{file} {}", test["tcId"]);
            let (password, result) = (bytes(&test, "password"), text(&test, "result"));
            let hash = field_text(&test, "hash");
            if kind == "CryptVerify" {
                let there = system.crypt(&password, hash.as_ref().unwrap());
                assert_eq!(there == hash, result == "valid", "{shown}");
                verdicts += 1;
                continue;
            }
            // A C string cannot contain one; the file calls it acceptable to refuse it.
            if password.contains(&0) {
                assert_eq!(result, "acceptable", "{shown}");
                refused += 1;
                continue;
            }
            let there = system.crypt(&password, &field_text(&test, "setting").unwrap());
            match (result, there) {
                ("valid", there) => {
                    assert_eq!(there, hash, "{shown}");
                    same += 1;
                }
                (_, None) => refused += 1,
                (_, there) => panic!("{shown}: {result}, but it gives {there:?}"),
            }
        }
    }
    assert_eq!((same, refused, verdicts), (495, 791, 456));
}
