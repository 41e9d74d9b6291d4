//! Policies: refused with their place, or such that what they make is what they take.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern::Policy;

fuzz_target!(|text: &str| match Policy::parse(text, "/nowhere") {
    Ok(policy) => policy.check().expect("what was parsed has been checked"),
    Err(invalid) => {
        assert!(!invalid.allowed.is_empty());
        let lines = text.bytes().filter(|c| *c == b'\n').count() as u32 + 1;
        assert!(invalid.line.is_none_or(|line| (1..=lines).contains(&line)));
    }
});
