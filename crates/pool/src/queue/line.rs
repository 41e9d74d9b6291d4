//! The shares of a class, each with its waiting items, and whose turn it is.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Instant;

use super::Entry;
use crate::terms::Due;

/// Numbers of items, in the two orders in which they may be taken.
#[derive(Default)]
pub(super) struct Order {
    pub(super) by_deadline: BTreeSet<(Due, u64)>,
    pub(super) by_arrival: BTreeSet<u64>,
}

impl Order {
    pub(super) fn insert(&mut self, due: Due, number: u64) {
        self.by_deadline.insert((due, number));
        self.by_arrival.insert(number);
    }

    pub(super) fn remove(&mut self, due: Due, number: u64) {
        self.by_deadline.remove(&(due, number));
        self.by_arrival.remove(&number);
    }

    pub(super) fn len(&self) -> usize {
        self.by_arrival.len()
    }

    pub(super) fn first(&self, newest_first: bool) -> Option<u64> {
        match newest_first {
            true => self.by_arrival.last().copied(),
            false => self.by_deadline.first().map(|(_, number)| *number),
        }
    }
}

/// How many of the last items decide what is usual.
const USUAL: f64 = 8.0;

/// Work given to a share, for its weight.
pub(super) type Turn = u128;

/// The waiting items of one share and class.
pub(super) struct Account<K> {
    pub(super) weight: u32,
    pub(super) all: Order,
    /// By shape. No order in here is empty.
    pub(super) alike: HashMap<K, Order>,
    /// Units of work that wait.
    pub(super) backlog: u64,
    pub(super) turn: Turn,
    /// Units of work that have arrived in the last seconds.
    arrivals: Recent,
    /// Units of work of an item, in the mean of the last ones.
    pub(super) usual: f64,
    /// Since when items that arrive find many before them.
    pub(super) standing: Option<Instant>,
}

/// A sum of which a third is left after a second.
#[derive(Default)]
pub(super) struct Recent {
    pub(super) sum: f64,
    pub(super) last: Option<Instant>,
}

impl Recent {
    pub(super) fn at(&self, now: Instant) -> f64 {
        let passed =
            self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        self.sum * (-passed).exp()
    }

    pub(super) fn add(&mut self, now: Instant, value: f64) {
        (self.sum, self.last) = (self.at(now) + value, Some(now));
    }
}

impl<K> Account<K> {
    pub(super) fn new(turn: Turn, weight: u32) -> Self {
        let (all, alike, arrivals) = (Order::default(), HashMap::new(), Recent::default());
        Account { weight, all, alike, backlog: 0, turn, arrivals, usual: 0.0, standing: None }
    }

    /// An item of this much work arrives.
    pub(super) fn arrived(&mut self, now: Instant, cost: u64) {
        let cost = cost as f64;
        self.arrivals.add(now, cost);
        self.usual += if self.usual == 0.0 { cost } else { (cost - self.usual) / USUAL };
    }

    /// What this much work moves its turn by.
    pub(super) fn charge(&self, work: u64) -> Turn {
        (Turn::from(work) << 16) / Turn::from(self.weight)
    }

    /// The work that it will be given between two turns, in this many seconds.
    pub(super) fn given(&self, [from, to]: [Turn; 2], now: Instant, seconds: f64) -> u64 {
        let from = if self.all.len() > 0 { self.turn } else { self.turn.max(from) };
        let most = to.saturating_sub(from).saturating_mul(self.weight.into()) >> 16;
        let arriving = (self.arrivals.at(now) * seconds) as u64;
        let asked = self.backlog.saturating_add(arriving);
        asked.min(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// The waiting items of one class.
pub(super) struct Line<K> {
    pub(super) accounts: HashMap<u64, Account<K>>,
    /// The shares with waiting items.
    pub(super) turns: BTreeSet<(Turn, u64)>,
    /// The turn of the last item that was taken: where a share begins that was idle.
    pub(super) now: Turn,
    pub(super) by_deadline: BTreeSet<(Due, u64)>,
    /// Units of work that wait.
    pub(super) backlog: u64,
}

/// Accounts of idle shares are dropped when there are this many more than those in use.
const IDLE_ACCOUNTS: usize = 64;

impl<K: Clone + Eq + Hash> Line<K> {
    pub(super) fn new() -> Self {
        let (accounts, turns, by_deadline) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        Line { accounts, turns, now: 0, by_deadline, backlog: 0 }
    }

    pub(super) fn insert<T>(&mut self, number: u64, entry: &Entry<K, T>) {
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

    pub(super) fn remove<T>(&mut self, number: u64, entry: &Entry<K, T>) {
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
    pub(super) fn set_turn(&mut self, id: u64, turn: impl FnOnce(&Account<K>) -> Turn) {
        let Some(account) = self.accounts.get_mut(&id) else { return };
        let waits = self.turns.remove(&(account.turn, id));
        account.turn = turn(account);
        if waits {
            self.turns.insert((account.turn, id));
        }
    }

    /// An item of this share and cost begins.
    pub(super) fn charge(&mut self, id: u64, cost: u64) {
        self.now = self.now.max(self.accounts.get(&id).map_or(0, |account| account.turn));
        self.set_turn(id, |account| account.turn.saturating_add(account.charge(cost)));
    }

    /// It did not begin after all.
    pub(super) fn refund(&mut self, id: u64, cost: u64) {
        self.set_turn(id, |account| account.turn.saturating_sub(account.charge(cost)));
    }

    /// How many items of a shape wait.
    pub(super) fn alike(&self, shape: &K) -> usize {
        let orders = self.accounts.values().filter_map(|account| account.alike.get(shape));
        orders.map(Order::len).sum()
    }
}
