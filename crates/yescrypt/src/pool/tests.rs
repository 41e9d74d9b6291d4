//! What needs a look inside: panics, and what waits while threads are held up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::batch::Work;
use super::*;
use crate::core::reading::Places;
use crate::{Limits, Params, Workspace};

fn params(n: u64) -> CheckedParams {
    Params::yescrypt(n, 8).check(&Limits::server()).unwrap()
}

fn config(threads: usize) -> PoolConfig {
    PoolConfig { threads, ..PoolConfig::default() }
}

fn derive(n: u64) -> Derive {
    Derive { params: params(n), rom: None, len: 32 }
}

/// Holds every thread that asks for its input until told to go on; then panics or gives an empty password.
struct Gate {
    reached: mpsc::Sender<()>,
    open: Mutex<mpsc::Receiver<()>>,
    panics: bool,
    settled: AtomicUsize,
    errors: Mutex<Vec<Error>>,
}

impl Gate {
    fn new(panics: bool) -> (Arc<Self>, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (reached, at_gate) = mpsc::channel();
        let (go, open) = mpsc::channel();
        let (settled, errors) = (AtomicUsize::new(0), Mutex::default());
        (Arc::new(Gate { reached, open: Mutex::new(open), panics, settled, errors }), at_gate, go)
    }
}

impl Work for Gate {
    fn input(&self, _: usize) -> (&[u8], &[u8]) {
        self.reached.send(()).unwrap();
        self.open.lock().unwrap().recv().unwrap();
        assert!(!self.panics, "a panic that the test wants");
        (b"", b"")
    }
    fn roms(&self, _: usize) -> &[RomUse] {
        &[]
    }
    fn settle(&self, _: usize, outcome: Result<Zeroizing<Vec<u8>>, Error>) {
        self.errors.lock().unwrap().extend(outcome.err());
        self.settled.fetch_add(1, Ordering::SeqCst);
    }
}

/// Occupies one thread of a pool at a gate with an item of this size.
fn block(pool: &Pool, gate: &Arc<Gate>, n: u64) {
    let shape = Shape { params: params(n), roms: Places::default(), out_len: 32 };
    let work: Arc<dyn Work> = gate.clone();
    pool.shared.submit(&work, &[(0, shape)]).unwrap();
}

#[test]
fn a_panic_hits_its_own_items_only() {
    let pool = Pool::new(config(1)).unwrap();
    let (gate, reached, go) = Gate::new(true);
    block(&pool, &gate, 16);
    reached.recv().unwrap();
    let after = pool.derive(&derive(16), [("p", "s")]).unwrap();
    go.send(()).unwrap();
    let mut expected = [0; 32];
    crate::derive(b"p", b"s", &params(16), None, &mut Workspace::new(), &mut expected).unwrap();
    assert_eq!(after.wait()[0].as_deref().unwrap()[..], expected);
    assert_eq!(*gate.errors.lock().unwrap(), [Error::Panicked]);
    let stats = pool.stats();
    assert_eq!((stats.panics, stats.failed, stats.hashes), (1, 1, 1));
}

#[test]
fn what_waits_is_bounded_grouped_across_batches_and_cancelled() {
    let mut config = config(1);
    config.max_waiting = 4;
    let pool = Pool::new(config).unwrap();
    let (gate, reached, go) = Gate::new(false);
    block(&pool, &gate, 16);
    reached.recv().unwrap();
    let one = pool.derive(&derive(32), [("1", "s")]).unwrap();
    let other = pool.derive(&derive(16), [("2", "s")]).unwrap();
    let two = pool.derive(&derive(32), [("3", "s"), ("4", "s")]).unwrap();
    let full = Err(Error::Overloaded { waiting: 4, limit: 4 });
    assert_eq!(pool.derive(&derive(16), [("5", "s")]).map(drop), full);
    let large = Err(Error::OverLimit { what: crate::Limit::Batch, value: 5, limit: 4 });
    assert!(!one.is_done());
    assert_eq!((other.cancel(), other.cancel()), (1, 0));
    assert_eq!(other.wait(), [Err(Error::Cancelled)]);
    drop(pool.derive(&derive(32), [("6", "s")]).unwrap());
    assert_eq!(pool.stats().waiting, 3);
    let one = one.try_wait().unwrap_err();
    let one = one.wait_timeout(std::time::Duration::from_millis(1)).unwrap_err();
    go.send(()).unwrap();
    assert!(one.wait()[0].is_ok());
    assert!(two.wait().iter().all(Result::is_ok));
    assert_eq!(pool.derive(&derive(16), [("", ""); 5]).map(drop), large);
    let stats = pool.stats();
    // The gate by itself; then one item of each batch together; then the last.
    assert_eq!(stats.groups[..2], [2, 1]);
    assert_eq!((stats.cancelled, stats.peak_waiting, stats.waiting), (2, 4, 0));
    assert_eq!((stats.hashes, stats.refused, stats.batches), (4, 1, 5));
}

#[test]
fn items_beside_an_idle_thread_are_not_paired() {
    let pool = Pool::new(config(2)).unwrap();
    // Both have to be idle, which they are soon.
    while lock_idle(&pool) < 2 {
        std::thread::yield_now();
    }
    let (gate, reached, go) = Gate::new(false);
    let shape = Shape { params: params(16), roms: Places::default(), out_len: 32 };
    let work: Arc<dyn Work> = gate.clone();
    pool.shared.submit(&work, &[(0, shape), (1, shape)]).unwrap();
    reached.recv().unwrap();
    reached.recv().unwrap();
    go.send(()).unwrap();
    go.send(()).unwrap();
    drop(pool);
    assert_eq!(gate.settled.load(Ordering::SeqCst), 2);
}

fn lock_idle(pool: &Pool) -> usize {
    pool.shared.idle()
}

#[test]
fn dropping_a_pool_finishes_what_runs_and_cancels_what_waits() {
    let pool = Pool::new(config(1)).unwrap();
    let (gate, reached, go) = Gate::new(false);
    block(&pool, &gate, 16);
    reached.recv().unwrap();
    let waiting = pool.derive(&derive(16), [("p", "s"); 3]).unwrap();
    let shared = pool.shared.clone();
    let dropping = std::thread::spawn(move || drop(pool));
    assert_eq!(
        waiting.wait(),
        [Err(Error::Cancelled), Err(Error::Cancelled), Err(Error::Cancelled)]
    );
    assert_eq!(gate.settled.load(Ordering::SeqCst), 0);
    go.send(()).unwrap();
    dropping.join().unwrap();
    assert_eq!(gate.settled.load(Ordering::SeqCst), 1);
    assert!(gate.errors.lock().unwrap().is_empty());
    assert_eq!(shared.stats().hashes, 1);
}

#[test]
fn arenas_are_wiped_when_idle_or_after_each() {
    for wipe in [WipePolicy::WhenIdle, WipePolicy::AfterEach] {
        let mut config = config(1);
        config.wipe = wipe;
        let pool = Pool::new(config).unwrap();
        let ticket = pool.derive(&derive(16), [("p", "s")]).unwrap();
        assert!(ticket.wait()[0].is_ok());
        while lock_idle(&pool) < 1 {
            std::thread::yield_now();
        }
        assert_eq!(pool.shared.residue(0), Some(false), "{wipe:?}");
    }
    let mut config = config(1);
    config.wipe = WipePolicy::OnDrop;
    let pool = Pool::new(config).unwrap();
    assert!(pool.derive(&derive(16), [("p", "s")]).unwrap().wait()[0].is_ok());
    while lock_idle(&pool) < 1 {
        std::thread::yield_now();
    }
    assert_eq!(pool.shared.residue(0), Some(true), "else the test above shows nothing");
}
