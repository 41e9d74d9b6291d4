//! Creating ROMs.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use saltern_yescrypt::{
    Workspace,
    rom::{RomParams, init_rom_with},
};

use crate::Error;
use crate::files::destination::{Made, Place, Sink};
use crate::files::image::check_hash;
use crate::format::identity::RomHash;
use crate::format::manifest::{Location, Manifest};
use crate::format::sums::ImageHasher;
use crate::operations::attach::Attached;
use crate::operations::seed::Seed;
use crate::progress::{Progress, Stage, Watch, each_piece, no_progress};
use crate::system::filesystem::{self, Kind};
use crate::system::map::Mapping;
use crate::system::memory::{self, acquire};
use crate::system::pages::RomPages;

/// Where to compute an image that will be in a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ComputeIn {
    /// In memory if it fits comfortably, otherwise in the mapped file.
    #[default]
    Auto,
    /// In memory, written when it is complete: the fill reads all of the image in random order.
    Memory,
    /// In the file, mapped: for images larger than memory. A disk read error then kills the process
    /// (SIGBUS), leaving only an unfinished file behind, which the next creation takes over.
    Mapping,
}

/// A ROM to create. Set what differs from [`Create::new`], then call one of the methods.
///
/// ```
/// use saltern_rom::{AttachOptions, Create, Seed, attach};
/// use saltern_yescrypt::rom::RomParams;
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// let seed = Seed::generate(&directory.join("site.seed"))?;
/// let mut create = Create::new(RomParams::new(512, 8, 4), &seed);
/// create.threads = 2;
/// let manifest = create.file(&directory.join("site.rom"))?;
///
/// let attached = attach(&directory.join("site.rom"), &AttachOptions::new())?;
/// assert_eq!(attached.id(), manifest.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub struct Create<'a> {
    /// NROM, r, p, t and flavour. Different p give different ROMs. With p at least twice the number
    /// of threads, all of them work, and each advances two slices at once, which is faster than
    /// one.
    pub params: RomParams,
    /// The seed.
    pub seed: &'a Seed,
    /// Threads to compute with; at most p of them are used.
    pub threads: usize,
    /// Whether an existing image may be replaced.
    pub replace: bool,
    /// Where the image will be; the manifest is always beside the given path.
    pub location: Location,
    /// Where the image is computed, for files.
    pub compute_in: ComputeIn,
    /// The pages of the memory that it is computed in, and of a segment.
    pub pages: RomPages,
    /// Permissions of the image, by default without write access for anybody. Anyone who may read
    /// the ROM can copy it.
    pub mode: u32,
    /// The hash that the ROM must have, when it is made again.
    pub expect: Option<RomHash>,
    /// Receives progress, and can cancel the work.
    pub watch: Watch<'a>,
}

impl<'a> Create<'a> {
    /// A ROM in a file beside its manifest, one thread, no replacing, transparent huge pages, mode
    /// 0440.
    #[must_use]
    pub fn new(params: RomParams, seed: &'a Seed) -> Self {
        Create {
            params,
            seed,
            threads: 1,
            replace: false,
            location: Location::Beside,
            compute_in: ComputeIn::Auto,
            pages: RomPages::default(),
            mode: 0o440,
            expect: None,
            watch: &no_progress,
        }
    }

    /// Creates the ROM in the file `image`, or at [`Create::location`], with its manifest
    /// `image.json` beside it.
    ///
    /// The image is written under another name, synced and then renamed, the manifest just before
    /// it, so that at any moment there is the old state, the new one, or a manifest without its
    /// image, which the next creation completes. It takes over the leftovers of a killed creator.
    /// If there is a manifest without an image, the ROM must match it.
    ///
    /// Takes about two block mixes for each block (more with t > 0) and memory for the image, or
    /// none, depending on [`ComputeIn`].
    ///
    /// # Errors
    /// Before anything is written: [`Error::Exists`], [`Error::Busy`], [`Error::NoSpace`],
    /// [`Error::FileSizeLimit`], [`Error::NoMemory`], [`Error::Yescrypt`] for parameters. After:
    /// [`Error::Cancelled`], [`Error::WrongRom`], [`Error::Io`].
    pub fn file(&self, image: &Path) -> Result<Manifest, Error> {
        self.params.check()?;
        let location = self.location.absolute()?;
        Manifest::check_paths(image, self.seed.source(), &location)?;
        let place = Place {
            image,
            location: &location,
            params: self.params,
            replace: self.replace,
            mode: self.mode,
            pages: self.pages,
        };
        let compute_in =
            place.file().map_or(Ok(ComputeIn::Mapping), |file| self.choose_fill(file))?;
        let name = place.name();
        place.put(compute_in == ComputeIn::Mapping, |sink| {
            let mut made = match sink {
                Sink::Memory(memory) => self.fill(memory, &name, None)?,
                Sink::File(file) => {
                    let mut memory = acquire(place.size(), self.pages, false, &mut Vec::new())?;
                    self.fill(&mut memory.mapping, &name, Some(file))?
                }
            };
            made.manifest.location = location.clone();
            Ok(made)
        })
    }

    /// Creates the ROM in memory of this process only.
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::Cancelled`], [`Error::WrongRom`], [`Error::Yescrypt`].
    pub fn private(&self) -> Result<Attached, Error> {
        self.in_memory(false)
    }

    /// Creates the ROM in a memory file (memfd), which is then sealed, so that nobody can change or
    /// shorten it, and whose descriptor can be passed to other processes; see
    /// [`Attached::descriptor`].
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::Cancelled`], [`Error::WrongRom`], [`Error::Yescrypt`].
    pub fn memfd(&self) -> Result<Attached, Error> {
        self.in_memory(true)
    }

    fn in_memory(&self, shareable: bool) -> Result<Attached, Error> {
        self.params.check()?;
        let mut notes = Vec::new();
        let mut granted = acquire(self.size(), self.pages, shareable, &mut notes)?;
        let made = self.fill(&mut granted.mapping, "the new image".as_ref(), None)?;
        Attached::from_memory(granted, made, notes)
    }

    fn size(&self) -> u64 {
        self.params.size()
    }

    /// Decides where to compute. Whether the file system has room is checked when the file is
    /// allocated, after the space of an interrupted creation has been freed.
    fn choose_fill(&self, place: &Path) -> Result<ComputeIn, Error> {
        let size = self.size();
        let kind = filesystem::kind(place)?;
        match self.compute_in {
            // It is memory already.
            _ if kind == Kind::Hugetlbfs => Ok(ComputeIn::Mapping),
            ComputeIn::Auto if kind == Kind::Memory => Ok(ComputeIn::Mapping),
            // Room for the image and as much again for other programs, and for the page cache that
            // takes the writes.
            ComputeIn::Auto if memory::available().is_none_or(|available| size > available / 2) => {
                Ok(ComputeIn::Mapping)
            }
            ComputeIn::Auto => Ok(ComputeIn::Memory),
            ComputeIn::Memory => memory::check_memory(size).map(|()| ComputeIn::Memory),
            ComputeIn::Mapping => Ok(ComputeIn::Mapping),
        }
    }

    /// Computes the image in `memory`, checks and hashes it, and writes it to `file` if it is not
    /// there already.
    fn fill(&self, memory: &mut Mapping, name: &Path, file: Option<&File>) -> Result<Made, Error> {
        let bytes = memory.bytes_mut()?;
        let digest = compute(&self.params, self.seed, self.threads, bytes, self.watch)?;
        let mut hasher = ImageHasher::new(&self.params)?;
        each_piece(memory.bytes(), Stage::Write, self.watch, |_, piece| {
            hasher.update(piece);
            let written = file.map_or(Ok(()), |mut file| file.write_all(piece));
            written.map_err(Error::io("write", name))
        })?;
        let (sums, seed) = (hasher.finish(), self.seed.source().clone());
        let made = Made::new(self.params, sums, digest, seed, Location::Beside);
        check_hash(name, self.expect, made.manifest.hash)?;
        Ok(made)
    }
}

/// Fills an image and returns its digest.
pub(crate) fn compute(
    params: &RomParams,
    seed: &Seed,
    threads: usize,
    image: &mut [u8],
    watch: Watch<'_>,
) -> Result<[u8; 32], Error> {
    let mut workspace = Workspace::new();
    workspace.set_threads(threads);
    let told = |progress: saltern_yescrypt::rom::RomProgress| {
        let stage = Stage::Fill(progress.pass);
        watch(Progress { stage, done: progress.done, total: progress.total })
    };
    Ok(init_rom_with(params, seed.bytes(), image, &mut workspace, &told)?)
}
