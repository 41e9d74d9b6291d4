//! Generation 0.5 on every level of this machine: the vectors, and random parameters against the slow reference.

use std::collections::BTreeMap;

use saltern_yescrypt::escrypt::{self, Flags, Params, Rom, RomParams, Setting, Tuning};
use saltern_yescrypt::{Error, Hasher, Level, Limits, RomImage, Workspace};
use serde_json::Value;

fn number(value: &Value, name: &str) -> u32 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}")).try_into().unwrap()
}

fn bytes(value: &Value, name: &str) -> Vec<u8> {
    let text = value.get(name).map_or("", |text| text.as_str().unwrap());
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cases() -> Vec<Value> {
    let path = format!("{}/../../vectors/escrypt_0_5.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let cases = text.lines().map(|line| serde_json::from_str(line).unwrap());
    cases.filter(|case: &Value| case["kind"] != "header").collect()
}

/// A ROM of 3 GiB is used by four cases, which `saltern vectors check` computes.
fn too_large(case: &Value) -> bool {
    case.get("rom").is_some_and(|rom| number(rom, "N") > 1 << 20)
}

fn tuning(case: &Value) -> Result<Tuning, Error> {
    let Some(constants) = case.get("constants") else { return Ok(Tuning::DEFAULT) };
    let [bits, simd, groups, rounds, salsa] =
        ["S_BITS", "S_SIMD", "S_P", "S_ROUNDS", "salsa"].map(|name| number(constants, name));
    Tuning::new(bits, simd, groups, rounds, salsa)
}

/// An image and its digest.
fn rom(case: &Value, rom: &Value, workspace: &mut Workspace) -> Result<(RomImage, Vec<u8>), Error> {
    let mut params = RomParams::new(number(rom, "N").into(), number(rom, "r"), number(rom, "p"));
    params.tuning = tuning(case)?;
    let mut image = RomImage::zeroed(params.size() as usize)?;
    let mut digest = vec![0; number(rom, "digest_len") as usize];
    let seed = bytes(rom, "seed");
    escrypt::init_rom(&params, &seed, image.as_bytes_mut(), workspace, &mut digest)?;
    Ok((image, digest))
}

fn params(case: &Value) -> Result<Params, Error> {
    let flags = Flags::from_bits(number(case, "flags"))?;
    let mut params = Params::new(flags, case["N"].as_u64().unwrap(), number(case, "r"));
    (params.p, params.t) = (number(case, "p"), number(case, "t"));
    params.tuning = tuning(case)?;
    Ok(params)
}

fn answer(case: &Value, workspace: &mut Workspace) -> Result<String, Error> {
    let image = match case.get("rom") {
        Some(inputs) => Some(rom(case, inputs, workspace)?.0),
        None => None,
    };
    let attached = image
        .as_ref()
        .map(|image| Rom::from_bytes(image.as_bytes(), number(case, "mask")).unwrap());
    let [password, salt] = ["password", "salt"].map(|name| bytes(case, name));
    match case["kind"].as_str().unwrap().trim_end_matches("_reject") {
        "kdf05" => {
            let params = params(case)?.check(&Limits::unlimited())?;
            let mut out = vec![0; number(case, "dkLen") as usize];
            let rom = attached.as_ref();
            escrypt::derive(&password, &salt, &params, rom, workspace, &mut out)?;
            Ok(hex(&out))
        }
        "crypt05" => {
            let setting = case["setting"].as_str().unwrap().as_bytes();
            let mut hasher = Hasher::new().with_limits(Limits::unlimited());
            if let Some(rom) = attached {
                hasher = hasher.with_escrypt_rom(rom);
            }
            let text = hasher.hash_with_setting(workspace, &password, setting)?;
            assert_eq!(hasher.verify(workspace, &password, &text), Ok(true));
            assert_eq!(hasher.verify(workspace, b"another", &text), Ok(false));
            Ok(String::from_utf8(text).unwrap())
        }
        "rom05" => {
            let (image, digest) = rom(case, case, workspace)?;
            assert_eq!(image.as_bytes().len() as u64, case["image_bytes"].as_u64().unwrap());
            Ok(format!("{} {}", hex(&digest), sha256(image.as_bytes())))
        }
        "gensalt05" => {
            let sizes = (number(case, "r"), number(case, "p"));
            Setting::encode(number(case, "flags"), number(case, "N_log2"), sizes, &salt)
        }
        other => panic!("{other}"),
    }
}

fn sha256(data: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex(&Sha256::digest(data))
}

#[test]
fn vectors() {
    let cases = cases();
    let mut counts = BTreeMap::new();
    for case in &cases {
        *counts.entry(case["kind"].as_str().unwrap()).or_insert(0) += 1;
    }
    let expected = [
        ("kdf05", 268),
        ("crypt05", 49),
        ("rom05", 14),
        ("gensalt05", 9),
        ("kdf05_reject", 11),
        ("crypt05_reject", 10),
        ("gensalt05_reject", 3),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    let mut skipped = 0;
    for level in Level::available() {
        let mut workspace = Workspace::with_level(level).unwrap();
        workspace.set_threads(2);
        for case in &cases {
            if too_large(case) {
                skipped += 1;
                continue;
            }
            let (id, answer) = (&case["id"], answer(case, &mut workspace));
            if case["kind"].as_str().unwrap().ends_with("_reject") {
                assert!(answer.is_err(), "{id} {level}: {answer:?}");
                continue;
            }
            let expected = match case.get("out") {
                Some(out) => out.as_str().unwrap().to_owned(),
                None => {
                    let [digest, image] = ["digest", "image_sha256"].map(|name| &case[name]);
                    format!("{} {}", digest.as_str().unwrap(), image.as_str().unwrap())
                }
            };
            assert_eq!(answer, Ok(expected), "{id} {level}");
        }
    }
    assert_eq!(skipped, 4 * Level::available().count());
}
