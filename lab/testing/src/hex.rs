//! Hexadecimal digits.

/// Bytes as lower-case digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that digits stand for.
#[must_use]
#[track_caller]
pub fn unhex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "an odd number of digits: {digits}");
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect(digits);
    (0..digits.len()).step_by(2).map(byte).collect()
}
