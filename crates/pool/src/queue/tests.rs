//! The queue by itself: orders, expiry, what is put back.

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
