//! Schemes that only the machine's libcrypt computes: it is loaded when the first such string is
//! computed. The cost of a string is parsed from it first.

#![allow(unsafe_code, reason = "crypt_rn(3), found at run time")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use libloading::Library;
use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::hazmat::crypt3::byte_refused_by_crypt;

use super::{Foreign, Setting, decimal, without_zeros};
use crate::error::Error;
use crate::scheme::Scheme;

/// Bytes of `struct crypt_data` of libxcrypt.
const DATA: usize = 32 << 10;
/// Both are libxcrypt: the first with the symbols of glibc's old libcrypt, the second (Fedora,
/// Arch) without.
const LIBRARIES: [&str; 2] = ["libcrypt.so.1", "libcrypt.so.2"];
const LIBRARY: &str = "libcrypt";

/// `crypt_rn(3)`.
type CryptRn =
    unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void, c_int) -> *mut c_char;

/// The longest salts that libxcrypt takes. For SHA-1 it asserts this, which would end the whole
/// program.
const SHA1_SALT: usize = 64;
/// Bytes of the longest password that it takes.
const PASSWORD: usize = 511;
/// Bytes of a password that count in traditional DES, whose settings have two characters.
const DES_PASSWORD: usize = 8;
const MD5_SALT: usize = 8;

#[derive(Clone)]
struct Crypt {
    /// Without the digest.
    text: String,
    /// Where the salt is.
    salt: Range<usize>,
    cost: Cost,
}

/// Bytes of memory; work; and the work that each byte of the password adds.
#[derive(Clone, Copy)]
struct Cost {
    memory: u64,
    work: u64,
    byte: u64,
}

impl Cost {
    const fn work(work: u64, byte: u64) -> Self {
        Cost { memory: 0, work, byte }
    }
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let (at, salt, cost) = shape(text)?;
    let (setting, digest) = text.split_at_checked(at)?;
    let plain = |c: u8| !byte_refused_by_crypt(c);
    let printable = text.len() <= 383 && setting.bytes().all(plain);
    if !printable || digest.len() != digest_len(setting) || !digits(digest) {
        let expected =
            "at most 383 printable characters without : ; * ! and \\, and a complete digest";
        return Some(Err(Error::malformed("string for libcrypt", expected)));
    }
    Some(Ok(Foreign::new(Crypt { text: setting.to_owned(), salt, cost }, digest)))
}

/// Characters of the digest that belongs to a setting.
fn digest_len(setting: &str) -> usize {
    match setting.strip_prefix('$') {
        None => 11,
        Some(rest) if rest.starts_with("3$") => 32,
        Some(rest) if rest.starts_with("sha1$") => 28,
        Some(rest) if rest.starts_with("gy$") => 43,
        Some(_) => 22,
    }
}

/// Where the digest begins, where the salt is, and the cost. Text that libxcrypt would read
/// differently has no shape: its cost would be unknown.
fn shape(text: &str) -> Option<(usize, Range<usize>, Cost)> {
    if text.len() == 13 && digits(text) {
        return Some((2, 0..2, Cost::work(40_000, 0)));
    }
    if let Some(rest) = text.strip_prefix('_') {
        // Four digits, the lowest first.
        let count = rest.bytes().take(4).rev().fold(0, |count, c| count << 6 | u64::from(value(c)));
        let whole = text.len() == 20 && digits(rest);
        return whole.then(|| (9, 5..9, Cost::work(20_000 + 420 * count, 100)));
    }
    let at = text.rfind('$')? + 1;
    let fields: Vec<&str> = text.get(1..at - 1)?.split('$').collect();
    let (salt, most, cost) = match fields[..] {
        ["1", salt] => (salt, MD5_SALT, Cost::work(450_000, 10_000)),
        ["3", salt] => (salt, 0, Cost::work(4096, 32)),
        ["sha1", count, salt] if !salt.is_empty() => {
            let count = u64::from(decimal(count)?);
            let cost = Cost::work(count.checked_mul(2200)?, count.checked_mul(5)?);
            (salt, SHA1_SALT, cost)
        }
        ["md5", rounds, salt] | ["md5", rounds, salt, ""] if rounds.starts_with("rounds=") => {
            (salt, usize::MAX, sun_md5(rounds)?)
        }
        ["md5", salt] | ["md5", salt, ""] => (salt, usize::MAX, sun_md5("")?),
        [head] | [head, ""] if head.strip_prefix("md5,").is_some_and(digits) => {
            (&head[4..], usize::MAX, sun_md5("")?)
        }
        [head, salt] | [head, salt, ""] if head.starts_with("md5,") => {
            (salt, usize::MAX, sun_md5(head.strip_prefix("md5,")?)?)
        }
        ["gy", params, salt] => {
            // GOST only adds two hashes around it.
            let inner = saltern_yescrypt::Setting::parse(format!("$y${params}${salt}")).ok()?;
            let (memory, work) = (inner.params().memory(), inner.params().work());
            let sized = |size: u128| u64::try_from(size).unwrap_or(u64::MAX / 4);
            let work = sized(work).saturating_mul(2);
            (salt, usize::MAX, Cost { memory: sized(memory), work, byte: 64 })
        }
        _ => return None,
    };
    let start = salt.as_ptr().addr() - text.as_ptr().addr();
    // The salts of `$1$` may have other characters, too.
    let plain = salt.len() <= most && (digits(salt) || fields.first() == Some(&"1"));
    plain.then_some((at, start..start + salt.len(), cost))
}

/// The cost of Sun's MD5, whose rounds are `rounds=N` or missing.
fn sun_md5(rounds: &str) -> Option<Cost> {
    let more = match rounds.strip_prefix("rounds=") {
        Some(count) => decimal(count)?,
        None if rounds.is_empty() => 0,
        None => return None,
    };
    Some(Cost::work((4096 + u64::from(more)).checked_mul(4300)?, 32))
}

fn digits(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_alphanumeric() || b"./".contains(&c))
}

/// The value of a digit of crypt(3).
fn value(c: u8) -> u8 {
    match c {
        b'a'..=b'z' => c - b'a' + 38,
        b'A'..=b'Z' => c - b'A' + 12,
        b'0'..=b'9' => c - b'0' + 2,
        _ => c.saturating_sub(b'.'),
    }
}

pub(super) fn complete(text: &str) -> Option<String> {
    Some(text.to_owned() + &".".repeat(digest_len(text)))
}

impl fmt::Display for Crypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Setting for Crypt {
    fn scheme(&self) -> Scheme {
        Scheme::Libcrypt
    }

    fn cost(&self, password: usize) -> Task {
        let Cost { memory, work, byte } = self.cost;
        // Of a longer one no more is computed.
        let bytes = password.min(PASSWORD) as u64;
        let work = work.saturating_add(byte.saturating_mul(bytes));
        Task { memory: memory.saturating_add(DATA as u64), work }
    }

    fn salt(&self) -> usize {
        self.salt.len()
    }

    fn unsalted(&self) -> String {
        let mut text = self.text.clone();
        text.replace_range(self.salt.clone(), &".".repeat(self.salt.len()));
        text
    }

    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error> {
        let failed = |why| Error::Failed { scheme: Scheme::Libcrypt, why };
        // What is longer matches nothing that libcrypt has made, and takes as long as its
        // beginning.
        let counting = if self.text.len() == 2 { DES_PASSWORD } else { usize::MAX };
        let password = &password[..password.len().min(counting)];
        let too_long = password.len() > PASSWORD;
        let password = &password[..password.len().min(PASSWORD)];
        let mut phrase = Zeroizing::new(Vec::with_capacity(password.len() + 1));
        phrase.extend_from_slice(without_zeros(password)?);
        phrase.push(0);
        let phrase = CStr::from_bytes_with_nul(&phrase).map_err(|_| failed("a zero byte"))?;
        // A whole string, as crypt(3) is given it to verify: where a salt ends is seen by what
        // follows it.
        let setting = complete(&self.text).and_then(|text| CString::new(text).ok());
        let setting = setting.ok_or_else(|| failed("a zero byte"))?;
        let whole = call(phrase, &setting)?;
        // libcrypt never makes a string that is written differently from its own output.
        let digest = whole.strip_prefix(&self.text).ok_or(REFUSED)?;
        Ok(Zeroizing::new(if too_long { "*".repeat(digest.len()) } else { digest.to_owned() }))
    }
}

const REFUSED: Error =
    Error::malformed("string for libcrypt", "one that the libcrypt of this machine accepts");
/// From errno(3): invalid argument.
const EINVAL: i32 = 22;

/// The complete string that libcrypt makes.
fn call(phrase: &CStr, setting: &CStr) -> Result<Zeroizing<String>, Error> {
    let library = library()?;
    let unavailable = |error| Error::unavailable(LIBRARY, error);
    // SAFETY: this is the type that <crypt.h> of libxcrypt declares it with.
    let crypt = unsafe { library.get::<CryptRn>(b"crypt_rn\0") }.map_err(unavailable)?;
    let mut data = Zeroizing::new(vec![0_u64; DATA / 8]);
    // SAFETY: the strings end in zeros, and the buffer has the stated size and is aligned to 8.
    let made = unsafe {
        crypt(phrase.as_ptr(), setting.as_ptr(), data.as_mut_ptr().cast(), DATA as c_int)
    };
    if made.is_null() {
        let refused = std::io::Error::last_os_error().raw_os_error() == Some(EINVAL);
        let why = "libcrypt is out of memory";
        return Err(if refused {
            REFUSED
        } else {
            Error::Failed { scheme: Scheme::Libcrypt, why }
        });
    }
    // SAFETY: if it is not null, it is a string within `data`, which outlives this.
    let text = unsafe { CStr::from_ptr(made) };
    text.to_str().map(|text| Zeroizing::new(text.to_owned())).map_err(|_| REFUSED)
}

/// Whether there is a libcrypt on this machine.
pub(super) fn ready() -> Result<(), Error> {
    library().map(drop)
}

fn library() -> Result<&'static Library, Error> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        let mut reasons = Vec::new();
        for name in LIBRARIES {
            // SAFETY: libcrypt does nothing when it is loaded, and is never unloaded.
            match unsafe { Library::new(name) } {
                Ok(library) => return Ok(library),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(reasons.join("; "))
    };
    LOADED.get_or_init(load).as_ref().map_err(|error| Error::unavailable(LIBRARY, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The assumed cost of a setting for a short password, if it is accepted at all.
    fn work(setting: &str) -> Option<u64> {
        Some(parse(&complete(setting)?)?.ok()?.setting.cost(8).work)
    }

    /// Whatever libxcrypt reads a number of rounds in is counted, and what would end the program is
    /// not given to it.
    #[test]
    fn rounds_are_counted_in_every_form() {
        let most = u64::from(u32::MAX);
        for text in ["$md5$rounds=4294967295$salt$", "$md5,rounds=4294967295$salt$$"] {
            assert!(work(text) >= Some(most * 4300), "{text}");
        }
        assert!(work("$sha1$4294967295$salt$") >= Some(most * 2200));
        assert!(work("_zzzz....") > work("_z......."));
        assert!(work("$gy$jFT$salt$") > work("$gy$j75$salt$"));
        for text in [
            "$md5$rounds=x$salt$",
            "$md5$rounds=1$salt$x$",
            "$md5,rounds=04$salt$",
            "$md5,rounds=99999999999$salt$",
            "$md5$sa=lt$",
            "$md5,round=1$salt$",
            "$md5,rounds=1$salt$x$",
            "$sha1$+4$salt$",
            "$sha1$99999999999$salt$",
            "$sha1$4$$",
            "$1$saltsalts$",
            "$3$x$",
            "_zzzz...",
            "$gy$jzzzzzzzz$salt$",
            &format!("$sha1$4${}$", "s".repeat(65)),
        ] {
            assert_eq!(work(text), None, "{text}");
        }
    }

    /// A digest that is not whole is no mismatch.
    #[test]
    fn digests_are_whole() {
        for setting in ["$1$salt$", "$3$$", "$sha1$4$salt$", "$md5$salt$$", "$gy$j75$salt$"] {
            let whole = complete(setting).unwrap();
            assert!(parse(&whole).unwrap().is_ok(), "{whole}");
            for bad in [&*format!("{whole}."), &whole[..whole.len() - 1], setting] {
                assert!(parse(bad).is_none_or(|parsed| parsed.is_err()), "{bad}");
            }
            let other = whole[..whole.len() - 1].to_owned() + "=";
            assert!(parse(&other).unwrap().is_err(), "{other}");
        }
    }

    /// Other programs have made DES strings of any password: the first 8 bytes of it count.
    #[test]
    fn a_password_of_any_length_matches_by_what_counts_of_it() {
        let matches = |text: &str, length: usize| {
            let mut password = b"pleaselet".to_vec();
            password.resize(length, b'x');
            parse(text).unwrap().unwrap().matches(&password).unwrap()
        };
        // By libcrypt, of "pleaselet".
        for length in [9, 511, 512, 600] {
            assert!(matches("ab/DEQq.fnuz6", length));
        }
        assert!(!matches("ab/DEQq.fnuz6", 7) && !matches("$1$salt$JRPEPR60xH1anbzYp80zz.", 512));
    }

    #[test]
    fn the_longest_salt_is_computed_and_what_libcrypt_refuses_is_bad_input() {
        let long = complete(&format!("$sha1$4${}$", "s".repeat(64))).unwrap();
        let one = parse(&long).unwrap().unwrap();
        assert_eq!(one.setting.compute(b"password").unwrap().len(), 28);
        let none = parse(&complete("$md5,rounds=0$salt$$").unwrap()).unwrap().unwrap();
        assert_eq!(none.setting.compute(b"password").map(drop), Err(REFUSED));
    }
}
