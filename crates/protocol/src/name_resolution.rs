//! Which address of a name a connection uses, if a test decides that: one, for a time that does not depend on the name's TTL, as in k6.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;

use loadstone_metrics::Nanos;

use crate::random::{STEP, mix};

/// Limit on the names whose addresses are stored. Beyond it, all are looked up again.
const NAMES_MAX: usize = 1_000;

/// How a name becomes the address of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameResolution {
    /// How long the addresses of a name are used. 0: each connection looks it up. `u64::MAX`: as long as the test runs. Nanoseconds.
    pub ttl_ns: u64,
    pub select: AddressSelection,
    pub policy: AddressPolicy,
}

/// Which of a name's addresses the next connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressSelection {
    First,
    Random,
    /// Each in turn.
    RoundRobin,
}

/// Which of a name's addresses are used at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPolicy {
    Any,
    /// Those of IPv4, if there is one.
    PreferIpv4,
    PreferIpv6,
    OnlyIpv4,
    OnlyIpv6,
}

impl AddressPolicy {
    fn permitted(self, addresses: Vec<IpAddr>) -> Vec<IpAddr> {
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = match self {
            Self::Any => return addresses,
            _ => addresses.into_iter().partition(IpAddr::is_ipv4),
        };
        match self {
            Self::OnlyIpv4 => v4,
            Self::OnlyIpv6 => v6,
            Self::PreferIpv6 if !v6.is_empty() => v6,
            Self::PreferIpv4 if v4.is_empty() => v6,
            _ => v4,
        }
    }
}

#[derive(Debug)]
struct KnownName {
    addresses: Vec<IpAddr>,
    until: Nanos,
    turn: usize,
}

/// The addresses of names, as one worker uses them.
#[derive(Debug)]
pub(crate) struct AddressChooser {
    resolution: NameResolution,
    names: RefCell<HashMap<Box<str>, KnownName>>,
    random: Cell<u64>,
}

impl AddressChooser {
    pub(crate) fn new(resolution: NameResolution, seed: u64) -> Self {
        Self { resolution, names: RefCell::default(), random: Cell::new(seed) }
    }

    /// The address for the next connection. `None`: the name must be looked up.
    pub(crate) fn next(&self, host: &str, now: Nanos) -> Option<IpAddr> {
        let mut names = self.names.borrow_mut();
        let known = names.get_mut(host).filter(|known| known.until > now)?;
        self.choose(known)
    }

    /// Stores the addresses of a name, and returns that for the next connection. `None`: the policy permits none.
    pub(crate) fn learn(&self, host: &str, addresses: Vec<IpAddr>, now: Nanos) -> Option<IpAddr> {
        let mut names = self.names.borrow_mut();
        if names.len() >= NAMES_MAX && !names.contains_key(host) {
            names.clear();
        }
        let turn = names.get(host).map_or(0, |known| known.turn);
        let addresses = self.resolution.policy.permitted(addresses);
        let known = KnownName { addresses, until: now.saturating_add(self.resolution.ttl_ns), turn };
        let known = names.entry(host.into()).insert_entry(known).into_mut();
        self.choose(known)
    }

    fn choose(&self, known: &mut KnownName) -> Option<IpAddr> {
        let count = known.addresses.len();
        let index = match self.resolution.select {
            AddressSelection::First => 0,
            AddressSelection::RoundRobin => {
                known.turn = known.turn.wrapping_add(1);
                known.turn.wrapping_sub(1) % count.max(1)
            }
            AddressSelection::Random => {
                self.random.set(self.random.get().wrapping_add(STEP));
                (mix(self.random.get()) % count.max(1) as u64) as usize
            }
        };
        known.addresses.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(written: &[&str]) -> Vec<IpAddr> {
        written.iter().map(|address| address.parse().unwrap()).collect()
    }

    #[test]
    fn a_policy_permits_one_family_or_both() {
        let (both, v6) = (addresses(&["::1", "10.0.0.1", "10.0.0.2"]), addresses(&["::1"]));
        for (policy, of_both, of_v6) in [
            (AddressPolicy::Any, both.clone(), v6.clone()),
            (AddressPolicy::PreferIpv4, addresses(&["10.0.0.1", "10.0.0.2"]), v6.clone()),
            (AddressPolicy::PreferIpv6, v6.clone(), v6.clone()),
            (AddressPolicy::OnlyIpv4, addresses(&["10.0.0.1", "10.0.0.2"]), Vec::new()),
            (AddressPolicy::OnlyIpv6, v6.clone(), v6.clone()),
        ] {
            assert_eq!((policy.permitted(both.clone()), policy.permitted(v6.clone())), (of_both, of_v6), "{policy:?}");
        }
        let v4 = addresses(&["10.0.0.1"]);
        assert_eq!((AddressPolicy::PreferIpv6.permitted(v4.clone()), AddressPolicy::OnlyIpv6.permitted(v4.clone())), (v4, Vec::new()));
    }

    #[test]
    fn addresses_are_used_by_their_selection_until_the_ttl() {
        let all = addresses(&["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
        let uses = |select| {
            let chooser = AddressChooser::new(NameResolution { ttl_ns: 10, select, policy: AddressPolicy::Any }, 7);
            assert_eq!(chooser.next("a", 0), None);
            let mut used = vec![chooser.learn("a", all.clone(), 0).unwrap()];
            used.extend((0..299).map(|_| chooser.next("a", 9).unwrap()));
            assert_eq!((chooser.next("a", 10), chooser.next("b", 9)), (None, None));
            all.iter().map(|address| used.iter().filter(|one| *one == address).count()).collect::<Vec<_>>()
        };
        assert_eq!(uses(AddressSelection::First), [300, 0, 0]);
        assert_eq!(uses(AddressSelection::RoundRobin), [100, 100, 100]);
        assert!(uses(AddressSelection::Random).iter().all(|count| *count > 50));
    }

    #[test]
    fn without_a_ttl_each_connection_looks_the_name_up() {
        let chooser = |ttl_ns| {
            let chooser =
                AddressChooser::new(NameResolution { ttl_ns, select: AddressSelection::RoundRobin, policy: AddressPolicy::Any }, 7);
            chooser.learn("a", addresses(&["10.0.0.1", "10.0.0.2"]), 5);
            chooser
        };
        assert_eq!(chooser(0).next("a", 5), None);
        assert!(chooser(u64::MAX).next("a", u64::MAX - 1).is_some());
        // Turns go on after a new look-up.
        assert_eq!(chooser(0).learn("a", addresses(&["10.0.0.1", "10.0.0.2"]), 6), Some("10.0.0.2".parse().unwrap()));
    }
}
