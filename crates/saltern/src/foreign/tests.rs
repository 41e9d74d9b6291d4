//! Strings that the programs made that are known for a scheme, and their verdicts, against ours:
//! `scripts/legacy-vectors` has made them, `scripts/test-legacy` makes others.

use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding};
use saltern_testing::hex::{hex, unhex};
use serde::Deserialize;

use super::*;
use crate::policy::Policy;
use crate::stored::{Hash, Stored};

#[derive(Deserialize)]
struct Vectors {
    made_by: String,
    seed: u64,
    cases: Vec<(String, String, bool)>,
}

/// Where the vectors are, if they are not those of the repository, and how many times as many.
const FOLDER: &str = "SALTERN_LEGACY_VECTORS";
const TIMES: &str = "SALTERN_LEGACY_TIMES";

fn vectors(program: &str) -> Vectors {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folder = std::env::var_os(FOLDER).map_or_else(ours, PathBuf::from);
    let text = std::fs::read_to_string(folder.join(format!("{program}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The foreign string, if it is one and a policy that accepts everything admits it.
fn admitted(text: &str) -> Option<Foreign> {
    let policy = Policy { schemes: Scheme::ALL.to_vec(), ..Policy::default() };
    let hash = Stored::parse(text).ok()?.hash?;
    policy.admit(&hash).ok()?;
    match hash {
        Hash::Foreign(foreign) if foreign.signed_with.is_some() => {
            // The signer key is at the end of the string.
            foreign.without(&SignerKey::of_text(text.rsplit_once('$')?.1)?)
        }
        Hash::Foreign(foreign) => Some(foreign),
        _ => None,
    }
}

/// Every verdict is ours too, but for those of `differs`.
fn agree(program: &str, count: usize, differs: fn(&str, &[u8], bool) -> bool) {
    let Vectors { made_by, seed, cases } = vectors(program);
    let times = std::env::var(TIMES).map_or(1, |times| times.parse().unwrap());
    // The vectors of the repository, which take the place of others, are of seed 1.
    let count = if seed == 1 { count } else { count * times };
    let (mut right, mut wrong, mut other, mut refused) = (0, 0, 0, 0);
    for (password, text, verdict) in &cases {
        let password = unhex(password);
        let admitted = admitted(text);
        refused += usize::from(admitted.is_none());
        let ours = admitted.is_some_and(|one| one.matches(&password) == Ok(true));
        if ours != *verdict {
            assert!(
                differs(text, &password, ours),
                "{made_by}: {verdict} for {text:?}, {password:?}"
            );
            other += 1;
        } else if ours {
            right += 1;
        } else {
            wrong += 1;
        }
    }
    println!(
        "{made_by}: {right} right, {wrong} wrong, of these {refused} refused; {other} where we differ"
    );
    assert_eq!(cases.len(), count);
    assert!(right > count / 2 && wrong > count / 10 && refused > count / 20 && other < count / 10);
}

/// What is left over in the last digit of a salt means nothing, but libcrypt writes it as zeros and
/// compares whole strings. Other programs have written other digits there, which verify here.
fn loose_salt(text: &str, ours: bool) -> bool {
    ours && text.starts_with("$2") && text.get(28..29).is_some_and(|c| !".Oeu".contains(c))
}

#[test]
fn libcrypt_agrees() {
    agree("libcrypt", 2400, |text, _, ours| loose_salt(text, ours));
}

/// The salt alone, or with the dollar after it: what is hashed differs.
#[test]
fn libcrypt_agrees_on_every_form_of_sun_md5() {
    agree("sunmd5", 240, |_, _, _| false);
}

#[test]
fn argon2_cffi_agrees() {
    agree("argon2", 600, |_, _, _| false);
}

/// It refuses passwords of more than 72 bytes, of which the first 72 count here; and it takes
/// `$2a$` for `$2b$`, which libxcrypt does not for a few passwords with bytes above 127.
#[test]
fn the_package_bcrypt_agrees() {
    agree("bcrypt", 600, |text, password, ours| {
        let odd = text.starts_with("$2a$") && password.iter().any(|byte| *byte > 127);
        if ours { password.len() > 72 || loose_salt(text, ours) } else { odd }
    });
}

#[test]
fn django_agrees() {
    agree("django", 600, |_, _, _| false);
}

#[test]
fn libpass_agrees() {
    /// libpass ignores what follows the last byte of base 64, which no program writes.
    fn is_loose(text: &str) -> bool {
        let digits = text.split_once('}').map(|(_, digits)| Base64::decode_vec(digits));
        digits.is_some_and(|bytes| bytes.is_err())
    }
    agree("libpass", 1500, |text, _, ours| !ours && is_loose(text));
}

#[test]
fn a_second_implementation_of_firebase_agrees() {
    agree("firebase", 300, |_, _, _| false);
}

/// The complete string of a setting, as its program writes it.
fn complete_string(text: &str, setting: &dyn Setting, digest: &str) -> Option<String> {
    let (head, _) = text.rsplit_once('$').unwrap_or((text, ""));
    match setting.scheme() {
        Scheme::Bcrypt => Some(format!("{setting}{digest}")),
        Scheme::ShaCrypt | Scheme::Argon2 | Scheme::Pbkdf2 => Some(format!("{head}${digest}")),
        Scheme::Libcrypt => Some(format!("{setting}{digest}")),
        _ => None,
    }
}

/// The other way: what we make for other passwords is written for the programs to check, where
/// `scripts/test-legacy` asks for it. Settings are the same after they have been written and read.
#[test]
fn settings_have_one_spelling_and_strings_are_made() {
    let mut made = Vec::new();
    for program in ["libcrypt", "sunmd5", "argon2", "bcrypt", "django", "libpass", "firebase"] {
        for (password, text, _) in vectors(program).cases.iter().filter(|case| case.2) {
            let mut password = unhex(password);
            let Some(foreign) = admitted(text) else { continue };
            let said = foreign.setting.to_string();
            if said.contains('}') {
                assert!(setting(&said).is_err(), "{said}");
            } else {
                let again = setting(&said).unwrap();
                assert_eq!(again.to_string(), said);
                assert_eq!(again.compute(&password), foreign.setting.compute(&password));
                assert_eq!(
                    example(&foreign.setting.unsalted()).unwrap().setting.salt(),
                    again.salt()
                );
            }
            password.insert(0, b'+');
            if program == "bcrypt" && password.len() > 72 {
                continue;
            }
            let digest = foreign.setting.compute(&password).unwrap();
            if let Some(complete) = complete_string(text, &*foreign.setting, &digest) {
                made.push((program, hex(&password), complete));
            }
        }
    }
    assert!(made.len() > 3000, "{}", made.len());
    if let Some(folder) = std::env::var_os(FOLDER) {
        let text = serde_json::to_string(&made).unwrap();
        std::fs::write(PathBuf::from(folder).join("ours.json"), text).unwrap();
    }
}
