//! ROMs as they are found: manifest and image, each opened once. Files are examined through their
//! descriptors and not by path, since a path may name another file by then.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::file_checks::{check_file_owner, check_owner, open_file};
use crate::files::image::{check_hash, check_tail, read_exact};
use crate::format::identity::RomHash;
use crate::format::manifest::{Location, Manifest};
use crate::format::paths::segment_name;
use crate::progress::{PIECE, Progress, Stage, Watch, each_piece, tell};
use crate::system::buffer::DirectBuffer;
use crate::system::filesystem::{self, Kind, owner_and_mode};
use crate::system::map::Mapping;
use crate::system::sysv::Segment;

/// An image in a file.
pub(crate) struct ImageFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    found: Metadata,
    pub(crate) kind: Kind,
    /// Bytes of a page of it.
    pub(crate) page: usize,
}

impl ImageFile {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Self::of(open_file(path)?.0, path)
    }

    /// Examines a file that is already open.
    pub(crate) fn of(file: File, path: &Path) -> Result<Self, Error> {
        let found = file.metadata().map_err(Error::io("access", path))?;
        let (kind, page) = filesystem::kind_and_page(&file, path)?;
        Ok(ImageFile { file, path: path.to_owned(), found, kind, page })
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.found.len()
    }

    /// Refuses a file that is too short or too long for an image of this many bytes.
    fn check_size(&self, expected: u64) -> Result<(), Error> {
        let actual = self.size();
        if self.kind.file_length(expected, self.page) == Some(actual) {
            return Ok(());
        }
        Err(Error::Size { path: self.path.clone(), expected, actual })
    }

    /// Compares size, tag and digest with the manifest.
    pub(crate) fn check(&self, manifest: &Manifest) -> Result<(), Error> {
        self.check_size(manifest.size())?;
        check_tail(&self.path, manifest, &self.file)
    }

    /// Refuses a file to which others may write, or may have written. If a file cannot be changed
    /// any more, its mode does not matter, but its owner does, who has chosen its contents.
    pub(crate) fn check_trust(&self) -> Result<(), Error> {
        let (owner, mode) = owner_and_mode(&self.found);
        let fixed = filesystem::keeps_its_bytes(&self.file);
        check_owner(&self.path, &[owner], if fixed { 0 } else { mode })
    }
}

/// Where an image was found.
pub(crate) enum Image {
    File(ImageFile),
    Segment(Segment),
}

/// A ROM that has been found.
pub(crate) struct Opened {
    pub(crate) manifest: Manifest,
    pub(crate) image: Image,
    manifest_path: PathBuf,
    manifest_file: Metadata,
}

impl Opened {
    /// Opens manifest and image and compares size, tag and digest. The ROM must be the expected
    /// one, if one is expected.
    pub(crate) fn open(image: &Path, expect: Option<RomHash>) -> Result<Self, Error> {
        let opened = Self::find(image)?;
        let manifest = &opened.manifest;
        check_hash(image, expect, manifest.hash)?;
        match &opened.image {
            Image::File(file) => file.check(manifest)?,
            Image::Segment(_) => opened.image.check_size(manifest.size())?,
        }
        Ok(opened)
    }

    /// Opens manifest and image. A manifest that names an image elsewhere must be trusted, and so
    /// must a segment: its owner could change it after it was checked.
    pub(crate) fn find(image: &Path) -> Result<Self, Error> {
        let (manifest, manifest_file) = Manifest::followed(image)?;
        let found = match (&manifest.location, manifest.image_path(image)) {
            (_, Some(path)) => Image::File(ImageFile::open(&path)?),
            (&Location::Sysv { key }, None) => Image::Segment(trusted_segment(key)?),
            _ => return Err(Error::Unsupported { what: "the manifest names no segment" }),
        };
        let manifest_path = Manifest::path_for(image);
        Ok(Opened { manifest, image: found, manifest_path, manifest_file })
    }

    /// Refuses an image, or the manifest that identifies it, if others may write to it or may have
    /// written to it.
    pub(crate) fn check_trust(&self) -> Result<(), Error> {
        check_file_owner(&self.manifest_path, &self.manifest_file)?;
        match &self.image {
            Image::File(file) => file.check_trust(),
            // Checked when it was found.
            Image::Segment(_) => Ok(()),
        }
    }

    /// Whether the image is in a file on a disk.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(&self.image, Image::File(file) if file.kind == Kind::Disk)
    }

    /// Checks the trust of images in shared memory, where anybody may put files. For a file on a
    /// disk, everything that is read from it must be checked instead.
    pub(crate) fn check_shared(&self) -> Result<(), Error> {
        if self.is_on_disk() { Ok(()) } else { self.check_trust() }
    }
}

/// The segment with this key, if only root and this user can have written to it.
pub(crate) fn trusted_segment(key: i32) -> Result<Segment, Error> {
    let name = segment_name(key);
    let segment = Segment::find(key).map_err(Error::io("attach", &name))?;
    check_owner(&name, &segment.owners, segment.mode)?;
    Ok(segment)
}

/// A segment in memory. It cannot be shortened, so it may be mapped.
pub(crate) fn map_segment(segment: &Segment) -> Result<Mapping, Error> {
    Mapping::segment(segment, false).map_err(Error::io("attach", &segment.name()))
}

impl Image {
    /// Its name in errors.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Image::File(file) => file.path.clone(),
            Image::Segment(segment) => segment.name(),
        }
    }

    /// Refuses an image of another size.
    pub(crate) fn check_size(&self, expected: u64) -> Result<(), Error> {
        match self {
            Image::File(file) => file.check_size(expected),
            Image::Segment(segment) if segment.size == expected => Ok(()),
            Image::Segment(segment) => {
                Err(Error::Size { path: segment.name(), expected, actual: segment.size })
            }
        }
    }

    /// Passes on `total` bytes of the image in order.
    pub(crate) fn each_piece(
        &self,
        total: u64,
        watch: Watch<'_>,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let file = match self {
            Image::File(file) => file,
            Image::Segment(segment) => {
                let memory = map_segment(segment)?;
                return each_piece(memory.bytes(), Stage::Read, watch, |_, piece| take(piece));
            }
        };
        let mut buffer = DirectBuffer::new(PIECE)?;
        let mut at = 0;
        while at < total {
            let len = PIECE.min(usize::try_from(total - at).unwrap_or(PIECE));
            read_exact(&file.file, &file.path, &mut buffer[..len], at, total)?;
            take(&buffer[..len])?;
            at += len as u64;
            tell(watch, Progress { stage: Stage::Read, done: at, total })?;
        }
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, fchown};

    use super::*;
    use crate::system::filesystem::own_user;
    use crate::system::map;
    use crate::system::pages::RomPages;

    #[test]
    fn what_keeps_its_bytes_has_an_owner_all_the_same() {
        let (file, mapping) = map::memory_file(4096, RomPages::Base).unwrap();
        drop(mapping);
        file.set_permissions(PermissionsExt::from_mode(0o666)).unwrap();
        let trust = |file: &File| {
            let file = file.try_clone().unwrap();
            ImageFile::of(file, Path::new("image")).unwrap().check_trust()
        };
        assert!(matches!(trust(&file), Err(Error::Untrusted { .. })));
        map::seal(&file).unwrap();
        trust(&file).unwrap();
        if own_user() == 0 {
            fchown(&file, Some(65534), None).unwrap();
            assert!(matches!(trust(&file), Err(Error::Untrusted { owner: 65534, .. })));
        }
    }
}
