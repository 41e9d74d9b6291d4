//! TwoCats and SkinnyCat against the candidates' own vectors, on every level of this processor.

use saltern_bench::twocats::{Error, Hash, Params, SkinnyCat, TwoCats};
use saltern_testing::vectors::{self, bytes, cases};
use saltern_yescrypt::hazmat::Level;
use serde_json::Value;

/// How many cases there are of each kind; 374 in all.
const CASES: [(&str, usize); 7] = [
    ("skinnycat", 82),
    ("twocats_client", 6),
    ("twocats_extended", 216),
    ("twocats_full", 22),
    ("twocats_hash", 19),
    ("twocats_skinny", 16),
    ("twocats_update", 13),
];

fn number(case: &Value, field: &str) -> u32 {
    vectors::number(case, field).try_into().expect(field)
}

fn hash_of(case: &Value) -> Hash {
    match case["hash"].as_str() {
        Some("blake2s") => Hash::Blake2s,
        Some("blake2b") => Hash::Blake2b,
        Some("sha256") => Hash::Sha256,
        Some("sha512") => Hash::Sha512,
        other => panic!("unknown hash {other:?}"),
    }
}

fn full_control(case: &Value) -> Params {
    Params {
        hash: hash_of(case),
        start_mem_cost: number(case, "startMemCost"),
        stop_mem_cost: number(case, "stopMemCost"),
        time_cost: number(case, "timeCost"),
        multiplies: number(case, "multiplies"),
        lanes: number(case, "lanes"),
        parallelism: number(case, "parallelism"),
        block_bytes: number(case, "blockSize"),
        sub_bytes: number(case, "subBlockSize"),
        overwrite_cost: case["overwriteCost"].as_u64().unwrap_or(0) as u32,
    }
}

/// The case's answer, twice from the same memory.
fn answers(case: &Value, level: Level) -> Result<[Vec<u8>; 2], Error> {
    let hash = hash_of(case);
    let mut outs = [vec![0; hash.bytes()], vec![0; hash.bytes()]];
    let kind = case["kind"].as_str().unwrap();
    if kind == "twocats_update" {
        let mut engine = TwoCats::with_level(full_control(case), level)?;
        for out in &mut outs {
            engine.update(&bytes(case, "old"), out)?;
        }
        return Ok(outs);
    }
    let [password, salt] = ["password", "salt"].map(|field| bytes(case, field));
    if matches!(kind, "skinnycat" | "twocats_skinny") {
        let mut engine = SkinnyCat::with_level(hash, number(case, "memCost"), level)?;
        for out in &mut outs {
            engine.hash(&password, &salt, out)?;
        }
        return Ok(outs);
    }
    let params = match kind {
        "twocats_hash" => Params::simple(hash, number(case, "memCost"), 0, 2)?,
        "twocats_full" => {
            let [mem, time, threads] =
                ["memCost", "timeCost", "parallelism"].map(|field| number(case, field));
            Params::simple(hash, mem, time, threads)?
        }
        _ => full_control(case),
    };
    let mut engine = TwoCats::with_level(params, level)?;
    for out in &mut outs {
        match kind {
            "twocats_extended" => {
                engine.hash_with_data(&password, &salt, &bytes(case, "data"), out)?;
            }
            "twocats_client" => engine.client(&password, &salt, &bytes(case, "data"), out)?,
            _ => engine.hash(&password, &salt, out)?,
        }
    }
    Ok(outs)
}

#[test]
fn the_candidates_own_answers() {
    let cases = cases("twocats", &CASES);
    for level in Level::available() {
        for case in &cases {
            match answers(case, level) {
                Ok(outs) => {
                    let out = bytes(case, "out");
                    assert_eq!(outs, [out.clone(), out], "{level} {}", case["id"]);
                }
                Err(error) => {
                    assert!(case["out"].is_null(), "{level} {}: {error}", case["id"]);
                    assert_eq!(error.parameter(), case["error"], "{level} {}", case["id"]);
                }
            }
        }
    }
}

/// Where the candidates compute from memory that they never wrote, there is no answer to agree on.
#[test]
fn undefined_results_are_refused() {
    let params = Params::simple(Hash::Blake2b, 8, 0, 1).unwrap();
    let refused = |params: Params| TwoCats::new(params).unwrap_err().parameter();
    assert_eq!(refused(Params { lanes: 3, ..params }), "lanes");
    assert_eq!(refused(Params { lanes: 16, sub_bytes: 32, ..params }), "lanes");
    assert_eq!(refused(Params { lanes: 8, block_bytes: 32, sub_bytes: 32, ..params }), "blockSize");
    // Without any memory work they are as good as others.
    let none = Params { start_mem_cost: 0, stop_mem_cost: 0, lanes: 3, ..params };
    assert!(TwoCats::new(none).is_ok());
}

#[test]
fn lengths_are_checked() {
    let mut out = [0; 32];
    let mut skinny = SkinnyCat::new(Hash::Blake2s, 0).unwrap();
    assert!(skinny.hash(&[1; 255], &[2; 255], &mut out).is_ok());
    let error = skinny.hash(&[1; 256], b"", &mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "length of 256 is not possible: use at most 255 bytes of password and of salt"
    );
    assert!(skinny.hash(b"", b"", &mut out[1..]).is_err());
    let mut engine = TwoCats::new(Params::simple(Hash::Sha512, 6, 0, 1).unwrap()).unwrap();
    assert!(engine.update(&[0; 63], &mut [0; 64]).is_err());
}
