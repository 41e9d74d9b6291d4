//! What follows a login whose hash has been compared: remembering it, and its update.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use saltern_pool::terms::Class;
use saltern_pool::{Password, Pool, PoolStats, Terms};
use saltern_yescrypt::Hasher;

use super::{Inner, Outcome, Update};
use crate::error::Error;
use crate::opened::Replacement;
use crate::rehash::Reasons;
use crate::remembered::{Known, Tag};
use crate::stored::Hash;
use crate::ticket::Ticket;

/// The state needed after a match.
pub(super) struct Matched {
    pub(super) inner: Arc<Inner>,
    pub(super) account: Box<[u8]>,
    pub(super) password: Password,
    pub(super) old: String,
    /// What stands between the seal and the hash in the old string, and is kept.
    pub(super) kept: Range<usize>,
    pub(super) hash: Hash,
    pub(super) outdated: Reasons,
    /// Whether the caller stores updates.
    pub(super) updates: bool,
    pub(super) terms: Terms,
    /// If logins are remembered.
    pub(super) tag: Option<Tag>,
}

impl Matched {
    /// The outcome of a login, once its hash has been compared.
    pub(super) fn outcome(self, matches: Result<bool, Error>) -> Ticket<Outcome> {
        match matches {
            Err(error) => Ticket::done(Err(error)),
            Ok(false) => Ticket::done(Ok(Outcome::Mismatch)),
            Ok(true) => self.update(),
        }
    }

    /// The outcome of a match, with an update if one is due. The login succeeds whether the update
    /// can be made or not. While logins wait, no update is made for a login: it would take the
    /// place of one of them.
    fn update(self) -> Ticket<Outcome> {
        let Matched { inner, account, password, old, kept, hash, outdated, updates, .. } = self;
        let (terms, site) = (self.terms, Arc::clone(&inner));
        let is_resealed = updates && outdated.seal;
        // With this hash, or with the old one and another seal.
        let matched = move |new: Option<String>| {
            let unsealed = match new {
                Some(new) => Some(old[kept].to_owned() + &new),
                None => is_resealed.then(|| old[kept.start..].to_owned()),
            };
            let update = |text: String| {
                let new = site.prepared.opened().dressed(Some(&account), "", &text).ok()?;
                Some(Update { new, old })
            };
            Outcome::Match { outdated, update: unsealed.and_then(update), remembered: false }
        };
        let opened = inner.prepared.opened();
        let successor = if updates { opened.successor(&hash, outdated) } else { Ok(None) };
        if let (Some(logins), Some(tag), Ok(None)) =
            (inner.prepared.remembered(), self.tag, &successor)
            && !is_resealed
        {
            logins.keep(tag, Known { outdated, update_due: !updates && outdated.any() });
        }
        let params = match successor {
            Ok(Some(Replacement::Hashed(params))) => params,
            Ok(Some(Replacement::Rekeyed(new))) => return Ticket::done(Ok(matched(Some(new)))),
            _ => return Ticket::done(Ok(matched(None))),
        };
        let hasher = if params == *inner.hasher().params() {
            Arc::clone(inner.hasher())
        } else {
            Arc::new(Hasher::clone(inner.hasher()).with_params(params))
        };
        let mut until = terms.deadline();
        if terms.class() == Class::Interactive {
            let stats = inner.pool.stats();
            if stats.waiting_interactive > 0 {
                return Ticket::done(Ok(matched(None)));
            }
            until = until.or_else(|| Self::patience(&inner.pool, &hasher, &stats));
        }
        let item = inner.pool.hash_one(&hasher, password, terms);
        let without = matched.clone()(None);
        Ticket::known(without, until, item, move |hashed| Ticket::done(Ok(matched(hashed.ok()))))
    }

    /// How long to wait for an update if the login has no deadline: later logins may overtake it
    /// for as long as the pool is overloaded.
    fn patience(pool: &Pool, hasher: &Hasher, stats: &PoolStats) -> Option<Instant> {
        let work = hasher.params().work() as f64;
        let time = stats.rate.map_or(0.0, |rate| work * stats.threads as f64 / rate);
        let time = Duration::try_from_secs_f64(2.0 * time).unwrap_or(Duration::MAX);
        Instant::now().checked_add(pool.config().patience.saturating_add(time))
    }
}
