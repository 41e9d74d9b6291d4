//! Limits: what one hash may cost, checked before anything is allocated.

use alloc::vec::Vec;

use crate::core::flavor::Flavor;
use crate::core::params::{CheckedParams, Mode, block_bytes};
use crate::core::reading::RomUse;
use crate::text::crypt3;
use crate::{Error, Limit, Params};

/// Which flavours of pwxform may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlavorPolicy {
    /// Only the default one: what every crypt(3) computes.
    DefaultOnly,
    /// Those that a `$y$` string can express.
    Encodable,
    /// All that Saltern computes.
    Any,
}

/// Which strings and passwords are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// The `$y$` and `$7$` strings that crypt(3) on a current Linux accepts (libxcrypt 4.4): no
    /// byte outside printable ASCII, none of `!*:;\\`; only base-64 digits in the salt of `$7$`; at
    /// most 339 characters; N from 4 to 2^31 and, for RW, N / p of at least 4. Passwords have at
    /// most 511 bytes, none of them zero.
    ///
    /// Flavours and ROMs have their own limits: [`Limits::flavors`], [`Limits::rom`]. For strings
    /// that only Saltern computes, characters and length are checked too, except in extended
    /// strings, whose text leaves no choice.
    Crypt3,
    /// Everything that the format allows, as in the reference.
    Wide,
}

/// Ceilings on what one hash may cost, applied alike when hashing and when verifying, before
/// anything is allocated.
///
/// A stored hash string is untrusted input: without a ceiling, anyone who can write one decides how
/// much memory and time a login takes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of memory for one hash ([`Params::memory`]).
    pub max_memory: u64,
    /// Time, as [`Params::work`] counts it: in bytes mixed by the default flavour, about 2 GB a
    /// second on one processor. Reads of a ROM in a file count with their own cost, as do the
    /// checks of blocks read from a ROM in memory.
    pub max_work: u64,
    /// N.
    pub max_n: u64,
    /// r.
    pub max_r: u32,
    /// p.
    pub max_p: u32,
    /// t.
    pub max_t: u32,
    /// Bytes in a password.
    pub max_password: usize,
    /// Flavours.
    pub flavors: FlavorPolicy,
    /// Strings and passwords.
    pub syntax: Syntax,
    /// Whether parameters may name a ROM.
    pub rom: bool,
}

impl Limits {
    /// Limits suitable for a server; the default.
    ///
    /// | limit | value | reason |
    /// |---|---|---|
    /// | memory | 257 MiB | cost 9 takes 256 MiB and its S-boxes; about what a browser tab takes |
    /// | work | 2 GiB | about a second of one processor, with a ROM or without, whatever the parameters |
    /// | p | 64 | beyond every recommendation; each of them takes a little memory that is not counted |
    /// | N, r, t | any | bounded by the memory and the work |
    /// | password | 511 bytes | what crypt(3) takes |
    /// | flavours | the default | all that any other system computes |
    /// | syntax | that of crypt(3) | what others refuse is refused before it is stored |
    /// | ROM | allowed | the operator must have attached it |
    ///
    /// Of the strings that crypt(3) makes, these limits admit costs 1 to 9 of `$y$` and 6 to 8 of
    /// `$7$`. The costliest hash that is admitted takes about six times as long as the slowest of
    /// these: a second and a half.
    #[must_use]
    pub const fn server() -> Self {
        Limits {
            max_memory: 256 << 20 | 1 << 20,
            max_work: 2 << 30,
            max_p: 64,
            max_password: crypt3::PASSWORD,
            flavors: FlavorPolicy::DefaultOnly,
            syntax: Syntax::Crypt3,
            ..Self::unlimited()
        }
    }

    /// No ceiling but the algorithm's own: for trusted parameters only.
    #[must_use]
    pub const fn unlimited() -> Self {
        Limits {
            max_memory: u64::MAX,
            max_work: u64::MAX,
            max_n: u64::MAX,
            max_r: u32::MAX,
            max_p: u32::MAX,
            max_t: u32::MAX,
            max_password: usize::MAX,
            flavors: FlavorPolicy::Any,
            syntax: Syntax::Wide,
            rom: true,
        }
    }

    /// The ceiling of one quantity. For [`Limit::StoredRomR`], which the reader of the ROM decides,
    /// there is none here.
    ///
    /// ```
    /// use saltern_yescrypt::{Limit, Limits};
    /// let mut limits = Limits::server();
    /// assert_eq!(limits.ceiling(Limit::Password), 511);
    /// limits.set_ceiling(Limit::P, 4)?;
    /// assert_eq!(limits.max_p, 4);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    #[must_use]
    pub const fn ceiling(&self, what: Limit) -> u64 {
        match what {
            Limit::Memory => self.max_memory,
            Limit::Work => self.max_work,
            Limit::N => self.max_n,
            Limit::R => self.max_r as u64,
            Limit::P => self.max_p as u64,
            Limit::T => self.max_t as u64,
            Limit::Password => self.max_password as u64,
            Limit::StoredRomR => u64::MAX,
        }
    }

    /// Sets the ceiling of one quantity.
    ///
    /// # Errors
    /// [`Error::OverLimit`] for a value that this quantity cannot have; nothing changes then.
    pub fn set_ceiling(&mut self, what: Limit, value: u64) -> Result<(), Error> {
        let over = |limit| Error::OverLimit { what, value, limit };
        let narrow = u32::try_from(value).map_err(|_| over(u32::MAX.into()));
        match what {
            Limit::Memory => self.max_memory = value,
            Limit::Work => self.max_work = value,
            Limit::N => self.max_n = value,
            Limit::R => self.max_r = narrow?,
            Limit::P => self.max_p = narrow?,
            Limit::T => self.max_t = narrow?,
            Limit::Password => {
                self.max_password = usize::try_from(value).map_err(|_| over(usize::MAX as u64))?;
            }
            Limit::StoredRomR => return Err(over(0)),
        }
        Ok(())
    }

    /// Whether a password may be verified at all, regardless of the stored string. Checks its
    /// length, and for zero bytes. Called before the account is looked up, it does not reveal which
    /// accounts exist. New strings are stricter: crypt(3) refuses passwords of more than 511 bytes,
    /// but strings that other programs have made may be of longer ones.
    ///
    /// ```
    /// use saltern_yescrypt::{Error, Limits};
    /// let limits = Limits::server();
    /// assert!(limits.admit_password(b"correct horse").is_ok());
    /// assert!(matches!(limits.admit_password(&[b'x'; 512]), Err(Error::OverLimit { .. })));
    /// assert!(matches!(limits.admit_password(b"a\0b"), Err(Error::RefusedByCrypt { .. })));
    /// ```
    ///
    /// # Errors
    /// [`Error::OverLimit`] if it is longer than `max_password`; [`Error::RefusedByCrypt`] for a
    /// zero byte if `syntax` is [`Syntax::Crypt3`].
    pub fn admit_password(&self, password: &[u8]) -> Result<(), Error> {
        self.within(Limit::Password, password.len() as u64)?;
        self.admit_crypt3(crypt3::zero_byte_refused(password))
    }

    /// Whether a new string may be made of a password.
    ///
    /// # Errors
    /// Those of [`Limits::admit_password`]; [`Error::RefusedByCrypt`] for more than 511 bytes if
    /// `syntax` is [`Syntax::Crypt3`].
    pub fn admit_new_password(&self, password: &[u8]) -> Result<(), Error> {
        self.admit_password(password)?;
        self.admit_crypt3(crypt3::password_refused_by_crypt(password))
    }

    /// Refuses what crypt(3) refuses, with the reason, if the limits are as strict.
    pub(crate) fn admit_crypt3(&self, refused: Option<&'static str>) -> Result<(), Error> {
        match refused.filter(|_| self.syntax == Syntax::Crypt3) {
            Some(why) => Err(Error::RefusedByCrypt { why }),
            None => Ok(()),
        }
    }

    /// Refuses ROM reads that take longer than allowed, which the parameters do not reveal.
    pub(crate) fn admit_roms(&self, params: &Params, roms: &[RomUse]) -> Result<(), Error> {
        let block = block_bytes(params.r) as usize;
        let roms: Vec<_> = roms.iter().map(|used| used.cost(block)).collect();
        self.within(Limit::Work, params.work_with(&roms))
    }

    /// Refuses parameters that cost more than allowed.
    pub(crate) fn admit(&self, params: &Params) -> Result<(), Error> {
        self.within(Limit::N, params.n)?;
        self.within(Limit::R, params.r)?;
        self.within(Limit::P, params.p)?;
        self.within(Limit::T, params.t)?;
        self.within(Limit::Memory, params.memory())?;
        self.within(Limit::Work, params.work())?;
        let allowed = match self.flavors {
            _ if matches!(params.mode, Mode::Escrypt(_)) && params.flavor == Flavor::ESCRYPT => {
                true
            }
            FlavorPolicy::DefaultOnly => params.flavor == Flavor::DEFAULT,
            FlavorPolicy::Encodable => params.flags().is_some(),
            FlavorPolicy::Any => true,
        };
        if !allowed {
            return Err(Error::FlavorNotAllowed);
        }
        if params.nrom != 0 && !self.rom {
            return Err(Error::RomUnavailable { nrom: params.nrom });
        }
        Ok(())
    }

    fn within(&self, what: Limit, value: impl Into<u128>) -> Result<(), Error> {
        let (value, limit) = (u64::try_from(value.into()).unwrap_or(u64::MAX), self.ceiling(what));
        if value > limit { Err(Error::OverLimit { what, value, limit }) } else { Ok(()) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::server()
    }
}

impl Params {
    /// Checks whether a hash with these parameters can and may be computed.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what the algorithm does not define (section 17 of the
    /// specification), then [`Error::OverLimit`], [`Error::FlavorNotAllowed`] or
    /// [`Error::RomUnavailable`] for what `limits` forbids.
    pub fn check(&self, limits: &Limits) -> Result<CheckedParams, Error> {
        self.validate()?;
        limits.admit(self)?;
        self.sized()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_applied_one_by_one() {
        let fine = Params::yescrypt(1024, 8);
        assert!(fine.check(&Limits::server()).is_ok());
        let over = |change: fn(&mut Params), name: Limit| {
            let mut params = fine;
            change(&mut params);
            match params.check(&Limits::server()) {
                Err(Error::OverLimit { what: limited, .. }) => assert_eq!(limited, name),
                other => panic!("{name}: {other:?}"),
            }
        };
        over(|p| p.n = 1 << 19, Limit::Memory);
        over(|p| p.p = 65, Limit::P);
        over(|p| (p.n, p.t) = (1 << 17, 12), Limit::Work);
        over(|p| p.t = u32::MAX, Limit::Work);
        over(|p| (p.mode, p.n, p.r, p.t) = (Mode::Worm, 1 << 17, 8, 8), Limit::Work);
        let mut flavored = fine;
        flavored.flavor = Flavor::new(3, 4, 2, 12288).unwrap();
        assert_eq!(flavored.check(&Limits::server()), Err(Error::FlavorNotAllowed));
        let mut limits = Limits::server();
        limits.flavors = FlavorPolicy::Encodable;
        assert!(flavored.check(&limits).is_ok());
        flavored.flavor = Flavor::new(2, 4, 2, 12288).unwrap();
        assert_eq!(flavored.check(&limits), Err(Error::FlavorNotAllowed));
        limits.rom = false;
        let mut with_rom = fine;
        with_rom.nrom = 1024;
        assert_eq!(with_rom.check(&limits), Err(Error::RomUnavailable { nrom: 1024 }));
    }

    #[test]
    fn every_cost_of_the_default_scheme_up_to_nine_is_within_a_servers_limits() {
        for cost in 1..=11 {
            let admitted = Params::from_cost(cost).unwrap().check(&Limits::server()).is_ok();
            assert_eq!(admitted, cost <= 9, "cost {cost}");
        }
        for cost in 6..=11 {
            let params = Params::scrypt_from_cost(cost).unwrap();
            assert_eq!(params.check(&Limits::server()).is_ok(), cost <= 8, "cost {cost} of $7$");
        }
        assert!(Params::from_cost(12).is_err() && Params::scrypt_from_cost(5).is_err());
    }
}
