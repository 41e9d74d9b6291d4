//! Accounting of memory: the budget of a pool, and the arenas not in use.
//!
//! Every thread has an equal share of the budget. Groups are cut so that what a thread has in use
//! fits into its share if a single hash does; then arenas never compete. A hash above the share
//! takes what it needs from the others: it waits until the rest of the budget suffices for the
//! groups at work, and parked arenas are returned to the system.

use std::cmp::Reverse;
use std::ops::Range;

use saltern_yescrypt::{
    Workspace, hazmat,
    hazmat::{Level, Pages},
};

/// The memory of all threads.
pub(crate) struct Ledger {
    parked: Vec<Parked>,
    /// Bytes that each thread has in use: arenas and buffers.
    in_use: Vec<u64>,
    level: Level,
    pages: Pages,
    budget: u64,
    /// Bytes of all memory: parked, in use, and being returned to the system.
    reserved: u64,
    peak: u64,
}

/// An arena not in use.
struct Parked {
    /// The thread that used it last.
    owner: usize,
    arena: Arena,
    /// Whether a hash has left something in it.
    dirty: bool,
}

/// An arena and the bytes that are reserved for it.
pub(crate) struct Arena {
    pub(crate) workspace: Workspace,
    /// The bytes that it has or may grow to.
    pub(crate) bytes: u64,
}

/// What a group needs beside its arena: bytes of buffers, not counting existing ones.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    pub(crate) arena: u64,
    pub(crate) buffers: u64,
}

impl Need {
    pub(crate) fn total(self) -> u64 {
        self.arena.saturating_add(self.buffers)
    }
}

/// What a thread may do about a group.
pub(crate) enum Admission {
    /// Compute this many of it, with this memory. Buffers are reserved, too.
    Run(usize, Arena),
    /// Free these arenas, report their bytes by [`Ledger::freed`], and ask again.
    Evict(Vec<Arena>),
    /// Wait until another group is done.
    Wait,
}

impl Ledger {
    pub(crate) fn new(threads: usize, budget: u64, level: Level, pages: Pages) -> Self {
        let in_use = vec![0; threads];
        Ledger { parked: Vec::new(), in_use, level, pages, budget, reserved: 0, peak: 0 }
    }

    /// The part of the budget that a thread can use without touching the shares of the others.
    pub(crate) fn share(&self) -> u64 {
        self.budget / self.in_use.len() as u64
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// The addresses of the parked arenas.
    pub(crate) fn addresses(&self) -> Vec<Range<usize>> {
        self.parked.iter().map(|parked| hazmat::addresses(&parked.arena.workspace)).collect()
    }

    /// Decides about a group of up to `wanted` hashes for thread `me`; `need` gives the bytes for a
    /// number of them. One of them alone must be within the budget.
    ///
    /// `contended`: a thread waits for memory. Then an arena that has grown above its thread's
    /// share is not kept.
    pub(crate) fn admit(
        &mut self,
        me: usize,
        wanted: usize,
        need: &impl Fn(usize) -> Need,
        contended: bool,
    ) -> Admission {
        let (share, in_use) = (self.share(), self.in_use[me]);
        let fits = |count: &usize| in_use.saturating_add(need(*count).total()) <= share;
        let most = match (1..=wanted).rev().find(fits) {
            Some(most) => most,
            // A hash above the share is computed alone.
            None if in_use == 0 => 1,
            None => return Admission::Wait,
        };
        if contended && need(most).total() <= share {
            let grown = self.indices(|parked| parked.owner == me && parked.arena.bytes > share);
            if !grown.is_empty() {
                return self.evict(grown);
            }
        }
        for count in (1..=most).rev() {
            let need = need(count);
            let own = self.best(me, need.arena);
            let own_bytes = own.map_or(0, |own| self.parked[own].arena.bytes);
            let others = self.reserved - own_bytes;
            let wanted = need.arena.max(own_bytes).saturating_add(need.buffers);
            if others.saturating_add(wanted) <= self.budget {
                return Admission::Run(count, self.lend(me, own, need));
            }
            // Its own arena may be larger than needed: then that can be freed, too.
            let keep = own.filter(|_| own_bytes <= need.arena);
            let mut others = self.indices(|_| true);
            others.retain(|index| Some(*index) != keep);
            let freed: u64 = others.iter().map(|index| self.parked[*index].arena.bytes).sum();
            let rest = self.reserved - freed - keep.map_or(0, |_| own_bytes);
            if freed > 0 && rest.saturating_add(need.total()) <= self.budget {
                let missing = (self.reserved - keep.map_or(0, |_| own_bytes))
                    .saturating_add(need.total())
                    .saturating_sub(self.budget);
                return self.evict_for(others, missing);
            }
        }
        Admission::Wait
    }

    /// The smallest parked arena of `me` that suffices, or else the largest.
    fn best(&self, me: usize, bytes: u64) -> Option<usize> {
        let own = || self.parked.iter().enumerate().filter(|(_, parked)| parked.owner == me);
        let size = |(_, parked): &(usize, &Parked)| parked.arena.bytes;
        let enough = own().filter(|parked| size(parked) >= bytes).min_by_key(size);
        enough.or_else(|| own().max_by_key(size)).map(|(index, _)| index)
    }

    /// The parked arenas for which `which` holds, the largest first.
    fn indices(&self, which: impl Fn(&Parked) -> bool) -> Vec<usize> {
        let mut found: Vec<usize> =
            (0..self.parked.len()).filter(|index| which(&self.parked[*index])).collect();
        found.sort_by_key(|index| Reverse(self.parked[*index].arena.bytes));
        found
    }

    /// Hands out a parked arena or a new one, which may grow to what is needed, and reserves
    /// buffers.
    fn lend(&mut self, me: usize, parked: Option<usize>, need: Need) -> Arena {
        let mut arena = match parked {
            Some(index) => self.parked.swap_remove(index).arena,
            None => {
                // The level was checked when the pool was made.
                let workspace = Workspace::with_level(self.level).unwrap_or_default();
                Arena { workspace: workspace.with_pages(self.pages), bytes: 0 }
            }
        };
        let bytes = arena.bytes.max(need.arena);
        self.reserved = self.reserved - arena.bytes + bytes + need.buffers;
        self.peak = self.peak.max(self.reserved);
        self.in_use[me] += bytes + need.buffers;
        arena.bytes = bytes;
        arena
    }

    /// Takes arenas away until `missing` bytes are free.
    fn evict_for(&mut self, mut indices: Vec<usize>, missing: u64) -> Admission {
        let mut sum = 0;
        indices.retain(|index| {
            let wanted = sum < missing;
            sum += self.parked[*index].arena.bytes;
            wanted
        });
        self.evict(indices)
    }

    fn evict(&mut self, mut indices: Vec<usize>) -> Admission {
        // From the last, so that the others keep their places.
        indices.sort_unstable_by_key(|index| Reverse(*index));
        let arenas = indices.into_iter().map(|index| self.parked.swap_remove(index).arena);
        // They still count until they are freed.
        Admission::Evict(arenas.collect())
    }

    /// This many unused bytes have been returned to the system.
    pub(crate) fn freed(&mut self, bytes: u64) {
        self.reserved -= bytes.min(self.reserved);
    }

    /// Thread `me` has returned this many bytes of buffers to the system.
    pub(crate) fn release(&mut self, me: usize, bytes: u64) {
        self.in_use[me] -= bytes.min(self.in_use[me]);
        self.freed(bytes);
    }

    /// Thread `me` has nothing in use any more, for whatever reason.
    pub(crate) fn abandon(&mut self, me: usize) {
        let bytes = std::mem::take(&mut self.in_use[me]);
        self.freed(bytes);
    }

    /// Takes an arena of thread `me` back after use.
    pub(crate) fn put(&mut self, me: usize, mut arena: Arena, dirty: bool) {
        let bytes = arena.workspace.memory() as u64;
        debug_assert!(bytes <= arena.bytes, "an arena has outgrown what it was granted");
        self.in_use[me] -= arena.bytes.min(self.in_use[me]);
        self.reserved = self.reserved - arena.bytes.min(self.reserved) + bytes;
        arena.bytes = bytes;
        if bytes > 0 {
            self.parked.push(Parked { owner: me, arena, dirty });
        }
    }

    /// Whether the parked arenas hold anything but zeros; `None` if there are none.
    #[cfg(test)]
    pub(crate) fn residue(&self) -> Option<bool> {
        let residue = |parked: &Parked| hazmat::residue(&parked.arena.workspace);
        (!self.parked.is_empty()).then(|| self.parked.iter().any(residue))
    }

    /// A dirty arena of `me`, to be wiped and [put](Self::put) back.
    pub(crate) fn take_dirty(&mut self, me: usize) -> Option<Arena> {
        let dirty = |parked: &Parked| parked.owner == me && parked.dirty;
        let index = self.parked.iter().position(dirty)?;
        let arena = self.parked.swap_remove(index).arena;
        self.in_use[me] += arena.bytes;
        Some(arena)
    }
}

#[cfg(test)]
mod tests {
    use saltern_yescrypt::{Limits, Params, params::CheckedParams};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn params() -> CheckedParams {
        Params::yescrypt(1024, 8).check(&Limits::server()).unwrap()
    }

    /// A ledger in MiB, whose workspaces really hold what the ledger says.
    struct Bench(Ledger);

    impl Bench {
        fn new(threads: usize, budget: u64) -> Self {
            Bench(Ledger::new(threads, budget * MIB, Level::Portable, Pages::Standard))
        }

        /// Lends `me` memory for up to `wanted` hashes of `size` each; `None` if it must wait.
        fn run(&mut self, me: usize, wanted: usize, size: u64) -> Option<(usize, Arena)> {
            loop {
                let need = |count| Need { arena: count as u64 * size * MIB, buffers: 0 };
                match self.0.admit(me, wanted, &need, false) {
                    Admission::Run(count, arena) => return Some((count, arena)),
                    Admission::Evict(arenas) => {
                        let bytes = arenas.iter().map(|arena| arena.bytes).sum();
                        drop(arenas);
                        self.0.freed(bytes);
                    }
                    Admission::Wait => return None,
                }
            }
        }

        /// Returns an arena with nearly `size` in it.
        fn done(&mut self, me: usize, mut arena: Arena, size: u64) {
            let hashes = size.saturating_sub(1) as usize;
            if hashes > 0 && arena.workspace.memory() == 0 {
                hazmat::prepare(&mut arena.workspace, &params(), hashes).unwrap();
            }
            self.0.put(me, arena, true);
        }
    }

    #[test]
    fn groups_fit_into_shares() {
        let mut ledger = Bench::new(2, 100);
        let (first, _) = ledger.run(0, 2, 20).unwrap();
        let (second, _) = ledger.run(1, 2, 30).unwrap();
        assert_eq!((first, second), (2, 1), "two of 30 would take more than a share");
        assert!(
            ledger.run(0, 2, 20).is_none(),
            "and a third of 20 with the two of the same thread"
        );
        let (third, arena) = ledger.run(0, 2, 5).unwrap();
        assert_eq!((third, ledger.0.reserved()), (2, 80 * MIB));
        ledger.0.put(0, arena, false);
        assert_eq!((ledger.0.reserved(), ledger.0.peak()), (70 * MIB, 80 * MIB));
    }

    #[test]
    fn a_hash_above_the_share_waits_for_those_at_work_and_evicts_what_is_parked() {
        let mut ledger = Bench::new(3, 30);
        let (_, first) = ledger.run(0, 1, 10).unwrap();
        let (_, second) = ledger.run(1, 1, 10).unwrap();
        assert!(ledger.run(2, 2, 25).is_none(), "others hold 20");
        ledger.done(0, first, 10);
        assert!(ledger.run(2, 2, 25).is_none(), "10 of them parked by now");
        ledger.done(1, second, 10);
        let (count, large) = ledger.run(2, 2, 25).unwrap();
        assert_eq!(count, 1);
        assert!(ledger.run(0, 1, 10).is_none(), "nothing is left for it");
        assert!(ledger.0.peak() <= 30 * MIB);
        ledger.done(2, large, 25);
        let (count, _) = ledger.run(0, 1, 10).unwrap();
        assert_eq!(count, 1, "the large arena was parked");
        assert_eq!(ledger.0.reserved(), 10 * MIB);
    }

    #[test]
    fn a_contended_arena_shrinks_to_its_share() {
        let mut ledger = Bench::new(2, 40);
        let (_, arena) = ledger.run(0, 1, 40).unwrap();
        ledger.done(0, arena, 40);
        let need = |count: usize| Need { arena: count as u64 * 5 * MIB, buffers: 0 };
        let Admission::Evict(list) = ledger.0.admit(0, 2, &need, true) else {
            panic!("it keeps what the other one needs");
        };
        assert_eq!(list[0].bytes, list[0].workspace.memory() as u64);
        ledger.0.freed(list[0].bytes);
        assert_eq!((ledger.0.reserved(), ledger.run(0, 2, 5).unwrap().0), (0, 2));
    }

    #[test]
    fn buffers_count_until_they_are_released() {
        let mut ledger = Bench::new(1, 10);
        let need = |count: usize| Need { arena: count as u64 * 4 * MIB, buffers: MIB };
        let Admission::Run(2, arena) = ledger.0.admit(0, 2, &need, false) else { panic!() };
        assert_eq!(ledger.0.reserved(), 9 * MIB);
        ledger.0.put(0, arena, false);
        assert_eq!(ledger.0.reserved(), MIB);
        ledger.0.release(0, MIB);
        assert_eq!((ledger.0.reserved(), ledger.0.in_use[0]), (0, 0));
    }
}
