//! Memory for blocks that are read.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};

use crate::Error;
use crate::system::map::Mapping;
use crate::system::pages::RomPages;

/// Memory for blocks that direct reads can fill: zeroed and page-aligned.
pub struct DirectBuffer(Mapping);

impl DirectBuffer {
    /// A buffer of `len` bytes, at least 1.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn new(len: usize) -> Result<Self, Error> {
        let refused = Error::NoMemory { needed: len as u64, available: None };
        Ok(DirectBuffer(Mapping::anonymous(len, RomPages::Base).map_err(|_| refused)?))
    }

    /// The memory, made read-only.
    pub(crate) fn frozen(self) -> io::Result<Mapping> {
        let mut mapping = self.0;
        mapping.protect()?;
        Ok(mapping)
    }
}

impl Deref for DirectBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl DerefMut for DirectBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // It is never made read-only.
        self.0.bytes_mut().unwrap_or_default()
    }
}

impl fmt::Debug for DirectBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirectBuffer {{ {} bytes }}", self.len())
    }
}
