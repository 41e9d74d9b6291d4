//! Strings with ROMs that stay in their files, against the same with the ROMs in memory.

use std::path::PathBuf;
use std::sync::Arc;

use saltern_rom::{
    AttachOptions, Create, EngineConfig, EngineError, RomFile, Seed, SsdEngine, SsdHasher, attach,
};
use saltern_yescrypt::{
    Error as Core, HashKey, Hasher, KeySet, Limits, NamedRom, Params, Rom, RomId, RomMasks,
    RomParams, RomReading, RomSet, Workspace,
};

const NROM: u64 = 256;

struct Site {
    directory: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Site { directory: tempfile::tempdir().unwrap() };
        for i in 0..2 {
            let seed = Seed::from_bytes(format!("seed number {i} of a test").as_bytes()).unwrap();
            Create::new(RomParams::new(NROM, 8, 1), &seed).file(&site.path(i)).unwrap();
        }
        site
    }

    fn path(&self, i: usize) -> PathBuf {
        self.directory.path().join(format!("{i}.rom"))
    }

    /// With the first `count` of both, the first of them active.
    fn hasher(&self, count: usize, keys: KeySet, waiting: usize) -> (SsdHasher, Vec<RomId>) {
        let roms = (0..count).map(|i| RomFile::open(&self.path(i), None).unwrap().into());
        let mut config = EngineConfig::default();
        (config.threads, config.memory, config.max_waiting) = (2, 64 << 20, waiting);
        let engine = SsdEngine::new(&config, roms.collect()).unwrap();
        let (mut set, ids) = (engine.rom_set(), engine.roms());
        set.activate(ids[0]).unwrap();
        set.set_unnamed(set.rom(ids[0]).unwrap().clone());
        let hasher = Hasher::new().with_params(params()).with_roms(set).with_keys(keys);
        (SsdHasher::new(hasher, engine), ids)
    }
}

fn params() -> Params {
    let mut params = Params::yescrypt(64, 8);
    params.nrom = NROM;
    params
}

fn keys() -> KeySet {
    let mut keys = KeySet::new();
    keys.add("2026".parse().unwrap(), HashKey::new([7; 32])).unwrap();
    keys
}

/// Strings of all kinds, from hashers that have the ROMs in memory.
fn strings(site: &Site) -> Vec<String> {
    let attached = [0, 1].map(|i| Arc::new(attach(&site.path(i), &AttachOptions::new()).unwrap()));
    let mut set = RomSet::new();
    let ids = attached.each_ref().map(|attached| {
        set.attach(attached.id(), Rom::new(attached.clone()).unwrap()).unwrap();
        attached.id()
    });
    let mut named = set.clone();
    named.activate(ids[0]).unwrap();
    set.set_unnamed(set.rom(ids[0]).unwrap().clone());
    let with = |set| Hasher::new().with_params(params()).with_roms(set);
    let mut encrypted = keys();
    encrypted.activate("2026".parse().unwrap()).unwrap();
    let list = [(1, 0, 7, 3), (0, 1, 1, 0)].map(|(i, fill, mix, look_ahead): (usize, _, _, _)| {
        let reading = RomReading { nrom: NROM, masks: RomMasks { fill, mix }, look_ahead };
        NamedRom { id: ids[i], reading }
    });
    let extended = with(named.clone()).with_params(Params::yescrypt(64, 8)).with_named_roms(&list);
    let hashers = [
        with(set),
        with(named.clone()),
        with(named).with_keys(encrypted.clone()),
        extended.clone(),
        extended.with_keys(encrypted),
        Hasher::new().with_params(Params::yescrypt(32, 1)),
    ];
    hashers.map(|h| h.hash(&mut Workspace::new(), b"password").unwrap()).into()
}

#[test]
fn strings_of_all_kinds_in_one_batch() {
    let site = Site::new();
    let (hasher, ids) = site.hasher(2, keys(), 100);
    let strings = strings(&site);
    let items = strings.iter().flat_map(|s| [("password", s), ("Password", s)]);
    let answers = hasher.verify(items.cycle().take(48)).unwrap().wait();
    let answers: Vec<bool> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [true, false].repeat(24));
    // A complete string is its own setting.
    let again = hasher.hash_with_settings(strings.iter().map(|s| ("password", s))).unwrap();
    for (again, string) in again.wait().into_iter().zip(&strings) {
        assert_eq!(again.unwrap(), string.as_bytes());
    }
    let new = hasher.hash(["password"]).unwrap().wait().remove(0).unwrap();
    assert!(new.starts_with(format!("{{rom={}}}$y$", ids[0]).as_bytes()));
    assert!(!hasher.hasher().outdated(&new).unwrap().any());
    assert_eq!(hasher.engine().stats().hashes, 48 + 6 + 1);
}

#[test]
fn what_cannot_be_computed_is_an_error_of_its_item() {
    let site = Site::new();
    let strings = strings(&site);
    let (hasher, ids) = site.hasher(1, KeySet::new(), 4);
    let long = "x".repeat(Limits::server().max_password + 1);
    let answers = hasher.verify([
        ("password", &*strings[1]),
        ("password", &strings[3]),
        ("password", &strings[2]),
        (&long, &strings[1]),
        ("password", "$y$j"),
        (
            "password",
            "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.",
        ),
        ("Password", &strings[0]),
    ]);
    let answers = answers.unwrap().wait();
    let core = |i: usize| match &answers[i] {
        Err(EngineError::Yescrypt(error)) => *error,
        other => panic!("{i}: {other:?}"),
    };
    assert!(answers[0].as_ref().is_ok_and(|matches| *matches));
    assert!(matches!(core(1), Core::RomNotLoaded { id } if id != ids[0]));
    assert!(matches!(core(2), Core::KeyNotLoaded { .. }));
    assert!(matches!(core(3), Core::OverLimit { .. }));
    assert!(matches!(core(4), Core::Malformed { .. }));
    assert!(matches!(answers[5], Err(EngineError::Rom(_))), "{:?}", answers[5]);
    assert!(answers[6].as_ref().is_ok_and(|matches| !*matches));
    // All or nothing of a batch is taken on.
    let many = hasher.verify([("password", &strings[1]); 5]);
    assert!(matches!(many, Err(EngineError::Yescrypt(Core::Overloaded { .. }))));
    // Another NROM than all of the file.
    let half = strings[1].as_bytes().to_vec();
    let mut half_params = params();
    half_params.nrom /= 2;
    let half_params = Hasher::new().with_params(half_params).setting(&[1; 8]).unwrap();
    let answers = hasher.hash_with_settings([("p", half_params.as_bytes()), ("p", &half)]);
    let answers = answers.unwrap().wait();
    let Err(EngineError::Yescrypt(refused)) = answers[0] else { panic!("{answers:?}") };
    assert!(matches!(refused, Core::InvalidParameter { name: "NROM", value: 128, .. }));
    assert!(answers[1].is_ok());
    // Who has only the name of a ROM cannot compute with it.
    let alone = hasher.hasher().verify(&mut Workspace::new(), b"password", strings[1].as_bytes());
    assert_eq!(alone, Err(Core::RomNotLoaded { id: ids[0] }));
    let alone = hasher.hasher().verify(&mut Workspace::new(), b"password", strings[0].as_bytes());
    assert_eq!(alone, Err(Core::RomUnavailable { nrom: NROM }));
}
