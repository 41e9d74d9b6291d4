//! What computes hashes: this thread, a pool of threads, or an engine that reads ROMs from files.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Error;
use saltern_yescrypt::{Hasher, Pool, PoolConfig, Ticket, Workspace};

use crate::aside::Aside;
use crate::effort::{EffortArgs, explain};
use crate::password::Password;
use crate::rom::{Checks, Direct, DirectHasher, DirectTicket, RomChecks};

/// One hash after the other.
pub(crate) struct One {
    hasher: Hasher,
    workspace: Workspace,
    direct: Option<DirectHasher>,
    checks: Checks,
}

impl One {
    pub(crate) fn new(
        hasher: Hasher,
        checks: RomChecks,
        direct: Option<Direct>,
        effort: &EffortArgs,
    ) -> anyhow::Result<Self> {
        let level = effort.level()?;
        let direct = direct.map(|direct| direct.one(hasher.clone(), level)).transpose()?;
        let checks = checks.with(&hasher, effort.level()?);
        Ok(One { hasher, workspace: effort.workspace()?, direct, checks })
    }

    /// The complete string under a setting.
    pub(crate) fn hash(&mut self, password: &[u8], setting: &[u8]) -> anyhow::Result<Vec<u8>> {
        if let Some(hash) = self.checks.hash(&mut self.workspace, password, setting) {
            return hash.map_err(Error::msg);
        }
        match &self.direct {
            Some(direct) => {
                let ticket = direct.hash(password, setting);
                ticket.and_then(DirectTicket::wait).map_err(Error::msg)
            }
            None => {
                let hash = self.hasher.hash_with_setting(&mut self.workspace, password, setting);
                hash.map_err(explain)
            }
        }
    }

    /// Whether a password matches a stored string; a mismatch is none that a damaged ROM could have made.
    pub(crate) fn verify(&mut self, password: &[u8], hash: &[u8]) -> anyhow::Result<bool> {
        if self.compare(password, hash)? {
            return Ok(true);
        }
        self.checks.confirm(&mut self.workspace, password, hash).map_err(Error::msg)
    }

    fn compare(&mut self, password: &[u8], hash: &[u8]) -> anyhow::Result<bool> {
        match &self.direct {
            Some(direct) => {
                let ticket = direct.verify(password, hash);
                ticket.and_then(DirectTicket::wait).map_err(Error::msg)
            }
            None => self.hasher.verify(&mut self.workspace, password, hash).map_err(explain),
        }
    }
}

/// Many at once.
pub(crate) enum Many {
    Pool(Arc<Hasher>, Pool),
    /// With what waits for its tickets, which cannot be asked whether they are ready.
    Direct(DirectHasher, Aside),
}

/// One of them, with the pool's ticket for it. Functions of that are handed in, since what tickets have in common has no name out here.
pub(crate) enum Waiting<P, T> {
    Pool(P),
    Direct(Receiver<Result<T, String>>),
}

pub(crate) type WaitingHash = Waiting<Ticket<Vec<u8>>, Vec<u8>>;
pub(crate) type WaitingMatch = Waiting<Ticket<bool>, bool>;

impl Many {
    pub(crate) fn new(
        hasher: Hasher,
        direct: Option<Direct>,
        config: PoolConfig,
    ) -> anyhow::Result<Self> {
        Ok(match direct {
            Some(direct) => Many::Direct(direct.many(hasher, &config)?, Aside::new("tickets")?),
            None => Many::Pool(Arc::new(hasher), Pool::new(config)?),
        })
    }

    /// The complete string under a setting.
    pub(crate) fn hash(&self, password: &Password, setting: &[u8]) -> Result<WaitingHash, String> {
        match self {
            Many::Pool(hasher, pool) => {
                let ticket = pool.hash_with_settings(hasher, [(password, setting)]);
                ticket.map(Waiting::Pool).map_err(text)
            }
            Many::Direct(direct, aside) => {
                let ticket = direct.hash(password, setting)?;
                Ok(Waiting::Direct(aside.ask(move || ticket.wait())))
            }
        }
    }

    /// Whether a password matches a stored string.
    pub(crate) fn verify(&self, password: &Password, hash: &[u8]) -> Result<WaitingMatch, String> {
        match self {
            Many::Pool(hasher, pool) => {
                let ticket = pool.verify(hasher, [(password, hash)]);
                ticket.map(Waiting::Pool).map_err(text)
            }
            Many::Direct(direct, aside) => {
                let ticket = direct.verify(password, hash)?;
                Ok(Waiting::Direct(aside.ask(move || ticket.wait())))
            }
        }
    }
}

impl<P, T> Waiting<P, T> {
    /// The answer, if it is there within this time.
    pub(crate) fn wait(
        self,
        time: Duration,
        of_pool: impl FnOnce(P, Duration) -> Result<Vec<Result<T, saltern_yescrypt::Error>>, P>,
    ) -> Result<Result<T, String>, Self> {
        match self {
            Waiting::Pool(ticket) => {
                let answers = of_pool(ticket, time).map_err(Waiting::Pool)?;
                let answer = answers.into_iter().next();
                Ok(answer.unwrap_or(Err(saltern_yescrypt::Error::Cancelled)).map_err(text))
            }
            Waiting::Direct(receiver) => match receiver.recv_timeout(time) {
                Ok(answer) => Ok(answer),
                Err(RecvTimeoutError::Timeout) => Err(Waiting::Direct(receiver)),
                Err(RecvTimeoutError::Disconnected) => {
                    Ok(Err("the thread that waits for a ROM has failed".to_owned()))
                }
            },
        }
    }
}

fn text(error: saltern_yescrypt::Error) -> String {
    explain(error).to_string()
}
