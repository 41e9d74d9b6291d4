//! Limits on the cost of a hash, and the instruction set, for every subcommand that hashes.

use anyhow::anyhow;
use saltern::Policy;
use saltern::policy::Scheme;
use saltern_yescrypt::{
    Error, Limit, Limits, Params,
    hazmat::Level,
    params::{FlavorPolicy, Syntax},
};

use crate::number::number;

/// Longest password with `--beyond-crypt3`, in bytes.
const WIDE_PASSWORD: usize = 4096;

/// The least that a hash costs.
const CHEAPEST: Params = Params::yescrypt(4, 8);

/// The library's limits, so that neither makes a string that the other refuses.
const SERVER: Limits = Limits::server();

/// Options for the computation.
#[derive(clap::Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct LimitArgs {
    /// Refuse hashes that need more memory than this
    #[arg(
        long,
        value_name = "MIB",
        conflicts_with = "policy",
        default_value_t = (SERVER.max_memory >> 20) as u32,
        value_parser = number(0..=u32::MAX)
    )]
    max_memory: u32,

    /// Refuse hashes that cost more than mixing this many GiB (one core mixes about 2 GiB a second)
    #[arg(
        long,
        value_name = "GIB",
        conflicts_with = "policy",
        default_value_t = (SERVER.max_work >> 30) as u32,
        value_parser = number(0..=u32::MAX)
    )]
    max_work: u32,

    /// Accept what crypt(3) refuses: any flavour, salt and p, longer strings and passwords
    #[arg(long, conflicts_with = "policy")]
    beyond_crypt3: bool,

    #[command(flatten)]
    level: LevelArgs,
}

impl LimitArgs {
    /// A policy with these limits, those of the library unless more is requested, for all strings
    /// of yescrypt and scrypt. It says nothing of new ones: their settings are given.
    ///
    /// # Errors
    ///
    /// If no string is within the limits.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        let mut policy = Policy::default();
        policy.schemes = vec![Scheme::Yescrypt, Scheme::Scrypt, Scheme::Escrypt];
        (policy.params, policy.floor) = (CHEAPEST, CHEAPEST);
        let limits = &mut policy.limits;
        limits.max_memory = u64::from(self.max_memory) << 20;
        limits.max_work = u64::from(self.max_work) << 30;
        if self.beyond_crypt3 {
            (limits.syntax, limits.flavors) = (Syntax::Wide, FlavorPolicy::Any);
            (limits.max_p, limits.max_password) = (u32::MAX, WIDE_PASSWORD);
        }
        policy.params.check(limits).map_err(explain)?;
        Ok(policy)
    }

    /// The requested level, if any.
    pub(crate) fn level(&self) -> anyhow::Result<Option<Level>> {
        Ok(self.level.level.map(Level::require).transpose()?)
    }
}

/// A library error, with the option that changes the limit if there is one.
pub(crate) fn explain(error: Error) -> anyhow::Error {
    match error {
        Error::OverLimit { what: Limit::Memory, value, limit } => {
            let (need, limit) = (value.div_ceil(1 << 20), limit >> 20);
            anyhow!("this takes {need} MiB of memory, more than --max-memory {limit} allows")
        }
        Error::OverLimit { what: Limit::Work, value, limit } => {
            let (need, limit) = (value.div_ceil(1 << 30), limit >> 30);
            anyhow!("this takes as long as mixing {need} GiB, more than --max-work {limit} allows")
        }
        Error::OverLimit { what: Limit::P, value, limit } => {
            anyhow!("p is {value}, above {limit}; --beyond-crypt3 accepts any")
        }
        Error::RefusedByCrypt { why } => {
            anyhow!("crypt(3) refuses this: {why}; --beyond-crypt3 accepts it anyway")
        }
        Error::KeyNotLoaded { id } => {
            anyhow!("the key {id} is needed but not available: give it as --key {id}=FILE")
        }
        Error::FlavorNotAllowed => {
            anyhow!("this flavour is not the default; --beyond-crypt3 accepts any")
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
