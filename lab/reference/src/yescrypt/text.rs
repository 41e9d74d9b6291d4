//! Base-64 pieces, `$y$` and `$7$` strings, settings from a cost number (19 – 21, 23).

use super::{Direction, Params, RW_DEFAULT, Reject, Rom, feistel, kdf};

/// The digits (19).
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Variable-length numbers (19): first leading digit, how many leading digits, digits that follow.
const ROWS: [(u32, u32, u32); 6] =
    [(0, 48, 0), (48, 8, 1), (56, 4, 2), (60, 2, 3), (62, 1, 4), (63, 1, 5)];

pub(super) fn digit(value: u32) -> u8 {
    DIGITS[value as usize & 63]
}

fn value_of(character: u8) -> Result<u32, Reject> {
    let at = DIGITS.iter().position(|&d| d == character).ok_or(Reject("not a base-64 digit"))?;
    Ok(at as u32)
}

/// Reads pieces from the front of a string.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl Reader<'_> {
    pub(super) fn digit(&mut self) -> Result<u32, Reject> {
        let (&first, rest) = self.rest.split_first().ok_or(Reject("the string ends too early"))?;
        self.rest = rest;
        value_of(first)
    }

    /// A variable-length number that is at least `least` (19).
    fn number(&mut self, least: u32) -> Result<u32, Reject> {
        let lead = self.digit()?;
        let mut start = least;
        for (first, count, tail) in ROWS {
            if lead < first + count {
                let mut value = lead - first;
                for _ in 0..tail {
                    value = value << 6 | self.digit()?;
                }
                return Ok(start + value);
            }
            start += count << (6 * tail);
        }
        unreachable!("the rows cover all 64 digits")
    }

    /// A fixed-width number of 30 bits (19).
    pub(super) fn fixed30(&mut self) -> Result<u32, Reject> {
        (0..5).try_fold(0, |value, k| Ok(value | self.digit()? << (6 * k)))
    }

    /// log2 of N or NROM, as the number itself.
    fn power(&mut self) -> Result<u64, Reject> {
        match self.number(1)? {
            log2 if log2 <= 63 => Ok(1 << log2),
            _ => Err(Reject("log2 of N or NROM is above 63")),
        }
    }

    /// Takes the next character if it is `$`.
    pub(super) fn separator(&mut self) -> bool {
        let found = self.rest.first() == Some(&b'$');
        self.rest = &self.rest[usize::from(found)..];
        found
    }
}

fn put_number(out: &mut Vec<u8>, value: u32, least: u32) -> Result<(), Reject> {
    let mut value = value.checked_sub(least).ok_or(Reject("a number below its minimum"))?;
    for (first, count, tail) in ROWS {
        let span = count << (6 * tail);
        if value < span {
            out.push(digit(first + (value >> (6 * tail))));
            out.extend((0..tail).rev().map(|k| digit(value >> (6 * k))));
            return Ok(());
        }
        value -= span;
    }
    Err(Reject("a number too large to encode"))
}

pub(super) fn put_fixed30(out: &mut Vec<u8>, value: u32) {
    out.extend((0..5).map(|k| digit(value >> (6 * k))));
}

/// A byte string as digits (19).
pub(super) fn put_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for group in bytes.chunks(3) {
        let value = group.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        out.extend((0..=group.len()).map(|k| digit(value >> (6 * k))));
    }
    out
}

/// Digits as a byte string of at most `most` bytes (19).
pub(super) fn take_bytes(text: &[u8], most: usize) -> Result<Vec<u8>, Reject> {
    let mut out = Vec::new();
    for group in text.chunks(4) {
        let bytes = group.len() * 6 / 8;
        let mut value = 0;
        for (k, &character) in group.iter().enumerate() {
            value |= value_of(character)? << (6 * k);
        }
        if bytes == 0 || value >> (8 * bytes) != 0 {
            return Err(Reject("base-64 with a single digit or stray bits at its end"));
        }
        out.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
    if out.len() > most { Err(Reject("a byte string too long for its place")) } else { Ok(out) }
}

/// A parsed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameters it names.
    pub params: Params,
    /// How many characters of the text belong to the setting without its salt.
    pub prefix_length: usize,
    /// The salt as it is written.
    pub salt_text: Vec<u8>,
    /// The salt as it is hashed, before hash encryption.
    pub salt: Vec<u8>,
}

impl Setting {
    /// Whether this is a `$y$` setting, rather than `$7$`.
    fn is_yescrypt(text: &[u8]) -> bool {
        text.starts_with(b"$y$")
    }
}

/// Parses a `$y$` (20) or `$7$` (21) setting; a complete hash serves as one.
///
/// # Errors
/// [`Reject`] if the text is neither, or is malformed.
pub fn parse_setting(text: &[u8]) -> Result<Setting, Reject> {
    let (params, rest) = if Setting::is_yescrypt(text) {
        parse_y(text)?
    } else if text.starts_with(b"$7$") {
        parse_7(text)?
    } else {
        return Err(Reject("the string starts with neither $y$ nor $7$"));
    };
    // The salt ends before the last `$`, if there is one.
    let end = rest.iter().rposition(|&c| c == b'$').unwrap_or(rest.len());
    let salt_text = rest[..end].to_vec();
    let salt =
        if Setting::is_yescrypt(text) { take_bytes(&salt_text, 64)? } else { salt_text.clone() };
    Ok(Setting { params, prefix_length: text.len() - rest.len(), salt_text, salt })
}

fn parse_y(text: &[u8]) -> Result<(Params, &[u8]), Reject> {
    let mut reader = Reader { rest: &text[3..] };
    let flags = match reader.number(0)? {
        flavour @ 0..=1 => flavour,
        flavour @ 2..=257 => 2 + ((flavour - 2) << 2),
        _ => return Err(Reject("no such flavour")),
    };
    let mut params = Params::from_flags(flags);
    params.n = reader.power()?;
    params.r = reader.number(1)?;
    if !reader.separator() {
        let have = reader.number(1)?;
        if have & 1 != 0 {
            params.p = reader.number(2)?;
        }
        if have & 2 != 0 {
            params.t = reader.number(1)?;
        }
        if have & 4 != 0 {
            params.g = reader.number(1)?;
        }
        if have & 8 != 0 {
            params.nrom = reader.power()?;
        }
        if !reader.separator() {
            return Err(Reject("no $ after the parameters"));
        }
    }
    Ok((params, reader.rest))
}

fn parse_7(text: &[u8]) -> Result<(Params, &[u8]), Reject> {
    let mut reader = Reader { rest: &text[3..] };
    let log2_n = reader.digit()?;
    if log2_n == 0 {
        return Err(Reject("N is 1"));
    }
    let mut params = Params::from_flags(0);
    params.n = 1 << log2_n;
    params.r = reader.fixed30()?;
    params.p = reader.fixed30()?;
    Ok((params, reader.rest))
}

/// crypt(3): the complete hash of a password under a setting (20 – 22). A key decrypts the salt and
/// encrypts the hash.
///
/// # Errors
/// [`Reject`] if the setting is malformed, the KDF refuses its parameters, or a key is given for
/// `$7$`.
pub fn crypt(
    password: &[u8],
    setting: &[u8],
    key: Option<&[u8; 32]>,
    rom: Option<&Rom>,
) -> Result<Vec<u8>, Reject> {
    let parsed = parse_setting(setting)?;
    let mut salt = parsed.salt;
    if let Some(key) = key {
        if !Setting::is_yescrypt(setting) {
            return Err(Reject("$7$ cannot be encrypted"));
        }
        salt = feistel(&salt, key, Direction::Encrypt);
    }
    let mut hash = kdf(password, &salt, &parsed.params, rom, 32)?;
    if let Some(key) = key {
        hash = feistel(&hash, key, Direction::Encrypt);
    }
    let mut out = setting[..parsed.prefix_length].to_vec();
    out.extend_from_slice(&parsed.salt_text);
    out.push(b'$');
    out.extend_from_slice(&put_bytes(&hash));
    Ok(out)
}

/// Writes a `$y$` setting (20, "Producing a setting").
///
/// # Errors
/// [`Reject`] if a field cannot be encoded.
pub fn encode_setting(params: &Params, salt: &[u8]) -> Result<Vec<u8>, Reject> {
    let flavour = match params.flags {
        flags @ 0..=1 => flags,
        flags if flags & 3 == 2 && flags <= 0x3fe => 2 + (flags >> 2),
        _ => return Err(Reject("flags that no flavour names")),
    };
    let power = |n: u64| match n {
        n if n > 1 && n.is_power_of_two() => Ok(n.ilog2()),
        _ => Err(Reject("N or NROM is not a power of two above 1")),
    };
    let log2_n = power(params.n)?;
    let log2_nrom = if params.nrom == 0 { 0 } else { power(params.nrom)? };
    if u64::from(params.r) * u64::from(params.p) >= 1 << 30 {
        return Err(Reject("r * p is 2^30 or more"));
    }
    let mut out = b"$y$".to_vec();
    put_number(&mut out, flavour, 0)?;
    put_number(&mut out, log2_n, 1)?;
    put_number(&mut out, params.r, 1)?;
    let optional = [
        (params.p != 1, params.p, 2),
        (params.t != 0, params.t, 1),
        (params.g != 0, params.g, 1),
        (log2_nrom != 0, log2_nrom, 1),
    ];
    let have = (0..4).map(|bit| u32::from(optional[bit].0) << bit).sum();
    if have != 0 {
        put_number(&mut out, have, 1)?;
    }
    for (_, value, least) in optional.into_iter().filter(|field| field.0) {
        put_number(&mut out, value, least)?;
    }
    out.push(b'$');
    out.extend_from_slice(&put_bytes(salt));
    Ok(out)
}

/// A setting from a cost number, as system libraries choose it (23). `prefix` is `$y$`, `$gy$` or
/// `$7$`; cost 0 is the default; at most 64 of the random bytes are used.
///
/// # Errors
/// [`Reject`] for a cost that is not offered, fewer than 16 random bytes, or another prefix.
pub fn gensalt(prefix: &[u8], cost: u32, random: &[u8]) -> Result<Vec<u8>, Reject> {
    if random.len() < 16 {
        return Err(Reject("fewer than 16 random bytes"));
    }
    let salt = &random[..random.len().min(64)];
    match (prefix, cost) {
        (b"$gy$", _) => Ok([b"$g", &gensalt(b"$y$", cost, random)?[1..]].concat()),
        (b"$y$", 0..=11) => {
            let cost = if cost == 0 { 5 } else { cost };
            let (log2_n, r) = if cost < 3 { (cost + 9, 8) } else { (cost + 7, 32) };
            encode_setting(&Params { n: 1 << log2_n, r, ..Params::from_flags(RW_DEFAULT) }, salt)
        }
        (b"$7$", 0 | 6..=11) => {
            let cost = if cost == 0 { 7 } else { cost };
            let mut out = b"$7$".to_vec();
            out.push(digit(cost + 7));
            put_fixed30(&mut out, 32);
            put_fixed30(&mut out, 1);
            out.extend_from_slice(&put_bytes(salt));
            Ok(out)
        }
        _ => Err(Reject("no such prefix, or a cost that is not offered for it")),
    }
}

/// Re-encrypts a `$y$` hash: from `from` (or plain) to `to` (or plain).
///
/// # Errors
/// [`Reject`] if the string is not a well-formed `$y$` hash.
pub fn reencrypt(
    text: &[u8],
    from: Option<&[u8; 32]>,
    to: Option<&[u8; 32]>,
) -> Result<Vec<u8>, Reject> {
    if !text.starts_with(b"$y$") {
        return Err(Reject("only $y$ can be re-encrypted"));
    }
    let setting = parse_setting(text)?;
    let (prefix, rest) = text.split_at(setting.prefix_length);
    // The `$` before the salt is the one that ends the parameters, so one must follow the salt.
    let hash_text = rest
        .get(setting.salt_text.len()..)
        .and_then(|tail| tail.strip_prefix(b"$"))
        .ok_or(Reject("no hash after the salt"))?;
    let mut salt = setting.salt;
    let mut hash = take_bytes(hash_text, 32)?;
    if hash_text.len() != 43 {
        return Err(Reject("the hash is not 43 digits"));
    }
    if let Some(key) = from {
        salt = feistel(&salt, key, Direction::Encrypt);
        hash = feistel(&hash, key, Direction::Decrypt);
    }
    if let Some(key) = to {
        salt = feistel(&salt, key, Direction::Decrypt);
        hash = feistel(&hash, key, Direction::Encrypt);
    }
    Ok([prefix, &put_bytes(&salt), b"$", &put_bytes(&hash)].concat())
}
