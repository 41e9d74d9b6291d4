//! Hashes under settings: `$y$` and `$7$`.

use saltern_reference::yescrypt::{
    Params, RW_DEFAULT, TOO_LARGE, crypt, encode_setting, parse_setting,
};
use saltern_testing::Random;
use serde_json::Map;

use super::form::{File, Group, Outcome, Test, hex, put_text};
use super::verify;

/// What the flags of crypt(3) tests mean.
pub(super) const NOTES: &[(&str, &str)] = &[
    ("Costly", "takes 16 MiB of memory or more"),
    ("Flavour", "another variant of pwxform than the one of crypt(3), which refuses it"),
    ("Password", "a password of a special length or with special bytes"),
    ("PasswordRefused", "crypt(3) refuses passwords of more than 511 bytes and cannot take zeros"),
    ("Parameters", "a combination of N, r, p and t"),
    ("Salt", "a salt of a special length"),
    ("SmallN", "N, or N / p in the RW mode, is below 4: the optimised C code refuses it"),
    ("StrictText", "characters or a length that libxcrypt refuses, though the format allows them"),
    ("TrailingHash", "the setting is followed by a hash, which must be ignored"),
    ("VariableLength", "numbers at the edges of their encoding's lengths"),
    ("Malformed", "not a setting of the format"),
    ("Character", "one character replaced by one that does not belong there"),
    ("Truncated", "the beginning of a good setting"),
    ("Range", "well-formed, but with parameters that the algorithm excludes"),
    ("NeedsRom", "a hash with a ROM, of which none is given"),
    ("Prefix", "another prefix"),
    ("Match", "the right password"),
    ("WrongPassword", "a password close to the right one"),
    ("ChangedHash", "the hash or its salt differs in one digit"),
    (
        "NonCanonical",
        "unused bits of the last digit are set: it must not be taken for the same hash",
    ),
    ("ChangedLength", "characters are missing at the end of the hash, or added to it"),
];

/// How much memory makes a test costly, in bytes.
const COSTLY: u64 = 16 << 20;

/// A test of hashing, judged by the reference, then by what libxcrypt is known to refuse.
pub(super) fn hashing(flag: &'static str, comment: &str, password: &[u8], setting: &[u8]) -> Test {
    let mut fields = Map::new();
    fields.insert("password".into(), hex(password));
    put_text(&mut fields, "setting", setting);
    let mut flags = vec![flag];
    let result = match crypt(password, setting, None, None) {
        Err(reason) => {
            assert_ne!(reason, TOO_LARGE, "{}: not decided here", setting.escape_ascii());
            Outcome::Invalid
        }
        Ok(hash) => {
            put_text(&mut fields, "hash", &hash);
            let params = parse_setting(setting).expect("it was hashed with").params;
            if 128 * u64::from(params.r) * params.n >= COSTLY {
                flags.push("Costly");
            }
            match refused(password, setting, &params) {
                Some(why) => {
                    if why != flag {
                        flags.push(why);
                    }
                    Outcome::Acceptable
                }
                None => Outcome::Valid,
            }
        }
    };
    Test { comment: comment.to_owned(), flags, fields, result }
}

/// Why libxcrypt 4.4 refuses what the format defines.
fn refused(password: &[u8], setting: &[u8], params: &Params) -> Option<&'static str> {
    let forbidden = |byte: &u8| !byte.is_ascii_graphic() || b"!*:;\\".contains(byte);
    let slices = if params.flags & 2 != 0 { u64::from(params.p) } else { 1 };
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"./$".contains(byte);
    // It looks at the salt of $7$ up to the last separator.
    let raw_salt = setting.get(14..).filter(|_| setting.starts_with(b"$7$")).unwrap_or_default();
    if password.len() > 511 || password.contains(&0) {
        Some("PasswordRefused")
    } else if setting.len() > 339 || setting.iter().any(forbidden) || !raw_salt.iter().all(digit) {
        Some("StrictText")
    } else if params.n < 4 || params.n / slices < 4 {
        Some("SmallN")
    } else if params.flags & 2 != 0 && params.flags != RW_DEFAULT {
        Some("Flavour")
    } else {
        None
    }
}

/// Bytes of a password, none of them zero.
pub(super) fn password(random: &mut Random, length: usize) -> Vec<u8> {
    (0..length).map(|_| 1 + random.below(255) as u8).collect()
}

/// A `$7$` setting; the salt is its text.
pub(super) fn scrypt_setting(log2_n: u8, r: u32, p: u32, salt: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = b"$7$".to_vec();
    out.push(DIGITS[usize::from(log2_n)]);
    for number in [r, p] {
        out.extend((0..5).map(|place| DIGITS[(number >> (6 * place)) as usize & 63]));
    }
    out.extend_from_slice(salt.as_bytes());
    out
}

/// A salt for `$7$`, of so many digits.
pub(super) fn scrypt_salt(random: &mut Random, length: usize) -> String {
    let digits = b"./0123456789ABCXYZabcxyz";
    (0..length).map(|_| char::from(digits[random.below(digits.len() as u64) as usize])).collect()
}

fn setting(params: &Params, salt: &[u8]) -> Vec<u8> {
    encode_setting(params, salt).expect("encodable")
}

/// Lengths of passwords around the blocks of SHA-256, and around the limit of crypt(3).
const LENGTHS: [usize; 25] = [
    0, 1, 2, 8, 31, 32, 33, 54, 55, 56, 63, 64, 65, 66, 119, 120, 127, 128, 129, 255, 256, 510,
    511, 512, 600,
];

fn passwords(setting: &[u8], random: &mut Random, tests: &mut Vec<Test>) {
    for length in LENGTHS {
        let password = password(random, length);
        tests.push(hashing("Password", &format!("{length} bytes"), &password, setting));
    }
    for (comment, password) in [
        ("UTF-8", "Pässwörter, пароль, パスワード".as_bytes()),
        ("not UTF-8", b"\x80\xff\xfe\xc0\xaf"),
        ("ends in a space", b"password "),
        ("ends in a line feed", b"password\n"),
        ("a dollar sign", b"pass$word"),
        ("zero in the middle", b"pass\0word"),
        ("zero alone", b"\0"),
    ] {
        tests.push(hashing("Password", comment, password, setting));
    }
}

/// The file of `$y$`.
pub(super) fn yescrypt() -> File {
    let mut random = Random::new(1);
    let mut tests = Vec::new();
    parameters(&mut random, &mut tests);
    passwords(&setting(&Params { n: 16, r: 2, ..Params::rw() }, b"salt"), &mut random, &mut tests);
    for length in 0..=64 {
        let salt = random.bytes(length);
        let setting = setting(&Params { n: 8, ..Params::rw() }, &salt);
        tests.push(hashing("Salt", &format!("{length} bytes"), b"password", &setting));
    }
    encodings(&mut tests);
    flavours(&mut tests);
    costly(&mut tests);
    trailing(&mut random, &mut tests);
    let examples = (0..12).map(|at: u32| {
        let salt = random.bytes(at as usize * 5);
        let params = Params { n: 16, r: 1 + at % 4, p: 1 + at % 3, t: at % 2, ..Params::rw() };
        setting(&params, &salt)
    });
    File {
        algorithm: "yescrypt",
        schema: "crypt_schema.json",
        header: &[
            "Hashes $y$ of yescrypt 1.1 without a ROM and without hash encryption.",
            "CryptHash: hash the password under the setting.",
            "CryptVerify: does the password belong to the hash?",
        ],
        notes: NOTES,
        groups: groups(tests, examples.collect()),
    }
}

fn parameters(random: &mut Random, tests: &mut Vec<Test>) {
    let mut place = 0;
    for n in [2, 4, 8, 64, 256, 1024] {
        for r in [1, 2, 3, 8, 9, 32] {
            for (p, t) in (1..=4).flat_map(|p| (0..=3).map(move |t| (p, t))) {
                place += 1;
                // A third of what is small enough, so that every pair of values occurs.
                if n * u64::from(r) > 2048 || place % 3 != 0 {
                    continue;
                }
                for flags in [RW_DEFAULT, 1, 0] {
                    let params = Params { n, r, p, t, ..Params::from_flags(flags) };
                    // Every mode with every N; WORM and classic scrypt with a part of the rest.
                    if flags != RW_DEFAULT && place % 9 != 0 {
                        continue;
                    }
                    let length = 1 + random.below(24) as usize;
                    let (password, salt) = (password(random, length), random.bytes(16));
                    let comment = format!("flags {flags}, N {n}, r {r}, p {p}, t {t}");
                    let setting = setting(&params, &salt);
                    tests.push(hashing("Parameters", &comment, &password, &setting));
                }
            }
        }
    }
}

/// Values where the encoding of a number gets longer.
fn encodings(tests: &mut Vec<Test>) {
    for edge in [47, 48, 49, 50, 559, 560, 561] {
        for shape in [
            Params { n: 8, t: edge, ..Params::rw() },
            Params { n: 8, r: edge, ..Params::rw() },
            Params { n: 4, r: 1, p: edge, ..Params::from_flags(1) },
            Params { n: 4 * u64::from(edge).next_power_of_two(), p: edge, ..Params::rw() },
        ] {
            let comment = format!("N {}, r {}, p {}, t {}", shape.n, shape.r, shape.p, shape.t);
            let setting = setting(&shape, b"variable");
            tests.push(hashing("VariableLength", &comment, b"password", &setting));
        }
    }
}

fn flavours(tests: &mut Vec<Test>) {
    for flags in (2..0x400).step_by(4) {
        let params = Params { n: 8, r: 4, ..Params::from_flags(flags) };
        let setting = setting(&params, b"flavour");
        tests.push(hashing("Flavour", &format!("flags {flags}"), b"password", &setting));
    }
}

/// Around the size from which the password is hashed by a smaller pass first.
fn costly(tests: &mut Vec<Test>) {
    for (n, r, p, t) in [
        (4096, 32, 1, 0),
        (4096, 31, 1, 0),
        (2048, 64, 1, 1),
        (8192, 16, 2, 0),
        (8192, 32, 2, 0),
        (256, 512, 1, 0),
        (128, 1024, 1, 0),
        (16384, 8, 1, 0),
    ] {
        let setting = setting(&Params { n, r, p, t, ..Params::rw() }, b"a costly hash");
        let comment = format!("N {n}, r {r}, p {p}, t {t}: near the pre-hash");
        tests.push(hashing("Parameters", &comment, b"password", &setting));
    }
}

fn trailing(random: &mut Random, tests: &mut Vec<Test>) {
    let base = setting(&Params { n: 8, ..Params::rw() }, &random.bytes(12));
    for end in ["$", "$x", "$....", "$not/the/hash", "$~", "$a hash", "$:"] {
        let text = [&base, end.as_bytes()].concat();
        tests.push(hashing("TrailingHash", &format!("followed by {end}"), b"password", &text));
    }
}

/// The file of `$7$`.
pub(super) fn scrypt() -> File {
    let mut random = Random::new(2);
    let mut tests = Vec::new();
    for log2_n in [1, 2, 3, 6, 8, 10] {
        for (r, p) in [1, 2, 3, 8, 9, 32].into_iter().flat_map(|r| (1..=4).map(move |p| (r, p))) {
            if r << log2_n > 2048 {
                continue;
            }
            let length = 1 + random.below(24) as usize;
            let password = password(&mut random, length);
            let setting = scrypt_setting(log2_n, r, p, &scrypt_salt(&mut random, 14));
            let comment = format!("N {}, r {r}, p {p}", 1 << log2_n);
            tests.push(hashing("Parameters", &comment, &password, &setting));
        }
    }
    passwords(&scrypt_setting(4, 2, 1, "salt"), &mut random, &mut tests);
    for length in (0..=64).chain([100, 200, 300, 325, 326, 400]) {
        let setting = scrypt_setting(3, 1, 1, &scrypt_salt(&mut random, length));
        tests.push(hashing("Salt", &format!("{length} characters"), b"password", &setting));
    }
    for salt in ["$", "$$", "a$", "a$b$", "a$b$c", "$a", "a$$b", "a b", "a:b", "a-b", "a~"] {
        let setting = scrypt_setting(3, 1, 1, salt);
        tests.push(hashing("Salt", &format!("the salt {salt}"), b"password", &setting));
    }
    for (log2_n, r, p) in [(14, 8, 1), (10, 8, 16), (3, 64, 1), (3, 4095, 1), (3, 1, 64)] {
        let comment = format!("N {}, r {r}, p {p}", 1 << log2_n);
        let setting = scrypt_setting(log2_n, r, p, "SodiumChloride");
        tests.push(hashing("VariableLength", &comment, b"pleaseletmein", &setting));
    }
    let examples = (0..12).map(|at: u32| {
        scrypt_setting(4, 1 + at % 4, 1 + at % 3, &scrypt_salt(&mut random, 1 + at as usize * 3))
    });
    File {
        algorithm: "scrypt",
        schema: "crypt_schema.json",
        header: &[
            "Hashes $7$ of scrypt, as crypt(3) writes them.",
            "CryptHash: hash the password under the setting.",
            "CryptVerify: does the password belong to the hash?",
        ],
        notes: NOTES,
        groups: groups(tests, examples.collect()),
    }
}

/// Hashes, and verdicts on strings with these settings.
fn groups(tests: Vec<Test>, examples: Vec<Vec<u8>>) -> Vec<Group> {
    let verdicts = verify::tests(examples);
    vec![Group { kind: "CryptHash", tests }, Group { kind: "CryptVerify", tests: verdicts }]
}
