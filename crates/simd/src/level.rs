//! The instruction set that kernels may use, decided once at run time.

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU8, Ordering};

/// An instruction-set level. Levels of one architecture are ordered: a higher one includes the
/// lower ones.
///
/// ```
/// use saltern_simd::Level;
/// let best = Level::detect();
/// assert!(best.is_available() && Level::Portable.is_available());
/// assert_eq!("portable".parse::<Level>()?, Level::Portable);
/// # Ok::<(), saltern_simd::ParseLevelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Plain Rust without a particular instruction set: the definition that the others are tested
    /// against.
    Portable,
    /// x86-64's baseline, 128-bit vectors.
    Sse2,
    /// SSSE3 and SSE4.1: byte shuffles and blends on 128-bit vectors.
    Sse41,
    /// AVX2: 256-bit vectors.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: 512-bit vectors and rotates at every width.
    Avx512,
    /// aarch64's baseline, 128-bit vectors.
    Neon,
}

impl Level {
    /// All levels of all architectures, lowest first.
    pub const ALL: [Level; 6] =
        [Level::Portable, Level::Sse2, Level::Sse41, Level::Avx2, Level::Avx512, Level::Neon];

    /// The best level of this processor. Cheap: the processor is queried once and the answer is
    /// cached.
    #[must_use]
    pub fn detect() -> Level {
        static BEST: AtomicU8 = AtomicU8::new(u8::MAX);
        let known = usize::from(BEST.load(Ordering::Relaxed));
        if let Some(&level) = Self::ALL.get(known) {
            return level;
        }
        let best = Self::available().last().unwrap_or(Level::Portable);
        BEST.store(best as u8, Ordering::Relaxed); // `ALL` is in the order of the variants
        best
    }

    /// The levels that this processor can run, lowest first; never empty.
    pub fn available() -> impl Iterator<Item = Level> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// The next lower level of the same architecture, which every processor with this one can run.
    #[must_use]
    pub const fn below(self) -> Option<Level> {
        match self {
            Level::Portable => None,
            Level::Sse2 | Level::Neon => Some(Level::Portable),
            Level::Sse41 => Some(Level::Sse2),
            Level::Avx2 => Some(Level::Sse41),
            Level::Avx512 => Some(Level::Avx2),
        }
    }

    /// This level and all below it, highest first. Code without a kernel for a level uses that of
    /// the next one, so a missing level costs some speed but not all of it.
    ///
    /// ```
    /// use saltern_simd::Level;
    /// let levels: Vec<Level> = Level::Avx2.and_below().collect();
    /// assert_eq!(levels, [Level::Avx2, Level::Sse41, Level::Sse2, Level::Portable]);
    /// ```
    pub fn and_below(self) -> impl Iterator<Item = Level> {
        core::iter::successors(Some(self), |level| level.below())
    }

    /// Whether this processor can run the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => crate::x86::Sse2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Level::Sse41 => crate::x86::Sse41::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => crate::x86::Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => crate::x86::Avx512::detect().is_some(),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => true,
            #[cfg(not(target_arch = "x86_64"))]
            Level::Sse2 | Level::Sse41 | Level::Avx2 | Level::Avx512 => false,
            #[cfg(not(target_arch = "aarch64"))]
            Level::Neon => false,
        }
    }

    /// The level itself if this processor can run it.
    ///
    /// # Errors
    /// [`UnavailableLevel`], which names the level and the best one available.
    pub fn require(self) -> Result<Level, UnavailableLevel> {
        if self.is_available() { Ok(self) } else { Err(UnavailableLevel { level: self }) }
    }

    /// The level's name as it is parsed and printed: `portable`, `sse2`, `sse41`, `avx2`, `avx512`,
    /// `neon`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Sse2 => "sse2",
            Level::Sse41 => "sse41",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Neon => "neon",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = ParseLevelError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|level| level.name() == name).ok_or(ParseLevelError(()))
    }
}

/// A name that is not a level's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLevelError(());

impl fmt::Display for ParseLevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a CPU level: use ")?;
        let [first @ .., last] = Level::ALL;
        for level in first {
            write!(f, "{level}, ")?;
        }
        write!(f, "or {last}")
    }
}

impl core::error::Error for ParseLevelError {}

/// A level that this processor cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnavailableLevel {
    level: Level,
}

impl fmt::Display for UnavailableLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this processor cannot run level {}: its best is {}", self.level, Level::detect())
    }
}

impl core::error::Error for UnavailableLevel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert!("AVX2".parse::<Level>().is_err());
        assert!(Level::ALL.into_iter().enumerate().all(|(i, level)| level as usize == i));
    }

    #[test]
    fn below_a_level_everything_is_available_down_to_the_portable_one() {
        for level in Level::ALL {
            assert_eq!(level.and_below().last(), Some(Level::Portable));
            assert!(level.and_below().is_sorted_by(|a, b| a > b));
        }
        assert!(Level::detect().and_below().all(Level::is_available));
    }

    #[test]
    fn the_baseline_of_the_architecture_is_there() {
        assert!(Level::Portable.is_available());
        #[cfg(target_arch = "x86_64")]
        assert!(Level::detect() >= Level::Sse2 && Level::Neon.require().is_err());
        #[cfg(target_arch = "aarch64")]
        assert!(Level::detect() == Level::Neon && Level::Avx2.require().is_err());
    }
}
