//! Sizes and times as people write them.

use std::time::Duration;

/// Bytes: `64KiB`, `256MiB`, `4GiB`, or digits alone.
pub(super) fn size(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0), ("", 0)];
    let (number, shift) = split(text, &units)?;
    number.checked_mul(1 << shift)
}

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
