//! The vector files of yescrypt: every case that is not left out by one of two stated rules, with
//! the number of both asserted.
//!
//! Left out are (a) cases with `N * r` or `NROM * r` above [`TOO_BIG`], which need more than 64 MiB
//! and seconds each in this implementation, and (b) `$gy$`, which needs another hash function.

use std::collections::BTreeMap;
use std::rc::Rc;

use saltern_reference::yescrypt::{
    Params, Reject, Rom, TOO_LARGE, Tuning, crypt, encode_setting, gensalt, kdf, parse_setting,
    reencrypt, rom_init,
};
use saltern_testing::hex::hex;
use saltern_testing::vectors;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Cases with more 128-byte units of memory than this are left out.
const TOO_BIG: u128 = 1 << 19;

/// What came of a case.
enum Outcome {
    Computed(Vec<u8>),
    Refused(Reject),
    LeftOut,
}

impl From<Result<Vec<u8>, Reject>> for Outcome {
    fn from(result: Result<Vec<u8>, Reject>) -> Outcome {
        match result {
            Ok(bytes) => Outcome::Computed(bytes),
            Err(reject) => Outcome::Refused(reject),
        }
    }
}

/// A case of a vector file.
struct Case(Value);

impl Case {
    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> &str {
        vectors::text(&self.0, name)
    }

    /// A hexadecimal field.
    fn bytes(&self, name: &str) -> Vec<u8> {
        vectors::bytes(&self.0, name)
    }

    /// A field that is text, or hexadecimal under the name with `_hex`.
    fn string(&self, name: &str) -> Vec<u8> {
        let in_hex = format!("{name}_hex");
        if self.has(&in_hex) { self.bytes(&in_hex) } else { self.text(name).into() }
    }

    fn number(&self, name: &str) -> u64 {
        vectors::number(&self.0, name)
    }

    fn u32(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or_else(|_| panic!("{}: {name}", self.0))
    }

    /// A key: absent or empty means none.
    fn key(&self, name: &str) -> Option<[u8; 32]> {
        let key = if self.has(name) { self.bytes(name) } else { Vec::new() };
        match key.len() {
            0 => None,
            _ => Some(key.try_into().expect("a key of 32 bytes")),
        }
    }

    fn tuning(&self) -> Tuning {
        let Some(constants) = self.0.get("constants") else { return Tuning::DEFAULT };
        let of = |name: &str| constants[name].as_u64().expect("a constant") as u32;
        Tuning {
            simple: of("PWXsimple"),
            gather: of("PWXgather"),
            rounds: of("PWXrounds"),
            swidth: of("Swidth"),
            salsa_main: of("salsa_main"),
            salsa_pwx: of("salsa_pwx"),
        }
    }

    /// The parameters that are there, with the tuning of the case; others keep their defaults.
    fn params(&self) -> Params {
        Params {
            flags: self.u32("flags"),
            n: if self.has("N") { self.number("N") } else { 0 },
            r: self.u32("r"),
            p: self.u32("p"),
            t: self.u32("t"),
            g: if self.has("g") { self.u32("g") } else { 0 },
            nrom: self.number("NROM"),
            tuning: self.tuning(),
        }
    }
}

/// ROMs by the inputs that make them, and the counts of a file.
#[derive(Default)]
struct Runner {
    roms: BTreeMap<String, Rc<Rom>>,
    passed: BTreeMap<String, usize>,
    left_out: BTreeMap<String, usize>,
}

impl Runner {
    /// The ROM that a case names; `Err` if it is too big.
    fn rom(&mut self, case: &Case) -> Result<Option<Rc<Rom>>, ()> {
        let Some(inputs) = case.0.get("rom") else { return Ok(None) };
        let mut maker = Case(inputs.clone());
        if let Some(constants) = case.0.get("constants") {
            maker.0["constants"] = constants.clone();
        }
        let params = maker.params();
        if u128::from(params.nrom) * u128::from(params.r) > TOO_BIG {
            return Err(());
        }
        let name = maker.0.to_string();
        if !self.roms.contains_key(&name) {
            let rom = rom_init(&maker.bytes("seed"), &params).expect("the ROM of a case");
            self.roms.insert(name.clone(), Rc::new(rom));
        }
        let rom = self.roms[&name].clone();
        if !case.has("poke") {
            return Ok(Some(rom));
        }
        let mut image = rom.image().to_vec();
        let poke = &case.0["poke"];
        let at = poke[0].as_u64().expect("an offset") as usize;
        image[at] ^= poke[1].as_u64().expect("a mask") as u8;
        Ok(Some(Rc::new(Rom::new(image))))
    }

    fn run(&mut self, case: &Case) -> Outcome {
        let Ok(rom) = self.rom(case) else { return Outcome::LeftOut };
        let rom = rom.as_deref();
        let kind = case.text("kind").trim_end_matches("_reject");
        match kind {
            "kdf" => {
                let params = case.params();
                if too_big(case, params.n, params.r) {
                    return Outcome::LeftOut;
                }
                let (password, salt) = (case.bytes("password"), case.bytes("salt"));
                kdf(&password, &salt, &params, rom, case.number("dkLen")).into()
            }
            "rom" => {
                let params = case.params();
                if too_big(case, params.nrom, params.r) {
                    return Outcome::LeftOut;
                }
                let rom = rom_init(&case.bytes("seed"), &params);
                rom.map(|rom| describe(&rom).into_bytes()).into()
            }
            "crypt" => {
                let setting = case.string("setting");
                if parse_setting(&setting).is_ok_and(|s| too_big(case, s.params.n, s.params.r)) {
                    return Outcome::LeftOut;
                }
                let key = case.key("key");
                let hash = crypt(&case.bytes("password"), &setting, key.as_ref(), rom);
                within_buffer(case, hash).into()
            }
            "encode" => {
                within_buffer(case, encode_setting(&case.params(), &case.bytes("salt"))).into()
            }
            "gensalt" => {
                let prefix = case.text("prefix").as_bytes();
                gensalt(prefix, case.u32("cost"), &case.bytes("random")).into()
            }
            "reencrypt" => {
                let (from, to) = (case.key("from_key"), case.key("to_key"));
                reencrypt(&case.string("hash"), from.as_ref(), to.as_ref()).into()
            }
            "gost" => Outcome::LeftOut,
            other => panic!("no such kind: {other:?}"),
        }
    }

    /// Runs a file and compares its counts: kind, passed, left out.
    fn file(name: &str, expected: &[(&str, usize, usize)]) {
        let mut runner = Runner::default();
        let kinds: Vec<_> =
            expected.iter().map(|(kind, passed, left_out)| (*kind, passed + left_out)).collect();
        for case in vectors::cases(name, &kinds).into_iter().map(Case) {
            let kind = case.text("kind").to_owned();
            let outcome = runner.run(&case);
            let tally = match outcome {
                Outcome::LeftOut => &mut runner.left_out,
                _ => &mut runner.passed,
            };
            *tally.entry(kind).or_insert(0) += 1;
            judge(&case, outcome);
        }
        let counts: Vec<(&str, usize, usize)> = expected
            .iter()
            .map(|&(kind, ..)| {
                let of = |tally: &BTreeMap<_, _>| tally.get(kind).copied().unwrap_or(0);
                (kind, of(&runner.passed), of(&runner.left_out))
            })
            .collect();
        assert_eq!(counts, expected);
    }
}

/// Only cases that are to be computed can be too big: a refusal costs nothing.
fn too_big(case: &Case, n: u64, r: u32) -> bool {
    !case.text("kind").ends_with("_reject") && u128::from(n) * u128::from(r) > TOO_BIG
}

/// Panics unless the outcome is what the case says.
fn judge(case: &Case, outcome: Outcome) {
    let name = case.text("id");
    match outcome {
        Outcome::LeftOut => {}
        Outcome::Refused(reject) => {
            assert!(case.text("kind").ends_with("_reject"), "{name}: refused: {reject}");
            assert_ne!(reject, TOO_LARGE, "{name}: refused, but not for the reason that it has");
        }
        // This implementation computes every flavour that a string or a flags word can name.
        Outcome::Computed(_) if case.has("single_flavour") => {
            assert!(!case.text("kind").starts_with("kdf"), "{name}: the tuning was given");
        }
        Outcome::Computed(out) => {
            assert!(!case.text("kind").ends_with("_reject"), "{name}: not refused");
            let expected = match case.text("kind") {
                "kdf" => case.bytes("out"),
                "rom" => describe_expected(case).into_bytes(),
                _ => case.string("out"),
            };
            assert_eq!(hex(&out), hex(&expected), "{name}");
        }
    }
}

/// What `buflen` means: the text and a terminating zero byte have to fit.
fn within_buffer(case: &Case, text: Result<Vec<u8>, Reject>) -> Result<Vec<u8>, Reject> {
    let text = text?;
    match case.has("buflen") && text.len() as u64 >= case.number("buflen") {
        true => Err(Reject("the buffer is too small")),
        false => Ok(text),
    }
}

fn describe(rom: &Rom) -> String {
    let image = rom.image();
    let digest = hex(&rom.digest().expect("a fresh ROM has its tag"));
    let sha256 = hex(&Sha256::digest(image));
    let ends = [&image[..64], &image[image.len() - 64..]].map(hex);
    format!("{digest} {sha256} {} {} {}", image.len(), ends[0], ends[1])
}

fn describe_expected(case: &Case) -> String {
    let [digest, sha256, first, last] =
        ["digest", "image_sha256", "first64", "last64"].map(|name| case.text(name));
    format!("{digest} {sha256} {} {first} {last}", case.number("image_bytes"))
}

#[test]
fn kdf_file() {
    Runner::file("yescrypt_kdf", &[("kdf", 269, 1)]);
}

#[test]
fn strings_file() {
    Runner::file(
        "yescrypt_strings",
        &[("crypt", 158, 0), ("encode", 63, 0), ("gensalt", 34, 0), ("gost", 0, 12)],
    );
}

#[test]
fn encrypt_file() {
    Runner::file("yescrypt_encrypt", &[("crypt", 34, 0), ("reencrypt", 50, 0)]);
}

#[test]
fn rom_file() {
    Runner::file("yescrypt_rom", &[("crypt", 8, 5), ("kdf", 80, 0), ("rom", 19, 1)]);
}

#[test]
fn flavors_file() {
    Runner::file("yescrypt_flavors", &[("kdf", 177, 0), ("kdf_reject", 11, 0), ("rom", 7, 0)]);
}

#[test]
fn reject_file() {
    Runner::file(
        "yescrypt_reject",
        &[
            ("crypt_reject", 83, 0),
            ("encode_reject", 21, 0),
            ("gensalt_reject", 10, 0),
            ("kdf_reject", 165, 0),
            ("reencrypt_reject", 22, 0),
            ("rom_reject", 13, 0),
        ],
    );
}
