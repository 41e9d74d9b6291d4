//! `yescrypt.h` against the vectors, those that have to be refused included.

use saltern_testing::vectors::cases;
use serde_json::Value;

use crate::answers::{Answers, hex, hexed, number};

/// More memory than this is for the tests of the crate below.
const MOST_MEMORY: u64 = 128 << 20;

/// Parameters as the program reads them.
fn params(case: &Value) -> String {
    ["flags", "N", "r", "p", "t", "g", "NROM"]
        .map(|field| number(case, field).to_string())
        .join(" ")
}

/// Whether upstream's own library takes such parameters, which has one flavour and a smallest N;
/// the vectors are of all that the format defines.
fn is_upstreams(case: &Value) -> bool {
    let [flags, n, p] = ["flags", "N", "p"].map(|field| number(case, field));
    let slices = if flags & 2 != 0 { p.max(1) } else { 1 };
    [0, 1, 182].contains(&flags) && n / slices > 3
}

fn is_light(case: &Value) -> bool {
    128 * number(case, "r").saturating_mul(number(case, "N")) <= MOST_MEMORY
}

/// Makes the ROM of a case, if it has one, and changes the byte that the case says.
fn with_rom(answers: &mut Answers, case: &Value, preallocated: bool) {
    let rom = &case["rom"];
    if rom.is_null() {
        answers.ask("norom");
        return;
    }
    let line = format!("rom {} {} {}", params(rom), hex(rom, "seed"), u8::from(preallocated));
    let made = answers.ask(&line);
    assert!(made.starts_with("digest "), "{line}: {}", &made[..made.len().min(80)]);
    if let Some([at, mask]) = case["poke"].as_array().map(|poke| [&poke[0], &poke[1]]) {
        answers.ask(&format!("poke {at} {mask}"));
    }
}

/// What is asked for a case; none for settings from a cost, which crypt(3) makes, and is tested
/// with.
fn line(case: &Value) -> Option<String> {
    let password = hex(case, "password");
    let room = if case["buflen"].is_null() { 512 } else { number(case, "buflen") };
    let key = |field: &str| hex(case, field).replace('-', "NULL");
    let kind = case["kind"].as_str().unwrap();
    Some(match kind.strip_suffix("_reject").unwrap_or(kind) {
        "kdf" => {
            let (length, salt) = (number(case, "dkLen"), hex(case, "salt"));
            format!("kdf {} {length} {password} {salt}", params(case))
        }
        "rom" => format!("rom {} {} 0", params(case), hex(case, "seed")),
        "crypt" => format!("crypt {password} {} {} {room}", text(case, "setting"), key("key")),
        "reencrypt" => {
            format!("reencrypt {} {} {}", text(case, "hash"), key("from_key"), key("to_key"))
        }
        "encode" => format!("encode {} {} {room}", params(case), hex(case, "salt")),
        _ => return None,
    })
}

/// Text of a case, which may stand in hexadecimal, as the program reads it.
fn text(case: &Value, field: &str) -> String {
    match case[field].as_str() {
        Some(text) => hexed(text.as_bytes()),
        None => hex(case, &format!("{field}_hex")),
    }
}

#[test]
fn derivations() {
    let mut answers = Answers::start();
    let (mut same, mut refused) = (0, 0);
    for case in cases("yescrypt_kdf", &[("kdf", 270)]).iter().filter(|case| is_light(case)) {
        let line = line(case).expect("a derivation");
        let answer = answers.ask(&line);
        if is_upstreams(case) {
            assert_eq!(answer, hex(case, "out"), "{line}");
            same += 1;
        } else {
            assert_eq!(answer, format!("! {}", 22), "{line}");
            refused += 1;
        }
    }
    println!("{same} same, {refused} refused");
    assert_eq!(same + refused, 269);
    assert!(same > 150, "{same}");
}

#[test]
fn strings_with_and_without_keys() {
    let mut answers = Answers::start();
    let (mut same, mut foreign) = (0, 0);
    let strings = [("crypt", 158), ("gost", 12), ("gensalt", 34), ("encode", 63)];
    let mut all = cases("yescrypt_strings", &strings);
    all.extend(cases("yescrypt_encrypt", &[("crypt", 34), ("reencrypt", 50)]));
    for case in all {
        let Some(line) = line(&case) else { continue };
        let answer = answers.ask(&line);
        if answer == "! 22" && case["kind"] == "crypt" {
            // Another flavour, or an N that upstream does not take.
            foreign += 1;
            continue;
        }
        assert_eq!(answer, text(&case, "out"), "{line}");
        same += 1;
    }
    println!("{same} same, {foreign} foreign");
    assert!(same > 280, "{same}");
    assert!(foreign < 40, "{foreign}");
}

#[test]
fn roms_and_what_is_made_with_them() {
    let mut answers = Answers::start();
    let (mut images, mut same) = (0, 0);
    let kinds = [("rom", 20), ("kdf", 80), ("crypt", 13)];
    for (at, case) in cases("yescrypt_rom", &kinds).iter().enumerate() {
        let kind = case["kind"].as_str().unwrap();
        if kind == "rom" {
            if number(case, "flags") != 182 || number(case, "image_bytes") > MOST_MEMORY {
                continue;
            }
            let seed = hex(case, "seed");
            let image = answers.ask(&format!("rom {} {seed} {}", params(case), at % 2));
            let image = image.strip_prefix("digest ").unwrap_or_else(|| panic!("{case}: {image}"));
            assert!(image.starts_with(case["first64"].as_str().unwrap()), "{case}");
            assert!(image.ends_with(case["last64"].as_str().unwrap()), "{case}");
            images += 1;
            continue;
        }
        let rom = &case["rom"];
        let size = 128 * number(rom, "r") * number(rom, "NROM");
        let theirs = kind != "kdf" || is_upstreams(case);
        if !theirs || number(rom, "flags") != 182 || size > MOST_MEMORY {
            continue;
        }
        with_rom(&mut answers, case, at % 2 == 0);
        let out = if kind == "kdf" { hex(case, "out") } else { text(case, "out") };
        let answer = answers.ask(&line(case).expect("a derivation or a string"));
        if kind == "crypt" && answer == "! 22" {
            continue;
        }
        assert_eq!(answer, out, "{case}");
        same += 1;
    }
    println!("{images} images, {same} same");
    assert!(images >= 10 && same >= 50, "{images} {same}");
}

#[test]
fn what_has_to_be_refused_is() {
    let mut answers = Answers::start();
    let mut refused = 0;
    let kinds = [
        ("gensalt_reject", 10),
        ("encode_reject", 21),
        ("kdf_reject", 165),
        ("rom_reject", 13),
        ("crypt_reject", 83),
        ("reencrypt_reject", 22),
    ];
    for case in cases("yescrypt_reject", &kinds) {
        let Some(line) = line(&case) else { continue };
        let rom = &case["rom"];
        if !rom.is_null() && number(rom, "flags") != 182 {
            continue;
        }
        with_rom(&mut answers, &case, false);
        let answer = answers.ask(&line);
        assert!(answer.starts_with("! "), "{case}: {answer}");
        if case["error"] == "EINVAL" {
            assert_eq!(answer, "! 22", "{case}");
        }
        refused += 1;
    }
    println!("{refused} refused");
    assert!(refused > 280, "{refused}");
}
