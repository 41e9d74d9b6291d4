//! Generation 0.5 on every level of this machine: the vectors, and random parameters against the
//! slow reference.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::strategy::Union;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use saltern_reference::yescrypt::escrypt as reference;
use saltern_testing::hex::hex;
use saltern_testing::vectors::{self, text};
use saltern_yescrypt::escrypt::{self, EscryptRomParams};
use saltern_yescrypt::{
    Error, Hasher, Limits, Params, Workspace,
    hazmat::Level,
    keys::HashKey,
    params::{CheckedParams, Flags, Flavor, Mode},
    rom::{RomImage, RomMasks, RomReading, RomUse, RomView, derive_with_roms},
};
use serde_json::Value;

fn number(value: &Value, name: &str) -> u32 {
    vectors::number(value, name).try_into().unwrap()
}

/// None where there are none.
fn bytes(value: &Value, name: &str) -> Vec<u8> {
    value.get(name).map_or(Vec::new(), |_| vectors::bytes(value, name))
}

/// A ROM of 3 GiB is used by four cases, which `saltern-dev vectors check` computes.
fn too_large(case: &Value) -> bool {
    case.get("rom").is_some_and(|rom| number(rom, "N") > 1 << 20)
}

fn tuning(case: &Value) -> Result<Flavor, Error> {
    let Some(constants) = case.get("constants") else { return Ok(Flavor::ESCRYPT) };
    let [bits, simd, groups, rounds, salsa] =
        ["S_BITS", "S_SIMD", "S_P", "S_ROUNDS", "salsa"].map(|name| number(constants, name));
    Flavor::escrypt(bits, simd, groups, rounds, salsa)
}

/// An image and its digest.
fn rom(case: &Value, rom: &Value, workspace: &mut Workspace) -> Result<(RomImage, Vec<u8>), Error> {
    let mut params =
        EscryptRomParams::new(number(rom, "N").into(), number(rom, "r"), number(rom, "p"));
    params.flavor = tuning(case)?;
    let mut image = RomImage::zeroed(params.size() as usize)?;
    let mut digest = vec![0; number(rom, "digest_len") as usize];
    let seed = bytes(rom, "seed");
    escrypt::init_rom(&params, &seed, image.as_bytes_mut(), workspace, &mut digest)?;
    Ok((image, digest))
}

fn params(case: &Value) -> Result<Params, Error> {
    let flags = Flags::from_bits(number(case, "flags"))?;
    let mut params =
        Params::new(Mode::Escrypt(flags), vectors::number(case, "N"), number(case, "r"));
    (params.p, params.t) = (number(case, "p"), number(case, "t"));
    params.flavor = tuning(case)?;
    Ok(params)
}

/// All of an image, as hashes with these parameters read it.
fn used<'a>(image: &'a RomImage, mask: u32, params: &CheckedParams) -> RomUse<RomView<'a>> {
    let nrom = image.as_bytes().len() as u64 / (128 * u64::from(params.params().r));
    let reading = RomReading { nrom, masks: RomMasks::escrypt(mask), look_ahead: 0 };
    RomUse { rom: RomView::untagged(image.as_bytes()).unwrap(), reading }
}

/// The flags of parameters.
fn flags(params: &Params) -> Flags {
    let Mode::Escrypt(flags) = params.mode else { panic!("{params:?}") };
    flags
}

/// The ROM of a copy of an image.
fn held(image: &RomImage) -> saltern_yescrypt::rom::Rom {
    let mut copy = RomImage::zeroed(image.as_bytes().len()).unwrap();
    copy.as_bytes_mut().copy_from_slice(image.as_bytes());
    saltern_yescrypt::rom::Rom::untagged(copy).unwrap()
}

fn answer(case: &Value, workspace: &mut Workspace) -> Result<String, Error> {
    let image = match case.get("rom") {
        Some(inputs) => Some(rom(case, inputs, workspace)?.0),
        None => None,
    };
    let [password, salt] = ["password", "salt"].map(|name| bytes(case, name));
    match text(case, "kind").trim_end_matches("_reject") {
        "kdf05" => {
            let params = params(case)?.check(&Limits::unlimited())?;
            let mut out = vec![0; number(case, "dkLen") as usize];
            let rom = image.as_ref().map(|image| used(image, number(case, "mask"), &params));
            derive_with_roms(&password, &salt, &params, rom.as_slice(), workspace, &mut out)?;
            Ok(hex(&out))
        }
        "crypt05" => {
            let setting = text(case, "setting").as_bytes();
            let mut hasher = Hasher::new().with_limits(Limits::unlimited());
            if let Some(image) = &image {
                hasher = hasher.with_escrypt_rom(held(image), number(case, "mask"));
            }
            let hash = hasher.hash_with_setting(workspace, &password, setting)?;
            assert_eq!(hasher.verify(workspace, &password, &hash), Ok(true));
            assert_eq!(hasher.verify(workspace, b"another", &hash), Ok(false));
            Ok(hash.to_str().unwrap().to_owned())
        }
        "rom05" => {
            let (image, digest) = rom(case, case, workspace)?;
            assert_eq!(image.as_bytes().len() as u64, vectors::number(case, "image_bytes"));
            Ok(format!("{} {}", hex(&digest), sha256(image.as_bytes())))
        }
        "gensalt05" => {
            let [flags, log2_n, r, p] = ["flags", "N_log2", "r", "p"].map(|key| number(case, key));
            escrypt::encode_setting(flags, log2_n, r, p, &salt)
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
    let kinds = [
        ("kdf05", 268),
        ("crypt05", 49),
        ("rom05", 14),
        ("gensalt05", 9),
        ("kdf05_reject", 11),
        ("crypt05_reject", 10),
        ("gensalt05_reject", 3),
    ];
    let cases = vectors::cases("escrypt_0_5", &kinds);
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
            if text(case, "kind").ends_with("_reject") {
                assert!(answer.is_err(), "{id} {level}: {answer:?}");
                continue;
            }
            let expected = match case.get("out") {
                Some(_) => text(case, "out").to_owned(),
                None => format!("{} {}", text(case, "digest"), text(case, "image_sha256")),
            };
            assert_eq!(answer, Ok(expected), "{id} {level}");
        }
    }
    assert_eq!(skipped, 4 * Level::available().count());
}

/// What the reference says.
fn expected(params: &Params, rom: Option<&reference::Rom>, ask: &Ask) -> Vec<u8> {
    let theirs = reference::Params {
        p: params.p,
        t: params.t,
        tuning: ask.tuning.clone(),
        ..reference::Params::new(flags(params).bits(), params.n, params.r)
    };
    reference::kdf(&ask.password, &ask.salt, &theirs, rom, ask.length as u64).unwrap()
}

/// What is not in the parameters themselves.
#[derive(Clone, Debug)]
struct Ask {
    password: Vec<u8>,
    salt: Vec<u8>,
    length: usize,
    tuning: reference::Tuning,
    /// r, p and log2 of the number of blocks of a ROM, and its mask.
    rom: Option<(u32, u32, u32, u32)>,
    threads: usize,
}

/// Small parameters of every kind.
fn any_call() -> impl Strategy<Value = (Params, Ask)> {
    let tuning = (0u32..=3, 0u32..=3, 0u32..8, 0usize..4, 1u32..=8).prop_map(
        |(simd, groups, size, rounds, salsa)| reference::Tuning {
            bits: 8 + size - simd,
            simd: 1 << simd,
            groups: 1 << groups,
            rounds: [1, 2, 3, 6][rounds],
            salsa,
        },
    );
    let tuning = Union::new([Just(reference::Tuning::DEFAULT).boxed(), tuning.boxed()]);
    let numbers = (0u32..8, 1u32..=7, 0u32..=5, 1u32..=9, 0u32..=3);
    let text = || prop::collection::vec(any::<u8>(), 0..=70);
    let length = Union::new([Just(32).boxed(), (0usize..=100).boxed()]);
    let rom = prop::option::of((0u32..=1, 1u32..=5, 3u32..=6, 0u32..=16));
    let rest = (text(), text(), length, rom, 1usize..=4);
    (tuning, numbers, rest).prop_map(|(tuning, numbers, (password, salt, length, rom, threads))| {
        let (bits, log2_n, more_r, p, t) = numbers;
        let r = (tuning.groups * tuning.simd).div_ceil(16) + more_r;
        let mut params =
            Params::new(Mode::Escrypt(Flags::from_bits(bits).unwrap()), 1 << log2_n, r);
        params.p = if flags(&params).parallel_smix { p.min(1 << (log2_n - 1)) } else { p };
        params.t = t;
        let reference::Tuning { bits, simd, groups, rounds, salsa } = tuning;
        params.flavor = Flavor::escrypt(bits, simd, groups, rounds, salsa).unwrap();
        // An image of r blocks is one of r / 2 blocks of twice the number, too.
        let rom = rom.filter(|_| flags(&params).rw).map(|(smaller, p, log2_nrom, mask)| {
            let halve = smaller == 1 && r % 2 == 0;
            (if halve { r / 2 } else { r }, p.min(1 << (log2_nrom - 2)), log2_nrom, mask)
        });
        (params, Ask { password, salt, length, tuning, rom, threads })
    })
}

#[test]
fn random_parameters_on_every_level_equal_the_reference() {
    const CASES: u32 = 300;
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (compared, seen) = (Cell::new(0), RefCell::new(BTreeSet::new()));
    let outcome = TestRunner::new_with_rng(config, rng).run(&any_call(), |(params, ask)| {
        let image = ask.rom.map(|(r, p, log2_nrom, mask)| {
            let sizes = (1 << log2_nrom, r, p);
            let (image, digest) = reference::rom_init(b"seed", sizes, &ask.tuning, 32).unwrap();
            (reference::Rom { image, mask: mask.into() }, digest)
        });
        let answer = expected(&params, image.as_ref().map(|(rom, _)| rom), &ask);
        let checked = params.check(&Limits::unlimited()).unwrap();
        for level in Level::available() {
            let mut workspace = Workspace::with_level(level).unwrap();
            workspace.set_threads(ask.threads);
            let ours = ask.rom.map(|(r, p, log2_nrom, mask)| {
                let mut rom = EscryptRomParams::new(1 << log2_nrom, r, p);
                rom.flavor = params.flavor;
                let mut image = RomImage::zeroed(rom.size() as usize).unwrap();
                let bytes = image.as_bytes_mut();
                let mut digest = [0; 32];
                escrypt::init_rom(&rom, b"seed", bytes, &mut workspace, &mut digest).unwrap();
                (image, digest, mask)
            });
            if let (Some((ours, digest, _)), Some((theirs, its))) = (&ours, &image) {
                assert!(
                    ours.as_bytes() == theirs.image && digest[..] == its[..],
                    "{level} {ask:?}"
                );
            }
            let rom = ours.as_ref().map(|(image, _, mask)| used(image, *mask, &checked));
            let mut out = vec![0; ask.length];
            let Ask { password, salt, .. } = &ask;
            derive_with_roms(password, salt, &checked, rom.as_slice(), &mut workspace, &mut out)
                .unwrap();
            assert_eq!(out, answer, "{level} {params:?} {ask:?}");
            compared.set(compared.get() + 1);
        }
        seen.borrow_mut().insert((flags(&params).bits(), params.p > 1, ask.rom.is_some()));
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(compared.get(), CASES as usize * Level::available().count());
    // With RW, which half of the flags have, also with a ROM.
    assert_eq!(seen.borrow().len(), (8 + 4) * 2, "flags, p > 1 and not, with a ROM and without");
}

/// Beside the vectors to be refused: which error, and that limits come before any memory.
#[test]
fn refusals_name_what_is_wrong() {
    let base = Params::new(Mode::Escrypt(Flags::from_bits(7).unwrap()), 64, 8);
    let refused = |change: fn(&mut Params), limits: &Limits| {
        let mut params = base;
        change(&mut params);
        params.check(limits).expect_err("to be refused")
    };
    let named = |change: fn(&mut Params)| match refused(change, &Limits::server()) {
        Error::InvalidParameter { name, .. } => name,
        Error::OverLimit { what, .. } => what.name(),
        other => panic!("{other}"),
    };
    assert_eq!(named(|p| (p.r, p.n) = (0, 3)), "r");
    assert_eq!(named(|p| p.p = 0), "p");
    assert_eq!(named(|p| (p.n, p.p) = (3, 2)), "N");
    assert_eq!(named(|p| p.p = 33), "p");
    assert_eq!(named(|p| p.n = 1 << 62), "N");
    assert_eq!(named(|p| p.n = 1 << 20), "memory in bytes");
    let many = |p: &mut Params| {
        (p.mode, p.p, p.n) = (Mode::Escrypt(Flags::from_bits(5).unwrap()), 64, 1 << 16)
    };
    assert_eq!(named(many), "work in bytes of the default flavour");
    let special = |p: &mut Params| p.flavor = Flavor::escrypt(8, 2, 4, 2, 8).unwrap();
    assert_eq!(refused(special, &Limits::server()), Error::FlavorNotAllowed);
    // Beyond what can be addressed: an error, not an attempt.
    let mut workspace = Workspace::new();
    let hasher = Hasher::new().with_limits(Limits::unlimited());
    let huge = hasher.hash_with_setting(&mut workspace, b"", b"$7X3$k6..../....a");
    assert!(matches!(huge, Err(Error::OutOfMemory { .. })), "{huge:?}");
    assert_eq!(workspace.memory(), 0);
}

#[test]
fn a_rom_has_to_fit_and_a_key_never_does() {
    let mut workspace = Workspace::new();
    let rom = EscryptRomParams::new(64, 3, 1);
    let mut image = RomImage::zeroed(rom.size() as usize).unwrap();
    escrypt::init_rom(&rom, b"seed", image.as_bytes_mut(), &mut workspace, &mut []).unwrap();
    let hasher = Hasher::new().with_escrypt_rom(held(&image), 1);
    let mut hash = |setting: &[u8]| hasher.hash_with_setting(&mut workspace, b"", setting);
    // r = 3 fits; 64 * 3 = 192 blocks of r = 1 are no power of two.
    assert!(hash(b"$7X3$31..../....a").is_ok());
    let refused = hash(b"$7X3$3/..../....a");
    assert!(matches!(refused, Err(Error::InvalidParameter { .. })), "{refused:?}");
    // Flags without RW have no ROM: the bare function refuses it, strings that stand beside others
    // are hashed without.
    let without_rw = b"$7X2$31..../....a";
    let alone = Hasher::new().hash_with_setting(&mut Workspace::new(), b"", without_rw).unwrap();
    assert_eq!(hash(without_rw), Ok(alone));
    let params = Params::new(Mode::Escrypt(Flags::from_bits(4).unwrap()), 8, 3);
    let params = params.check(&Limits::server()).unwrap();
    let roms = [used(&image, 1, &params)];
    let refused = derive_with_roms(b"", b"", &params, &roms, &mut Workspace::new(), &mut []);
    assert!(matches!(refused, Err(Error::InvalidParameter { name: "flags", .. })), "{refused:?}");
    let keyed = Hasher::new().assuming_unnamed_key(HashKey::new([7; 32]));
    let answer = keyed.hash_with_setting(&mut workspace, b"", b"$7X3$36..../....a");
    assert_eq!(answer, Err(Error::KeyNotApplicable));
    let too_small = EscryptRomParams::new(2, 3, 1);
    let answer = escrypt::init_rom(&too_small, b"", &mut [], &mut workspace, &mut []);
    assert!(matches!(answer, Err(Error::InvalidParameter { name: "NROM", .. })), "{answer:?}");
}

/// Strings of this generation among others, with one hasher.
#[test]
fn one_hasher_verifies_both_generations() {
    let hasher = Hasher::new().with_params(Params::yescrypt(64, 8));
    let mut workspace = Workspace::new();
    let new = hasher.hash_with_salt(&mut workspace, b"p", b"salt").unwrap().into_bytes();
    let old = hasher.hash_with_setting(&mut workspace, b"p", b"$7X3$36..../....salt").unwrap();
    let old = old.into_bytes();
    let batch = [(b"p", &old[..]), (b"p", &new), (b"q", &old), (b"p", &old[..30])];
    let answers = batch.map(|(password, hash)| hasher.verify(&mut workspace, password, hash));
    assert_eq!(answers[..3], [Ok(true), Ok(true), Ok(false)]);
    assert!(matches!(answers[3], Err(Error::Malformed { .. })));
    let refused = saltern_yescrypt::hazmat::reencrypt(&old, None, Some(&HashKey::new([7; 32])));
    assert_eq!(refused, Err(Error::KeyNotApplicable));
}
