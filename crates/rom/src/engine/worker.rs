//! What one thread of an engine does.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::Shared;
use super::pread::{Mailbox, Readers};
use super::queue::{Found, Item};
use super::reads::Reader;
use super::ring::Ring;
use super::slot::{Context, Slot, TAGS, need};

/// With a ring of its own, if it can be had: that is told, and whether buffers are registered.
pub(super) fn run_with_ring(shared: &Shared, tell: Sender<io::Result<bool>>) {
    match Ring::new(shared.config.in_flight * TAGS, &shared.roms) {
        Err(error) => {
            let _ = tell.send(Err(error));
        }
        Ok(ring) => {
            let _ = tell.send(Ok(ring.is_registered()));
            drop(tell);
            Worker::new(shared, Reader::Ring(Box::new(ring))).run();
        }
    }
}

pub(super) fn run_with_readers(shared: &Shared, readers: Arc<Readers>) {
    Worker::new(shared, Reader::Pread(readers, Arc::new(Mailbox::default()))).run();
}

struct Worker<'a> {
    shared: &'a Shared,
    reader: Reader,
    slots: Vec<Slot>,
    /// Reads under way.
    depth: u64,
    /// Groups begun.
    age: u64,
    ended: Vec<super::reads::Completion>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, reader: Reader) -> Self {
        let slots = (0..shared.config.in_flight).map(|index| Slot::new(shared, index)).collect();
        Worker { shared, reader, slots, depth: 0, age: 0, ended: Vec::new() }
    }

    fn run(&mut self) {
        loop {
            self.collect(false);
            if self.step() || self.begin() {
                continue;
            }
            if self.depth > 0 {
                let since = Instant::now();
                self.collect(true);
                let counters = &self.shared.counters;
                counters.stalls.fetch_add(1, Relaxed);
                counters.stalled_ns.fetch_add(since.elapsed().as_nanos() as u64, Relaxed);
                continue;
            }
            if self.rest() == Found::Closed {
                return;
            }
        }
    }

    /// Takes notice of reads that have ended.
    fn collect(&mut self, wait: bool) {
        if self.depth == 0 {
            return;
        }
        self.reader.collect(wait, &mut self.ended);
        for completion in self.ended.drain(..) {
            self.depth -= 1;
            self.slots[completion.tag / TAGS].ended(self.shared, completion);
        }
    }

    /// Computes the oldest group that can go on, up to its next read. False if there is none.
    fn step(&mut self) -> bool {
        let ready = self.slots.iter_mut().filter(|slot| slot.is_ready());
        let Some(slot) = ready.min_by_key(|slot| slot.age) else { return false };
        let Worker { shared, reader, depth, .. } = self;
        let mut context = Context { shared, reader, depth };
        if catch_unwind(AssertUnwindSafe(|| slot.run(&mut context))).is_err() {
            slot.reset(shared);
        }
        if slot.is_free() && shared.queue.starving.load(Relaxed) > 0 {
            slot.release(shared, reader);
        }
        true
    }

    /// Begins a group that waits, if there is a place and memory for it.
    fn begin(&mut self) -> bool {
        let flying: usize = self.slots.iter().map(Slot::len).sum();
        let places = self.shared.config.in_flight - flying.min(self.shared.config.in_flight);
        if places == 0 || !self.slots.iter().any(Slot::is_free) || self.shared.queue.is_closed() {
            return false;
        }
        let mut items = self.shared.queue.take(|work| work.params.degree().min(places));
        if items.is_empty() {
            return false;
        }
        while !items.is_empty() {
            if let Some(index) = self.reserve(&items) {
                self.age += 1;
                let Worker { shared, reader, slots, age, .. } = self;
                let slot = &mut slots[index];
                let begin = || slot.begin(shared, reader, items, *age);
                if catch_unwind(AssertUnwindSafe(begin)).is_err() {
                    slot.reset(shared);
                }
                return true;
            }
            let others = items.split_off(items.len() / 2);
            self.shared.queue.put_back(others);
        }
        if flying == 0 && self.depth == 0 {
            // Others have the memory.
            self.shared.queue.starve();
            return !self.shared.queue.is_closed();
        }
        false
    }

    /// A free slot with memory for a group.
    fn reserve(&mut self, items: &[Item]) -> Option<usize> {
        let needed = need(self.shared, &items[0].work, items.len())?;
        let free = || self.slots.iter().enumerate().filter(|(_, slot)| slot.is_free());
        let (index, _) = free()
            .filter(|(_, slot)| slot.reserved >= slot.total(needed))
            .min_by_key(|(_, slot)| slot.reserved)
            .or_else(|| free().max_by_key(|(_, slot)| slot.reserved))?;
        let slot = &self.slots[index];
        let more = slot.total(needed).saturating_sub(slot.reserved);
        if more == 0 || self.shared.ledger.reserve(more) {
            self.slots[index].reserved += more;
            return Some(index);
        }
        // Perhaps with what the other free ones hold.
        for slot in self.slots.iter_mut().filter(|slot| slot.is_free()) {
            slot.release(self.shared, &mut self.reader);
        }
        let all = needed[0] + needed[1];
        self.shared.ledger.reserve(all).then(|| self.slots[index].reserved = all)?;
        Some(index)
    }

    /// Nothing to do: wipes memory and waits.
    fn rest(&mut self) -> Found {
        let starving = self.shared.queue.starving.load(Relaxed) > 0;
        for slot in &mut self.slots {
            match starving {
                true => slot.release(self.shared, &mut self.reader),
                false => slot.wipe(),
            }
        }
        if starving {
            // Whoever needs it takes it before this thread looks for work again.
            std::thread::sleep(Duration::from_micros(200));
        }
        self.shared.queue.wait()
    }
}
