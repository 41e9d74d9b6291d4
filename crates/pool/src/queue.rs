//! The waiting items, and the order in which they are taken.
//!
//! Interactive items come before bulk ones. Within a class the shares take turns: the next item
//! comes from the share that has been given the least work for its weight (start-time fair
//! queueing), and a share that was idle has no claim on what it left to others. Deadlines have no
//! part in this, so that nobody gets more by asking for less time.
//!
//! Within a share the earliest deadline comes first, and among items without a deadline the oldest.
//! If one of these has waited too long, the interactive items of its share are taken newest first:
//! when not everybody can be served, those who have waited longest have probably given up already.
//!
//! Items of one shape can be computed together, whichever shares they are of: those beside the next
//! one come from the shares whose turn is next, and count for these.

mod line;

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use self::line::{Account, Line};
use crate::terms::{Class, Due, Share, Terms};

/// An item that waits.
pub(crate) struct Entry<K, T> {
    /// The shape, equal for items that can be computed together.
    pub(crate) shape: K,
    pub(crate) class: Class,
    pub(crate) share: Share,
    pub(crate) due: Due,
    pub(crate) arrived: Instant,
    /// Units of work.
    pub(crate) cost: u64,
    /// Which submission it belongs to.
    pub(crate) batch: u64,
    pub(crate) item: T,
}

/// An item that was taken, and can be put back where it was.
pub(crate) struct Taken<K, T> {
    number: u64,
    pub(crate) entry: Entry<K, T>,
}

/// The item that comes next.
#[derive(Clone)]
pub(crate) struct Lead<K> {
    pub(crate) shape: K,
    pub(crate) class: Class,
    /// How many items of its shape and class wait, including itself.
    pub(crate) alike: usize,
    /// Units of work of each.
    pub(crate) cost: u64,
}

/// All that waits.
pub(crate) struct Queue<K, T> {
    entries: HashMap<u64, Entry<K, T>>,
    /// By class: interactive, bulk.
    lines: [Line<K>; 2],
    /// The number of the next item that arrives.
    next: u64,
    peak: usize,
    /// An item without a deadline that has waited this long shows that its share is overloaded.
    patience: Duration,
}

/// How often a prediction is corrected by what arrives while it lasts.
const ROUNDS: usize = 6;

const CLASSES: [Class; 2] = [Class::Interactive, Class::Bulk];

impl<K: Clone + Eq + Hash, T> Queue<K, T> {
    pub(crate) fn new(patience: Duration) -> Self {
        let lines = [Line::new(), Line::new()];
        Queue { entries: HashMap::new(), lines, next: 0, peak: 0, patience }
    }

    fn line(&self, class: Class) -> &Line<K> {
        &self.lines[class as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Items of a class.
    pub(crate) fn waiting(&self, class: Class) -> usize {
        self.line(class).by_deadline.len()
    }

    /// How many items of a class and share may wait at least, of `limit` for all: the part that its
    /// weight is of those of all shares with waiting items, and its own.
    pub(crate) fn part(&self, class: Class, share: Share, limit: usize) -> usize {
        let line = self.line(class);
        let others = line.turns.iter().filter(|(_, id)| *id != share.id);
        let weights = others.filter_map(|(_, id)| Some(u64::from(line.accounts.get(id)?.weight)));
        let (own, others) = (u64::from(share.weight), weights.sum::<u64>());
        (limit as u64 * own / (own + others)) as usize
    }

    /// Items of a class and share.
    pub(crate) fn waiting_of(&self, class: Class, share: Share) -> usize {
        self.line(class).accounts.get(&share.id).map_or(0, |account| account.all.len())
    }

    /// The most that ever waited.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Units of work of a class that wait.
    pub(crate) fn backlog(&self, class: Class) -> u64 {
        self.line(class).backlog
    }

    /// Units of work that are computed before an item of these terms, if it arrives now with `own`
    /// work of its own submission: that of its share, and what the others are given meanwhile, of
    /// what waits and of what arrives as it did lately, at this many units a second.
    pub(crate) fn ahead(&self, now: Instant, terms: Terms, own: u64, rate: Option<f64>) -> u64 {
        let (line, share) = (self.line(terms.class()), terms.whose());
        let account = line.accounts.get(&share.id);
        let before = account.map_or(0, |account| self.before(account, terms.due(now)));
        let turn = match account {
            Some(account) if account.all.len() > 0 => account.turn,
            Some(account) => account.turn.max(line.now),
            None => line.now,
        };
        let charge = Account::<K>::new(turn, share.weight).charge(before.saturating_add(own));
        let span = [line.now, turn.saturating_add(charge)];
        let others = |seconds: f64| {
            let others = line.accounts.iter().filter(|(id, _)| **id != share.id);
            let given = others.map(|(_, other)| other.given(span, now, seconds));
            given.fold(before, u64::saturating_add)
        };
        let mut ahead = others(0.0);
        for _ in 0..ROUNDS {
            let Some(rate) = rate else { break };
            let more = others(ahead.saturating_add(own) as f64 / rate);
            if more == std::mem::replace(&mut ahead, more) {
                break;
            }
        }
        match terms.class() {
            Class::Interactive => ahead,
            Class::Bulk => ahead.saturating_add(self.backlog(Class::Interactive)),
        }
    }

    /// Units of work of a share that come before an item of this deadline.
    fn before(&self, account: &Account<K>, due: Due) -> u64 {
        match account.all.by_deadline.last() {
            Some((last, _)) if *last > due => {
                let before = account.all.by_deadline.range(..=(due, u64::MAX));
                let costs = before.filter_map(|(_, number)| Some(self.entries.get(number)?.cost));
                costs.fold(0, u64::saturating_add)
            }
            // The usual case: the item that arrives last is due last.
            _ => account.backlog,
        }
    }

    pub(crate) fn push(&mut self, entry: Entry<K, T>) {
        let number = self.next;
        self.next += 1;
        let (line, id) = (&mut self.lines[entry.class as usize], entry.share.id);
        line.insert(number, &entry);
        if let Some(account) = line.accounts.get_mut(&id) {
            account.arrived(entry.arrived, entry.cost);
        }
        self.entries.insert(number, entry);
        self.peak = self.peak.max(self.len());
    }

    /// Puts an item back where it was.
    pub(crate) fn put_back(&mut self, Taken { number, entry }: Taken<K, T>) {
        let line = &mut self.lines[entry.class as usize];
        line.refund(entry.share.id, entry.cost);
        line.insert(number, &entry);
        self.entries.insert(number, entry);
    }

    /// An item of a share arrives, and would wait this long. Returns for how long all that arrived
    /// would have waited longer than `usual`.
    pub(crate) fn standing(
        &mut self,
        now: Instant,
        terms: Terms,
        [wait, usual]: [Duration; 2],
    ) -> Duration {
        let line = &mut self.lines[terms.class() as usize];
        let Some(account) = line.accounts.get_mut(&terms.whose().id) else { return Duration::ZERO };
        if wait <= usual {
            account.standing = None;
        }
        let since = if wait > usual { *account.standing.get_or_insert(now) } else { now };
        now.saturating_duration_since(since)
    }

    /// For how long that has lasted, as far as is known.
    pub(crate) fn stands(&self, now: Instant, terms: Terms) -> Duration {
        let account = self.line(terms.class()).accounts.get(&terms.whose().id);
        let since = account.and_then(|account| account.standing);
        since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Units of work of an item of a share, as they were lately; 0 if it had none.
    pub(crate) fn usual(&self, terms: Terms) -> u64 {
        let account = self.line(terms.class()).accounts.get(&terms.whose().id);
        account.map_or(0, |account| account.usual as u64)
    }

    /// Whether the interactive items of a share are taken the newest first.
    fn is_overloaded(&self, account: &Account<K>, now: Instant) -> bool {
        let oldest = account.all.by_arrival.first().and_then(|number| self.entries.get(number));
        oldest.is_some_and(|entry| {
            entry.due == Due::Never && now.saturating_duration_since(entry.arrived) > self.patience
        })
    }

    /// Takes out all items that are due, and those at the head that would be late if they began
    /// now: `time_of` gives the time that units of work take.
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        time_of: impl Fn(u64) -> Duration,
    ) -> Vec<Taken<K, T>> {
        let mut expired = Vec::new();
        for class in CLASSES {
            while let Some(&(Due::At(deadline), number)) = self.line(class).by_deadline.first()
                && deadline <= now
            {
                expired.extend(self.take_out(number));
            }
            while let Some(number) = self.first(class, now)
                && let Some(entry) = self.entries.get(&number)
                && entry.due.left(now).is_some_and(|left| time_of(entry.cost) > left)
            {
                expired.extend(self.take_out(number));
            }
        }
        expired
    }

    /// The first item of a class.
    fn first(&self, class: Class, now: Instant) -> Option<u64> {
        let line = self.line(class);
        let account = line.accounts.get(&line.turns.first()?.1)?;
        account.all.first(self.newest_first(class, account, now))
    }

    fn newest_first(&self, class: Class, account: &Account<K>, now: Instant) -> bool {
        class == Class::Interactive && self.is_overloaded(account, now)
    }

    /// The next item.
    pub(crate) fn lead(&self, now: Instant) -> Option<Lead<K>> {
        let number = CLASSES.into_iter().find_map(|class| self.first(class, now))?;
        let Entry { shape, class, cost, .. } = self.entries.get(&number)?;
        let alike = self.line(*class).alike(shape);
        Some(Lead { shape: shape.clone(), class: *class, alike, cost: *cost })
    }

    /// Takes the first `count` items of a shape and class.
    pub(crate) fn take(&mut self, lead: &Lead<K>, count: usize, now: Instant) -> Vec<Taken<K, T>> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let Some(number) = self.next_alike(lead, now) else { break };
            let Some(item) = self.take_out(number) else { break };
            let Entry { share, cost, .. } = item.entry;
            self.lines[lead.class as usize].charge(share.id, cost);
            taken.push(item);
        }
        taken
    }

    fn next_alike(&self, lead: &Lead<K>, now: Instant) -> Option<u64> {
        let line = self.line(lead.class);
        line.turns.iter().find_map(|(_, id)| {
            let account = line.accounts.get(id)?;
            let newest_first = self.newest_first(lead.class, account, now);
            account.alike.get(&lead.shape)?.first(newest_first)
        })
    }

    /// Takes out the items of the submissions for which `which` holds, to be dropped where no lock
    /// is held: a shape may be the last that holds a ROM, which is foreign code. Visits every
    /// waiting item.
    pub(crate) fn remove(&mut self, which: impl Fn(u64) -> bool) -> Vec<Taken<K, T>> {
        let wanted = self.entries.iter().filter(|(_, entry)| which(entry.batch));
        let mut numbers: Vec<u64> = wanted.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.into_iter().filter_map(|number| self.take_out(number)).collect()
    }

    fn take_out(&mut self, number: u64) -> Option<Taken<K, T>> {
        let entry = self.entries.remove(&number)?;
        self.lines[entry.class as usize].remove(number, &entry);
        Some(Taken { number, entry })
    }
}

#[cfg(test)]
mod tests;
