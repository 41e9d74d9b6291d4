//! Several ROMs by name, so that a string can say which of them it needs.

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::Error;
use crate::RomId;
use crate::core::reading::{MAX_ROMS, RomUse};
use crate::core::rom::Rom;
use crate::text::roms::NamedRom;

/// The ROMs of a site: any number by their names, one of them active, and perhaps one for strings that name none.
///
/// The active ROM is for new `$y$` strings with NROM, which then carry its name. A stored string that names a ROM is computed with that one, or
/// is an [`Error::RomNotLoaded`]. A `$y$` string that has NROM and names no ROM does not say which it needs: it is computed with
/// the ROM that [`RomSet::set_unnamed`] chose, and without one it is an [`Error::RomUnavailable`], since any other ROM would look like
/// a wrong password.
///
/// ```
/// use saltern_yescrypt::{Hasher, Params, Rom, RomImage, RomParams, RomSet, Workspace};
/// let mut workspace = Workspace::new();
/// let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut workspace)?;
/// let mut roms = RomSet::new();
/// let id = roms.attach(Rom::new(&image)?)?;
/// roms.activate(id)?;
/// let mut params = Params::from_cost(1)?;
/// params.nrom = 64;
/// let hasher = Hasher::new().with_params(params).with_roms(roms);
/// let stored = hasher.hash(&mut workspace, b"correct horse")?;
/// assert!(stored.starts_with(&format!("{{rom={id}}}$y$")));
/// assert!(hasher.verify(&mut workspace, b"correct horse", stored.as_bytes())?);
/// assert!(Hasher::new().verify(&mut workspace, b"correct horse", stored.as_bytes()).is_err());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct RomSet<'a> {
    roms: Vec<Held<'a>>,
    active: Option<RomId>,
    unnamed: Option<Held<'a>>,
}

/// A ROM's name, and the ROM itself if it is in memory.
type Held<'a> = (RomId, Option<Rom<'a>>);

impl<'a> RomSet<'a> {
    /// No ROMs.
    #[must_use]
    pub const fn new() -> Self {
        RomSet { roms: Vec::new(), active: None, unnamed: None }
    }

    /// Adds a ROM and returns its name; this does not make it the active one. A second copy of a ROM takes the place of the first.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a ROM with the name and not the digest of one that is there, [`Error::BufferLength`] for one with its
    /// digest and another size, which is no whole copy.
    pub fn attach(&mut self, rom: Rom<'a>) -> Result<RomId, Error> {
        let id = rom.id();
        match self.roms.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known @ None)) => *known = Some(rom),
            Some((_, Some(known))) if known.digest().ct_eq(&rom.digest()).into() => {
                // The end of an image has the digest of the whole.
                if known.size() != rom.size() {
                    let (needed, actual) = (known.size() as u64, rom.size() as u64);
                    return Err(Error::BufferLength { needed, actual });
                }
                *known = rom;
            }
            Some(_) => {
                let expected = "1: make one of these ROMs again from another seed";
                return Err(Error::invalid("number of ROMs with one id", 2, expected));
            }
            None => self.roms.push((id, Some(rom))),
        }
        Ok(id)
    }

    /// Adds a ROM by its name alone: it is not in memory, and whoever computes what [`Hasher::plan`](crate::Hasher::plan) says has it. For everything else it
    /// is not loaded. Changes nothing if there is one of this name.
    pub fn attach_elsewhere(&mut self, id: RomId) {
        if self.known(id).is_err() {
            self.roms.push((id, None));
        }
    }

    /// Takes a ROM out; whether it was there. New strings have no ROM by name until another one is made active.
    pub fn detach(&mut self, id: RomId) -> bool {
        let before = self.roms.len();
        self.roms.retain(|(known, _)| *known != id);
        self.active = self.active.filter(|active| *active != id);
        self.unnamed = self.unnamed.filter(|(unnamed, _)| *unnamed != id);
        before != self.roms.len()
    }

    /// Takes this ROM for new strings from now on.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`] if there is none of this name.
    pub fn activate(&mut self, id: RomId) -> Result<(), Error> {
        self.known(id)?;
        self.active = Some(id);
        Ok(())
    }

    /// Takes this ROM, which need not be attached, for strings that name none, and for new ones as long as no ROM is active.
    pub fn set_unnamed(&mut self, rom: Rom<'a>) {
        self.unnamed = Some((rom.id(), Some(rom)));
    }

    /// Takes the ROM of this name for strings that name none: as [`RomSet::set_unnamed`], for one that may be elsewhere.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`] if there is none of this name.
    pub fn set_unnamed_id(&mut self, id: RomId) -> Result<(), Error> {
        self.unnamed = Some(self.known(id)?);
        Ok(())
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

    /// The ROM of this name, the one for strings without a name included.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`]
    pub fn rom(&self, id: RomId) -> Result<Rom<'a>, Error> {
        self.known(id)?.1.ok_or(Error::RomNotLoaded { id })
    }

    /// The same for one that may be elsewhere.
    pub(crate) fn known(&self, id: RomId) -> Result<Held<'a>, Error> {
        let mut all = self.roms.iter().chain(&self.unnamed);
        all.find(|(known, _)| *known == id).copied().ok_or(Error::RomNotLoaded { id })
    }

    /// The ROM for strings that name none, if it is in memory.
    pub(crate) fn unnamed(&self) -> Option<Rom<'a>> {
        self.unnamed?.1
    }

    /// The name of the ROM for strings that name none.
    pub(crate) fn unnamed_id(&self) -> Option<RomId> {
        Some(self.unnamed?.0)
    }

    /// The ROMs themselves for those that a string names.
    pub(crate) fn resolve(&self, named: &[NamedRom]) -> Result<RomList<'a>, Error> {
        let mut list = RomList::default();
        for &NamedRom { id, nrom, masks, look_ahead } in named {
            list.push(RomUse { rom: self.rom(id)?, nrom, masks, look_ahead })?;
        }
        Ok(list)
    }
}

/// At most [`MAX_ROMS`] of something, in place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UpToFour<T>([Option<T>; MAX_ROMS]);

impl<T> Default for UpToFour<T> {
    fn default() -> Self {
        UpToFour([const { None }; MAX_ROMS])
    }
}

impl<T: Copy> UpToFour<T> {
    pub(crate) fn push(&mut self, item: T) -> Result<(), Error> {
        let expected = "at most 4";
        let refused = Error::invalid("number of ROMs", MAX_ROMS as u64 + 1, expected);
        *self.0.iter_mut().find(|place| place.is_none()).ok_or(refused)? = Some(item);
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        self.0.iter().copied().flatten()
    }
}

pub(crate) type RomList<'a> = UpToFour<RomUse<'a>>;

/// The ROMs of one computation.
#[derive(Clone, Copy)]
pub(crate) enum Roms<'a> {
    /// That of parameters with NROM, if they have one.
    Plain(Option<Rom<'a>>),
    /// A list, for parameters without NROM.
    List(RomList<'a>),
}

impl<'a> Roms<'a> {
    /// What tells the ROMs of computations apart that exist at the same time.
    pub(crate) fn places(&self) -> Places {
        let mut places = UpToFour::default();
        let place = |used: RomUse<'_>| Place {
            place: used.rom.place(),
            nrom: used.nrom,
            how: [used.masks.fill, used.masks.mix, used.look_ahead],
        };
        match self {
            Roms::Plain(rom) => places.0[0] = rom.map(|rom| place(RomUse::new(rom, 0))),
            Roms::List(list) => places.0 = list.0.map(|used| used.map(place)),
        }
        places
    }
}

/// Where a ROM is and how it is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    place: (usize, usize),
    nrom: u64,
    how: [u32; 3],
}

pub(crate) type Places = UpToFour<Place>;
