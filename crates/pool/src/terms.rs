//! The terms of a call: whether somebody waits for it, its deadline, and whose it is.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Whether somebody waits for an item.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Somebody waits, at a login for example.
    #[default]
    Interactive,
    /// Nobody waits for this item in particular. It begins only while no interactive item could.
    Bulk,
}

/// On whose account items are computed, where several share a pool.
///
/// Shares take turns by the work that they are given: while several have items waiting, each gets
/// of the pool what its weight is of the sum of their weights, however many items it submits and
/// whatever their deadlines. What one leaves unused goes to the others, and is not saved up. Items
/// of terms without a share belong to one share, with weight 1.
///
/// ```
/// use saltern_pool::{Terms, terms::Share};
/// let shop = Share::of("shop").weight(3);
/// let login = Terms::interactive().share(shop);
/// # let _ = login;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub(crate) id: u64,
    pub(crate) weight: u32,
}

impl Share {
    /// The share of a client, known by its name, its number or its address, with weight 1. Equal
    /// values are one share.
    #[must_use]
    pub fn of(client: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        client.hash(&mut hasher);
        // 0 is the share of those that have none.
        Share { id: hasher.finish().max(1), weight: 1 }
    }

    /// With another weight, 1 to 1,000,000; others count as the nearest of these. Of several
    /// weights for one share, the last that was submitted counts.
    #[must_use]
    pub const fn weight(self, weight: u32) -> Self {
        let weight = if weight < 1 { 1 } else { weight };
        Share { weight: if weight > 1_000_000 { 1_000_000 } else { weight }, ..self }
    }
}

/// Of items without a share.
impl Default for Share {
    fn default() -> Self {
        Share { id: 0, weight: 1 }
    }
}

/// The class of some items, their deadline if they have one, and their share of the pool.
///
/// An item that cannot end before its deadline, at the rate that the pool has measured, is refused
/// on submission; one whose deadline passes while it waits is never computed.
///
/// ```
/// use std::time::Duration;
/// use saltern_pool::Terms;
/// let login = Terms::interactive().within(Duration::from_millis(500));
/// let nightly = Terms::bulk();
/// # let _ = (login, nightly);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Terms {
    class: Class,
    until: Until,
    share: Share,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Until {
    #[default]
    Ever,
    Within(Duration),
    Instant(Instant),
}

impl Terms {
    /// [`Class::Interactive`] without a deadline: the default.
    #[must_use]
    pub const fn interactive() -> Self {
        Terms { class: Class::Interactive, until: Until::Ever, share: Share { id: 0, weight: 1 } }
    }

    /// [`Class::Bulk`] without a deadline.
    #[must_use]
    pub const fn bulk() -> Self {
        Terms { class: Class::Bulk, ..Self::interactive() }
    }

    /// With a deadline this long after the items are submitted.
    #[must_use]
    pub const fn within(self, time: Duration) -> Self {
        Terms { until: Until::Within(time), ..self }
    }

    /// With a deadline at this time.
    #[must_use]
    pub const fn by(self, deadline: Instant) -> Self {
        Terms { until: Until::Instant(deadline), ..self }
    }

    /// On the account of one of several clients.
    #[must_use]
    pub const fn share(self, share: Share) -> Self {
        Terms { share, ..self }
    }

    pub(crate) const fn whose(self) -> Share {
        self.share
    }

    /// The class.
    #[must_use]
    pub const fn class(self) -> Class {
        self.class
    }

    /// The deadline of items that are submitted now; `None` if they have none.
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        match self.due(Instant::now()) {
            Due::At(deadline) => Some(deadline),
            Due::Never => None,
        }
    }

    /// When items that are submitted now are due.
    pub(crate) fn due(self, now: Instant) -> Due {
        match self.until {
            Until::Ever => Due::Never,
            // A time that cannot be represented is further away than anybody waits.
            Until::Within(time) => now.checked_add(time).map_or(Due::Never, Due::At),
            Until::Instant(deadline) => Due::At(deadline),
        }
    }
}

/// When an item is due. Items without a deadline come after all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Due {
    At(Instant),
    Never,
}

impl Due {
    /// How much time is left; `None` without a deadline.
    pub(crate) fn left(self, now: Instant) -> Option<Duration> {
        match self {
            Due::At(deadline) => Some(deadline.saturating_duration_since(now)),
            Due::Never => None,
        }
    }
}
