//! Every engine answers right, and differences are seen. Skips what the system lacks, and says so.

use std::collections::BTreeMap;

use super::*;
use crate::case::{self, Side};
use crate::suite::SUITES;
use crate::work::{Argon2, Cats, Fill, Variant};
use saltern_yescrypt::Params;

/// Peers that some systems do not have.
const OPTIONAL: [&str; 8] = [
    "upstream C",
    "libargon2",
    "crypt_r",
    "saltern sum",
    "b2sum",
    "openssl",
    "saltern neon",
    "saltern avx512",
];

fn engine(name: &str) -> Option<Arc<dyn Engine>> {
    match find(name, &Places::default()).unwrap() {
        Ok(engine) => Some(engine),
        Err(missing) => {
            let optional = OPTIONAL.contains(&name) || name.starts_with("saltern ");
            assert!(optional, "{name}: {missing}");
            saltern_testing::skipped(&missing.to_string());
            None
        }
    }
}

/// The answers of all engines of this system to some work; how many there are.
#[track_caller]
fn agree(work: &Work, engines: &[&str], count: usize) -> usize {
    let mut known: Option<(&str, Vec<Vec<u8>>)> = None;
    let mut asked = 0;
    for name in engines {
        let Some(engine) = engine(name) else { continue };
        assert!(engine.computes(work), "{name}: {work:?}");
        let mut task = engine.task(work, &Setup::default()).unwrap();
        let count = count.min(task.together().max(1));
        task.run(3).unwrap();
        let answers = task.answers(count).unwrap();
        assert_eq!(answers.len(), count, "{name}");
        asked += 1;
        match &known {
            None => known = Some((name, answers)),
            Some((first, known)) => {
                let same = known.iter().zip(&answers).all(|(a, b)| a == b);
                assert!(same, "{name} and {first} differ on {work:?}");
            }
        }
    }
    asked
}

#[test]
fn password_hashes_agree() {
    let yescrypt = Work::Yescrypt(Params::yescrypt(64, 8), None);
    let engines = [
        "reference",
        "saltern",
        "saltern portable",
        "saltern sse2",
        "saltern avx2",
        "saltern wiping",
        "saltern avx2 pairs",
        "saltern resumable",
        "saltern avx2 resumable",
        "crate yescrypt",
        "crypt_r",
        "upstream C",
    ];
    assert!(agree(&yescrypt, &engines, 2) >= 6);
    let scrypt = Work::Yescrypt(Params::scrypt(64, 8, 1), None);
    let engines =
        ["reference", "saltern", "saltern resumable", "crate scrypt", "crypt_r", "upstream C"];
    assert!(agree(&scrypt, &engines, 2) >= 4);
    for id in [false, true] {
        let argon2 = Work::Argon2(Argon2 { id, kib: 64, t: 2, p: 1 });
        assert!(agree(&argon2, &["crate argon2", "libargon2"], 3) >= 1);
    }
    let fill = Work::Fill(Fill { nrom: 64, r: 8, p: 2, threads: 2 });
    assert!(agree(&fill, &["saltern", "saltern portable", "upstream C"], 1) >= 2);
    for skinny in [false, true] {
        assert_eq!(agree(&Work::Cats(Cats { skinny, mem_cost: 8 }), &["twocats"], 1), 1);
    }
}

#[test]
fn message_hashes_agree() {
    use Variant::{Blake2b, Blake2bp, Blake2s, Blake2sp, Blake3};
    for variant in [Blake2b, Blake2s, Blake2bp, Blake2sp] {
        for (bytes, messages) in [(0, 1), (1000, 1), (100, 7)] {
            let message = Message { variant, bytes, messages, file: false };
            let mut engines = vec!["reference", "saltern", "saltern portable", "blake2_simd"];
            if matches!(variant, Blake2b | Blake2s) {
                engines.push("crate blake2");
            }
            assert_eq!(agree(&Work::Message(message), &engines, 7), engines.len());
        }
    }
    // The published hash of no input.
    let message = Message { variant: Blake3, bytes: 0, messages: 1, file: false };
    let task = engine("crate blake3").unwrap().task(&Work::Message(message), &Setup::default());
    let hash = task.unwrap().answers(1).unwrap();
    assert_eq!(hash[0][..4], [0xaf, 0x13, 0x49, 0xb9]);
    let file = Message { variant: Blake2b, bytes: 5000, messages: 1, file: true };
    agree(&Work::Message(file), &["b2sum", "openssl"], 1);
}

#[test]
fn a_rom_is_the_same_on_both_kinds_of_pages() {
    let roms = [Pages::Standard, Pages::Huge].map(|pages| RomMemory::fill(64, 8, pages).unwrap());
    assert_eq!(roms[0].bytes(), roms[1].bytes());
    let mut params = Params::yescrypt(64, 8);
    params.nrom = 64;
    let work = Work::Yescrypt(params, Some(Pages::Huge));
    let [with, reference] = ["saltern", "reference"].map(|name| {
        let setup = Setup {
            rom: Some(Arc::new(RomMemory::fill(64, 8, Pages::Huge).unwrap())),
            ..Setup::default()
        };
        engine(name).unwrap().task(&work, &setup).unwrap().answers(2).unwrap()
    });
    assert_eq!(with, reference);
    let without = Work::Yescrypt(Params::yescrypt(64, 8), None);
    let without = engine("saltern").unwrap().task(&without, &Setup::default()).unwrap();
    assert_ne!({ without }.answers(2).unwrap(), with);
}

#[test]
fn inputs_differ_and_have_a_text_where_others_read_one() {
    let work = Work::Yescrypt(Params::yescrypt(64, 8), None);
    let two = inputs(&work, 2).unwrap();
    assert_ne!(two[0].password, two[1].password);
    assert_ne!(two[0].salt, two[1].salt);
    assert!(two[0].setting().unwrap().to_bytes().starts_with(b"$y$"));
    let argon2 = Work::Argon2(Argon2 { id: true, kib: 64, t: 1, p: 1 });
    assert!(inputs(&argon2, 1).unwrap()[0].setting().is_err());
}

#[test]
fn unknown_engines_and_levels_are_refused() {
    for name in ["nobody", "saltern fast", "sal", ""] {
        assert!(find(name, &Places::default()).is_err(), "{name}");
    }
    let places = Places { upstream: Some("/nonexistent/library".into()) };
    assert!(find("upstream C", &places).unwrap().is_err());
    let all = Setup { together: Some(1000), ..Setup::default() };
    let work = Work::Yescrypt(Params::yescrypt(64, 8), None);
    assert!(engine("saltern").unwrap().task(&work, &all).is_err());
}

/// Who is told to compute what in the case files can do so; in all of them, and in no fewer than
/// there are.
#[test]
fn case_files_ask_nobody_for_what_he_does_not_compute() {
    let mut asked = 0;
    let mut known: BTreeMap<String, Option<Arc<dyn Engine>>> = BTreeMap::new();
    for (suite, text) in SUITES {
        for quick in [false, true] {
            for section in
                case::parse(text, quick).unwrap_or_else(|error| panic!("{suite}: {error:#}"))
            {
                let cells = section.cells.iter().map(|cell| &cell.side);
                let sides = section.pairs.iter().flat_map(|pair| &pair.sides);
                for Side { engine: name, work, .. } in cells.chain(sides) {
                    let found = known.entry(name.clone()).or_insert_with(|| engine(name));
                    if let Some(engine) = found {
                        assert!(
                            engine.computes(work),
                            "{suite}/{}: {name} on {work:?}",
                            section.id
                        );
                        assert_eq!(engine.name(), *name);
                        asked += 1;
                    }
                }
                for curve in &section.curves {
                    let engine = engine(&curve.engine).unwrap();
                    assert!(engine.hash(&curve.message).is_some(), "{}", section.id);
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 700 && known.len() >= 17, "{asked}, {:?}", known.keys());
}
