//! What a name server was asked, second by second, in all and by name. Read [`LookupCounts`].

use std::collections::VecDeque;

use crate::SecondCounts;
use crate::seconds::{CallEnding, Seconds};

const SECOND_NS: u64 = 1_000_000_000;
/// Seconds of names that are kept when nobody takes them.
const SECONDS_MAX: usize = 600;

/// What one second asked for one name.
#[derive(Debug, Clone, PartialEq)]
pub struct NameSecond {
    /// Seconds from the origin to its start.
    pub number: u64,
    pub name: String,
    pub lookups: u64,
    /// For how long an answer may be believed.
    pub ttl_ns: u64,
    /// Which of its addresses the name had at the second's end, from 1.
    pub address_number: usize,
}

/// Counts questions while the server runs.
#[derive(Debug)]
pub(crate) struct LookupCounts {
    /// Since the run began; `None` before.
    origin_ns: Option<u64>,
    seconds: Seconds,
    in_flight: u64,
    names: Vec<NameCounts>,
    /// The second that `names` counts.
    number: u64,
    kept: VecDeque<NameSecond>,
}

#[derive(Debug)]
struct NameCounts {
    name: String,
    ttl_ns: u64,
    /// When it moves. Nanoseconds since the run began.
    moves_ns: Vec<u64>,
    lookups: u64,
}

impl LookupCounts {
    pub(crate) fn new(names: impl Iterator<Item = (String, u64, Vec<u64>)>) -> Self {
        let names = names.map(|(name, ttl_ns, moves_ns)| NameCounts { name, ttl_ns, moves_ns, lookups: 0 }).collect();
        Self { origin_ns: None, seconds: Seconds::default(), in_flight: 0, names, number: 0, kept: VecDeque::new() }
    }

    pub(crate) fn begin(&mut self, origin_ns: u64, now_ns: u64) {
        self.origin_ns = Some(origin_ns);
        self.seconds.begin(origin_ns, now_ns, self.in_flight);
        self.names.iter_mut().for_each(|name| name.lookups = 0);
        (self.number, self.kept) = (0, VecDeque::new());
    }

    /// How long the run has been going on; 0 before it.
    pub(crate) fn age_ns(&self, now_ns: u64) -> u64 {
        self.origin_ns.map_or(0, |origin_ns| now_ns.saturating_sub(origin_ns))
    }

    /// `name`: its place; `None` for one that is not known.
    pub(crate) fn arrived(&mut self, now_ns: u64, name: Option<usize>) {
        self.turn(now_ns);
        self.in_flight += 1;
        self.seconds.level(now_ns, self.in_flight);
        self.seconds.arrived(now_ns);
        if let Some(name) = name.and_then(|place| self.names.get_mut(place)) {
            name.lookups += 1;
        }
    }

    pub(crate) fn ended(&mut self, now_ns: u64, is_lost: bool, held_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.seconds.level(now_ns, self.in_flight);
        self.seconds.ended(now_ns, if is_lost { CallEnding::Faulted } else { CallEnding::Answered }, held_ns);
    }

    pub(crate) fn take(&mut self, now_ns: u64) -> Vec<SecondCounts> {
        self.turn(now_ns);
        self.seconds.take(now_ns)
    }

    pub(crate) fn take_names(&mut self) -> Vec<NameSecond> {
        self.kept.drain(..).collect()
    }

    /// Keeps the seconds that are over.
    fn turn(&mut self, now_ns: u64) {
        let Some(origin_ns) = self.origin_ns else { return };
        let present = now_ns.saturating_sub(origin_ns) / SECOND_NS;
        // Of a long silence only what is kept anyway.
        let first = self.number.max(present.saturating_sub(SECONDS_MAX as u64));
        for number in first..present {
            for name in &mut self.names {
                let end_ns = (number + 1) * SECOND_NS;
                let address_number = name.moves_ns.iter().filter(|at_ns| **at_ns < end_ns).count();
                let lookups = std::mem::take(&mut name.lookups);
                self.kept.push_back(NameSecond { number, name: name.name.clone(), lookups, ttl_ns: name.ttl_ns, address_number });
            }
        }
        while self.kept.len() > SECONDS_MAX * self.names.len() {
            self.kept.pop_front();
        }
        self.number = self.number.max(present);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_in_which_nobody_asked_is_told_too() {
        let mut counts = LookupCounts::new([("a.test".to_owned(), 5 * SECOND_NS, vec![0, 2 * SECOND_NS + 1])].into_iter());
        counts.arrived(5, Some(0));
        counts.begin(10, 10);
        counts.arrived(10 + SECOND_NS / 2, Some(0));
        counts.arrived(10 + SECOND_NS / 2, None);
        let seconds = counts.take(10 + 4 * SECOND_NS);
        let names: Vec<_> = counts.take_names().into_iter().map(|second| (second.number, second.lookups, second.address_number)).collect();
        assert_eq!(names, [(0, 1, 1), (1, 0, 1), (2, 0, 2), (3, 0, 2)]);
        assert_eq!(seconds.iter().map(|second| second.calls).collect::<Vec<_>>(), [2, 0, 0, 0]);
    }
}
