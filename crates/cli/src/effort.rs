//! How much the program may spend on a hash and with which instructions, the same for every subcommand that hashes.

use anyhow::anyhow;
use saltern_yescrypt::{Error, FlavorPolicy, Level, Limit, Limits, Workspace};

/// Longest password, in bytes: as on a server, eight times what crypt(3) takes.
const MAX_PASSWORD: usize = Limits::server().max_password;

/// Options for the computation.
#[derive(clap::Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct EffortArgs {
    /// Refuse what needs more memory than this
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    max_memory: u32,

    /// Refuse what takes more time than mixing this many GiB, at roughly 1 to 4 a second
    #[arg(long, value_name = "GIB", default_value_t = 64)]
    max_work: u32,

    #[command(flatten)]
    level: LevelArgs,
}

impl EffortArgs {
    /// What a hash may cost here.
    ///
    /// A person who waits at a terminal can allow more than a server that faces the network: every cost from 1 to 11,
    /// parameters in any proportion and every flavour that a string can name. The bounds on memory and time stay, since a
    /// stored string may come from anywhere.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::unlimited();
        limits.max_memory = u64::from(self.max_memory) << 20;
        limits.max_work = u64::from(self.max_work) << 30;
        limits.max_password = MAX_PASSWORD;
        limits.flavors = FlavorPolicy::Any;
        limits
    }

    /// Scratch memory at the chosen level.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        self.level.workspace()
    }

    /// The chosen level, if one is.
    pub(crate) fn level(&self) -> anyhow::Result<Option<Level>> {
        Ok(self.level.level.map(Level::require).transpose()?)
    }
}

/// An error of the library, with the option that moves the limit where there is one.
pub(crate) fn explain(error: Error) -> anyhow::Error {
    match error {
        Error::OverLimit { what: Limit::Memory, value, limit } => {
            let (need, limit) = (value.div_ceil(1 << 20), limit >> 20);
            anyhow!("this takes {need} MiB of memory, more than --max-memory {limit} allows")
        }
        Error::OverLimit { what: Limit::PoolMemory, value, limit } => {
            let (need, limit) = (value.div_ceil(1 << 20), limit >> 20);
            anyhow!("this takes {need} MiB of memory, more than --memory {limit} allows")
        }
        Error::OverLimit { what: Limit::Work, value, limit } => {
            let (need, limit) = (value.div_ceil(1 << 30), limit >> 30);
            anyhow!("this mixes {need} GiB, more than --max-work {limit} allows")
        }
        other => other.into(),
    }
}

/// The option `--level` by itself.
#[derive(clap::Args)]
pub(crate) struct LevelArgs {
    /// Use this instruction set instead of the best one: portable, sse2, sse41, avx2, avx512, neon
    #[arg(long, global = true)]
    pub(crate) level: Option<Level>,
}

impl LevelArgs {
    /// Scratch memory at the chosen level, or at the best one.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        Ok(match self.level {
            Some(level) => Workspace::with_level(level)?,
            None => Workspace::new(),
        })
    }
}
