//! Lines with stored strings, in every format: whatever is replaced is found again in its place,
//! and nothing else changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern::policy::FirebaseParameters;
use saltern::table::{Entry, Format, each_line, locate, rows};

/// What is found, and the lines with each string replaced.
fn replaced(input: &[u8], format: &Format, new: &str) -> (Vec<(u64, String)>, Vec<u8>, Vec<u64>) {
    let (mut found, mut output, mut bad) = (Vec::new(), Vec::new(), Vec::new());
    let operation = |entry: &Entry<'_>| {
        found.push((entry.number, entry.stored.to_owned()));
        Ok(Some(new.to_owned())).into()
    };
    each_line(input, &mut output, format, operation, |line, _| bad.push(line)).expect("memory");
    (found, output, bad)
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, input)) = input.split_first() else { return };
    let format = match kind % 7 {
        0 => Format::Detect,
        1 => Format::Fields { stored: 1, account: 0 },
        2 => Format::Json { stored: "hash".to_owned(), account: Some("id".to_owned()) },
        3 => Format::Json { stored: "/a/0/b".to_owned(), account: None },
        4 => Format::Keycloak,
        5 => Format::Firebase(FirebaseParameters {
            key: "firebase+0123456789abcdef".parse().expect("a name"),
            separator: vec![7],
            rounds: 8,
            mem_cost: 14,
        }),
        _ => Format::Ldif,
    };
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(Some(found)) = locate(text, &format)
    {
        let new = found.replaced("$new");
        let again = locate(&new, &format).expect("what was found").expect("a string");
        assert_eq!(again.stored(), "$new");
        assert_eq!(again.replaced("$new"), new);
    }
    let (found, output, bad) = replaced(input, &format, "$new");
    let read = rows(input, &format).filter(|row| {
        let stored = &row.as_ref().expect("memory").stored;
        stored.as_ref().is_ok_and(|stored| !stored.is_empty())
    });
    assert_eq!(read.count(), found.len());
    let (again, same, still_bad) = replaced(&output, &format, "$new");
    assert!(again.iter().all(|(_, stored)| stored == "$new"));
    assert_eq!((again.len(), still_bad.len()), (found.len(), bad.len()));
    assert_eq!(same, output);
});
