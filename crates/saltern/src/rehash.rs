//! Which stored strings differ from new ones, and how a login replaces them.

use std::fmt;

use saltern_yescrypt::Scheme as Ours;
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::params::Mode;
use saltern_yescrypt::rom::{RomId, RomReading};
use saltern_yescrypt::{HashString, Params};

use crate::scheme::Scheme;
use crate::stored::Hash;
use crate::strength::Strength;

/// The ways in which a stored string differs from a new one.
///
/// A string of another scheme that is stronger than new hashes is not outdated, and is kept, unless
/// [`Replace`] says otherwise: Argon2id with the usual 64 MiB, for example, is stronger than
/// yescrypt with 16 MiB. Strength is memory times work; ROMs are not counted. Guessing
/// passwords against a wrapped hash takes both hashes, so its strength is that of the stronger one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Reasons {
    /// It is of another scheme, and not stronger than a new hash (or [`Replace`] says so), or the
    /// policy does not accept it.
    pub scheme: bool,
    /// It is weaker than a new hash.
    pub cost: bool,
    /// It is weaker than the floor.
    pub floor: bool,
    /// Its salt is shorter than the policy asks for.
    pub salt: bool,
    /// It is not encrypted with the active key, or is encrypted although no key is active. This can
    /// be changed without the password.
    pub key: bool,
    /// It is not sealed with the active key, or is sealed although no key is active. This can be
    /// changed without the password.
    pub seal: bool,
    /// It does not use the active ROM, or uses a ROM although none is active.
    pub rom: bool,
    /// It wraps a hash of another scheme that is not stronger than a new hash (or [`Replace`] says
    /// so).
    pub wrapped: bool,
}

impl Reasons {
    /// Whether there is any reason to replace the string.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.key || self.seal || self.needs_password()
    }

    /// Whether there is a reason that only a login can remove, because that needs the password.
    #[must_use]
    pub const fn needs_password(&self) -> bool {
        let Reasons { scheme, cost, floor, salt, rom, wrapped, key: _, seal: _ } = *self;
        scheme || cost || floor || salt || rom || wrapped
    }

    /// The names of the reasons, for people and in JSON.
    ///
    /// ```
    /// use saltern::{Policy, table::Table};
    /// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    /// let reasons = Table::open(&Policy::default())?.needs_rehash(stored)?;
    /// assert_eq!(reasons.words(), ["cost"]);
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn words(&self) -> Vec<&'static str> {
        let Reasons { scheme, cost, floor, salt, key, seal, rom, wrapped } = *self;
        let all = [
            (scheme, "scheme"),
            (cost, "cost"),
            (floor, "floor"),
            (salt, "salt"),
            (key, "key"),
            (seal, "seal"),
            (rom, "rom"),
            (wrapped, "wrapped"),
        ];
        all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect()
    }
}

/// Which stored strings of other schemes a match replaces with a new hash.
///
/// Its text is what policy files have:
///
/// ```
/// use saltern::policy::{Replace, Scheme};
/// let replace = Replace::Schemes(vec![Scheme::Bcrypt, Scheme::Hex]);
/// assert_eq!(replace.to_string(), r#"["bcrypt", "hex"]"#);
/// assert_eq!(Replace::default().to_string(), r#""weaker""#);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Replace {
    /// `weaker`: those that are not stronger than new hashes. The default.
    #[default]
    Weaker,
    /// `others`: all of them, so that a table has one scheme in the end.
    Others,
    /// A list of schemes: those of these schemes, wrapped or not, and of the others those that are
    /// not stronger than new hashes. Each must be in [`Policy::schemes`](crate::Policy::schemes),
    /// and none may be yescrypt, of which new hashes are.
    Schemes(Vec<Scheme>),
}

impl Replace {
    /// Whether it replaces strings of other schemes even if they are stronger than new hashes.
    fn takes_stronger(&self, scheme: Scheme) -> bool {
        match self {
            Replace::Weaker => false,
            Replace::Others => true,
            Replace::Schemes(named) => named.contains(&scheme),
        }
    }
}

impl fmt::Display for Replace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replace::Weaker => f.write_str("\"weaker\""),
            Replace::Others => f.write_str("\"others\""),
            Replace::Schemes(named) => {
                let names: Vec<_> = named.iter().map(|scheme| format!("\"{scheme}\"")).collect();
                write!(f, "[{}]", names.join(", "))
            }
        }
    }
}

/// The form of new hashes.
#[derive(Clone, Debug)]
pub(crate) struct NewHashForm {
    /// With the NROM of the active ROM.
    pub(crate) params: Params,
    pub(crate) floor: Strength,
    pub(crate) min_salt: usize,
    pub(crate) replace: Replace,
    pub(crate) key: Option<KeyId>,
    /// Whether strings without the name of a key are taken to be encrypted.
    pub(crate) assumes_key: bool,
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
    /// NROM for all of it with this r; `None` if there is no such number.
    pub(crate) fn blocks(self, r: u32) -> Option<u64> {
        RomReading::whole(self.size, r).map(|whole| whole.nrom)
    }
}

impl NewHashForm {
    /// The ways in which a stored hash differs from a new one.
    pub(crate) fn reasons(&self, hash: &Hash) -> Reasons {
        let (stored, new) = (Strength::of(hash), Strength::of_params(&self.params));
        let mut reasons = Reasons {
            cost: stored < new,
            floor: stored < self.floor,
            salt: hash.salt() < self.min_salt,
            key: hash.ours().is_some_and(|ours| self.other_key(ours)),
            ..Reasons::default()
        };
        match hash {
            Hash::Ours(ours) if like_new(ours) => reasons.rom = self.other_rom(ours),
            Hash::Ours(_) | Hash::Foreign(_) => {
                reasons.scheme = stored <= new || self.takes_stronger(hash);
            }
            Hash::Wrapped(_, outer) => {
                reasons.wrapped = !self.inner_is_kept(hash);
                reasons.rom = reasons.wrapped && self.other_rom(outer);
            }
        }
        reasons
    }

    /// Whether a string should be encrypted with another key than it is. Without an active key it
    /// should not be encrypted; but if strings without a key name are assumed to be encrypted,
    /// decrypting a string would make it useless.
    pub(crate) fn other_key(&self, ours: &HashString) -> bool {
        let setting = ours.setting();
        let applicable = match setting.scheme() {
            Ours::Extended => true,
            Ours::Yescrypt => self.key.is_some() || !self.assumes_key,
            _ => false,
        };
        applicable && setting.key_id() != self.key
    }

    /// Whether a hash of another scheme is replaced even if it is stronger than new ones.
    fn takes_stronger(&self, hash: &Hash) -> bool {
        self.replace.takes_stronger(hash.scheme())
    }

    fn other_rom(&self, ours: &HashString) -> bool {
        let setting = ours.setting();
        let rom = self.rom.and_then(|rom| Some((rom.id, rom.blocks(setting.params().r)?)));
        let stored = (setting.rom_id(), setting.params().nrom);
        let listed = setting.roms().first();
        stored != rom.map_or((None, 0), |(id, blocks)| (Some(id), blocks))
            || listed.is_some_and(|named| self.rom.is_none_or(|rom| rom.id != named.id))
    }

    /// Whether a hash of another scheme is kept because it is stronger than new ones.
    pub(crate) fn keeps(&self, hash: &Hash) -> bool {
        let other = match hash {
            Hash::Ours(ours) => !like_new(ours),
            Hash::Foreign(_) => true,
            Hash::Wrapped(..) => return self.inner_is_kept(hash),
        };
        let stronger = Strength::of(hash) > Strength::of_params(&self.params);
        other && stronger && !self.takes_stronger(hash)
    }

    /// Whether the part of a hash that is of another scheme makes it stronger than new ones: it has
    /// no successor, which would be weaker.
    fn inner_is_kept(&self, hash: &Hash) -> bool {
        if self.takes_stronger(hash) {
            return false;
        }
        let strength = Strength::of(hash);
        let ours = |ours: &HashString| Strength::of_params(ours.setting().params());
        strength > Strength::of_params(&self.params)
            && hash.ours().is_none_or(|hash| ours(hash) < strength)
    }

    /// The parameters of the hash that replaces a stored one: those of new ones, or its own if it
    /// is stronger; `None` if nothing replaces it.
    pub(crate) fn successor(&self, hash: &Hash, outdated: Reasons) -> Option<Params> {
        if !outdated.needs_password() || self.inner_is_kept(hash) {
            return None;
        }
        let strength = match self.takes_stronger(hash) {
            false => Some(Strength::of(hash)),
            // What is of another scheme does not count.
            true => hash
                .ours()
                .filter(|ours| like_new(ours))
                .map(|ours| Strength::of_params(ours.setting().params())),
        };
        if strength.is_none_or(|strength| strength <= Strength::of_params(&self.params)) {
            return Some(self.params);
        }
        let own = hash.ours()?.setting();
        let mut params = *own.params();
        // New strings cannot express another scheme of ours that is stronger.
        let sayable = own.scheme() == Ours::Yescrypt && params.flags() == self.params.flags();
        params.nrom = match self.rom {
            Some(rom) => rom.blocks(params.r)?,
            None => 0,
        };
        sayable.then_some(params)
    }
}

/// Whether a string is of the scheme and the mode of new ones.
fn like_new(ours: &HashString) -> bool {
    ours.setting().scheme() == Ours::Yescrypt && ours.setting().params().mode == Mode::Rw
}
