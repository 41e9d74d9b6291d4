//! Checksums of the chunks of an image in a file: what is read of it later, a block at a time, is known by them to be what was made.
//!
//! They are against accidents: a bit that flipped on a disk or on the way from it. The manifest holds the hash of the table. Whoever can
//! change an image, its table and its manifest can make any ROM.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use saltern_blake2::{blake2b, blake2bp};
use saltern_yescrypt::RomParams;
use xxhash_rust::xxh3::xxh3_64;

use crate::Error;
use crate::manifest::Manifest;
use crate::staged::{Staged, open_regular, sync_directory};

/// How the file begins; then, as 64-bit numbers in little endian, the bytes of the image and of a chunk, and XXH3-64 of each chunk.
const MAGIC: [u8; 16] = *b"saltern-sums-1\n\0";
const HEADER: usize = 32;
/// Bytes of the table that are read and written at a time.
const PIECE: usize = 64 << 10;

/// The least and the most bytes of a chunk.
pub(crate) const CHUNKS: [u64; 2] = [4 << 10, 64 << 10];

/// What a manifest says of the table of checksums, which is in the file `NAME.sums` beside it: one for each chunk of an image in a
/// file, by which [`RomFile`](crate::RomFile) knows that a chunk is as it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Sums {
    /// Bytes of a chunk: a power of two, 4 KiB to 64 KiB. The last one may be shorter.
    pub chunk: u32,
    /// BLAKE2b-256 of the file.
    pub digest: [u8; 32],
}

/// The checksums themselves: 8 bytes for each chunk, at most 1/512 of the image.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Table {
    chunk: u64,
    size: u64,
    sums: Vec<u64>,
}

/// The table's file for an image `NAME`: `NAME.sums`, beside the manifest.
pub(crate) fn path_for(image: &Path) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(".sums");
    name.into()
}

/// The ROM's own block as a power of two, within bounds.
fn chunk_of(params: &RomParams) -> u64 {
    let block = 128 * u64::from(params.r.max(1));
    (1 << block.ilog2()).clamp(CHUNKS[0], CHUNKS[1])
}

impl Table {
    fn empty(size: u64, chunk: u64) -> Result<Self, Error> {
        let count = size.div_ceil(chunk);
        let mut sums = Vec::new();
        let room =
            usize::try_from(count).ok().filter(|count| sums.try_reserve_exact(*count).is_ok());
        match room {
            Some(_) => Ok(Table { chunk, size, sums }),
            None => Err(Error::NoMemory { needed: count.saturating_mul(8), available: None }),
        }
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Bytes of the file of such a table.
    fn file_len(size: u64, chunk: u64) -> u64 {
        HEADER as u64 + 8 * size.div_ceil(chunk)
    }

    fn header(size: u64, chunk: u64) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(&MAGIC);
        header[16..24].copy_from_slice(&size.to_le_bytes());
        header[24..].copy_from_slice(&chunk.to_le_bytes());
        header
    }

    /// Checks whole chunks that begin at this byte; the first that is not as it was made begins at the byte that is returned.
    pub(crate) fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), u64> {
        let first = usize::try_from(offset / self.chunk).unwrap_or(usize::MAX);
        let sums = self.sums.get(first..).unwrap_or_default();
        let chunks = bytes.chunks(self.chunk as usize);
        if !offset.is_multiple_of(self.chunk) || chunks.len() > sums.len() {
            return Err(offset);
        }
        let bad = chunks.zip(sums).position(|(chunk, sum)| xxh3_64(chunk) != *sum);
        bad.map_or(Ok(()), |index| Err(offset + index as u64 * self.chunk))
    }

    /// Where this one first differs: a byte of the image.
    pub(crate) fn difference(&self, other: &Self) -> Option<u64> {
        let differs = self.sums.iter().zip(&other.sums).position(|(a, b)| a != b)?;
        Some(differs as u64 * self.chunk)
    }

    /// Hands out the file in pieces.
    fn each_piece(&self, mut take: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        take(&Self::header(self.size, self.chunk))?;
        let mut piece = Vec::with_capacity(PIECE);
        for sums in self.sums.chunks(PIECE / 8) {
            piece.clear();
            sums.iter().for_each(|sum| piece.extend_from_slice(&sum.to_le_bytes()));
            take(&piece)?;
        }
        Ok(())
    }

    /// What the manifest says of it.
    pub(crate) fn describe(&self) -> Result<Sums, Error> {
        let mut hasher = hasher()?;
        self.each_piece(|piece| {
            hasher.update(piece);
            Ok(())
        })?;
        let mut digest = [0; 32];
        digest.copy_from_slice(hasher.finalize().as_bytes());
        Ok(Sums { chunk: self.chunk as u32, digest })
    }

    /// Writes it to where it will be renamed from.
    pub(crate) fn stage(&self, image: &Path) -> Result<Staged, Error> {
        let path = path_for(image);
        let mut staged = Staged::begin(&path, 0o644)?;
        self.each_piece(|piece| staged.file.write_all(piece).map_err(Error::io("write", &path)))?;
        staged.sync()?;
        Ok(staged)
    }

    /// Reads the table that a manifest speaks of.
    pub(crate) fn read(image: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let path = path_for(image);
        let bad = |reason: &str| Error::Sums { path: path.clone(), reason: reason.to_owned() };
        let Some(known) = manifest.sums else { return Err(bad("the manifest speaks of none")) };
        let file = open_table(&path)?;
        let (size, chunk) = (manifest.size(), u64::from(known.chunk));
        check_len(&path, &file, size, chunk)?;
        let mut table = Self::empty(size, chunk)?;
        let (mut hasher, mut piece) = (hasher()?, vec![0; PIECE]);
        let mut rest = Self::file_len(size, chunk);
        // The header is as long as four checksums.
        let mut skip = HEADER / 8;
        let mut file = &file;
        while rest > 0 {
            let len = PIECE.min(usize::try_from(rest).unwrap_or(PIECE));
            let piece = &mut piece[..len];
            file.read_exact(piece).map_err(Error::io("read", &path))?;
            hasher.update(piece);
            if skip > 0 && piece[..HEADER] != Self::header(size, chunk) {
                return Err(bad("it begins otherwise"));
            }
            let (numbers, _) = piece.as_chunks::<8>();
            table.sums.extend(numbers[skip..].iter().map(|number| u64::from_le_bytes(*number)));
            (skip, rest) = (0, rest - len as u64);
        }
        if hasher.finalize().as_bytes() != known.digest {
            return Err(bad("its hash is not the one in the manifest"));
        }
        Ok(table)
    }
}

fn hasher() -> Result<blake2b::Hasher, Error> {
    let params = blake2b::Params::new().hash_length(32);
    let refused = |_| Error::Unsupported { what: "BLAKE2b gives no hashes of 32 bytes" };
    Ok(params.map_err(refused)?.to_hasher())
}

fn open_table(path: &Path) -> Result<File, Error> {
    open_regular(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Sums { path: path.to_owned(), reason: "it is missing".to_owned() }
        }
        _ => Error::io("open", path)(error),
    })
}

fn check_len(path: &Path, file: &File, size: u64, chunk: u64) -> Result<(), Error> {
    let expected = Table::file_len(size, chunk);
    let actual = file.metadata().map_err(Error::io("look at", path))?.len();
    if actual == expected {
        return Ok(());
    }
    let reason = format!("it has {actual} bytes and should have {expected}");
    Err(Error::Sums { path: path.to_owned(), reason })
}

/// Whether there is a table of the right length.
pub(crate) fn check_presence(image: &Path, manifest: &Manifest) -> Result<(), Error> {
    let (Some(known), path) = (manifest.sums, path_for(image)) else { return Ok(()) };
    check_len(&path, &open_table(&path)?, manifest.size(), known.chunk.into())
}

/// Whether a file begins as tables do.
fn is_table(path: &Path) -> bool {
    let mut magic = [0; 16];
    open_regular(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == MAGIC
}

/// Refuses to overwrite what has the table's name and is none, another image for instance, unless there is a manifest that speaks for it.
pub(crate) fn check_place(image: &Path) -> Result<(), Error> {
    let path = path_for(image);
    let free = path.symlink_metadata().is_err() || is_table(&path);
    if free || Manifest::read(image).is_ok_and(|manifest| manifest.sums.is_some()) {
        return Ok(());
    }
    Err(Error::Exists { path })
}

/// Removes the table of a creator that was killed before it wrote the manifest; returns whether there was one.
pub(crate) fn remove_stray(image: &Path) -> Result<bool, Error> {
    let path = path_for(image);
    if !is_table(&path) {
        return Ok(false);
    }
    // Whoever puts a table into its place holds this lock until the manifest is in its own.
    let lock = match Staged::begin(&Manifest::path_for(image), 0o644) {
        Err(Error::Busy { .. }) => return Ok(false),
        other => other?,
    };
    if Manifest::path_for(image).symlink_metadata().is_ok() || !is_table(&path) {
        return Ok(false);
    }
    std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    drop(lock);
    sync_directory(&path)?;
    Ok(true)
}

/// The hash and the checksums of an image, in one pass over it.
pub(crate) struct ImageHasher {
    hash: blake2bp::Hasher,
    table: Table,
    /// The beginning of a chunk whose end has not come yet.
    open: Vec<u8>,
}

impl ImageHasher {
    pub(crate) fn new(params: &RomParams) -> Result<Self, Error> {
        let size = u64::try_from(params.size()).unwrap_or(u64::MAX);
        Self::with_chunk(size, chunk_of(params))
    }

    pub(crate) fn with_chunk(size: u64, chunk: u64) -> Result<Self, Error> {
        let table = Table::empty(size, chunk)?;
        Ok(ImageHasher { hash: blake2bp::Params::new().to_hasher(), table, open: Vec::new() })
    }

    /// The next bytes, however many.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.hash.update(bytes);
        let chunk = self.table.chunk as usize;
        if !self.open.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(chunk - self.open.len()));
            self.open.extend_from_slice(more);
            bytes = rest;
            if self.open.len() < chunk {
                return;
            }
            self.table.sums.push(xxh3_64(&self.open));
            self.open.clear();
        }
        let chunks = bytes.chunks_exact(chunk);
        self.open.extend_from_slice(chunks.remainder());
        self.table.sums.extend(chunks.map(xxh3_64));
    }

    pub(crate) fn finish(mut self) -> ([u8; 64], Table) {
        if !self.open.is_empty() {
            self.table.sums.push(xxh3_64(&self.open));
        }
        (crate::create::finish(self.hash), self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(image: &[u8], chunk: u64, piece: usize) -> ([u8; 64], Table) {
        let mut hasher = ImageHasher::with_chunk(image.len() as u64, chunk).unwrap();
        image.chunks(piece).for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    #[test]
    fn chunks_are_the_blocks_as_powers_of_two() {
        let cases = [(1, 4096), (8, 4096), (12, 4096), (32, 4096), (63, 4096), (64, 8192)];
        let larger = [(96, 8192), (500, 32768), (512, 65536), (513, 65536), (100_000, 65536)];
        for (r, chunk) in cases.into_iter().chain(larger) {
            assert_eq!(chunk_of(&RomParams::new(64, r, 1)), chunk, "{r}");
        }
    }

    #[test]
    fn pieces_make_no_difference_and_every_byte_does() {
        let image: Vec<u8> = (0..20_000u32).map(|i| ((i * i) >> 7) as u8).collect();
        let (hash, whole) = table(&image, 4096, image.len());
        assert_eq!(whole.sums.len(), 5);
        for piece in [1, 7, 4095, 4096, 4097, 12_288] {
            let (other_hash, other) = table(&image, 4096, piece);
            assert!(other == whole && other_hash == hash, "{piece}");
        }
        for (index, chunk) in image.chunks(4096).enumerate() {
            assert_eq!(whole.sums[index], xxh3_64(chunk));
        }
        let mut changed = image.clone();
        for at in [0, 4095, 4096, 16_383, 16_384, 19_999] {
            changed[at] ^= 1;
            let start = (at / 4096 * 4096) as u64;
            assert_eq!(whole.check(0, &changed), Err(start), "{at}");
            assert_eq!(whole.difference(&table(&changed, 4096, 5000).1), Some(start));
            changed[at] ^= 1;
        }
        assert_eq!((whole.check(0, &image), whole.check(8192, &image[8192..])), (Ok(()), Ok(())));
        assert_eq!(whole.check(4096, &[]), Ok(()));
        // Half a chunk, at a wrong place, and beyond the end.
        assert_eq!(whole.check(0, &image[..2048]), Err(0));
        assert_eq!(whole.check(1, &image[1..4097]), Err(1));
        assert_eq!(whole.check(16_384, &[&image[16_384..], &[0; 4096]].concat()), Err(16_384));
        assert_eq!(whole.check(20_480, &[0; 4096]), Err(20_480));
        assert_eq!(whole.difference(&whole), None);
    }

    /// No ROM has no bytes; its table would have none either.
    #[test]
    fn of_nothing_there_is_an_empty_table() {
        let (_, empty) = table(&[], 4096, 1);
        assert!(empty.sums.is_empty() && Table::file_len(0, 4096) == 32);
        assert_eq!((empty.check(0, &[]), empty.check(0, &[1])), (Ok(()), Err(0)));
    }

    /// From the specification of XXH3, as its reference implementation prints them (seed 0).
    #[test]
    fn the_checksum_is_xxh3() {
        assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
    }

    #[test]
    fn the_file_is_laid_out_as_said() {
        let image = vec![7; 5000];
        let (_, table) = table(&image, 4096, 5000);
        let mut file = Vec::new();
        table
            .each_piece(|piece| {
                file.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        let mut expected = b"saltern-sums-1\n\0".to_vec();
        for number in [5000, 4096, xxh3_64(&image[..4096]), xxh3_64(&image[4096..])] {
            expected.extend(number.to_le_bytes());
        }
        assert_eq!(file, expected);
        let hash = blake2b::Params::new().hash_length(32).unwrap().hash(&file);
        assert_eq!(hash.as_bytes(), table.describe().unwrap().digest);
    }
}
