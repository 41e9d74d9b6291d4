//! What the machine's libcrypt knows, and nothing else here: it is loaded when the first such
//! string is computed. What a string costs is read out of it before.

#![allow(unsafe_code, reason = "crypt_rn(3), found at run time")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use libloading::Library;
use saltern_pool::task::Task;
use zeroize::Zeroizing;

use super::{Foreign, Setting, decimal, without_zeros};
use crate::error::Error;
use crate::scheme::Scheme;

/// Bytes of `struct crypt_data` of libxcrypt.
const DATA: usize = 32 << 10;
const LIBRARY: &str = "libcrypt.so.1";

/// `crypt_rn(3)`.
type CryptRn =
    unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void, c_int) -> *mut c_char;

#[derive(Clone)]
struct Crypt {
    /// Without the digest.
    text: String,
    /// Where the salt is.
    salt: Range<usize>,
    cost: Task,
}

pub(super) fn parse(text: &str) -> Option<Result<Foreign, Error>> {
    let (at, salt, cost) = shape(text)?;
    let expected = "printable characters without : ; * ! and \\, at most 383";
    let plain = |c: u8| c.is_ascii_graphic() && !b"!*:;\\".contains(&c);
    if text.len() > 383 || !text.bytes().all(plain) {
        return Some(Err(Error::malformed("string for libcrypt", expected)));
    }
    let (setting, digest) = text.split_at_checked(at)?;
    Some(Ok(Foreign::new(Crypt { text: setting.to_owned(), salt, cost }, digest)))
}

/// Where the digest begins, where the salt is, and the cost.
fn shape(text: &str) -> Option<(usize, Range<usize>, Task)> {
    let task = |memory: u64, work: u64| Task { memory: memory + DATA as u64, work };
    let digit = |c: u8| c.is_ascii_alphanumeric() || b"./".contains(&c);
    if text.len() == 13 && text.bytes().all(digit) {
        return Some((2, 0..2, task(0, 200_000)));
    }
    if let Some(rest) = text.strip_prefix('_') {
        let whole = text.len() == 20 && rest.bytes().all(digit);
        // Four digits, the lowest first.
        let count = rest.bytes().take(4).rev().fold(0, |count, c| count << 6 | u64::from(value(c)));
        return whole.then(|| (9, 5..9, task(0, 20_000 + 1000 * count)));
    }
    let at = text.rfind('$')? + 1;
    let fields: Vec<&str> = text.get(1..at - 1)?.split('$').collect();
    let place = |salt: &str| {
        let start = salt.as_ptr().addr() - text.as_ptr().addr();
        start..start + salt.len()
    };
    let rounds = |text: &str| decimal(text).map(u64::from);
    Some(match fields[..] {
        ["1", salt] => (at, place(salt), task(0, 1_000_000)),
        ["3", ""] => (at, 3..3, task(0, 4096)),
        ["sha1", count, salt] => (at, place(salt), task(0, rounds(count)?.checked_mul(2800)?)),
        ["md5", salt, ..] => (at, place(salt), task(0, 4096 * 8000)),
        [head, salt, ..] if head.starts_with("md5,rounds=") => {
            let count = rounds(head.strip_prefix("md5,rounds=")?)?;
            (at, place(salt), task(0, (4096 + count).checked_mul(8000)?))
        }
        ["gy", params, salt] => {
            // GOST only frames it: two hashes more.
            let inner = saltern_yescrypt::Setting::parse(format!("$y${params}${salt}")).ok()?;
            let (memory, work) = (inner.params().memory(), inner.params().work());
            let sized = |size: u128| u64::try_from(size).unwrap_or(u64::MAX / 4);
            (at, place(salt), task(sized(memory), sized(work).saturating_mul(2)))
        }
        _ => return None,
    })
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
    let digest = if text.len() == 2 || text.starts_with('_') { 11 } else { 22 };
    Some(text.to_owned() + &".".repeat(digest))
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

    fn cost(&self, _: usize) -> Task {
        self.cost
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
        let mut phrase = Zeroizing::new(Vec::with_capacity(password.len() + 1));
        phrase.extend_from_slice(without_zeros(password)?);
        phrase.push(0);
        let phrase = CStr::from_bytes_with_nul(&phrase).map_err(|_| failed("a zero byte"))?;
        // The dot is the beginning of a digest, which the functions do not look at.
        let setting = CString::new(&*self.text).map_err(|_| failed("a zero byte"))?;
        let whole = call(phrase, &setting)?.ok_or(failed("libcrypt refused the string"))?;
        let digest =
            whole.strip_prefix(&self.text).ok_or(failed("libcrypt changed the setting"))?;
        Ok(Zeroizing::new(digest.to_owned()))
    }
}

/// What libcrypt makes of it; none if it refuses.
fn call(phrase: &CStr, setting: &CStr) -> Result<Option<Zeroizing<String>>, Error> {
    let library = library()?;
    let unavailable = |error| Error::unavailable(LIBRARY, error);
    // SAFETY: this is the type that <crypt.h> of libxcrypt declares it with.
    let crypt = unsafe { library.get::<CryptRn>(b"crypt_rn\0") }.map_err(unavailable)?;
    let mut data = Zeroizing::new(vec![0_u64; DATA / 8]);
    // SAFETY: the strings end in zeros, and there are as many bytes as is said, aligned to 8.
    let made = unsafe {
        crypt(phrase.as_ptr(), setting.as_ptr(), data.as_mut_ptr().cast(), DATA as c_int)
    };
    if made.is_null() {
        return Ok(None);
    }
    // SAFETY: if it is not null, it is a string within `data`, which outlives this.
    let text = unsafe { CStr::from_ptr(made) };
    Ok(text.to_str().ok().map(|text| Zeroizing::new(text.to_owned())))
}

fn library() -> Result<&'static Library, Error> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    // SAFETY: libcrypt does nothing when it is loaded, and is never unloaded.
    let load = || unsafe { Library::new(LIBRARY) }.map_err(|error| error.to_string());
    LOADED.get_or_init(load).as_ref().map_err(|error| Error::unavailable(LIBRARY, error))
}
