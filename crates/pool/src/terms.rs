//! The terms of a call: whether somebody waits for it, and its deadline.

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

/// The class of some items, and their deadline if they have one.
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
        Terms { class: Class::Interactive, until: Until::Ever }
    }

    /// [`Class::Bulk`] without a deadline.
    #[must_use]
    pub const fn bulk() -> Self {
        Terms { class: Class::Bulk, until: Until::Ever }
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
