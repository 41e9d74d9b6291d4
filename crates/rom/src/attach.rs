//! Attaching to ROMs: a checked image in memory, to hash with.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use saltern_blake2::blake2bp;
use saltern_yescrypt::{RomId, RomView};

use crate::Error;
use crate::create::{PIECE, finish};
use crate::filesystem;
use crate::image::{check_image, check_size, check_tail, length, read_image};
use crate::manifest::{Location, Manifest};
use crate::map::Mapping;
use crate::memory::{Granted, acquire, seal};
use crate::pages::{ObtainedPages, Pages};
use crate::progress::{Progress, Stage, Watch, unwatched};
use crate::staged::open_regular;
use crate::sysv::Segment;

/// How the image of a file gets into memory.
///
/// A mapped file that somebody shortens kills every process that reads beyond its new end (SIGBUS). So a file is mapped only if that
/// cannot happen or is asked for; what is copied, in a segment or in a sealed memory file cannot be shortened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Mapped if nobody can shorten the file (it is sealed, immutable or under fs-verity), otherwise copied.
    #[default]
    Auto,
    /// Copied into memory of this process, which costs as much memory as the image has, and reading it.
    Copy,
    /// Copied into a sealed memory file, which can be handed on; see [`Attached::descriptor`].
    Memfd,
    /// Mapped, whatever happens to the file. Only for files that nobody shortens or changes while anybody has them mapped:
    /// removing and replacing by renaming, as everything here does it, are harmless.
    Map,
}

/// Whether pages are kept in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Lock {
    /// Left to the system.
    #[default]
    No,
    /// Locked if that is allowed; [`Attached::locked`] tells.
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
    /// The pages of memory that it is copied to; larger ones fall back to smaller, which [`Attached::pages`] and
    /// [`Attached::notes`] tell.
    pub pages: Pages,
    /// Whether pages are kept in memory.
    pub lock: Lock,
    /// Whether every byte of a mapped image or a segment is checked against the hash in the manifest, as those of a copied one are in any
    /// case. Takes as long as reading it.
    pub verify: bool,
    /// The only ROM that will do, however well another one fits its own manifest.
    pub expect: Option<RomId>,
    /// Is told of progress while all of the image is read, and can end it.
    pub watch: Watch<'a>,
}

impl AttachOptions<'_> {
    /// [`Access::Auto`], transparent huge pages, no locking, no reading of what is only mapped, any ROM.
    #[must_use]
    pub fn new() -> Self {
        AttachOptions {
            access: Access::Auto,
            pages: Pages::default(),
            lock: Lock::No,
            verify: false,
            expect: None,
            watch: &unwatched,
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
pub enum Medium {
    /// In memory of this process alone.
    Private,
    /// In a sealed memory file.
    Memfd,
    /// In a file that is mapped.
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

impl Medium {
    /// What errors call a segment.
    pub(crate) fn segment_name(key: i32) -> PathBuf {
        format!("System V segment {key:#010x}").into()
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Medium::Private => f.write_str("memory of this process"),
            Medium::Memfd => f.write_str("sealed memory file"),
            Medium::Mapped { path, protected: true } => write!(f, "mapped from {}", path.display()),
            Medium::Mapped { path, protected: false } => {
                write!(f, "mapped from {}, which must not be shortened", path.display())
            }
            Medium::Sysv { key } => write!(f, "{}", Medium::segment_name(*key).display()),
        }
    }
}

/// A ROM in memory, checked against its manifest, read-only. Detached when dropped; the image stays.
pub struct Attached {
    mapping: Mapping,
    /// The memory file, if it is in one.
    file: Option<File>,
    manifest: Manifest,
    medium: Medium,
    asked: Pages,
    locked: bool,
    /// Whether all of it has been compared with the manifest's hash.
    checked: AtomicBool,
    /// Held by whoever does so.
    checking: Mutex<()>,
    notes: Vec<String>,
}

/// Attaches to the ROM whose manifest is `image.json`, wherever that says the image is.
///
/// Size, tag and digest are compared with the manifest, which takes no time worth mentioning; the rest of a mapped image is what
/// [`Attached::check_all`] and [`verify`](crate::verify()) check. Where it has to be copied ([`Access`]), that takes as long as reading it, and
/// all of it is checked.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`]; [`Error::Size`], [`Error::NotFilled`], [`Error::WrongRom`] for an image that is not
/// what its manifest says or what was expected; [`Error::NoMemory`], [`Error::NotLocked`], [`Error::Cancelled`], [`Error::Io`].
pub fn attach(image: &Path, options: &AttachOptions<'_>) -> Result<Attached, Error> {
    let manifest = Manifest::read(image)?;
    if let Some(expected) = options.expect.filter(|expected| *expected != manifest.id()) {
        let path = image.to_owned();
        return Err(Error::WrongRom { path, expected, actual: manifest.id() });
    }
    let mut attached = match manifest.image_path(image) {
        Some(path) => attach_file(&path, manifest, options)?,
        None => attach_segment(manifest)?,
    };
    let read = matches!(attached.medium, Medium::Private | Medium::Memfd);
    if options.verify && !read {
        attached.verify(options.watch)?;
    }
    attached.lock(options.lock)?;
    Ok(attached)
}

/// Attaches to an image behind a descriptor that another process has handed on, such as [`Attached::descriptor`], and that has this
/// manifest. The file has to be sealed against every change.
///
/// # Errors
/// Those of [`attach`], and [`Error::Unsupported`] for a descriptor of another kind.
pub fn attach_descriptor(
    descriptor: OwnedFd,
    manifest: &Manifest,
    options: &AttachOptions<'_>,
) -> Result<Attached, Error> {
    let (file, path) = (File::from(descriptor), Path::new("the descriptor"));
    if !filesystem::keeps_its_size(&file) {
        return Err(Error::Unsupported { what: "the descriptor is not of a sealed memory file" });
    }
    let page = filesystem::page_size_of(&file, path)?;
    check_size(path, manifest, &file)?;
    check_tail(path, manifest, &file)?;
    let len = length(manifest)?;
    let mapping = Mapping::file(&file, len, page, false).map_err(Error::io("map", path))?;
    let granted = Granted { mapping, file: Some(file), pages: options.pages };
    let mut attached = Attached::new(granted, manifest.clone(), Medium::Memfd);
    if options.verify {
        attached.verify(options.watch)?;
    }
    attached.lock(options.lock)?;
    Ok(attached)
}

fn attach_file(
    path: &Path,
    manifest: Manifest,
    options: &AttachOptions<'_>,
) -> Result<Attached, Error> {
    let file = open_regular(path).map_err(Error::io("open", path))?;
    let page = filesystem::page_size_of(&file, path)?;
    check_size(path, &manifest, &file)?;
    let protected = filesystem::keeps_its_size(&file);
    let map = options.access == Access::Map || options.access == Access::Auto && protected;
    let medium = match options.access {
        Access::Memfd => Medium::Memfd,
        _ if map => Medium::Mapped { path: path.to_owned(), protected },
        _ => Medium::Private,
    };
    let mut notes = Vec::new();
    let granted = if map {
        check_tail(path, &manifest, &file)?;
        let mapping = Mapping::file(&file, length(&manifest)?, page, false);
        let mapping = mapping.map_err(Error::io("map", path))?;
        mapping.advise(options.pages);
        Granted { mapping, file: None, pages: options.pages }
    } else {
        let shareable = options.access == Access::Memfd;
        let mut granted = acquire(manifest.size(), options.pages, shareable, &mut notes)?;
        let hash = read_image(&file, path, &mut granted.mapping, options.watch)?;
        check_image(path, &manifest, granted.mapping.bytes())?;
        if hash != manifest.image_hash {
            return Err(Error::Damaged { path: path.to_owned(), offset: None });
        }
        granted
    };
    let mut attached = Attached::new(granted, manifest, medium);
    (attached.notes, attached.checked) = (notes, AtomicBool::new(!map));
    attached.finish()?;
    Ok(attached)
}

fn attach_segment(manifest: Manifest) -> Result<Attached, Error> {
    let Location::Sysv { key } = manifest.location else {
        return Err(Error::Unsupported { what: "the manifest names no segment" });
    };
    let name = Medium::segment_name(key);
    let segment = Segment::find(key).map_err(Error::io("attach", &name))?;
    if segment.size != manifest.size() {
        return Err(Error::Size { path: name, expected: manifest.size(), actual: segment.size });
    }
    let mapping = Mapping::segment(&segment, false).map_err(Error::io("attach", &name))?;
    check_image(&name, &manifest, mapping.bytes())?;
    let granted = Granted { mapping, file: None, pages: Pages::Base };
    Ok(Attached::new(granted, manifest, Medium::Sysv { key }))
}

impl Attached {
    fn new(granted: Granted, manifest: Manifest, medium: Medium) -> Self {
        let Granted { mapping, file, pages } = granted;
        Attached {
            mapping,
            file,
            manifest,
            medium,
            asked: pages,
            locked: false,
            checked: AtomicBool::new(false),
            checking: Mutex::new(()),
            notes: Vec::new(),
        }
    }

    /// Of memory that was filled in this process.
    pub(crate) fn from_memory(
        granted: Granted,
        manifest: Manifest,
        notes: Vec<String>,
    ) -> Result<Self, Error> {
        let shared = granted.file.is_some();
        let medium = if shared { Medium::Memfd } else { Medium::Private };
        let mut attached = Attached::new(granted, manifest, medium);
        (attached.notes, attached.checked) = (notes, AtomicBool::new(true));
        attached.finish()?;
        Ok(attached)
    }

    /// Makes memory that was filled read-only, and a memory file sealed.
    fn finish(&mut self) -> Result<(), Error> {
        let path = Path::new("the image's memory");
        let Some(file) = self.file.take() else {
            return self.mapping.protect().map_err(Error::io("protect", path));
        };
        // A seal against writing is refused while there is a mapping that might become writable, so this one is made of a descriptor
        // that cannot write. It is the one to hand on.
        let page = filesystem::page_size_of(&file, path)?;
        let reopened = format!("/proc/self/fd/{}", file.as_raw_fd());
        let reader = File::open(&reopened).map_err(Error::io("open", reopened.as_ref()))?;
        let len = length(&self.manifest)?;
        self.mapping = Mapping::file(&reader, len, page, false).map_err(Error::io("map", path))?;
        self.mapping.advise(self.asked);
        self.mapping.populate();
        self.file = Some(reader);
        seal(&file).map_err(Error::io("seal", path))
    }

    fn lock(&mut self, lock: Lock) -> Result<(), Error> {
        if lock == Lock::No {
            return Ok(());
        }
        let needed = self.manifest.size();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
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

    /// The ROM, for one computation. What a [`RomSet`](saltern_yescrypt::RomSet) holds is made of an [`Arc`](std::sync::Arc) of this value:
    /// [`Rom::new`](saltern_yescrypt::Rom::new).
    ///
    /// # Errors
    /// [`Error::Yescrypt`] if the tag is gone, which only somebody who writes to a shared image can bring about.
    pub fn rom(&self) -> Result<RomView<'_>, Error> {
        Ok(RomView::from_bytes(self.mapping.bytes())?)
    }

    /// Whether all of the image has been compared with the manifest's hash in this process: when it was copied, or since. Another process may
    /// have checked what this one has mapped.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.checked.load(Ordering::Acquire)
    }

    /// [`Attached::verify`], unless that has been done; other callers wait meanwhile.
    ///
    /// To be called before a new hash is stored that was made with a mapped image nobody has checked, and before a password is said to be wrong
    /// by such an image: a hash with a damaged ROM is another hash. It takes as long as reading the image, or as BLAKE2bp in one thread.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Cancelled`].
    pub fn check_all(&self, watch: Watch<'_>) -> Result<(), Error> {
        let _alone = self.checking.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_checked() { Ok(()) } else { self.verify(watch) }
    }

    /// Checks every byte of the image as it is in memory now against the hash in the manifest: when verifications fail that should not,
    /// say, or now and then in a shared image that somebody could write to.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Cancelled`].
    pub fn verify(&self, watch: Watch<'_>) -> Result<(), Error> {
        let (mut hasher, mut done) = (blake2bp::Params::new().to_hasher(), 0);
        for piece in self.as_bytes().chunks(PIECE) {
            hasher.update(piece);
            done += piece.len() as u64;
            if watch(Progress { stage: Stage::Read, done, total: self.size() }).is_break() {
                return Err(Error::Cancelled);
            }
        }
        let good = finish(hasher) == self.manifest.image_hash;
        self.checked.store(good, Ordering::Release);
        if good {
            return Ok(());
        }
        let path = match &self.medium {
            Medium::Mapped { path, .. } => path.clone(),
            Medium::Sysv { key } => Medium::segment_name(*key),
            Medium::Memfd | Medium::Private => self.medium.to_string().into(),
        };
        Err(Error::Damaged { path, offset: None })
    }

    /// The ROM's name: the beginning of its digest.
    #[must_use]
    pub fn id(&self) -> RomId {
        self.manifest.id()
    }

    /// What the manifest says.
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
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// The pages that it really lies on, as far as this process has touched them. Reads /proc/self/smaps.
    #[must_use]
    pub fn pages(&self) -> ObtainedPages {
        ObtainedPages::of(self.mapping.addresses())
    }

    /// Whether its pages are locked in memory.
    #[must_use]
    pub fn locked(&self) -> bool {
        self.locked
    }

    /// What was asked for and could not be had, and what there is instead: for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The descriptor of the sealed memory file that it is in, if it is in one: to be inherited by children, sent over a socket, or kept by
    /// a service manager, and opened by [`attach_descriptor`].
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attached {{ {}, {} bytes, {} }}", self.id(), self.size(), self.medium)
    }
}
