//! Every case of the vector files, through the public API, on every level of this machine. Counts
//! are asserted, to detect a truncated file or a skipped kind.

use saltern_testing::hex::{hex, unhex};
use saltern_testing::vectors::{self, number};
use saltern_yescrypt::{
    Error, Hasher, Limits, Params, Scheme, Setting, Workspace, derive,
    hazmat::Level,
    hazmat::reencrypt,
    keys::HashKey,
    params::{Flavor, FlavorPolicy},
    rom::{Rom, RomImage, RomParams, RomView},
};
use serde_json::Value;

/// A case of a vector file, with access by name and type.
struct Case(Value);

impl Case {
    fn id(&self) -> &str {
        vectors::text(&self.0, "id")
    }

    fn kind(&self) -> &str {
        vectors::text(&self.0, "kind")
    }

    fn number(&self, name: &str) -> u64 {
        number(&self.0, name)
    }

    fn hex(&self, name: &str) -> Vec<u8> {
        self.0.get(name).map_or(Vec::new(), |v| unhex(v.as_str().unwrap()))
    }

    /// A text that is given plainly or, under `<name>_hex`, in hexadecimal.
    fn text(&self, name: &str) -> Vec<u8> {
        match self.0.get(name) {
            Some(text) => text.as_str().unwrap().as_bytes().to_vec(),
            None => self.hex(&format!("{name}_hex")),
        }
    }

    fn key(&self, name: &str) -> Option<HashKey> {
        let key = self.hex(name);
        (!key.is_empty()).then(|| HashKey::from_slice(&key).unwrap())
    }

    fn flavor(&self, encoded: Flavor) -> Result<Flavor, Error> {
        let Some(constants) = self.0.get("constants") else { return Ok(encoded) };
        let n = |name, absent| constants.get(name).map_or(absent, |v| v.as_u64().unwrap() as u32);
        Flavor::new(n("PWXrounds", 0), n("PWXgather", 0), n("PWXsimple", 0), n("Sbytes", 0))?
            .with_salsa(n("salsa_main", 8), n("salsa_pwx", 2))
    }

    fn unchecked(&self) -> Result<Params, Error> {
        let (mode, flavor) = Params::from_flags(self.number("flags") as u32)?;
        let mut params = Params::new(mode, self.number("N"), self.number("r") as u32);
        [params.p, params.t, params.g] = ["p", "t", "g"].map(|name| self.number(name) as u32);
        params.nrom = self.number("NROM");
        params.flavor = self.flavor(flavor)?;
        Ok(params)
    }

    /// The ROM that a case is, or names.
    fn rom_image(&self, rom: &Value, workspace: &mut Workspace) -> Result<RomImage, Error> {
        let (_, flavor) = Params::from_flags(number(rom, "flags") as u32)?;
        if number(rom, "flags") & 3 != 2 {
            return Err(Error::RomNotUsed); // there is no way to ask for one here
        }
        let [r, p] = ["r", "p"].map(|name| number(rom, name) as u32);
        let mut params = RomParams::new(number(rom, "NROM"), r, p);
        params.t = rom.get("t").map_or(0, |t| t.as_u64().unwrap() as u32);
        params.flavor = self.flavor(flavor)?;
        RomImage::init(&params, vectors::bytes(rom, "seed"), workspace)
    }
}

/// What answers cases: one level's workspace and the last ROM, which neighbouring cases share.
struct Answers {
    workspace: Workspace,
    rom: Option<(String, RomImage)>,
}

impl Answers {
    fn new(level: Level) -> Self {
        Answers { workspace: Workspace::with_level(level).unwrap(), rom: None }
    }

    /// The ROM that a case uses, changed where it says so.
    fn rom(&mut self, case: &Case) -> Option<RomImage> {
        let rom = case.0.get("rom")?;
        let name = format!("{rom}{:?}", case.0.get("constants"));
        if self.rom.as_ref().is_none_or(|(last, _)| *last != name) {
            self.rom = Some((name, case.rom_image(rom, &mut self.workspace).unwrap()));
        }
        let image = &self.rom.as_ref().unwrap().1;
        let mut copy = RomImage::zeroed(image.as_bytes().len()).unwrap();
        copy.as_bytes_mut().copy_from_slice(image.as_bytes());
        if let Some(poke) = case.0.get("poke") {
            // A byte of an image whose lanes begin with their least byte.
            let place = if cfg!(target_endian = "big") { 7 } else { 0 };
            copy.as_bytes_mut()[poke[0].as_u64().unwrap() as usize ^ place] ^=
                poke[1].as_u64().unwrap() as u8;
        }
        Some(copy)
    }

    fn answer(&mut self, case: &Case) -> Result<String, Error> {
        match case.kind().trim_end_matches("_reject") {
            "kdf" => {
                let params = case.unchecked()?.check(&Limits::unlimited())?;
                params.check_output(case.number("dkLen"))?;
                let image = self.rom(case);
                let rom = image.as_ref().map(RomView::new).transpose()?;
                let mut out = vec![0; case.number("dkLen") as usize];
                let [password, salt] = ["password", "salt"].map(|name| case.hex(name));
                derive(&password, &salt, &params, rom.as_ref(), &mut self.workspace, &mut out)?;
                Ok(hex(&out))
            }
            "rom" => {
                let image = case.rom_image(&case.0, &mut self.workspace)?;
                Ok(hex(&RomView::new(&image)?.digest()))
            }
            "crypt" => {
                let setting = case.text("setting");
                let image = self.rom(case);
                let mut limits = Limits::unlimited();
                limits.flavors = FlavorPolicy::Encodable;
                let mut hasher = Hasher::new().with_limits(limits);
                if let Some(key) = case.key("key") {
                    hasher = hasher.assuming_unnamed_key(key);
                }
                if let Some(image) = image {
                    if Setting::parse(&setting)?.params().nrom == 0 {
                        return Err(Error::RomNotUsed);
                    }
                    hasher = hasher.with_rom(Rom::new(image)?);
                }
                let password = case.hex("password");
                let out = hasher.hash_with_setting(&mut self.workspace, &password, &setting)?;
                within_buffer(case, out.into_bytes())
            }
            "encode" => {
                let text = Setting::encode(&case.unchecked()?, case.hex("salt"))?;
                within_buffer(case, text.into_bytes())
            }
            "gensalt" => {
                let (prefix, cost) = (case.text("prefix"), case.number("cost") as u32);
                let gost = prefix == b"$gy$";
                let scheme = if gost { Some(Scheme::Yescrypt) } else { Scheme::of(&prefix) };
                let setting = Setting::from_cost(scheme.unwrap(), cost, case.hex("random"))?;
                let text = String::from_utf8(setting.as_bytes().to_vec()).unwrap();
                Ok(if gost { text.replacen("$y$", "$gy$", 1) } else { text })
            }
            "reencrypt" => {
                let [from, to] = ["from_key", "to_key"].map(|name| case.key(name));
                reencrypt(case.text("hash"), from.as_ref(), to.as_ref())
            }
            other => panic!("{}: kind {other}", case.id()),
        }
    }
}

/// C callers give a buffer that also has to hold a terminating zero.
fn within_buffer(case: &Case, text: Vec<u8>) -> Result<String, Error> {
    let needed = text.len() as u64 + 1;
    match case.0.get("buflen").and_then(Value::as_u64) {
        Some(actual) if actual < needed => Err(Error::BufferLength { needed, actual }),
        _ => Ok(latin1(text)),
    }
}

fn latin1(text: Vec<u8>) -> String {
    text.into_iter().map(char::from).collect()
}

fn check(case: &Case, answer: Result<String, Error>) {
    let id = case.id();
    if case.kind().ends_with("_reject") {
        if case.0.get("single_flavour").is_some() {
            assert!(answer.is_ok(), "{id}: other flavours are computed here: {answer:?}");
        } else {
            assert!(answer.is_err(), "{id}: {answer:?}");
        }
        return;
    }
    let expected = if case.kind() == "rom" { case.text("digest") } else { case.text("out") };
    assert_eq!(answer, Ok(latin1(expected)), "{id}");
}

/// Runs a file on every level. `heavy` cases (above 64 MiB of memory or ROM) run on the best level
/// only.
fn run(file: &str, expected: &[(&str, usize)]) {
    let all: Vec<_> = vectors::cases(file, expected).into_iter().map(Case).collect();
    for level in Level::available() {
        let mut answers = Answers::new(level);
        let best = level == Level::detect();
        for case in all.iter().filter(|case| case.kind() != "gost" && (best || !heavy(case))) {
            let answer = answers.answer(case);
            check(case, answer);
        }
    }
}

fn heavy(case: &Case) -> bool {
    let size = |value: &Value, n: &str| match (value[n].as_u64(), value["r"].as_u64()) {
        (Some(n), Some(r)) => n.saturating_mul(r) > 1 << 19,
        _ => false,
    };
    !case.kind().ends_with("_reject")
        && (size(&case.0, "N") || size(&case.0, "NROM") || size(&case.0["rom"], "NROM"))
}

#[test]
fn kdf() {
    run("yescrypt_kdf", &[("kdf", 270)]);
}

const STRINGS: [(&str, usize); 4] = [("crypt", 158), ("gost", 12), ("gensalt", 34), ("encode", 63)];

#[test]
fn strings() {
    run("yescrypt_strings", &STRINGS);
}

#[test]
fn encryption() {
    run("yescrypt_encrypt", &[("crypt", 34), ("reencrypt", 50)]);
}

#[test]
fn roms() {
    run("yescrypt_rom", &[("rom", 20), ("kdf", 80), ("crypt", 13)]);
}

#[test]
fn flavors() {
    run("yescrypt_flavors", &[("kdf", 177), ("rom", 7), ("kdf_reject", 11)]);
}

#[test]
fn rejects() {
    let kinds = [
        ("gensalt_reject", 10),
        ("encode_reject", 21),
        ("kdf_reject", 165),
        ("rom_reject", 13),
        ("crypt_reject", 83),
        ("reencrypt_reject", 22),
    ];
    run("yescrypt_reject", &kinds);
}

#[test]
fn verification_agrees_with_every_string() {
    let mut verified = 0;
    let mut workspace = Workspace::new();
    let mut limits = Limits::unlimited();
    limits.flavors = FlavorPolicy::Encodable;
    let cases = vectors::cases("yescrypt_strings", &STRINGS).into_iter().map(Case);
    for case in cases.filter(|case| case.kind() == "crypt") {
        let hasher = Hasher::new().with_limits(limits.clone());
        let (password, hash) = (case.hex("password"), case.text("out"));
        assert_eq!(hasher.verify(&mut workspace, &password, &hash), Ok(true), "{}", case.id());
        let other = [&password[..], b"x"].concat();
        assert_eq!(hasher.verify(&mut workspace, &other, &hash), Ok(false), "{}", case.id());
        let cut = &hash[..hash.len() - 1];
        assert!(hasher.verify(&mut workspace, &password, cut).is_err(), "{}", case.id());
        verified += 1;
    }
    assert_eq!(verified, 158);
}
