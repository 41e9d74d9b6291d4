//! Memory for images: private to this process, on any pages.

use std::fs::File;
use std::io;
use std::ops::Range;

use saltern_yescrypt::rom::RomImage;

use super::filesystem::unsupported;
use crate::Error;
use crate::system::pages::RomPages;
use crate::system::sysv::Segment;

/// Memory of which `len` bytes are an image.
pub(crate) struct Mapping {
    image: RomImage,
    len: usize,
    writable: bool,
}

impl Mapping {
    pub(crate) fn anonymous(len: usize, pages: RomPages) -> io::Result<Self> {
        if pages.is_reserved() {
            return Err(unsupported());
        }
        let refused = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let whole = len.max(1).checked_next_multiple_of(64).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { image: RomImage::zeroed(whole).map_err(refused)?, len, writable: true })
    }

    pub(crate) fn file(_: &File, _: usize, _: usize, _: bool) -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn segment(_: &Segment, _: bool) -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn advise(&self, _: RomPages) {}

    pub(crate) fn populate(&self) {}

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.image.as_bytes()[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        match self.writable {
            true => Ok(&mut self.image.as_bytes_mut()[..self.len]),
            false => Err(Error::Unsupported { what: "the memory for the image is read-only" }),
        }
    }

    pub(crate) fn protect(&mut self) -> io::Result<()> {
        self.writable = false;
        Ok(())
    }

    pub(crate) fn lock(&self) -> io::Result<()> {
        Err(unsupported())
    }

    pub(crate) fn addresses(&self) -> Range<usize> {
        let start = self.bytes().as_ptr().addr();
        start..start + self.len
    }
}

pub(crate) fn memory_file(_: usize, _: RomPages) -> io::Result<(File, Mapping)> {
    Err(unsupported())
}

pub(crate) fn seal(_: &File) -> io::Result<()> {
    Err(unsupported())
}

pub(crate) fn reopen(_: &File) -> io::Result<File> {
    Err(unsupported())
}

pub(crate) fn lock_limit() -> Option<u64> {
    None
}
