//! Threads for one computation; without the `std` feature, a single thread.

/// How many of `threads` have anything to do, given `pieces` of work.
pub(crate) fn useful(threads: usize, pieces: usize) -> usize {
    if cfg!(feature = "std") { threads.clamp(1, pieces.max(1)) } else { 1 }
}

/// Runs `work` on each piece, in as many threads as there are pieces, the calling one included. If
/// a thread cannot be started, the others do its work.
#[cfg(feature = "std")]
pub(crate) fn for_each<T: Send>(
    pieces: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    let threads = pieces.len();
    if threads <= 1 {
        return pieces.for_each(work);
    }
    let pieces = std::sync::Mutex::new(pieces);
    let next = || pieces.lock().ok().and_then(|mut pieces| pieces.next());
    let worker = || core::iter::from_fn(next).for_each(&work);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot be started, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
}

#[cfg(not(feature = "std"))]
pub(crate) fn for_each<T: Send>(
    pieces: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    pieces.for_each(work);
}
