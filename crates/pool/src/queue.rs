//! The waiting items, and the order in which they are taken.
//!
//! Interactive items come before bulk ones. Within a class the earliest deadline comes first, and
//! among items without a deadline the oldest. Once the pool is overloaded, interactive items are
//! taken newest first: when not everybody can be served in time, those who have waited longest have
//! probably given up already.
//!
//! Items of one shape can be computed together, so each shape has its own order beside the order of
//! all items.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::terms::{Class, Due};

/// An item that waits.
pub(crate) struct Entry<K, T> {
    /// The shape, equal for items that can be computed together.
    pub(crate) shape: K,
    pub(crate) class: Class,
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

/// Numbers of items, in the two orders in which they may be taken.
#[derive(Default)]
struct Order {
    by_deadline: BTreeSet<(Due, u64)>,
    by_arrival: BTreeSet<u64>,
}

/// All that waits.
pub(crate) struct Queue<K, T> {
    entries: HashMap<u64, Entry<K, T>>,
    /// By class: interactive, bulk.
    all: [Order; 2],
    /// By shape and class. No order in here is empty.
    alike: HashMap<(K, Class), Order>,
    /// Units of work that wait, by class.
    backlog: [u64; 2],
    /// The number of the next item that arrives.
    next: u64,
    peak: usize,
    /// An item without a deadline that has waited this long shows that the pool is overloaded.
    patience: Duration,
    /// Set when an interactive item has expired.
    overloaded_until: Option<Instant>,
}

impl Order {
    fn insert(&mut self, due: Due, number: u64) {
        self.by_deadline.insert((due, number));
        self.by_arrival.insert(number);
    }

    fn remove(&mut self, due: Due, number: u64) {
        self.by_deadline.remove(&(due, number));
        self.by_arrival.remove(&number);
    }

    fn len(&self) -> usize {
        self.by_arrival.len()
    }

    fn first(&self, newest_first: bool) -> Option<u64> {
        match newest_first {
            true => self.by_arrival.last().copied(),
            false => self.by_deadline.first().map(|(_, number)| *number),
        }
    }
}

const CLASSES: [Class; 2] = [Class::Interactive, Class::Bulk];

impl<K: Clone + Eq + Hash, T> Queue<K, T> {
    pub(crate) fn new(patience: Duration) -> Self {
        Queue {
            entries: HashMap::new(),
            all: [Order::default(), Order::default()],
            alike: HashMap::new(),
            backlog: [0; 2],
            next: 0,
            peak: 0,
            patience,
            overloaded_until: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Items of a class.
    pub(crate) fn waiting(&self, class: Class) -> usize {
        self.all[class as usize].len()
    }

    /// The most that ever waited.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Units of work of a class that wait.
    pub(crate) fn backlog(&self, class: Class) -> u64 {
        self.backlog[class as usize]
    }

    /// Units of work that come before an item of this class and deadline, if it arrives now.
    pub(crate) fn ahead(&self, class: Class, due: Due) -> u64 {
        let order = &self.all[class as usize];
        let before = match order.by_deadline.last() {
            Some((last, _)) if *last > due => {
                let before = order.by_deadline.range(..=(due, u64::MAX));
                let costs = before.filter_map(|(_, number)| Some(self.entries.get(number)?.cost));
                costs.fold(0, u64::saturating_add)
            }
            // The usual case: the item that arrives last is due last.
            _ => self.backlog(class),
        };
        match class {
            Class::Interactive => before,
            Class::Bulk => before.saturating_add(self.backlog(Class::Interactive)),
        }
    }

    pub(crate) fn push(&mut self, entry: Entry<K, T>) {
        let number = self.next;
        self.next += 1;
        self.put_back(Taken { number, entry });
    }

    /// Puts an item where it was.
    pub(crate) fn put_back(&mut self, Taken { number, entry }: Taken<K, T>) {
        let (due, class) = (entry.due, entry.class);
        self.all[class as usize].insert(due, number);
        self.alike.entry((entry.shape.clone(), class)).or_default().insert(due, number);
        self.backlog[class as usize] = self.backlog(class).saturating_add(entry.cost);
        self.entries.insert(number, entry);
        self.peak = self.peak.max(self.len());
    }

    /// Whether interactive items are taken the newest first.
    pub(crate) fn is_overloaded(&self, now: Instant) -> bool {
        let oldest = self.all[Class::Interactive as usize].by_arrival.first();
        let oldest = oldest.and_then(|number| self.entries.get(number));
        let impatient = oldest.is_some_and(|entry| {
            entry.due == Due::Never && now.saturating_duration_since(entry.arrived) > self.patience
        });
        impatient || self.overloaded_until.is_some_and(|until| now < until)
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
            while let Some(&(Due::At(deadline), number)) =
                self.all[class as usize].by_deadline.first()
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
        if expired.iter().any(|taken| taken.entry.class == Class::Interactive) {
            self.overloaded_until = now.checked_add(self.patience);
        }
        expired
    }

    fn first(&self, class: Class, now: Instant) -> Option<u64> {
        self.all[class as usize].first(self.newest_first(class, now))
    }

    fn newest_first(&self, class: Class, now: Instant) -> bool {
        class == Class::Interactive && self.is_overloaded(now)
    }

    /// The next item.
    pub(crate) fn lead(&self, now: Instant) -> Option<Lead<K>> {
        let number = CLASSES.into_iter().find_map(|class| self.first(class, now))?;
        let Entry { shape, class, cost, .. } = self.entries.get(&number)?;
        let alike = self.alike.get(&(shape.clone(), *class)).map_or(0, Order::len);
        Some(Lead { shape: shape.clone(), class: *class, alike, cost: *cost })
    }

    /// Takes the first `count` items of a shape and class.
    pub(crate) fn take(&mut self, lead: &Lead<K>, count: usize, now: Instant) -> Vec<Taken<K, T>> {
        let newest_first = self.newest_first(lead.class, now);
        let key = (lead.shape.clone(), lead.class);
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let number = self.alike.get(&key).and_then(|order| order.first(newest_first));
            let Some(item) = number.and_then(|number| self.take_out(number)) else { break };
            taken.push(item);
        }
        taken
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
        let (class, due) = (entry.class, entry.due);
        self.all[class as usize].remove(due, number);
        self.backlog[class as usize] -= entry.cost.min(self.backlog(class));
        let key = (entry.shape.clone(), class);
        if let Some(order) = self.alike.get_mut(&key) {
            order.remove(due, number);
            if order.len() == 0 {
                self.alike.remove(&key);
            }
        }
        Some(Taken { number, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::tests::ms;

    struct Bench {
        queue: Queue<char, u32>,
        start: Instant,
    }

    fn items(taken: Vec<Taken<char, u32>>) -> Vec<u32> {
        taken.into_iter().map(|taken| taken.entry.item).collect()
    }

    impl Bench {
        fn new() -> Self {
            Bench { queue: Queue::new(ms(1000)), start: Instant::now() }
        }

        /// An item of cost 10 that arrives at a time and is due so much later, 0 for never.
        fn push(&mut self, item: u32, shape: char, class: Class, at: u64, within: u64) {
            let arrived = self.start + ms(at);
            let due = if within == 0 { Due::Never } else { Due::At(arrived + ms(within)) };
            let batch = u64::from(item % 3);
            self.queue.push(Entry { shape, class, due, arrived, cost: 10, batch, item });
        }

        fn take(&mut self, at: u64, count: usize) -> Vec<u32> {
            let now = self.start + ms(at);
            let Some(lead) = self.queue.lead(now) else { return Vec::new() };
            items(self.queue.take(&lead, count, now))
        }

        fn expire(&mut self, at: u64, time: u64) -> Vec<u32> {
            items(self.queue.expire(self.start + ms(at), |_| ms(time)))
        }
    }

    use Class::{Bulk, Interactive};

    #[test]
    fn the_earliest_deadline_comes_first_and_others_of_its_shape_go_along() {
        let mut bench = Bench::new();
        bench.push(0, 'a', Interactive, 0, 0);
        bench.push(1, 'b', Interactive, 1, 300);
        bench.push(2, 'a', Interactive, 2, 200);
        bench.push(3, 'b', Interactive, 3, 100);
        bench.push(4, 'b', Interactive, 4, 0);
        assert_eq!(bench.take(5, 2), [3, 1]);
        assert_eq!(bench.take(5, 3), [2, 0]);
        assert_eq!(bench.take(5, 3), [4]);
        assert!(bench.take(5, 1).is_empty());
        assert_eq!((bench.queue.len(), bench.queue.peak()), (0, 5));
        assert!(bench.queue.alike.is_empty());
    }

    #[test]
    fn bulk_comes_last_and_never_goes_along() {
        let mut bench = Bench::new();
        bench.push(0, 'a', Bulk, 0, 50);
        bench.push(1, 'a', Interactive, 1, 0);
        bench.push(2, 'a', Bulk, 2, 0);
        assert_eq!(bench.take(5, 4), [1]);
        assert_eq!(bench.take(5, 4), [0, 2]);
    }

    #[test]
    fn what_is_due_is_taken_out_and_then_the_newest_comes_first() {
        let mut bench = Bench::new();
        for item in 0..6 {
            bench.push(item, 'a', Interactive, u64::from(item) * 10, 100);
        }
        assert!(bench.expire(60, 5).is_empty());
        assert_eq!(bench.take(60, 1), [0]);
        // 1 and 2 are due at 110 and 120; 3 is due at 130, but would take until 135.
        assert_eq!(bench.expire(125, 10), [1, 2, 3]);
        assert!(bench.queue.is_overloaded(bench.start + ms(125)));
        bench.push(6, 'a', Interactive, 126, 100);
        assert_eq!(bench.take(126, 2), [6, 5]);
        // With patience the order is as before.
        bench.push(7, 'a', Interactive, 2000, 100);
        bench.push(8, 'a', Interactive, 2001, 100);
        assert_eq!(bench.expire(2002, 10), [4]);
        assert!(bench.queue.is_overloaded(bench.start + ms(3001)));
        assert!(!bench.queue.is_overloaded(bench.start + ms(3002)));
    }

    /// Bulk gives way to logins for as long as there are any: its being late does not indicate
    /// overload.
    #[test]
    fn bulk_that_is_late_leaves_the_order_of_logins_as_it_is() {
        let mut bench = Bench::new();
        bench.push(0, 'a', Bulk, 0, 10);
        bench.push(1, 'a', Interactive, 0, 0);
        bench.push(2, 'a', Interactive, 1, 0);
        assert_eq!(bench.expire(20, 1), [0]);
        assert_eq!(bench.take(20, 1), [1]);
    }

    #[test]
    fn an_item_that_has_waited_too_long_turns_the_order_round() {
        let mut bench = Bench::new();
        for item in 0..5 {
            bench.push(item, 'a', Interactive, u64::from(item) * 400, 0);
            bench.push(10 + item, 'a', Bulk, 0, 0);
        }
        assert_eq!(bench.take(1000, 1), [0]);
        // Item 1 came at 400.
        assert_eq!(bench.take(1401, 2), [4, 3]);
        assert_eq!(bench.take(1402, 2), [2, 1]);
        assert_eq!(bench.take(5000, 2), [10, 11], "bulk is as patient as can be");
    }

    #[test]
    fn what_is_put_back_comes_again_in_its_place() {
        let mut bench = Bench::new();
        for item in 0..4 {
            bench.push(item, 'a', Interactive, 0, 0);
        }
        let lead = bench.queue.lead(bench.start).unwrap();
        let mut taken = bench.queue.take(&lead, 3, bench.start);
        taken.drain(1..).for_each(|taken| bench.queue.put_back(taken));
        assert_eq!((bench.queue.len(), bench.queue.backlog(Interactive)), (3, 30));
        assert_eq!(bench.take(1, 4), [1, 2, 3]);
    }

    #[test]
    fn work_ahead() {
        let mut bench = Bench::new();
        bench.push(0, 'a', Interactive, 0, 100);
        bench.push(1, 'b', Interactive, 0, 200);
        bench.push(2, 'b', Bulk, 0, 0);
        let at = |within| Due::At(bench.start + ms(within));
        let queue = &bench.queue;
        assert_eq!(queue.ahead(Interactive, at(50)), 0);
        assert_eq!(queue.ahead(Interactive, at(100)), 10);
        assert_eq!(queue.ahead(Interactive, at(300)), 20);
        assert_eq!(queue.ahead(Interactive, Due::Never), 20);
        assert_eq!((queue.ahead(Bulk, at(1)), queue.ahead(Bulk, Due::Never)), (20, 30));
    }

    #[test]
    fn one_submission_is_taken_out() {
        let mut bench = Bench::new();
        for item in 0..6 {
            bench.push(item, if item % 2 == 0 { 'a' } else { 'b' }, Interactive, 0, 0);
        }
        assert_eq!(items(bench.queue.remove(|batch| batch == 0)), [0, 3]);
        assert_eq!((bench.queue.len(), bench.queue.backlog(Interactive)), (4, 40));
        assert_eq!(bench.take(0, 9), [1, 5]);
        assert_eq!(items(bench.queue.remove(|_| true)), [2, 4]);
        assert_eq!((bench.queue.len(), bench.queue.backlog(Interactive)), (0, 0));
    }
}
