//! That calls together give what each gives alone, and when they wait.

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use saltern_yescrypt::{Limits, Params, Workspace, derive};

use super::*;

fn hash(params: &CheckedParams, password: &[u8], memory: Memory<'_>) -> [u8; 32] {
    let mut out = [0; 32];
    let job = Job { params: *params, rom: None, password, salt: b"salt", out: &mut out };
    compute(job, memory).unwrap();
    out
}

#[test]
fn many_threads_get_their_own_hashes() {
    let shapes =
        [(64, 8), (128, 8)].map(|(n, r)| Params::yescrypt(n, r).check(&Limits::server()).unwrap());
    let classic = Params::scrypt(64, 8, 1).check(&Limits::server()).unwrap();
    let (start, compared) = (Barrier::new(64), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..64_usize {
            let (start, compared) = (&start, &compared);
            scope.spawn(move || {
                let mut workspace = Workspace::new();
                start.wait();
                for round in 0..20_usize {
                    let params = [shapes[0], shapes[1], classic][(thread + round) % 3];
                    let password = format!("{thread} {round}");
                    let mut alone = [0; 32];
                    let own = &mut Workspace::new();
                    derive(&password, b"salt", &params, None, own, &mut alone).unwrap();
                    let memory =
                        if round % 2 == 0 { Memory::Kept } else { Memory::Own(&mut workspace) };
                    let together = hash(&params, password.as_bytes(), memory);
                    assert_eq!(together, alone);
                    compared.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(compared.into_inner(), 64 * 20);
}

/// A job that nobody computes.
fn job(out: usize) -> Seated {
    let params = Params::yescrypt(64, 8).check(&Limits::server()).unwrap();
    let nothing = std::ptr::slice_from_raw_parts_mut(std::ptr::null_mut(), 0);
    let shape = Shape { params, rom: None, out };
    Seated { shape, password: nothing, salt: nothing, out: nothing }
}

fn leads(next: &Next) -> Option<usize> {
    match next {
        Next::Lead(partners) => Some(partners.iter().flatten().count()),
        Next::Done | Next::Alone => None,
    }
}

#[test]
fn a_call_waits_only_where_processors_are_taken_and_goes_with_its_like() {
    // One of two computes both, and the third is alone. The other one of the two has its hash, or
    // computes it alone.
    for (success, partner) in [(true, "done"), (false, "alone")] {
        let ended = three_calls(success);
        assert_eq!(ended, [(32, partner, 0), (32, "leads", 2), (64, "leads", 1)]);
    }
}

/// What becomes of three calls that wait for one processor, whose groups succeed or fail.
fn three_calls(success: bool) -> Vec<(usize, &'static str, usize)> {
    let coalescer = Coalescer::new();
    let begun = Instant::now();
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let ended = std::thread::scope(|scope| {
        let waits = [32, 32, 64].map(|out| {
            scope.spawn({
                let coalescer = &coalescer;
                move || match coalescer.join(&job(out), 2, 1) {
                    Next::Done => (out, "done", 0),
                    Next::Alone => (out, "alone", 0),
                    Next::Lead(partners) => {
                        let count = partners.iter().flatten().count();
                        coalescer.finish(&partners, success, Duration::ZERO, 1);
                        (out, "leads", 1 + count)
                    }
                }
            })
        });
        std::thread::sleep(Duration::from_millis(100));
        assert!(waits.iter().all(|wait| !wait.is_finished()), "the only processor is taken");
        coalescer.finish(&[], true, Duration::ZERO, 1);
        let mut ended: Vec<_> = waits.into_iter().map(|wait| wait.join().unwrap()).collect();
        ended.sort_by_key(|end| (end.0, end.2));
        ended
    });
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    ended
}

#[test]
fn a_call_after_a_crowd_lingers_once_at_most() {
    let coalescer = Coalescer::new();
    let hour = Duration::from_secs(3600);
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    coalescer.finish(&[], true, hour, 1);
    // Nobody has waited: neither does this one.
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| leads(&coalescer.join(&job(32), 2, 1)));
        std::thread::sleep(Duration::from_millis(50));
        coalescer.finish(&[], true, hour, 1);
        assert_eq!(waits.join().unwrap(), Some(0));
    });
    coalescer.finish(&[], true, hour, 1);
    assert!(coalescer.is_quiet());
}

#[test]
fn calls_that_went_together_are_a_crowd() {
    let coalescer = Coalescer::new();
    let hour = Duration::from_secs(3600);
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if let Next::Lead(partners) = coalescer.join(&job(32), 2, 1) {
                    assert_eq!(partners.iter().flatten().count(), 1);
                    coalescer.finish(&partners, true, hour, 1);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        // Nobody has told yet how long hashes take, so that those who wait have made no crowd.
        coalescer.finish(&[], true, hour, 1);
    });
    assert!(!coalescer.is_quiet());
}

#[test]
fn calls_without_a_seat_hold_nobody_up() {
    let coalescer: &'static Coalescer = Box::leak(Box::new(Coalescer::new()));
    assert_eq!(leads(&coalescer.join(&job(32), 2, 1)), Some(0));
    let waits: Vec<_> = (0..coalescer::SEATS)
        .map(|_| {
            std::thread::spawn(|| {
                if let Next::Lead(partners) = coalescer.join(&job(32), 2, 1) {
                    coalescer.finish(&partners, true, Duration::ZERO, 1);
                }
            })
        })
        .collect();
    while coalescer.waiting() < coalescer::SEATS {
        std::thread::yield_now();
    }
    // This one goes on for ever.
    assert!(matches!(coalescer.join(&job(32), 2, 1), Next::Alone));
    coalescer.finish(&[], true, Duration::ZERO, 1);
    let begun = Instant::now();
    while !waits.iter().all(std::thread::JoinHandle::is_finished) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} still wait", coalescer.waiting());
        std::thread::yield_now();
    }
}
