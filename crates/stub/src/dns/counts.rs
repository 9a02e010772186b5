//! Counts of a name server's questions per second, in total and by name. Read [`LookupCounts`].

use std::collections::VecDeque;

use crate::SecondCounts;
use crate::seconds::{CallEnding, Seconds};

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum number of seconds of names that wait to be taken.
const SECONDS_MAX: usize = 600;

/// The questions for one name in one second.
#[derive(Debug, Clone, PartialEq)]
pub struct NameSecond {
    /// Seconds from the origin to its start.
    pub number: u64,
    pub name: String,
    pub lookups: u64,
    /// Time to live of its answers.
    pub ttl_ns: u64,
    /// The number of the name's addresses at the end of the second, from 1.
    pub address_number: usize,
}

/// Counts questions while the server runs.
#[derive(Debug)]
pub(crate) struct LookupCounts {
    /// Since the run began. `None` before.
    origin_ns: Option<u64>,
    seconds: Seconds,
    in_flight: u64,
    names: Vec<NameCounts>,
    /// The second that `names` counts.
    number: u64,
    finished: VecDeque<NameSecond>,
}

#[derive(Debug)]
struct NameCounts {
    name: String,
    ttl_ns: u64,
    /// When the addresses change. Nanoseconds since the run began.
    moves_ns: Vec<u64>,
    lookups: u64,
}

impl LookupCounts {
    pub(crate) fn new(names: impl Iterator<Item = (String, u64, Vec<u64>)>) -> Self {
        let names = names.map(|(name, ttl_ns, moves_ns)| NameCounts { name, ttl_ns, moves_ns, lookups: 0 }).collect();
        Self { origin_ns: None, seconds: Seconds::default(), in_flight: 0, names, number: 0, finished: VecDeque::new() }
    }

    pub(crate) fn begin(&mut self, origin_ns: u64, now_ns: u64) {
        self.origin_ns = Some(origin_ns);
        self.seconds.begin(origin_ns, now_ns, self.in_flight);
        self.names.iter_mut().for_each(|name| name.lookups = 0);
        (self.number, self.finished) = (0, VecDeque::new());
    }

    /// Time since the run began. 0 before it.
    pub(crate) fn age_ns(&self, now_ns: u64) -> u64 {
        self.origin_ns.map_or(0, |origin_ns| now_ns.saturating_sub(origin_ns))
    }

    /// `name`: its index. `None` for an unknown name.
    pub(crate) fn arrived(&mut self, now_ns: u64, name: Option<usize>) {
        self.finish_seconds(now_ns);
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
        self.finish_seconds(now_ns);
        self.seconds.take(now_ns)
    }

    pub(crate) fn take_names(&mut self) -> Vec<NameSecond> {
        self.finished.drain(..).collect()
    }

    /// Stores the seconds that have ended.
    fn finish_seconds(&mut self, now_ns: u64) {
        let Some(origin_ns) = self.origin_ns else { return };
        let present = now_ns.saturating_sub(origin_ns) / SECOND_NS;
        // After a long silence, only the seconds that will be stored.
        let first = self.number.max(present.saturating_sub(SECONDS_MAX as u64));
        for number in first..present {
            for name in &mut self.names {
                let end_ns = (number + 1) * SECOND_NS;
                let address_number = name.moves_ns.iter().filter(|at_ns| **at_ns < end_ns).count();
                let lookups = std::mem::take(&mut name.lookups);
                self.finished.push_back(NameSecond { number, name: name.name.clone(), lookups, ttl_ns: name.ttl_ns, address_number });
            }
        }
        while self.finished.len() > SECONDS_MAX * self.names.len() {
            self.finished.pop_front();
        }
        self.number = self.number.max(present);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_questions_is_reported_too() {
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
