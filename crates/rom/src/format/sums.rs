//! The table of the hashes of an image's chunks, against which everything read from the image later
//! is checked.
//!
//! The id of a ROM covers the table ([`identity`](crate::format::identity)), so a wrong one is
//! refused before anything is checked against it: the hashes of groups are checked when it is
//! opened, those of chunks when the first chunk of their group is needed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use saltern_wipe::Zeroizing;
use saltern_yescrypt::params::block_bytes;
use saltern_yescrypt::rom::RomParams;

use crate::Error;
use crate::format::identity::{Digest, GROUP, Levels, RomHash, Root};
use crate::format::manifest::{CHUNKS, Manifest};

/// The beginning of the file. Then follow, as 64-bit little-endian numbers, the sizes of the image
/// and of a chunk, then the hashes of all groups and of all chunks, 16 bytes each.
pub(crate) const MAGIC: [u8; 16] = *b"saltern-sums-2\n\0";
const HEADER: usize = 32;
/// How many bytes of a file are read at once.
const PIECE: usize = 4 << 10;

/// The hashes: 16 bytes for each chunk and each group, at most 1/63 of the image. Hashes from a
/// table in a file are read when they are needed.
pub(crate) struct Sums {
    chunk: u64,
    size: u64,
    levels: Levels,
    groups: Vec<Digest>,
    /// The hashes of the chunks of each group, once they have been checked.
    chunks: Vec<OnceLock<Box<[Digest]>>>,
    file: Option<Box<dyn Bytes>>,
    /// Its name in errors.
    pub(crate) path: PathBuf,
}

/// The ROM's own block as a power of two, within bounds.
pub(crate) fn chunk_of(params: &RomParams) -> u32 {
    let block = block_bytes(params.r.max(1));
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

impl Sums {
    fn empty(size: u64, chunk: u32) -> Result<Self, Error> {
        let chunk = u64::from(chunk);
        let (_, groups) = Self::counts(size, chunk);
        let (groups, chunks) = (room(groups)?, room(groups)?);
        Ok(Sums {
            chunk,
            size,
            levels: Levels::new(),
            groups,
            chunks,
            file: None,
            path: PathBuf::new(),
        })
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
    pub(crate) fn root(&self, params: &RomParams) -> RomHash {
        let mut root = Root::new(params, self.chunk as u32);
        root.update(self.groups.as_flattened());
        root.finish()
    }

    /// Checks whole chunks that begin at this byte of the image, which errors call by this name.
    pub(crate) fn check(
        &self,
        offset: u64,
        bytes: &[u8],
        name: impl Fn() -> PathBuf,
    ) -> Result<(), Error> {
        let chunk = self.chunk as usize;
        if !offset.is_multiple_of(self.chunk) {
            return Err(Error::Damaged { path: name(), offset: Some(offset) });
        }
        let (first, chunks) = (offset / self.chunk, bytes.chunks(chunk));
        let numbers = first..first.saturating_add(chunks.len() as u64);
        self.check_each(&Zeroizing::new(numbers.collect::<Vec<_>>()), chunks, name)
    }

    /// Checks chunks with any numbers. The numbers reveal something about passwords, and all copies
    /// made here are wiped. The error names the first damaged chunk.
    pub(crate) fn check_each<'b>(
        &self,
        numbers: &[u64],
        chunks: impl Iterator<Item = &'b [u8]>,
        name: impl Fn() -> PathBuf,
    ) -> Result<(), Error> {
        self.load(numbers)?;
        let found = Zeroizing::new(self.levels.chunks(chunks));
        for (number, found) in numbers.iter().zip(found.iter()) {
            if self.known(*number) != Some(*found) {
                let offset = Some(number.saturating_mul(self.chunk));
                return Err(Error::Damaged { path: name(), offset });
            }
        }
        Ok(())
    }

    /// The hash that a chunk should have, if its group is loaded.
    fn known(&self, number: u64) -> Option<Digest> {
        let index = usize::try_from(number).ok()?;
        self.chunks.get(index / GROUP)?.get()?.get(index % GROUP).copied()
    }

    /// Loads the hashes of these chunks from the file, with those of their groups, if necessary;
    /// the chunks may not exist.
    fn load(&self, numbers: &[u64]) -> Result<(), Error> {
        let missing = |group: &usize| self.chunks.get(*group).is_some_and(|it| it.get().is_none());
        let groups = numbers.iter().filter_map(|chunk| usize::try_from(chunk / GROUP as u64).ok());
        // Allocated at full size, so that growing does not leave unwiped copies behind.
        let mut groups = {
            let mut list = Zeroizing::new(Vec::with_capacity(numbers.len()));
            list.extend(groups.filter(missing));
            list
        };
        groups.sort_unstable();
        groups.dedup();
        let bad = |reason: String| Error::Sums { path: self.path.clone(), reason };
        let (chunks, count) = Self::counts(self.size, self.chunk);
        let mut lists = Vec::with_capacity(groups.len());
        for group in groups.iter() {
            let file = self.file.as_ref().ok_or_else(|| bad("it is incomplete".to_owned()))?;
            let first = (group * GROUP) as u64;
            let own = chunks.saturating_sub(first).min(GROUP as u64);
            let mut list = vec![[0; 16]; own as usize].into_boxed_slice();
            let at = HEADER as u64 + 16 * (count + first);
            let read = file.read_at(list.as_flattened_mut(), at);
            read.map_err(|error| bad(format!("it cannot be read ({error})")))?;
            lists.push(list);
        }
        let found = self.levels.groups(&lists);
        for ((&group, list), found) in groups.iter().zip(lists).zip(found) {
            if found != self.groups[group] {
                return Err(bad(format!("its group {group} is damaged")));
            }
            // Another thread may have been quicker, with the same list.
            let _ = self.chunks[group].set(list);
        }
        Ok(())
    }

    /// The offset in the image at which this table first differs from another one of the same
    /// image.
    pub(crate) fn difference(&self, other: &Self) -> Result<Option<u64>, Error> {
        for number in 0..self.size.div_ceil(self.chunk) {
            for sums in [self, other] {
                sums.load(&[number])?;
            }
            if self.known(number) != other.known(number) {
                return Ok(Some(number * self.chunk));
            }
        }
        Ok(None)
    }

    /// Adds the hash of the next chunk.
    fn push(&mut self, open: &mut Vec<Digest>, digest: Digest) {
        open.push(digest);
        if open.len() == GROUP {
            self.close(open);
        }
    }

    fn close(&mut self, open: &mut Vec<Digest>) {
        let group = std::mem::take(open).into_boxed_slice();
        self.groups.extend(self.levels.groups(std::slice::from_ref(&group)));
        self.chunks.push(OnceLock::from(group));
    }

    /// Writes the table.
    pub(crate) fn write(&self, mut into: impl Write) -> io::Result<()> {
        into.write_all(&Self::header(self.size, self.chunk))?;
        into.write_all(self.groups.as_flattened())?;
        let mut chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.try_for_each(|chunks| into.write_all(chunks.as_flattened()))
    }

    /// Parses the table of a ROM from `len` readable bytes; refuses one that does not match the
    /// manifest's hash. The hashes of chunks are read later, when they are needed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(
        bytes: Box<dyn Bytes>,
        len: u64,
        manifest: &Manifest,
    ) -> Result<Self, String> {
        let (size, chunk) = (manifest.size(), u64::from(manifest.chunk));
        let expected = Self::file_len(size, chunk);
        if len != expected {
            return Err(format!("it has {len} bytes and should have {expected}"));
        }
        let read = |into: &mut [u8], at| {
            bytes.read_at(into, at).map_err(|error| format!("it cannot be read ({error})"))
        };
        let mut header = [0; HEADER];
        read(&mut header, 0)?;
        if header != Self::header(size, chunk) {
            return Err("it does not begin like one".to_owned());
        }
        let other = || "it is that of another ROM, or damaged".to_owned();
        let (_, groups) = Self::counts(size, chunk);
        // Checked before anything is kept: the file's author has chosen its length.
        let mut root = Root::new(&manifest.params, manifest.chunk);
        let mut piece = [0; PIECE];
        for at in (0..16 * groups).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(usize::try_from(16 * groups - at).unwrap_or(PIECE))];
            read(piece, HEADER as u64 + at)?;
            root.update(piece);
        }
        if root.finish() != manifest.hash {
            return Err(other());
        }
        let mut sums = Self::empty(size, manifest.chunk).map_err(|error| error.to_string())?;
        // The capacity suffices.
        sums.groups.resize(groups as usize, [0; 16]);
        sums.chunks.resize_with(groups as usize, OnceLock::new);
        read(sums.groups.as_flattened_mut(), HEADER as u64)?;
        if sums.root(&manifest.params) != manifest.hash {
            return Err(other());
        }
        sums.file = Some(bytes);
        Ok(sums)
    }
}

/// Where a table is read from.
pub(crate) trait Bytes: Send + Sync {
    /// Fills the buffer from this offset.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

impl Bytes for Vec<u8> {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..));
        let found = rest.and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Makes the table of an image in one pass over it.
pub(crate) struct ImageHasher {
    sums: Sums,
    /// Hashes of chunks whose group is not complete.
    group: Vec<Digest>,
    /// The beginning of a chunk whose end has not arrived yet.
    open: Vec<u8>,
}

impl ImageHasher {
    pub(crate) fn new(params: &RomParams) -> Result<Self, Error> {
        let size = params.size();
        Self::with_chunk(size, chunk_of(params))
    }

    pub(crate) fn with_chunk(size: u64, chunk: u32) -> Result<Self, Error> {
        Ok(ImageHasher { sums: Sums::empty(size, chunk)?, group: Vec::new(), open: Vec::new() })
    }

    /// Adds any number of bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let chunk = self.sums.chunk as usize;
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
        let found = self.sums.levels.chunks(bytes.chunks(self.sums.chunk as usize));
        found.into_iter().for_each(|digest| self.sums.push(&mut self.group, digest));
    }

    pub(crate) fn finish(mut self) -> Sums {
        let last = std::mem::take(&mut self.open);
        self.take(&last);
        if !self.group.is_empty() {
            self.sums.close(&mut self.group);
        }
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(image: &[u8], chunk: u32, piece: usize) -> Sums {
        let mut hasher = ImageHasher::with_chunk(image.len() as u64, chunk).unwrap();
        image.chunks(piece).for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    /// Where the first damage is, if there is any.
    fn damage(sums: &Sums, offset: u64, bytes: &[u8]) -> Option<u64> {
        match sums.check(offset, bytes, PathBuf::new).err()? {
            Error::Damaged { offset, .. } => offset,
            error => panic!("{error}"),
        }
    }

    fn all(sums: &Sums) -> (Vec<Digest>, Vec<Digest>) {
        let chunks = sums.chunks.iter().flat_map(|chunks| chunks.get().unwrap().to_vec());
        (sums.groups.clone(), chunks.collect())
    }

    #[test]
    fn chunks_are_the_blocks_as_powers_of_two() {
        let cases =
            [(1, 1024), (8, 1024), (12, 1024), (16, 2048), (32, 4096), (63, 4096), (64, 8192)];
        let larger = [(96, 8192), (500, 32768), (512, 65536), (513, 65536), (100_000, 65536)];
        for (r, chunk) in cases.into_iter().chain(larger) {
            assert_eq!(chunk_of(&RomParams::new(64, r, 1)), chunk, "{r}");
        }
    }

    #[test]
    fn pieces_make_no_difference_and_every_byte_does() {
        let image: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let whole = sums(&image, 4096, image.len());
        assert_eq!((whole.groups.len(), all(&whole).1.len()), (4, 245));
        for piece in [1, 7, 4095, 4096, 4097, 12_288, 300_000] {
            assert!(all(&sums(&image, 4096, piece)) == all(&whole), "{piece}");
        }
        let (params, mut changed) = (RomParams::new(64, 8, 1), image.clone());
        for at in [0, 4095, 4096, 262_143, 262_144, 999_999] {
            changed[at] ^= 1;
            let start = (at / 4096 * 4096) as u64;
            assert_eq!(damage(&whole, 0, &changed), Some(start), "{at}");
            let other = sums(&changed, 4096, 5000);
            assert_eq!(whole.difference(&other).unwrap(), Some(start));
            assert_ne!(whole.root(&params), other.root(&params));
            changed[at] ^= 1;
        }
        assert_eq!(damage(&whole, 0, &image), None);
        assert_eq!(damage(&whole, 8192, &image[8192..]), None);
        assert_eq!(damage(&whole, 4096, &[]), None);
        // Half a chunk, at a wrong place, and beyond the end.
        assert_eq!(damage(&whole, 0, &image[..2048]), Some(0));
        assert_eq!(damage(&whole, 1, &image[1..4097]), Some(1));
        assert_eq!(damage(&whole, 245 * 4096, &[0; 4096]), Some(245 * 4096));
        assert_eq!(whole.difference(&whole).unwrap(), None);
    }

    /// Every parameter affects the hash, and so does the chunk size.
    #[test]
    fn parameters_make_other_hashes() {
        let params = RomParams::new(64, 8, 1);
        let image = vec![7; 65536];
        let of = |params: &RomParams, chunk| sums(&image, chunk, 65536).root(params);
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

    /// A table that is not this ROM's takes no memory, whatever its stated length.
    #[test]
    fn a_wrong_table_is_refused_before_anything_is_kept() {
        struct Planted;
        impl Bytes for Planted {
            fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
                into.fill(0);
                if at == 0 {
                    into.copy_from_slice(&Sums::header(1 << 53, 1024));
                }
                if at < 1 << 20 { Ok(()) } else { Err(io::Error::other("enough")) }
            }
        }
        let manifest = Manifest {
            params: RomParams::new(1 << 46, 1, 1),
            hash: [7; 32].into(),
            digest: [0; 32],
            chunk: 1024,
            seed: crate::SeedSource::Unknown,
            created: std::time::SystemTime::UNIX_EPOCH,
            location: crate::Location::Beside,
        };
        let len = Sums::file_len(1 << 53, 1024);
        let Err(refused) = Sums::parse(Box::new(Planted), len, &manifest) else {
            panic!("2 TiB of hashes were taken on")
        };
        assert!(refused.contains("enough"), "{refused}");
    }

    /// No ROM is empty; the table of an empty one would be empty, too.
    #[test]
    fn of_nothing_there_is_an_empty_table() {
        let empty = sums(&[], 4096, 1);
        assert!(empty.groups.is_empty() && Sums::file_len(0, 4096) == 32);
        assert_eq!([damage(&empty, 0, &[]), damage(&empty, 0, &[1])], [None, Some(0)]);
    }
}
