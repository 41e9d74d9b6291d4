//! The work of one pool thread.
//!
//! A thread holds several groups of hashes. Each runs until it ends or needs a block of a ROM; the
//! thread then turns to another one. With ROMs in memory there are no waits, and a thread has one
//! group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use saltern_yescrypt::{Workspace, hazmat, hazmat::Advance};

use crate::config::{WipePolicy, bind};
use crate::error::{Error, Fault};
use crate::flight::{Ended, Layout, Slot, TAGS};
use crate::item::{Queued, end_all};
use crate::ledger::{Admission, Arena, Need};
use crate::queue::Lead;
use crate::rate::Sample;
use crate::reader::Reader;
use crate::schedule::portion;
use crate::shape::Shape;
use crate::shared::{Shared, State, lock, this_thread, wait};
use crate::source::{BlockSource, Completion};

/// One thread.
struct Worker<'p> {
    shared: &'p Shared,
    /// Its number.
    me: usize,
    reader: Reader,
    places: Vec<Slot>,
    /// It has been woken, and has not looked for work since.
    waking: bool,
    /// Groups begun.
    age: u64,
    /// When it became busy, or last ended a group.
    busy_since: Instant,
    ended: Vec<Completion>,
}

/// The result of looking for a group.
enum Look {
    Begun,
    /// Nothing can begin now: there is no group, or no place or memory for it.
    Nothing,
    Closed,
}

/// A group that may begin.
struct Start {
    shape: Arc<Shape>,
    items: Vec<Queued>,
    arena: Arena,
    place: usize,
}

/// Runs thread `me` until the pool ends.
pub(crate) fn run(shared: &Shared, me: usize) {
    // The code that opens the source of blocks is foreign.
    let worker = catch_unwind(AssertUnwindSafe(|| Worker::set_up(shared, me)));
    let worker = worker.unwrap_or(Err(Error::Panicked));
    let mut state = lock(&shared.state);
    match &worker {
        Ok(_) => state.ready += 1,
        Err(error) => state.failure = Some(error.clone()),
    }
    drop(state);
    shared.ready.notify_all();
    if let Ok(mut worker) = worker {
        worker.run(Worker::rest);
    }
}

/// Computes all that waits, in the calling thread: for a pool without threads.
pub(crate) fn run_here(shared: &Shared) {
    let me = Some(this_thread());
    if lock(&shared.state).caller == me {
        // A task has submitted more, which follows when it has ended.
        return;
    }
    // One caller at a time uses what the one thread would. The others then find little left to do.
    let _turn = lock(&shared.turn);
    lock(&shared.state).caller = me;
    let compute = || {
        let mut reader = Reader::new(None);
        reader.replace(|| open(shared));
        let mut worker = Worker::new(shared, 0, reader);
        worker.run(|worker| worker.tidy().is_none());
        worker.release();
    };
    // Sources and their memory are foreign code in their end, too.
    let panicked = catch_unwind(AssertUnwindSafe(compute)).is_err();
    let mut state = lock(&shared.state);
    state.caller = None;
    if panicked {
        state.ledger.abandon(0);
    }
}

/// Tries what a pool's thread tries at its start, in the calling thread.
pub(crate) fn prepare_here(shared: &Shared) -> Result<(), Error> {
    let prepare = || Worker::new(shared, 0, Reader::new(open(shared)?)).prepare();
    catch_unwind(AssertUnwindSafe(prepare)).unwrap_or(Err(Error::Panicked))
}

/// A source of blocks for one thread, if the pool reads any.
fn open(shared: &Shared) -> Result<Option<Box<dyn BlockSource>>, Error> {
    let Some(sources) = &shared.config.sources else { return Ok(None) };
    let source = sources.open(shared.config.in_flight * TAGS);
    source.map(Some).map_err(|error| Error::Source(Fault::new(error)))
}

impl<'p> Worker<'p> {
    /// Binds the thread to its processor and gets its memory and its source of blocks ready.
    fn set_up(shared: &'p Shared, me: usize) -> Result<Self, Error> {
        let config = &shared.config;
        if !config.processors.is_empty() {
            bind(config.processors[me % config.processors.len()])?;
        }
        let worker = Worker::new(shared, me, Reader::new(open(shared)?));
        worker.prepare()?;
        Ok(worker)
    }

    fn new(shared: &'p Shared, me: usize, reader: Reader) -> Self {
        let places = (0..shared.config.in_flight).map(Slot::new).collect();
        let (age, waking, ended, busy_since) = (0, false, Vec::new(), Instant::now());
        Worker { shared, me, reader, places, waking, age, busy_since, ended }
    }

    /// Allocates and touches the configured memory.
    fn prepare(&self) -> Result<(), Error> {
        let config = &self.shared.config;
        let Some(what) = config.prepared() else { return Ok(()) };
        let params = what.params;
        let shape = Shape::new(what, false, config.pages)?;
        let need = |hashes| Need { arena: shape.memory(hashes), buffers: 0 };
        let mut state = lock(&self.shared.state);
        let granted = state.ledger.admit(self.me, params.degree(), &need, false);
        drop(state);
        let Admission::Run(hashes, mut arena) = granted else { return Ok(()) };
        let prepared = hazmat::prepare(&mut arena.workspace, &params, hashes);
        lock(&self.shared.state).ledger.put(self.me, arena, false);
        Ok(prepared?)
    }

    /// Works until the pool ends, or until `rest`, called with nothing to do, returns `false`.
    ///
    /// Foreign code (sources, ROMs, their memory) may panic wherever it is called or dropped; the
    /// thread continues.
    fn run(&mut self, rest: impl Fn(&mut Self) -> bool) {
        loop {
            match catch_unwind(AssertUnwindSafe(|| self.turn(&rest))) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => self.reader.failed = true,
            }
        }
    }

    /// Does one step of work. Returns `false` at the end.
    fn turn(&mut self, rest: impl Fn(&mut Self) -> bool) -> bool {
        if self.reader.failed {
            self.recover();
        }
        self.collect(false);
        if self.reader.failed || self.step() {
            return true;
        }
        match self.begin() {
            Look::Begun => true,
            _ if self.reader.depth > 0 => {
                self.stall();
                true
            }
            Look::Closed => false,
            Look::Nothing => rest(self),
        }
    }

    /// After a panic outside a group, or the failure of a source: ends all groups, frees all
    /// memory, and opens another source. If that fails, groups that read end in the error, each
    /// after another attempt, and the others continue.
    fn recover(&mut self) {
        for index in 0..self.places.len() {
            let end = || self.end(index, Err(Error::Panicked));
            let _ = catch_unwind(AssertUnwindSafe(end));
        }
        self.reader.replace(|| open(self.shared));
        self.places.iter_mut().for_each(Slot::abandon);
        let mut state = lock(&self.shared.state);
        state.ledger.abandon(self.me);
        self.shared.feed(&state);
    }

    /// Processes reads that have ended.
    fn collect(&mut self, wait: bool) {
        let mut ended = std::mem::take(&mut self.ended);
        self.reader.collect(wait, &mut ended);
        for completion in ended.drain(..) {
            let index = completion.tag / TAGS;
            let (depth, place) = (self.reader.depth.checked_sub(1), self.places.get_mut(index));
            let Some((depth, place)) = depth.zip(place) else {
                self.reader.failed = true;
                break;
            };
            self.reader.depth = depth;
            let reader = &mut self.reader;
            if catch_unwind(AssertUnwindSafe(|| place.ended(completion, reader))).is_err() {
                self.end(index, Err(Error::Panicked));
            }
        }
        self.ended = ended;
    }

    /// Waits for a read, there being nothing to compute.
    fn stall(&mut self) {
        let since = Instant::now();
        self.collect(true);
        self.reader.stats.stalls += 1;
        self.reader.stats.stalled += since.elapsed();
    }

    /// Computes the oldest group that can continue, up to its next read. Returns `false` if there
    /// is none.
    fn step(&mut self) -> bool {
        let ready = self.places.iter().enumerate();
        let ready = ready.filter_map(|(index, place)| Some((place.ready()?, index)));
        let Some((_, index)) = ready.min() else { return false };
        let (place, reader) = (&mut self.places[index], &mut self.reader);
        let outcome = match catch_unwind(AssertUnwindSafe(|| place.run(reader))) {
            Ok(Ok(Advance::Done)) => Ok(()),
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::Panicked),
        };
        self.end(index, outcome);
        true
    }

    /// Begins a waiting group, if there is a place and memory for it.
    fn begin(&mut self) -> Look {
        let mut state = lock(&self.shared.state);
        state.waking -= usize::from(std::mem::take(&mut self.waking));
        loop {
            if state.closed {
                return Look::Closed;
            }
            let now;
            (state, now) = self.expire(state);
            let Some(lead) = state.scheduler.lead(now) else { return Look::Nothing };
            let free = state.idle + state.waking;
            if self.reader.depth > 0 && state.scheduler.waiting() <= free {
                // Each is left to a thread that has nothing else to do, and has been woken for it.
                return Look::Nothing;
            }
            let Some((place, wanted)) = self.room(&lead, free + 1) else {
                return Look::Nothing;
            };
            let need = self.need(&lead.shape, place);
            let contended = state.starved > 0;
            let admission = state.ledger.admit(self.me, wanted, &need, contended);
            if let Admission::Run(count, arena) = admission {
                let items = state.scheduler.begin(now, &lead, count);
                // Another thread may now be able to begin what is left.
                if state.scheduler.waiting() > 0 && state.idle + state.starved > 0 {
                    self.shared.work.notify_one();
                }
                drop(state);
                let held = need(count).buffers == 0;
                let start = Start { shape: lead.shape, items, arena, place };
                match start.shape.derive() {
                    Some(_) => self.start(start, held, now),
                    None => self.task(start, now),
                }
                return Look::Begun;
            }
            // Dropped while the queue still holds them: the last of a shape is dropped without the
            // lock.
            drop((lead, need));
            match admission {
                Admission::Evict(arenas) => {
                    drop(state);
                    self.shared.evict(arenas);
                    state = lock(&self.shared.state);
                }
                // Reads of this thread will end, and its groups with them.
                _ if self.reader.depth > 0 => return Look::Nothing,
                _ if self.holds_buffers() => {
                    drop(state);
                    self.release();
                    if self.reader.failed {
                        return Look::Nothing;
                    }
                    state = lock(&self.shared.state);
                }
                _ => {
                    state = self.starve(state);
                    self.busy_since = Instant::now();
                }
            }
        }
    }

    /// Ends expired items, without the lock; returns the time at which none was left.
    fn expire(&self, mut state: MutexGuard<'p, State>) -> (MutexGuard<'p, State>, Instant) {
        loop {
            let now = Instant::now();
            let expired = state.expire(now);
            if expired.is_empty() {
                return (state, now);
            }
            drop(state);
            end_all(expired, &Error::Expired);
            state = lock(&self.shared.state);
        }
    }

    /// What a group of this shape needs in a place, by how many hashes it has.
    fn need(&self, shape: &Arc<Shape>, place: usize) -> impl Fn(usize) -> Need + use<'p> {
        let shape = shape.clone();
        let held = self.places[place].layout.clone();
        move |count| {
            let layout = Layout::new(&shape, count);
            let buffers = if held.holds(&layout) { 0 } else { layout.bytes() };
            Need { arena: shape.memory(count), buffers: buffers + shape.beside() }
        }
    }

    /// A place for a group of this shape, and how many hashes it may have.
    fn room(&self, lead: &Lead<Arc<Shape>>, free: usize) -> Option<(usize, usize)> {
        let wanted = portion(lead.alike, free, lead.shape.degree());
        let places = || self.places.iter().enumerate().filter(|(_, place)| place.is_free());
        if !lead.shape.reads() {
            // Without reads the group ends before anything else begins.
            return places().next().map(|(index, _)| (index, wanted));
        }
        let flying: usize = self.places.iter().map(Slot::len).sum();
        let wanted = wanted.min(self.places.len().saturating_sub(flying));
        let layout = Layout::new(&lead.shape, wanted);
        let fitting = places().find(|(_, place)| place.layout.holds(&layout));
        let (index, _) = fitting.or_else(|| places().next()).filter(|_| wanted > 0)?;
        Some((index, wanted))
    }

    /// Begins a group, whose memory is reserved. `held`: the place has its buffers already.
    fn start(&mut self, start: Start, held: bool, now: Instant) {
        let Start { shape, items, arena, place: index } = start;
        self.age += 1;
        let (place, reader) = (&mut self.places[index], &mut self.reader);
        let old = if held { 0 } else { place.layout.bytes() };
        if shape.reads() && reader.is_closed() {
            reader.replace(|| open(self.shared));
        }
        place.begin((shape, items), arena, (now, self.age));
        let prepared = catch_unwind(AssertUnwindSafe(|| place.prepare(reader)));
        if old > 0 {
            let mut state = lock(&self.shared.state);
            state.ledger.release(self.me, old);
            self.shared.feed(&state);
        }
        match prepared {
            Ok(Ok(surplus)) if surplus.is_empty() => {}
            Ok(Ok(surplus)) => self.shared.give_back(surplus),
            Ok(Err(error)) => self.end(index, Err(error)),
            Err(_) => self.end(index, Err(Error::Panicked)),
        }
    }

    /// Computes a task from its beginning to its end. It does not use the arena, but takes its
    /// reserved memory from the system.
    fn task(&mut self, start: Start, began: Instant) {
        let Start { shape, mut items, arena, .. } = start;
        let run = items.first_mut().and_then(|queued| queued.entry.item.task.take());
        let run = move || run.map_or(Err(Error::Panicked), |run| run());
        let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error::Panicked));
        self.answer(Ended::of_task((shape, items), began, outcome), arena, true);
    }

    /// Ends the group in a place.
    fn end(&mut self, index: usize, outcome: Result<(), Error>) {
        let Some((ended, mut arena)) = self.places[index].end(outcome) else { return };
        let panicked = matches!(ended.outcome, Err(Error::Panicked));
        if panicked {
            // Memory in an unknown state is freed.
            arena.workspace = Workspace::new();
        }
        let wiped = self.shared.config.wipe == WipePolicy::AfterEach;
        if wiped {
            arena.workspace.wipe();
            self.places[index].wipe();
        }
        self.answer(ended, arena, !wiped);
    }

    /// Finishes a group that has ended: returns its memory, counts its work, and answers its items.
    fn answer(&mut self, ended: Ended, arena: Arena, dirty: bool) {
        let (now, count) = (Instant::now(), ended.items.len());
        let sample = Sample {
            booked: ended.booked(),
            work: ended.work(),
            items: count,
            busy: now.saturating_duration_since(self.busy_since),
            taken: now.saturating_duration_since(ended.began),
        };
        self.busy_since = now;
        let mut state = lock(&self.shared.state);
        state.ledger.put(self.me, arena, dirty);
        state.ledger.release(self.me, ended.shape.beside());
        state.scheduler.end(now, sample, ended.outcome.is_ok());
        state.stats.work = state.stats.work.saturating_add(sample.work);
        state.stats.count(count, &ended.outcome.as_ref().map(drop));
        state.stats.reads.add(&std::mem::take(&mut self.reader.stats));
        self.shared.feed(&state);
        let starved = state.starved > 0;
        drop(state);
        ended.answer();
        if starved && self.holds_buffers() {
            self.release();
        }
    }

    /// Whether free places have buffers.
    fn holds_buffers(&self) -> bool {
        self.places.iter().any(|place| place.is_free() && place.layout.bytes() > 0)
    }

    /// Returns the buffers of free places to the system.
    fn release(&mut self) {
        let mut bytes = 0;
        for place in self.places.iter_mut().filter(|place| place.is_free()) {
            bytes += place.release(&mut self.reader);
        }
        let mut state = lock(&self.shared.state);
        state.ledger.release(self.me, bytes);
        self.shared.feed(&state);
    }

    /// Waits until memory has become free.
    fn starve(&self, mut state: MutexGuard<'p, State>) -> MutexGuard<'p, State> {
        state.starved += 1;
        if state.idle_with_buffers > 0 {
            self.shared.work.notify_all();
        }
        state = wait(&self.shared.work, state);
        state.starved -= 1;
        state
    }

    /// With nothing to do: wipes memory, or else waits for work, and goes on.
    fn rest(&mut self) -> bool {
        let Some(mut state) = self.tidy() else { return true };
        let holds = self.holds_buffers();
        state.idle += 1;
        state.idle_with_buffers += usize::from(holds);
        state = wait(&self.shared.work, state);
        state.idle -= 1;
        state.waking += 1;
        state.idle_with_buffers -= usize::from(holds);
        self.waking = true;
        drop(state);
        self.busy_since = Instant::now();
        true
    }

    /// Does one of the things for which there is time when nothing can begin. The lock is returned
    /// if there was none, and there is no work either; it has been kept since.
    fn tidy(&mut self) -> Option<MutexGuard<'p, State>> {
        if self.reader.failed {
            return None;
        }
        if self.shared.config.wipe != WipePolicy::OnDrop {
            self.places.iter_mut().for_each(Slot::wipe);
        }
        let state = lock(&self.shared.state);
        if state.starved > 0 && self.holds_buffers() {
            drop(state);
            self.release();
            return None;
        }
        // Work may have arrived while the lock was not held.
        let state = self.wipe_one(state)?;
        (!state.closed && state.scheduler.waiting() == 0).then_some(state)
    }

    /// Wipes a dirty arena of this thread, if configured. The lock is kept if there is none.
    fn wipe_one(&self, mut state: MutexGuard<'p, State>) -> Option<MutexGuard<'p, State>> {
        if self.shared.config.wipe != WipePolicy::WhenIdle {
            return Some(state);
        }
        let Some(mut arena) = state.ledger.take_dirty(self.me) else { return Some(state) };
        drop(state);
        arena.workspace.wipe();
        let mut state = lock(&self.shared.state);
        state.ledger.put(self.me, arena, false);
        self.shared.feed(&state);
        None
    }
}
