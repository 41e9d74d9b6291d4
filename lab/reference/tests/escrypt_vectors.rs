//! The vectors of generation 0.5, every case but the four whose ROM takes 3 GiB.

use saltern_reference::yescrypt::Reject;
use saltern_reference::yescrypt::escrypt::{
    Params, Rom, Tuning, crypt, gensalt, kdf, parse_setting, rom_init,
};
use saltern_testing::hex::hex;
use saltern_testing::vectors::{bytes, cases, number, text};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn small(value: &Value, name: &str) -> u32 {
    u32::try_from(number(value, name)).unwrap()
}

fn tuning(case: &Value) -> Tuning {
    let Some(constants) = case.get("constants") else { return Tuning::DEFAULT };
    let of = |name: &str| small(constants, name);
    let [bits, simd, groups] = ["S_BITS", "S_SIMD", "S_P"].map(of);
    Tuning { bits, simd, groups, rounds: of("S_ROUNDS"), salsa: of("salsa") }
}

fn make_rom(case: &Value, rom: &Value) -> Result<(Vec<u8>, Vec<u8>), Reject> {
    let sizes = (number(rom, "N"), small(rom, "r"), small(rom, "p"));
    rom_init(&bytes(rom, "seed"), sizes, &tuning(case), number(rom, "digest_len"))
}

/// The answer as the file writes it.
fn answer(case: &Value) -> Result<String, Reject> {
    let rom = match case.get("rom") {
        Some(rom) => Some(Rom { image: make_rom(case, rom)?.0, mask: number(case, "mask") }),
        None => None,
    };
    let owned = |text: Vec<u8>| String::from_utf8(text).unwrap();
    match text(case, "kind").trim_end_matches("_reject") {
        "kdf05" => {
            let params = Params {
                p: small(case, "p"),
                t: small(case, "t"),
                tuning: tuning(case),
                ..Params::new(small(case, "flags"), number(case, "N"), small(case, "r"))
            };
            let (password, salt) = (bytes(case, "password"), bytes(case, "salt"));
            Ok(hex(&kdf(&password, &salt, &params, rom.as_ref(), number(case, "dkLen"))?))
        }
        "crypt05" => {
            let setting = text(case, "setting").as_bytes();
            let hash = crypt(&bytes(case, "password"), setting, rom.as_ref())?;
            assert_eq!(parse_setting(&hash)?, parse_setting(setting)?);
            Ok(owned(hash))
        }
        "rom05" => {
            let (image, digest) = make_rom(case, case)?;
            Ok(hex(&digest) + &hex(&Sha256::digest(image)))
        }
        "gensalt05" => {
            let (sizes, flags) = ((small(case, "r"), small(case, "p")), small(case, "flags"));
            Ok(owned(gensalt(small(case, "N_log2"), sizes, flags, &bytes(case, "salt"))?))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_case_of_a_bearable_size() {
    let kinds = [
        ("kdf05", 268),
        ("crypt05", 49),
        ("rom05", 14),
        ("gensalt05", 9),
        ("kdf05_reject", 11),
        ("crypt05_reject", 10),
        ("gensalt05_reject", 3),
    ];
    let mut left_out = 0;
    for case in cases("escrypt_0_5", &kinds) {
        if case.get("rom").is_some_and(|rom| number(rom, "N") > 1 << 20) {
            left_out += 1;
            continue;
        }
        let (id, answer) = (&case["id"], answer(&case));
        let text = |name: &str| text(&case, name).to_owned();
        match text("kind").as_str() {
            kind if kind.ends_with("_reject") => assert!(answer.is_err(), "{id}: {answer:?}"),
            "rom05" => assert_eq!(answer, Ok(text("digest") + &text("image_sha256")), "{id}"),
            _ => assert_eq!(answer, Ok(text("out")), "{id}"),
        }
    }
    assert_eq!(left_out, 4);
}
