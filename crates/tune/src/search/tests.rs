//! The search on a pool without a clock, whose speed and whose faults are known.

use saltern::Policy;
use saltern::policy::Params;

use super::*;
use crate::neighbour::Neighbours;
use crate::others::Others;

/// Four threads of 1 GB/s each, of which pairs do 1.4 times as much.
struct Simulated {
    /// Units of work per second of one thread.
    speed: f64,
    /// What so many threads do, in terms of one.
    scaling: fn(usize) -> f64,
    /// How much of its threads' time it gets.
    share: f64,
    stalled: f64,
    /// So many times slower in loads than it was when it was measured.
    slower: f64,
    neighbours: Option<Neighbours>,
    others: Option<Others>,
    loads: Vec<(Setting, f64, f64)>,
}

fn site() -> Simulated {
    Simulated {
        speed: 1e9,
        scaling: |threads| threads as f64,
        share: 1.0,
        stalled: 0.0,
        slower: 1.0,
        neighbours: Some(Neighbours { median: 0.99, low: 0.97, samples: 100 }),
        others: Some(Others { busy: 0.02, stolen: 0.0, processors: 4 }),
        loads: Vec::new(),
    }
}

impl Subject for Simulated {
    fn saturate(&mut self, setting: &Setting, _: Duration) -> Result<Saturation, Error> {
        let alone = setting.work() / self.speed;
        let rate = 1.4 * (self.scaling)(setting.threads) / alone;
        let (share, stalled) = (self.share, self.stalled);
        Ok(Saturation { rate, alone, processor: alone / 1.4, share, group: 2.0, stalled })
    }

    fn load(&mut self, setting: &Setting, rate: f64, time: Duration) -> Result<Load, Error> {
        let mut seen = self.saturate(setting, time)?;
        (seen.rate, seen.alone) = (seen.rate / self.slower, seen.alone * self.slower);
        let seconds = time.as_secs_f64();
        self.loads.push((*setting, rate, seconds));
        Ok(Model::of(setting, &seen).load(setting, rate, seconds))
    }

    fn neighbours(&self) -> Option<Neighbours> {
        self.neighbours
    }

    fn others(&self) -> Option<Others> {
        self.others
    }
}

fn target() -> Target {
    Target { logins: 20.0, burst: 3.0, p99: Duration::from_millis(250), memory: 4 << 30 }
}

fn bounds() -> Bounds {
    Bounds::new(&Policy::default(), None).with_threads(4)
}

fn search(site: &mut Simulated, target: &Target) -> Result<Report, Error> {
    Tuner::new(site, bounds(), Effort::thorough()).search(target)
}

#[test]
fn the_strongest_setting_that_holds_is_taken_and_confirmed() {
    let mut site = site();
    let report = search(&mut site, &target()).unwrap();
    assert!(report.holds() && report.warnings.is_empty(), "{:?}", report.warnings);
    // 5.6 GB/s bear 60 logins a second, with room, of at most 79 MB of work each.
    let work = report.setting.work() * 60.0 / 0.85;
    assert!(work <= 5.6e9 && work > 2.8e9, "{}", report.setting.words());
    assert_eq!((report.setting.threads, report.bottleneck), (4, Bottleneck::Processor));
    // The peak was confirmed for a minute, and nothing weaker would have done.
    assert!(site.loads.contains(&(report.setting, 60.0, 60.0)));
    let others = &report.alternatives;
    let at = others.iter().position(|other| other.setting == report.setting).unwrap();
    assert!(others[..at].iter().all(|other| other.holds), "{others:?}");
    let next = &others[at + 1];
    assert!(!next.holds || next.capacity * LOAD < 60.0, "{next:?}");
    assert!(report.headroom.unwrap() >= 1.0 && report.held <= report.saturation.rate);
    assert!(report.knee.unwrap() < report.held);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let [a, b] = [(); 2].map(|()| search(&mut site(), &target()).unwrap());
    assert_eq!((a.setting, a.held, a.curve), (b.setting, b.held, b.curve));
}

#[test]
fn what_was_promised_too_early_is_taken_back() {
    let honest = search(&mut site(), &target()).unwrap();
    let mut slow = site();
    slow.slower = 1.6;
    let report = search(&mut slow, &target()).unwrap();
    assert!(report.holds() && report.setting.strength() < honest.setting.strength());
}

#[test]
fn the_bottleneck_is_named() {
    let small = Target { memory: 36 << 20, logins: 1.0, burst: 1.0, ..target() };
    let report = search(&mut site(), &small).unwrap();
    assert_eq!(report.bottleneck, Bottleneck::Memory, "{}", report.setting.words());

    let mut flat = site();
    flat.scaling = |threads| (threads as f64).min(2.4);
    let report = search(&mut flat, &target()).unwrap();
    assert_eq!((report.bottleneck, report.setting.threads), (Bottleneck::Bandwidth, 4));

    let mut one = site();
    one.scaling = |_| 1.0;
    assert_eq!(search(&mut one, &target()).unwrap().setting.threads, 1);

    let mut disk = site();
    (disk.stalled, disk.share) = (0.5, 0.5);
    let report = search(&mut disk, &target()).unwrap();
    assert_eq!(report.bottleneck, Bottleneck::Disk);
    assert!(report.warnings.is_empty(), "who waits for a disk is not disturbed");

    let quick = Target { logins: 1.0, burst: 1.0, p99: Duration::from_millis(20), ..target() };
    assert_eq!(search(&mut site(), &quick).unwrap().bottleneck, Bottleneck::Latency);

    let rare = Target { logins: 0.1, burst: 1.0, p99: Duration::from_secs(60), ..target() };
    assert_eq!(search(&mut site(), &rare).unwrap().bottleneck, Bottleneck::Limits);
}

#[test]
fn a_target_out_of_reach_is_refused_with_what_would_do() {
    let many = Target { logins: 1e5, ..target() };
    let Err(Error::Unmet { bottleneck, why }) = search(&mut site(), &many) else { panic!() };
    assert_eq!(bottleneck, Bottleneck::Processor);
    assert!(why.contains("processors like these") && why.contains("logins/s"), "{why}");

    let mut policy = Policy::default();
    policy.floor = Params::from_cost(8).unwrap();
    policy.params = policy.floor;
    let soon = Target { p99: Duration::from_millis(50), logins: 0.1, burst: 1.0, ..target() };
    let bounds = Bounds::new(&policy, None).with_threads(4);
    let refused = Tuner::new(&mut site(), bounds, Effort::quick()).search(&soon);
    let Err(Error::Unmet { bottleneck, why }) = refused else { panic!("{refused:?}") };
    assert_eq!(bottleneck, Bottleneck::Latency);
    assert!(why.contains("more than 50 ms") && !why.contains("processors like these"), "{why}");

    for wrong in [Target { logins: f64::NAN, ..target() }, Target { burst: 0.5, ..target() }] {
        assert!(matches!(search(&mut site(), &wrong), Err(Error::Target { .. })));
    }
}

#[test]
fn a_busy_machine_is_said_to_be_busy() {
    let mut busy = site();
    busy.share = 0.5;
    busy.neighbours = Some(Neighbours { median: 0.6, low: 0.5, samples: 100 });
    let report = search(&mut busy, &target()).unwrap();
    assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
    assert!(report.text().starts_with("WARNING: other programs took processor time"));
    assert!(report.page().contains("class=\"warning\""));
    assert!(report.policy(&Policy::default()).unwrap().contains("# WARNING: "));
}

/// It was there before anything was measured, and never rested, so that all that is compared
/// within the run looks quiet.
#[test]
fn a_neighbour_who_never_rests_is_noticed() {
    let mut busy = site();
    busy.others = Some(Others { busy: 1.0, stolen: 0.0, processors: 4 });
    let report = search(&mut busy, &target()).unwrap();
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.text().starts_with("WARNING: other programs kept 1.00 of the 4 processors"));
    busy.others = Some(Others { busy: 0.0, stolen: 0.5, processors: 4 });
    let report = search(&mut busy, &target()).unwrap();
    assert!(report.warnings[0].contains("which its host gave to others"), "{:?}", report.warnings);
}

/// A login every minute, of which a quick run would see none.
#[test]
fn rare_logins_are_seen_all_the_same() {
    let rare = Target { logins: 0.02, burst: 1.0, p99: Duration::from_secs(1), ..target() };
    let mut site = site();
    let report = Tuner::new(&mut site, bounds(), Effort::quick()).search(&rare).unwrap();
    let seen = report.confirmation.as_ref().unwrap();
    assert!(report.holds() && seen.logins >= 10 && report.held > 0.0, "{seen:?}");
}

#[test]
fn a_setting_below_the_floor_is_refused_and_any_other_measured() {
    let setting = |n| Setting { n, r: 8, p: 1, t: 0, threads: 4 };
    let mut site = site();
    let mut tuner = Tuner::new(&mut site, bounds(), Effort::quick());
    let p99 = Duration::from_millis(100);
    let refused = tuner.capacity(&setting(512), p99, 1 << 30, None).unwrap_err().to_string();
    assert!(refused.contains("below the policy's floor"), "{refused}");
    let report = tuner.capacity(&setting(4096), p99, 1 << 30, None).unwrap();
    assert!(report.holds() && report.target.is_none() && report.headroom.is_none());
    assert!((0.8..=1.0).contains(&(report.held / report.saturation.rate)), "{}", report.held);
    let over = Target { logins: 10.0 * report.held, burst: 1.0, p99, memory: 1 << 30 };
    let report = tuner.capacity(&setting(4096), p99, 1 << 30, Some(&over)).unwrap();
    assert!(!report.holds() && report.text().contains("DOES NOT HOLD"), "{}", report.text());
    // Patience does not help: the queue of so short a run is no longer than that of a target of
    // half a minute may be, and grows all the same.
    let patient = Target { p99: Duration::from_secs(30), ..over };
    let report = tuner.capacity(&setting(4096), patient.p99, 1 << 30, Some(&patient)).unwrap();
    assert!(!report.holds() && report.text().contains("DOES NOT HOLD"), "{}", report.text());
    // No more are sent than it takes to see that.
    drop(tuner);
    let most = site.loads.iter().map(|(_, rate, _)| *rate).fold(0.0, f64::max);
    assert!(most < 2.1 * report.saturation.rate, "{most}");
}

#[test]
fn what_is_written_is_a_policy_and_a_page() {
    let report = search(&mut site(), &target()).unwrap();
    let site = crate::Site::new(target().policy(Policy::default()));
    let policy = site.policy(&report.setting);
    let text = report.policy(&policy).unwrap();
    let read = Policy::parse(&text, "/").unwrap();
    assert_eq!((read.params, read.floor), (policy.params, policy.floor));
    assert_eq!((read.pool.threads, read.pool.memory), (4, 4 << 30));
    assert_eq!((read.deadline, read.pool.prepare), (policy.deadline, policy.pool.prepare));
    assert!(text.lines().all(|line| !line.contains("WARNING")), "{text}");

    let page = report.page();
    assert!(page.contains("<svg") && !page.contains("<script") && page.contains("knee"));
    for place in ["github.com/hashcat/hashcat/pull/4657", "2026-03-30", "2025-07-31"] {
        assert!(page.contains(place) && report.text().contains(place), "{place}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (json["schema"].as_u64(), json["bottleneck"].as_str()),
        (Some(1), Some("processor"))
    );
    assert_eq!(json["target"]["p99_ms"], 250.0);
}
