//! Stored strings of any scheme: counted, compared with new ones and rekeyed without harm; what was
//! rekeyed is what it was, and is not rekeyed again.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use saltern::policy::{Key, KeySource, Scheme, Secret};
use saltern::table::{Census, Table};
use saltern::{ErrorKind, Policy};

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut policy = Policy::default();
    policy.schemes = Scheme::ALL.to_vec();
    let source = KeySource::Value(Secret::new([7; 32]));
    policy.keys.push(Key { name: "new".parse().expect("a name"), source, active: true });
    Table::open(&policy).expect("a policy that can be")
});

fuzz_target!(|text: &str| {
    let mut census = Census::default();
    if TABLE.count(text, &mut census).is_err() {
        assert_eq!(census.bad, 1);
        return;
    }
    // What a census calls a cost is one that a policy can have.
    let mut policy = TABLE.policy().clone();
    policy.decoy.costs = census.costs(1);
    policy.check().expect("a cost that was counted");
    match TABLE.rekey(text) {
        Ok(Some(new)) => assert_eq!(TABLE.rekey(&new), Ok(None)),
        Ok(None) => {}
        Err(_) if !census.unsupported.is_empty() => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable),
    }
});
