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

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::{Duration, Instant};

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

/// Numbers of items, in the two orders in which they may be taken.
#[derive(Default)]
struct Order {
    by_deadline: BTreeSet<(Due, u64)>,
    by_arrival: BTreeSet<u64>,
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

/// Work given to a share, for its weight.
type Turn = u128;

/// The waiting items of one share and class.
struct Account<K> {
    weight: u32,
    all: Order,
    /// By shape. No order in here is empty.
    alike: HashMap<K, Order>,
    /// Units of work that wait.
    backlog: u64,
    turn: Turn,
    /// Units of work that have arrived in the last seconds.
    arrivals: Recent,
    /// Since when items that arrive find many before them.
    standing: Option<Instant>,
}

/// A sum of which a third is left after a second.
#[derive(Default)]
struct Recent {
    sum: f64,
    last: Option<Instant>,
}

impl Recent {
    fn at(&self, now: Instant) -> f64 {
        let passed =
            self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        self.sum * (-passed).exp()
    }

    fn add(&mut self, now: Instant, value: f64) {
        (self.sum, self.last) = (self.at(now) + value, Some(now));
    }
}

impl<K> Account<K> {
    fn new(turn: Turn, weight: u32) -> Self {
        let (all, alike, arrivals) = (Order::default(), HashMap::new(), Recent::default());
        Account { weight, all, alike, backlog: 0, turn, arrivals, standing: None }
    }

    /// What this much work moves its turn by.
    fn charge(&self, work: u64) -> Turn {
        (Turn::from(work) << 16) / Turn::from(self.weight)
    }

    /// The work that it will be given between two turns, in this many seconds.
    fn given(&self, [from, to]: [Turn; 2], now: Instant, seconds: f64) -> u64 {
        let from = if self.all.len() > 0 { self.turn } else { self.turn.max(from) };
        let most = to.saturating_sub(from).saturating_mul(self.weight.into()) >> 16;
        let arriving = (self.arrivals.at(now) * seconds) as u64;
        let asked = self.backlog.saturating_add(arriving);
        asked.min(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// The waiting items of one class.
struct Line<K> {
    accounts: HashMap<u64, Account<K>>,
    /// The shares with waiting items.
    turns: BTreeSet<(Turn, u64)>,
    /// The turn of the last item that was taken: where a share begins that was idle.
    now: Turn,
    by_deadline: BTreeSet<(Due, u64)>,
    /// Units of work that wait.
    backlog: u64,
}

/// Accounts of idle shares are dropped when there are this many more than those in use.
const IDLE_ACCOUNTS: usize = 64;

impl<K: Clone + Eq + Hash> Line<K> {
    fn new() -> Self {
        let (accounts, turns, by_deadline) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        Line { accounts, turns, now: 0, by_deadline, backlog: 0 }
    }

    fn insert<T>(&mut self, number: u64, entry: &Entry<K, T>) {
        if self.accounts.len() > self.turns.len() + IDLE_ACCOUNTS {
            self.accounts.retain(|_, account| account.all.len() > 0 || account.turn > self.now);
        }
        let (now, id) = (self.now, entry.share.id);
        let account = self.accounts.entry(id).or_insert_with(|| Account::new(now, 1));
        if account.all.len() == 0 {
            account.turn = account.turn.max(now);
            self.turns.insert((account.turn, id));
        }
        account.weight = entry.share.weight;
        account.all.insert(entry.due, number);
        account.alike.entry(entry.shape.clone()).or_default().insert(entry.due, number);
        account.backlog = account.backlog.saturating_add(entry.cost);
        self.by_deadline.insert((entry.due, number));
        self.backlog = self.backlog.saturating_add(entry.cost);
    }

    fn remove<T>(&mut self, number: u64, entry: &Entry<K, T>) {
        self.by_deadline.remove(&(entry.due, number));
        self.backlog -= entry.cost.min(self.backlog);
        let Some(account) = self.accounts.get_mut(&entry.share.id) else { return };
        account.all.remove(entry.due, number);
        account.backlog -= entry.cost.min(account.backlog);
        if let Some(order) = account.alike.get_mut(&entry.shape) {
            order.remove(entry.due, number);
            if order.len() == 0 {
                account.alike.remove(&entry.shape);
            }
        }
        if account.all.len() == 0 {
            self.turns.remove(&(account.turn, entry.share.id));
        }
    }

    /// Moves the turn of a share.
    fn set_turn(&mut self, id: u64, turn: impl FnOnce(&Account<K>) -> Turn) {
        let Some(account) = self.accounts.get_mut(&id) else { return };
        let waits = self.turns.remove(&(account.turn, id));
        account.turn = turn(account);
        if waits {
            self.turns.insert((account.turn, id));
        }
    }

    /// An item of this share and cost begins.
    fn charge(&mut self, id: u64, cost: u64) {
        self.now = self.now.max(self.accounts.get(&id).map_or(0, |account| account.turn));
        self.set_turn(id, |account| account.turn.saturating_add(account.charge(cost)));
    }

    /// It did not begin after all.
    fn refund(&mut self, id: u64, cost: u64) {
        self.set_turn(id, |account| account.turn.saturating_sub(account.charge(cost)));
    }

    /// How many items of a shape wait.
    fn alike(&self, shape: &K) -> usize {
        let orders = self.accounts.values().filter_map(|account| account.alike.get(shape));
        orders.map(Order::len).sum()
    }
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
            account.arrivals.add(entry.arrived, entry.cost as f64);
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

    /// An item of a share arrives and would wait this long. Returns how long all that arrived lately
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
            let share = Share::default();
            self.queue.push(Entry { shape, class, share, due, arrived, cost: 10, batch, item });
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
        assert_eq!(bench.queue.line(Interactive).alike(&'a'), 0);
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
    fn what_is_due_or_would_be_late_is_taken_out() {
        let mut bench = Bench::new();
        for item in 0..6 {
            bench.push(item, 'a', Interactive, u64::from(item) * 10, 100);
        }
        assert!(bench.expire(60, 5).is_empty());
        assert_eq!(bench.take(60, 1), [0]);
        // 1 and 2 are due at 110 and 120; 3 is due at 130, but would take until 135.
        assert_eq!(bench.expire(125, 10), [1, 2, 3]);
        bench.push(6, 'a', Interactive, 126, 100);
        assert_eq!(bench.take(126, 3), [4, 5, 6]);
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
        let ahead = |terms| bench.queue.ahead(bench.start, terms, 0, None);
        let login = |within| Terms::interactive().by(bench.start + ms(within));
        assert_eq!([50, 100, 300].map(|within| ahead(login(within))), [0, 10, 20]);
        assert_eq!(ahead(Terms::interactive()), 20);
        assert_eq!(ahead(Terms::bulk().by(bench.start + ms(1))), 20);
        assert_eq!(ahead(Terms::bulk()), 30);
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
