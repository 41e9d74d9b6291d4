//! `blake2.h` against the known answers of the BLAKE2 project.

use std::process::Command;

use saltern_testing::program::repository;
use saltern_testing::vectors::cases;

use crate::answers::{Answers, hex, hexed, number};
use crate::installed::{installed, succeed};

/// A message in one call, and in pieces of these lengths.
const STEPS: [usize; 6] = [0, 1, 63, 64, 129, 600];

#[test]
fn known_answers_of_hashes_and_trees() {
    let mut answers = Answers::start();
    let mut compared = 0;
    let kinds = [("blake2b", 512), ("blake2s", 512), ("blake2bp", 512), ("blake2sp", 512)];
    for (at, case) in cases("blake2_kat", &kinds).iter().enumerate() {
        let (kind, out) = (case["kind"].as_str().unwrap(), case["out"].as_str().unwrap());
        let key = Some(hex(case, "key")).filter(|key| key != "-").unwrap_or("NULL".to_owned());
        for step in [0, STEPS[1 + at % (STEPS.len() - 1)]] {
            let line = format!("blake2 {kind} {} {step} {key} {}", out.len() / 2, hex(case, "in"));
            assert_eq!(answers.ask(&line), out, "{line}");
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * 2048);
}

#[test]
fn every_step_gives_the_hash_of_the_whole() {
    let mut answers = Answers::start();
    let message = hexed(&(0..5000_u32).map(|i| (i * i) as u8).collect::<Vec<_>>());
    let mut compared = 0;
    for kind in ["blake2b", "blake2s", "blake2bp", "blake2sp", "blake2xb", "blake2xs"] {
        for length in [1, 20, 32] {
            let ask = |step: usize| format!("blake2 {kind} {length} {step} 616263 {message}");
            let whole = answers.ask(&ask(0));
            for step in [1, 127, 128, 511, 512, 513, 1024, 1500, 4999] {
                assert_eq!(answers.ask(&ask(step)), whole, "{kind} {length} {step}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 6 * 3 * 9);
}

#[test]
fn known_answers_of_long_outputs() {
    let mut answers = Answers::start();
    let mut compared = 0;
    let kinds = [("blake2xb", 256), ("blake2xs", 256)];
    for (at, case) in cases("blake2_xof", &kinds).iter().enumerate() {
        let (kind, out) = (case["kind"].as_str().unwrap(), case["out"].as_str().unwrap());
        for step in [0, STEPS[1 + at % (STEPS.len() - 1)]] {
            let (key, message) = (hex(case, "key"), hex(case, "in"));
            let line = format!("blake2 {kind} {} {step} {key} {message}", out.len() / 2);
            assert_eq!(answers.ask(&line), out, "{line}");
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * 512);
}

#[test]
fn parameter_blocks_field_by_field() {
    let mut answers = Answers::start();
    let mut compared = 0;
    for case in cases("blake2_params", &[("blake2b", 450), ("blake2s", 370)]) {
        let kind = case["kind"].as_str().unwrap();
        let (half, offset) = if kind == "blake2b" { (16, 8) } else { (8, 6) };
        let padded = |field: &str| {
            let text = case[field].as_str().unwrap();
            format!("{text:0<width$}", width = 2 * half)
        };
        let key = case["key"].as_str().unwrap();
        let bytes = [
            number(&case, "digest_size") as u8,
            (key.len() / 2) as u8,
            number(&case, "fanout") as u8,
            number(&case, "depth") as u8,
        ];
        let mut block = hexed(&bytes);
        block += &hexed(&(number(&case, "leaf_size") as u32).to_le_bytes());
        block += &hexed(&number(&case, "node_offset").to_le_bytes()[..offset]);
        block += &hexed(&[number(&case, "node_depth") as u8, number(&case, "inner_size") as u8]);
        if kind == "blake2b" {
            block += &"00".repeat(14);
        }
        block += &(padded("salt") + &padded("person"));
        let last = u8::from(case["last_node"].as_bool().unwrap_or_default());
        let key = if key.is_empty() { "NULL" } else { key };
        let line = format!("param {kind} {block} {last} {key} {}", hex(&case, "in"));
        assert_eq!(answers.ask(&line), case["out"].as_str().unwrap(), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 820);
}

#[test]
fn what_is_not_allowed_is_refused() {
    let mut answers = Answers::start();
    let long = "00".repeat(65);
    let mut refused = 0;
    for kind in ["blake2b", "blake2s", "blake2bp", "blake2sp"] {
        for step in [0, 1] {
            for line in [
                format!("blake2 {kind} 0 {step} NULL 616263"),
                format!("blake2 {kind} 65 {step} NULL 616263"),
                format!("blake2 {kind} 32 {step} {long} 616263"),
            ] {
                assert_eq!(answers.ask(&line), "! 0", "{line}");
                refused += 1;
            }
        }
    }
    // Of BLAKE2Xb any length is allowed that fits into the parameter.
    for (kind, length) in [("blake2xb", 0), ("blake2xs", 0), ("blake2xs", 0x1_0000)] {
        let line = format!("blake2 {kind} {length} 1 NULL 616263");
        assert_eq!(answers.ask(&line), "! 0", "{line}");
        refused += 1;
    }
    assert_eq!(refused, 27);
}

#[test]
fn a_program_that_was_written_for_libb2_hashes_the_same() {
    let source = repository("bindings/c/tests/c/libb2.c");
    for compiler in [["gcc", "-std=c99"], ["g++", "-xc++"]] {
        let compiler = [&compiler[..], &["-DSALTERN_LIBB2"]].concat();
        let program = installed().program(&compiler, &source, &["saltern-blake2"]);
        let expected = std::fs::read_to_string(source.with_extension("txt")).unwrap();
        assert_eq!(succeed(&mut Command::new(program)), expected);
        assert_eq!(expected.lines().count(), 14);
    }
}
