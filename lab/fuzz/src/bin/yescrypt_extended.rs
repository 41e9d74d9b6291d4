//! Any bytes after the prefix of an extended string, or as names before a `$y$` string: parsing
//! never panics, what parses has one spelling, and a password gets an answer or an error that says
//! what is missing, quickly and within the memory allowed.
//!
//! Input: `$` and what follows `$saltern-yescrypt`; or `{` and the rest of the string; or else any
//! string.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use saltern_fuzz::{tight_limits, with_workspace};
use saltern_yescrypt::{
    HashString, Hasher, Scheme, Setting, Workspace,
    keys::{HashKey, KeySet},
    rom::{Rom, RomId, RomImage, RomParams, RomSet},
};

static HASHER: LazyLock<Hasher> = LazyLock::new(|| {
    let mut roms = RomSet::new();
    // The ROMs of the known answers.
    for seed in [b"one", b"two"] {
        let image = RomImage::init(&RomParams::new(32, 4, 1), seed, &mut Workspace::new()).unwrap();
        let rom = Rom::new(image).unwrap();
        roms.attach(RomId::of_digest(rom.digest()), rom).unwrap();
    }
    let mut keys = KeySet::new();
    keys.add("2026".parse().unwrap(), HashKey::new([1; 32])).unwrap();
    keys.activate("2026".parse().unwrap()).unwrap();
    Hasher::new().with_limits(tight_limits()).with_roms(roms).with_keys(keys)
});

fuzz_target!(|input: &[u8]| {
    let text = match input.first() {
        Some(b'$') => [b"$saltern-yescrypt", input].concat(),
        _ => input.to_vec(),
    };
    let setting = Setting::parse(&text);
    let hash = HashString::parse(&text);
    let Ok(setting) = setting else {
        assert!(hash.is_err());
        return;
    };
    assert!(text.starts_with(setting.as_bytes()));
    assert_eq!(Scheme::of(&text), Some(setting.scheme()));
    if setting.scheme() == Scheme::Extended {
        let (params, roms, salt) = (setting.params(), setting.roms(), setting.salt());
        let again = Setting::extended(params, roms, setting.key_id(), salt);
        assert_eq!(again.as_ref(), Ok(&setting));
    }
    let Ok(hash) = hash else { return };
    assert_eq!(hash.setting(), &setting);
    assert_eq!(text.len(), setting.as_bytes().len() + 44);
    with_workspace(|workspace| {
        let Ok(computed) = HASHER.hash_with_setting(workspace, b"password", &text) else { return };
        assert!(computed.as_bytes().starts_with(setting.as_bytes()));
        assert_eq!(HASHER.verify(workspace, b"password", &computed), Ok(true));
        // To the active key and no further; what cannot be computed anew is the same hash.
        if let Ok(moved) = HASHER.rekey(&computed) {
            assert_eq!(HASHER.verify(workspace, b"password", moved.as_bytes()), Ok(true));
            assert_eq!(HASHER.rekey(moved.as_bytes()).as_deref(), Ok(&*moved));
        }
    });
});
