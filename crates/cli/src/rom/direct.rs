//! Hashing with ROMs that are left in their files.

use saltern_rom::{EngineConfig, EngineError, EngineRom, SsdEngine, SsdHasher, SsdTicket};
use saltern_yescrypt::{Error, Hasher, Level, PoolConfig};

use crate::effort::explain;
use crate::output::tell;

/// The ROMs, those in memory among them.
pub(crate) struct Direct(Vec<EngineRom>);

/// What hashes with them.
pub(crate) struct DirectHasher(SsdHasher);

/// One string on its way.
pub(crate) struct DirectTicket<T>(SsdTicket<T>);

impl Direct {
    pub(super) fn new(roms: Vec<EngineRom>) -> Self {
        Direct(roms)
    }

    /// Start what computes one hash after the other.
    pub(crate) fn one(self, hasher: Hasher, level: Option<Level>) -> anyhow::Result<DirectHasher> {
        let mut config = EngineConfig::default();
        // The limits of the hasher bound the memory of the one.
        (config.threads, config.in_flight, config.memory) = (1, 1, u64::MAX);
        config.level = level.unwrap_or(config.level);
        self.start(hasher, &config)
    }

    /// Start what computes many at once, with the threads, the memory and the queue that a pool would have.
    pub(crate) fn many(self, hasher: Hasher, pool: &PoolConfig) -> anyhow::Result<DirectHasher> {
        let mut config = EngineConfig::default();
        (config.threads, config.memory) = (pool.threads, pool.memory);
        (config.max_waiting, config.level) = (pool.max_waiting, pool.level);
        self.start(hasher, &config)
    }

    fn start(self, hasher: Hasher, config: &EngineConfig) -> anyhow::Result<DirectHasher> {
        let engine = SsdEngine::new(config, self.0).map_err(|error| anyhow::anyhow!("{error}"))?;
        for note in engine.notes() {
            tell(format_args!("note: {note}"));
        }
        Ok(DirectHasher(SsdHasher::new(hasher, engine)))
    }
}

impl DirectHasher {
    pub(crate) fn hash(
        &self,
        password: &[u8],
        setting: &[u8],
    ) -> Result<DirectTicket<Vec<u8>>, String> {
        let ticket = self.0.hash_with_settings([(password, setting)]);
        ticket.map(DirectTicket).map_err(|error| text(&error))
    }

    pub(crate) fn verify(
        &self,
        password: &[u8],
        hash: &[u8],
    ) -> Result<DirectTicket<bool>, String> {
        let ticket = self.0.verify([(password, hash)]);
        ticket.map(DirectTicket).map_err(|error| text(&error))
    }
}

impl<T> DirectTicket<T> {
    pub(crate) fn wait(self) -> Result<T, String> {
        let answer = self.0.wait().into_iter().next();
        answer.unwrap_or(Err(Error::Cancelled.into())).map_err(|error| text(&error))
    }
}

/// An error in words, with the option that moves the limit where there is one.
fn text(error: &EngineError) -> String {
    match error {
        EngineError::Yescrypt(error) => explain(*error).to_string(),
        EngineError::Memory { needed, limit } => {
            let what = saltern_yescrypt::Limit::PoolMemory;
            explain(Error::OverLimit { what, value: *needed, limit: *limit }).to_string()
        }
        other => other.to_string(),
    }
}
