//! crypt(3) of the shim beside the machine's own: same answers, same tokens, same errno.
//!
//! `SALTERN_MUTATIONS=100000` compares as many mutated settings.

use std::path::Path;
use std::process::Command;

use saltern_testing::Random;
use saltern_testing::program::repository;
use saltern_testing::skipped;
use saltern_yescrypt::{Params, Setting, params::Mode};

use crate::answers::{Answers, hexed};
use crate::installed::installed;

const LIBCRYPT: &str = "libcrypt.so.1";

/// Both libraries in one program, or none without the machine's.
fn both() -> Option<Answers> {
    if std::env::var_os("SALTERN_NO_SYSTEM_CRYPT").is_some_and(|value| value == "1") {
        skipped("SALTERN_NO_SYSTEM_CRYPT=1");
        return None;
    }
    assert!(Path::new("/usr/include/crypt.h").is_file(), "Debian: libcrypt-dev");
    let source = repository("bindings/c/tests/c/crypt.c");
    let program = installed().made("crypt-both", |place| {
        let mut compile = Command::new("gcc");
        // Functions that dlsym finds are no objects, in pedantic C.
        compile.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source);
        crate::installed::succeed(compile.arg("-o").arg(place).arg("-ldl"));
    });
    Some(Answers::of(Command::new(program).arg(installed().shim()).arg(LIBCRYPT)))
}

/// Asks both, which have to agree; returns what they say.
fn agree(both: &mut Answers, line: &str) -> String {
    let answer = both.ask(line);
    let (ours, theirs) = answer.split_once('\t').expect("two answers");
    assert_eq!(ours, theirs, "{line}");
    ours.to_owned()
}

/// A small setting of ours.
fn setting(random: &mut Random) -> Vec<u8> {
    let length = [0, 1, 8, 16, 32, 64][random.below(6) as usize];
    let salt = random.bytes(length);
    let mode = [Mode::Rw, Mode::Rw, Mode::Worm, Mode::Classic][random.below(4) as usize];
    let mut params = Params::new(mode, 16 << random.below(3), 1 + random.below(8) as u32);
    params.p = 1 + random.below(3) as u32;
    if mode != Mode::Classic {
        params.t = random.below(3) as u32;
    }
    let made = match (mode, random.below(2)) {
        (Mode::Classic, 0) => Setting::scrypt(&params, &salt),
        _ => Setting::new(&params, &salt),
    };
    made.expect("encodable").as_bytes().to_vec()
}

/// Replaces, inserts, removes or repeats something.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() as u64 + 1) as usize;
        let byte = match random.below(3) {
            0 => 1 + random.below(255) as u8,
            1 => b"$$!*:;\\ ,~_{}="[random.below(14) as usize],
            _ => b"./0123456789ABCDEFxyz"[random.below(21) as usize],
        };
        match random.below(10) {
            0..4 if at < text.len() => text[at] = byte,
            0..7 => text.insert(at, byte),
            7 if at < text.len() => _ = text.remove(at),
            8 => text.truncate(at),
            _ => {
                let fill = [byte].repeat(random.below(400) as usize);
                text.splice(at..at, fill);
            }
        }
    }
}

/// Whether it takes a moment to compute, if anybody computes it; the comparison is not of costs.
fn is_light(text: &[u8]) -> bool {
    Setting::parse(text).map_or(true, |setting| setting.params().work() < 8 << 20)
}

#[test]
fn mutated_settings_come_out_as_the_machines() {
    let Some(mut both) = both() else { return };
    let wanted = std::env::var("SALTERN_MUTATIONS").map_or(4000, |n| n.parse().unwrap());
    let mut random = Random::new(31);
    let (mut hashed, mut refused, mut foreign) = (0, 0, 0);
    for case in 0..wanted {
        let mut text = setting(&mut random);
        if case % 16 != 0 {
            mutate(&mut text, &mut random);
        }
        text.retain(|byte| *byte != 0);
        let ours = text.starts_with(b"$y$") || text.starts_with(b"$7$");
        // The machine's other schemes can be made to take minutes.
        let passed_on = !ours && !text.starts_with(b"$") && text.first() != Some(&b'_');
        if !is_light(&text) || !ours && !passed_on {
            continue;
        }
        let phrase = match case % 64 {
            0 => b"x".repeat(511),
            1 => b"x".repeat(512),
            2 => Vec::new(),
            _ => (0..random.below(30)).map(|_| 1 + random.below(255) as u8).collect(),
        };
        let function = ["crypt", "r", "rn", "ra"][case % 4];
        let line = format!("crypt {function} {} {} 32768", hexed(&phrase), hexed(&text));
        let said = agree(&mut both, &line);
        *if !ours {
            &mut foreign
        } else if said.starts_with('$') {
            &mut hashed
        } else {
            &mut refused
        } += 1;
    }
    println!("{hashed} hashed, {refused} refused, {foreign} passed on");
    let of = |share: usize| wanted / 100 * share;
    assert!(hashed > of(10) && refused > of(10) && foreign > of(1));
}

#[test]
fn tokens_sizes_and_null_pointers_come_out_as_the_machines() {
    let Some(mut both) = both() else { return };
    let good = hexed(b"$y$j75$LdJMENpBABJJ3hIHjB1Bi.");
    let mut compared = 0;
    let texts: [&[u8]; 9] =
        [b"*0", b"*1", b"*", b"", b"$y$", b"$7$", b"$y", b"$y$j75$*0", b"$unknown$"];
    for function in ["crypt", "r", "rn", "ra"] {
        for text in texts {
            agree(&mut both, &format!("crypt {function} 61 {} 32768", hexed(text)));
            compared += 1;
        }
        for line in [
            format!("crypt {function} NULL {good} 32768"),
            format!("crypt {function} 61 NULL 32768"),
            format!("crypt {function} NULL NULL 32768"),
            format!("crypt {function} {} {good} 32768", "61".repeat(511)),
            format!("crypt {function} {} {good} 32768", "61".repeat(512)),
            format!("crypt {function} {} {good} 32768", "61".repeat(100_000)),
            format!("crypt {function} 61 {}{} 32768", good, "2e".repeat(100_000)),
            format!("crypt {function} 61 {}{} 32768", good, "2a".repeat(100_000)),
        ] {
            agree(&mut both, &line);
            compared += 1;
        }
    }
    for size in [-1, 0, 1, 2, 3, 4, 383, 384, 385, 1000, 32767, 32768, 40000] {
        for function in ["rn", "ra"] {
            agree(&mut both, &format!("crypt {function} 61 {good} {size}"));
            compared += 1;
        }
    }
    assert_eq!(compared, 4 * 17 + 26);
}

#[test]
fn settings_from_a_cost_come_out_as_the_machines() {
    let Some(mut both) = both() else { return };
    let mut random = Random::new(32);
    let (mut made, mut refused) = (0, 0);
    for prefix in [&b"$y$"[..], b"$7$", b"$2b$", b"$6$", b"", b"$", b"$y", b"$y$j9T$x", b"$z$"] {
        for count in [0, 1, 4, 5, 6, 11, 12, 1000] {
            for length in [0, 1, 15, 16, 17, 64, 65, 200] {
                let bytes = hexed(&random.bytes(length));
                for (function, size) in [("gensalt", 0), ("rn", 192), ("ra", 0)] {
                    let prefix = hexed(prefix);
                    let line = format!("gensalt {function} {prefix} {count} {bytes} {size}");
                    let said = agree(&mut both, &line);
                    *if said.starts_with("NULL") { &mut refused } else { &mut made } += 1;
                }
            }
        }
        for size in [-1, 0, 1, 2, 3, 38, 60, 75, 76, 95, 191, 192, 200] {
            for length in [16, 32, 64] {
                let bytes = hexed(&random.bytes(length));
                agree(&mut both, &format!("gensalt rn {} 0 {bytes} {size}", hexed(prefix)));
            }
        }
    }
    println!("{made} made, {refused} refused");
    assert!(made > 300 && refused > 300);
}

#[test]
fn settings_are_checked_as_the_machine_does() {
    let Some(mut both) = both() else { return };
    let mut random = Random::new(33);
    for text in [&b""[..], b"$y$", b"$7$", b"$1$", b"$6$", b"_", b"ab", b"$2b$05$", b"*0"] {
        agree(&mut both, &format!("check {}", hexed(text)));
    }
    agree(&mut both, "check NULL");
    let mut valid = 0;
    for _ in 0..2000 {
        let mut text = setting(&mut random);
        mutate(&mut text, &mut random);
        text.retain(|byte| *byte != 0);
        valid += usize::from(agree(&mut both, &format!("check {}", hexed(&text))) == "0");
    }
    assert!(valid > 200, "{valid}");
}
