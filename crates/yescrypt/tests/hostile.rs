//! Strings and parameters from an attacker: one answer or one error each, quickly, and in no more
//! memory than the limits allow. Also checks that nothing is left behind in freed memory or in
//! `Debug`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use saltern_testing::allocator::{Watching, forbid, forbidden, freed, peak};
use saltern_yescrypt::{
    Error, HashString, Hasher, Limit, Limits, Params, Setting, Workspace, derive,
    hazmat::{Advance, Derivation, Resumable, derive_many, reencrypt},
    keys::HashKey,
    params::{CheckedParams, Flavor, Mode, Syntax},
    rom::{Rom, RomImage, RomMasks, RomParams, RomReading, RomStore, RomUse, RomView, init_rom},
    verify,
};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// What a refusal may hold beside the input: a few short copies of it.
const SMALL: usize = 16 << 10;
/// A refusal takes microseconds, a mebibyte of text a few milliseconds.
const SOON: Duration = Duration::from_millis(50);

const HASH: &str = "HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";

/// What every entry point says to a string, which it has to say soon and without taking memory.
fn refused(text: &[u8]) -> Error {
    let hasher = Hasher::new();
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned();
    let attempt = || {
        let began = Instant::now();
        let mut workspace = Workspace::new();
        let (error, held) = peak(|| hasher.verify(&mut workspace, b"password", text).unwrap_err());
        assert!(held <= SMALL + 4 * text.len(), "{shown}: {held} bytes");
        assert_eq!(workspace.memory(), 0, "{shown}");
        (began.elapsed(), error)
    };
    // A machine with other work may take its time once, but not always.
    let outcome = (0..5).map(|_| attempt()).find(|(elapsed, _)| *elapsed < SOON);
    let (_, error) = outcome.unwrap_or_else(|| panic!("{shown}: not refused soon"));
    assert!(error.to_string().len() < 200, "{shown}: {error}");
    error
}

/// The name in an error about a number.
fn name(error: Error) -> &'static str {
    match error {
        Error::InvalidParameter { name, .. } => name,
        Error::OverLimit { what, .. } => what.name(),
        Error::Malformed { .. } => "malformed",
        Error::RomUnavailable { .. } => "ROM",
        Error::FlavorNotAllowed => "flavour",
        Error::RefusedByCrypt { .. } => "crypt(3)",
        other => panic!("{other:?}"),
    }
}

/// A `$y$` string that an encoder would make of these parameters.
fn encoded(change: impl FnOnce(&mut Params)) -> String {
    let mut params = Params::yescrypt(4096, 32);
    change(&mut params);
    format!("{}${HASH}", Setting::encode(&params, b"0123456789abcdef").unwrap())
}

#[test]
fn absurd_parameters_are_refused_by_name() {
    let cases = [
        (encoded(|p| p.n = 1 << 63), "N"),
        (encoded(|p| (p.n, p.r) = (1 << 63, 1)), "N"),
        (encoded(|p| (p.n, p.r) = (1 << 40, 1)), "memory in bytes"),
        (encoded(|p| (p.n, p.r) = (2, (1 << 30) - 1)), "memory in bytes"),
        (encoded(|p| (p.n, p.r) = (1 << 20, 257)), "memory in bytes"),
        (encoded(|p| (p.n, p.r) = (1 << 20, 256)), "memory in bytes"),
        (encoded(|p| (p.n, p.r, p.p) = (1 << 31, 1, (1 << 30) - 1)), "p"),
        (encoded(|p| (p.n, p.p) = (1 << 20, 65)), "p"),
        (encoded(|p| p.p = 4096), "p"),
        (encoded(|p| p.t = 1_091_060_272), Limit::Work.name()),
        (encoded(|p| p.g = 1), "g"),
        (encoded(|p| p.nrom = 1 << 63), "ROM"),
        (encoded(|p| p.nrom = 2), "ROM"),
        (encoded(|p| p.flavor = Flavor::new(6, 8, 8, 786_432).unwrap()), "flavour"),
        (
            encoded(|p| (p.mode, p.n, p.r, p.p) = (Mode::Classic, 1 << 18, 1, 64)),
            Limit::Work.name(),
        ),
        (format!("$7$zzzzzzzzzzzsalt${HASH}"), "r"),
        (format!("$7$z6..../....salt${HASH}"), "N"),
        (format!("$7$D6....zzzzzsalt${HASH}"), "r"),
        (format!("$7$D...../....salt${HASH}"), "r"),
        (format!("$7$D6..........salt${HASH}"), "p"),
        (format!("$7$.6..../....salt${HASH}"), "malformed"),
        (format!("$y$zzzzzz$salt${HASH}"), "malformed"),
        (format!("$y$jzzzzzzzzzzzzzzzzzzz$salt${HASH}"), "malformed"),
        (format!("$y$j9zzzzzz$salt${HASH}"), "r"),
        (format!("$y$jx1y...${HASH}"), "malformed"),
    ];
    assert_eq!(cases.len(), 25);
    for (text, expected) in cases {
        assert_eq!(name(refused(text.as_bytes())), expected, "{text}");
    }
}

/// Weights of `have` above the four known ones are ignored, as the format's own parser does; then
/// the fields are read as announced.
#[test]
fn unknown_announcements_are_read_as_the_format_does() {
    let hasher = Hasher::new();
    let mut workspace = Workspace::new();
    let hash = |workspace: &mut Workspace, setting: &str| {
        hasher.hash_with_setting(workspace, b"password", setting.as_bytes())
    };
    let plain = hash(&mut workspace, "$y$j1.$abcd").unwrap();
    let tail = |hash: &HashString| hash.as_bytes()[hash.as_bytes().len() - 43..].to_vec();
    // 'D' is 16 - 1 = 15, 'T' 32 - 1: only bits that mean nothing.
    for setting in ["$y$j1.D$abcd", "$y$j1.T$abcd"] {
        let hash = hash(&mut workspace, setting).unwrap();
        assert_eq!(tail(&hash), tail(&plain), "{setting}");
        assert!(hash.as_bytes().starts_with(setting.as_bytes()), "the text is copied");
    }
    // 16 + 1: p follows; it is missing, or 2.
    assert!(hash(&mut workspace, "$y$j1.E$abcd").is_err());
    let two = hash(&mut workspace, "$y$j1.E.$abcd").unwrap();
    assert_eq!(tail(&two), tail(&hash(&mut workspace, "$y$j1...$abcd").unwrap()));
    assert_ne!(tail(&two), tail(&plain));
    // More fields than announced, fewer than announced, nothing announced.
    for setting in ["$y$j1.D.$abcd", "$y$j1.B.$abcd", "$y$j1.$$$", "$y$j1.", "$y$j1", "$y$"] {
        assert_eq!(name(hash(&mut workspace, setting).unwrap_err()), "malformed", "{setting}");
    }
}

/// Hashes of the password `password` that take microseconds.
fn genuine() -> Vec<Vec<u8>> {
    let settings =
        ["$y$j1.$abcdefgh", "$7$2/..../....sa$lt", "$y$j3/0.0$abcd", "$y$.1.$", "$y$/1/$abcd"];
    let hasher = Hasher::new();
    let hash = |setting: &str| {
        let hash = hasher.hash_with_setting(&mut Workspace::new(), "password", setting);
        hash.unwrap().into_bytes()
    };
    settings.iter().map(|setting| hash(setting)).collect()
}

#[test]
fn every_truncation_and_extension_is_an_error() {
    let mut tried = 0;
    for text in genuine() {
        for len in 0..text.len() {
            assert_eq!(name(refused(&text[..len])), "malformed", "{len}");
            tried += 1;
        }
        for more in [&b"."[..], b"$", b"\0", b"\n", b" ", b":x:1:"] {
            assert_eq!(name(refused(&[&text[..], more].concat())), "malformed");
            tried += 1;
        }
    }
    assert!(tried > 5 * 50, "{tried}");
}

/// What a hash string says, whatever its text.
fn meaning(text: &[u8]) -> (Params, Vec<u8>, [u8; 32]) {
    let parsed = HashString::parse(text).unwrap();
    let setting = parsed.setting();
    (*setting.params(), setting.salt().to_vec(), *parsed.hash())
}

/// Every byte of a hash replaced by every other: an error or a mismatch, never a match, and never
/// more memory than the string asks for, which is within the limits.
#[test]
fn every_mutation_of_a_byte_is_an_error_or_a_mismatch() {
    // Tighter than a server's, so that the costliest mutations are refused and the test is short.
    let mut limits = Limits::server();
    limits.max_memory = 4 << 20;
    limits.syntax = Syntax::Wide;
    let hasher = Hasher::new().with_limits(limits);
    let (mut errors, mut mismatches, mut aliases, mut tried) = (0, 0, 0, 0);
    for text in genuine() {
        assert_eq!(hasher.verify(&mut Workspace::new(), b"password", &text), Ok(true));
        for at in 0..text.len() {
            let mut mutated = text.clone();
            for byte in (0..=255).filter(|byte| *byte != text[at]) {
                mutated[at] = byte;
                let mut workspace = Workspace::new();
                let (outcome, beside) =
                    peak(|| hasher.verify(&mut workspace, b"password", &mutated));
                let held = beside + workspace.memory();
                let params = Setting::parse(&mutated).map(|setting| *setting.params());
                let asked = params.map_or(0, |params| params.memory() + spare(&params));
                let shown = String::from_utf8_lossy(&mutated);
                let bound = if outcome.is_ok() { SMALL as u128 + asked } else { SMALL as u128 };
                assert!(held as u128 <= bound, "{shown}: {held} bytes");
                match outcome {
                    Ok(true) => {
                        // Only the announcement of optional fields has bits that mean nothing.
                        assert_eq!(meaning(&mutated), meaning(&text), "{shown}");
                        aliases += 1;
                    }
                    Ok(false) => mismatches += 1,
                    Err(_) => errors += 1,
                }
                tried += 1;
            }
        }
    }
    assert_eq!((aliases, errors + mismatches + aliases), (2, tried));
    assert!(errors > 50_000 && mismatches > 10_000, "{errors} errors, {mismatches} mismatches");
}

#[test]
fn a_mebibyte_of_anything_is_answered_soon() {
    const LEN: usize = 1 << 20;
    let long = |start: &str, fill: &[u8], end: &str| {
        let mut text = start.as_bytes().to_vec();
        text.extend(fill.iter().cycle().take(LEN));
        text.extend(end.as_bytes());
        text
    };
    let hash = format!("${HASH}");
    for fill in [&b"a"[..], b"$", b"\xff", b"\0", b"z", b".", b"$y$j9T$"] {
        for start in ["", "$y$", "$y$j", "$y$j9T$", "$y$jz", "$7", "$7$zzzz", "$y$j9T$abcd$"] {
            for end in ["", &hash] {
                let text = long(start, fill, end);
                if text.starts_with(b"$7$") && Setting::parse(&text).is_ok_and(|s| s.params().r > 0)
                {
                    continue;
                }
                let error = name(refused(&text));
                assert!(
                    matches!(error, "malformed" | "r" | "N" | "p" | "memory in bytes" | "crypt(3)"),
                    "{start} {fill:?} {end}: {error}"
                );
            }
        }
    }
    // By the format, the salt of a $7$ string may have any length: a hash like any other, of the
    // memory that it asks for.
    let mut limits = Limits::server();
    limits.syntax = Syntax::Wide;
    let hasher = Hasher::new().with_limits(limits);
    let mut workspace = Workspace::new();
    let setting = long("$7$2/..../....", b"\xffsalt", "");
    let (hash, held) =
        peak(|| hasher.hash_with_setting(&mut workspace, b"password", &setting).unwrap());
    let held = held + workspace.memory();
    assert!(held < SMALL + 8 * LEN, "{held}");
    assert_eq!(hasher.verify(&mut workspace, b"password", &hash), Ok(true));
    assert_eq!(hasher.verify(&mut workspace, b"passwork", &hash), Ok(false));
    let changed = [&hash.as_bytes()[..20], b"x", &hash.as_bytes()[21..]].concat();
    assert_eq!(hasher.verify(&mut workspace, b"password", &changed), Ok(false));
}

#[test]
fn text_that_is_no_hash_is_refused_everywhere() {
    let texts: [&[u8]; 12] = [
        b"",
        b"$",
        b"$$",
        b"$y",
        b"$y$",
        b"$7$",
        b"*",
        b"!",
        b"x",
        b"$gy$j9T$a$b",
        "$y$j9T$pässwörd$ünïcødé".as_bytes(),
        b"\xff\xfe\x00",
    ];
    for text in texts {
        assert_eq!(name(refused(text)), "malformed", "{text:?}");
        assert!(reencrypt(text, None, None).is_err());
        assert!(HashString::parse(text).is_err());
    }
    assert!(verify(b"password", "$y$j9T$é$é").is_err());
    let long = vec![b'x'; 512];
    let hasher = Hasher::new();
    let answer = hasher.verify(&mut Workspace::new(), &long, encoded(|_| ()).as_bytes());
    assert_eq!(name(answer.unwrap_err()), "password length");
    assert_eq!(hasher.verify(&mut Workspace::new(), &long[1..], &genuine()[0]), Ok(false));
}

/// Blocks that kernels use beside what [`Params::memory`] counts: one for each of the lanes.
fn spare(params: &Params) -> u128 {
    4 * 128 * u128::from(params.r)
}

fn checked(params: &Params) -> CheckedParams {
    params.check(&Limits::unlimited()).unwrap()
}

/// [`CheckedParams::memory`] is what limits go by, so it must be what is taken.
#[test]
fn one_hash_takes_the_memory_that_its_parameters_say() {
    let mut measured = 0;
    for mode in [Mode::Classic, Mode::Worm, Mode::Rw] {
        for (n, r) in [(2, 8), (64, 1), (64, 8), (1024, 3), (4096, 8)] {
            for p in [1, 2, 3, 4, 8, 64] {
                let mut params = Params::new(mode, n, r);
                params.p = p;
                if mode == Mode::Rw && n / u64::from(p) < 2 {
                    continue;
                }
                let params = checked(&params);
                let mut workspace = Workspace::new();
                let mut out = [0; 32];
                let (outcome, beside) =
                    peak(|| derive(b"p", b"s", &params, None, &mut workspace, &mut out));
                outcome.unwrap();
                let held = beside + workspace.memory();
                // Beside it: a spare block for each of the lanes, and lists of the instances.
                let beside = spare(params.params()) as usize + 256 * p as usize + SMALL;
                let said = params.memory() as usize;
                assert!(held <= said + beside, "{:?}: {held} bytes, not {said}", params.params());
                measured += 1;
            }
        }
    }
    assert_eq!(measured, 3 * 5 * 6 - 7, "all but the seven where RW has p above N / 2");
}

/// Filling a ROM destroys what was there, but only once nothing stands against filling it.
#[test]
fn a_rom_that_cannot_be_filled_is_left_as_it_was() {
    let mut workspace = Workspace::new();
    let mut image = RomImage::init(&RomParams::new(8, 1, 1), b"seed", &mut workspace).unwrap();
    let before = image.as_bytes().to_vec();
    let refused =
        init_rom(&RomParams::new(16, 1, 1), b"other", image.as_bytes_mut(), &mut workspace);
    assert_eq!(refused, Err(Error::BufferLength { needed: 2048, actual: 1024 }));
    let off = &mut image.as_bytes_mut()[512 - 8..1024 - 8];
    let refused = init_rom(&RomParams::new(4, 1, 1), b"other", off, &mut workspace);
    assert_eq!(refused, Err(Error::RomAlignment));
    assert_eq!(image.as_bytes(), before);
}

/// A password and a salt that hold more than a page, in every call that could copy them.
#[test]
fn copies_of_secrets_are_not_left_behind() {
    let password = vec![b'P'; 4096];
    let mut limits = Limits::server();
    (limits.syntax, limits.max_password) = (Syntax::Wide, password.len());
    let plain = Hasher::new().with_limits(limits);
    let hasher = plain
        .clone()
        .with_params(Params::yescrypt(16, 8))
        .assuming_unnamed_key(HashKey::new([3; 32]));
    let mut workspace = Workspace::new();
    let stored = hasher.hash(&mut workspace, &password).unwrap();
    let setting = b"$7X3$26..../....salt";
    let old = plain.hash_with_setting(&mut workspace, &password, setting).unwrap();
    let outcome = freed(|| {
        assert_eq!(plain.verify(&mut workspace, &password, &old), Ok(true));
        assert_eq!(hasher.verify(&mut workspace, &password, stored.as_bytes()), Ok(true));
        drop(hasher.hash(&mut workspace, &password));
        let params = checked(hasher.params());
        let mut outs = [[0; 32]; 3];
        let mut jobs = outs.each_mut().map(|out| Derivation {
            password: &password,
            salt: b"salt",
            out: &mut out[..],
        });
        derive_many(&mut jobs, &params, None, &mut workspace).unwrap();
    });
    assert_eq!(outcome.1, 0, "a copy of a password was freed as it was");
}

/// A ROM of so many blocks that their numbers cannot be anything else.
struct Vast(RomImage);

impl RomStore for Vast {
    fn size(&self) -> u64 {
        1 << 60
    }

    fn tail(&self, len: usize) -> Option<&[u8]> {
        let image = self.0.as_bytes();
        image.get(image.len().checked_sub(len)?..)
    }
}

/// Which blocks a hash read says something about its password, also when it was dropped half-way.
#[test]
fn numbers_of_blocks_are_not_left_behind() {
    let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut Workspace::new());
    let store = Arc::new(Vast(image.unwrap()));
    let params = checked(&Params::yescrypt(256, 8));
    let inputs = [b"a", b"b", b"c", b"d"].map(|password| (&password[..], &b"salt"[..]));
    for (look_ahead, stops) in [(0, 1), (0, usize::MAX), (20, 50), (20, usize::MAX)] {
        let reading = RomReading { nrom: 1 << 50, masks: RomMasks { fill: 1, mix: 1 }, look_ahead };
        let roms = [RomUse { rom: Rom::stored(store.clone()).unwrap(), reading }];
        let mut hash = Resumable::new(Workspace::new());
        hash.begin(&inputs, &params, &roms, 32).unwrap();
        let mut progress = hash.advance(&[]).unwrap();
        for _ in 0..stops {
            progress = match progress {
                Advance::Announces(read) => {
                    read.blocks().iter().for_each(|j| forbid(*j));
                    hash.advance(&[]).unwrap()
                }
                Advance::Needs(read) => {
                    let block = |j: &u64| &store.0.as_bytes()[(j % 64) as usize * 1024..][..1024];
                    let blocks: Vec<_> = read.blocks().iter().map(block).collect();
                    hash.advance(&blocks).unwrap()
                }
                Advance::Done => break,
            }
        }
        hash.clear();
    }
    let (numbers, found) = forbidden();
    assert!(numbers > 1000, "{numbers}");
    assert_eq!(found, 0, "of {numbers} numbers");
}

#[test]
fn nothing_secret_is_shown_by_debug() {
    let (password, salt) = (b"Tr0ub4dor", b"NaClNaCl");
    let key = [b'K'; 32];
    let mut out = *b"derived!";
    let hasher =
        Hasher::new().assuming_unnamed_key(HashKey::new(key)).with_params(Params::yescrypt(16, 1));
    let hash = hasher.hash(&mut Workspace::new(), password).unwrap();
    let digits = hash[hash.len() - 43..].to_owned();
    let image =
        RomImage::init(&RomParams::new(8, 1, 1), b"seedseed", &mut Workspace::new()).unwrap();
    let mut workspace = Workspace::new();
    derive(password, salt, &checked(&Params::yescrypt(16, 1)), None, &mut workspace, &mut [0; 32])
        .unwrap();
    let shown = [
        format!("{hasher:?}"),
        format!("{:?}", HashKey::new(key)),
        format!("{:?}", HashString::parse(hash.as_bytes()).unwrap()),
        format!("{:?}", HashString::parse([b"$7X3$26..../....a$", digits.as_bytes()].concat())),
        format!("{:?}", RomView::untagged(image.as_bytes())),
        format!("{:?}", Derivation { password, salt, out: &mut out }),
        format!("{workspace:?} {image:?} {:?}", RomView::new(&image).unwrap()),
        format!("{:?}", hasher.verify(&mut workspace, password, &hash.as_bytes()[..40])),
    ];
    let bytes = |secret: &[u8]| format!("{secret:?}").trim_matches(['[', ']']).to_owned();
    for shown in &shown {
        for secret in [&password[..], &key, digits.as_bytes(), b"derived!", b"seedseed"] {
            let text = String::from_utf8_lossy(secret);
            assert!(!shown.contains(&*text) && !shown.contains(&bytes(secret)), "{shown}");
        }
    }
}
