//! One spelling each: what is written is read, what is read is written the same, everything else is
//! refused.

use proptest::collection::vec;
use proptest::prelude::*;
use saltern_yescrypt::{
    HashString, Limits, Scheme, Setting,
    keys::KeyId,
    params::Mode,
    rom::{MAX_ROMS, NamedRom, RomMasks, RomReading},
};

use super::any::params;

fn named_rom() -> impl Strategy<Value = NamedRom> {
    let masks = (prop_oneof![Just(0), any::<u32>()], prop_oneof![Just(0), any::<u32>()]);
    (any::<u64>(), 1..64u32, masks, 0..=63u32).prop_map(|(id, log2, (fill, mix), look_ahead)| {
        // Most of what is not valid is made so.
        let mix = if mix == 0 && fill != 0 { 0 } else { mix | 1 };
        let id = format!("{id:016x}").parse().unwrap();
        let masks = RomMasks { fill, mix };
        NamedRom { id, reading: RomReading { nrom: 1 << log2, masks, look_ahead } }
    })
}

/// Whether a ROM of the list is read in no step that any mask tells from others.
fn hidden(roms: &[NamedRom]) -> bool {
    let mut read = vec![false; roms.len()];
    if let Some(at) = roms.iter().position(|rom| rom.reading.masks.fill != 0) {
        read[at] = true;
    }
    for mask in [|rom: &NamedRom| rom.reading.masks.fill, |rom: &NamedRom| rom.reading.masks.mix] {
        for step in roms.iter().map(|rom| !mask(rom) | 1).chain([1, 3, 5, 7, u32::MAX]) {
            if let Some(at) = roms.iter().position(|rom| step & mask(rom) == 1) {
                read[at] = true;
            }
        }
    }
    read.contains(&false)
}

fn key_id() -> impl Strategy<Value = Option<KeyId>> {
    prop::option::of("[A-Za-z0-9.-]{1,32}".prop_map(|text| text.parse().unwrap()))
}

/// Extended strings, complete or not, most of them valid; and such with a change.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let number = "(0|[1-9][0-9]{0,3}|0[0-9]|[0-9]{9,11}|)";
    let nearly = format!(
        "\\$saltern-yescrypt\\$v=[12]\\$ln=[0-9]{{1,2}},r={number},p=[1-4](,t=[0-3])?\
         (,mode=(worm|classic|rw))?(,pwx=[1-7]\\.[1248]\\.[1248]\\.(6144|12288))?\
         (,salsa=[1-9]\\.[1-9])?(,rom1=[0-9a-f]{{16}}\\.[0-9]{{1,2}}\\.[0-3]\\.[0-3]\\.[0-9])?\
         (,rom2=[0-9a-f]{{16}}\\.[0-9]\\.[0-3]\\.[0-3]\\.0)?(,key=[a-z]{{0,3}})?\
         \\$[A-Za-z0-9+/]{{11,44}}(\\$[A-Za-z0-9+/]{{42,43}})?"
    );
    let nearly = proptest::string::string_regex(&nearly).unwrap().prop_map(String::into_bytes);
    let names =
        "\\{(rom=[0-9a-f]{16})?,?(key=[a-z]{0,2})?\\}?\\$y\\$j(1|2)\\.(5..|..)?\\$[./0-9]{8}";
    let names = proptest::string::string_regex(names).unwrap().prop_map(String::into_bytes);
    let base = prop_oneof![3 => nearly, 1 => names];
    (base, any::<prop::sample::Index>(), prop::option::weighted(0.2, any::<u8>())).prop_map(
        |(mut text, at, byte)| {
            let at = at.index(text.len());
            text[at] = byte.unwrap_or(text[at]);
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_read(
        mut params in params(),
        roms in vec(named_rom(), 0..=MAX_ROMS),
        key in key_id(),
        salt in vec(any::<u8>(), 8..=64),
    ) {
        params.nrom = 0;
        let roms = if params.mode == Mode::Rw { roms } else { Vec::new() };
        let Ok(setting) = Setting::extended(&params, &roms, key, &salt) else {
            prop_assert!(params.check(&Limits::unlimited()).is_err() || hidden(&roms));
            return Ok(());
        };
        prop_assert!(!hidden(&roms));
        prop_assert_eq!((setting.scheme(), setting.params()), (Scheme::Extended, &params));
        prop_assert_eq!((setting.roms(), setting.key_id()), (&roms[..], key));
        prop_assert_eq!((setting.rom_id(), setting.salt()), (None, &salt[..]));
        prop_assert_eq!(Setting::parse(setting.as_bytes()), Ok(setting.clone()));
        // The syntax of the PHC string format: these characters and no others.
        let text = std::str::from_utf8(setting.as_bytes()).unwrap();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "$,=+/.-".contains(c);
        prop_assert!(text.len() < 400 && text.chars().all(allowed));
    }

    #[test]
    fn what_is_read_is_written_the_same(text in text()) {
        let Ok(setting) = Setting::parse(&text) else {
            prop_assert!(HashString::parse(&text).is_err());
            return Ok(());
        };
        prop_assert!(text.starts_with(setting.as_bytes()));
        let again = match setting.scheme() {
            Scheme::Extended => {
                let (params, roms) = (setting.params(), setting.roms());
                Setting::extended(params, roms, setting.key_id(), setting.salt())
            }
            _ => Setting::parse(&text[text.iter().position(|c| *c == b'$').unwrap()..])
                .and_then(|plain| plain.with_ids(setting.rom_id(), setting.key_id())),
        };
        prop_assert_eq!(again, Ok(setting));
    }
}

/// After `$saltern-yescrypt$`.
const GOOD: [&str; 9] = [
    "v=1$ln=12,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,t=4294967295$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,mode=worm$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,mode=classic,salsa=4.2$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,pwx=1.4.2.12288$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,pwx=6.8.8.786432,salsa=1.8$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,rom1=00ff00ff00ff00ff.1.0.1.0$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,rom1=00ff00ff00ff00ff.63.4294967295.0.63,rom2=00ff00ff00ff00ff.5.3.0.0$AAAAAAAAAAA",
    "v=1$ln=4,r=8,p=1,key=A.b-9$AAAAAAAAAAA",
];

const BAD: [&str; 67] = [
    "",
    "v=1",
    "v=1$",
    "v=1$ln=12,r=32,p=1",
    "v=2$ln=12,r=32,p=1$AAAAAAAAAAA",
    "v=01$ln=12,r=32,p=1$AAAAAAAAAAA",
    "ln=12,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=012,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=+12,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=-1,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=0,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=64,r=1,p=1$AAAAAAAAAAA",
    "v=1$ln=99999999999999999999,r=32,p=1$AAAAAAAAAAA",
    "v=1$ln=,r=32,p=1$AAAAAAAAAAA",
    "v=1$r=32,ln=12,p=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32$AAAAAAAAAAA",
    "v=1$ln=12,r=0,p=1$AAAAAAAAAAA",
    "v=1$ln=12,r=1073741824,p=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=4096$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,,t=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,t=0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,t=4294967296$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,t=1,t=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,g=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,nrom=64$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,mode=rw$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,mode=$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,t=1,mode=classic$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,mode=worm,pwx=3.4.2.12288$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=6.4.2.12288$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=4.4.2.12288$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=6.3.2.12288$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=6.4.2.12289$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=6.4.2$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,pwx=1.4.2.12288.1$AAAAAAAAAAA",
    "v=1$ln=12,r=3,p=1,pwx=6.8.8.12288$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,salsa=8.2$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,salsa=9.2$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,salsa=8.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.0.0.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.1.2.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.1.1.64$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.1.1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.1.1.0,rom2=00ff00ff00ff00ff.5.3.7.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.5.1.0.0,rom2=00ff00ff00ff00ff.5.2.0.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.0.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00ff.64.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00FF00ff00ff00ff.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom1=00ff00ff00ff00f.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom2=00ff00ff00ff00ff.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,rom5=00ff00ff00ff00ff.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,mode=worm,rom1=00ff00ff00ff00ff.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,key=$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,key=a+b$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,key=a,key=a$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,key=abcdefghijklmnopqrstuvwxyz0123456$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,key=a,rom1=00ff00ff00ff00ff.5.1.1.0$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1,x=1$AAAAAAAAAAA",
    "v=1$ln=12,r=32,p=1$",
    "v=1$ln=12,r=32,p=1$AAAAAAAAAA",
    "v=1$ln=12,r=32,p=1$AAAAAAAAAAB",
    "v=1$ln=12,r=32,p=1$AAAAAAAAAAA=",
    "v=1$ln=12,r=32,p=1$AAAAAAAAA.A",
    "v=1$ln=12,r=32,p=1$AAAAAAAAAAA$",
    "v=1$ln=12,r=32,p=1$AAAAAAAAAAA$AAAA",
];

/// Every field at and beyond its edges, and every way to say the same in other words.
#[test]
fn there_is_one_spelling() {
    let whole = |text: &str| format!("$saltern-yescrypt${text}").into_bytes();
    for text in GOOD {
        let setting = Setting::parse(whole(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(setting.as_bytes(), whole(text));
    }
    for text in BAD {
        let error = Setting::parse(whole(text)).expect_err(text);
        assert!(error.to_string().len() < 200, "{text}: {error}");
    }
    // The longest salt, one byte more, and lengths that nobody writes.
    let salted = |bytes: usize| whole(&format!("v=1$ln=4,r=8,p=1${}", "A".repeat(bytes)));
    assert!(Setting::parse(salted(86)).is_ok() && Setting::parse(salted(87)).is_err());
    for len in [512, 513, 1 << 20] {
        assert!(Setting::parse(salted(len)).is_err());
    }
}
