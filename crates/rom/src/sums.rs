//! The table of the hashes of an image's chunks: what is read of the image later is known by them
//! to be what was made.
//!
//! The id of a ROM covers the table ([`identity`](crate::identity)), so that a wrong one is refused
//! before anything is judged by it: the hashes of groups when it is opened, those of chunks when
//! the first chunk of their group is looked at.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use saltern_yescrypt::rom::RomParams;

use crate::Error;
use crate::identity::{Digest, GROUP, Levels, RomHash, root};
use crate::manifest::Manifest;
use crate::opened::{is_regular_file, open_file};
use crate::staged::{Staged, sync_directory};

/// How the file begins; then, as 64-bit numbers in little endian, the bytes of the image and of a
/// chunk; then the hashes of all groups and of all chunks, 16 bytes each.
const MAGIC: [u8; 16] = *b"saltern-sums-2\n\0";
const HEADER: usize = 32;

/// The least and the most bytes of a chunk.
pub(crate) const CHUNKS: [u64; 2] = [4 << 10, 64 << 10];

/// The hashes: 16 bytes for each chunk and each group, 1/250 of the image at most. Those of a table
/// in a file are read when they are needed.
pub(crate) struct Table {
    chunk: u64,
    size: u64,
    levels: Levels,
    groups: Vec<Digest>,
    /// The hashes of the chunks of each group, once known to be right.
    chunks: Vec<OnceLock<Box<[Digest]>>>,
    file: Option<(File, PathBuf)>,
}

/// The table's file for an image `NAME`: `NAME.sums`, beside the manifest.
pub(crate) fn path_for(image: &Path) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(".sums");
    name.into()
}

/// The ROM's own block as a power of two, within bounds.
pub(crate) fn chunk_of(params: &RomParams) -> u32 {
    let block = 128 * u64::from(params.r.max(1));
    (1 << block.ilog2()).clamp(CHUNKS[0], CHUNKS[1]) as u32
}

/// Room for `count` of something.
fn room<T>(count: u64) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let count_here = usize::try_from(count).ok();
    match count_here.filter(|count| list.try_reserve_exact(*count).is_ok()) {
        Some(_) => Ok(list),
        None => Err(Error::NoMemory { needed: count.saturating_mul(16), available: None }),
    }
}

impl Table {
    fn empty(size: u64, chunk: u32) -> Result<Self, Error> {
        let chunk = u64::from(chunk);
        let groups = size.div_ceil(chunk).div_ceil(GROUP as u64);
        let (groups, chunks) = (room(groups)?, room(groups)?);
        Ok(Table { chunk, size, levels: Levels::new()?, groups, chunks, file: None })
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk(&self) -> u64 {
        self.chunk
    }

    /// How many chunks and how many groups there are.
    fn counts(size: u64, chunk: u64) -> (u64, u64) {
        let chunks = size.div_ceil(chunk);
        (chunks, chunks.div_ceil(GROUP as u64))
    }

    /// Bytes of the file of such a table.
    fn file_len(size: u64, chunk: u64) -> u64 {
        let (chunks, groups) = Self::counts(size, chunk);
        HEADER as u64 + 16 * (chunks + groups)
    }

    fn header(size: u64, chunk: u64) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(&MAGIC);
        header[16..24].copy_from_slice(&size.to_le_bytes());
        header[24..].copy_from_slice(&chunk.to_le_bytes());
        header
    }

    /// The hash of the ROM with these parameters that has this table.
    pub(crate) fn root(&self, params: &RomParams) -> Result<RomHash, Error> {
        root(params, self.chunk as u32, &self.groups)
    }

    /// Checks whole chunks that begin at this byte.
    pub(crate) fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Damage> {
        let chunk = self.chunk as usize;
        if !offset.is_multiple_of(self.chunk) {
            return Err(Damage::At(offset));
        }
        let first = offset / self.chunk;
        let chunks = (first..).zip(bytes.chunks(chunk));
        self.check_each(chunks)
    }

    /// Checks any chunks, each with its number. The first that is damaged is named.
    pub(crate) fn check_each<'b>(
        &self,
        chunks: impl Iterator<Item = (u64, &'b [u8])> + Clone,
    ) -> Result<(), Damage> {
        let mut numbers = chunks.clone().map(|(number, _)| number);
        let mut outcome = Ok(());
        self.levels.chunks(chunks.map(|(_, bytes)| bytes), |found| {
            let Some(number) = numbers.next().filter(|_| outcome.is_ok()) else { return };
            outcome = match self.known(number) {
                Ok(known) if known == found => Ok(()),
                Ok(_) => Err(Damage::At(number * self.chunk)),
                Err(error) => Err(error),
            };
        });
        outcome
    }

    /// The hash that a chunk should have.
    fn known(&self, number: u64) -> Result<Digest, Damage> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let outside = Damage::At(number.saturating_mul(self.chunk));
        let (group, within) = (index / GROUP, index % GROUP);
        let place = self.chunks.get(group).ok_or(outside.clone())?;
        if let Some(chunks) = place.get() {
            return chunks.get(within).copied().ok_or(outside);
        }
        let chunks = self.load(group)?;
        let found = chunks.get(within).copied().ok_or(outside);
        // Another thread may have been quicker, with the same.
        let _ = place.set(chunks);
        found
    }

    /// The hashes of the chunks of a group, out of the file.
    fn load(&self, group: usize) -> Result<Box<[Digest]>, Damage> {
        let bad = |reason: String| Damage::Table(reason);
        let (file, _) = self.file.as_ref().ok_or_else(|| bad("it is incomplete".to_owned()))?;
        let (chunks, groups) = Self::counts(self.size, self.chunk);
        let first = (group * GROUP) as u64;
        let count = chunks.saturating_sub(first).min(GROUP as u64);
        let mut list = vec![[0; 16]; count as usize].into_boxed_slice();
        let at = HEADER as u64 + 16 * (groups + first);
        let read = file.read_exact_at(list.as_flattened_mut(), at);
        read.map_err(|error| bad(format!("it cannot be read ({error})")))?;
        if self.levels.group(&list) != self.groups[group] {
            return Err(bad(format!("its group {group} is damaged")));
        }
        Ok(list)
    }

    /// Makes an error out of what [`Table::check`] has found in this image.
    pub(crate) fn error(&self, damage: Damage, image: &Path) -> Error {
        match (damage, &self.file) {
            (Damage::At(offset), _) => {
                Error::Damaged { path: image.to_owned(), offset: Some(offset) }
            }
            (Damage::Table(reason), Some((_, path))) => Error::Sums { path: path.clone(), reason },
            (Damage::Table(reason), None) => Error::Sums { path: path_for(image), reason },
        }
    }

    /// Where this one first differs from one of the same image: a byte of it.
    pub(crate) fn difference(&self, other: &Self) -> Result<Option<u64>, Error> {
        let known = |table: &Self, number| {
            table.known(number).map_err(|damage| self.error(damage, Path::new("the image")))
        };
        for number in 0..self.size.div_ceil(self.chunk) {
            if known(self, number)? != known(other, number)? {
                return Ok(Some(number * self.chunk));
            }
        }
        Ok(None)
    }

    /// Takes on the hash of the next chunk.
    fn push(&mut self, open: &mut Vec<Digest>, digest: Digest) {
        open.push(digest);
        if open.len() == GROUP {
            self.close(open);
        }
    }

    fn close(&mut self, open: &mut Vec<Digest>) {
        self.groups.push(self.levels.group(open));
        self.chunks.push(OnceLock::from(std::mem::take(open).into_boxed_slice()));
    }

    /// Writes it to where it will be renamed from.
    pub(crate) fn stage(&self, image: &Path) -> Result<Staged, Error> {
        let path = path_for(image);
        let staged = Staged::begin(&path, 0o644)?;
        let mut file = std::io::BufWriter::new(&staged.file);
        let mut write = |bytes: &[u8]| file.write_all(bytes).map_err(Error::io("write", &path));
        write(&Self::header(self.size, self.chunk))?;
        write(self.groups.as_flattened())?;
        for chunks in self.chunks.iter().filter_map(OnceLock::get) {
            write(chunks.as_flattened())?;
        }
        file.flush().map_err(Error::io("write", &path))?;
        drop(file);
        staged.sync()?;
        Ok(staged)
    }

    /// Opens the table of a ROM; one that is not what the manifest's hash was made of is refused.
    pub(crate) fn open(image: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let path = path_for(image);
        let bad = |reason: &str| Error::Sums { path: path.clone(), reason: reason.to_owned() };
        let mut file = open_table(&path)?;
        let (size, chunk) = (manifest.size(), u64::from(manifest.chunk));
        check_len(&path, &file, size, chunk)?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(Error::io("read", &path))?;
        if header != Self::header(size, chunk) {
            return Err(bad("it begins otherwise"));
        }
        let mut table = Self::empty(size, manifest.chunk)?;
        let (_, groups) = Self::counts(size, chunk);
        // There is room for as many.
        table.groups.resize(groups as usize, [0; 16]);
        table.chunks.resize_with(groups as usize, OnceLock::new);
        let read = file.read_exact(table.groups.as_flattened_mut());
        read.map_err(Error::io("read", &path))?;
        if table.root(&manifest.params)? != manifest.hash {
            return Err(bad("it is that of another ROM, or damaged"));
        }
        table.file = Some((file, path));
        Ok(table)
    }
}

/// What a check has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Damage {
    /// The chunk that begins at this byte is not what was made.
    At(u64),
    /// There is no telling: it is the table that is damaged.
    Table(String),
}

fn open_table(path: &Path) -> Result<File, Error> {
    open_file(path).map(|(file, _)| file).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Error::Sums { path: path.to_owned(), reason: "it is missing".to_owned() }
        }
        other => other,
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

/// Whether a file begins as tables do, those of earlier versions included.
fn is_table(path: &Path) -> bool {
    let mut magic = [0; 16];
    let read = open_file(path).is_ok_and(|(mut file, _)| file.read_exact(&mut magic).is_ok());
    read && (magic == MAGIC || magic == *b"saltern-sums-1\n\0")
}

/// Refuses to overwrite what has the table's name and is none, another image for instance, unless
/// there is a manifest that speaks for it.
pub(crate) fn check_place(image: &Path) -> Result<(), Error> {
    let path = path_for(image);
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    is_regular_file(&path, &found)?;
    if is_table(&path) || Manifest::read(image).is_ok() {
        return Ok(());
    }
    Err(Error::Exists { path })
}

/// Removes the table of a creator that was killed before it wrote the manifest; returns whether
/// there was one.
pub(crate) fn remove_stray(image: &Path) -> Result<bool, Error> {
    let path = path_for(image);
    let own = rustix::process::geteuid().as_raw();
    let found = path.symlink_metadata().is_ok_and(|found| found.uid() == own);
    if !found || !is_table(&path) {
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

/// Makes the table of an image in one pass over it.
pub(crate) struct ImageHasher {
    table: Table,
    /// Hashes of chunks whose group is not complete.
    group: Vec<Digest>,
    /// The beginning of a chunk whose end has not come yet.
    open: Vec<u8>,
}

impl ImageHasher {
    pub(crate) fn new(params: &RomParams) -> Result<Self, Error> {
        let size = u64::try_from(params.size()).unwrap_or(u64::MAX);
        Self::with_chunk(size, chunk_of(params))
    }

    pub(crate) fn with_chunk(size: u64, chunk: u32) -> Result<Self, Error> {
        Ok(ImageHasher { table: Table::empty(size, chunk)?, group: Vec::new(), open: Vec::new() })
    }

    /// The next bytes, however many.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let chunk = self.table.chunk as usize;
        if !self.open.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(chunk - self.open.len()));
            self.open.extend_from_slice(more);
            bytes = rest;
            if self.open.len() < chunk {
                return;
            }
            let whole = std::mem::take(&mut self.open);
            self.take(&whole);
        }
        let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % chunk);
        self.take(whole);
        self.open.extend_from_slice(rest);
    }

    /// Hashes whole chunks, or the last one.
    fn take(&mut self, bytes: &[u8]) {
        let mut found = Vec::new();
        let chunks = bytes.chunks(self.table.chunk as usize);
        self.table.levels.chunks(chunks, |digest| found.push(digest));
        found.into_iter().for_each(|digest| self.table.push(&mut self.group, digest));
    }

    pub(crate) fn finish(mut self) -> Table {
        let last = std::mem::take(&mut self.open);
        self.take(&last);
        if !self.group.is_empty() {
            self.table.close(&mut self.group);
        }
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(image: &[u8], chunk: u32, piece: usize) -> Table {
        let mut hasher = ImageHasher::with_chunk(image.len() as u64, chunk).unwrap();
        image.chunks(piece).for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    fn all(table: &Table) -> (Vec<Digest>, Vec<Digest>) {
        let chunks = table.chunks.iter().flat_map(|chunks| chunks.get().unwrap().to_vec());
        (table.groups.clone(), chunks.collect())
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
        let image: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let whole = table(&image, 4096, image.len());
        assert_eq!((whole.groups.len(), all(&whole).1.len()), (4, 245));
        for piece in [1, 7, 4095, 4096, 4097, 12_288, 300_000] {
            assert!(all(&table(&image, 4096, piece)) == all(&whole), "{piece}");
        }
        let (params, mut changed) = (RomParams::new(64, 8, 1), image.clone());
        for at in [0, 4095, 4096, 262_143, 262_144, 999_999] {
            changed[at] ^= 1;
            let start = (at / 4096 * 4096) as u64;
            assert_eq!(whole.check(0, &changed), Err(Damage::At(start)), "{at}");
            let other = table(&changed, 4096, 5000);
            assert_eq!(whole.difference(&other).unwrap(), Some(start));
            assert_ne!(whole.root(&params).unwrap(), other.root(&params).unwrap());
            changed[at] ^= 1;
        }
        assert_eq!(whole.check(0, &image), Ok(()));
        assert_eq!(whole.check(8192, &image[8192..]), Ok(()));
        assert_eq!(whole.check(4096, &[]), Ok(()));
        // Half a chunk, at a wrong place, and beyond the end.
        assert_eq!(whole.check(0, &image[..2048]), Err(Damage::At(0)));
        assert_eq!(whole.check(1, &image[1..4097]), Err(Damage::At(1)));
        assert_eq!(whole.check(245 * 4096, &[0; 4096]), Err(Damage::At(245 * 4096)));
        assert_eq!(whole.difference(&whole).unwrap(), None);
    }

    /// Every parameter is part of the hash, and so is the size of chunks.
    #[test]
    fn parameters_make_other_hashes() {
        let params = RomParams::new(64, 8, 1);
        let image = vec![7; 65536];
        let of = |params: &RomParams, chunk| table(&image, chunk, 65536).root(params).unwrap();
        let mut all = vec![of(&params, 4096), of(&params, 8192)];
        for change in 0..5 {
            let mut other = params;
            match change {
                0 => (other.nrom, other.r) = (128, 4),
                1 => other.p = 2,
                2 => other.t = 1,
                3 => other.flavor = saltern_yescrypt::params::Flavor::new(6, 2, 2, 12288).unwrap(),
                _ => other.nrom = 128,
            }
            all.push(of(&other, 4096));
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7);
    }

    /// No ROM has no bytes; its table would have none either.
    #[test]
    fn of_nothing_there_is_an_empty_table() {
        let empty = table(&[], 4096, 1);
        assert!(empty.groups.is_empty() && Table::file_len(0, 4096) == 32);
        assert_eq!((empty.check(0, &[]), empty.check(0, &[1])), (Ok(()), Err(Damage::At(0))));
    }
}
