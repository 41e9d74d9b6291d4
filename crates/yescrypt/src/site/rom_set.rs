//! Several ROMs by id, so that a string can say which of them it needs.

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::core::rom::Rom;
use crate::error::Error;
use crate::ids::RomId;

/// The ROMs of a site: any number with their ids, one of them active, and perhaps one for strings
/// that name none.
///
/// New `$y$` strings with NROM use the active ROM and carry its id. A stored string that names a
/// ROM is computed with that one; if it is not attached, the result is [`Error::RomNotLoaded`]. A
/// `$y$` string that has NROM and names no ROM does not say which it needs: it is computed with the
/// assumed ROM ([`RomSet::assume_unnamed`]). Without one the result is [`Error::RomUnavailable`],
/// since any other ROM would look like a wrong password.
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
/// To change the ROMs of a service, make a new [`Hasher`](crate::Hasher) with a changed copy of the
/// set, and hash with it from then on. The memory of a detached ROM is freed when the last hash
/// that uses it has ended and the last hasher that holds it is dropped.
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

    /// Adds a ROM under an id without making it the active one. A second copy of a ROM replaces the
    /// first.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if an attached ROM has this id and another digest,
    /// [`Error::BufferLength`] if it has the same digest and another size: one of them is not a
    /// whole copy.
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

    /// Removes a ROM; returns whether it was there. If it was the active one, new strings name no
    /// ROM until another is made active.
    pub fn detach(&mut self, id: RomId) -> bool {
        let Some(at) = self.roms.iter().position(|(known, _)| *known == id) else { return false };
        let (_, rom) = self.roms.remove(at);
        self.active = self.active.filter(|active| *active != id);
        self.unnamed.take_if(|unnamed| *unnamed == rom);
        true
    }

    /// Uses this ROM for new strings from now on.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`] if no ROM has this id.
    pub fn activate(&mut self, id: RomId) -> Result<(), Error> {
        self.rom(id)?;
        self.active = Some(id);
        Ok(())
    }

    /// Assumes that strings that need a ROM and name none need this one, which need not be
    /// attached. As long as no ROM is active, new strings use it too, without naming it. Nothing
    /// can check the assumption: with another ROM of the same size, right passwords do not match.
    pub fn assume_unnamed(&mut self, rom: Rom) {
        self.unnamed = Some(rom);
    }

    /// The id of the active ROM.
    #[must_use]
    pub const fn active(&self) -> Option<RomId> {
        self.active
    }

    /// The ids of all ROMs, in the order in which they were attached.
    pub fn ids(&self) -> impl Iterator<Item = RomId> {
        self.roms.iter().map(|(id, _)| *id)
    }

    /// The ROM with this id.
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
