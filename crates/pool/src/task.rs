//! Functions that a pool computes beside its hashes.

/// What a function costs that a pool computes beside its hashes: see
/// [`Pool::run_one`](crate::Pool::run_one).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    /// Bytes that it takes from the system. They are part of the budget of the pool while it runs.
    pub memory: u64,
    /// Its time, in the unit of [`Params::work`](saltern_yescrypt::Params::work). Predictions learn
    /// nothing from a task of 0.
    pub work: u64,
}
