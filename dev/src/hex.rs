//! Hexadecimal byte strings, as test vectors write them.

/// The bytes in lower-case hexadecimal.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits of either case stand for.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| u8::try_from(digit(high)? << 4 | digit(low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
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
