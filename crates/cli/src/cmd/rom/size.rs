//! Sizes on the command line: `64GiB`.

/// Bytes: a number and one of B, KiB, MiB, GiB, TiB, nothing between them.
///
/// `GB` is refused, since half of those who write it mean 2^30 bytes; so is a number alone.
pub(in crate::cmd) fn parse(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let found = units.into_iter().find_map(|(unit, log2)| Some((text.strip_suffix(unit)?, log2)));
    let expected = "expected a number and a unit without a blank: B, KiB, MiB, GiB or TiB";
    let (digits, log2) = found.ok_or(expected)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected.to_owned());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << log2));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| "the size is 0 or above 2^64 bytes".to_owned())
}

/// Bytes for people, exact: in the largest unit that divides them.
pub(super) fn text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let exact = units.into_iter().find(|(_, log2)| bytes >> log2 << log2 == bytes && bytes > 0);
    match exact {
        Some((unit, log2)) => format!("{} {unit}", bytes >> log2),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_strict() {
        for (good, bytes) in [
            ("1B", 1),
            ("4KiB", 4096),
            ("64GiB", 64 << 30),
            ("512MiB", 512 << 20),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse(good), Ok(bytes));
        }
        for bad in [
            "",
            "B",
            "KiB",
            "64",
            "64G",
            "64GB",
            "64 GiB",
            "64gib",
            "-1GiB",
            "+1GiB",
            "1.5GiB",
            "0GiB",
            "1e3MiB",
            "16777216TiB",
            "99999999999999999999B",
            "0x10MiB",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(text(64 << 30), "64 GiB");
        assert_eq!(text(3 << 19), "1536 KiB");
        assert_eq!((text(100), text(0)), ("100 B".to_owned(), "0 B".to_owned()));
    }
}
