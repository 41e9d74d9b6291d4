//! How many tests of each type and result the files have.

/// The type of a group, a result, and how many tests there are.
type Counts = &'static [(&'static str, &'static str, usize)];

/// The files, by name.
pub(super) const FILES: [(&str, Counts); 3] = [
    (
        "yescrypt",
        &[
            ("CryptHash", "valid", 274),
            ("CryptHash", "acceptable", 306),
            ("CryptHash", "invalid", 79),
            ("CryptVerify", "valid", 12),
            ("CryptVerify", "invalid", 216),
        ],
    ),
    (
        "scrypt",
        &[
            ("CryptHash", "valid", 205),
            ("CryptHash", "acceptable", 34),
            ("CryptVerify", "valid", 12),
            ("CryptVerify", "invalid", 216),
        ],
    ),
    (
        "crypt_refused",
        &[
            ("CryptHash", "valid", 16),
            ("CryptHash", "acceptable", 76),
            ("CryptHash", "invalid", 296),
        ],
    ),
];
