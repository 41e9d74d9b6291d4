//! The scheduler in simulated time: threads take as long as the simulation prescribes.

use super::*;
use crate::rate::tests::ms;
use crate::terms::Share;

/// What happened to an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Waits,
    Refused,
    Expired,
    /// Began and ended then, in milliseconds from the start.
    Ran(u64, u64),
}

/// A submission: when, terms, shape and work.
#[derive(Clone, Copy)]
struct Arrival {
    at: u64,
    terms: Terms,
    shape: char,
    cost: u64,
}

/// A group that a thread computes.
struct Job {
    ends: u64,
    items: Vec<usize>,
    sample: Sample,
}

struct Simulation {
    start: Instant,
    scheduler: Scheduler<char, usize>,
    threads: Vec<Option<Job>>,
    fates: Vec<Fate>,
    /// Milliseconds for a unit of work of an item alone; a pair takes 1.36 times that.
    pace: f64,
    /// When the next group stops, and for how long.
    pause: Option<(u64, u64)>,
}

impl Simulation {
    fn new(threads: usize) -> Self {
        Simulation {
            start: Instant::now(),
            scheduler: Scheduler::new(threads, 4096, ms(1000)),
            threads: (0..threads).map(|_| None).collect(),
            fates: Vec::new(),
            pace: 1.0,
            pause: None,
        }
    }

    fn now(&self, at: u64) -> Instant {
        self.start + ms(at)
    }

    fn submit(&mut self, arrival: Arrival) -> Result<(), Error> {
        let Arrival { at, terms, shape, cost } = arrival;
        let (now, item) = (self.now(at), self.fates.len());
        let mut items = Items::default();
        items.add(cost);
        let admitted = self.scheduler.admit(now, terms, &items);
        self.fates.push(if admitted.is_ok() { Fate::Waits } else { Fate::Refused });
        if admitted.is_ok() {
            let (class, share, due) = (terms.class(), terms.whose(), terms.due(now));
            let entry = Entry { shape, class, share, due, arrived: now, cost, batch: 0, item };
            self.scheduler.push(entry);
        }
        admitted
    }

    /// Lets idle threads begin what they can.
    fn dispatch(&mut self, at: u64) {
        let now = self.now(at);
        for index in 0..self.threads.len() {
            if self.threads[index].is_some() {
                continue;
            }
            for taken in self.scheduler.expire(now) {
                self.fates[taken.entry.item] = Fate::Expired;
            }
            let Some(lead) = self.scheduler.lead(now) else { return };
            let free = self.threads.iter().filter(|job| job.is_none()).count();
            let items = self.scheduler.begin(now, &lead, portion(lead.alike, free, 2));
            let items: Vec<_> = items.into_iter().map(|taken| taken.entry.item).collect();
            let factor = if items.len() > 1 { 1.36 } else { 1.0 };
            let pause = self.pause.take_if(|(from, _)| *from <= at).map_or(0, |(_, length)| length);
            let taken = (lead.cost as f64 * self.pace * factor).round() as u64 + pause;
            for item in &items {
                self.fates[*item] = Fate::Ran(at, at + taken);
            }
            let work = lead.cost * items.len() as u64;
            let sample = Sample {
                booked: work,
                work,
                items: items.len(),
                busy: ms(taken),
                taken: ms(taken),
            };
            self.threads[index] = Some(Job { ends: at + taken, items, sample });
        }
    }

    /// Goes through time, a millisecond at a time, until all has ended that arrives.
    fn run(&mut self, arrivals: &[Arrival], until: u64) {
        let mut arrivals = arrivals.iter().peekable();
        for at in 0..until {
            let now = self.now(at);
            for thread in &mut self.threads {
                if let Some(job) = thread.take_if(|job| job.ends <= at) {
                    assert!(!job.items.is_empty());
                    self.scheduler.end(now, job.sample, true);
                }
            }
            while let Some(arrival) = arrivals.next_if(|arrival| arrival.at <= at) {
                let _ = self.submit(*arrival);
            }
            self.dispatch(at);
        }
    }

    /// Items that ended within `within` milliseconds of their arrival.
    fn good(&self, arrivals: &[Arrival], within: u64) -> usize {
        let in_time = |(fate, arrival): &(&Fate, &Arrival)| match fate {
            Fate::Ran(_, end) => *end <= arrival.at + within,
            _ => false,
        };
        self.fates.iter().zip(arrivals).filter(in_time).count()
    }

    fn count(&self, which: impl Fn(&Fate) -> bool) -> usize {
        self.fates.iter().filter(|fate| which(fate)).count()
    }
}

fn arrivals(every: u64, until: u64, count: u64, arrival: Arrival) -> Vec<Arrival> {
    let at = (0..until).step_by(every as usize);
    at.flat_map(|at| (0..count).map(move |_| Arrival { at, ..arrival })).collect()
}

fn item(terms: Terms, cost: u64) -> Arrival {
    Arrival { at: 0, terms, shape: 'a', cost }
}

/// Pairs of 10 units on two threads: two every 6.8 milliseconds.
#[test]
fn ten_times_too_much_work_with_deadlines_gives_the_capacity_as_goodput() {
    let load = arrivals(1, 20_000, 3, item(Terms::interactive().within(ms(250)), 10));
    let mut simulation = Simulation::new(2);
    simulation.run(&load, 20_500);
    let capacity = 20_000 * 4 / 14;
    let good = simulation.good(&load, 250);
    assert!(good * 100 >= capacity * 95, "{good} of {capacity}");
    assert_eq!(simulation.count(|fate| *fate == Fate::Waits), 0);
    let late = simulation.count(|fate| matches!(fate, Fate::Ran(..))) - good;
    assert!(late * 100 <= capacity, "{late} late");
}

/// The pool becomes three times slower: predictions cannot be kept, but goodput continues.
#[test]
fn goodput_goes_on_when_the_rate_drops() {
    let load = arrivals(1, 10_000, 2, item(Terms::interactive().within(ms(300)), 10));
    let mut simulation = Simulation::new(2);
    simulation.run(&load[..10_000], 5000);
    let before = simulation.good(&load, 300);
    simulation.pace = 3.0;
    simulation.run(&load[10_000..], 10_500);
    let after = simulation.good(&load, 300) - before;
    let capacity = 5000 * 4 / 41;
    assert!(after * 100 >= capacity * 90, "{after} of {capacity}");
}

/// The process is stopped for three seconds, or the machine is ten times slower for one: a second
/// later logins are served as before.
#[test]
fn a_pause_is_forgotten_within_a_second() {
    let load = arrivals(92, 20_000, 1, item(Terms::interactive().within(ms(185)), 37));
    let from = |at| load.iter().position(|arrival| arrival.at >= at).unwrap();
    let good = |simulation: &Simulation| {
        let in_time = |fate: &&Fate| matches!(fate, Fate::Ran(from, to) if to - from <= 185);
        simulation.fates[from(9000)..from(19_000)].iter().filter(in_time).count()
    };
    let mut simulation = Simulation::new(1);
    simulation.pause = Some((5000, 3000));
    simulation.run(&load, 20_000);
    let all = from(19_000) - from(9000);
    assert!(good(&simulation) * 100 >= all * 98, "{} of {all}", good(&simulation));
    // The very first hash, about which nothing is known.
    let mut simulation = Simulation::new(1);
    simulation.pause = Some((0, 3000));
    simulation.run(&load, 20_000);
    assert!(good(&simulation) * 100 >= all * 98, "{} of {all}", good(&simulation));
    let mut simulation = Simulation::new(1);
    simulation.run(&load[..from(7000)], 7000);
    simulation.pace = 10.0;
    simulation.run(&load[from(7000)..from(8000)], 8000);
    simulation.pace = 1.0;
    simulation.run(&load[from(8000)..], 20_000);
    assert!(good(&simulation) * 100 >= all * 98, "{} of {all}", good(&simulation));
}

/// A hash that takes a minute, on one of four threads, where the machine was ten times slower for a
/// while: the other three serve logins as before.
#[test]
fn a_long_item_does_not_keep_a_pause_in_mind() {
    let mut load = arrivals(50, 30_000, 1, item(Terms::interactive().within(ms(185)), 37));
    load.push(Arrival { at: 1000, ..item(Terms::bulk(), 60_000) });
    load.sort_by_key(|arrival| arrival.at);
    let from = |at| load.iter().position(|arrival| arrival.at >= at).unwrap();
    let mut simulation = Simulation::new(4);
    simulation.run(&load[..from(2000)], 2000);
    simulation.pace = 10.0;
    simulation.run(&load[from(2000)..from(7000)], 7000);
    simulation.pace = 1.0;
    simulation.run(&load[from(7000)..], 30_000);
    let in_time = |fate: &&Fate| matches!(fate, Fate::Ran(from, to) if to - from <= 185);
    let good = simulation.fates[from(8000)..].iter().filter(in_time).count();
    let all = load.len() - from(8000);
    assert!(good * 100 >= all * 98, "{good} of {all}");
}

/// An item that an idle pool admits is not later judged too late by the same measurement.
#[test]
fn what_an_idle_pool_takes_on_is_computed() {
    let mut simulation = Simulation::new(8);
    let login = item(Terms::interactive().within(ms(185)), 37);
    simulation.run(&[login], 100);
    simulation.pace = 10.0;
    simulation.run(&arrivals(400, 8000, 1, item(Terms::interactive(), 37)), 9000);
    simulation.pace = 1.0;
    let before = simulation.fates.len();
    let burst: Vec<_> = (0..4).map(|_| Arrival { at: 9100, ..login }).collect();
    simulation.run(&burst, 9200);
    let fates = &simulation.fates[before..];
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Ran(..))), "{fates:?}");
}

/// Callers without deadlines who give up after a second, unseen by the pool.
#[test]
fn patient_items_in_overload_still_give_goodput() {
    let load = arrivals(1, 20_000, 2, item(Terms::interactive(), 10));
    let mut simulation = Simulation::new(2);
    simulation.run(&load, 20_000);
    let (good, capacity) = (simulation.good(&load, 1000), 20_000 * 4 / 14);
    assert!(good * 100 >= capacity * 80, "{good} of {capacity}");
}

#[test]
fn a_refusal_says_how_long_it_would_take() {
    let mut simulation = Simulation::new(1);
    let login = Terms::interactive().within(ms(100));
    // Nothing is known yet: all are accepted.
    simulation.run(&[item(login, 20), item(login, 20)], 30);
    assert_eq!(simulation.count(|fate| *fate == Fate::Refused), 0);
    // A pair takes 27 ms. With two begun, these wait for half of that and for each other.
    let mut refused = Vec::new();
    for at in [100; 8] {
        refused.extend(simulation.submit(Arrival { at, ..item(login, 20) }).err());
        simulation.dispatch(at);
    }
    let Some(Error::TooLate { predicted, allowed }) = refused.first() else {
        panic!("{refused:?}")
    };
    assert_eq!(*allowed, ms(100));
    assert!((85..200).contains(&(predicted.as_millis())), "{predicted:?}");
    assert!((2..=5).contains(&refused.len()), "{refused:?}");
    // An item with more time is accepted, and so is one that is due before it.
    let patient = Terms::interactive().within(ms(2000));
    assert!(simulation.submit(Arrival { at: 100, ..item(patient, 20) }).is_ok());
    let wait = simulation.scheduler.predicted_wait(simulation.now(100)).unwrap();
    assert!(wait > ms(50) && wait < ms(150), "{wait:?}");
}

#[test]
fn an_item_that_can_never_be_in_time_is_refused_by_an_idle_pool_until_the_measurement_is_old() {
    let mut simulation = Simulation::new(1);
    simulation.run(&[item(Terms::interactive(), 500)], 600);
    let hasty = item(Terms::interactive().within(ms(100)), 500);
    assert!(simulation.submit(Arrival { at: 700, ..hasty }).is_err());
    assert!(simulation.submit(Arrival { at: 6000, ..hasty }).is_ok());
}

#[test]
fn bulk_runs_on_what_is_idle() {
    // Interactive work for a third of the time, and as much bulk as fits.
    let mut load = arrivals(30, 3000, 1, item(Terms::interactive().within(ms(60)), 10));
    load.extend(arrivals(1, 1, 2000, item(Terms::bulk(), 2)));
    load.sort_by_key(|arrival| arrival.at);
    let mut simulation = Simulation::new(1);
    simulation.run(&load, 3000);
    let mut begun = [0; 2];
    for (fate, arrival) in simulation.fates.iter().zip(&load) {
        if let Fate::Ran(from, to) = fate {
            begun[arrival.terms.class() as usize] += 1;
            let interactive = arrival.terms.class() == Class::Interactive;
            assert!(!interactive || from - arrival.at <= 3 && to - arrival.at <= 13);
        }
    }
    assert_eq!(begun[0], 100);
    // Two thirds of 3000 ms, in pairs of 3 ms.
    assert!(begun[1] > 1200, "{begun:?}");
}

#[test]
fn bulk_starves_while_interactive_work_fills_the_pool() {
    let mut load = arrivals(5, 3000, 1, item(Terms::interactive(), 10));
    load.extend(arrivals(1, 1, 10, item(Terms::bulk(), 10)));
    load.sort_by_key(|arrival| arrival.at);
    let mut simulation = Simulation::new(1);
    simulation.run(&load, 2900);
    let ran = |class| {
        let pairs = simulation.fates.iter().zip(&load);
        pairs.filter(|(f, a)| matches!(f, Fate::Ran(..)) && a.terms.class() == class).count()
    };
    assert_eq!(ran(Class::Bulk), 0);
    assert!(ran(Class::Interactive) > 380);
}

/// What a share got.
#[derive(Debug)]
struct Served {
    /// Its items that ended within their time, in thousandths of all that it sent.
    good: usize,
    /// Their number.
    computed: usize,
    /// Percentiles of the milliseconds that computed items took.
    median: u64,
    p99: u64,
}

fn served(simulation: &Simulation, load: &[Arrival], share: Share, within: u64) -> Served {
    let own = || simulation.fates.iter().zip(load).filter(|(_, at)| at.terms.whose() == share);
    let time = |(fate, arrival): (&Fate, &Arrival)| match fate {
        Fate::Ran(_, end) => Some(end - arrival.at),
        _ => None,
    };
    let mut times: Vec<u64> = own().filter_map(time).collect();
    times.sort_unstable();
    let computed = times.partition_point(|time| *time <= within);
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(0);
    Served { good: computed * 1000 / own().count(), computed, median: at(50), p99: at(99) }
}

/// A thread does pairs of 10 units in 14 ms: this is how many it can do in 20 seconds.
const IN_20_SECONDS: usize = 20_000 * 2 / 14;

/// One client sends 2 to 50 times what the pool can do, with short deadlines or long ones; the
/// other one nine tenths of its half.
#[test]
fn a_share_is_served_whatever_another_one_sends() {
    let (greedy, modest) = (Share::of("greedy"), Share::of("modest"));
    for times in [2, 5, 10, 50] {
        for within in [100, 1000, 5000] {
            let terms = Terms::interactive().share(greedy).within(ms(within));
            let mut load = arrivals(7, 20_000, times, item(terms, 10));
            let terms = Terms::interactive().share(modest).within(ms(1000));
            load.extend(arrivals(16, 20_000, 1, item(terms, 10)));
            load.sort_by_key(|arrival| arrival.at);
            let mut simulation = Simulation::new(1);
            simulation.run(&load, 26_000);
            let (rest, own) = (IN_20_SECONDS - 1250, served(&simulation, &load, modest, 1000));
            assert!(own.good >= 998 && own.p99 <= 2 * 14, "{times}, {within}: {own:?}");
            let other = served(&simulation, &load, greedy, within);
            assert!(other.computed * 100 >= rest * 99, "{times}, {within}: {other:?} of {rest}");
            let expired = simulation.count(|fate| *fate == Fate::Expired);
            assert!(expired * 8 <= rest, "{times}, {within}: {expired} expired");
        }
    }
}

/// Three clients with all that they want to do waiting, without deadlines.
#[test]
fn shares_get_work_by_their_weights() {
    let shares = [1, 2, 5].map(|weight| Share::of(weight).weight(weight));
    let mut load = Vec::new();
    for (share, cost) in shares.into_iter().zip([20, 10, 5]) {
        load.extend(arrivals(cost, 10_000, 1, item(Terms::bulk().share(share), cost)));
    }
    load.sort_by_key(|arrival| arrival.at);
    let mut simulation = Simulation::new(1);
    // Items of one shape are computed in pairs, which are of two shares here.
    simulation.run(&load, 8000);
    let work = shares.map(|share| {
        let own = simulation.fates.iter().zip(&load);
        let own =
            own.filter(|(fate, at)| at.terms.whose() == share && matches!(fate, Fate::Ran(..)));
        own.map(|(_, arrival)| arrival.cost).sum::<u64>()
    });
    assert!((work[1] * 10).abs_diff(work[0] * 20) <= work[0], "{work:?}");
    assert!((work[2] * 10).abs_diff(work[0] * 50) <= work[0] * 3, "{work:?}");
}

/// With twice the work that there is time for, or more, a second of patience does not mean that
/// everybody waits for a second; but a burst has all of it.
#[test]
fn a_standing_queue_is_not_kept_and_a_burst_is_absorbed() {
    let terms = Terms::interactive().within(ms(1000));
    for times in [2, 10] {
        let load = arrivals(7, 20_000, times, item(terms, 10));
        let mut simulation = Simulation::new(1);
        simulation.run(&load, 21_000);
        let own = served(&simulation, &load, Share::default(), 1000);
        assert!(own.computed >= IN_20_SECONDS && own.median <= 250, "{times}: {own:?}");
    }
    let mut load = arrivals(20, 20_000, 1, item(terms, 10));
    load.extend((0..60).map(|_| Arrival { at: 5000, ..item(terms, 10) }));
    load.sort_by_key(|arrival| arrival.at);
    let mut simulation = Simulation::new(1);
    simulation.run(&load, 21_000);
    assert_eq!(served(&simulation, &load, Share::default(), 1000).good, 1000);
}

/// Ten times what can be done arrives at once, and takes part of the processor: what is accepted is
/// done in time all the same, but for a few items that came before that could be seen, if it takes
/// half of it.
#[test]
fn an_onset_that_makes_hashing_slower_is_noticed_in_time() {
    let terms = Terms::interactive().within(ms(1000));
    for (pace, most) in [(1.3, 0), (1.6, 0), (2.0, 8)] {
        let mut load = arrivals(20, 5000, 1, item(terms, 10));
        load.extend(
            arrivals(7, 3000, 20, item(terms, 10))
                .iter()
                .map(|arrival| Arrival { at: arrival.at + 5000, ..*arrival }),
        );
        let mut simulation = Simulation::new(1);
        simulation.run(&load[..250], 5000);
        simulation.pace = pace;
        simulation.run(&load[250..], 9000);
        let late = simulation.count(|fate| matches!(fate, Fate::Ran(..)));
        let late = late - simulation.good(&load, 1000);
        let expired = simulation.count(|fate| *fate == Fate::Expired);
        assert!(late + expired <= most, "{pace}: {late} late, {expired} expired");
    }
}

/// Before it is known what an item costs, it is refused for what waits before it alone.
#[test]
fn what_is_unknown_is_refused_for_what_it_waits_for() {
    let mut simulation = Simulation::new(1);
    let terms = Terms::interactive().within(ms(1000));
    let any = |simulation: &Simulation, at, terms| {
        simulation.scheduler.admit_any(simulation.now(at), terms).is_ok()
    };
    assert!(any(&simulation, 0, terms));
    simulation.run(&arrivals(7, 5000, 10, item(terms, 10)), 5000);
    while simulation.submit(Arrival { at: 5000, ..item(terms, 10) }).is_ok() {}
    assert!(!any(&simulation, 5000, terms));
    let impatient = Terms::interactive().share(Share::of("another")).within(ms(30));
    assert!(any(&simulation, 5000, impatient.within(ms(1000))));
    assert!(!any(&simulation, 5000, impatient.within(ms(1))));
    assert!(any(&simulation, 5000, Terms::interactive()));
    simulation.run(&[], 6500);
    // Its own time does not matter: what it is is not known.
    assert!(any(&simulation, 6500, terms) && any(&simulation, 6500, impatient.within(ms(1))));
}

#[test]
fn limits_of_what_waits() {
    let mut simulation = Simulation::new(1);
    let mut items = Items::default();
    for _ in 0..4097 {
        items.add(1);
    }
    let refused = simulation.scheduler.admit(simulation.start, Terms::bulk(), &items);
    assert_eq!(refused, Err(Error::BatchTooLarge { items: 4097, limit: 4096 }));
}

#[test]
fn a_queue_that_one_share_fills_has_room_for_another() {
    let mut simulation = Simulation::new(1);
    let [first, second] = ["first", "second"].map(|name| Terms::bulk().share(Share::of(name)));
    let fill = |simulation: &mut Simulation, terms| {
        (0..5000).take_while(|_| simulation.submit(item(terms, 1)).is_ok()).count()
    };
    assert_eq!(fill(&mut simulation, first), 4096);
    assert_eq!(fill(&mut simulation, second), 2048);
    assert_eq!(fill(&mut simulation, first), 0);
}

#[test]
fn portions() {
    // waiting, free, degree: taken
    for (waiting, free, degree, taken) in [
        (1, 1, 2, 1),
        (2, 2, 2, 1),
        (3, 2, 2, 2),
        (2, 1, 2, 2),
        (100, 8, 2, 2),
        (5, 8, 4, 1),
        (5, 2, 4, 4),
        (6, 3, 4, 2),
        (3, 1, 4, 3),
    ] {
        assert_eq!(portion(waiting, free, degree), taken, "{waiting} {free} {degree}");
    }
}
