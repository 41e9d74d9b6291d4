//! Strings with ROMs that stay in their files, compared with the same ROMs in memory.

use std::path::PathBuf;
use std::sync::Arc;

use saltern_pool::{Error, Pool, PoolConfig, Terms};
use saltern_rom::{AttachOptions, Backend, Create, RomFile, RomReaders, Seed, attach};
use saltern_yescrypt::{
    Error as Core, Hasher, Limits, Params, Workspace,
    keys::{HashKey, KeySet},
    rom::{NamedRom, Rom, RomId, RomMasks, RomParams, RomReading, RomSet},
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
    fn hasher(&self, count: usize, keys: KeySet) -> (Arc<Hasher>, Vec<RomId>) {
        let (mut set, mut ids) = (RomSet::new(), Vec::new());
        for i in 0..count {
            let file = Arc::new(RomFile::open(&self.path(i), None).unwrap());
            set.attach(file.id(), file.rom().unwrap()).unwrap();
            ids.push(file.id());
        }
        set.activate(ids[0]).unwrap();
        set.assume_unnamed(set.rom(ids[0]).unwrap().clone());
        (Arc::new(Hasher::new().with_params(params()).with_roms(set).with_keys(keys)), ids)
    }
}

fn pool(waiting: usize) -> Pool {
    let mut config = PoolConfig::default();
    (config.threads, config.memory, config.max_waiting) = (2, 64 << 20, waiting);
    config.sources = Some(Arc::new(RomReaders::new(Backend::Auto)));
    Pool::new(config).unwrap()
}

const TERMS: Terms = Terms::interactive();

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
    set.assume_unnamed(set.rom(ids[0]).unwrap().clone());
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
    let ((hasher, ids), pool) = (site.hasher(2, keys()), pool(100));
    let strings = strings(&site);
    let items = strings.iter().flat_map(|s| [("password", s), ("Password", s)]);
    let answers = pool.verify(&hasher, items.cycle().take(48), TERMS).unwrap().wait();
    let answers: Vec<bool> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [true, false].repeat(24));
    // A complete string is its own setting.
    let items = strings.iter().map(|s| ("password", s));
    let again = pool.hash_with_settings(&hasher, items, TERMS).unwrap();
    for (again, string) in again.wait().into_iter().zip(&strings) {
        assert_eq!(again.unwrap().as_bytes(), string.as_bytes());
    }
    let new = pool.hash_one(&hasher, "password", TERMS).unwrap().wait().unwrap();
    assert!(new.starts_with(&format!("{{rom={}}}$y$", ids[0])));
    assert_eq!(pool.stats().hashes, 48 + 6 + 1);
}

#[test]
fn what_cannot_be_computed_is_an_error_of_its_item() {
    let site = Site::new();
    let strings = strings(&site);
    let ((hasher, ids), pool) = (site.hasher(1, KeySet::new()), pool(4));
    let long = "x".repeat(Limits::server().max_password + 1);
    let items = [
        ("password", &*strings[1]),
        ("password", &strings[3]),
        ("password", &strings[2]),
        (&long, &strings[1]),
        ("password", "$y$j"),
        (
            "pleaseletmein",
            "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.",
        ),
        ("Password", &strings[0]),
    ];
    let answers = pool.verify(&hasher, items, TERMS).unwrap().wait();
    let core = |i: usize| match &answers[i] {
        Err(Error::Hash(error)) => *error,
        other => panic!("{i}: {other:?}"),
    };
    assert!(answers[0].as_ref().is_ok_and(|matches| *matches));
    assert!(matches!(core(1), Core::RomNotLoaded { id } if id != ids[0]));
    assert!(matches!(core(2), Core::KeyNotLoaded { .. }));
    assert!(matches!(core(3), Core::OverLimit { .. }));
    assert!(matches!(core(4), Core::Malformed { .. }));
    assert_eq!(answers[5], Ok(true), "the older generation needs no ROM");
    assert!(answers[6].as_ref().is_ok_and(|matches| !*matches));
    // All or nothing of a batch is taken on.
    let many = pool.verify(&hasher, [("password", &strings[1]); 5], TERMS);
    assert!(matches!(many, Err(Error::BatchTooLarge { items: 5, limit: 4 })));
    // Another NROM than all of the file.
    let half = strings[1].as_bytes().to_vec();
    let mut half_params = params();
    half_params.nrom /= 2;
    let half_params = Hasher::new().with_params(half_params).setting([1; 8]).unwrap();
    let items = [("p", half_params.as_bytes()), ("p", &half)];
    let answers = pool.hash_with_settings(&hasher, items, TERMS).unwrap().wait();
    let Err(Error::Hash(refused)) = answers[0] else { panic!("{answers:?}") };
    assert!(matches!(refused, Core::InvalidParameter { name: "NROM", value: 128, .. }));
    assert!(answers[1].is_ok());
    // Who has only the name of a ROM cannot compute with it.
    let alone = hasher.verify(&mut Workspace::new(), b"password", strings[1].as_bytes());
    assert_eq!(alone, Err(Core::RomNotLoaded { id: ids[0] }));
    let alone = hasher.verify(&mut Workspace::new(), b"password", strings[0].as_bytes());
    assert_eq!(alone, Err(Core::RomUnavailable { nrom: NROM }));
}
