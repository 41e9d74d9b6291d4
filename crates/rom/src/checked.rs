//! Hashes of which every block of a ROM is checked: what tells a wrong password from a damaged ROM.

use std::sync::Arc;

use saltern_yescrypt::{
    HashString, Hasher, Setting, Workspace,
    hazmat::{Plan, Progress, Resumable, RomRead},
    rom::{Rom, RomStore, RomUse},
};
use zeroize::{Zeroize, Zeroizing};

use crate::{BlockBuffer, Error, OpenRom};

/// As much of a ROM is copied before it is checked, many chunks at once.
const AHEAD: usize = 128 << 10;
/// The most blocks of one read.
const LANES: usize = 4;

/// The ROMs of a [`Hasher`], to compute hashes with whose every block is copied out of the ROM, and
/// checked, and used as it was when it was checked.
///
/// A hash with a damaged ROM is another hash. So a hash that does not match is computed once more
/// in this way before a password is said to be wrong, and a new hash before it is stored: each
/// costs about as much again as the hash itself, whatever the size of the ROM. A hash that matches
/// needs none of this.
///
/// ```
/// use std::sync::Arc;
/// use saltern_rom::{CheckedRoms, Create, Seed};
/// use saltern_yescrypt::{HashString, Hasher, Params, Workspace, rom::{Rom, RomParams, RomSet}};
/// let seed = Seed::from_bytes(b"not a seed for real use")?;
/// let attached = Arc::new(Create::new(RomParams::new(512, 8, 4), &seed).private()?);
/// let rom = Rom::new(attached.clone())?;
/// let roms = CheckedRoms::new(vec![(rom.clone(), attached.clone().into())]);
/// let mut set = RomSet::new();
/// set.attach(attached.id(), rom)?;
/// set.activate(attached.id())?;
/// let mut params = Params::yescrypt(64, 8);
/// params.nrom = 512;
/// let hasher = Hasher::new().with_params(params).with_roms(set);
///
/// let mut workspace = Workspace::new();
/// let stored = roms.hash(&hasher, &mut workspace, b"correct horse", &hasher.setting(b"a salt")?)?;
/// assert!(hasher.verify(&mut workspace, b"correct horse", &stored)?);
/// // What does not match is not said to be wrong before it is checked.
/// assert!(!hasher.verify(&mut workspace, b"battery staple", &stored)?);
/// let stored = HashString::parse(&stored)?;
/// assert!(!roms.verify(&hasher, &mut workspace, b"battery staple", &stored)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CheckedRoms(Vec<(Rom, OpenRom)>);

impl CheckedRoms {
    /// These ROMs, each as sets hold it and as it is read to be checked.
    #[must_use]
    pub fn new(roms: Vec<(Rom, OpenRom)>) -> Self {
        CheckedRoms(roms)
    }

    /// Whether hashes under this setting read a ROM that is in memory. What is read of a file is
    /// always checked.
    ///
    /// # Errors
    /// [`Error::Yescrypt`]: those of [`Hasher::plan`].
    pub fn concern(&self, hasher: &Hasher, setting: &Setting) -> Result<bool, Error> {
        let in_memory = |(_, source): &&(Rom, OpenRom)| matches!(source, OpenRom::Memory(_));
        let used = hasher.plan(b"", setting)?.roms;
        Ok(self.0.iter().filter(in_memory).any(|(rom, _)| used.iter().any(|used| used.rom == *rom)))
    }

    /// The string of a password under a setting, as [`Hasher::hash_with_setting`] makes it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a block of a ROM is not what was made; [`Error::Yescrypt`]: those
    /// of [`Hasher::hash_with_setting`].
    pub fn hash(
        &self,
        hasher: &Hasher,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &Setting,
    ) -> Result<HashString, Error> {
        let hash = self.derive(&hasher.plan(password, setting)?, workspace, password)?;
        Ok(hasher.complete(setting, &hash)?)
    }

    /// Whether a password matches a stored string, as [`Hasher::verify`] tells.
    ///
    /// # Errors
    /// Those of [`CheckedRoms::hash`].
    pub fn verify(
        &self,
        hasher: &Hasher,
        workspace: &mut Workspace,
        password: &[u8],
        stored: &HashString,
    ) -> Result<bool, Error> {
        let plan = hasher.plan(password, stored.setting())?;
        let hash = self.derive(&plan, workspace, password)?;
        Ok(hasher.matches(stored, &hash)?)
    }

    fn derive(
        &self,
        plan: &Plan,
        workspace: &mut Workspace,
        password: &[u8],
    ) -> Result<Zeroizing<[u8; 32]>, Error> {
        let block = 128 * plan.params.params().r as usize;
        let (mut readers, mut uses) = (Vec::new(), Vec::new());
        for used in &plan.roms {
            let (_, source) =
                self.0.iter().find(|(rom, _)| *rom == used.rom).ok_or(Error::Unsupported {
                    what: "a ROM of this hash is none of those to check",
                })?;
            let mut reader = Reader::new(source, block)?;
            let rom = reader.last_block(used.reading.nrom).map_err(unavailable(source))?;
            uses.push(RomUse { rom, reading: used.reading });
            readers.push(reader);
        }
        let mut hash = Resumable::new(std::mem::take(workspace));
        let computed = hash
            .begin(&[(password, &plan.salt)], &plan.params, &uses, 32)
            .map_err(Error::from)
            .and_then(|()| run(&mut hash, &mut readers));
        let mut out = Zeroizing::new([0; 32]);
        let computed = computed.and_then(|()| {
            let output: Option<&[u8; 32]> =
                hash.output(0).and_then(|output| output.try_into().ok());
            *out = *output.ok_or(Error::Unsupported { what: "the hash was not computed" })?;
            Ok(())
        });
        hash.clear();
        *workspace = hash.into_workspace();
        computed.map(|()| out)
    }
}

/// Computes to the end, and checks all that was read.
fn run(hash: &mut Resumable, readers: &mut [Reader<'_>]) -> Result<(), Error> {
    let mut progress = hash.advance(&[])?;
    loop {
        progress = match progress {
            Progress::Announces(_) => hash.advance(&[])?,
            Progress::Needs(read) => {
                let reader = &mut readers[read.rom];
                let starts = reader.read(&read).map_err(unavailable(reader.source))?;
                let mut supplied: [&[u8]; LANES] = Default::default();
                for (supplied, start) in supplied.iter_mut().zip(starts) {
                    *supplied = &reader.buffer[start..][..reader.block];
                }
                hash.advance(&supplied[..read.blocks().len()])?
            }
            Progress::Done => break,
        }
    }
    readers.iter_mut().try_for_each(|reader| reader.check().map_err(unavailable(reader.source)))
}

fn unavailable(source: &OpenRom) -> impl FnOnce(Error) -> Error {
    let id = source.manifest().id();
    move |error| Error::Unavailable { id, source: Box::new(error) }
}

/// Copies blocks of a ROM, and checks the copies some time later.
struct Reader<'r> {
    source: &'r OpenRom,
    /// Bytes of a block.
    block: usize,
    buffer: BlockBuffer,
    /// Bytes of the buffer for one block with the chunks around it.
    window: usize,
    /// From where in the image, and how much of it, each copy is.
    copied: Vec<(u64, usize)>,
}

impl<'r> Reader<'r> {
    fn new(source: &'r OpenRom, block: usize) -> Result<Self, Error> {
        let chunk = source.manifest().chunk as usize;
        let window =
            block.next_multiple_of(chunk) + if block.is_multiple_of(chunk) { 0 } else { chunk };
        let slots = (AHEAD / window).max(LANES);
        let buffer = BlockBuffer::new(slots * window)?;
        Ok(Reader { source, block, buffer, window, copied: Vec::with_capacity(slots) })
    }

    /// Where the blocks of a read are in the buffer.
    fn read(&mut self, read: &RomRead) -> Result<[usize; LANES], Error> {
        if (self.copied.len() + LANES) * self.window > self.buffer.len() {
            self.check()?;
        }
        let mut starts = [0; LANES];
        for (start, j) in starts.iter_mut().zip(read.blocks()) {
            *start = self.copy(*j)?;
        }
        Ok(starts)
    }

    fn copy(&mut self, j: u64) -> Result<usize, Error> {
        let slot = self.copied.len() * self.window;
        let start = j * self.block as u64;
        match self.source {
            // All of what is read there is checked before it comes back.
            OpenRom::File(file) => {
                file.read_range(start, &mut self.buffer[slot..][..self.block])?;
                self.copied.push((start, 0));
                Ok(slot)
            }
            OpenRom::Memory(attached) => {
                let chunk = u64::from(attached.manifest().chunk);
                let from = start - start % chunk;
                let end = (start + self.block as u64).next_multiple_of(chunk).min(attached.size());
                let (len, skip) = ((end - from) as usize, (start - from) as usize);
                let bytes = &attached.as_bytes()[from as usize..][..len];
                self.buffer[slot..][..len].copy_from_slice(bytes);
                self.copied.push((from, len));
                Ok(slot + skip)
            }
        }
    }

    /// Checks all copies that have not been checked, and forgets them.
    fn check(&mut self) -> Result<(), Error> {
        let OpenRom::Memory(attached) = self.source else {
            self.copied.clear();
            return Ok(());
        };
        let chunk = attached.manifest().chunk as usize;
        let copies = self.copied.iter().zip(self.buffer.chunks(self.window));
        let chunks = copies.flat_map(|((from, len), copy)| {
            (from / chunk as u64..).zip(copy[..*len].chunks(chunk))
        });
        attached.check_chunks(chunks)?;
        self.copied.clear();
        Ok(())
    }

    /// The ROM of `nrom` blocks of which only the last is here, a checked copy.
    fn last_block(&mut self, nrom: u64) -> Result<Rom, Error> {
        let mut block = BlockBuffer::new(self.block)?;
        let start = self.copy(nrom.saturating_sub(1))?;
        self.check()?;
        block.copy_from_slice(&self.buffer[start..][..self.block]);
        let size = nrom.saturating_mul(self.block as u64);
        Ok(Rom::stored(Arc::new(LastBlock { block, size }))?)
    }
}

impl Drop for Reader<'_> {
    /// Which blocks were read tells something about passwords.
    fn drop(&mut self) {
        self.buffer.zeroize();
        self.copied.zeroize();
    }
}

/// What a hash has of a ROM before it asks for blocks.
struct LastBlock {
    block: BlockBuffer,
    size: u64,
}

impl RomStore for LastBlock {
    fn size(&self) -> u64 {
        self.size
    }

    fn tail(&self, len: usize) -> Option<&[u8]> {
        self.block.get(self.block.len().checked_sub(len)?..)
    }
}
