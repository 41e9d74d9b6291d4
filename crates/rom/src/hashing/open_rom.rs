//! A ROM that is at hand, wherever its blocks are.

use std::path::Path;
use std::sync::Arc;

use saltern_yescrypt::rom::Rom;

use crate::files::opened::Opened;
use crate::format::identity::RomHash;
use crate::operations::attach::{attach, attach_opened};
use crate::{Access, AttachOptions, Attached, Error, Manifest, RomFile};

/// A ROM that is at hand.
#[derive(Clone, Debug)]
pub enum OpenRom {
    /// In its file, to be read block by block.
    File(Arc<RomFile>),
    /// In memory.
    Memory(Arc<Attached>),
}

impl OpenRom {
    /// Opens the ROM whose manifest is `image.json`, with an [`Access`] in memory. Without one not
    /// all of it is read: an image on a disk stays in its file ([`RomFile`]), one in shared memory
    /// is mapped ([`Access::Auto`]). With `expect` no other ROM will do.
    ///
    /// # Errors
    /// Those of [`RomFile::open`] or [`attach`](crate::attach()).
    pub fn open(
        image: &Path,
        access: Option<Access>,
        expect: Option<RomHash>,
    ) -> Result<Self, Error> {
        if let Some(access) = access {
            let mut options = AttachOptions::new();
            (options.access, options.expect) = (access, expect);
            return Ok(attach(image, &options)?.into());
        }
        let opened = Opened::open(image, expect)?;
        if opened.is_on_disk() {
            return Ok(RomFile::of(image, opened)?.into());
        }
        Ok(attach_opened(image, &opened, &AttachOptions::new())?.into())
    }

    /// What its manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        match self {
            OpenRom::File(file) => file.manifest(),
            OpenRom::Memory(attached) => attached.manifest(),
        }
    }

    /// What could not be had, and what there is instead: for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            OpenRom::File(file) => file.notes(),
            OpenRom::Memory(attached) => attached.notes(),
        }
    }

    /// The ROM for sets and hashers. With one in a file only a pool computes, that has
    /// [`RomReaders`](crate::RomReaders).
    ///
    /// # Errors
    /// Those of [`RomFile::rom`]; [`Error::Yescrypt`] for memory that holds no ROM.
    pub fn rom(&self) -> Result<Rom, Error> {
        match self {
            OpenRom::File(file) => file.rom(),
            OpenRom::Memory(attached) => Ok(Rom::new(Arc::clone(attached))?),
        }
    }
}

impl From<RomFile> for OpenRom {
    fn from(rom: RomFile) -> Self {
        OpenRom::File(Arc::new(rom))
    }
}

impl From<Attached> for OpenRom {
    fn from(rom: Attached) -> Self {
        OpenRom::Memory(Arc::new(rom))
    }
}

impl From<Arc<Attached>> for OpenRom {
    fn from(rom: Arc<Attached>) -> Self {
        OpenRom::Memory(rom)
    }
}
