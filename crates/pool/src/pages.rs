//! Which pages the system has given.

use core::ops::Range;

/// Bytes on transparent huge pages in the mappings that hold these addresses. Mappings may be
/// larger than what is asked about, so this is bounded by the sizes of the ranges.
#[cfg(all(feature = "os", target_os = "linux"))]
pub(crate) fn huge_bytes(ranges: &[Range<usize>]) -> Option<u64> {
    huge_bytes_in(&std::fs::read_to_string("/proc/self/smaps").ok()?, ranges)
}

#[cfg(not(all(feature = "os", target_os = "linux")))]
pub(crate) fn huge_bytes(_: &[Range<usize>]) -> Option<u64> {
    None
}

/// The same from the text of `smaps`: mappings begin with `start-end …` in hexadecimal,
/// `AnonHugePages: n kB` is one of the lines after it.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
fn huge_bytes_in(smaps: &str, ranges: &[Range<usize>]) -> Option<u64> {
    let mut sum = 0;
    // How much of the present mapping is asked about.
    let mut asked = 0;
    for line in smaps.lines() {
        if let Some(mapping) = mapping(line) {
            let overlap = |range: &Range<usize>| {
                range.end.min(mapping.end).saturating_sub(range.start.max(mapping.start)) as u64
            };
            asked = ranges.iter().map(overlap).sum();
        } else if let Some(size) = line.strip_prefix("AnonHugePages:") {
            let kib: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
            sum += asked.min(kib << 10);
        }
    }
    Some(sum)
}

#[cfg(any(test, all(feature = "os", target_os = "linux")))]
fn mapping(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use core::slice::from_ref;

    use super::*;

    #[test]
    fn only_mappings_that_hold_a_range_count() {
        let smaps = "\
10000-50000 rw-p 00000000 00:00 0
Size:                256 kB
AnonHugePages:       128 kB
VmFlags: rd wr mr mw
60000-a0000 r--p 00000000 00:00 0    [heap]
AnonHugePages:        64 kB
";
        let huge = |ranges: &[Range<usize>]| huge_bytes_in(smaps, ranges).unwrap();
        assert_eq!(huge(&[]), 0);
        assert_eq!(huge(from_ref(&(0x50000..0x60000))), 0);
        assert_eq!(huge(from_ref(&(0x20000..0x28000))), 0x8000, "no more than asked about");
        assert_eq!(huge(&[0x10000..0x50000, 0x70000..0x90000]), (128 + 64) << 10);
        assert_eq!(huge_bytes_in("10-20 x\nAnonHugePages: ? kB\n", &[]), None);
    }
}
