//! The ids of ROMs and keys. `text/names.rs` reads them from strings.

use core::fmt;

/// The id of a ROM: eight bytes, written as 16 lower-case hexadecimal digits. The caller assigns it
/// when attaching a ROM ([`RomSet::attach`](crate::rom::RomSet::attach)) and must ensure that it is
/// the right one.
///
/// ```
/// use saltern_yescrypt::rom::RomId;
/// let id: RomId = "00ff1122334455aa".parse()?;
/// assert_eq!(id.to_string(), "00ff1122334455aa");
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RomId(pub(crate) [u8; 8]);

impl RomId {
    /// An id from eight bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 8]) -> Self {
        RomId(bytes)
    }

    /// The id that belongs to a digest: its first eight bytes.
    #[must_use]
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        let mut id = [0; 8];
        id.copy_from_slice(&digest[..8]);
        RomId(id)
    }

    /// The eight bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

/// The longest name of a key, in characters.
pub(crate) const MAX_KEY_ID: usize = 32;

/// A name for a [`HashKey`](crate::keys::HashKey): 1 to 32 characters from `A`–`Z`, `a`–`z`,
/// `0`–`9`, `.` and `-`; and, after a `+`, the fingerprint of the key, if it is known.
///
/// Strings that need the key contain the name in clear text. With the fingerprint, another key
/// under the same name is detected: the key then counts as unavailable, and the right password
/// never fails as a mismatch.
///
/// ```
/// use saltern_yescrypt::keys::KeyId;
/// let id: KeyId = "2026-01+00ff1122334455aa".parse()?;
/// assert_eq!((id.to_string().as_str(), id.as_str()), ("2026-01+00ff1122334455aa", "2026-01"));
/// assert!("2026-01".parse::<KeyId>()?.fingerprint().is_none());
/// assert!("a key".parse::<KeyId>().is_err());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId {
    /// Zeros after the end.
    pub(crate) text: [u8; MAX_KEY_ID],
    pub(crate) len: u8,
    pub(crate) fingerprint: Option<KeyFingerprint>,
}

impl KeyId {
    /// This name with a fingerprint.
    #[must_use]
    pub const fn with_fingerprint(mut self, fingerprint: KeyFingerprint) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }

    /// The fingerprint, if the name has one.
    #[must_use]
    pub const fn fingerprint(&self) -> Option<KeyFingerprint> {
        self.fingerprint
    }

    /// Whether this may be the name of a key that is known in full.
    pub(crate) fn may_be(&self, known: &KeyId) -> bool {
        let fingerprint = self.fingerprint.is_none() || self.fingerprint == known.fingerprint;
        self.as_str() == known.as_str() && fingerprint
    }

    /// The name, without the fingerprint.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..self.len.into()]).unwrap_or_default()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        self.fingerprint.map_or(Ok(()), |fingerprint| write!(f, "+{fingerprint}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Distinguishes a [`HashKey`](crate::keys::HashKey) from others without helping to find it: eight
/// bytes of a hash of the key ([`HashKey::fingerprint`](crate::keys::HashKey::fingerprint)),
/// written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyFingerprint(pub(crate) [u8; 8]);

macro_rules! hexadecimal {
    ($($name:ident),+) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", u64::from_be_bytes(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        })+
    };
}

hexadecimal!(RomId, KeyFingerprint);
