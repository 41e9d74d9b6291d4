//! How much the program may spend on a hash and with which instructions, the same for every subcommand that hashes.

use saltern_yescrypt::{FlavorPolicy, Level, Limits, Workspace};

/// Options for the computation.
#[derive(clap::Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct EffortArgs {
    /// Refuse what needs more memory than this
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    max_memory: u32,

    #[command(flatten)]
    level: LevelArgs,
}

impl EffortArgs {
    /// What a hash may cost here.
    ///
    /// A person who waits at a terminal can allow more than a server that faces the network: all costs 1 to 11
    /// and, since a stored string says what it needs, every flavour that a string can name.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::server();
        limits.max_memory = u64::from(self.max_memory) << 20;
        limits.flavors = FlavorPolicy::Encodable;
        limits
    }

    /// Scratch memory at the chosen level.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        self.level.workspace()
    }
}

/// The option `--level` by itself.
#[derive(clap::Args)]
pub(crate) struct LevelArgs {
    /// Use this instruction set instead of the best one: portable, sse2, sse41, avx2, avx512, neon
    #[arg(long, global = true)]
    level: Option<Level>,
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
