//! Computing hashes: one pool, for a single hash or for many.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use saltern::Policy;
use saltern_pool::{Error, OneTicket, Pool, PoolConfig, Terms};
use saltern_rom::{OpenRoms, RomScrubber};
use saltern_yescrypt::{HashString, Hasher, Setting};

use crate::limits::{LimitArgs, explain};
use crate::output::warn;

/// Many hashes at once.
pub(crate) struct Many {
    hasher: Arc<Hasher>,
    pub(crate) pool: Pool,
    roms: OpenRoms,
}

impl Many {
    pub(crate) fn new(
        hasher: Hasher,
        roms: OpenRoms,
        mut config: PoolConfig,
    ) -> anyhow::Result<Self> {
        config.sources = roms.sources();
        let pool = Pool::new(config).map_err(|error| anyhow::anyhow!(text(&error)))?;
        Ok(Many { hasher: Arc::new(hasher), pool, roms })
    }

    /// Check whole ROMs in memory from time to time while the result lives, and report damage. What
    /// hashes read is checked in any case.
    pub(crate) fn watch(&self) -> Option<RomScrubber> {
        self.roms.recheck(Policy::default().check_roms, |rom, error| {
            warn([format!("the ROM {}: {error}", rom.id())]);
        })
    }

    /// A setting with the parameters of new strings and a new salt.
    pub(crate) fn new_setting(&self) -> Result<Setting, String> {
        self.hasher.random_setting().map_err(|error| format!("{:#}", explain(error)))
    }

    /// The complete string under a setting. Items are computed by deadline, then in order of
    /// arrival.
    pub(crate) fn hash(
        &self,
        password: impl AsRef<[u8]>,
        setting: &[u8],
        due: Option<Instant>,
    ) -> Result<OneTicket<HashString>, String> {
        let ticket = self.pool.hash_one_with_setting(&self.hasher, password, setting, terms(due));
        ticket.map_err(|error| text(&error))
    }

    /// Whether a password matches a stored string.
    pub(crate) fn verify(
        &self,
        password: impl AsRef<[u8]>,
        hash: &HashString,
        due: Option<Instant>,
    ) -> Result<OneTicket<bool>, String> {
        let ticket = self.pool.verify_one(&self.hasher, password, hash, terms(due));
        ticket.map_err(|error| text(&error))
    }
}

fn terms(due: Option<Instant>) -> Terms {
    due.map_or(Terms::bulk(), |due| Terms::bulk().by(due))
}

/// One hash after the other.
pub(crate) struct One {
    /// The parts of the pool, until it is made.
    parts: Cell<Option<(Hasher, OpenRoms, PoolConfig)>>,
    many: OnceCell<Many>,
}

impl One {
    pub(crate) fn new(hasher: Hasher, roms: OpenRoms, limits: &LimitArgs) -> anyhow::Result<Self> {
        let mut config = PoolConfig::default();
        // The hasher's limits bound the memory of the single hash.
        (config.threads, config.in_flight, config.memory) = (1, 1, u64::MAX);
        config.level = limits.level()?.unwrap_or(config.level);
        Ok(One { parts: Cell::new(Some((hasher, roms, config))), many: OnceCell::new() })
    }

    /// The pool, whose thread starts when there is something to compute: while the program asks for
    /// a password there is no second thread to which signals could be delivered, in a different
    /// order than they were sent.
    fn many(&self) -> anyhow::Result<&Many> {
        if let Some((hasher, roms, config)) = self.parts.take() {
            let many = Many::new(hasher, roms, config)?;
            return Ok(self.many.get_or_init(|| many));
        }
        self.many.get().context("the threads could not be started")
    }

    /// The complete string under a setting.
    pub(crate) fn hash(&self, password: &[u8], setting: &[u8]) -> anyhow::Result<HashString> {
        let ticket = self.many()?.hash(password, setting, None);
        ticket.and_then(wait).map_err(anyhow::Error::msg)
    }

    /// Whether a password matches a stored string.
    pub(crate) fn verify(&self, password: &[u8], hash: &HashString) -> anyhow::Result<bool> {
        let ticket = self.many()?.verify(password, hash, None);
        ticket.and_then(wait).map_err(anyhow::Error::msg)
    }
}

/// The answer of one item.
fn wait<T: Send + 'static>(ticket: OneTicket<T>) -> Result<T, String> {
    ticket.wait().map_err(|error| text(&error))
}

/// The answer of one item, if it is available within this time.
pub(crate) fn wait_for<T: Send + 'static>(
    ticket: OneTicket<T>,
    time: Duration,
) -> Result<Result<T, String>, OneTicket<T>> {
    Ok(ticket.wait_timeout(time)?.map_err(|error| text(&error)))
}

/// An error in words, with the option that changes the limit if there is one.
fn text(error: &Error) -> String {
    match error {
        Error::Hash(error) => explain(*error).to_string(),
        Error::OverBudget { needed, limit } => {
            let (need, limit) = (needed.div_ceil(1 << 20), limit >> 20);
            format!("this takes {need} MiB of memory, more than --memory {limit} allows")
        }
        other => other.to_string(),
    }
}
