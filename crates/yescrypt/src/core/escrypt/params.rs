//! Parameters of escrypt 0.5, and every size that follows from them.

use crate::core::cost::{Medium, Pass};
use crate::core::params::LoopCounts;
use crate::core::reading::RomMasks;
use crate::{Error, Flavor, FlavorPolicy, Limits};

/// The modes: three independent choices. With none of them, and t = 0, the result is classic scrypt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags {
    /// RW, 1: random reads in the first loop, writes in the second. A ROM needs it.
    pub rw: bool,
    /// PARALLEL_SMIX, 2: p divides the memory instead of multiplying the work. Means nothing where p is 1.
    pub parallel_smix: bool,
    /// PWXFORM, 4: the block mix with S-boxes instead of the one of Salsa20/8.
    pub pwxform: bool,
}

impl Flags {
    /// The flags behind their number.
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

/// The constants of the block mixes. Strings mean the default; others are for comparisons with rebuilt references.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuning(Flavor);

impl Tuning {
    /// Two S-boxes of 256 entries of two lanes, four groups, 6 rounds of pwxform, 8 of Salsa20.
    pub const DEFAULT: Tuning = Tuning(Flavor::ESCRYPT);

    /// Other constants, in the specification's terms.
    ///
    /// * `bits` (S_BITS): log2 of the entries of a box; a box of `8 * simd << bits` bytes has 2 KiB << k, k from 0 to 7.
    /// * `simd` (S_SIMD): lanes of 64 bits in an entry: 1, 2, 4 or 8.
    /// * `groups` (S_P): groups with their own lookups: 1, 2, 4 or 8.
    /// * `rounds` (S_ROUNDS): rounds of pwxform: 1, 2, 3 or 6.
    /// * `salsa`: rounds of Salsa20, wherever it is used: 1 to 8.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other value.
    pub fn new(bits: u32, simd: u32, groups: u32, rounds: u32, salsa: u32) -> Result<Self, Error> {
        let expected = "such that a box has 2 KiB to 256 KiB, a power of two";
        let refused = Error::invalid("S_BITS", bits.into(), expected);
        let size = simd.checked_mul(24).filter(|_| bits < 32).ok_or(refused)?;
        let size = u32::try_from(u64::from(size) << bits).map_err(|_| refused)?;
        let three = Flavor::new(rounds, groups, simd, size)?;
        Ok(Tuning(three.with_salsa(salsa, salsa)?.two_boxes()))
    }

    /// For the kernels.
    pub(super) const fn flavor(&self) -> &Flavor {
        &self.0
    }
}

/// The parameters of one hash, unchecked.
///
/// ```
/// use saltern_yescrypt::{Limits, escrypt::{Flags, Params}};
/// let params = Params::new(Flags::from_bits(5)?, 2048, 8); // RW | PWXFORM
/// assert_eq!(params.memory() >> 20, 2); // MiB
/// assert!(params.check(&Limits::server()).is_ok());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Params {
    /// The modes.
    pub flags: Flags,
    /// Constants of the block mixes.
    pub tuning: Tuning,
    /// N: blocks of memory, a power of two above 1.
    pub n: u64,
    /// r: block size in units of 128 bytes, at least 1.
    pub r: u32,
    /// p: parallelism, at least 1.
    pub p: u32,
    /// t: extra time without extra memory. Strings mean 0.
    pub t: u32,
}

impl Params {
    /// Flags, N and r; `p` = 1, `t` = 0, the default tuning. Set the other fields afterwards.
    #[must_use]
    pub const fn new(flags: Flags, n: u64, r: u32) -> Self {
        Params { flags, tuning: Tuning::DEFAULT, n, r, p: 1, t: 0 }
    }

    /// Bytes of memory for one hash in one thread, the ROM not counted: `128 * r * (N + p)` plus S-boxes.
    #[must_use]
    pub fn memory(&self) -> u128 {
        let block = 128 * u128::from(self.r);
        let sboxes = if self.flags.pwxform { self.tuning.0.sbox_bytes() } else { 0 };
        let boxes = u128::from(self.instances()) * u128::from(sboxes);
        block * (u128::from(self.n) + u128::from(self.p)) + boxes
    }

    /// Bytes that go through the block mixes.
    #[must_use]
    pub fn mixed(&self) -> u128 {
        let pass = self.pass();
        pass.fill.saturating_add(pass.mix).saturating_mul(pass.block)
    }

    /// What one hash costs in time, in the unit of [`Params::work`](crate::Params::work). With RW, as if
    /// there were a ROM in memory.
    #[must_use]
    pub fn work(&self) -> u128 {
        let rom = [(RomMasks::escrypt(1), Medium::Memory)];
        self.pass().work(if self.flags.rw { &rom } else { &[] })
    }

    fn pass(&self) -> Pass<'_> {
        let (n, p) = (u128::from(self.n), u128::from(self.p));
        let boxes = if self.flags.pwxform { self.tuning.0.sbox_bytes() } else { 0 };
        Pass {
            block: 128 * u128::from(self.r),
            fill: if self.divides() { n } else { p.saturating_mul(n) },
            mix: self.counts(Filling::Memory).all.saturating_mul(p),
            instances: p,
            boxes: p.saturating_mul(boxes.into()),
            flavor: &self.tuning.0,
        }
    }

    /// Decides whether a hash with these parameters can and may be computed. A ROM is checked when it is used.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what the algorithm does not define, then [`Error::OverLimit`] or
    /// [`Error::FlavorNotAllowed`] (another tuning than the default) for what `limits` forbids.
    pub fn check(&self, limits: &Limits) -> Result<CheckedParams, Error> {
        self.validate()?;
        limits.admit_cost((self.n, self.r, self.p, self.t), self.memory(), self.work())?;
        if limits.flavors != FlavorPolicy::Any && self.tuning != Tuning::DEFAULT {
            return Err(Error::FlavorNotAllowed);
        }
        let memory = self.memory();
        let bytes = u64::try_from(memory).unwrap_or(u64::MAX);
        // Half the address space is the most that one allocation can have.
        if usize::try_from(memory).is_ok_and(|memory| memory < usize::MAX / 2 - 128) {
            return Ok(CheckedParams { params: *self });
        }
        Err(Error::OutOfMemory { bytes })
    }

    /// What the algorithm refuses, but for the ROM and the output length.
    fn validate(&self) -> Result<(), Error> {
        let Params { n, r, p, t, .. } = *self;
        let refuse = |name, value: u64, expected| Err(Error::invalid(name, value, expected));
        if r == 0 || p == 0 || u64::from(r) * u64::from(p) >= 1 << 30 {
            let (name, value) = if p == 0 { ("p", p) } else { ("r", r) };
            return refuse(name, value.into(), "at least 1, with r * p below 2^30");
        }
        if !n.is_power_of_two() || n < 2 {
            return refuse("N", n, "a power of two above 1");
        }
        if self.divides() && n / u64::from(p) < 2 {
            return refuse("p", p.into(), "at most N / 2 with PARALLEL_SMIX");
        }
        if self.flags.pwxform && r < self.tuning.0.min_r() {
            return refuse("r", r.into(), "at least S_P * S_SIMD / 16, rounded up, of its tuning");
        }
        if u128::from(n) * u128::from(r) * 128 > u128::from(u64::MAX) {
            return refuse("N", n, "such that 128 * r * N is below 2^64");
        }
        if n > u64::MAX / (u64::from(t) + 1) {
            return refuse("t", t.into(), "such that N * (t + 1) is below 2^64");
        }
        Ok(())
    }

    /// Whether p divides the memory.
    const fn divides(&self) -> bool {
        self.flags.parallel_smix && self.p > 1
    }

    /// How many instances one SMix has.
    const fn instances(&self) -> u32 {
        if self.divides() { self.p } else { 1 }
    }

    fn counts(&self, filling: Filling) -> LoopCounts {
        let filling_rom = filling != Filling::Memory;
        let sizes = (self.n, self.instances(), self.t);
        let LoopCounts { all, rw } = LoopCounts::exact(sizes, self.flags.rw, filling_rom);
        // Where 1.1 makes both larger, this generation makes the writing ones fewer.
        LoopCounts { all: all.next_multiple_of(2), rw: rw & !1 }
    }
}

/// What a call fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filling {
    /// Memory of its own.
    Memory,
    /// A part of a ROM, in which V is left.
    Rom,
    /// The same, which is there already: the first loop is left out.
    RomAgain,
}

/// Parameters that can be computed here and are within limits: every size below fits this machine's addresses.
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

    /// Whether this is classic scrypt, without any hashing around it.
    pub(super) fn plain(&self) -> bool {
        self.params.t == 0
            && !self.params.flags.rw
            && !self.params.flags.pwxform
            && !self.params.divides()
    }

    /// N
    pub(super) fn n(&self) -> usize {
        self.params.n as usize
    }

    /// p
    pub(super) fn p(&self) -> usize {
        self.params.p as usize
    }

    /// How many instances one SMix has: p, or 1 where the memory is not divided.
    pub(super) fn instances(&self) -> usize {
        self.params.instances() as usize
    }

    /// Sub-blocks of 64 bytes in a block: 2r.
    pub(super) fn block_len(&self) -> usize {
        2 * self.params.r as usize
    }

    /// Sub-blocks in the S-boxes of one instance; 0 without PWXFORM.
    pub(super) fn sbox_len(&self) -> usize {
        if self.params.flags.pwxform { self.params.tuning.0.sbox_bytes() as usize / 64 } else { 0 }
    }

    /// How often the second loop runs.
    pub(super) fn counts(&self, filling: Filling) -> LoopCounts {
        self.params.counts(filling)
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

    #[test]
    fn the_default_tuning_is_what_its_numbers_say() {
        assert_eq!(Tuning::new(8, 2, 4, 6, 8), Ok(Tuning::DEFAULT));
        assert_eq!(Tuning::DEFAULT.flavor().sbox_bytes(), 8192);
        for (bits, simd) in [(5, 2), (32, 2), (8, 0), (64, 8), (20, 2), (8, u32::MAX)] {
            assert!(Tuning::new(bits, simd, 4, 6, 8).is_err(), "{bits} {simd}");
        }
    }

    #[test]
    fn the_final_loop_can_be_left_with_two_steps() {
        // N = 8, t = 0: A = 3.
        let mut params = Params::new(Flags { rw: true, ..Flags::default() }, 8, 8);
        assert_eq!(params.counts(Filling::Memory), LoopCounts { all: 4, rw: 2 });
        (params.p, params.flags.parallel_smix) = (2, true);
        assert_eq!(params.counts(Filling::Memory), LoopCounts { all: 2, rw: 0 });
        assert_eq!(params.counts(Filling::Rom), LoopCounts { all: 2, rw: 2 });
    }
}
