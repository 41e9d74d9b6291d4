//! Handshakes: peers that have not proved their identity have places of their own, so that they
//! take none from clients.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use super::quota::Holder;

/// How long a handshake may take.
const TIME: Duration = Duration::from_secs(5);

/// The most handshakes of a listener at once.
pub(crate) const HANDSHAKES: usize = 256;

/// The handshakes of a listener.
///
/// If there are too many, the oldest one of the address with the most of them ends: nobody is
/// refused because others are silent, and who sends the most connections loses them first.
pub(super) struct Handshakes {
    places: Arc<Semaphore>,
    /// From the oldest to the newest.
    under_way: Mutex<Vec<UnderWay>>,
    /// How many there have been.
    count: AtomicU64,
}

struct UnderWay {
    number: u64,
    from: Holder,
    /// Ends the handshake when it is dropped.
    _end: oneshot::Sender<()>,
}

/// The place of one handshake.
pub(super) struct Place {
    handshakes: Arc<Handshakes>,
    number: u64,
    ended: oneshot::Receiver<()>,
    _place: OwnedSemaphorePermit,
}

impl Handshakes {
    pub(super) fn new() -> Arc<Self> {
        let places = Arc::new(Semaphore::new(HANDSHAKES));
        Arc::new(Handshakes { places, under_way: Mutex::default(), count: AtomicU64::new(0) })
    }

    /// A place for a peer from this address. Another handshake ends if none is free.
    pub(super) async fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        if self.places.available_permits() == 0 {
            self.end_one();
        }
        // It is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        let (end, ended) = oneshot::channel();
        let number = self.count.fetch_add(1, Relaxed);
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.push(UnderWay { number, from: Holder::of_address(from), _end: end });
        drop(under_way);
        Some(Place { handshakes: Arc::clone(self), number, ended, _place: place })
    }

    /// Ends the oldest handshake of the address with the most, or the oldest of all if several
    /// addresses have as many.
    fn end_one(&self) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = HashMap::<&Holder, usize>::new();
        under_way.iter().for_each(|one| *counts.entry(&one.from).or_default() += 1);
        let most = counts.values().copied().max();
        let of_most = |one: &UnderWay| counts.get(&one.from).copied() == most;
        if let Some(at) = under_way.iter().position(of_most) {
            under_way.remove(at);
        }
    }
}

impl Place {
    /// The result of a handshake; `None` if it took too long, or had to make room for another.
    pub(super) async fn within<T>(mut self, handshake: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = &mut self.ended => None,
            done = timeout(TIME, handshake) => done.ok(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way =
            self.handshakes.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|one| one.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_address_with_the_most_handshakes_loses_its_oldest() {
        let handshakes = Handshakes::new();
        let from = |last| IpAddr::from([192, 0, 2, last]);
        let mut strangers = vec![handshakes.enter(from(1)).await.unwrap()];
        let other = handshakes.enter(from(2)).await.unwrap();
        while strangers.len() < HANDSHAKES - 1 {
            strangers.push(handshakes.enter(from(1)).await.unwrap());
        }
        // The first gives its place up when it has ended.
        let ended = strangers.remove(0).within(std::future::pending::<()>());
        let (ended, newest) = tokio::join!(ended, handshakes.enter(from(3)));
        assert_eq!(ended, None);
        // The others go on.
        for place in [strangers.pop(), Some(other), newest] {
            assert_eq!(place.unwrap().within(async { 7 }).await, Some(7));
        }
        drop(strangers);
        assert!(handshakes.under_way.lock().unwrap().is_empty());
        assert_eq!(handshakes.places.available_permits(), HANDSHAKES);
    }
}
