//! Which stored strings are not what new ones are, and what becomes of them at a login.

use saltern_yescrypt::Scheme as Ours;
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::params::Mode;
use saltern_yescrypt::rom::RomId;
use saltern_yescrypt::{HashString, Params};

use crate::stored::Hash;
use crate::strength::Strength;

/// In what a stored string is not what a new one would be.
///
/// What is stronger than new hashes is not outdated for that: it is kept. Strength is memory times
/// work, ROMs not counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Reasons {
    /// It is of another scheme, and not stronger than a new hash.
    pub scheme: bool,
    /// It is weaker than a new hash.
    pub cost: bool,
    /// It is weaker than the floor.
    pub floor: bool,
    /// Its salt is shorter than the policy wants.
    pub salt: bool,
    /// It is encrypted with another key than the active one, or not, where there is one, or
    /// encrypted where there is none. No password is needed to change that.
    pub key: bool,
    /// It needs another ROM than the active one, or none, where there is one.
    pub rom: bool,
    /// It is a hash over a hash.
    pub wrapped: bool,
}

impl Reasons {
    /// Whether there is any.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.key || self.needs_password()
    }

    /// Whether there is one that only a login can do away with.
    #[must_use]
    pub const fn needs_password(&self) -> bool {
        let Reasons { scheme, cost, floor, salt, rom, wrapped, key: _ } = *self;
        scheme || cost || floor || salt || rom || wrapped
    }
}

/// What new hashes are.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// With the NROM of the active ROM.
    pub(crate) params: Params,
    pub(crate) floor: Strength,
    pub(crate) min_salt: usize,
    pub(crate) key: Option<KeyId>,
    pub(crate) rom: Option<ActiveRom>,
}

/// A ROM for new hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ActiveRom {
    pub(crate) id: RomId,
    /// Bytes of its image.
    pub(crate) size: u64,
}

impl ActiveRom {
    /// NROM of all of it for this r; none if there is no such number.
    pub(crate) fn blocks(self, r: u32) -> Option<u64> {
        let block = 128 * u64::from(r);
        let blocks = self.size.checked_div(block)?;
        (blocks > 1 && blocks.is_power_of_two() && blocks * block == self.size).then_some(blocks)
    }
}

impl Target {
    /// In what a stored hash is not what a new one would be.
    pub(crate) fn reasons(&self, hash: &Hash) -> Reasons {
        let (stored, new) = (Strength::of(hash), Strength::of_params(&self.params));
        let mut reasons = Reasons {
            cost: stored < new,
            floor: stored < self.floor,
            salt: hash.salt() < self.min_salt,
            ..Reasons::default()
        };
        match hash {
            Hash::Foreign(_) => reasons.scheme = stored <= new,
            Hash::Ours(ours) => {
                if ours.setting().scheme() == Ours::Yescrypt
                    && ours.setting().params().mode == Mode::Rw
                {
                    self.compare(ours, &mut reasons);
                } else {
                    reasons.scheme = stored <= new;
                }
            }
            Hash::Wrapped(_, ours) => {
                self.compare(ours, &mut reasons);
                reasons.wrapped = true;
            }
        }
        reasons
    }

    /// Keys and ROMs of strings that can have them.
    fn compare(&self, ours: &HashString, reasons: &mut Reasons) {
        let setting = ours.setting();
        reasons.key = setting.key_id() != self.key;
        let rom = self.rom.and_then(|rom| Some((rom.id, rom.blocks(setting.params().r)?)));
        let stored = (setting.rom_id(), setting.params().nrom);
        reasons.rom = stored != rom.map_or((None, 0), |(id, blocks)| (Some(id), blocks));
        if let Some(named) = setting.roms().first() {
            reasons.rom |= self.rom.is_none_or(|rom| rom.id != named.id);
        }
    }

    /// The parameters of the hash that takes the place of a stored one: those of new ones, or its
    /// own, if it is stronger; none if nothing takes its place.
    pub(crate) fn successor(&self, hash: &Hash) -> Option<Params> {
        if !self.reasons(hash).needs_password() {
            return None;
        }
        if Strength::of(hash) <= Strength::of_params(&self.params) {
            return Some(self.params);
        }
        // Another scheme that is stronger has no successor: it cannot be said in ours.
        let own = hash.ours()?.setting();
        let mut params = *own.params();
        let sayable = own.scheme() == Ours::Yescrypt && params.flags() == self.params.flags();
        params.nrom = match self.rom {
            Some(rom) => rom.blocks(params.r)?,
            None => 0,
        };
        sayable.then_some(params)
    }
}
