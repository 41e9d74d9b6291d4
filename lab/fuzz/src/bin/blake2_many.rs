//! Any mix of messages: all at once and one by one the same, on every level.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_blake2::{Level, blake2b, blake2s, many};

fuzz_target!(|messages: Vec<(bool, &[u8])>| {
    for level in Level::available() {
        macro_rules! check {
            ($module:ident) => {{
                let plain = $module::Params::new().level(level).expect("an available level");
                let keyed = plain.clone().key(b"key").expect("a short key");
                let params = |is_keyed: bool| if is_keyed { &keyed } else { &plain };
                let mut jobs: Vec<_> =
                    messages.iter().map(|&(key, text)| many::Job::new(params(key), text)).collect();
                many::hash_many(&mut jobs);
                let mut hashers: Vec<_> =
                    messages.iter().map(|&(key, _)| params(key).to_hasher()).collect();
                let mut updates: Vec<_> = hashers
                    .iter_mut()
                    .zip(&messages)
                    .map(|(hasher, &(_, text))| (hasher, text))
                    .collect();
                many::update_many(&mut updates);
                for ((job, hasher), &(key, text)) in jobs.iter().zip(&hashers).zip(&messages) {
                    let expected = params(key).hash(text);
                    assert!(job.hash() == expected && hasher.finalize() == expected);
                }
            }};
        }
        check!(blake2b);
        check!(blake2s);
    }
});
