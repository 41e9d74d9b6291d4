//! Flavours: the constants of pwxform and the round counts of Salsa20 (sections 6, 16 and 25 of the
//! specification).

use crate::Error;

/// A tuning of pwxform and of the two uses of Salsa20.
///
/// The default is the only one that other implementations compute. A `$y$` string can express those
/// with 3 or 6 rounds and the default Salsa20 counts; the rest exist for experiments, and only
/// Saltern verifies their hashes.
///
/// ```
/// use saltern_yescrypt::params::Flavor;
/// let wide = Flavor::new(6, 1, 8, 98304)?; // 512-bit lookups, 96 KiB of S-boxes
/// assert_eq!((wide.simple(), wide.min_r()), (8, 1));
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flavor {
    rounds: u32,
    gather: u32,
    simple: u32,
    sbox_bytes: u32,
    salsa_mix: u32,
    salsa_tail: u32,
    /// Two S-boxes that are never written, as in escrypt 0.5, instead of three that rotate. Only
    /// [`Flavor::two_boxes`] sets this.
    stateless: bool,
}

impl Flavor {
    /// 6 rounds, 4 groups of 2 lanes, 12 KiB of S-boxes, Salsa20/8 and Salsa20/2: flags 182,
    /// `$y$j…`.
    pub const DEFAULT: Flavor = Flavor {
        rounds: 6,
        gather: 4,
        simple: 2,
        sbox_bytes: 12288,
        salsa_mix: 8,
        salsa_tail: 2,
        stateless: false,
    };

    /// The tuning of generation 0.5: two S-boxes that are never written, of 256 entries of two
    /// lanes; four groups, 6 rounds of pwxform, 8 of Salsa20 everywhere. Only for
    /// [`Mode::Escrypt`](crate::params::Mode::Escrypt).
    pub const ESCRYPT: Flavor =
        Flavor { salsa_tail: Self::DEFAULT.salsa_mix, ..Self::DEFAULT }.two_boxes();

    /// A tuning of pwxform.
    ///
    /// * `rounds` (PWXrounds): 1, 2, 3 or 6.
    /// * `gather` (PWXgather): groups with their own lookups: 1, 2, 4 or 8.
    /// * `simple` (PWXsimple): lanes of 64 bits in a group: 1, 2, 4 or 8.
    /// * `sbox_bytes` (Sbytes): bytes of all three S-boxes: 6144 << k, k from 0 to 7.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other value.
    pub fn new(rounds: u32, gather: u32, simple: u32, sbox_bytes: u32) -> Result<Self, Error> {
        if !matches!(rounds, 1 | 2 | 3 | 6) {
            return Err(Error::invalid("PWXrounds", rounds.into(), "1, 2, 3 or 6"));
        }
        for (name, value) in [("PWXgather", gather), ("PWXsimple", simple)] {
            if !matches!(value, 1 | 2 | 4 | 8) {
                return Err(Error::invalid(name, value.into(), "1, 2, 4 or 8"));
            }
        }
        if !(0..8).any(|k| sbox_bytes == 6144 << k) {
            let expected = "6144 times a power of two from 1 to 128";
            return Err(Error::invalid("Sbytes", sbox_bytes.into(), expected));
        }
        Ok(Flavor { rounds, gather, simple, sbox_bytes, ..Self::DEFAULT })
    }

    /// Other constants for generation 0.5, in the terms of its specification. Strings imply
    /// [`Flavor::ESCRYPT`]; others are for comparison with references rebuilt with them.
    ///
    /// * `bits` (S_BITS): log2 of the number of entries in a box; a box of `8 * simd << bits`
    ///   bytes has 2 KiB << k, k from 0 to 7.
    /// * `simd` (S_SIMD): lanes of 64 bits in an entry: 1, 2, 4 or 8.
    /// * `groups` (S_P): groups with their own lookups: 1, 2, 4 or 8.
    /// * `rounds` (S_ROUNDS): rounds of pwxform: 1, 2, 3 or 6.
    /// * `salsa`: rounds of Salsa20, wherever it is used: 1 to 8.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other value.
    pub fn escrypt(
        bits: u32,
        simd: u32,
        groups: u32,
        rounds: u32,
        salsa: u32,
    ) -> Result<Self, Error> {
        let expected = "such that a box has 2 KiB to 256 KiB, a power of two";
        let refused = Error::invalid("S_BITS", bits.into(), expected);
        let size = simd.checked_mul(24).filter(|_| bits < 32).ok_or(refused)?;
        let size = u32::try_from(u64::from(size) << bits).map_err(|_| refused)?;
        Ok(Flavor::new(rounds, groups, simd, size)?.with_salsa(salsa, salsa)?.two_boxes())
    }

    /// This tuning with other Salsa20 round counts: `mix` in the Salsa20 block mix, which also
    /// fills the S-boxes (8 by default), `tail` at the end of the pwxform block mix (2). An odd
    /// count ends after a column round.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a count outside 1 to 8.
    pub fn with_salsa(self, mix: u32, tail: u32) -> Result<Self, Error> {
        for (name, value) in [("Salsa20 rounds", mix), ("Salsa20 tail rounds", tail)] {
            if !(1..=8).contains(&value) {
                return Err(Error::invalid(name, value.into(), "1 to 8"));
            }
        }
        Ok(Flavor { salsa_mix: mix, salsa_tail: tail, ..self })
    }

    /// PWXrounds: rounds of pwxform.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// PWXgather: groups that look up on their own.
    #[must_use]
    pub const fn gather(&self) -> u32 {
        self.gather
    }

    /// PWXsimple: 64-bit lanes in a group, the width of an S-box entry.
    #[must_use]
    pub const fn simple(&self) -> u32 {
        self.simple
    }

    /// Sbytes: bytes of the three S-boxes together.
    #[must_use]
    pub const fn sbox_bytes(&self) -> u32 {
        self.sbox_bytes
    }

    /// Rounds of Salsa20 in its own block mix and in the S-box fill.
    #[must_use]
    pub const fn salsa_mix(&self) -> u32 {
        self.salsa_mix
    }

    /// Rounds of Salsa20 at the end of the pwxform block mix.
    #[must_use]
    pub const fn salsa_tail(&self) -> u32 {
        self.salsa_tail
    }

    /// rmin: the smallest r of this flavour, 1 to 4.
    #[must_use]
    pub const fn min_r(&self) -> u32 {
        (8 * self.simple * self.gather).div_ceil(128)
    }

    /// This tuning with two boxes of the same size, as in escrypt 0.5.
    const fn two_boxes(self) -> Self {
        let sbox_bytes = self.sbox_bytes / 3 * 2;
        Flavor { sbox_bytes, stateless: true, ..self }
    }

    /// Whether there are two boxes that are never written.
    pub(crate) const fn stateless(&self) -> bool {
        self.stateless
    }

    /// Bytes of one box.
    pub(crate) const fn box_bytes(&self) -> u32 {
        self.sbox_bytes / if self.stateless { 2 } else { 3 }
    }

    /// Smask: the mask that makes a byte offset of an S-box entry from a word.
    pub(crate) const fn offset_mask(&self) -> u32 {
        self.box_bytes() - 8 * self.simple
    }

    pub(crate) fn has_default_salsa(&self) -> bool {
        (self.salsa_mix, self.salsa_tail) == (Self::DEFAULT.salsa_mix, Self::DEFAULT.salsa_tail)
    }

    /// The flavour for bits 2 to 9 of the flags word, given as a number from 0 to 255.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Flavor {
            rounds: if bits & 1 == 0 { 3 } else { 6 },
            gather: 1 << (bits >> 1 & 3),
            simple: 1 << (bits >> 3 & 3),
            sbox_bytes: 6144 << (bits >> 5 & 7),
            ..Self::DEFAULT
        }
    }

    /// The inverse of [`Flavor::from_bits`], where there is one.
    pub(crate) fn bits(&self) -> Option<u32> {
        let rounds = match self.rounds {
            3 => 0,
            6 => 1,
            _ => return None,
        };
        let size = (self.sbox_bytes / 6144).ilog2();
        let bits = rounds | self.gather.ilog2() << 1 | self.simple.ilog2() << 3 | size << 5;
        (self.has_default_salsa() && !self.stateless).then_some(bits)
    }
}

impl Default for Flavor {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        for bits in 0..256 {
            assert_eq!(Flavor::from_bits(bits).bits(), Some(bits));
        }
        assert_eq!(Flavor::DEFAULT.bits(), Some(182 >> 2));
        assert_eq!(Flavor::DEFAULT.offset_mask(), 0xff0);
        assert_eq!(Flavor::DEFAULT.with_salsa(8, 1).unwrap().bits(), None);
    }

    #[test]
    fn the_tuning_of_the_older_generation_is_what_its_numbers_say() {
        assert_eq!(Flavor::escrypt(8, 2, 4, 6, 8), Ok(Flavor::ESCRYPT));
        assert_eq!(Flavor::ESCRYPT.sbox_bytes(), 8192);
        for (bits, simd) in [(5, 2), (32, 2), (8, 0), (64, 8), (20, 2), (8, u32::MAX)] {
            assert!(Flavor::escrypt(bits, simd, 4, 6, 8).is_err(), "{bits} {simd}");
        }
    }
}
