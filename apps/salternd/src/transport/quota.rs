//! Counts of a resource by holder, so that nobody has all of it: connections of a listener, bytes
//! of bodies.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::site::Peer;

/// The holder of a share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Holder {
    /// A user on this machine.
    User(u32),
    /// The owner of a certificate with these names.
    Certificate(Vec<String>),
    /// A peer at an address that has not identified itself, or need not.
    Address(IpAddr),
    /// A client with this name, regardless of its users, certificates or addresses.
    Client(String),
}

impl Holder {
    /// The holder of a connection from an address. This machine is one holder, with any of its
    /// addresses, and so is an IPv6 network, in which a machine can have any number of addresses.
    pub(super) fn of_address(address: IpAddr) -> Self {
        Holder::Address(match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 64).into(),
            address => address,
        })
    }

    /// The holder for a peer from an address.
    pub(super) fn of(peer: &Peer, address: Option<IpAddr>) -> Self {
        match peer {
            Peer::User { uid, .. } => Holder::User(*uid),
            Peer::Certificate(names) => Holder::Certificate(names.clone()),
            Peer::Anybody { .. } => Self::of_address(address.unwrap_or(Ipv4Addr::LOCALHOST.into())),
        }
    }
}

/// How much each holder has.
pub(super) struct Quota {
    /// The most that one holder may have.
    most: usize,
    /// Counts of holders that have any.
    counts: Mutex<HashMap<Holder, usize>>,
}

/// Connections or bytes of a holder, counted until this is dropped.
pub(super) struct Share {
    quota: Arc<Quota>,
    holder: Holder,
    count: usize,
}

impl Quota {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Quota { most, counts: Mutex::default() })
    }

    /// Takes more for a holder; `None` if it would have more than it may.
    pub(super) fn take(self: &Arc<Self>, holder: Holder, count: usize) -> Option<Share> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counts.get(&holder).copied().unwrap_or(0);
        let after = before.checked_add(count).filter(|after| *after <= self.most)?;
        counts.insert(holder.clone(), after);
        drop(counts);
        Some(Share { quota: Arc::clone(self), holder, count })
    }
}

impl Share {
    /// Reduces the count, by at most what is held.
    pub(super) fn give_back(&mut self, count: usize) {
        let count = count.min(self.count);
        self.count -= count;
        let mut counts = self.quota.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = counts.get_mut(&self.holder) {
            *all -= count;
            if *all == 0 {
                counts.remove(&self.holder);
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_its_own_and_what_ends_is_forgotten() {
        let quota = Quota::new(2);
        let user = |uid| quota.take(Holder::of(&Peer::User { uid, gid: uid }, None), 1);
        let (one, two) = (user(7), user(7));
        assert!(one.is_some() && two.is_some());
        assert!(user(7).is_none());
        let other = user(8);
        assert!(other.is_some());
        drop(one);
        let again = user(7);
        assert!(again.is_some() && user(7).is_none());
        drop((two, other, again));
        assert!(quota.counts.lock().unwrap().is_empty());
    }

    #[test]
    fn addresses_of_one_machine_or_network_are_one() {
        let of = |text: &str| Holder::of_address(text.parse().unwrap());
        assert_eq!(of("127.0.0.1"), of("127.9.8.7"));
        assert_eq!(of("127.0.0.1"), of("::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    }
}
