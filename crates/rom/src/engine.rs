//! Hashing with ROMs that stay in their files, without waiting for them: while a block for one hash is read, others are computed.

mod config;
mod error;
mod hasher;
mod pread;
mod queue;
mod reads;
mod ring;
mod rom;
mod slot;
mod stats;
mod worker;

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use saltern_yescrypt::{CheckedParams, Error as Core, MAX_LOOK_AHEAD, MAX_ROMS, RomId, RomMasks};
use zeroize::Zeroizing;

pub use self::config::{Backend, EngineConfig, EngineRom};
pub use self::error::EngineError;
pub use self::hasher::{SsdHasher, SsdTicket};
use self::pread::Readers;
use self::queue::{Item, Queue};
use self::rom::Loaded;
pub use self::stats::EngineStats;
use self::stats::{Counters, Ledger};

/// One ROM of a hash of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkRom {
    /// Which of the engine's ROMs: its place in the list that [`SsdEngine::new`] was given.
    pub rom: usize,
    /// NROM. For a ROM in a file it has to be the number of all blocks of the hash's r that the image has.
    pub nrom: u64,
    /// When it is read.
    pub masks: RomMasks,
    /// As [`RomReading::look_ahead`](saltern_yescrypt::RomReading::look_ahead).
    pub look_ahead: u32,
}

/// What to compute: the same for all items of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The parameters; their NROM is 0, each ROM of the list having its own.
    pub params: CheckedParams,
    /// The ROMs, as for [`derive_with_roms`](saltern_yescrypt::derive_with_roms).
    pub roms: Vec<WorkRom>,
    /// Bytes of output for each item.
    pub len: usize,
}

/// Threads that hash with ROMs in files, each with several hashes in flight.
///
/// A hash that needs a block has it read and gives its place to another one meanwhile. So as long as there are enough passwords at once, hashing with a
/// ROM on an SSD is about as fast as with the same ROM in memory. What is computed is what
/// [`derive_with_roms`](saltern_yescrypt::derive_with_roms) computes.
///
/// ```
/// use saltern_rom::{Create, EngineConfig, RomFile, Seed, SsdEngine, Work, WorkRom};
/// use saltern_yescrypt::{Limits, Params, RomMasks, RomParams};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("site.rom");
/// let seed = Seed::from_bytes(b"not a seed for real use")?;
/// Create::new(RomParams::new(64, 32, 1), &seed).file(&path)?;
/// let rom = RomFile::open(&path, None)?;
/// let engine = SsdEngine::new(&EngineConfig::default(), vec![rom.into()])?;
/// let masks = RomMasks { fill: 0, mix: 15 };
/// let rom = WorkRom { rom: 0, nrom: 64, masks, look_ahead: 0 };
/// let params = Params::yescrypt(64, 32).check(&Limits::server())?;
/// let work = Work { params, roms: vec![rom], len: 32 };
/// let ticket = engine.derive(&work, [("one", "salt"), ("two", "salt")])?;
/// let keys = ticket.wait();
/// assert_eq!(keys[0].as_ref().unwrap().len(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Memory
/// [`EngineConfig::memory`] bounds the memory of all hashes in flight and the buffers of their reads. Threads keep it for the next hashes, and wipe
/// it when they find nothing to do.
///
/// # When a read fails
/// Blocks are read in whole chunks whose checksums are compared ([`Sums`](crate::Sums)). A read that fails, comes short or does not fit is repeated
/// once. If that fails too, the hashes that needed it end in [`EngineError::RomUnavailable`] and the others go on. No hash is ever computed from
/// a block that is not as it was when the ROM was made. With [`Backend::Map`], and for ROMs in memory, nothing is compared: see
/// [`Attached::check_all`](crate::Attached::check_all).
///
/// # The end, panics and forks
/// Dropping an engine cancels what waits and blocks until what is in flight is finished. A panic in a thread, which would be a defect of this library,
/// becomes [`Panicked`](Core::Panicked) for its hashes. In a process forked from the one that made the engine every call answers
/// [`Forked`](Core::Forked).
pub struct SsdEngine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    readers: Option<(Arc<Readers>, Vec<JoinHandle<()>>)>,
    backend: Backend,
    notes: Vec<String>,
    process: u32,
}

/// What all threads of an engine see.
struct Shared {
    roms: Arc<[Loaded]>,
    queue: Queue,
    ledger: Ledger,
    counters: Counters,
    config: EngineConfig,
}

impl SsdEngine {
    /// Starts the threads. Returns when each of them has read something from each file.
    ///
    /// # Errors
    /// [`InvalidParameter`](Core::InvalidParameter) for a configuration that cannot be, [`EngineError::Rom`] for a ROM that cannot be read or,
    /// with [`Backend::IoUring`], for io_uring being refused.
    pub fn new(config: &EngineConfig, roms: Vec<EngineRom>) -> Result<Self, EngineError> {
        config.check()?;
        let roms: Result<Vec<_>, _> =
            roms.iter().map(|rom| Loaded::new(rom, config.backend)).collect();
        let shared = Arc::new(Shared {
            roms: roms?.into(),
            queue: Queue::new(config.max_waiting),
            ledger: Ledger::new(config.memory),
            counters: Counters::new(),
            config: config.clone(),
        });
        let mut engine = SsdEngine {
            shared,
            threads: Vec::new(),
            readers: None,
            backend: config.backend,
            notes: Vec::new(),
            process: std::process::id(),
        };
        let needed = engine.shared.roms.iter().any(|rom| rom.file().is_some());
        if needed && matches!(config.backend, Backend::Auto | Backend::IoUring) {
            match engine.start_with_rings() {
                Ok(()) => return Ok(engine),
                Err(error) if config.backend == Backend::IoUring => return Err(error),
                Err(error) => {
                    engine.notes.push(format!("{error}: reading with threads instead"));
                }
            }
        }
        engine.start_with_readers(needed)?;
        Ok(engine)
    }

    fn start_with_rings(&mut self) -> Result<(), EngineError> {
        let (tell, told) = mpsc::channel();
        for index in 0..self.shared.config.threads {
            let (shared, tell) = (Arc::clone(&self.shared), tell.clone());
            let work = move || worker::run_with_ring(&shared, tell);
            match spawn(index, work) {
                Ok(thread) => self.threads.push(thread),
                Err(error) => {
                    self.stop();
                    return Err(error);
                }
            }
        }
        drop(tell);
        let mut refused = None;
        for answer in told {
            match answer {
                Ok(true) => {}
                Ok(false) => {
                    let note = "RLIMIT_MEMLOCK (ulimit -l) is too low for registered buffers: reading without";
                    if self.notes.is_empty() {
                        self.notes.push(note.to_owned());
                    }
                }
                Err(error) => refused = Some(error),
            }
        }
        let Some(source) = refused else {
            self.backend = Backend::IoUring;
            return Ok(());
        };
        self.stop();
        let path = "the SSD engine".into();
        Err(crate::Error::Io { action: "use io_uring for", path, source }.into())
    }

    fn start_with_readers(&mut self, needed: bool) -> Result<(), EngineError> {
        let readers = Arc::new(Readers::default());
        let no_thread = |source| {
            let path = "the SSD engine".into();
            EngineError::from(crate::Error::Io { action: "start a thread of", path, source })
        };
        let count = if needed { self.shared.config.readers } else { 0 };
        let threads = readers.start(count, &self.shared.roms).map_err(no_thread)?;
        self.readers = Some((Arc::clone(&readers), threads));
        for index in 0..self.shared.config.threads {
            let (shared, readers) = (Arc::clone(&self.shared), Arc::clone(&readers));
            self.threads.push(spawn(index, move || worker::run_with_readers(&shared, readers))?);
        }
        if self.backend != Backend::Map {
            self.backend = Backend::Pread;
        }
        Ok(())
    }

    /// Takes on passwords and salts, which are copied, and returns at once.
    ///
    /// # Errors
    /// [`Overloaded`](Core::Overloaded) if as many would wait as never may, [`EngineError::Memory`] if one hash needs more than the engine may use,
    /// [`InvalidParameter`](Core::InvalidParameter) for ROMs that the engine does not have or that have another number of blocks,
    /// [`OverLimit`](Core::OverLimit) for an r above 8192 with a ROM in a file, [`Forked`](Core::Forked).
    pub fn derive<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        work: &Work,
        items: impl IntoIterator<Item = (P, S)>,
    ) -> Result<EngineTicket, EngineError> {
        self.check(work)?;
        let work = Arc::new(work.clone());
        let copy = |bytes: &[u8]| Zeroizing::new(bytes.to_vec());
        self.submit(items.into_iter().enumerate().map(|(index, (password, salt))| {
            let (password, salt) = (copy(password.as_ref()), copy(salt.as_ref()));
            (index, Arc::clone(&work), password, salt)
        }))
    }

    /// Takes on what has been checked: its place in the batch, what to compute, password and salt.
    fn submit(&self, items: impl Iterator<Item = Input>) -> Result<EngineTicket, EngineError> {
        if std::process::id() != self.process {
            return Err(Core::Forked.into());
        }
        let (reply, answers) = mpsc::channel();
        let item = |(index, work, password, salt)| Item {
            work,
            password,
            salt,
            index,
            reply: reply.clone(),
        };
        let items: Vec<Item> = items.map(item).collect();
        let count = items.len();
        self.shared.queue.push(items)?;
        Ok(EngineTicket { count, answers, process: self.process })
    }

    fn check(&self, work: &Work) -> Result<(), EngineError> {
        let r = work.params.params().r;
        let refuse = |name, value, expected| Core::InvalidParameter { name, value, expected };
        if work.roms.len() > MAX_ROMS {
            return Err(refuse("number of ROMs", work.roms.len() as u64, "at most 4").into());
        }
        for plan in &work.roms {
            if plan.look_ahead > MAX_LOOK_AHEAD {
                let expected = "at most 63 steps";
                return Err(refuse("look-ahead", plan.look_ahead.into(), expected).into());
            }
            let rom = self.shared.roms.get(plan.rom).ok_or_else(|| {
                refuse("number of the ROM", plan.rom as u64, "one of the engine's")
            })?;
            let rom = rom.used(r, plan)?.rom;
            if rom.store().is_none() {
                let needed = u128::from(plan.nrom) * 128 * u128::from(r);
                let actual = rom.size();
                if needed > u128::from(actual) {
                    let needed = u64::try_from(needed).unwrap_or(u64::MAX);
                    return Err(Core::RomTooSmall { needed, actual }.into());
                }
            }
        }
        let limit = self.shared.ledger.limit();
        let needed = slot::need(&self.shared, work, 1).map_or(u64::MAX, |[a, b]| a + b);
        if needed <= limit { Ok(()) } else { Err(EngineError::Memory { needed, limit }) }
    }

    /// What it has done so far.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        let [reserved, peak_reserved] = self.shared.ledger.state();
        EngineStats { reserved, peak_reserved, ..self.shared.counters.read() }
    }

    /// How blocks are read: never [`Backend::Auto`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// What could not be had, and what there is instead: for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The names of its ROMs, in order.
    #[must_use]
    pub fn roms(&self) -> Vec<RomId> {
        self.shared.roms.iter().map(Loaded::id).collect()
    }

    /// Ends the threads that could start, before others do.
    fn stop(&mut self) {
        self.shared.queue.close();
        self.join();
        self.shared.queue.reopen();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // A thread does not panic outside of what it catches; there is nothing else to do about it here.
            let _ = thread.join();
        }
    }
}

impl Drop for SsdEngine {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // The threads are the parent's.
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.readers.take());
            return;
        }
        self.shared.queue.close();
        self.join();
        if let Some((readers, threads)) = self.readers.take() {
            readers.close();
            for thread in threads {
                let _ = thread.join();
            }
        }
    }
}

impl std::fmt::Debug for SsdEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SsdEngine {{ {} threads, {:?} }}", self.threads.len(), self.backend)
    }
}

fn spawn(
    index: usize,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, EngineError> {
    let builder = std::thread::Builder::new().name(format!("rom-hash-{index}"));
    builder.spawn(work).map_err(|_| Core::NoThread { started: index as u64 }.into())
}

type Input = (usize, Arc<Work>, Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>);

/// An item's output, wiped on drop.
pub type Answer = Result<Zeroizing<Vec<u8>>, EngineError>;

/// A batch that an engine is working on. Dropping it cancels nothing.
#[derive(Debug)]
pub struct EngineTicket {
    count: usize,
    answers: mpsc::Receiver<(usize, Answer)>,
    process: u32,
}

impl EngineTicket {
    /// Waits for all items; answers are in their order. In a forked process they are all [`Forked`](Core::Forked).
    #[must_use]
    pub fn wait(self) -> Vec<Answer> {
        let missing = if self.is_forked() { Core::Forked } else { Core::Cancelled };
        let mut all: Vec<Answer> = (0..self.count).map(|_| Err(missing.into())).collect();
        for (index, answer) in self {
            all[index] = answer;
        }
        all
    }

    /// Whether whoever would answer is in another process.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }
}

/// Items as they are finished, in any order: their places in the batch and their answers. Those of an engine that is dropped before they are begun
/// do not come, and none does in a forked process.
impl Iterator for EngineTicket {
    type Item = (usize, Answer);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_forked() {
            return None;
        }
        self.answers.recv().ok()
    }
}
