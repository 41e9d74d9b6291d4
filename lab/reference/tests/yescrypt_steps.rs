//! Every intermediate value of `lab/vectors/yescrypt_steps.json`, from the inside out.

use saltern_reference::yescrypt::{
    Boxes, Params, Tuning, blockmix_pwxform, blockmix_salsa, body, bytes_from_lanes, fill_boxes,
    lanes_from_bytes, loop_counts, pwxform, salsa20, wrap,
};
use saltern_testing::hex::hex;
use saltern_testing::vectors::bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn uint(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("an integer")).expect("32 bits")
}

/// Lanes as the file hashes them: each little-endian, in shuffled order.
fn lanes_sha256<'a>(lanes: impl IntoIterator<Item = &'a u64>) -> String {
    let bytes: Vec<u8> = lanes.into_iter().flat_map(|lane| lane.to_le_bytes()).collect();
    hex(&Sha256::digest(bytes))
}

fn lanes_of(value: &Value) -> Vec<u64> {
    let lane = |v: &Value| u64::from_str_radix(v.as_str().expect("a lane"), 16).expect("a lane");
    value.as_array().expect("lanes").iter().map(lane).collect()
}

fn tuning_named(name: &str) -> Tuning {
    let (simple, gather, rounds, swidth) = match name {
        "default" => return Tuning::DEFAULT,
        "simple8 gather2 rounds6 swidth5" => (8, 2, 6, 5),
        "simple1 gather1 rounds3 swidth8" => (1, 1, 3, 8),
        other => panic!("no tuning {other:?}"),
    };
    Tuning { simple, gather, rounds, swidth, ..Tuning::DEFAULT }
}

#[test]
fn every_step() {
    let text = include_str!("../../vectors/yescrypt_steps.json");
    let file: Value = serde_json::from_str(text).expect("JSON");
    // The boxes of the nearest S-box fill before, from which two kinds of steps start.
    let mut boxes = Boxes::new(&[]);
    let mut counts = std::collections::BTreeMap::new();
    for step in file["steps"].as_array().expect("a list of steps") {
        let name = step["step"].as_str().expect("a name");
        match name {
            "salsa20_core" => check_salsa20(step),
            "blockmix_salsa" => check_blockmix_salsa(step),
            "lanes" => {
                assert_eq!(lanes_from_bytes(&bytes(step, "in")), lanes_of(&step["lanes"]));
            }
            "sbox_init" => boxes = check_sbox_init(step),
            "pwxform_x4" => check_pwxform(step, boxes.clone()),
            "blockmix_pwxform" => check_blockmix_pwxform(step, boxes.clone()),
            "wrap" => check_wrap(step),
            "loop_counts" => check_loop_counts(step),
            "kdf_trace" => check_kdf_trace(step),
            other => panic!("no check for step {other:?}"),
        }
        *counts.entry(name).or_insert(0) += 1;
    }
    let expected = [
        ("blockmix_pwxform", 3),
        ("blockmix_salsa", 2),
        ("kdf_trace", 2),
        ("lanes", 1),
        ("loop_counts", 1),
        ("pwxform_x4", 3),
        ("salsa20_core", 3),
        ("sbox_init", 3),
        ("wrap", 1),
    ];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
}

fn check_salsa20(step: &Value) {
    let lanes = lanes_from_bytes(&bytes(step, "in"));
    assert_eq!(bytes_from_lanes(&salsa20(&lanes, uint(&step["rounds"]))), bytes(step, "out"));
}

fn check_blockmix_salsa(step: &Value) {
    let lanes = lanes_from_bytes(&bytes(step, "in"));
    let out = blockmix_salsa(&lanes, uint(&step["rounds"]));
    assert_eq!(bytes_from_lanes(&out), bytes(step, "out"));
}

fn check_sbox_init(step: &Value) -> Boxes {
    let tuning = tuning_named(step["tuning"].as_str().expect("a tuning"));
    let mut block = bytes(step, "in");
    let boxes = fill_boxes(&mut block, &tuning);
    assert_eq!(block, bytes(step, "state_after"));
    let memory = boxes.s2.iter().chain(&boxes.s1).chain(&boxes.s0);
    assert_eq!(lanes_sha256(memory), step["sbox_sha256"]);
    let lane = |lane: u64| Value::from(format!("{lane:016x}"));
    assert_eq!(lane(boxes.s2[0]), step["S2_first_lane"]);
    assert_eq!(lane(boxes.s1[0]), step["S1_first_lane"]);
    assert_eq!(lane(boxes.s0[0]), step["S0_first_lane"]);
    assert_eq!(lane(boxes.s0[tuning.box_lanes() - 1]), step["last_lane"]);
    boxes
}

fn check_pwxform(step: &Value, mut boxes: Boxes) {
    let tuning = tuning_named(step["tuning"].as_str().expect("a tuning"));
    let mut x = lanes_of(&step["in"]);
    let calls = step["after_each_call"].as_array().expect("calls");
    assert_eq!(calls.len(), 4);
    for after in calls {
        pwxform(&mut x, &mut boxes, &tuning);
        assert_eq!(x, lanes_of(&after["X"]));
        assert_eq!(boxes.w, uint(&after["w"]) as usize);
        let memory = boxes.s0.iter().chain(&boxes.s1).chain(&boxes.s2);
        assert_eq!(lanes_sha256(memory), after["sha256_S0_S1_S2"]);
    }
}

fn check_blockmix_pwxform(step: &Value, mut boxes: Boxes) {
    let tuning = tuning_named(step["tuning"].as_str().expect("a tuning"));
    let r = uint(&step["r"]);
    let input: Vec<u8> = (0..128 * r).map(|i| (5 * i + 9) as u8).collect();
    assert_eq!(hex(&Sha256::digest(&input)), step["in_sha256"]);
    let out = blockmix_pwxform(&lanes_from_bytes(&input), &mut boxes, &tuning);
    assert_eq!(bytes_from_lanes(&out), bytes(step, "out"));
    assert_eq!(boxes.w, uint(&step["w_after"]) as usize);
}

fn check_wrap(step: &Value) {
    let cases = step["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 8);
    for case in cases {
        let [x, i, expected] = [0, 1, 2].map(|k| case[k].as_u64().expect("an integer"));
        assert_eq!(wrap(x, i as usize) as u64, expected, "wrap({x}, {i})");
    }
}

fn check_loop_counts(step: &Value) {
    let cases = step["cases"].as_array().expect("cases");
    assert!(cases.len() >= 15);
    for case in cases {
        // The internal ROM initialisation bit is section 16's.
        let flags = match case[3].as_str().expect("a mode") {
            "WORM" => 1,
            "RW" => 182,
            "RW ROM init" => 182 | 0x0100_0000,
            other => panic!("no mode {other:?}"),
        };
        let [n, p, t] = [0, 1, 2].map(|k| uint(&case[k]));
        let params = Params { n: n.into(), p, t, ..Params::rw() };
        let counts = loop_counts(&Params { flags, ..params });
        let got = [counts.chunk, counts.all, counts.rw];
        let expected = [4, 5, 6].map(|k| case[k].as_u64().expect("an integer"));
        assert_eq!(got, expected, "{case}");
    }
}

fn check_kdf_trace(step: &Value) {
    let [flags, r, p, t] = ["flags", "r", "p", "t"].map(|k| uint(&step[k]));
    let n = step["N"].as_u64().expect("an integer");
    let params = Params { n, r, p, t, ..Params::from_flags(flags) };
    let (password, salt) = (bytes(step, "password"), bytes(step, "salt"));
    let pass = body(&password, &salt, &params, None, uint(&step["dkLen"]) as usize);
    assert_eq!(pass.password, bytes(step, "password_hashed"));
    assert_eq!(pass.blocks_before, bytes(step, "B_initial"));
    assert_eq!(pass.secret, bytes(step, "secret_after_hmac"));
    let memory: Vec<u8> = pass.memory.iter().flat_map(|block| bytes_from_lanes(block)).collect();
    assert_eq!(hex(&Sha256::digest(memory)), step["V_sha256_final"]);
    assert_eq!(pass.blocks_after, bytes(step, "B_final"));
    assert_eq!(pass.derived, bytes(step, "pbkdf2_out"));
    assert_eq!(pass.output, bytes(step, "out"));
}
