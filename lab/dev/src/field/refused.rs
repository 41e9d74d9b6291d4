//! Settings as they should not be, and some beside them that are right.

use saltern_reference::yescrypt::{Params, encode_setting};

use super::crypt::{NOTES, hashing, scrypt_setting};
use super::form::{File, Group, Test};

/// Characters outside the digits of base 64: those that crypt(3) refuses anywhere, others, and
/// bytes outside ASCII.
const BAD: &[u8] = b" :;*!\\\n\t\x01\x7f\x80\xff~-_=+,@{";

/// The file.
pub(super) fn file() -> File {
    let y = encode_setting(&Params { n: 8, p: 2, ..Params::rw() }, b"saltsalt").expect("encodable");
    let mut tests = Vec::new();
    for text in [&y, &scrypt_setting(3, 1, 1, "saltsalt$")] {
        for end in 0..=text.len() {
            let comment = format!("the first {end} characters");
            tests.push(hashing("Truncated", &comment, b"password", &text[..end]));
        }
        // After the prefix, which decides what is asked.
        for at in 3..text.len() {
            for (turn, &byte) in BAD.iter().enumerate() {
                // All of them at two places, and a third of them at each other.
                if at != 3 && at + 4 != text.len() && (turn + at) % 3 != 0 {
                    continue;
                }
                let changed = [&text[..at], &[byte], &text[at + 1..]].concat();
                let comment = format!("byte {byte:#04x} at {at}");
                tests.push(hashing("Character", &comment, b"password", &changed));
            }
        }
    }
    written_out(&mut tests);
    ranges(&mut tests);
    File {
        algorithm: "crypt",
        schema: "crypt_schema.json",
        header: &[
            "Settings that must be refused, with some that must not be beside them.",
            "CryptHash: hash the password under the setting.",
        ],
        notes: NOTES,
        groups: vec![Group { kind: "CryptHash", tests }],
    }
}

fn written_out(tests: &mut Vec<Test>) {
    for (flag, comment, text) in [
        ("Prefix", "empty", ""),
        ("Prefix", "upper case", "$Y$j0.$salt"),
        ("Prefix", "doubled letter", "$yy$j0.$salt"),
        ("Prefix", "no separator", "$yj0.$salt"),
        ("Prefix", "no first separator", "y$j0.$salt"),
        ("Prefix", "a number that is not assigned", "$8$salt$"),
        ("Prefix", "of the generation 0.5", "$7X$salt$"),
        ("Prefix", "a failure token", "*0"),
        ("Prefix", "the other failure token", "*1"),
        ("Malformed", "two separators before the salt", "$y$j0.$$c.5$"),
        ("Malformed", "the salt has one digit", "$y$j0.$s"),
        ("Malformed", "the salt has one digit in the last group", "$y$j0.$salts"),
        ("Malformed", "stray bits in two digits", "$y$j0.$zz"),
        ("Malformed", "stray bits in three digits", "$y$j0.$zzz"),
        ("Malformed", "no parameters", "$y$$salt"),
        ("Malformed", "N alone", "$y$j0$salt"),
        ("Malformed", "no separator after the parameters", "$y$j0..."),
        ("Malformed", "a flag of optional values, but no value", "$y$j0..$salt"),
        ("Malformed", "the flag p, but p is missing", "$y$j0..$salt$"),
        ("Malformed", "unknown flags of optional values", "$y$j0.D$salt"),
        ("Malformed", "N alone in $7$", "$7$1"),
        ("Malformed", "r is cut off in $7$", "$7$1/..."),
        ("Malformed", "p is cut off in $7$", "$7$1/..../..."),
    ] {
        tests.push(hashing(flag, comment, b"password", text.as_bytes()));
    }
    // 65 bytes: one more than a salt may have.
    let text = [&b"$y$j0.$"[..], &[b'.'; 87]].concat();
    tests.push(hashing("Salt", "65 bytes", b"password", &text));
}

fn ranges(tests: &mut Vec<Test>) {
    let small = Params { n: 8, ..Params::rw() };
    let shapes = [
        ("Range", "g is 1", Params { g: 1, ..small.clone() }),
        ("Range", "g is 2", Params { g: 2, ..small.clone() }),
        ("Range", "N / p below 2", Params { p: 5, ..small.clone() }),
        ("Range", "p above N", Params { p: 16, ..small.clone() }),
        ("SmallN", "N / p is 2", Params { p: 4, ..small.clone() }),
        ("SmallN", "N is 2", Params { n: 2, ..small.clone() }),
        ("Range", "N times t overflows", Params { n: 1 << 63, t: 1, ..small.clone() }),
        ("Range", "128 r N overflows", Params { n: 1 << 63, r: 32, ..small.clone() }),
        ("Range", "t with classic scrypt", Params { n: 8, t: 1, ..Params::from_flags(0) }),
        ("Range", "g with WORM", Params { n: 8, g: 1, ..Params::from_flags(1) }),
        ("NeedsRom", "NROM is 2", Params { nrom: 2, ..small.clone() }),
        ("NeedsRom", "NROM is 2^20", Params { nrom: 1 << 20, ..small.clone() }),
        ("NeedsRom", "NROM with p and t", Params { nrom: 16, p: 2, t: 1, ..small }),
    ];
    for (flag, comment, params) in shapes {
        let text = encode_setting(&params, b"salt").expect("encodable");
        tests.push(hashing(flag, comment, b"password", &text));
    }
    for (comment, log2_n, r, p) in [
        ("N is 1 in $7$", 0, 1, 1),
        ("r is 0 in $7$", 3, 0, 1),
        ("p is 0 in $7$", 3, 1, 0),
        ("r p is 2^30 in $7$", 3, 1 << 15, 1 << 15),
        ("r and p are the largest in $7$", 3, (1 << 30) - 1, (1 << 30) - 1),
        ("128 r N overflows in $7$", 63, 32, 1),
    ] {
        let text = scrypt_setting(log2_n, r, p, "salt");
        tests.push(hashing("Range", comment, b"password", &text));
    }
}
