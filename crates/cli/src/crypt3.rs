//! Whether crypt(3) of a plain Linux system computes the same string.
//!
//! Such systems carry libxcrypt, which contains the optimised build of yescrypt: one pwxform flavour, no ROM, no
//! key, and slightly narrower ranges than the algorithm itself.

use saltern_yescrypt::{Flavor, Limits, Mode, Params, Scheme, Setting};

/// Longest string that crypt(3) returns, without its terminating zero.
const MAX_HASH: usize = 383;

/// Longest password that crypt(3) takes.
const MAX_PASSWORD: usize = 511;

/// Separator and digits that follow the setting.
const HASH_PART: usize = 44;

/// Why crypt(3) of a plain Linux cannot work with a setting; empty if it can.
///
/// That a string is encrypted with a key does not show, so the caller has to mind that.
pub(crate) fn obstacles(setting: &Setting) -> Vec<String> {
    let unknown = match setting.scheme() {
        Scheme::Escrypt => Some("it does not know this generation"),
        Scheme::ScryptPhc => Some("it does not know this format"),
        _ => None,
    };
    if let Some(unknown) = unknown {
        return vec![unknown.to_owned()];
    }
    let mut found = params_obstacles(setting.params());
    if setting.rom_id().is_some() {
        // Said below, and by name.
        found.retain(|reason| reason != NEEDS_ROM);
    }
    if let Err(error) = setting.params().check(&Limits::unlimited()) {
        found.insert(0, format!("nothing can compute it: {error}"));
    }
    if setting.scheme() == Scheme::Extended {
        found.push("only Saltern computes extended strings".to_owned());
    }
    if let Some(key) = setting.key_id() {
        found.push(format!("it is encrypted with the key {key}"));
    }
    if let Some(rom) = setting.rom_id() {
        found.push(format!("it needs the ROM {rom}"));
    }
    let text = setting.as_bytes();
    if text.len() + HASH_PART > MAX_HASH {
        found.push(format!("it is longer than {MAX_HASH} characters"));
    }
    if text.iter().any(|&byte| !byte.is_ascii_graphic() || b"!*:;\\".contains(&byte)) {
        found.push("it holds a character that crypt(3) refuses".to_owned());
    } else if setting.scheme() == Scheme::Scrypt && !scrypt_salt_passes(setting.salt()) {
        found.push("its salt holds a character that crypt(3) refuses".to_owned());
    }
    found
}

/// What to say of a new string under this setting: why crypt(3) of a plain Linux cannot verify it. One with a key that
/// it does not name does not show that.
pub(crate) fn notes(setting: &[u8], unnamed_key: bool, password: &[u8]) -> Vec<String> {
    let mut found = match Setting::parse(setting) {
        Ok(setting) => {
            let mut found = obstacles(&setting);
            if unnamed_key && setting.key_id().is_none() {
                found.push("it is encrypted with a key".to_owned());
            }
            found
        }
        // It will not be hashed either.
        Err(_) => Vec::new(),
    };
    found.extend(password_obstacle(password));
    let note = |reason| format!("crypt(3) of a plain Linux cannot verify this string: {reason}");
    found.into_iter().map(note).collect()
}

/// Why crypt(3) cannot take a password; `None` if it can.
pub(crate) fn password_obstacle(password: &[u8]) -> Option<String> {
    if password.contains(&0) {
        return Some("the password holds a zero byte, which ends it there".to_owned());
    }
    let too_long = password.len() > MAX_PASSWORD;
    too_long.then(|| format!("the password is longer than {MAX_PASSWORD} bytes"))
}

const NEEDS_ROM: &str = "it needs a ROM";

fn params_obstacles(params: &Params) -> Vec<String> {
    let rw = params.mode == Mode::Rw;
    let checks = [
        (rw && params.flavor != Flavor::DEFAULT, "its pwxform flavour is not the usual one"),
        (params.nrom != 0, NEEDS_ROM),
        (params.g != 0, "it asks for hash upgrades (g), which no release offers"),
        (params.n < 4, "N is below 4"),
        (params.n >> 32 != 0, "N is above 2^31"),
        (rw && params.n / u64::from(params.p.max(1)) < 4, "N/p is below 4"),
    ];
    checks.into_iter().filter(|(fails, _)| *fails).map(|(_, reason)| reason.to_owned()).collect()
}

/// The look that libxcrypt takes at a `$7$` salt: digits and `$` up to the first byte that is neither, which is
/// accepted only right after a `$`, and then nothing further is looked at.
fn scrypt_salt_passes(salt: &[u8]) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'$');
    match salt.iter().position(|&byte| !plain(byte)) {
        None => true,
        Some(0) => false,
        Some(at) => salt[at - 1] == b'$',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrypt_salts_as_libxcrypt_reads_them() {
        for salt in [&b""[..], b"abc./09", b"a$~b", b"a$$~b$~~"] {
            assert!(scrypt_salt_passes(salt), "{salt:?}");
        }
        for salt in [&b"a~b"[..], b"~", b"a~$b"] {
            assert!(!scrypt_salt_passes(salt), "{salt:?}");
        }
    }

    #[test]
    fn parameters_out_of_its_range_are_named() {
        let mut params = Params::yescrypt(4096, 32);
        assert_eq!(params_obstacles(&params), [""; 0]);
        params.nrom = 1 << 20;
        params.p = 2048;
        assert_eq!(params_obstacles(&params), ["it needs a ROM", "N/p is below 4"]);
        assert_eq!(params_obstacles(&Params::scrypt(2, 8, 1)), ["N is below 4"]);
        assert_eq!(params_obstacles(&Params::scrypt(1 << 32, 8, 1)), ["N is above 2^31"]);
    }

    #[test]
    fn passwords_that_it_would_cut_or_refuse() {
        assert_eq!(password_obstacle(&[b'x'; 511]), None);
        assert!(password_obstacle(&[b'x'; 512]).is_some() && password_obstacle(b"a\0b").is_some());
    }
}
