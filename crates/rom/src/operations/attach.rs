//! Attaching to ROMs: a checked image in memory, to hash with.

use std::fmt;
use std::fs::File;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use saltern_yescrypt::rom::{RomId, RomView};

use crate::Error;
use crate::files::destination::Made;
use crate::files::image::{check_image, read_image};
use crate::files::located::{Image, ImageFile, Opened, map_segment};
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::paths::segment_name;
#[cfg(unix)]
use crate::format::sums::ImageHasher;
use crate::format::sums::Sums;
use crate::progress::{Stage, Watch, each_piece, no_progress};
use crate::system::filesystem::{self, Kind};
use crate::system::map::{self, Mapping};
use crate::system::memory::{Granted, acquire, length};
use crate::system::pages::{ObtainedPages, RomPages};

/// How the image of a file gets into memory.
///
/// If a mapped file is shortened, every process that reads beyond its new end is killed (SIGBUS).
/// So a file on a disk is mapped only if that cannot happen or is requested; copies, segments and
/// sealed memory files cannot be shortened.
///
/// An image that is used in place, mapped or in shared memory, must belong to root or to this user,
/// as must its manifest, and nobody else may have write permission: everything else is refused
/// ([`Error::Untrusted`]).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Mapped if it is in shared memory (tmpfs, hugetlbfs), where images are replaced and removed
    /// but never shortened, or if nobody can shorten the file (it is sealed, immutable or under
    /// fs-verity); otherwise copied.
    #[default]
    Auto,
    /// Copied into memory of this process, which takes as much memory as the image, and reading all
    /// of it.
    Copy,
    /// Copied into a sealed memory file, which can be passed on; see [`Attached::descriptor`].
    Memfd,
    /// Always mapped. Only for files that nobody shortens or changes while they are mapped:
    /// removing them, and replacing them by renaming, as this crate does, are harmless.
    Map,
}

/// Whether pages are kept in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Lock {
    /// Left to the system.
    #[default]
    No,
    /// Locked if that is allowed; [`Attached::locked`] reports the result.
    Try,
    /// Locked, or [`Error::NotLocked`].
    Require,
}

/// How to attach.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct AttachOptions<'a> {
    /// How a file's image gets into memory.
    pub access: Access,
    /// The pages of the memory that it is copied to; larger ones fall back to smaller ones, which
    /// [`Attached::pages`] and [`Attached::notes`] report.
    pub pages: RomPages,
    /// Whether pages are kept in memory.
    pub lock: Lock,
    /// Whether every byte of a mapped image or a segment is checked against the ROM's hash; those
    /// of a copied one always are. Takes as long as reading it.
    pub verify: bool,
    /// The only ROM that is accepted, even if another one matches its own manifest.
    pub expect: Option<RomHash>,
    /// Receives progress while all of the image is read, and can cancel it.
    pub watch: Watch<'a>,
}

impl AttachOptions<'_> {
    /// [`Access::Auto`], transparent huge pages, no locking, no full check of mapped images, any
    /// ROM.
    #[must_use]
    pub fn new() -> Self {
        AttachOptions {
            access: Access::Auto,
            pages: RomPages::default(),
            lock: Lock::No,
            verify: false,
            expect: None,
            watch: &no_progress,
        }
    }
}

impl Default for AttachOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Where an attached image is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ImagePlace {
    /// In memory of this process alone.
    Private,
    /// In a sealed memory file.
    Memfd,
    /// In a mapped file.
    Mapped {
        /// The file.
        path: PathBuf,
        /// Whether nobody can shorten it.
        protected: bool,
    },
    /// In a System V segment.
    Sysv {
        /// Its key.
        key: i32,
    },
}

impl fmt::Display for ImagePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImagePlace::Private => f.write_str("memory of this process"),
            ImagePlace::Memfd => f.write_str("sealed memory file"),
            ImagePlace::Mapped { path, protected: true } => {
                write!(f, "mapped from {}", path.display())
            }
            ImagePlace::Mapped { path, protected: false } => {
                write!(f, "mapped from {}, which must not be truncated", path.display())
            }
            ImagePlace::Sysv { key } => write!(f, "{}", segment_name(*key).display()),
        }
    }
}

/// A ROM in memory, checked against its manifest, read-only. Detached when dropped; the image
/// stays.
pub struct Attached {
    mapping: Mapping,
    /// Its memory file, if it is in one.
    file: Option<File>,
    manifest: Manifest,
    place: ImagePlace,
    asked: RomPages,
    locked: bool,
    sums: Sums,
    /// When all of it was last found to match the hash.
    checked: Mutex<Option<Instant>>,
    notes: Vec<String>,
}

/// Attaches to the ROM whose manifest is `image.json`, at the location given there.
///
/// Size, tag, digest and the table of hashes are compared with the manifest, which takes very
/// little time; of a mapped image, a pool checks the blocks that hashes read, and
/// [`Attached::verify`] checks all of it. If it must be copied ([`Access`]), that takes as long as
/// reading it, and every chunk is checked.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`]; [`Error::Size`], [`Error::NotFilled`],
/// [`Error::WrongRom`], [`Error::Sums`] for an image that does not match its manifest or
/// [`AttachOptions::expect`]; [`Error::Untrusted`] for files that others may have written;
/// [`Error::Damaged`] for a copy; [`Error::NoMemory`], [`Error::NotLocked`], [`Error::Cancelled`],
/// [`Error::Io`].
pub fn attach(image: &Path, options: &AttachOptions<'_>) -> Result<Attached, Error> {
    attach_opened(image, &Opened::open(image, options.expect)?, options)
}

/// [`attach`] for a ROM that has been found.
pub(crate) fn attach_opened(
    image: &Path,
    opened: &Opened,
    options: &AttachOptions<'_>,
) -> Result<Attached, Error> {
    // Checked first: the table takes memory in proportion to the size in the manifest.
    opened.check_shared()?;
    let sums = Sums::open(image, &opened.manifest)?;
    let mut attached = match &opened.image {
        Image::File(file) => attach_file(opened, file, sums, options)?,
        Image::Segment(segment) => {
            let mapping = map_segment(segment)?;
            check_image(&segment.name(), &opened.manifest, mapping.bytes())?;
            let granted = Granted { mapping, file: None, pages: RomPages::Base };
            let place = ImagePlace::Sysv { key: segment.key };
            Attached::new(granted, opened.manifest.clone(), sums, place)
        }
    };
    if options.verify && attached.last_checked().is_none() {
        attached.verify(options.watch)?;
    }
    attached.lock(options.lock)?;
    Ok(attached)
}

/// Attaches to an image with this manifest, given by a descriptor that another process has passed
/// on, such as [`Attached::descriptor`]. The file must be sealed against every change. All of it is
/// read and checked.
///
/// # Errors
/// Those of [`attach`], and [`Error::Unsupported`] for a descriptor of another kind.
#[cfg(unix)]
pub fn attach_descriptor(
    descriptor: OwnedFd,
    manifest: &Manifest,
    options: &AttachOptions<'_>,
) -> Result<Attached, Error> {
    let path = Path::new("the descriptor");
    let image = ImageFile::of(File::from(descriptor), path)?;
    if !filesystem::keeps_its_bytes(&image.file) {
        return Err(Error::Unsupported { what: "the descriptor is not of a sealed memory file" });
    }
    image.check(manifest)?;
    let len = length(manifest.size())?;
    let mapping = Mapping::file(&image.file, len, image.page, false);
    let mapping = mapping.map_err(Error::io("map", path))?;
    let mut hasher = ImageHasher::with_chunk(manifest.size(), manifest.chunk)?;
    each_piece(mapping.bytes(), Stage::Read, options.watch, |_, piece| {
        hasher.update(piece);
        Ok(())
    })?;
    let sums = hasher.finish_as(manifest, None, path.to_owned())?;
    let granted = Granted { mapping, file: Some(image.file), pages: options.pages };
    let mut attached = Attached::new(granted, manifest.clone(), sums, ImagePlace::Memfd);
    attached.checked = Mutex::new(Some(Instant::now()));
    attached.lock(options.lock)?;
    Ok(attached)
}

fn attach_file(
    opened: &Opened,
    file: &ImageFile,
    sums: Sums,
    options: &AttachOptions<'_>,
) -> Result<Attached, Error> {
    let (path, manifest) = (&file.path, opened.manifest.clone());
    let protected = filesystem::keeps_its_size(&file.file);
    let shared = file.kind != Kind::Disk;
    let trust = opened.check_trust();
    let map = match options.access {
        Access::Map => true,
        // On a disk a checked copy suffices.
        Access::Auto => shared || protected && trust.is_ok(),
        Access::Copy | Access::Memfd => false,
    };
    if map {
        trust?;
    }
    let place = match options.access {
        Access::Memfd => ImagePlace::Memfd,
        _ if map => ImagePlace::Mapped { path: path.clone(), protected },
        _ => ImagePlace::Private,
    };
    let mut notes = Vec::new();
    let granted = if map {
        let mapping = Mapping::file(&file.file, length(manifest.size())?, file.page, false);
        let mapping = mapping.map_err(Error::io("map", path))?;
        mapping.advise(options.pages);
        Granted { mapping, file: None, pages: options.pages }
    } else {
        let shareable = options.access == Access::Memfd;
        let mut granted = acquire(manifest.size(), options.pages, shareable, &mut notes)?;
        read_image(&file.file, path, &mut granted.mapping, &sums, options.watch)?;
        granted
    };
    let mut attached = Attached::new(granted, manifest, sums, place);
    attached.notes = notes;
    attached.checked = Mutex::new((!map).then(Instant::now));
    attached.finish()?;
    Ok(attached)
}

impl Attached {
    fn new(granted: Granted, manifest: Manifest, sums: Sums, place: ImagePlace) -> Self {
        let Granted { mapping, file, pages } = granted;
        Attached {
            mapping,
            file,
            manifest,
            place,
            asked: pages,
            locked: false,
            sums,
            checked: Mutex::new(None),
            notes: Vec::new(),
        }
    }

    /// An attached ROM from memory that was filled in this process.
    pub(crate) fn from_memory(
        granted: Granted,
        Made { manifest, sums }: Made,
        notes: Vec<String>,
    ) -> Result<Self, Error> {
        let shared = granted.file.is_some();
        let place = if shared { ImagePlace::Memfd } else { ImagePlace::Private };
        let mut attached = Attached::new(granted, manifest, sums, place);
        (attached.notes, attached.checked) = (notes, Mutex::new(Some(Instant::now())));
        attached.finish()?;
        Ok(attached)
    }

    /// Makes filled memory read-only, and seals a memory file.
    fn finish(&mut self) -> Result<(), Error> {
        let path = Path::new("the image's memory");
        let Some(file) = self.file.take() else {
            return self.mapping.protect().map_err(Error::io("protect", path));
        };
        // A seal against writing is refused while there is a mapping that might become writable, so
        // this mapping is made from a descriptor that cannot write. That descriptor is the one to
        // pass on.
        let (_, page) = filesystem::kind_and_page(&file, path)?;
        let reader = map::reopen(&file).map_err(Error::io("open", path))?;
        let len = length(self.size())?;
        self.mapping = Mapping::file(&reader, len, page, false).map_err(Error::io("map", path))?;
        self.mapping.advise(self.asked);
        self.mapping.populate();
        self.file = Some(reader);
        map::seal(&file).map_err(Error::io("seal", path))
    }

    fn lock(&mut self, lock: Lock) -> Result<(), Error> {
        if lock == Lock::No {
            return Ok(());
        }
        let needed = self.manifest.size();
        let limit = map::lock_limit();
        match self.mapping.lock() {
            Ok(()) => self.locked = true,
            Err(error) if lock == Lock::Try => {
                let limit = limit.map_or("none".to_owned(), |limit| limit.to_string());
                self.notes.push(format!(
                    "{needed} bytes are not locked ({error}; RLIMIT_MEMLOCK is {limit})"
                ));
            }
            Err(_) => return Err(Error::NotLocked { needed, limit }),
        }
        Ok(())
    }

    /// The ROM, for one computation. For a [`RomSet`](saltern_yescrypt::rom::RomSet), pass an
    /// [`Arc`](std::sync::Arc) of this value to [`Rom::new`](saltern_yescrypt::rom::Rom::new).
    ///
    /// # Errors
    /// [`Error::Yescrypt`] if the tag is gone, which can happen only if somebody writes to a shared
    /// image.
    pub fn rom(&self) -> Result<RomView<'_>, Error> {
        Ok(RomView::from_bytes(self.mapping.bytes())?)
    }

    /// When this process last compared all of the image with the ROM's hash: when it was copied, or
    /// later. For a mapped image, another process may have checked it since.
    #[must_use]
    pub fn last_checked(&self) -> Option<Instant> {
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks copies of chunks of the image with these numbers.
    pub(crate) fn check_chunks<'b>(
        &self,
        numbers: &[u64],
        chunks: impl Iterator<Item = &'b [u8]>,
    ) -> Result<(), Error> {
        self.sums.check_each(numbers, chunks, || self.name())
    }

    /// The error for damage at a byte of the image.
    pub(crate) fn damaged(&self, offset: u64) -> Error {
        Error::Damaged { path: self.name(), offset: Some(offset) }
    }

    /// Checks every byte of the image as it is in memory now against the ROM's hash. Long-running
    /// processes should do this from time to time.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Sums`], [`Error::Cancelled`].
    pub fn verify(&self, watch: Watch<'_>) -> Result<(), Error> {
        let began = Instant::now();
        each_piece(self.as_bytes(), Stage::Read, watch, |at, piece| {
            self.sums.check(at, piece, || self.name())
        })?;
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
        Ok(())
    }

    /// The name of the image in errors.
    fn name(&self) -> PathBuf {
        match &self.place {
            ImagePlace::Mapped { path, .. } => path.clone(),
            ImagePlace::Sysv { key } => segment_name(*key),
            ImagePlace::Memfd | ImagePlace::Private => self.place.to_string().into(),
        }
    }

    /// The ROM's id: the beginning of its hash.
    #[must_use]
    pub fn id(&self) -> RomId {
        self.manifest.id()
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Bytes in the image.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.manifest.size()
    }

    /// The image itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &ImagePlace {
        &self.place
    }

    /// The pages that it actually lies on, as far as this process has touched them. Reads
    /// /proc/self/smaps.
    #[must_use]
    pub fn pages(&self) -> ObtainedPages {
        ObtainedPages::of(self.mapping.addresses())
    }

    /// Whether its pages are locked in memory.
    #[must_use]
    pub fn locked(&self) -> bool {
        self.locked
    }

    /// Remarks for the operator: what was requested but not available, and what is used instead.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The descriptor of the sealed memory file that it is in, if it is in one: it can be inherited
    /// by children, sent over a socket, or kept by a service manager, and attached with
    /// [`attach_descriptor`].
    #[cfg(unix)]
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attached {{ {}, {} bytes, {} }}", self.id(), self.size(), self.place)
    }
}
