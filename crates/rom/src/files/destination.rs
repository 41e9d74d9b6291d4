//! The place of a new image: a file or a segment, held by one creator at a time, with checks of
//! what may not be overwritten.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use saltern_yescrypt::rom::RomParams;

use crate::Error;
use crate::files::file_checks::{check_owner, if_there, is_regular_file, open_file};
use crate::files::image::check_hash;
use crate::files::manifest_file::check_place;
use crate::files::staged::{Staged, sync_directory};
use crate::format::identity::RomHash;
use crate::format::manifest::{Location, Manifest, SeedSource};
use crate::format::paths::segment_name;
use crate::format::sums::{Sums, chunk_of};
use crate::format::timestamp;
use crate::system::filesystem::{self, Kind};
use crate::system::map::Mapping;
use crate::system::memory::{check_memory, length};
use crate::system::pages::RomPages;
use crate::system::sysv::Segment;

/// A place for an image.
pub(crate) struct Place<'a> {
    /// The path that the manifest is beside.
    pub(crate) image: &'a Path,
    pub(crate) location: &'a Location,
    pub(crate) params: RomParams,
    pub(crate) replace: bool,
    /// Permissions of the image.
    pub(crate) mode: u32,
    /// The pages of a segment, or those advised for a mapped file.
    pub(crate) pages: RomPages,
}

/// What is known about an image that was put into its place.
pub(crate) struct Made {
    pub(crate) manifest: Manifest,
    pub(crate) sums: Sums,
}

impl Made {
    /// For an image whose bytes are all hashed, with this digest at its end.
    pub(crate) fn new(
        params: RomParams,
        sums: Sums,
        digest: [u8; 32],
        seed: SeedSource,
        location: Location,
    ) -> Self {
        let (hash, chunk) = (sums.root(&params), chunk_of(&params));
        let created = timestamp::now();
        Made { manifest: Manifest { params, hash, digest, chunk, seed, created, location }, sums }
    }
}

/// Where the bytes of an image go.
pub(crate) enum Sink<'a> {
    /// Written, from the beginning.
    File(&'a File),
    /// Memory that already is the image.
    Memory(&'a mut Mapping),
}

impl Place<'_> {
    pub(crate) fn size(&self) -> u64 {
        self.params.size()
    }

    /// The file of the image; `None` for a segment.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.location.file(self.image)
    }

    /// Lets `produce` make the image and its manifest, and puts both into their places; on any
    /// error both are as before. Only a segment that was being replaced is gone then, since a key
    /// can have only one.
    ///
    /// A file is mapped for `produce` if `mapped` is set or nothing else is possible.
    pub(crate) fn put(
        &self,
        mapped: bool,
        produce: impl FnOnce(Sink<'_>) -> Result<Made, Error>,
    ) -> Result<Manifest, Error> {
        if self.mode & 0o022 != 0 {
            let what =
                "an image that others may write to could not be attached: give it another mode";
            return Err(Error::Unsupported { what });
        }
        match self.location {
            Location::Sysv { key } => self.put_segment(*key, produce),
            Location::File { path } => self.put_file(path, mapped, produce),
            Location::Beside => self.put_file(self.image, mapped, produce),
        }
    }

    fn put_file(
        &self,
        path: &Path,
        mapped: bool,
        produce: impl FnOnce(Sink<'_>) -> Result<Made, Error>,
    ) -> Result<Manifest, Error> {
        // Before anything is touched, and again when the place is ours: another creator may just
        // have finished.
        self.check_existing(path.symlink_metadata().is_ok(), path)?;
        let staged = Staged::begin(path, self.mode)?;
        let known = self.check_existing(path.symlink_metadata().is_ok(), path)?;
        let size = self.size();
        let (kind, page) = filesystem::kind_and_page(&staged.file, staged.path())?;
        let mapped_only = kind == Kind::Hugetlbfs;
        if kind == Kind::Memory {
            // The file system's limit may be above the memory that is left: the kernel would kill
            // other processes to make room.
            check_memory(size)?;
        }
        staged.allocate(kind.file_length(size, page).unwrap_or(u64::MAX))?;
        let Made { manifest, sums } = if mapped || mapped_only {
            let memory = Mapping::file(&staged.file, length(size)?, page, true);
            let mut memory = memory.map_err(Error::io("map", staged.path()))?;
            memory.advise(self.pages);
            produce(Sink::Memory(&mut memory))?
        } else {
            produce(Sink::File(&staged.file))?
        };
        check_hash(self.image, known, manifest.hash)?;
        // All are on the disk before the first gets its name, to keep the time in between short.
        staged.sync()?;
        manifest.write(self.image, &sums)?;
        staged.commit()?;
        sync_directory(path)?;
        Ok(manifest)
    }

    fn put_segment(
        &self,
        key: i32,
        produce: impl FnOnce(Sink<'_>) -> Result<Made, Error>,
    ) -> Result<Manifest, Error> {
        // Locks out other creators, and records which segment this one has made, so that it can be
        // identified if the creator is killed.
        let lock = Staged::begin(self.image, 0o600)?;
        let name = segment_name(key);
        let old = if_there(Segment::find(key)).map_err(Error::io("access", &name))?;
        let unfinished = old.is_some_and(|old| !old.attached && lock.left == note(&old));
        let known = self.check_existing(old.is_some() && !unfinished, &name)?;
        if let Some(old) = old {
            check_owner(&name, &old.owners, 0)?;
            old.remove().map_err(Error::io("remove", &name))?;
        }
        let segment = self.new_segment(key, &name)?;
        let noted = (&lock.file).write_all(&note(&segment));
        let produced = noted
            .and_then(|()| Mapping::segment(&segment, true))
            .map_err(Error::io("attach", &name))
            .and_then(|mut memory| produce(Sink::Memory(&mut memory)))
            .and_then(|made| check_hash(self.image, known, made.manifest.hash).map(|()| made))
            .and_then(|made| match segment.set_mode(self.mode) {
                Ok(()) => Ok(made),
                Err(error) => Err(Error::io("protect", &name)(error)),
            })
            .and_then(|Made { manifest, sums }| {
                manifest.write(self.image, &sums).map(|()| manifest)
            });
        if produced.is_err() {
            let _ = segment.remove();
        }
        produced
    }

    /// A new segment on the requested pages, or the next best.
    fn new_segment(&self, key: i32, name: &Path) -> Result<Segment, Error> {
        let (mut pages, len) = (self.pages, length(self.size())?);
        loop {
            if !pages.is_reserved() {
                check_memory(self.size())?;
            }
            // Writable until it is filled.
            match (Segment::create(key, len, pages, 0o600), pages.fallback()) {
                (Ok(segment), _) => return Ok(segment),
                (Err(_), Some(next)) => pages = next,
                (Err(error), None) => return Err(Error::io("create", name)(error)),
            }
        }
    }

    /// Refuses files that renaming could not or should not replace, before long work and before the
    /// manifest is replaced.
    fn check_replaceable(path: &Path) -> Result<(), Error> {
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        is_regular_file(path, &found)?;
        let fixed = open_file(path).is_ok_and(|(file, _)| filesystem::is_immutable(&file));
        if fixed { Err(Error::Immutable { path: path.to_owned() }) } else { Ok(()) }
    }

    /// Refuses to replace unless requested. If there is a manifest without its image, returns the
    /// hash that the new image must have.
    fn check_existing(&self, exists: bool, place: &Path) -> Result<Option<RomHash>, Error> {
        check_place(self.image)?;
        if self.replace {
            Self::check_replaceable(&Manifest::path_for(self.image))?;
            return self.file().map_or(Ok(()), Self::check_replaceable).map(|()| None);
        }
        if exists {
            return Err(Error::Exists { path: place.to_owned() });
        }
        let manifest_exists = || Error::Exists { path: Manifest::path_for(self.image) };
        match Manifest::read(self.image) {
            Ok(known) if known.params == self.params => Ok(Some(known.hash)),
            // Another ROM's manifest, or a file that is not a manifest.
            Ok(_) | Err(Error::Manifest { .. }) => Err(manifest_exists()),
            Err(Error::NoManifest { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name of the place in errors.
    pub(crate) fn name(&self) -> PathBuf {
        self.location.name(self.image)
    }
}

/// The record of a segment while it is being filled.
fn note(segment: &Segment) -> Vec<u8> {
    format!("segment {} of {} bytes\n", segment.identifier(), segment.size).into_bytes()
}
