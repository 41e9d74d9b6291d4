//! What a pool keeps in its books, and what it leaves behind.

use std::sync::MutexGuard;

use saltern_yescrypt::{
    Limits, Params, Workspace,
    rom::{
        BlockRead, Rom, RomCheck, RomFault, RomId, RomImage, RomMemory, RomParams, RomReading,
        RomUse,
    },
};

use super::*;
use crate::config::WipePolicy;
use crate::shared::State;

/// What is known when the only thread of a pool has nothing to do.
fn idle(pool: &Pool) -> MutexGuard<'_, State> {
    loop {
        let state = lock(&pool.shared.state);
        if state.idle == 1 {
            return state;
        }
        drop(state);
        std::thread::yield_now();
    }
}

/// A ROM in memory that can be checked, at a high price.
struct Checked(RomImage);

impl RomMemory for Checked {
    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn checker(&self) -> Option<&dyn RomCheck> {
        Some(self)
    }
}

impl RomCheck for Checked {
    fn id(&self) -> RomId {
        "0123456789abcdef".parse().unwrap()
    }

    fn bytes_for(&self, len: usize) -> usize {
        1000 * len
    }

    fn check(&self, _: usize, _: &mut [BlockRead]) -> Result<(), RomFault> {
        Ok(())
    }
}

/// A check that was not made is not work that was done, but it was booked.
#[test]
fn what_was_booked_is_given_back_whether_it_was_done_or_not() {
    let pool = Pool::new(PoolConfig { threads: 1, ..PoolConfig::default() }).unwrap();
    let image = RomImage::init(&RomParams::new(64, 8, 1), b"seed", &mut Workspace::new());
    let rom = Rom::new(Checked(image.unwrap())).unwrap();
    let params = Params::yescrypt(16, 8).check(&Limits::unlimited()).unwrap();
    let roms = vec![RomUse { rom, reading: RomReading::new(64) }];
    let shape = pool.shape(Derive { params, roms, len: 32 }).unwrap();
    assert!(shape.check_cost > shape.cost / 2, "{} {}", shape.check_cost, shape.cost);
    let submit = |in_doubt: bool| {
        let item = || Prepared {
            shape: shape.clone(),
            password: Password::from("p"),
            salt: Zeroizing::new(b"s".to_vec()),
            needs_rom_check: Some(Box::new(move |_: &[u8]| in_doubt)),
            finish: Box::new(Ok) as Finish<_>,
        };
        let items = || (0..5).map(|_| Ok(item())).collect();
        let ticket: BatchTicket<_> = pool.submit(Terms::bulk(), items).unwrap();
        assert!(ticket.wait().iter().all(Result::is_ok));
    };
    for in_doubt in [true, false] {
        submit(in_doubt);
        assert_eq!(idle(&pool).scheduler.begun(), 0);
    }
}

/// What a pool of one thread leaves in its memory when it has nothing to do.
fn residue(wipe: WipePolicy) -> Option<bool> {
    let mut config = PoolConfig::default();
    (config.threads, config.wipe) = (1, wipe);
    let pool = Pool::new(config).unwrap();
    let params = Params::yescrypt(16, 8).check(&Limits::server()).unwrap();
    let what = Derive { params, roms: Vec::new(), len: 32 };
    assert!(pool.derive(&what, [("p", "s")], Terms::bulk()).unwrap().wait()[0].is_ok());
    idle(&pool).ledger.residue()
}

/// What makes an answer of the bytes is called in a thread of the pool, which goes on.
#[test]
fn an_answer_that_panics_is_an_error_and_keeps_nobody_waiting() {
    let config = PoolConfig { threads: 1, ..PoolConfig::default() };
    let pool = Pool::new(config).unwrap();
    let params = Params::yescrypt(16, 8).check(&Limits::server()).unwrap();
    let shape = pool.shape(Derive { params, roms: Vec::new(), len: 32 }).unwrap();
    let item = |finish: Finish<()>| {
        let (password, salt) = (Password::from("p"), Zeroizing::new(b"s".to_vec()));
        Ok(Prepared { shape: shape.clone(), password, salt, needs_rom_check: None, finish })
    };
    let panics: Finish<()> = Box::new(|_| panic!("on purpose"));
    let items = vec![item(panics), item(Box::new(|_| Ok(())))];
    let ticket: BatchTicket<()> = pool.submit(Terms::bulk(), || items).unwrap();
    let waited = ticket.wait_timeout(std::time::Duration::from_secs(60));
    assert_eq!(waited.unwrap(), [Err(Error::Panicked), Ok(())]);
}

#[test]
fn arenas_are_wiped_when_idle_or_after_each() {
    assert_eq!(residue(WipePolicy::WhenIdle), Some(false));
    assert_eq!(residue(WipePolicy::AfterEach), Some(false));
    assert_eq!(residue(WipePolicy::OnDrop), Some(true), "else the two show nothing");
}

fn one_thread(memory: u64) -> Pool {
    let config = PoolConfig { threads: 1, memory, ..PoolConfig::default() };
    Pool::new(config).unwrap()
}

#[test]
fn tasks_are_booked_and_what_they_had_is_given_back() {
    let pool = one_thread(64 << 20);
    let task = Task { memory: 48 << 20, work: 1000 };
    let tickets: Vec<_> =
        (0..5).map(|i| pool.run_one(task, move || i * i, Terms::bulk()).unwrap()).collect();
    let squares: Vec<i32> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(squares, [0, 1, 4, 9, 16]);
    let state = idle(&pool);
    assert_eq!((state.scheduler.begun(), state.ledger.reserved()), (0, 0));
    assert_eq!((state.ledger.peak(), state.stats.hashes), (48 << 20, 5));
    drop(state);
    let too_large = pool.run_one(Task { memory: 65 << 20, work: 1 }, || (), Terms::bulk());
    assert!(matches!(too_large, Err(Error::OverBudget { .. })));
}

#[test]
fn a_task_that_panics_is_an_error_and_its_thread_goes_on() {
    let pool = one_thread(64 << 20);
    let task = Task { memory: 1 << 20, work: 1000 };
    let ticket = pool.run_one(task, || panic!("on purpose"), Terms::bulk()).unwrap();
    let outcome: Result<(), Error> = ticket.wait();
    assert_eq!(outcome, Err(Error::Panicked));
    assert_eq!(pool.run_one(task, || 7, Terms::bulk()).unwrap().wait(), Ok(7));
    assert_eq!(idle(&pool).ledger.reserved(), 0);
}

/// What waits when its deadline passes is never called, whoever it is.
#[test]
fn tasks_expire_and_are_cancelled_like_hashes() {
    let pool = one_thread(64 << 20);
    let (task, gate) = (Task { memory: 0, work: 1000 }, Arc::new(Mutex::new(())));
    let held = gate.lock().unwrap();
    let (waits, (begins, has_begun)) = (Arc::clone(&gate), std::sync::mpsc::channel());
    let wait = move || {
        begins.send(()).unwrap();
        drop(waits.lock().unwrap());
    };
    let first = pool.run_one(task, wait, Terms::bulk()).unwrap();
    // Before that the thread would take the next one first, whose deadline is earlier.
    has_begun.recv().unwrap();
    let soon = Terms::interactive().within(std::time::Duration::from_millis(1));
    let late = pool.run_one(task, || panic!("expired"), soon).unwrap();
    drop(pool.run_one(task, || panic!("cancelled"), Terms::bulk()).unwrap());
    std::thread::sleep(std::time::Duration::from_millis(5));
    drop(held);
    assert_eq!(first.wait(), Ok(()));
    let late: Result<(), Error> = late.wait();
    assert_eq!(late, Err(Error::Expired));
    assert_eq!(idle(&pool).stats.cancelled, 1);
}
