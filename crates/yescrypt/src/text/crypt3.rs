//! What crypt(3) on a current Linux (libxcrypt) accepts, which is less than the format allows.
//!
//! Found by differential test: `tests/system_crypt.rs` asks the machine's own library.

use super::HASH_DIGITS;
use crate::core::params::{Mode, Params};

/// The longest result, including its terminating zero byte.
pub const RESULT: usize = 384;

/// The longest text that it accepts: it reserves room for a hash after whatever it is given.
pub const TEXT: usize = RESULT - 1 - HASH_DIGITS - 1;

/// The longest password that it accepts.
pub const PASSWORD: usize = 511;

/// Where the salt of a `$7$` string begins.
const SCRYPT_SALT: usize = "$7$".len() + 1 + 5 + 5;

/// Why it refuses a text that parses, a setting or a complete string, for any password.
pub(crate) fn text_refused(text: &[u8]) -> Option<&'static str> {
    if text.len() > TEXT {
        return Some("it has more than 339 characters");
    }
    if text.iter().any(|byte| byte_refused_by_crypt(*byte)) {
        return Some(
            "it contains a space, a colon or another character that is refused everywhere",
        );
    }
    let salt = text.get(SCRYPT_SALT..).filter(|_| text.starts_with(b"$7$"));
    let why = "its salt contains a character that is not a digit of base 64";
    salt.is_some_and(|salt| !scrypt_salt_passes(salt)).then_some(why)
}

/// Whether crypt(3) on a current Linux (libxcrypt) refuses any text with this byte.
#[must_use]
pub const fn byte_refused_by_crypt(byte: u8) -> bool {
    !byte.is_ascii_graphic() || matches!(byte, b'!' | b'*' | b':' | b';' | b'\\')
}

/// Why it refuses parameters that the algorithm defines, apart from ROMs and flavours.
pub(crate) fn params_refused(params: &Params) -> Option<&'static str> {
    if params.n < 4 || params.n >> 32 != 0 {
        return Some("N is not between 4 and 2^31");
    }
    let slices = params.mode == Mode::Rw && params.n / u64::from(params.p.max(1)) < 4;
    slices.then_some("N / p is below 4")
}

/// Why crypt(3) on a current Linux (libxcrypt) refuses a password; `None` if it accepts it. For
/// settings see [`Setting::refused_by_crypt`](crate::Setting::refused_by_crypt).
///
/// ```
/// use saltern_yescrypt::params::password_refused_by_crypt;
/// assert_eq!(password_refused_by_crypt(&[b'x'; 511]), None);
/// assert!(password_refused_by_crypt(&[b'x'; 512]).is_some());
/// ```
#[must_use]
pub fn password_refused_by_crypt(password: &[u8]) -> Option<&'static str> {
    let too_long = password.len() > PASSWORD;
    zero_byte_refused(password)
        .or_else(|| too_long.then_some("the password has more than 511 bytes"))
}

/// Why it refuses a password with a zero byte; `None` for any other.
pub(crate) fn zero_byte_refused(password: &[u8]) -> Option<&'static str> {
    let refused = password.contains(&0);
    refused.then_some("the password contains a zero byte, which would end it there")
}

/// How it checks what follows the parameters of `$7$`: digits and `$` up to the first byte that is
/// neither, which passes only right after a `$`; nothing after that is checked.
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
    fn parameters_out_of_its_range() {
        let mut params = Params::yescrypt(4096, 32);
        assert_eq!(params_refused(&params), None);
        params.p = 2048;
        assert!(params_refused(&params).is_some());
        assert!(params_refused(&Params::scrypt(2, 8, 1)).is_some());
        assert!(params_refused(&Params::scrypt(1 << 32, 8, 1)).is_some());
        assert!(params_refused(&Params::scrypt(1 << 31, 8, 1)).is_none());
    }

    #[test]
    fn passwords_that_it_would_cut_or_refuse() {
        let refused = password_refused_by_crypt;
        assert_eq!(refused(&[b'x'; 511]), None);
        assert!(refused(&[b'x'; 512]).is_some() && refused(b"a\0b").is_some());
    }
}
