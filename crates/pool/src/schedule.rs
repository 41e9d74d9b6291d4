//! Admission and order: the queue, the measured rate, and the items being computed.
//!
//! Nothing in here knows about clocks, threads or hashes. The caller passes the time.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::queue::{Entry, Lead, Queue, Taken};
use crate::rate::{Rate, Sample};
use crate::terms::{Class, Terms};

/// An item is accepted if it is predicted to end within this part of its time. The rest allows for
/// errors of the prediction: an item that is late has cost time for nothing.
const MARGIN: f64 = 0.85;

/// Once a share's items have found others before them for longer than they have themselves, they
/// come faster than they can be computed, and their number would only make all of them wait. From
/// then on an item is accepted only if it waits for at most this part of its time: a burst may use
/// all of it.
const SHORT_WAIT: f64 = 0.2;

/// But a wait is never too long for as many items as this one after the other: so many may come at
/// once by chance.
const SHORT_ITEMS: u32 = 8;

/// An item begins if it is predicted to need at most the time left times this factor.
const GRACE: f64 = 1.25;

/// Schedules items `T` that can be computed together if their shapes `K` are equal.
pub(crate) struct Scheduler<K, T> {
    queue: Queue<K, T>,
    rate: Rate,
    threads: usize,
    /// The most items of a class that may wait.
    limit: usize,
    /// Units of work, and items, that have begun and not ended.
    begun: u64,
    running: usize,
}

/// Items that are submitted together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Items {
    pub(crate) count: usize,
    /// Units of work of all of them, and of the largest.
    pub(crate) work: u64,
    pub(crate) largest: u64,
}

impl Items {
    /// Adds one item.
    pub(crate) fn add(&mut self, cost: u64) {
        self.count += 1;
        self.work = self.work.saturating_add(cost);
        self.largest = self.largest.max(cost);
    }
}

/// What an item that arrives finds.
struct Load {
    /// The time that it has.
    allowed: Duration,
    /// How long it would wait for others, and until it has ended.
    others: Duration,
    predicted: Duration,
    /// How long it takes itself.
    own: Duration,
    /// How long it may wait once its share has too much.
    short: Duration,
}

impl Load {
    /// Decides by the time for which the share has had too much.
    fn admit(&self, standing: Duration) -> Result<(), Error> {
        let Load { allowed, predicted, .. } = *self;
        if predicted > allowed.mul_f64(MARGIN) {
            return Err(Error::TooLate { predicted, allowed });
        }
        if standing > allowed && self.others > self.short {
            let allowed = allowed.min(self.short.saturating_add(self.own));
            return Err(Error::TooLate { predicted, allowed });
        }
        Ok(())
    }
}

impl<K: Clone + Eq + Hash, T> Scheduler<K, T> {
    pub(crate) fn new(threads: usize, limit: usize, patience: Duration) -> Self {
        let (queue, rate) = (Queue::new(patience), Rate::default());
        Scheduler { queue, rate, threads, limit, begun: 0, running: 0 }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Waiting items of the interactive class.
    pub(crate) fn waiting_interactive(&self) -> usize {
        self.queue.waiting(Class::Interactive)
    }

    /// Items that have begun and not ended.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Units of work that have begun and not ended.
    #[cfg(test)]
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    pub(crate) fn peak_waiting(&self) -> usize {
        self.queue.peak()
    }

    /// Decides whether these items are accepted: all or none.
    ///
    /// # Errors
    /// [`Error::BatchTooLarge`], [`Error::Overloaded`], [`Error::TooLate`].
    pub(crate) fn admit(&mut self, now: Instant, terms: Terms, items: &Items) -> Result<(), Error> {
        let Some(load) = self.load(now, terms, items, items.largest)? else { return Ok(()) };
        let standing = self.queue.standing(now, terms, [load.others, load.short / 2]);
        load.admit(standing)
    }

    /// Decides whether an item of unknown work could be accepted: it is refused only for what comes
    /// before it.
    ///
    /// # Errors
    /// Those of [`Scheduler::admit`].
    pub(crate) fn admit_any(&self, now: Instant, terms: Terms) -> Result<(), Error> {
        let mut one = Items::default();
        one.add(0);
        let Some(load) = self.load(now, terms, &one, self.queue.usual(terms))? else {
            return Ok(());
        };
        load.admit(self.queue.stands(now, terms))
    }

    /// What waits before these items, the largest of which counts as `usual` work where it is
    /// about what a share may wait for; `None` if nothing is known, or needs to be.
    fn load(
        &self,
        now: Instant,
        terms: Terms,
        items: &Items,
        usual: u64,
    ) -> Result<Option<Load>, Error> {
        let waiting = self.queue.waiting(terms.class());
        let limit = self.limit as u64;
        if items.count > self.limit {
            return Err(Error::BatchTooLarge { items: items.count as u64, limit });
        }
        let (class, share) = (terms.class(), terms.whose());
        if waiting + items.count > self.limit
            && self.queue.waiting_of(class, share) + items.count
                > self.queue.part(class, share, self.limit)
        {
            return Err(Error::Overloaded { waiting: waiting as u64, limit });
        }
        let due = terms.due(now);
        let Some(allowed) = due.left(now).filter(|_| items.count > 0) else { return Ok(None) };
        let alone = self.is_alone(items.count);
        let before = if alone { 0 } else { items.work - items.largest };
        let wait = |before| self.wait(now, terms, [before, items.largest]);
        let times = item_times(&self.rate, now, self.running, alone);
        let known = wait(0).zip(wait(before)).zip(times(items.largest).zip(times(usual)));
        let Some(((others, wait), (own, usual))) = known else { return Ok(None) };
        let short = allowed.mul_f64(SHORT_WAIT).max(usual.saturating_mul(SHORT_ITEMS));
        Ok(Some(Load { allowed, others, predicted: wait.saturating_add(own), own, short }))
    }

    /// Adds an item that has been admitted.
    pub(crate) fn push(&mut self, entry: Entry<K, T>) {
        self.queue.push(entry);
    }

    /// Whether there is a thread for each running and waiting item, and for this many more: none of
    /// them keeps another one waiting.
    fn is_alone(&self, more: usize) -> bool {
        self.running + self.queue.len() + more <= self.threads
    }

    /// How long an item that arrives now will wait, with `more` work of its own batch before it and
    /// `cost` of its own.
    fn wait(&self, now: Instant, terms: Terms, [more, cost]: [u64; 2]) -> Option<Duration> {
        let (own, rate) = (more.saturating_add(cost), self.total_rate(now));
        let ahead = self.queue.ahead(now, terms, own, rate).saturating_add(more);
        if self.is_alone(1) && more == 0 || ahead == 0 && self.running < self.threads {
            return Some(Duration::ZERO);
        }
        // Items that have begun are half done on average.
        let work = ahead.saturating_add(self.begun / 2);
        Some(Duration::try_from_secs_f64(work as f64 / rate?).unwrap_or(Duration::MAX))
    }

    /// Units of work per second of all threads.
    pub(crate) fn total_rate(&self, now: Instant) -> Option<f64> {
        Some(self.rate.per_thread(now, self.running > 0)? * self.threads as f64)
    }

    /// How long an interactive item without a deadline would wait until it begins.
    pub(crate) fn predicted_wait(&self, now: Instant) -> Option<Duration> {
        self.wait(now, Terms::interactive(), [0, 0])
    }

    /// Takes out expired items. Must be called before [`Scheduler::lead`].
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Taken<K, T>> {
        let alone = self.is_alone(0);
        let Scheduler { queue, rate, running, .. } = self;
        let time_of = item_times(rate, now, *running, alone);
        queue.expire(now, |cost| time_of(cost).unwrap_or_default().div_f64(GRACE))
    }

    /// The next item.
    pub(crate) fn lead(&self, now: Instant) -> Option<Lead<K>> {
        self.queue.lead(now)
    }

    /// Begins the first `count` items of the lead's shape.
    pub(crate) fn begin(&mut self, now: Instant, lead: &Lead<K>, count: usize) -> Vec<Taken<K, T>> {
        let items = self.queue.take(lead, count, now);
        self.running += items.len();
        let cost = lead.cost.saturating_mul(items.len() as u64);
        self.begun = self.begun.saturating_add(cost);
        items
    }

    /// Puts back items that could not begin after all.
    pub(crate) fn give_back(&mut self, items: Vec<Taken<K, T>>) {
        for taken in items {
            self.running -= 1;
            self.begun -= taken.entry.cost.min(self.begun);
            self.queue.put_back(taken);
        }
    }

    /// A group has ended. It counts for the rate if all of it was computed.
    pub(crate) fn end(&mut self, now: Instant, group: Sample, computed: bool) {
        self.running -= group.items.min(self.running);
        self.begun -= group.booked.min(self.begun);
        if computed {
            self.rate.add(now, group);
        }
    }

    /// Takes out the waiting items of the submissions for which `which` holds.
    pub(crate) fn remove(&mut self, which: impl Fn(u64) -> bool) -> Vec<Taken<K, T>> {
        self.queue.remove(which)
    }
}

/// How long an item takes that begins now. If no item waits for another one, that is its time at
/// the best speed.
fn item_times(
    rate: &Rate,
    now: Instant,
    running: usize,
    alone: bool,
) -> impl Fn(u64) -> Option<Duration> {
    move |cost| match alone {
        true => rate.best_time_of(cost, now),
        false => rate.time_of(cost, now, running > 0),
    }
}

/// How many of `waiting` items of one shape a thread takes when `free` threads, including itself,
/// have nothing to do and `degree` items advance together.
///
/// Each further item in a group costs less than the one before, but more than on an idle thread:
/// two hashes on two threads are done in the time of one, as a pair in the time of about one and a
/// half. So items are first spread evenly. An equal part is rounded up to a power of two, the sizes
/// for which kernels exist: of five scrypt hashes for two threads one takes four, not three. No
/// group waits for a partner.
pub(crate) fn portion(waiting: usize, free: usize, degree: usize) -> usize {
    waiting.div_ceil(free.max(1)).next_power_of_two().min(degree).min(waiting)
}

#[cfg(test)]
mod simulation;
