//! Strings that name the ROMs and the key they need: extended ones, and `$y$` with ids before it.
//! There is one spelling each, the right answer if everything is available, and otherwise an error
//! that names what is missing, never a mismatch.

#[path = "strings/any.rs"]
mod any;
#[path = "extended/changes.rs"]
mod changes;
#[path = "extended/spelling.rs"]
mod spelling;
#[path = "levels/theirs.rs"]
mod theirs;

use std::sync::Arc;

use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    Error, HashString, Hasher, Limits, Params, Setting, Workspace,
    hazmat::reencrypt,
    keys::{HashKey, KeyId, KeySet},
    params::{Flavor, FlavorPolicy, Mode},
    rom::{
        NamedRom, Rom, RomId, RomImage, RomMasks, RomParams, RomReading, RomSet, RomUse, RomView,
        derive_with_roms,
    },
};
use theirs::theirs;

const R: u32 = 4;
const NROM: u64 = 32;

fn image(seed: &[u8]) -> RomImage {
    RomImage::init(&RomParams::new(NROM, R, 1), seed, &mut Workspace::new()).unwrap()
}

fn key(number: u8) -> HashKey {
    HashKey::new([number; 32])
}

fn id<T: std::str::FromStr<Err = Error>>(text: &str) -> T {
    text.parse().unwrap()
}

fn small(nrom: u64) -> Params {
    let mut params = Params::yescrypt(16, R);
    params.nrom = nrom;
    params
}

/// A ROM to be attached, under the name that goes with its digest.
fn held(image: &RomImage) -> (RomId, Rom) {
    let mut copy = RomImage::zeroed(image.as_bytes().len()).unwrap();
    copy.as_bytes_mut().copy_from_slice(image.as_bytes());
    let rom = Rom::new(copy).unwrap();
    (RomId::of_digest(rom.digest()), rom)
}

/// A set of ROMs, none of them active, and their names.
fn set<const COUNT: usize>(images: &[RomImage; COUNT]) -> ([RomId; COUNT], RomSet) {
    let mut roms = RomSet::new();
    let ids = images.each_ref().map(|image| {
        let (id, rom) = held(image);
        roms.attach(id, rom).unwrap();
        id
    });
    (ids, roms)
}

fn any_flavor() -> Limits {
    let mut limits = Limits::server();
    limits.flavors = FlavorPolicy::Any;
    limits
}

/// One byte more, less or other is an error or another string, never the same one.
#[test]
fn a_change_is_an_error_or_a_mismatch() {
    let ([rom_id], roms) = set(&[image(b"change")]);
    let reads = NamedRom::new(rom_id, NROM);
    let mut workspace = Workspace::new();
    let mut limits = any_flavor();
    (limits.max_memory, limits.max_work) = (1 << 20, 1 << 20);
    let hasher = Hasher::new().with_params(small(0)).with_limits(limits);
    let hasher = hasher.with_roms(roms).with_named_roms(&[reads]);
    let stored = hasher.hash(&mut workspace, b"password").unwrap();
    assert_eq!(hasher.verify(&mut workspace, b"password", stored.as_bytes()), Ok(true));
    for end in 0..stored.len() {
        assert!(HashString::parse(&stored.as_bytes()[..end]).is_err(), "{end}");
    }
    let mut answered = 0;
    for at in 0..stored.len() {
        for byte in *b"$,=.{}:A0a1z+/\0\xff" {
            let mut changed = stored.clone().into_bytes();
            if changed[at] == byte {
                continue;
            }
            changed[at] = byte;
            let answer = hasher.verify(&mut workspace, b"password", &changed);
            assert_ne!(answer, Ok(true), "{}", String::from_utf8_lossy(&changed));
            answered += usize::from(answer.is_ok());
        }
    }
    assert!(answered > 100, "{answered} changes left a string that can be computed");
}

/// The reference's hash under the same parameters, ROM and key.
fn expected(
    setting: &Setting,
    nrom: u64,
    rom: Option<&RomImage>,
    key: Option<&[u8; 32]>,
    password: &[u8],
) -> Vec<u8> {
    use reference::Direction;
    let rom = rom.map(|image| reference::Rom::from_native(image.as_bytes()));
    let mut params = *setting.params();
    params.nrom = nrom;
    let salt = match key {
        Some(key) => reference::feistel(setting.salt(), key, Direction::Encrypt),
        None => setting.salt().to_vec(),
    };
    let hash = reference::kdf(password, &salt, &theirs(&params), rom.as_ref(), 32).unwrap();
    match key {
        Some(key) => reference::feistel(&hash, key, Direction::Encrypt),
        None => hash,
    }
}

/// Whatever a string says that the reference knows, too: every flavour and mode, one ROM read in
/// every odd step, a key.
#[test]
fn hashes_equal_those_of_the_reference() {
    let images = [image(b"reference")];
    let ([rom_id], roms) = set(&images);
    let mut keys = KeySet::new();
    keys.add(id("k"), key(9)).unwrap();
    let hasher = Hasher::new().with_limits(any_flavor()).with_roms(roms).with_keys(keys);
    let flavors = [
        Flavor::DEFAULT,
        Flavor::new(1, 4, 2, 12288).unwrap(),
        Flavor::new(2, 8, 8, 6144).unwrap().with_salsa(2, 1).unwrap(),
        Flavor::DEFAULT.with_salsa(4, 8).unwrap(),
    ];
    let mut compared = 0;
    for (i, flavor) in flavors.into_iter().enumerate() {
        for mode in [Mode::Classic, Mode::Worm, Mode::Rw, Mode::Rw] {
            for key_id in [None, Some(id("k"))] {
                let mut params = Params::new(mode, 16, R);
                // Outside RW only Salsa20 has a meaning.
                params.flavor = match mode {
                    Mode::Rw => flavor,
                    _ => Flavor::DEFAULT.with_salsa(1 + i as u32, 2).unwrap(),
                };
                let with_rom = compared % 4 < 2 && mode == Mode::Rw;
                let reads = [NamedRom::new(rom_id, NROM)];
                let reads = if with_rom { &reads[..] } else { &[] };
                let setting = Setting::extended(&params, reads, key_id, b"salt salt").unwrap();
                let nrom = if with_rom { NROM } else { 0 };
                let hash = expected(
                    &setting,
                    nrom,
                    with_rom.then_some(&images[0]),
                    key_id.map(|_| &[9; 32]),
                    b"password",
                );
                let mut workspace = Workspace::new();
                let text =
                    hasher.hash_with_setting(&mut workspace, b"password", setting.as_bytes());
                let text = text.unwrap();
                assert_eq!(HashString::parse(&text).unwrap().hash()[..], hash, "{setting:?}");
                assert_eq!(hasher.verify(&mut workspace, b"password", &text), Ok(true));
                assert_eq!(hasher.verify(&mut workspace, b"Password", &text), Ok(false));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 32);
}

/// Lists of ROMs with masks and look-ahead: what the bare function derives, and the reference.
#[test]
fn hashes_with_lists_of_roms_are_those_of_the_core() {
    let images = [image(b"one"), image(b"two")];
    let (_, roms) = set(&images);
    let translated = images.each_ref().map(|image| reference::Rom::from_native(image.as_bytes()));
    let [one, two] = images.each_ref().map(|image| RomView::new(image).unwrap());
    let reading = RomReading { nrom: NROM, masks: RomMasks { fill: 0, mix: 3 }, look_ahead: 2 };
    let rare = RomUse { rom: one, reading };
    let often = RomUse { rom: two, reading: RomReading::new(NROM) };
    let lists = [vec![rare], vec![rare, often], vec![often, rare], vec![often, often, rare, rare]];
    let mut workspace = Workspace::new();
    let mut hashes = Vec::new();
    for list in &lists {
        let named = |used: &RomUse<RomView<'_>>| NamedRom {
            id: RomId::of_digest(&used.rom.digest()),
            reading: used.reading,
        };
        let named: Vec<_> = list.iter().map(named).collect();
        let hasher = Hasher::new().with_params(small(0)).with_roms(roms.clone());
        let hasher = hasher.with_named_roms(&named);
        let stored = hasher.hash_with_salt(&mut workspace, b"password", b"some salt");
        let (params, mut out) = (small(0).check(&Limits::server()).unwrap(), [0; 32]);
        derive_with_roms(b"password", b"some salt", &params, list, &mut workspace, &mut out)
            .unwrap();
        match list.first().is_some_and(|first| first.reading == often.reading) {
            // The others would never be read: no string says so.
            true => assert!(matches!(
                stored,
                Err(Error::InvalidParameter { name: "place of a ROM in the list", value: 2, .. })
            )),
            false => {
                let stored = stored.unwrap();
                assert_eq!(*HashString::parse(stored.as_bytes()).unwrap().hash(), out);
            }
        }
        let plan = |used: &RomUse<RomView<'_>>| reference::RomPlan {
            image: translated[usize::from(used.rom.digest() == two.digest())].image(),
            fill_mask: used.reading.masks.fill,
            mix_mask: used.reading.masks.mix,
            look_ahead: used.reading.look_ahead,
        };
        let plans: Vec<_> = list.iter().map(plan).collect();
        let theirs = theirs(&small(0));
        let expected = reference::kdf_with_roms(b"password", b"some salt", &theirs, &plans, 32);
        assert_eq!(out[..], expected.unwrap());
        hashes.push(out);
    }
    hashes.sort_unstable();
    hashes.dedup();
    // The last list differs from the one before it in nothing that is read: where two are to be
    // read, the first is.
    assert_eq!(hashes.len(), lists.len() - 1);
}

/// These strings have to verify forever.
#[test]
fn known_answers() {
    let (_, roms) = set(&[image(b"one"), image(b"two")]);
    let mut keys = KeySet::new();
    keys.add(id("2026"), key(1)).unwrap();
    let hasher = Hasher::new().with_limits(any_flavor()).with_roms(roms).with_keys(keys);
    let text = include_str!("extended/known.txt");
    let known: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(known.len(), 8);
    for stored in known {
        let mut workspace = Workspace::new();
        let hash = hasher.hash_with_setting(&mut workspace, b"correct horse", stored.as_bytes());
        assert_eq!(hash.map(|hash| hash.to_str().unwrap().to_owned()), Ok(stored.to_owned()));
        let verified = hasher.verify(&mut workspace, b"correct horse", stored.as_bytes());
        assert_eq!(verified, Ok(true), "{stored}");
    }
}

/// `$y$` with names is the string without them, computed with the ROM and the key that they name.
#[test]
fn names_before_a_string_say_what_it_is_computed_with() {
    let images = [image(b"one"), image(b"two")];
    let (ids, mut roms) = set(&images);
    let mut keys = KeySet::new();
    let key_ids: [KeyId; 2] = [id("a"), id("b")];
    for (number, key_id) in (1..).zip(key_ids) {
        keys.add(key_id, key(number)).unwrap();
    }
    let mut workspace = Workspace::new();
    let plain = Setting::new(&small(NROM), b"salt").unwrap();
    let mut seen = 0;
    for (image, rom_id) in images.iter().zip(ids) {
        let theirs = reference::Rom::from_native(image.as_bytes());
        for number in [None, Some(0), Some(1)] {
            let key_bytes = number.map(|number| [number as u8 + 1; 32]);
            let key_id = number.map(|number: usize| key_ids[number]);
            let expected =
                reference::crypt(b"password", plain.as_bytes(), key_bytes.as_ref(), Some(&theirs));
            roms.activate(rom_id).unwrap();
            let mut keys = keys.clone();
            if let Some(key_id) = key_id {
                keys.activate(key_id).unwrap();
            }
            let hasher_key = keys.active();
            let hasher = Hasher::new().with_params(small(NROM)).with_roms(roms.clone());
            let hasher = hasher.with_keys(keys);
            let stored = hasher.hash_with_salt(&mut workspace, b"password", b"salt").unwrap();
            let names = match hasher_key {
                Some(key_id) => format!("{{rom={rom_id},key={key_id}}}"),
                None => format!("{{rom={rom_id}}}"),
            };
            assert_eq!(stored, names + std::str::from_utf8(&expected.unwrap()).unwrap());
            assert_eq!(hasher.verify(&mut workspace, b"password", stored.as_bytes()), Ok(true));
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
    // Only $y$ has names before it, a ROM's only with NROM.
    for wrong in [
        format!("{{key=a}}{}", "$7$3/..../....salt"),
        format!("{{key=a}}{}", "$saltern-yescrypt$v=1$ln=4,r=8,p=1$AAAAAAAAAAA"),
        format!("{{rom={}}}$y$j1.$abcd", ids[0]),
        "{key=a}{key=b}$y$j1.$abcd".to_owned(),
        "{key=a}".to_owned(),
    ] {
        assert!(
            matches!(Setting::parse(wrong.as_bytes()), Err(Error::Malformed { .. })),
            "{wrong}"
        );
    }
}

/// Whether the password of these tests matches.
fn answers(hasher: &Hasher, stored: &str) -> Result<bool, Error> {
    hasher.verify(&mut Workspace::new(), b"password", stored)
}

#[test]
fn what_is_not_loaded_is_an_error_that_names_it() {
    let images = [image(b"one"), image(b"two")];
    let [(one_id, one), (two_id, two)] = images.each_ref().map(held);
    let mut keys = KeySet::new();
    keys.add(id("here"), key(1)).unwrap();
    keys.activate(id("here")).unwrap();
    let mut roms = RomSet::new();
    roms.attach(one_id, one.clone()).unwrap();
    roms.activate(one_id).unwrap();
    let mut workspace = Workspace::new();
    let plain = Hasher::new().with_params(small(NROM));
    let named = plain.clone().with_roms(roms.clone()).with_keys(keys.clone());
    let listed = named.clone().with_params(small(0));
    let listed = listed.with_named_roms(&[NamedRom::new(one_id, NROM)]);
    let without = plain.clone().with_rom(one).hash(&mut workspace, b"password").unwrap();

    let other_rom = Error::RomNotLoaded { id: one_id };
    let here: KeyId = id("here");
    let other_key = Error::KeyNotLoaded { id: here.with_fingerprint(key(1).fingerprint()) };
    for hasher in [&named, &listed] {
        let stored = hasher.hash(&mut workspace, b"password").unwrap();
        assert_eq!(answers(hasher, &stored), Ok(true));
        assert_eq!(answers(&plain.clone().with_keys(keys.clone()), &stored), Err(other_rom));
        assert_eq!(answers(&plain.clone().with_roms(roms.clone()), &stored), Err(other_key));
        // Neither another ROM of the same size nor another key is tried.
        let mut others = RomSet::new();
        others.attach(two_id, two.clone()).unwrap();
        others.activate(two_id).unwrap();
        others.assume_unnamed(two.clone());
        let hasher = named.clone().with_roms(others);
        assert_eq!(answers(&hasher, &stored), Err(other_rom));
        let hasher = named.clone().with_keys(KeySet::new()).assuming_unnamed_key(key(1));
        assert_eq!(answers(&hasher, &stored), Err(other_key));
        // Without names there is no telling which ROM it is.
        assert_eq!(answers(&named, &without), Err(Error::RomUnavailable { nrom: NROM }));
    }
    let message = other_rom.to_string() + &other_key.to_string();
    assert!(message.contains(&one_id.to_string()) && message.contains("here"), "{message}");
    let mut limits = Limits::server();
    limits.rom = false;
    let stored = listed.hash(&mut workspace, b"password").unwrap();
    let refused = Err(Error::RomUnavailable { nrom: NROM });
    assert_eq!(answers(&listed.clone().with_limits(limits), &stored), refused);
    // A ROM that is smaller than the string says.
    let large = listed.clone().with_named_roms(&[NamedRom::new(one_id, 2 * NROM)]);
    let refused = large.hash(&mut workspace, b"password").unwrap_err();
    assert!(matches!(refused, Error::RomTooSmall { .. }), "{refused}");
}

/// Everything at once: shapes that differ in nothing but their ROMs keep apart.
#[test]
fn batches_of_many_roms_get_their_own_answers() {
    let (ids, roms) = set(&[image(b"one"), image(b"two"), image(b"three")]);
    let mut workspace = Workspace::new();
    let hasher = Hasher::new().with_params(small(0)).with_roms(roms.clone());
    let mut stored = Vec::new();
    for i in 0..36 {
        let mut named = NamedRom::new(ids[i % 3], NROM);
        named.reading.look_ahead = (i / 3 % 3) as u32;
        // Rarer than the one behind it.
        named.reading.masks.mix = 1 + 2 * (i % 2) as u32;
        let hasher = if i % 4 == 3 {
            let mut roms = roms.clone();
            roms.activate(ids[i % 3]).unwrap();
            hasher.clone().with_params(small(NROM)).with_roms(roms)
        } else {
            hasher
                .clone()
                .with_named_roms(&[named, NamedRom::new(ids[(i + 1) % 3], NROM)][..1 + i % 2])
        };
        stored.push(hasher.hash(&mut workspace, b"password").unwrap());
    }
    let passwords = (0..stored.len()).map(|i| if i % 5 == 2 { "other" } else { "password" });
    let items: Vec<_> = passwords.zip(&stored).collect();
    let expected: Vec<_> = items.iter().map(|(password, _)| Ok(*password == "password")).collect();
    let answers =
        items.iter().map(|(password, hash)| hasher.verify(&mut workspace, password, hash));
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

#[test]
fn what_cannot_be_said_is_refused_when_hashing() {
    let mut workspace = Workspace::new();
    let mut hash = |hasher: Hasher| hasher.hash(&mut workspace, b"password");
    let mut odd = small(0);
    odd.flavor = Flavor::new(1, 4, 2, 12288).unwrap();
    let hasher = Hasher::new().with_limits(any_flavor()).with_params(odd);
    assert!(hash(hasher.clone()).unwrap().contains(",pwx=1.4.2.12288$"));
    assert_eq!(hash(hasher.clone().assuming_unnamed_key(key(1))), Err(Error::KeyNotApplicable));
    let missing: RomId = id("0123456789abcdef");
    let listed = hasher.clone().with_named_roms(&[NamedRom::new(missing, NROM)]);
    assert_eq!(hash(listed), Err(Error::RomNotLoaded { id: missing }));
    let five = [NamedRom::new(missing, NROM); 5];
    assert!(hash(hasher.clone().with_named_roms(&five)).is_err());
    let ([rom_id], roms) = set(&[image(b"one")]);
    let named = [NamedRom::new(rom_id, NROM)];
    let with_both = hasher.with_roms(roms).with_params(small(NROM)).with_named_roms(&named);
    let refused = hash(with_both).unwrap_err();
    assert!(matches!(refused, Error::InvalidParameter { name: "NROM", .. }), "{refused}");
}
