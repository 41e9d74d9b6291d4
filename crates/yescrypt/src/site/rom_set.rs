//! Several ROMs by name, so that a string can say which of them it needs.

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::core::rom::Rom;
use crate::error::Error;
use crate::ids::RomId;

/// The ROMs of a site: any number by their names, one of them active, and perhaps one for strings
/// that name none.
///
/// The active ROM is for new `$y$` strings with NROM, which then carry its name. A stored string
/// that names a ROM is computed with that one, or is an [`Error::RomNotLoaded`]. A `$y$` string
/// that has NROM and names no ROM does not say which it needs: it is computed with the ROM that is
/// assumed ([`RomSet::assume_unnamed`]), and without one it is an [`Error::RomUnavailable`], since
/// any other ROM would look like a wrong password.
///
/// ```
/// use saltern_yescrypt::{Hasher, Params, Workspace, rom::{Rom, RomImage, RomParams, RomSet}};
/// let mut workspace = Workspace::new();
/// let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut workspace)?;
/// let mut roms = RomSet::new();
/// let id = "00ff1122334455aa".parse()?;
/// roms.attach(id, Rom::new(image)?)?;
/// roms.activate(id)?;
/// let mut params = Params::from_cost(1)?;
/// params.nrom = 64;
/// let hasher = Hasher::new().with_params(params).with_roms(roms);
/// let stored = hasher.hash(&mut workspace, b"correct horse")?;
/// assert!(stored.starts_with(&format!("{{rom={id}}}$y$")));
/// assert!(hasher.verify(&mut workspace, b"correct horse", &stored)?);
/// assert!(Hasher::new().verify(&mut workspace, b"correct horse", &stored).is_err());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
///
/// A set is a value: whoever changes the ROMs of a service makes a new [`Hasher`](crate::Hasher)
/// with a changed copy of the set, and hashes from then on with that one. The memory of a ROM that
/// was taken out goes back when the last hash that uses it has ended and the last hasher that has
/// it is gone.
#[derive(Clone, Default, Debug)]
pub struct RomSet {
    roms: Vec<(RomId, Rom)>,
    active: Option<RomId>,
    unnamed: Option<Rom>,
}

impl RomSet {
    /// No ROMs.
    #[must_use]
    pub const fn new() -> Self {
        RomSet { roms: Vec::new(), active: None, unnamed: None }
    }

    /// Adds a ROM under a name; this does not make it the active one. A second copy of a ROM takes
    /// the place of the first.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a ROM with the name and not the digest of one that is there,
    /// [`Error::BufferLength`] for one with its digest and another size, which is no whole copy.
    pub fn attach(&mut self, id: RomId, rom: Rom) -> Result<(), Error> {
        let Some((_, known)) = self.roms.iter_mut().find(|(known, _)| *known == id) else {
            self.roms.push((id, rom));
            return Ok(());
        };
        if !bool::from(known.digest().ct_eq(rom.digest())) {
            let expected = "1: make one of these ROMs again from another seed";
            return Err(Error::invalid("number of ROMs with one id", 2, expected));
        }
        // The end of an image has the digest of the whole.
        if known.size() != rom.size() {
            return Err(Error::BufferLength { needed: known.size(), actual: rom.size() });
        }
        *known = rom;
        Ok(())
    }

    /// Takes a ROM out; whether it was there. New strings have no ROM by name until another one is
    /// made active.
    pub fn detach(&mut self, id: RomId) -> bool {
        let Some(at) = self.roms.iter().position(|(known, _)| *known == id) else { return false };
        let (_, rom) = self.roms.remove(at);
        self.active = self.active.filter(|active| *active != id);
        self.unnamed.take_if(|unnamed| *unnamed == rom);
        true
    }

    /// Takes this ROM for new strings from now on.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`] if there is none of this name.
    pub fn activate(&mut self, id: RomId) -> Result<(), Error> {
        self.rom(id)?;
        self.active = Some(id);
        Ok(())
    }

    /// Assumes that strings which need a ROM and name none need this one, which need not be
    /// attached. As long as no ROM is active it is also for new strings, which then do not name it.
    /// Nothing can check that: with another ROM of the same size, right passwords do not match.
    pub fn assume_unnamed(&mut self, rom: Rom) {
        self.unnamed = Some(rom);
    }

    /// The name of the active ROM.
    #[must_use]
    pub const fn active(&self) -> Option<RomId> {
        self.active
    }

    /// The names of all ROMs, in the order in which they were attached.
    pub fn ids(&self) -> impl Iterator<Item = RomId> {
        self.roms.iter().map(|(id, _)| *id)
    }

    /// The ROM of this name.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`]
    pub fn rom(&self, id: RomId) -> Result<&Rom, Error> {
        let found = self.roms.iter().find(|(known, _)| *known == id);
        found.map(|(_, rom)| rom).ok_or(Error::RomNotLoaded { id })
    }

    /// The ROM for strings that name none.
    #[must_use]
    pub const fn unnamed(&self) -> Option<&Rom> {
        self.unnamed.as_ref()
    }
}
