//! All ROMs that a process hashes with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use saltern_pool::source::BlockSources;
use saltern_yescrypt::rom::Rom;

use crate::{Attached, Backend, Error, OpenRom, RomReaders, RomScrubber};

/// The ROMs that a process hashes with: the sources from which its pool reads those that stay in
/// files, periodic checks of those in memory, and remarks for the operator.
///
/// ```
/// use std::time::Duration;
/// use saltern_rom::{Create, OpenRom, OpenRoms, Seed};
/// use saltern_yescrypt::rom::{RomParams, RomSet};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("site.rom");
/// # let seed = Seed::from_bytes(b"not a seed for real use")?;
/// # Create::new(RomParams::new(64, 32, 1), &seed).file(&path)?;
/// let (mut roms, mut set) = (OpenRoms::default(), RomSet::new());
/// let rom = OpenRom::open(&path, None, None)?;
/// set.attach(rom.manifest().id(), roms.add(&rom)?)?;
/// roms.notes().iter().for_each(|note| eprintln!("{note}"));
///
/// let mut config = saltern_pool::PoolConfig::default();
/// config.sources = roms.sources();
/// let tell = |rom: &saltern_rom::Attached, error: &saltern_rom::Error| {
///     eprintln!("the ROM {}: {error}", rom.id());
/// };
/// let _checks = roms.recheck(Duration::from_secs(600), tell);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct OpenRoms {
    readers: Option<Arc<RomReaders>>,
    in_memory: Vec<Arc<Attached>>,
    notes: Vec<String>,
}

impl OpenRoms {
    /// Adds a ROM, and returns it for sets and hashers. For the first one that stays in its file,
    /// tries the readers, to note what is not available.
    ///
    /// # Errors
    /// Those of [`OpenRom::rom`] and [`RomReaders::tried`].
    pub fn add(&mut self, rom: &OpenRom) -> Result<Rom, Error> {
        let named = |note| format!("the ROM {}: {note}", rom.manifest().id());
        self.notes.extend(rom.notes().iter().map(named));
        match rom {
            OpenRom::Memory(attached) => self.in_memory.push(Arc::clone(attached)),
            OpenRom::File(_) if self.readers.is_none() => {
                let tried = RomReaders::tried(Backend::Auto);
                let (readers, notes) =
                    tried.map_err(Error::io("read", "ROMs in files".as_ref()))?;
                self.notes.extend(notes);
                self.readers = Some(Arc::new(readers));
            }
            OpenRom::File(_) => {}
        }
        rom.rom()
    }

    /// The sources from which a pool reads ROMs that stay in files, if there are any:
    /// [`PoolConfig::sources`](saltern_pool::PoolConfig::sources).
    #[must_use]
    pub fn sources(&self) -> Option<Arc<dyn BlockSources>> {
        self.readers.clone().map(|readers| readers as _)
    }

    /// The ROMs in memory.
    #[must_use]
    pub fn in_memory(&self) -> &[Arc<Attached>] {
        &self.in_memory
    }

    /// Remarks for the operator, each with the ROM's id: what was not available, and what is used
    /// instead.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Checks all ROMs in memory from time to time: [`RomScrubber::start`]. `None` if there are
    /// none, or if no thread can be started: what hashes read is checked in any case.
    pub fn recheck(
        &self,
        age: Duration,
        tell: impl Fn(&Attached, &Error) + Send + 'static,
    ) -> Option<RomScrubber> {
        let roms = self.in_memory.clone();
        (!roms.is_empty()).then(|| RomScrubber::start(roms, age, tell).ok()).flatten()
    }
}

impl fmt::Debug for OpenRoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenRoms { readers, in_memory, .. } = self;
        f.debug_struct("OpenRoms").field("readers", readers).field("in_memory", in_memory).finish()
    }
}
