//! What a preloaded program needs, beside what it needs with libxcrypt: memory at the peak, with
//! and without limits, and stack. `load.c` is the program.

use std::path::PathBuf;
use std::process::Command;

use saltern_testing::program::repository;

use crate::installed::{installed, run, succeed, told};

const YESCRYPT: &str = "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.";
const SCRYPT: &str = "$7$A6..../....salt";

/// The library itself: its pages, its reserve, and addresses for the alignment of a hash.
const LIBRARY: u64 = 6 << 10;

fn program() -> PathBuf {
    installed().made("load", |place| {
        let source = repository("bindings/c/tests/c/load.c");
        let mut compile = Command::new("gcc");
        compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source);
        succeed(compile.arg("-o").arg(place).args(["-lcrypt", "-pthread"]));
    })
}

/// Failed calls, and the peaks of resident memory and of address space in KiB, of threads that make
/// two calls each.
fn load(preloaded: bool, threads: u64, limits: &[String], more: &[&str]) -> [u64; 3] {
    let mut command = Command::new("prlimit");
    // Whatever limits the test itself has.
    command.args(["--as=unlimited", "--data=unlimited"]).args(limits).arg("env");
    if preloaded {
        command.arg(format!("LD_PRELOAD={}", installed().shim().display()));
    }
    command.arg(program()).args([&threads.to_string(), "2"]).args(more);
    let output = run(&mut command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, told(&output));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().expect("three numbers")
}

#[test]
fn a_preloaded_program_needs_no_more_memory_and_never_fails_where_it_did_not() {
    let mut one = [0; 3];
    for threads in [1, 4, 16, 64] {
        let [mut plain, ours] = [false, true].map(|preloaded| load(preloaded, threads, &[], &[]));
        one = if threads == 1 { plain } else { one };
        // What it takes for calls at the same moment; on a busy machine they may miss each other.
        plain[1] = plain[1].max(one[1] + (threads - 1) * (16 << 10));
        println!("{threads} threads: {plain:?} with libxcrypt, {ours:?} preloaded");
        for (ours, plain) in ours.into_iter().zip(plain).skip(1) {
            let most = plain + plain / 20 + LIBRARY;
            assert!(ours <= most, "{threads} threads: {ours} KiB, and {plain} with libxcrypt");
        }
        // Under limits that are just wide enough for libxcrypt.
        let enough = |kib: u64| ((kib + LIBRARY) << 10).to_string();
        for limit in [format!("--as={}", enough(plain[2])), format!("--data={}", enough(plain[2]))]
        {
            let [failed, ..] = load(true, threads, std::slice::from_ref(&limit), &[]);
            assert_eq!(failed, 0, "{threads} threads under {limit}");
        }
    }
    // No wider for more threads than can compute at once.
    let few = "--data=409600000".to_owned();
    assert_eq!(load(true, 16, &[few], &[])[0], 0);
}

#[test]
fn a_stack_of_32_kib_is_enough() {
    for threads in [1, 16] {
        for setting in [YESCRYPT, SCRYPT, "$7$86..../....salt", "$y$j75$LdJMENpBABJJ3hIHjB1Bi."] {
            assert_eq!(load(true, threads, &[], &[setting, "32"])[0], 0, "{threads} {setting}");
        }
    }
}
