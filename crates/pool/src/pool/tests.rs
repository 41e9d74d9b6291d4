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
use crate::shared::{State, lock};

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
            password: copy(b"p"),
            salt: copy(b"s"),
            doubt: Some(Box::new(move |_: &[u8]| in_doubt)),
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
        let (password, salt) = (copy(b"p"), copy(b"s"));
        Ok(Prepared { shape: shape.clone(), password, salt, doubt: None, finish })
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
