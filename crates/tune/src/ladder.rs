//! Settings, from the weakest to the strongest.

use saltern::Policy;
use saltern::policy::{Limits, Params, Strength, memory_needed};
use saltern_chart::markup::bytes;
use saltern_yescrypt::rom::RomReading;
use serde::Serialize;

use crate::error::Error;

/// A setting to try: costs of a hash, and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// N.
    pub n: u64,
    /// r.
    pub r: u32,
    /// p.
    pub p: u32,
    /// t.
    pub t: u32,
    /// Threads of the pool.
    pub threads: usize,
}

impl Setting {
    /// These costs, with this many threads.
    #[must_use]
    pub const fn new(params: &Params, threads: usize) -> Self {
        Setting { n: params.n, r: params.r, p: params.p, t: params.t, threads }
    }

    /// The costs.
    #[must_use]
    pub const fn params(&self) -> Params {
        let mut params = Params::yescrypt(self.n, self.r);
        (params.p, params.t) = (self.p, self.t);
        params
    }

    /// Bytes of memory of one hash.
    #[must_use]
    pub fn memory(&self) -> u64 {
        u64::try_from(self.params().memory()).unwrap_or(u64::MAX)
    }

    /// Units of work of one hash.
    pub(crate) fn work(&self) -> f64 {
        self.params().work() as f64
    }

    /// Bytes of memory times units of work, as policies compare costs.
    pub(crate) fn strength(&self) -> Strength {
        Strength::of_params(&self.params())
    }

    /// `N 4096, r 32, t 0`.
    #[must_use]
    pub fn words(&self) -> String {
        let Setting { n, r, p, t, .. } = self;
        let p = if *p == 1 { String::new() } else { format!(", p {p}") };
        format!("N {n}, r {r}{p}, t {t}")
    }
}

/// The bounds of the search for settings.
#[derive(Clone, Debug)]
pub struct Bounds {
    floor: Params,
    limits: Limits,
    /// Bytes of the ROM, if hashes should read one.
    rom: Option<u64>,
    /// Processors of this machine.
    pub(crate) processors: usize,
}

impl Bounds {
    /// The floor and the limits of a policy, and a ROM of this many bytes.
    #[must_use]
    pub fn new(policy: &Policy, rom: Option<u64>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Bounds { floor: policy.floor, limits: policy.limits.clone(), rom, processors }
    }

    /// Limits the number of threads, instead of one for each processor.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Bounds { processors: threads.max(1), ..self }
    }

    /// The most threads that are tried.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.processors
    }

    /// Whether a setting is at or above the floor, and admitted by the limits.
    pub(crate) fn admits(&self, setting: &Setting) -> bool {
        let Ok(nrom) = self.rom_blocks(setting.r) else { return false };
        let mut params = setting.params();
        params.nrom = nrom;
        setting.strength() >= Strength::of_params(&self.floor) && params.check(&self.limits).is_ok()
    }

    /// How many blocks of this size the ROM has; 0 without one.
    ///
    /// # Errors
    /// [`Error::NoSetting`].
    pub(crate) fn rom_blocks(&self, r: u32) -> Result<u64, Error> {
        let Some(size) = self.rom else { return Ok(0) };
        let why = || {
            format!("the ROM has {size} bytes, which is not a power of two of blocks of r = {r}")
        };
        let whole = RomReading::whole(size, r).map(|whole| whole.nrom);
        whole.ok_or_else(|| Error::NoSetting { why: why() })
    }

    /// This many threads, or as many as there is memory for.
    fn threads_for(&self, setting: &Setting, wanted: usize, memory: u64) -> usize {
        let fit = memory / memory_needed(&setting.params()).max(1);
        wanted.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
    }

    /// All settings with a block size, in this memory, the weakest first: each is stronger than the
    /// one before it and takes longer.
    ///
    /// # Errors
    /// [`Error::NoSetting`].
    pub(crate) fn ladder(
        &self,
        r: u32,
        threads: usize,
        memory: u64,
    ) -> Result<Vec<Setting>, Error> {
        self.rom_blocks(r)?;
        let fits = |setting: &Setting| memory_needed(&setting.params()) <= memory;
        // Time beyond t = 2 is better spent on twice the memory.
        let all = (4..=32)
            .flat_map(|log| (0..=2).map(move |t| Setting { n: 1 << log, r, p: 1, t, threads }));
        let admitted: Vec<Setting> = all.filter(|setting| self.admits(setting)).collect();
        let rungs: Vec<Setting> = admitted
            .iter()
            .filter(|setting| fits(setting))
            .map(|rung| Setting { threads: self.threads_for(rung, threads, memory), ..*rung })
            .collect();
        if !rungs.is_empty() {
            return Ok(rungs);
        }
        let why = match admitted.first() {
            Some(weakest) => format!(
                "the target cannot be met; bottleneck: memory for hashing. The weakest setting at \
                 or above the floor, {}, takes {}, but there is {}. What would help: that much \
                 memory, or a lower floor",
                weakest.words(),
                bytes(memory_needed(&weakest.params()) as f64),
                bytes(memory as f64)
            ),
            None => "no setting is at or above the policy's floor and within its limits".to_owned(),
        };
        Err(Error::NoSetting { why })
    }

    /// Whether there would be stronger settings with more memory.
    pub(crate) fn memory_ends(&self, strongest: &Setting, memory: u64) -> bool {
        let twice = Setting { n: strongest.n * 2, t: 0, ..*strongest };
        self.admits(&twice) && memory_needed(&twice.params()) > memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds { processors: 4, ..Bounds::new(&Policy::default(), None) }
    }

    #[test]
    fn each_rung_is_stronger_and_takes_longer() {
        for r in [8, 32] {
            let rungs = bounds().ladder(r, 4, 1 << 30).unwrap();
            assert!(rungs.len() > 15, "{}", rungs.len());
            for pair in rungs.windows(2) {
                assert!(pair[0].strength() < pair[1].strength(), "{pair:?}");
                assert!(pair[0].work() < pair[1].work(), "{pair:?}");
            }
            assert!(
                rungs.iter().all(|rung| rung.strength() >= Strength::of_params(&bounds().floor))
            );
        }
    }

    #[test]
    fn memory_bounds_threads_before_it_bounds_hashes() {
        let rungs = bounds().ladder(32, 4, 40 << 20).unwrap();
        let last = rungs.last().unwrap();
        assert_eq!((last.n, last.threads), (8192, 1));
        assert_eq!(rungs[0].threads, 4);
        assert!(bounds().memory_ends(last, 40 << 20) && !bounds().memory_ends(last, 80 << 20));
        let refused = bounds().ladder(32, 4, 1 << 20).unwrap_err().to_string();
        assert!(refused.contains("bottleneck: memory for hashing"), "{refused}");
        assert!(refused.contains("takes 3.02 MiB, but there is 1 MiB"), "{refused}");
    }

    #[test]
    fn a_rom_has_whole_blocks_or_is_named_as_the_reason() {
        let rom = |size| Bounds::new(&Policy::default(), Some(size)).ladder(32, 1, 1 << 30);
        assert!(rom(1 << 20).is_ok());
        for size in [3 << 20, (1 << 20) + 1, 4096] {
            let refused = rom(size).unwrap_err().to_string();
            assert!(refused.contains(&format!("the ROM has {size} bytes")), "{refused}");
        }
    }

    #[test]
    fn a_floor_above_the_limits_leaves_nothing() {
        let mut policy = Policy::default();
        policy.floor = Params::yescrypt(1 << 20, 32);
        let refused = Bounds::new(&policy, None).ladder(32, 1, 1 << 40).unwrap_err().to_string();
        assert!(refused.contains("floor"), "{refused}");
    }
}
