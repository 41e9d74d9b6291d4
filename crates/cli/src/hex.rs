//! Hexadecimal byte strings, as keys, passwords and digests are written.

/// Fill `out` from exactly twice as many digits of either case; `None` if `text` is anything else.
///
/// Writing into the caller's buffer leaves no second copy of a secret behind.
#[must_use]
pub(crate) fn decode_into(text: &[u8], out: &mut [u8]) -> Option<()> {
    if text.len() != out.len().checked_mul(2)? {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(())
}

/// Append bytes as lower-case digits.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        for byte in 0..=255 {
            for text in [format!("{byte:02x}"), format!("{byte:02X}")] {
                let mut out = [0];
                assert_eq!(decode_into(text.as_bytes(), &mut out), Some(()));
                assert_eq!(out, [byte]);
            }
            let mut text = Vec::new();
            push(&mut text, &[byte]);
            assert_eq!(text, format!("{byte:02x}").into_bytes());
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["0", "0g", "+1", " 1", "0x", "é"] {
            assert_eq!(decode_into(text.as_bytes(), &mut [0; 1][..text.len() / 2]), None, "{text}");
        }
        assert_eq!(decode_into(b"0000", &mut [0]), None, "too long");
        assert_eq!(decode_into(b"", &mut []), Some(()));
    }
}
