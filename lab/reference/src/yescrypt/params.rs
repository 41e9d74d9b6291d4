//! Tunings, flags and the checks (6, 16, 17, 25).

use std::fmt;

/// The flags word of the default RW flavour (16).
pub const RW_DEFAULT: u32 = 182;
/// The bits of the flags word that name a flavour (16).
pub const FLAVOUR: u32 = 0x3fc;
/// Internal bit: ROM initialisation (16).
pub(super) const INIT: u32 = 0x0100_0000;
/// Internal bit: the pre-hash pass (16).
pub(super) const PREHASH: u32 = 0x1000_0000;

/// The most memory this implementation will use for one call, in bytes: 4 GiB. Not part of
/// yescrypt; it keeps parameters that are valid but absurd from exhausting the machine.
pub const MAX_MEMORY: u128 = 4 << 30;

/// The refusal of parameters that are valid but need more than [`MAX_MEMORY`].
pub const TOO_LARGE: Reject =
    Reject("valid, but larger than this reference implementation computes");

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject(pub &'static str);

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Reject {}

/// The constants of pwxform (6) and the round counts of the two uses of Salsa20 (25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// PWXsimple: lanes handled together.
    pub simple: u32,
    /// PWXgather: groups with lookups of their own.
    pub gather: u32,
    /// PWXrounds.
    pub rounds: u32,
    /// Swidth: log2 of the number of entries of one S-box.
    pub swidth: u32,
    /// Salsa20 rounds in the Salsa20 block mix.
    pub salsa_main: u32,
    /// Salsa20 rounds in the pwxform block mix.
    pub salsa_pwx: u32,
}

impl Tuning {
    /// The constants of every released build.
    pub const DEFAULT: Tuning =
        Tuning { simple: 2, gather: 4, rounds: 6, swidth: 8, salsa_main: 8, salsa_pwx: 2 };

    /// The tuning that the flavour bits of an RW flags word name (16).
    #[must_use]
    pub fn from_flags(flags: u32) -> Tuning {
        let log2_simple = flags >> 5 & 3;
        Tuning {
            rounds: if flags & 4 == 0 { 3 } else { 6 },
            gather: 1 << (flags >> 3 & 3),
            simple: 1 << log2_simple,
            swidth: 8 + (flags >> 7 & 7) - log2_simple,
            ..Tuning::DEFAULT
        }
    }

    /// The RW flags word that names this tuning; none exists for 1 or 2 rounds, other Salsa20 round
    /// counts, or S-boxes outside 6 KiB to 768 KiB.
    #[must_use]
    pub fn flags(&self) -> Option<u32> {
        (2..0x400).step_by(4).find(|&flags| Tuning::from_flags(flags) == *self)
    }

    /// PWXbytes in lanes.
    pub(super) fn pwx_lanes(&self) -> usize {
        (self.gather * self.simple) as usize
    }

    /// Lanes of one S-box.
    #[must_use]
    pub fn box_lanes(&self) -> usize {
        (self.simple as usize) << self.swidth
    }

    /// Sbytes: the three S-boxes, in bytes.
    #[must_use]
    pub fn sbytes(&self) -> usize {
        3 * 8 * self.box_lanes()
    }

    /// Smask, a mask of byte offsets.
    pub(super) fn smask(&self) -> u32 {
        ((1 << self.swidth) - 1) * self.simple * 8
    }

    /// The least r.
    #[must_use]
    pub fn rmin(&self) -> u32 {
        (self.gather * self.simple * 8).div_ceil(128)
    }

    /// The constraints of section 6, and limits that keep every size in this file small.
    fn check(&self) -> Result<(), Reject> {
        if !(self.simple.is_power_of_two() && self.gather.is_power_of_two()) {
            return Err(Reject("PWXsimple and PWXgather must be powers of two"));
        }
        if self.simple > 64 || self.gather > 64 || !(1..=20).contains(&self.swidth) {
            return Err(Reject("a tuning this reference does not compute"));
        }
        if self.rounds == 0 || !self.sbytes().is_multiple_of(128) {
            return Err(Reject("PWXrounds or Sbytes"));
        }
        let written = self.rounds.saturating_sub(2) as usize * self.pwx_lanes();
        if written > 0 && !self.box_lanes().is_multiple_of(written) {
            return Err(Reject("the writes of one pwxform call would run past the S-box"));
        }
        Ok(())
    }
}

/// The parameters of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// 0 classic, 1 WORM, or RW and a flavour (16).
    pub flags: u32,
    /// Blocks of memory.
    pub n: u64,
    /// Block size in units of 128 bytes.
    pub r: u32,
    /// Parallelism.
    pub p: u32,
    /// Time.
    pub t: u32,
    /// Upgrades; must be 0.
    pub g: u32,
    /// Blocks of ROM, 0 without.
    pub nrom: u64,
    /// The constants of pwxform and Salsa20. If the flags word can name them it must do so.
    pub tuning: Tuning,
}

impl Params {
    /// The default RW flavour with everything else at its least: N = 2, r = 1, p = 1.
    #[must_use]
    pub fn rw() -> Params {
        Params::from_flags(RW_DEFAULT)
    }

    /// A flags word, the tuning it names (the default one for classic and WORM), N = 2, r = 1, p =
    /// 1.
    #[must_use]
    pub fn from_flags(flags: u32) -> Params {
        let tuning = if flags & 3 == 2 { Tuning::from_flags(flags) } else { Tuning::DEFAULT };
        Params { flags, n: 2, r: 1, p: 1, t: 0, g: 0, nrom: 0, tuning }
    }

    /// Whether the mode is RW.
    pub(super) fn is_rw(&self) -> bool {
        self.flags & 3 == 2
    }

    /// Checks 1 to 5.
    pub(super) fn check_flags(&self) -> Result<(), Reject> {
        if self.g != 0 {
            return Err(Reject("g is reserved"));
        }
        match self.flags & 3 {
            0 if self.flags != 0 || self.t != 0 || self.nrom != 0 => {
                Err(Reject("classic scrypt has no other flag, no t and no ROM"))
            }
            1 if self.flags != 1 || self.nrom != 0 => {
                Err(Reject("WORM has no other flag and no ROM"))
            }
            2 if self.flags & !0x3ff != 0 => Err(Reject("unknown or internal flag")),
            2 if self.tuning.flags().is_some_and(|flags| flags != self.flags) => {
                Err(Reject("the flags name another flavour than the tuning"))
            }
            3 => Err(Reject("WORM and RW together")),
            _ => self.tuning.check(),
        }
    }

    /// Checks 7 to 11, with the readable reference's limits, and then the limit of this program.
    pub(super) fn check_sizes(&self) -> Result<(), Reject> {
        let (n, r, p) = (u128::from(self.n), u128::from(self.r), u128::from(self.p));
        // check 7
        if r == 0 || p == 0 || r * p >= 1 << 30 {
            return Err(Reject("r or p is 0, or r * p is 2^30 or more"));
        }
        // check 8
        if n < 2 || !self.n.is_power_of_two() {
            return Err(Reject("N is not a power of two above 1"));
        }
        // check 9
        if 128 * r * n > u128::from(u64::MAX) {
            return Err(Reject("128 * r * N does not fit 64 bits"));
        }
        // check 10
        if self.n > u64::MAX / (u64::from(self.t) + 1) {
            return Err(Reject("N * (t + 1) does not fit 64 bits"));
        }
        // check 11
        if self.is_rw() && (n / p < 2 || self.r < self.tuning.rmin()) {
            return Err(Reject("N / p is below 2, or r is too small for the tuning"));
        }
        let boxes = if self.is_rw() { p * self.tuning.sbytes() as u128 } else { 0 };
        if 128 * r * (n + p) + boxes > MAX_MEMORY {
            return Err(TOO_LARGE);
        }
        Ok(())
    }
}
