//! A ROM whose reads do as they are told, and a source that reads it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use saltern_pool::{
    BatchTicket, Derive, Fault, Pool, Terms,
    source::{BlockMemory, BlockRom, BlockSource, BlockSources, Completion, Request, stored_rom},
};
use saltern_wipe::Zeroizing;
use saltern_yescrypt::{
    Workspace,
    rom::{Rom, RomId, RomImage, RomParams, RomView},
};

/// Bytes of the end that are kept.
const TAIL: usize = 64 << 10;

/// What reads of a stage do.
#[derive(Default)]
pub(crate) struct Orders {
    /// They give wrong bytes, and are right when they are repeated.
    pub(crate) wrong_once: bool,
    /// They give wrong bytes always.
    pub(crate) wrong: bool,
    pub(crate) panic_at_end: bool,
    pub(crate) panic_at_check: bool,
    /// Reads wait here.
    pub(crate) gate: Option<Arc<Gate>>,
}

/// A ROM of 256 KiB that is read: 256 blocks of r = 8.
pub(crate) struct Stage {
    pub(crate) rom: Rom,
    actor: Arc<Actor>,
}

struct Actor {
    image: RomImage,
    orders: Mutex<Orders>,
}

impl Stage {
    pub(crate) fn new(seed: &str) -> Self {
        let params = RomParams::new(256, 8, 1);
        let image = RomImage::init(&params, seed.as_bytes(), &mut Workspace::new()).unwrap();
        let actor = Arc::new(Actor { image, orders: Mutex::default() });
        let rom: Arc<dyn BlockRom> = actor.clone();
        Stage { rom: stored_rom(rom).unwrap(), actor }
    }

    pub(crate) fn view(&self) -> RomView<'_> {
        RomView::new(&self.actor.image).unwrap()
    }

    pub(crate) fn say(&self, change: impl FnOnce(&mut Orders)) {
        let mut orders = self.actor.orders.lock().unwrap();
        *orders = Orders::default();
        change(&mut orders);
    }

    /// Holds whoever begins a hash with this ROM from now on.
    pub(crate) fn hold(&self, gate: &Arc<Gate>) {
        self.say(|orders| orders.gate = Some(gate.clone()));
    }
}

/// Whether this is a thread of a pool.
fn in_pool() -> bool {
    std::thread::current().name().is_some_and(|name| name.starts_with("saltern-"))
}

impl BlockRom for Actor {
    fn id(&self) -> RomId {
        "0123456789abcdef".parse().unwrap()
    }

    fn size(&self) -> u64 {
        self.image.as_bytes().len() as u64
    }

    fn tail(&self) -> &[u8] {
        let panic = self.orders.lock().unwrap().panic_at_end;
        assert!(!(panic && in_pool()), "a panic that the test wants");
        let image = self.image.as_bytes();
        &image[image.len() - TAIL..]
    }

    fn alignment(&self) -> usize {
        assert!(!in_pool(), "asked once, by whoever submits");
        4096
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let gate = self.orders.lock().unwrap().gate.clone();
        if let Some(gate) = gate {
            gate.pass();
        }
        let rest = &self.image.as_bytes()[offset as usize..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        let orders = self.orders.lock().unwrap();
        if orders.wrong || orders.wrong_once {
            buffer[0] ^= 1;
        }
        Ok(count)
    }

    fn is_right(&self, offset: u64, bytes: &[u8]) -> bool {
        let panic = self.orders.lock().unwrap().panic_at_check;
        assert!(!panic, "a panic that the test wants");
        self.image.as_bytes()[offset as usize..][..bytes.len()] == *bytes
    }

    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        if self.orders.lock().unwrap().wrong {
            return Err(Fault::new("no right bytes, as the test wants"));
        }
        buffer.copy_from_slice(&self.image.as_bytes()[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

/// Sources that read when they are asked for what has ended.
#[derive(Default, Debug)]
pub(crate) struct Sources {
    /// There is no memory for buffers.
    pub(crate) exhausted: Arc<AtomicBool>,
    /// The threads that open one panic.
    pub(crate) panic: bool,
    /// None is opened.
    pub(crate) refused: Arc<AtomicBool>,
    /// How many buffers were dropped with something in them.
    pub(crate) unwiped: Arc<AtomicUsize>,
    /// What else panics, or is wrong, by its name.
    pub(crate) panic_in: Arc<Mutex<&'static str>>,
}

struct Source {
    requests: Vec<Request>,
    unwiped: Arc<AtomicUsize>,
    exhausted: Arc<AtomicBool>,
    panic_in: Arc<Mutex<&'static str>>,
}

impl Source {
    fn enter(&self, name: &str) {
        let panic = *self.panic_in.lock().unwrap() == name;
        assert!(!panic, "a panic that the test wants");
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // One that has panicked does so again.
        assert!(self.panic_in.lock().unwrap().is_empty(), "a panic that the test wants");
    }
}

impl BlockSources for Sources {
    fn open(&self, _: usize) -> io::Result<Box<dyn BlockSource>> {
        assert!(!self.panic, "a panic that the test wants");
        if self.refused.load(Relaxed) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let (exhausted, panic_in) = (self.exhausted.clone(), self.panic_in.clone());
        let unwiped = self.unwiped.clone();
        Ok(Box::new(Source { requests: Vec::new(), unwiped, exhausted, panic_in }))
    }
}

impl BlockSource for Source {
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>> {
        self.enter("memory");
        if self.exhausted.load(Relaxed) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // Blocks have to be aligned to 64 bytes, as those of an image are.
        let memory = RomImage::zeroed(len.next_multiple_of(64)).map_err(io::Error::other)?;
        Ok(Box::new(Aligned(memory, Arc::clone(&self.unwiped))))
    }

    fn submit(&mut self, request: Request) {
        self.enter("submit");
        self.requests.push(request);
    }

    fn flush(&mut self) {
        self.enter("flush");
    }

    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        if !wait {
            return;
        }
        self.enter("collect");
        let wrong = *self.panic_in.lock().unwrap();
        if wrong == "answer" {
            // What was never asked for.
            ended.push(Completion { tag: usize::MAX, buffer: None, outcome: Ok(0) });
        }
        for Request { tag, rom, offset, len, mut buffer } in self.requests.drain(..) {
            let outcome = rom.read(offset, &mut buffer.memory[..len]);
            match wrong {
                "short" => {
                    buffer.memory =
                        Box::new(Aligned(RomImage::zeroed(64).expect("64 bytes"), Arc::default()));
                }
                "other" => buffer.id += 1,
                "twice" => ended.push(Completion { tag, buffer: None, outcome: Ok(len) }),
                _ => {}
            }
            ended.push(Completion { tag, buffer: Some(buffer), outcome });
        }
    }

    fn keep(&mut self, _: usize, _: &[u64]) {
        self.enter("keep");
    }
}

struct Aligned(RomImage, Arc<AtomicUsize>);

impl Drop for Aligned {
    fn drop(&mut self) {
        let left = self.0.as_bytes().iter().any(|byte| *byte != 0);
        self.1.fetch_add(usize::from(left), Relaxed);
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_bytes_mut()
    }
}

/// Holds threads until it is opened.
pub(crate) struct Gate {
    /// How many have come, and whether it is open.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Gate { state: Mutex::default(), changed: Condvar::new() })
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if state.1 {
            return;
        }
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
    }

    /// Waits until so many threads are held.
    pub(crate) fn wait_for(&self, count: usize) {
        let state = self.state.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(state, Duration::from_secs(60), |state| state.0 < count);
        let came = waited.unwrap().0.0;
        if came < count {
            // Or the pool could not end, and the test would not either.
            self.open();
            panic!("{came} of {count} came");
        }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// Occupies a thread of a pool: its hash waits at the gate.
pub(crate) fn at_gate(
    pool: &Pool,
    what: &Derive,
    stage: &Stage,
    gate: &Arc<Gate>,
) -> BatchTicket<Zeroizing<Vec<u8>>> {
    stage.hold(gate);
    let ticket = pool.derive(what, [("", "s")], Terms::interactive()).unwrap();
    gate.wait_for(1);
    // Only this one.
    stage.say(|_| {});
    ticket
}
