//! Manifests of ROMs: refused, or written again as something that says the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_rom::Manifest;

fuzz_target!(|text: &str| {
    if let Ok(manifest) = Manifest::parse(text) {
        let written = manifest.to_json();
        let again = Manifest::parse(&written).expect("what is written can be read");
        assert_eq!(again.to_json(), written);
    }
});
