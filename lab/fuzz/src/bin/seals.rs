//! Seals: what is made is taken for its own account and for no other, and nothing else is taken.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use saltern::policy::{Key, KeySource, Secret};
use saltern::table::{Census, Table};
use saltern::{ErrorKind, Policy};

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut policy = Policy::default();
    let source = KeySource::Value(Secret::new([7; 32]));
    policy.seal.keys.push(Key { name: "new".parse().expect("a name"), source, active: true });
    Table::open(&policy).expect("a policy that can be")
});

fuzz_target!(|input: (&str, &str)| {
    let (account, text) = input;
    let table = TABLE.for_account(account);
    let begins_sealed = text.trim_start_matches(['!', '*']).starts_with("{seal=");
    match table.seal(text) {
        Ok(Some(sealed)) => {
            assert!(!begins_sealed, "only one key is known");
            assert_eq!(table.seal(&sealed), Ok(None));
            assert!(table.count(&sealed, &mut Census::default()).is_ok());
            let other = TABLE.for_account(format!("{account}?"));
            let error = other.seal(&sealed).expect_err("it is not that account's");
            let limit = account.len() == 4096;
            assert!(error.kind() == ErrorKind::Tampered || limit, "{error}");
        }
        // A seal that is right is one that was made here.
        Ok(None) if begins_sealed => {
            let plain = text.split_once('}').expect("a seal").1;
            let made = table.seal(plain).expect("it was").expect("a seal");
            assert!(text.ends_with(&made));
        }
        Ok(None) => {}
        Err(error) => {
            assert!(!matches!(error.kind(), ErrorKind::Overloaded | ErrorKind::Internal), "{error}")
        }
    }
});
