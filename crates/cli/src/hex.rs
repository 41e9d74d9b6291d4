//! Hexadecimal byte strings, as keys and test vectors write them.

/// The bytes in lower-case hexadecimal.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

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

/// The bytes that hexadecimal digits of either case stand for.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; text.len() / 2];
    decode_into(text.as_bytes(), &mut bytes).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode(&bytes);
        assert!(text.starts_with("000102") && text.ends_with("fdfeff"));
        assert_eq!(decode(&text), Some(bytes.clone()));
        assert_eq!(decode(&text.to_uppercase()), Some(bytes));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["0", "0g", "+1", " 1", "0x", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode(""), Some(Vec::new()));
    }
}
