//! Parameters: what a hash costs and computes. Every limit and every byte size is determined here
//! and only here.
//!
//! [`Params`] is plain data in any combination; [`Params::check`] turns it into [`CheckedParams`],
//! the only form that the rest of the crate accepts. Nothing is allocated before that.

mod loops;

pub(crate) use self::loops::LoopCounts;
use crate::Error;
use crate::core::flavor::Flavor;

/// Which of the three algorithms of the format runs (the two low bits of its flags word).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Classic scrypt (RFC 7914).
    Classic,
    /// scrypt's loops with yescrypt's time parameter and its hashing before and after ("write once,
    /// read many").
    Worm,
    /// yescrypt proper: random reads while filling, writes while mixing, pwxform.
    Rw,
    /// escrypt, or yescrypt 0.5: the generation of March 2014, whose strings begin with `$7X`. It
    /// exists to verify hashes stored long ago.
    ///
    /// Unlike yescrypt 1.1 it has two S-boxes that are never written, Salsa20/8 everywhere
    /// ([`Flavor::ESCRYPT`]), different hashing before and after, and three independent flags.
    Escrypt(Flags),
}

impl Mode {
    /// Whether the first loop reads and the second writes.
    pub(crate) const fn rw(self) -> bool {
        match self {
            Mode::Rw => true,
            Mode::Escrypt(flags) => flags.rw,
            Mode::Classic | Mode::Worm => false,
        }
    }

    /// Whether the block mix is the one with S-boxes.
    pub(crate) const fn pwxform(self) -> bool {
        match self {
            Mode::Rw => true,
            Mode::Escrypt(flags) => flags.pwxform,
            Mode::Classic | Mode::Worm => false,
        }
    }

    /// Whether p divides the memory instead of multiplying the work.
    pub(crate) const fn divides(self) -> bool {
        match self {
            Mode::Rw => true,
            Mode::Escrypt(flags) => flags.parallel_smix,
            Mode::Classic | Mode::Worm => false,
        }
    }
}

/// Generation 0.5 has three independent choices in place of a mode. With none of them, and t = 0,
/// the result is classic scrypt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags {
    /// RW, 1: random reads in the first loop, writes in the second. A ROM needs it.
    pub rw: bool,
    /// PARALLEL_SMIX, 2: p divides the memory instead of multiplying the work. Has no effect if p
    /// is 1.
    pub parallel_smix: bool,
    /// PWXFORM, 4: the block mix with S-boxes instead of the Salsa20/8 one.
    pub pwxform: bool,
}

impl Flags {
    /// The flags for a number.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a number above 7.
    pub const fn from_bits(bits: u32) -> Result<Self, Error> {
        if bits > 7 {
            let expected = "1 (RW), 2 (PARALLEL_SMIX), 4 (PWXFORM) or a sum of them";
            return Err(Error::invalid("flags", bits as u64, expected));
        }
        let [rw, parallel_smix, pwxform] = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
        Ok(Flags { rw, parallel_smix, pwxform })
    }

    /// Their number, 0 to 7.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.rw as u32 | (self.parallel_smix as u32) << 1 | (self.pwxform as u32) << 2
    }
}

/// The parameters of one hash, unchecked.
///
/// A hash takes `128 * r * n` bytes of memory; the work grows with `n`, `r` and `t` (and with `p`
/// outside [`Mode::Rw`], where `p` divides the memory instead of multiplying it).
///
/// ```
/// use saltern_yescrypt::{Limits, Params};
/// let params = Params::yescrypt(4096, 32);
/// assert_eq!(params.memory() >> 20, 16); // MiB
/// assert!(params.check(&Limits::server()).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Params {
    /// The algorithm.
    pub mode: Mode,
    /// Tuning of pwxform and Salsa20.
    pub flavor: Flavor,
    /// N: blocks of memory, a power of two above 1.
    pub n: u64,
    /// r: block size in units of 128 bytes, at least 1.
    pub r: u32,
    /// p: parallelism, at least 1.
    pub p: u32,
    /// t: extra time without extra memory; 0 is recommended.
    pub t: u32,
    /// g: number of hash upgrades. Reserved: values other than 0 are refused when hashing.
    pub g: u32,
    /// NROM: blocks of ROM, a power of two above 1, or 0 for none.
    pub nrom: u64,
}

impl Params {
    /// A mode, N and r; `p` = 1, `t` = `g` = 0, no ROM, the mode's default flavour. Set the other
    /// fields afterwards.
    #[must_use]
    pub const fn new(mode: Mode, n: u64, r: u32) -> Self {
        let flavor = match mode {
            Mode::Escrypt(_) => Flavor::ESCRYPT,
            _ => Flavor::DEFAULT,
        };
        Params { mode, flavor, n, r, p: 1, t: 0, g: 0, nrom: 0 }
    }

    /// [`Params::new`] with the mode and flavour for a flags word.
    ///
    /// # Errors
    /// Those of [`Params::from_flags`].
    pub fn with_flags(flags: u32, n: u64, r: u32) -> Result<Self, Error> {
        let (mode, flavor) = Self::from_flags(flags)?;
        Ok(Params { flavor, ..Self::new(mode, n, r) })
    }

    /// yescrypt as system crypt libraries use it.
    #[must_use]
    pub const fn yescrypt(n: u64, r: u32) -> Self {
        Self::new(Mode::Rw, n, r)
    }

    /// Classic scrypt.
    #[must_use]
    pub const fn scrypt(n: u64, r: u32, p: u32) -> Self {
        let mut params = Self::new(Mode::Classic, n, r);
        params.p = p;
        params
    }

    /// Whether these are parameters of [`Params::scrypt`].
    pub(crate) fn is_plain_scrypt(&self) -> bool {
        *self == Self::scrypt(self.n, self.r, self.p)
    }

    /// The parameters for a `$y$` cost number, as system crypt libraries choose them: 1 to 11, or 0
    /// for the default, 5 (N = 4096, r = 32: 16 MiB).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a cost above 11.
    pub fn from_cost(cost: u32) -> Result<Self, Error> {
        match cost {
            0 => Self::from_cost(5),
            1 | 2 => Ok(Self::yescrypt(512 << cost, 8)),
            3..=11 => Ok(Self::yescrypt(128 << cost, 32)),
            _ => Err(Error::invalid("cost", cost.into(), "0 (the default) or 1 to 11")),
        }
    }

    /// The parameters for a `$7$` cost number: 6 to 11, or 0 for the default, 7 (N = 16384, r = 32:
    /// 64 MiB).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other cost.
    pub fn scrypt_from_cost(cost: u32) -> Result<Self, Error> {
        match cost {
            0 => Self::scrypt_from_cost(7),
            6..=11 => Ok(Self::scrypt(128 << cost, 32, 1)),
            _ => Err(Error::invalid("cost", cost.into(), "0 (the default) or 6 to 11 for $7$")),
        }
    }

    /// The mode and flavour for a flags word: 0 is classic, 1 WORM, 2 plus flavour bits RW (182 is
    /// the default).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other word, including the internal bits.
    pub fn from_flags(flags: u32) -> Result<(Mode, Flavor), Error> {
        match flags {
            0 => Ok((Mode::Classic, Flavor::DEFAULT)),
            1 => Ok((Mode::Worm, Flavor::DEFAULT)),
            rw if rw & 3 == 2 && rw <= 0x3ff => Ok((Mode::Rw, Flavor::from_bits(rw >> 2))),
            _ => Err(Error::invalid("flags", flags.into(), "0, 1, or 2 plus flavour bits 2 to 9")),
        }
    }

    /// The flags word, or `None` if it cannot express the tuning (1 or 2 pwxform rounds, other
    /// Salsa20 counts).
    #[must_use]
    pub fn flags(&self) -> Option<u32> {
        match self.mode {
            Mode::Classic => self.flavor.has_default_salsa().then_some(0),
            Mode::Worm => self.flavor.has_default_salsa().then_some(1),
            Mode::Rw => self.flavor.bits().map(|bits| 2 | bits << 2),
            Mode::Escrypt(_) => None,
        }
    }

    /// Bytes of memory for one hash in one thread, the ROM not counted: `128 * r * (N + p)` plus
    /// S-boxes.
    #[must_use]
    pub fn memory(&self) -> u128 {
        let block = u128::from(block_bytes(self.r));
        let boxes = u128::from(self.slices()) * u128::from(self.sbox_bytes());
        block * (u128::from(self.n) + u128::from(self.p)) + boxes
    }

    /// The pass that precedes the main one when the cost is large: 1/64 of the memory, t = 0.
    pub(crate) fn prehash(&self) -> Option<Params> {
        let Params { n, r, p, .. } = *self;
        let slice = n / u64::from(p.max(1));
        let large = slice >= 0x100 && slice.saturating_mul(r.into()) >= 0x20000;
        (self.mode == Mode::Rw && large).then_some(Params { n: n >> 6, t: 0, ..*self })
    }

    /// Bytes in the S-boxes of one instance; 0 where Salsa20 mixes blocks.
    pub(crate) const fn sbox_bytes(&self) -> u32 {
        if self.mode.pwxform() { self.flavor.sbox_bytes() } else { 0 }
    }

    /// The number of instances among which V is divided.
    pub(crate) const fn slices(&self) -> u32 {
        if self.mode.divides() { self.p } else { 1 }
    }

    /// [`Params::check`] without limits: only what the algorithm and this machine require.
    pub(crate) fn checked(self) -> Result<CheckedParams, Error> {
        self.validate()?;
        self.sized()
    }

    /// Section 17, except for the ROM image and the output length.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let Params { mode, flavor, n, r, p, t, nrom, .. } = *self;
        let refuse = |name, value: u64, expected| Err(Error::invalid(name, value, expected));
        if self.g != 0 {
            return refuse("g", self.g.into(), "0: hash upgrades are reserved");
        }
        if mode == Mode::Classic && t != 0 {
            return refuse("t", t.into(), "0 for classic scrypt");
        }
        if mode != Mode::Rw && nrom != 0 {
            return refuse("NROM", nrom, "0: only the RW mode uses a ROM");
        }
        if r == 0 || p == 0 || !is_product(r, p) {
            let (name, value) = if p == 0 { ("p", p) } else { ("r", r) };
            return refuse(name, value.into(), "at least 1, with r * p below 2^30");
        }
        if !is_size(n) {
            return refuse("N", n, "a power of two above 1");
        }
        if n.checked_mul(block_bytes(r)).is_none() {
            return refuse("N", n, "such that 128 * r * N is below 2^64");
        }
        if n > u64::MAX / (u64::from(t) + 1) {
            return refuse("t", t.into(), "such that N * (t + 1) is below 2^64");
        }
        if n / u64::from(self.slices()) < 2 {
            return refuse("p", p.into(), "at most N / 2");
        }
        if mode.pwxform() && r < flavor.min_r() {
            let expected = "at least gather * simple / 16, rounded up, of its flavour";
            return refuse("r", r.into(), expected);
        }
        let escrypt = matches!(mode, Mode::Escrypt(_));
        if escrypt != flavor.stateless() || escrypt && flavor.salsa_mix() != flavor.salsa_tail() {
            let expected =
                "two S-boxes and one number of Salsa20 rounds for escrypt, and three otherwise";
            return refuse("number of S-boxes", if escrypt { 3 } else { 2 }, expected);
        }
        if nrom != 0 && !is_size(nrom) {
            return refuse("NROM", nrom, "0 or a power of two above 1");
        }
        Ok(())
    }

    /// The sizes as this machine counts them.
    pub(crate) fn sized(self) -> Result<CheckedParams, Error> {
        let memory = self.memory();
        // One allocation can have at most half the address space.
        if usize::try_from(memory).is_ok_and(|bytes| bytes < usize::MAX / 2 - 128) {
            return Ok(CheckedParams { params: self });
        }
        Err(Error::OutOfMemory { bytes: u64::try_from(memory).unwrap_or(u64::MAX) })
    }
}

/// Bytes in a block of this r.
#[must_use]
pub const fn block_bytes(r: u32) -> u64 {
    128 * r as u64
}

/// Blocks that each instance fills where p divides V, the last one taking what is left: an even
/// number.
pub(crate) const fn share(n: u64, p: u64) -> u64 {
    (n / p) & !1
}

/// Whether N or NROM can be this.
pub(crate) const fn is_size(n: u64) -> bool {
    n.is_power_of_two() && n > 1
}

/// Whether r * p is below 2^30, whatever each of them is.
pub(crate) const fn is_product(r: u32, p: u32) -> bool {
    (r as u64) * (p as u64) < 1 << 30
}

impl Default for Params {
    /// Cost 5 of `$y$`: N = 4096, r = 32, 16 MiB.
    fn default() -> Self {
        Self::yescrypt(4096, 32)
    }
}

/// Parameters that can be computed here and are within limits: every size below fits this machine's
/// addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CheckedParams {
    params: Params,
}

impl CheckedParams {
    /// The parameters as they were given.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Bytes of memory for one hash in one thread.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.params.memory() as u64
    }

    /// Checks an output length: PBKDF2's block counter limits it to `32 * (2^32 - 1)` bytes.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a longer one.
    pub const fn check_output(&self, len: u64) -> Result<(), Error> {
        if len > 32 * 0xffff_ffff {
            return Err(Error::invalid("output length", len, "at most 32 * (2^32 - 1) bytes"));
        }
        Ok(())
    }

    /// These parameters where ROMs are described separately.
    pub(crate) fn without_nrom(&self) -> Self {
        CheckedParams { params: Params { nrom: 0, ..self.params } }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.params.mode
    }

    pub(crate) fn flavor(&self) -> &Flavor {
        &self.params.flavor
    }

    /// N
    pub(crate) fn n(&self) -> usize {
        self.params.n as usize
    }

    /// p
    pub(crate) fn p(&self) -> usize {
        self.params.p as usize
    }

    /// Sub-blocks of 64 bytes in a block: 2r.
    pub(crate) fn block_len(&self) -> usize {
        2 * self.params.r as usize
    }

    /// Sub-blocks in the S-boxes of one instance.
    pub(crate) fn sbox_len(&self) -> usize {
        self.params.sbox_bytes() as usize / 64
    }

    /// Whether p divides the memory.
    pub(crate) fn divides(&self) -> bool {
        self.mode().divides()
    }

    /// Whether this is classic scrypt expressed in generation 0.5, without any hashing around it.
    pub(crate) fn plain(&self) -> bool {
        let Params { mode, p, t, .. } = self.params;
        t == 0 && !mode.rw() && !mode.pwxform() && (p == 1 || !mode.divides())
    }

    /// [`Params::prehash`].
    pub(crate) fn prehash(&self) -> Option<CheckedParams> {
        self.params.prehash().map(|params| CheckedParams { params })
    }

    /// Bytes that go through the block mixes in one of the passes that fill a ROM with these
    /// parameters.
    pub(crate) fn rom_work(&self) -> u64 {
        let Params { n, r, p, .. } = self.params;
        let LoopCounts { all, .. } = LoopCounts::new(&self.params, true);
        let blocks = u128::from(p).saturating_mul(all).saturating_add(n.into());
        // A ROM takes three of them.
        let most = u64::MAX / 4;
        let bytes = blocks.saturating_mul(block_bytes(r).into());
        u64::try_from(bytes).map_or(most, |bytes| bytes.min(most))
    }

    /// The second-loop counts with and without writes: see [`LoopCounts`].
    pub(crate) fn loops(&self, filling_rom: bool) -> [u64; 2] {
        let LoopCounts { all, rw } = LoopCounts::new(&self.params, filling_rom);
        // Below 2^64 for checked parameters (check 10 of section 17), except for rounding up.
        [rw, all - rw].map(|count| u64::try_from(count).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_three_bits() {
        for bits in 0..8 {
            assert_eq!(Flags::from_bits(bits).map(Flags::bits), Ok(bits));
        }
        assert!(Flags::from_bits(8).is_err() && Flags::from_bits(u32::MAX).is_err());
    }
}
