//! The parameters of `$y$` and `$7$` strings (sections 20 and 21).

use super::base64::Reader;
use crate::core::params::Params;
use crate::error::Error;

/// Section 20, between the prefix and the salt.
pub(super) fn yescrypt(reader: &mut Reader<'_>) -> Result<Params, Error> {
    let flags = match reader.number(0)? {
        flags @ 0..=1 => flags,
        flavor @ 2..=257 => 2 + ((flavor - 2) << 2),
        _ => return Err(Error::malformed("a flavour of at most 257")),
    };
    let n = power("a log2 of N of at most 63", reader.number(1)?)?;
    let mut params = Params::with_flags(flags, n, reader.number(1)?)?;
    if !reader.accept(b"$") {
        let have = reader.number(1)?;
        for (bit, least) in [(0, 2), (1, 1), (2, 1), (3, 1)] {
            if have >> bit & 1 == 0 {
                continue;
            }
            let value = reader.number(least)?;
            match bit {
                0 => params.p = value,
                1 => params.t = value,
                2 => params.g = value,
                _ => params.nrom = power("a log2 of NROM of at most 63", value)?,
            }
        }
        if !reader.accept(b"$") {
            return Err(Error::malformed("a $ after the parameters"));
        }
    }
    Ok(params)
}

/// Section 21, between the prefix and the salt.
pub(super) fn scrypt(reader: &mut Reader<'_>) -> Result<Params, Error> {
    let log2_n = reader.digit()?;
    if log2_n == 0 {
        return Err(Error::malformed("a log2 of N of at least 1"));
    }
    let n = power("a log2 of N of at most 63", log2_n)?;
    Ok(Params::scrypt(n, reader.fixed30()?, reader.fixed30()?))
}

fn power(expected: &'static str, log2: u32) -> Result<u64, Error> {
    1u64.checked_shl(log2).ok_or(Error::malformed(expected))
}
