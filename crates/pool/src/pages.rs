//! The kind of pages that the system has granted.

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

/// Bytes of these ranges in huge pages, from the text of `smaps`.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
fn huge_bytes_in(smaps: &str, ranges: &[Range<usize>]) -> Option<u64> {
    let mut sum = 0;
    for (mapping, _, bytes) in sizes(smaps).filter(|(_, key, _)| *key == "AnonHugePages") {
        let overlap = |range: &Range<usize>| {
            range.end.min(mapping.end).saturating_sub(range.start.max(mapping.start)) as u64
        };
        let asked: u64 = ranges.iter().map(overlap).sum();
        sum += asked.min(bytes?);
    }
    Some(sum)
}

/// The fields of mappings in `smaps`: their addresses, a name and, if it is a size, its bytes.
///
/// Mappings begin with `start-end …` in hexadecimal, and have lines like `AnonHugePages: n kB`.
pub fn sizes(smaps: &str) -> impl Iterator<Item = (Range<usize>, &str, Option<u64>)> {
    let address = |text| usize::from_str_radix(text, 16).ok();
    let mut mapping = 0..0;
    smaps.lines().filter_map(move |line| {
        let mut fields = line.split_ascii_whitespace();
        let first = fields.next()?;
        if let Some(key) = first.strip_suffix(':') {
            let kib = fields.next().and_then(|text| text.parse::<u64>().ok());
            return Some((mapping.clone(), key, kib.map(|kib| kib << 10)));
        }
        let (start, end) = first.split_once('-')?;
        mapping = address(start)?..address(end)?;
        None
    })
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
