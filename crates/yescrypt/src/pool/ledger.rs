//! Who holds how much memory: the budget of a pool, and the arenas of its idle workers.
//!
//! Every worker has an even share of the budget. Groups are cut so that they fit into a share where one hash does; then arenas
//! never get into each other's way. A hash above the share takes what it needs from the others: it waits until the rest of the budget
//! suffices for those at work, and the arenas of idle workers are given back to the system.

use core::ops::Range;

use crate::{Level, Pages, Workspace};

/// The arenas of all workers.
pub(super) struct Ledger {
    slots: Vec<Slot>,
    level: Level,
    pages: Pages,
    budget: u64,
    /// Bytes of all arenas: those in slots, those at work and those on their way back to the system.
    reserved: u64,
    peak: u64,
}

/// The arena of one worker.
struct Slot {
    /// `None` while the worker uses it.
    workspace: Option<Workspace>,
    /// What it has or may grow to.
    bytes: u64,
    addresses: Range<usize>,
    /// Whether a hash has left something in it.
    dirty: bool,
}

/// What a worker may do about a group.
pub(super) enum Admission {
    /// Compute this many of it, with this memory.
    Run(usize, Workspace),
    /// Give back these arenas of so many bytes, say so by [`Ledger::freed`], and ask again.
    Evict(Vec<Workspace>, u64),
    /// Wait until another worker is done.
    Wait,
}

impl Ledger {
    pub(super) fn new(workers: usize, budget: u64, level: Level, pages: Pages) -> Self {
        let mut ledger = Ledger { slots: Vec::new(), level, pages, budget, reserved: 0, peak: 0 };
        ledger.slots.extend((0..workers).map(|_| Slot {
            workspace: Some(Workspace::at(level, pages)),
            bytes: 0,
            addresses: 0..0,
            dirty: false,
        }));
        ledger
    }

    /// The part of the budget that a worker can have without touching the others'.
    pub(super) fn share(&self) -> u64 {
        self.budget / self.slots.len() as u64
    }

    pub(super) fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// Where the arenas are that are known by now.
    pub(super) fn addresses(&self) -> Vec<Range<usize>> {
        self.slots.iter().map(|slot| slot.addresses.clone()).collect()
    }

    /// Decides about a group of up to `wanted` hashes for worker `me`, `need` giving the bytes for so many of them. One of them alone has
    /// to be within the budget.
    ///
    /// `contended`: a worker waits for memory. Then an arena that has grown above its worker's share does not stay so.
    pub(super) fn admit(
        &mut self,
        me: usize,
        wanted: usize,
        need: impl Fn(usize) -> u64,
        contended: bool,
    ) -> Admission {
        let share = self.share();
        let most = (1..=wanted).rev().find(|count| need(*count) <= share).unwrap_or(1);
        let own = self.slots[me].bytes;
        if contended && own > share && need(most) <= share {
            return self.evict(&[me]);
        }
        for count in (1..=most).rev() {
            let need = need(count);
            let others = self.reserved - own;
            if need <= own {
                return self.lend(me, count, own);
            }
            if others.saturating_add(need) <= self.budget {
                return self.lend(me, count, need);
            }
            let idle = self.idle(me);
            let freed: u64 = idle.iter().map(|i| self.slots[*i].bytes).sum();
            if freed > 0 && (others - freed).saturating_add(need) <= self.budget {
                return self.evict_for(idle, (others + need) - self.budget);
            }
        }
        Admission::Wait
    }

    /// Idle workers other than `me` that hold memory, those with the most first.
    fn idle(&self, me: usize) -> Vec<usize> {
        let holds = |i: &usize| {
            let slot = &self.slots[*i];
            *i != me && slot.workspace.is_some() && slot.bytes > 0
        };
        let mut idle: Vec<usize> = (0..self.slots.len()).filter(holds).collect();
        idle.sort_by_key(|i| core::cmp::Reverse(self.slots[*i].bytes));
        idle
    }

    /// Hands out the arena of `me`, which may grow to `bytes`.
    pub(super) fn lend(&mut self, me: usize, count: usize, bytes: u64) -> Admission {
        let slot = &mut self.slots[me];
        self.reserved = self.reserved - slot.bytes + bytes;
        self.peak = self.peak.max(self.reserved);
        slot.bytes = bytes;
        let blank = || Workspace::at(self.level, self.pages);
        Admission::Run(count, slot.workspace.take().unwrap_or_else(blank))
    }

    /// Takes arenas away until so many bytes are free.
    fn evict_for(&mut self, mut idle: Vec<usize>, missing: u64) -> Admission {
        let mut sum = 0;
        idle.retain(|i| {
            let wanted = sum < missing;
            sum += self.slots[*i].bytes;
            wanted
        });
        self.evict(&idle)
    }

    fn evict(&mut self, workers: &[usize]) -> Admission {
        let mut bytes = 0;
        let mut workspaces = Vec::new();
        for &worker in workers {
            let slot = &mut self.slots[worker];
            workspaces.extend(slot.workspace.replace(Workspace::at(self.level, self.pages)));
            bytes += core::mem::take(&mut slot.bytes);
            (slot.addresses, slot.dirty) = (0..0, false);
        }
        // They still count, until they are given back.
        Admission::Evict(workspaces, bytes)
    }

    /// So many bytes have been given back to the system.
    pub(super) fn freed(&mut self, bytes: u64) {
        self.reserved -= bytes;
    }

    /// Takes back the arena of `me` after use.
    pub(super) fn put(&mut self, me: usize, workspace: Workspace, dirty: bool) {
        let slot = &mut self.slots[me];
        let bytes = workspace.memory() as u64;
        debug_assert!(bytes <= slot.bytes, "an arena has outgrown what it was granted");
        self.reserved = self.reserved - slot.bytes + bytes;
        (slot.bytes, slot.addresses, slot.dirty) = (bytes, workspace.addresses(), dirty);
        slot.workspace = Some(workspace);
    }

    /// Whether anything but zeros is in the arena of `me`, if it is idle and has one.
    #[cfg(test)]
    pub(super) fn residue(&self, me: usize) -> Option<bool> {
        let workspace = self.slots[me].workspace.as_ref()?;
        (workspace.memory() > 0).then(|| workspace.residue())
    }

    /// The arena of `me` if something is left in it, to be wiped and [put](Self::put) back.
    pub(super) fn take_dirty(&mut self, me: usize) -> Option<Workspace> {
        let slot = &mut self.slots[me];
        if slot.dirty { slot.workspace.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckedParams, Limits, Params};

    const MIB: u64 = 1 << 20;

    fn params() -> CheckedParams {
        Params::yescrypt(1024, 8).check(&Limits::server()).unwrap()
    }

    /// A ledger in MiB, whose workspaces really hold what the ledger says.
    struct Bench(Ledger);

    impl Bench {
        fn new(workers: usize, budget: u64) -> Self {
            Bench(Ledger::new(workers, budget * MIB, Level::Portable, Pages::Standard))
        }

        /// Lends `me` memory for up to `wanted` hashes of `size` each; how many it may do, or 0 if it has to wait.
        fn run(&mut self, me: usize, wanted: usize, size: u64) -> usize {
            loop {
                let need = |count: usize| count as u64 * size * MIB;
                match self.0.admit(me, wanted, need, false) {
                    Admission::Run(count, _) => return count,
                    Admission::Evict(list, bytes) => {
                        drop(list);
                        self.0.freed(bytes);
                    }
                    Admission::Wait => return 0,
                }
            }
        }

        /// Returns it with so much in it.
        fn done(&mut self, me: usize, size: u64) {
            let mut workspace = Workspace::at(Level::Portable, Pages::Standard);
            let hashes = size.saturating_sub(1) as usize;
            if hashes > 0 {
                workspace.prepare(&params(), hashes).unwrap();
            }
            assert!(workspace.memory() as u64 <= size * MIB);
            self.0.put(me, workspace, true);
        }
    }

    #[test]
    fn groups_fit_into_shares() {
        let mut ledger = Bench::new(2, 100);
        assert_eq!(ledger.run(0, 2, 20), 2);
        assert_eq!(ledger.run(1, 2, 30), 1, "two would take more than its share");
        assert_eq!(ledger.0.reserved(), 70 * MIB);
        assert_eq!(ledger.0.peak(), 70 * MIB);
    }

    #[test]
    fn a_hash_above_the_share_waits_for_those_at_work_and_evicts_the_idle() {
        let mut ledger = Bench::new(3, 30);
        assert_eq!(ledger.run(0, 1, 10), 1);
        assert_eq!(ledger.run(1, 1, 10), 1);
        assert_eq!(ledger.run(2, 2, 25), 0, "others hold 20");
        ledger.done(0, 10);
        assert_eq!(ledger.run(2, 2, 25), 0, "10 of them idle by now");
        ledger.done(1, 10);
        assert_eq!(ledger.run(2, 2, 25), 1);
        assert_eq!(ledger.run(0, 1, 10), 0, "nothing is left for it");
        assert!(ledger.0.peak() <= 30 * MIB);
        ledger.done(2, 25);
        assert_eq!(ledger.run(0, 1, 10), 1, "the large arena was idle");
        assert_eq!(ledger.0.reserved(), 10 * MIB);
    }

    #[test]
    fn a_contended_arena_shrinks_to_its_share() {
        let mut ledger = Bench::new(2, 40);
        assert_eq!(ledger.run(0, 1, 40), 1);
        ledger.done(0, 40);
        let need = |count: usize| count as u64 * 5 * MIB;
        let Admission::Evict(list, bytes) = ledger.0.admit(0, 2, need, true) else {
            panic!("it keeps what the other one needs");
        };
        assert_eq!(bytes, list[0].memory() as u64);
        ledger.0.freed(bytes);
        assert_eq!((ledger.0.reserved(), ledger.run(0, 2, 5)), (0, 2));
    }
}
