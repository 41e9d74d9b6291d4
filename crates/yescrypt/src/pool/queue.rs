//! What waits, and which of it is computed next.
//!
//! Items of one shape stand in one line, whichever batch they came with, so that those of different callers advance together. The
//! line whose first item is the oldest of all comes next: an item is overtaken only by others that go along with an older one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::batch::Work;
use crate::CheckedParams;
use crate::core::reading::Places;

/// What items must have in common to be computed together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) params: CheckedParams,
    /// Where the ROMs are, and how they are read.
    pub(super) roms: Places,
    /// Bytes of output.
    pub(super) out_len: usize,
}

/// An item of a batch.
pub(super) struct Task {
    pub(super) work: Arc<dyn Work>,
    pub(super) index: usize,
}

/// All that waits.
#[derive(Default)]
pub(super) struct Queue {
    /// Items with their numbers in the order of arrival; no line is empty.
    lines: HashMap<Shape, VecDeque<(u64, Task)>>,
    arrived: u64,
    waiting: usize,
    peak: usize,
}

impl Queue {
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The most that ever waited.
    pub(super) fn peak(&self) -> usize {
        self.peak
    }

    pub(super) fn push(&mut self, shape: Shape, task: Task) {
        self.lines.entry(shape).or_default().push_back((self.arrived, task));
        self.arrived += 1;
        self.waiting += 1;
        self.peak = self.peak.max(self.waiting);
    }

    /// The shape that comes next, and how many items have it. Costs a look at every shape that waits.
    pub(super) fn next(&self) -> Option<(Shape, usize)> {
        let age = |line: &VecDeque<(u64, Task)>| line.front().map(|(number, _)| *number);
        let (shape, line) = self.lines.iter().min_by_key(|(_, line)| age(line))?;
        Some((*shape, line.len()))
    }

    /// The oldest items of a shape.
    pub(super) fn take(&mut self, shape: &Shape, count: usize) -> Vec<Task> {
        let Some(line) = self.lines.get_mut(shape) else { return Vec::new() };
        let taken: Vec<_> = line.drain(..count.min(line.len())).map(|(_, task)| task).collect();
        if line.is_empty() {
            self.lines.remove(shape);
        }
        self.waiting -= taken.len();
        taken
    }

    /// Takes out the items of one batch. Costs a look at every item that waits.
    pub(super) fn remove(&mut self, batch: &Arc<dyn Work>) -> Vec<Task> {
        let of_batch =
            |task: &Task| core::ptr::addr_eq(Arc::as_ptr(&task.work), Arc::as_ptr(batch));
        let mut removed = Vec::new();
        for line in self.lines.values_mut() {
            for _ in 0..line.len() {
                match line.pop_front() {
                    Some((_, task)) if of_batch(&task) => removed.push(task),
                    Some(other) => line.push_back(other),
                    None => break,
                }
            }
        }
        self.lines.retain(|_, line| !line.is_empty());
        self.waiting -= removed.len();
        removed
    }

    /// Takes out everything.
    pub(super) fn clear(&mut self) -> Vec<Task> {
        self.waiting = 0;
        self.lines.drain().flat_map(|(_, line)| line).map(|(_, task)| task).collect()
    }
}

/// How many of `waiting` items of one shape a worker takes when, with it, `free` workers have nothing to do and `degree` items
/// advance together.
///
/// Each further item in a group costs less than the one before, but an item beside an idle worker costs more in a group than there: two
/// hashes on two workers are done in the time of one, as a pair in the time of about one and a half. So items are first spread evenly. An
/// even part is rounded up to a power of two, since that is what kernels exist for: of five scrypt hashes for two workers one takes
/// four, not three. With all workers busy but one, it takes as many as go together.
pub(super) fn portion(waiting: usize, free: usize, degree: usize) -> usize {
    waiting.div_ceil(free.max(1)).next_power_of_two().min(degree).min(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::reading::RomUse;
    use crate::{Error, Limits, Params};
    use zeroize::Zeroizing;

    struct Nothing;

    impl Work for Nothing {
        fn input(&self, _: usize) -> (&[u8], &[u8]) {
            (&[], &[])
        }
        fn roms(&self, _: usize) -> &[RomUse] {
            &[]
        }
        fn settle(&self, _: usize, _: Result<Zeroizing<Vec<u8>>, Error>) {}
    }

    fn shape(n: u64) -> Shape {
        let params = Params::yescrypt(n, 8).check(&Limits::server()).unwrap();
        Shape { params, roms: Places::default(), out_len: 32 }
    }

    fn batch() -> Arc<dyn Work> {
        Arc::new(Nothing)
    }

    fn indices(tasks: Vec<Task>) -> Vec<usize> {
        tasks.into_iter().map(|task| task.index).collect()
    }

    #[test]
    fn the_oldest_item_decides_and_others_of_its_shape_go_along() {
        let (small, large) = (shape(16), shape(32));
        let batch = batch();
        let mut queue = Queue::default();
        for (index, shape) in [small, large, small, large, small].into_iter().enumerate() {
            queue.push(shape, Task { work: batch.clone(), index });
        }
        assert!(queue.next() == Some((small, 3)));
        assert_eq!(indices(queue.take(&small, 2)), [0, 2]);
        assert!(queue.next() == Some((large, 2)));
        assert_eq!(indices(queue.take(&large, 2)), [1, 3]);
        assert_eq!(indices(queue.take(&small, 2)), [4]);
        assert!(queue.next().is_none());
        assert_eq!((queue.waiting(), queue.peak()), (0, 5));
    }

    #[test]
    fn one_batch_is_taken_out() {
        // `Nothing` has no size: without the counter both would have one address.
        let (mine, other): (Arc<dyn Work>, Arc<dyn Work>) = (batch(), batch());
        let mut queue = Queue::default();
        for index in 0..6 {
            let work = if index % 3 == 0 { mine.clone() } else { other.clone() };
            queue.push(shape(16 << (index % 2)), Task { work, index });
        }
        let mut removed = indices(queue.remove(&mine));
        removed.sort_unstable();
        assert_eq!((removed, queue.waiting()), (vec![0, 3], 4));
        assert_eq!(indices(queue.take(&shape(32), 9)), [1, 5]);
        assert_eq!(indices(queue.clear()), [2, 4]);
        assert!(queue.next().is_none() && queue.waiting() == 0);
    }

    #[test]
    fn portions() {
        // waiting, free, degree: taken
        for (waiting, free, degree, taken) in [
            (1, 1, 2, 1),
            (2, 2, 2, 1),
            (3, 2, 2, 2),
            (2, 1, 2, 2),
            (100, 8, 2, 2),
            (5, 8, 4, 1),
            (5, 2, 4, 4),
            (6, 3, 4, 2),
            (3, 1, 4, 3),
        ] {
            assert_eq!(portion(waiting, free, degree), taken, "{waiting} {free} {degree}");
        }
    }
}
