//! Functions that a pool runs beside its hashes.

/// The cost of a function that a pool runs beside its hashes: see
/// [`Pool::run_one`](crate::Pool::run_one).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    /// Bytes that it takes from the system. They count against the pool's budget while it runs.
    pub memory: u64,
    /// Its time, in the unit of [`Params::work`](saltern_yescrypt::Params::work). A task with 0
    /// does not affect predictions.
    pub work: u64,
}
