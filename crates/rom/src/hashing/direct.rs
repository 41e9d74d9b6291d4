//! Reading single blocks of an image that stays in its file, past the page cache: for ROMs that are
//! larger than memory.

use std::fmt;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use saltern_pool::source::Window;
use saltern_yescrypt::rom::{RomId, RomReading};
use zeroize::Zeroize;

use crate::Error;
use crate::files::opened::{Image, Opened};
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::sums::Sums;
use crate::hashing::checked::grid;
use crate::system::buffer::DirectBuffer;
use crate::system::filesystem::{self, read_at};

/// The alignment that is taken for enough where the kernel does not tell one.
const ALIGNMENT: usize = 4096;

/// An image in a file, checked against its manifest, to be read block by block.
///
/// Reads go past the page cache (O_DIRECT) where the file system can do that and the place, the
/// length and the buffer are aligned, and through it elsewhere. A file that is shortened or fails
/// meanwhile gives errors, never a signal.
///
/// Everything is read in whole chunks ([`Manifest::chunk`]), whose hashes are compared before it is
/// used. A chunk that does not fit is read once more, through the page cache, which is told to
/// forget it before. So damage anywhere in the image gives [`Error::Damaged`] and never another
/// hash. The hashes take 16 bytes of memory for each chunk, once chunks near it have been read.
pub struct RomFile {
    /// Through the page cache.
    buffered: File,
    direct: Option<File>,
    /// What place and length, and what the address in memory, have to be multiples of.
    alignment: [usize; 2],
    manifest: Manifest,
    sums: Sums,
    /// For the chunks around blocks that are smaller.
    scratch: Mutex<Option<DirectBuffer>>,
    path: PathBuf,
    notes: Vec<String>,
}

impl RomFile {
    /// Opens the image whose manifest is `image.json`, compares size, tag, digest and the table of
    /// hashes.
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
    /// number. `r` has to divide the image into a power of two of blocks, as the ROM's own r and
    /// its parts do. What is read are the chunks that the block is in: with the ROM's own r its
    /// size, or up to three times that.
    ///
    /// # Errors
    /// [`Error::Yescrypt`] for another `r` or a buffer of another length than `128 * r`;
    /// [`Error::Damaged`] if a chunk is not what was made, [`Error::Size`] if the file is shorter
    /// by now, [`Error::Io`] for a read error.
    pub fn read_block(&self, j: u64, r: u32, buffer: &mut [u8]) -> Result<(), Error> {
        let (needed, actual) = (128 * u64::from(r), buffer.len() as u64);
        if needed != actual {
            return Err(saltern_yescrypt::Error::BufferLength { needed, actual }.into());
        }
        let blocks = self.blocks(r)?;
        self.read_range((j & (blocks - 1)) * needed, buffer)
    }

    /// How many blocks of `128 * r` bytes the image has, a power of two.
    ///
    /// # Errors
    /// [`Error::Yescrypt`] if it is none.
    pub fn blocks(&self, r: u32) -> Result<u64, Error> {
        let expected = "such that the number of blocks of the ROM is a power of two";
        let (name, value) = ("r", r.into());
        let refused = saltern_yescrypt::Error::InvalidParameter { name, value, expected };
        Ok(RomReading::whole(self.manifest.size(), r).ok_or(refused)?.nrom)
    }

    /// Fills the buffer from any place in the image, with the chunks around it checked.
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
        // Which blocks were read tells something about passwords.
        scratch[..len].zeroize();
        *kept() = Some(scratch);
        read
    }

    /// Fills the buffer with whole chunks, which are checked.
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

    /// Fills the buffer with whole chunks that could not be read or did not fit: by the other way,
    /// through the page cache, but from the disk.
    pub(crate) fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        filesystem::forget(&self.buffered, offset, buffer.len());
        self.read_exact(None, offset, buffer)?;
        self.check_chunks(offset, buffer)
    }

    /// Compares whole chunks with the table.
    pub(crate) fn check_chunks(&self, offset: u64, chunks: &[u8]) -> Result<(), Error> {
        self.sums.check(offset, chunks, || self.path.clone())
    }

    /// What is said of damage at a byte of the image.
    pub(crate) fn damaged(&self, offset: u64) -> Error {
        Error::Damaged { path: self.path.clone(), offset: Some(offset) }
    }

    /// Fills the buffer from any place in the image, as far as possible through this descriptor for
    /// direct reads.
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
                // Whatever a short read leaves is read in the same way, or through the cache if it
                // is unaligned.
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path)(error)),
            }
        }
        Ok(())
    }

    /// Whether aligned reads go past the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// What the place in the file and the length of a direct read have to be multiples of.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment[0]
    }

    /// What place and length have to be multiples of to be read from [`RomFile::descriptor`] and
    /// checked.
    pub(crate) fn window_alignment(&self) -> usize {
        let needed = if self.is_direct() { self.alignment[0] } else { 1 };
        // Both are powers of two.
        needed.max(self.sums.chunk() as usize)
    }

    /// One attempt to read from any place in the image, past the page cache if that can be.
    pub(crate) fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(self.direct.as_ref().unwrap_or(&self.buffered), buffer, offset)
    }

    /// The descriptor to read from: the direct one if there is one.
    #[cfg(unix)]
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.direct.as_ref().unwrap_or(&self.buffered).as_fd()
    }

    /// What the manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The ROM's name: the beginning of its hash.
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

    /// What could not be had, and what there is instead: for people.
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
            // The page cache stands in for direct reads that fail.
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
