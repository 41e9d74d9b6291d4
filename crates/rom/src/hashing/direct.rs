//! Reading single blocks of an image that stays in its file, bypassing the page cache: for ROMs
//! larger than memory.

use std::fmt;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use saltern_pool::source::Window;
use saltern_wipe::Zeroize;
use saltern_yescrypt::params::block_bytes;
use saltern_yescrypt::rom::{RomId, RomReading};

use crate::Error;
use crate::files::located::{Image, Opened};
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::sums::Sums;
use crate::hashing::checked::grid;
use crate::system::buffer::DirectBuffer;
use crate::system::filesystem::{self, read_at};

/// The alignment assumed to suffice if the kernel does not report one.
const ALIGNMENT: usize = 4096;

/// An image in a file, checked against its manifest, for reading block by block.
///
/// Reads bypass the page cache (O_DIRECT) if the file system supports that and the offset, the
/// length and the buffer are aligned, and otherwise use it. A file that is shortened or fails
/// meanwhile gives errors, never a signal.
///
/// Everything is read in whole chunks ([`Manifest::chunk`]), whose hashes are checked before the
/// data is used. A chunk with a wrong hash is read once more, from the disk through the page cache.
/// So damage anywhere in the image gives [`Error::Damaged`] and never a different hash. The hashes
/// take 16 bytes of memory for each chunk, once chunks near it have been read.
pub struct RomFile {
    /// For reads through the page cache.
    buffered: File,
    direct: Option<File>,
    /// The alignment of offset and length, and that of the address in memory.
    alignment: [usize; 2],
    manifest: Manifest,
    sums: Sums,
    /// For the chunks around blocks that are smaller.
    scratch: Mutex<Option<DirectBuffer>>,
    path: PathBuf,
    notes: Vec<String>,
}

impl RomFile {
    /// Opens the image whose manifest is `image.json`, and compares size, tag, digest and the table
    /// of hashes.
    ///
    /// ```
    /// use saltern_rom::{DirectBuffer, Create, RomFile, Seed};
    /// use saltern_yescrypt::rom::RomParams;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("site.rom");
    /// let seed = Seed::from_bytes(b"not a seed for real use")?;
    /// Create::new(RomParams::new(64, 32, 1), &seed).file(&path)?;
    /// let rom = RomFile::open(&path, None)?;
    /// let mut block = DirectBuffer::new(128 * 32)?;
    /// rom.read_block(63, 32, &mut block)?;
    /// assert_eq!(&block[128 * 32 - 32..], rom.manifest().digest);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`attach`](crate::attach()) for a file; [`Error::Sums`] if the table is missing or
    /// damaged; [`Error::Unsupported`] for a segment.
    pub fn open(image: &Path, expect: Option<RomHash>) -> Result<Self, Error> {
        Self::of(image, Opened::open(image, expect)?)
    }

    /// [`RomFile::open`] for a ROM that was found already.
    pub(crate) fn of(image: &Path, opened: Opened) -> Result<Self, Error> {
        opened.check_shared()?;
        let Opened { image: Image::File(file), manifest, .. } = opened else {
            return Err(Error::Unsupported { what: "a System V segment cannot be read as a file" });
        };
        let sums = Sums::open(image, &manifest)?;
        let (buffered, path) = (file.file, file.path);
        let alignment = filesystem::direct_alignment(&buffered).unwrap_or([ALIGNMENT; 2]);
        let scratch = Mutex::new(None);
        let (direct, notes) = (None, Vec::new());
        let mut rom = RomFile { buffered, direct, alignment, manifest, sums, scratch, path, notes };
        match rom.open_direct() {
            Ok(direct) => rom.direct = Some(direct),
            Err(error) => rom.notes.push(format!(
                "cannot read {} directly ({error}): reading through the page cache instead",
                rom.path.display()
            )),
        }
        Ok(rom)
    }

    /// Some file systems refuse direct I/O only when it is used.
    fn open_direct(&self) -> io::Result<File> {
        let file = filesystem::open_direct(&self.path)?;
        if !filesystem::is_same(&file.metadata()?, &self.buffered.metadata()?) {
            return Err(io::Error::other("the file was replaced meanwhile"));
        }
        let mut probe = DirectBuffer::new(self.alignment[0]).map_err(io::Error::other)?;
        read_at(&file, &mut probe, 0)?;
        Ok(file)
    }

    /// Reads block `j` of the image seen as blocks of `128 * r` bytes; `j` is reduced modulo their
    /// number. `r` must divide the image into a power of two of blocks, as the ROM's own r and its
    /// factors do. All chunks that the block is in are read: with the ROM's own r, from one to
    /// three times the size of the block.
    ///
    /// # Errors
    /// [`Error::Yescrypt`] for another `r` or a buffer of another length than `128 * r`;
    /// [`Error::Damaged`] for a damaged chunk, [`Error::Size`] if the file has become shorter,
    /// [`Error::Io`] for a read error.
    pub fn read_block(&self, j: u64, r: u32, buffer: &mut [u8]) -> Result<(), Error> {
        let (needed, actual) = (block_bytes(r), buffer.len() as u64);
        if needed != actual {
            return Err(saltern_yescrypt::Error::BufferLength { needed, actual }.into());
        }
        let blocks = self.blocks(r)?;
        self.read_range((j & (blocks - 1)) * needed, buffer)
    }

    /// How many blocks of `128 * r` bytes the image has, a power of two.
    ///
    /// # Errors
    /// [`Error::Yescrypt`] if it is not a power of two.
    pub fn blocks(&self, r: u32) -> Result<u64, Error> {
        let expected = "such that the number of blocks of the ROM is a power of two";
        let (name, value) = ("r", r.into());
        let refused = saltern_yescrypt::Error::InvalidParameter { name, value, expected };
        Ok(RomReading::whole(self.manifest.size(), r).ok_or(refused)?.nrom)
    }

    /// Fills the buffer from any offset in the image; checks the chunks around it.
    pub(crate) fn read_range(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let window = grid(&self.manifest).around(offset, buffer.len());
        let Window { offset: start, skip, extent: len, .. } = window;
        if (skip, len) == (0, buffer.len()) {
            return self.read_chunks(offset, buffer);
        }
        let kept = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = kept().take().filter(|scratch| scratch.len() >= len);
        let mut scratch = fitting.map_or_else(|| DirectBuffer::new(len), Ok)?;
        let read = self.read_chunks(start, &mut scratch[..len]);
        if read.is_ok() {
            buffer.copy_from_slice(&scratch[skip..skip + buffer.len()]);
        }
        // The numbers of the blocks read reveal something about passwords.
        scratch[..len].zeroize();
        *kept() = Some(scratch);
        read
    }

    /// Fills the buffer with whole chunks, and checks them.
    fn read_chunks(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        match self.read_exact(self.direct.as_ref(), offset, buffer) {
            Ok(()) if self.fits(offset, buffer) => Ok(()),
            _ => self.read_again(offset, buffer),
        }
    }

    /// Whether whole chunks are those of the ROM.
    pub(crate) fn fits(&self, offset: u64, chunks: &[u8]) -> bool {
        self.check_chunks(offset, chunks).is_ok()
    }

    /// Fills the buffer with whole chunks that could not be read or were wrong: this time through
    /// the page cache, but from the disk.
    pub(crate) fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        filesystem::forget(&self.buffered, offset, buffer.len());
        self.read_exact(None, offset, buffer)?;
        self.check_chunks(offset, buffer)
    }

    /// Compares whole chunks with the table.
    pub(crate) fn check_chunks(&self, offset: u64, chunks: &[u8]) -> Result<(), Error> {
        self.sums.check(offset, chunks, || self.path.clone())
    }

    /// The error for damage at a byte of the image.
    pub(crate) fn damaged(&self, offset: u64) -> Error {
        Error::Damaged { path: self.path.clone(), offset: Some(offset) }
    }

    /// Fills the buffer from any offset in the image, as far as possible through this descriptor
    /// for direct reads.
    fn read_exact(
        &self,
        direct: Option<&File>,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let [of_file, of_memory] = self.alignment;
        let mut done = 0;
        while done < buffer.len() {
            let (at, rest) = (offset + done as u64, &mut buffer[done..]);
            let aligned = at.is_multiple_of(of_file as u64)
                && rest.len().is_multiple_of(of_file)
                && rest.as_ptr().addr().is_multiple_of(of_memory);
            let file = direct.filter(|_| aligned).unwrap_or(&self.buffered);
            match read_at(file, rest, at) {
                Ok(0) => {
                    let (path, expected) = (self.path.clone(), self.manifest.size());
                    let found = self.buffered.metadata().map_err(Error::io("access", &path))?;
                    let actual = found.len();
                    return Err(Error::Size { path, expected, actual });
                }
                // The rest of a short read is read in the same way, or through the cache if it is
                // unaligned.
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path)(error)),
            }
        }
        Ok(())
    }

    /// Whether aligned reads bypass the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// The alignment of the offset and the length of a direct read.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment[0]
    }

    /// The alignment of the offset and the length of reads from [`RomFile::descriptor`] that can be
    /// checked.
    pub(crate) fn window_alignment(&self) -> usize {
        let needed = if self.is_direct() { self.alignment[0] } else { 1 };
        // Both are powers of two.
        needed.max(self.sums.chunk() as usize)
    }

    /// One attempt to read from any offset in the image, bypassing the page cache if possible.
    pub(crate) fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(self.direct.as_ref().unwrap_or(&self.buffered), buffer, offset)
    }

    /// The descriptor to read from: the direct one if there is one.
    #[cfg(unix)]
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.direct.as_ref().unwrap_or(&self.buffered).as_fd()
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The ROM's id: the beginning of its hash.
    #[must_use]
    pub fn id(&self) -> RomId {
        self.manifest.id()
    }

    /// Bytes in the image.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.manifest.size()
    }

    /// The image's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Remarks for the operator: what was not available, and what is used instead.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl fmt::Debug for RomFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_direct() { "direct" } else { "buffered" };
        write!(f, "RomFile {{ {}, {} bytes, {how} }}", self.id(), self.size())
    }
}

#[cfg(test)]
mod tests {
    use saltern_yescrypt::rom::RomParams;

    use super::*;
    use crate::operations::create::Create;
    use crate::operations::seed::Seed;

    #[test]
    fn a_failing_descriptor_is_an_error_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("site.rom");
        let seed = Seed::from_bytes(b"seed").unwrap();
        Create::new(RomParams::new(64, 32, 1), &seed).file(&path).unwrap();
        // One cannot be read at all (EBADF); the other's pages are this process's, of which the
        // first are never there (EIO).
        let write_only = || File::options().write(true).open("/dev/null").unwrap();
        let memory = || File::open("/proc/self/mem").unwrap();
        let mut block = DirectBuffer::new(4096).unwrap();
        let codes = [libc::EBADF, libc::EIO].map(Some);
        for (failing, code) in [write_only as fn() -> File, memory].into_iter().zip(codes) {
            let mut rom = RomFile::open(&path, None).unwrap();
            rom.read_block(0, 32, &mut block).unwrap();
            // The page cache replaces direct reads that fail.
            rom.direct = Some(failing());
            rom.read_block(0, 32, &mut block).unwrap();
            rom.read_block(1, 1, &mut block[..128]).unwrap();
            (rom.direct, rom.buffered) = (Some(failing()), failing());
            // Aligned, and not.
            for (r, range) in [(32, 0..4096), (1, 0..128), (16, 8..2056)] {
                let error = rom.read_block(0, r, &mut block[range]).unwrap_err();
                let Error::Io { source, .. } = &error else { panic!("{error}") };
                assert_eq!(source.raw_os_error(), code, "{error}");
                assert!(error.to_string().contains("site.rom"), "{error}");
            }
        }
    }
}
