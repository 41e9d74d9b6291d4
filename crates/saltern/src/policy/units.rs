//! Sizes and times as people write them.

use std::time::Duration;

/// Parses a size as policies write it, in bytes: `64KiB`, `256 MiB`, `4GiB`, or digits alone.
/// `None` for any other text: `GB` is refused because many people mean 2^30 bytes by it.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0), ("", 0)];
    let (number, shift) = split(text, &units)?;
    number.checked_mul(1 << shift)
}

/// A size as policies and people write it: exact, in the largest unit that divides it.
///
/// ```
/// assert_eq!(saltern::policy::size_text(3 << 19), "1536 KiB");
/// ```
#[must_use]
pub fn size_text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let exact = units.into_iter().find(|(_, log2)| bytes >> log2 << log2 == bytes && bytes > 0);
    match exact {
        Some((unit, log2)) => format!("{} {unit}", bytes >> log2),
        None => format!("{bytes} B"),
    }
}

/// The memory of a hash as people write it: whole mebibytes, or less than one in kibibytes.
///
/// ```
/// use saltern::policy::{Params, memory_text};
/// assert_eq!(memory_text(Params::yescrypt(4096, 32).memory()), "16 MiB");
/// ```
#[must_use]
pub fn memory_text(bytes: u128) -> String {
    let (kib, mib) = (bytes.div_ceil(1 << 10), bytes >> 20);
    if mib > 0 { format!("{mib} MiB") } else { format!("{kib} KiB") }
}

/// What [`parse_time`](time) expects, for errors.
pub const TIME: &str = "a time such as \"250ms\", \"2s\" or \"1min\"";

/// Parses a time as policies write it: `250ms`, `2s`, `5min`. `None` for any other text.
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    let (number, unit) = split(text, &[("ms", 1), ("min", 60_000), ("s", 1000)])?;
    number.checked_mul(unit).map(Duration::from_millis)
}

/// The number before the first of the units that the text ends in.
fn split(text: &str, units: &[(&str, u64)]) -> Option<(u64, u64)> {
    let (digits, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)))?;
    let plain = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    Some((plain.then(|| digits.parse().ok()).flatten()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("256MiB"), Some(256 << 20));
        for bytes in [0, 100, 4096, 3 << 19, 64 << 30, 2 << 40, u64::MAX] {
            assert_eq!(size(&size_text(bytes)), Some(bytes));
        }
        assert_eq!((size("4 GiB"), size("17"), size("17B")), (Some(4 << 30), Some(17), Some(17)));
        for bad in ["", "MiB", "-1", "1.5GiB", "1MB", "99999999999TiB", "1 2", "+3"] {
            assert_eq!(size(bad), None, "{bad}");
        }
        assert_eq!(time("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(
            (time("2 s"), time("1min")),
            (Some(Duration::from_secs(2)), Some(Duration::from_secs(60)))
        );
        for bad in ["", "2", "s", "2h", "-1s"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
