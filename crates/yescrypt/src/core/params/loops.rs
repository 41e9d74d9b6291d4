//! How often the second loop runs.

use super::{Mode, Params};

/// Second-loop counts (section 12): `all` block mixes for each instance, `rw` of them within its
/// own slice with writes.
///
/// Both are even, as every slice's length is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopCounts {
    pub(crate) all: u128,
    pub(crate) rw: u128,
}

impl LoopCounts {
    pub(crate) fn new(params: &Params, filling_rom: bool) -> Self {
        // A is taken from n before n is rounded to even, and W from A before A is.
        let (slices, t) = (u128::from(params.slices().max(1)), u128::from(params.t));
        let (n, rw) = (u128::from(params.n) / slices, params.mode.rw());
        let all = match (rw, t) {
            (true, 0) => n.div_ceil(3),
            (true, 1) => (2 * n).div_ceil(3),
            (true, _) => n * (t - 1),
            (false, 0) => n,
            (false, 1) => n + n.div_ceil(2),
            (false, _) => n * t,
        };
        let writing = match (rw, filling_rom) {
            (_, true) => all,
            (true, false) => all / slices,
            (false, false) => 0,
        };
        let rw = match params.mode {
            // Where 1.1 makes both larger, this generation makes the writing ones fewer.
            Mode::Escrypt(_) => writing & !1,
            _ => writing.next_multiple_of(2),
        };
        LoopCounts { all: all.next_multiple_of(2), rw }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::params::Flags;

    #[test]
    fn loop_counts_are_those_of_the_specification() {
        // n, then (all) for RW t = 0..=3 and WORM t = 0..=3
        let table: [(u64, [u128; 4], [u128; 4]); 3] = [
            (4, [2, 4, 4, 8], [4, 6, 8, 12]),
            (16, [6, 12, 16, 32], [16, 24, 32, 48]),
            (2048, [684, 1366, 2048, 4096], [2048, 3072, 4096, 6144]),
        ];
        for (n, rw, worm) in table {
            for t in 0..4 {
                let mut params = Params::new(Mode::Rw, n, 8);
                params.t = t;
                assert_eq!(LoopCounts::new(&params, false).all, rw[t as usize]);
                params.mode = Mode::Worm;
                let counts = LoopCounts::new(&params, false);
                assert_eq!((counts.all, counts.rw), (worm[t as usize], 0));
            }
        }
        // n = 16 / 3 = 5: A is 2, 4, 5, 10 before rounding
        for (t, all) in [(0, 2), (1, 4), (2, 6), (3, 10)] {
            let mut params = Params::new(Mode::Rw, 16, 8);
            (params.p, params.t) = (3, t);
            assert_eq!(LoopCounts::new(&params, false).all, all);
        }
    }

    #[test]
    fn the_final_loop_of_the_older_generation_can_be_left_with_two_steps() {
        // N = 8, t = 0: A = 3.
        let counts = |bits: u32, p: u32, filling_rom: bool| {
            let mut params = Params::new(Mode::Escrypt(Flags::from_bits(bits).unwrap()), 8, 8);
            params.p = p;
            LoopCounts::new(&params, filling_rom)
        };
        assert_eq!(counts(1, 1, false), LoopCounts { all: 4, rw: 2 });
        assert_eq!(counts(3, 2, false), LoopCounts { all: 2, rw: 0 });
        assert_eq!(counts(3, 2, true), LoopCounts { all: 2, rw: 2 });
    }
}
