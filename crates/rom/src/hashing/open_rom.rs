//! An open ROM, wherever its blocks are.

use std::path::Path;
use std::sync::Arc;

use saltern_yescrypt::rom::Rom;

use crate::files::located::Opened;
use crate::format::identity::RomHash;
use crate::operations::attach::{attach, attach_opened};
use crate::{Access, AttachOptions, Attached, Error, Manifest, RomFile};

/// An open ROM.
#[derive(Clone, Debug)]
pub enum OpenRom {
    /// In its file, read block by block.
    File(Arc<RomFile>),
    /// In memory.
    Memory(Arc<Attached>),
}

impl OpenRom {
    /// Opens the ROM whose manifest is `image.json`: with an [`Access`], in memory; without, an
    /// image on a disk stays in its file ([`RomFile`]), and one in shared memory is mapped
    /// ([`Access::Auto`]), so it is not read in full. With `expect`, any other ROM is refused.
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

    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        match self {
            OpenRom::File(file) => file.manifest(),
            OpenRom::Memory(attached) => attached.manifest(),
        }
    }

    /// Remarks for the operator: what was not available, and what is used instead.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            OpenRom::File(file) => file.notes(),
            OpenRom::Memory(attached) => attached.notes(),
        }
    }

    /// The ROM for sets and hashers. Only a pool that has [`RomReaders`](crate::RomReaders)
    /// computes with one in a file.
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
