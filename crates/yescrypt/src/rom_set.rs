//! Several ROMs by name, so that a string can say which of them it needs.

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::Error;
use crate::rom::Rom;
use crate::rom_use::{MAX_LOOK_AHEAD, MAX_ROMS, RomId, RomMasks, RomUse};

/// One ROM of a hash as a string names it: which ROM, how much of it, and when it is read. [`RomUse`] has the ROM itself instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamedRom {
    /// The ROM's name, from its digest.
    pub id: RomId,
    /// NROM: the blocks of the hash's r that are used, a power of two above 1.
    pub nrom: u64,
    /// When it is read.
    pub masks: RomMasks,
    /// [`RomUse::look_ahead`]
    pub look_ahead: u32,
}

impl NamedRom {
    /// What yescrypt 1.1 does with a ROM: every odd step, no look-ahead.
    #[must_use]
    pub const fn new(id: RomId, nrom: u64) -> Self {
        NamedRom { id, nrom, masks: RomMasks::YESCRYPT, look_ahead: 0 }
    }

    /// Refuses what no string can say: values that the algorithm does not define, and masks under which nothing is read.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let RomMasks { fill, mix } = self.masks;
        if !self.nrom.is_power_of_two() || self.nrom < 2 {
            return Err(Error::invalid("NROM", self.nrom, "a power of two above 1"));
        }
        if mix != 0 && mix & 1 == 0 {
            return Err(Error::invalid("ROM mask of the second loop", mix.into(), "0 or odd"));
        }
        if fill == 0 && mix == 0 {
            return Err(Error::invalid(
                "ROM masks",
                0,
                "such that one loop at least reads the ROM",
            ));
        }
        if self.look_ahead > MAX_LOOK_AHEAD {
            return Err(Error::invalid("look-ahead", self.look_ahead.into(), "at most 63 steps"));
        }
        Ok(())
    }
}

/// The first ROM of a list that is read in no step of either loop, because one before it is read in all of its steps.
///
/// A mask's steps are those odd ones that have none of its other bits. The largest number of them is a step of another mask exactly if that has no
/// further bits, and then so are all of them.
pub(crate) fn never_read(list: &[NamedRom]) -> Option<usize> {
    let reads = |mask: u32, step: u32| mask & step == 1;
    let first = |at: usize, mask: fn(&NamedRom) -> u32| {
        let last_step = !mask(&list[at]) | 1;
        list.iter().position(|rom| reads(mask(rom), last_step)) == Some(at)
    };
    // Step 0 of the first loop reads the end of the first ROM with a mask for it.
    let opens = list.iter().position(|rom| rom.masks.fill != 0);
    (0..list.len()).find(|&at| {
        opens != Some(at) && !first(at, |rom| rom.masks.fill) && !first(at, |rom| rom.masks.mix)
    })
}

impl From<&RomUse<'_>> for NamedRom {
    fn from(used: &RomUse<'_>) -> Self {
        let &RomUse { rom, nrom, masks, look_ahead } = used;
        NamedRom { id: rom.id(), nrom, masks, look_ahead }
    }
}

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
    roms: Vec<(RomId, Rom<'a>)>,
    active: Option<RomId>,
    unnamed: Option<Rom<'a>>,
}

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
            Some((_, known)) if known.digest().ct_eq(&rom.digest()).into() => {
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
            None => self.roms.push((id, rom)),
        }
        Ok(id)
    }

    /// Takes a ROM out; whether it was there. New strings have no ROM by name until another one is made active.
    pub fn detach(&mut self, id: RomId) -> bool {
        let before = self.roms.len();
        self.roms.retain(|(known, _)| *known != id);
        self.active = self.active.filter(|active| *active != id);
        self.unnamed = self.unnamed.filter(|rom| rom.id() != id);
        before != self.roms.len()
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

    /// Takes this ROM, which need not be attached, for strings that name none, and for new ones as long as no ROM is active.
    pub fn set_unnamed(&mut self, rom: Rom<'a>) {
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

    /// The ROM of this name, the one for strings without a name included.
    ///
    /// # Errors
    /// [`Error::RomNotLoaded`]
    pub fn rom(&self, id: RomId) -> Result<Rom<'a>, Error> {
        let attached = self.roms.iter().find(|(known, _)| *known == id).map(|(_, rom)| *rom);
        let unnamed = || self.unnamed.filter(|rom| rom.id() == id);
        attached.or_else(unnamed).ok_or(Error::RomNotLoaded { id })
    }

    /// The ROM for strings that name none.
    pub(crate) const fn unnamed(&self) -> Option<Rom<'a>> {
        self.unnamed
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
