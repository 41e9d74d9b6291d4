//! Removing ROMs, and protecting them from removal.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::file_checks::{check_file_owner, check_owner, if_there, is_regular_file};
use crate::files::located::{Image, ImageFile, Opened};
use crate::files::manifest_file;
use crate::files::staged::{Staged, remove_leftover, sync_directory};
use crate::format::manifest::{Location, Manifest};
use crate::format::paths::segment_name;
use crate::system::filesystem::{self, Kind};
use crate::system::sysv::Segment;

/// Makes the file of an image immutable, or no longer so: then nobody can change, shorten, replace
/// or remove it, and [`Access::Auto`](crate::Access::Auto) maps it instead of copying it. Needs
/// CAP_LINUX_IMMUTABLE, which root has, and a file system with this attribute: ext4, XFS, Btrfs,
/// and since Linux 6.6 tmpfs.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`]; [`Error::Untrusted`] for files that belong to others
/// or that others may write to; [`Error::NotRegular`]; [`Error::Io`] if it is not permitted or not
/// supported.
pub fn set_immutable(image: &Path, immutable: bool) -> Result<(), Error> {
    let opened = Opened::find(image)?;
    opened.check_trust()?;
    match &opened.image {
        Image::File(file) => filesystem::set_immutable(&file.file, immutable)
            .map_err(Error::io("change the attributes of", &file.path)),
        Image::Segment { .. } => Err(Error::Unsupported {
            what: "a System V segment has no attributes: it cannot be truncated anyway",
        }),
    }
}

/// Removes an image, its manifest and its table of hashes, and the leftovers of an interrupted
/// creation. Attached processes keep it until they detach.
///
/// Hashes made with a ROM cannot be verified with any other: keep the seed and the manifest, or a
/// copy, as long as such hashes exist.
///
/// # Errors
/// [`Error::NoManifest`] if there is none and nothing was left, [`Error::Manifest`],
/// [`Error::Busy`] while it is being created, [`Error::NotRegular`], [`Error::Io`];
/// [`Error::Untrusted`] if the manifest names an image elsewhere and belongs neither to root nor to
/// this user: in a directory where all may write, anybody could name any file this way; and for a
/// segment that belongs to somebody else.
pub fn remove(image: &Path) -> Result<(), Error> {
    Removal::of(image)?.map_or(Ok(()), Removal::run)
}

/// [`remove`] for images in memory only: in a file on a tmpfs or hugetlbfs, which is made mutable
/// first, or in a segment. An image that is not beside its manifest is removed only if `named` is
/// set: the caller then names it by a name in shared memory, and not by the path of some manifest.
///
/// # Errors
/// Those of [`remove`], and [`Error::Unsupported`] for an image that is elsewhere.
pub fn detach(image: &Path, named: bool) -> Result<(), Error> {
    let Some(removal) = Removal::of(image)? else { return Ok(()) };
    let on_disk = Error::Unsupported {
        what: "the image is not in shared memory: to remove it, delete its files yourself",
    };
    let Some(path) = removal.manifest.image_path(image) else {
        return if named { removal.run() } else { Err(on_disk) };
    };
    let found = match ImageFile::open(&path) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
        other => Some(other?),
    };
    let kind = found.as_ref().map_or_else(|| filesystem::kind(&path), |file| Ok(file.kind))?;
    let beside = removal.manifest.location == Location::Beside;
    if kind == Kind::Disk || !named && !beside {
        return Err(on_disk);
    }
    if let Some(file) = found.filter(|file| file.check_trust().is_ok()) {
        // If this is not needed or not permitted, removing the file shows it.
        let _ = filesystem::set_immutable(&file.file, false);
    }
    removal.run()
}

/// A ROM to remove, with its manifest, which is read once.
struct Removal<'a> {
    image: &'a Path,
    manifest: Manifest,
}

impl<'a> Removal<'a> {
    /// `None` if there were only leftovers of an interrupted creation, which are then removed.
    fn of(image: &'a Path) -> Result<Option<Self>, Error> {
        match Manifest::read_with(image) {
            Err(error @ Error::NoManifest { .. }) => {
                // Both, whatever the result of the first.
                let found = [remove_leftover(image)?, manifest_file::remove_stray(image)?];
                if found.contains(&true) { Ok(None) } else { Err(error) }
            }
            other => {
                let (manifest, found) = other?;
                // Before anything is done to the image.
                if manifest.location != Location::Beside {
                    check_file_owner(&Manifest::path_for(image), &found)?;
                }
                Ok(Some(Removal { image, manifest }))
            }
        }
    }

    fn run(self) -> Result<(), Error> {
        let Removal { image, manifest } = self;
        let manifest_path = Manifest::path_for(image);
        // A process that is creating this ROM would otherwise lose the manifest that it has just
        // written. If the lock cannot be taken (on a full disk, for example), nothing is being
        // created either.
        let place = manifest.image_path(image).unwrap_or_else(|| image.to_owned());
        let alone = match Staged::begin(&place, 0o600) {
            Err(busy @ Error::Busy { .. }) => return Err(busy),
            other => other.ok(),
        };
        if let Location::Sysv { key } = manifest.location {
            let name = segment_name(key);
            let found = if_there(Segment::find(key)).map_err(Error::io("access", &name))?;
            if let Some(segment) = found {
                // By now it may belong to another program.
                check_owner(&name, &segment.owners, 0)?;
                segment.remove().map_err(Error::io("remove", &name))?;
            }
        }
        // The image first: a manifest alone is a state that creation can handle.
        let file = manifest.image_path(image);
        let files: Vec<PathBuf> =
            file.into_iter().chain([manifest_file::path_for(image), manifest_path]).collect();
        for path in &files {
            remove_file(path)?;
            // The lock file itself is removed with the lock.
            if *path != place || alone.is_none() {
                remove_leftover(path)?;
            }
        }
        sync_directory(image)
    }
}

/// Removes a regular file, if there is one.
fn remove_file(path: &Path) -> Result<(), Error> {
    let found = if_there(path.symlink_metadata()).map_err(Error::io("access", path))?;
    let Some(found) = found else { return Ok(()) };
    is_regular_file(path, &found)?;
    if_there(std::fs::remove_file(path)).map(drop).map_err(Error::io("remove", path))
}
