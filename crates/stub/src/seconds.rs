//! Counts per second, which a caller takes while the server runs. Read [`SecondCounts`].

use std::collections::VecDeque;

use serde::Serialize;

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum number of seconds that wait to be taken.
const SECONDS_MAX: usize = 600;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnding {
    Answered,
    /// By a limit.
    Rejected,
    Faulted,
    /// Its client left first.
    Abandoned,
}

/// The counts of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SecondCounts {
    /// Seconds from the origin to its start.
    pub number: u64,
    /// Calls that arrived.
    pub calls: u64,
    /// Calls in the server, integrated over the second. Call-nanoseconds.
    pub in_flight_ns: u64,
    pub in_flight_max: u64,
    pub answered: u64,
    pub rejected: u64,
    pub faulted: u64,
    pub abandoned: u64,
    /// Total delay of the answered and the faulted calls. Nanoseconds.
    pub held_ns: u64,
}

/// Seconds from an origin on. Nothing is counted before the origin is set.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    origin_ns: Option<u64>,
    seconds: VecDeque<SecondCounts>,
    /// The instant up to which the level has been integrated.
    integrated_ns: u64,
    level: u64,
}

impl Seconds {
    /// `level`: calls in the server now.
    pub(crate) fn begin(&mut self, origin_ns: u64, now_ns: u64, level: u64) {
        *self = Self { origin_ns: Some(origin_ns), seconds: VecDeque::new(), integrated_ns: now_ns.max(origin_ns), level };
    }

    /// The level changes now.
    pub(crate) fn level(&mut self, now_ns: u64, level: u64) {
        self.integrate(now_ns);
        self.level = level;
        if let Some(second) = self.at(now_ns) {
            second.in_flight_max = second.in_flight_max.max(level);
        }
    }

    pub(crate) fn arrived(&mut self, now_ns: u64) {
        if let Some(second) = self.at(now_ns) {
            second.calls += 1;
        }
    }

    pub(crate) fn ended(&mut self, now_ns: u64, ending: CallEnding, held_ns: u64) {
        let Some(second) = self.at(now_ns) else { return };
        match ending {
            CallEnding::Answered => second.answered += 1,
            CallEnding::Rejected => second.rejected += 1,
            CallEnding::Faulted => second.faulted += 1,
            CallEnding::Abandoned => second.abandoned += 1,
        }
        if matches!(ending, CallEnding::Answered | CallEnding::Faulted) {
            second.held_ns += held_ns;
        }
    }

    /// The seconds that have ended.
    pub(crate) fn take(&mut self, now_ns: u64) -> Vec<SecondCounts> {
        self.integrate(now_ns);
        let Some(origin_ns) = self.origin_ns else { return Vec::new() };
        let present = now_ns.saturating_sub(origin_ns) / SECOND_NS;
        let over = self.seconds.iter().take_while(|second| second.number < present).count();
        self.seconds.drain(..over).collect()
    }

    /// The second of this instant. Seconds between it and the last one are added as well.
    fn at(&mut self, now_ns: u64) -> Option<&mut SecondCounts> {
        let number = now_ns.checked_sub(self.origin_ns?)? / SECOND_NS;
        let level = self.level;
        let next = self.seconds.back().map_or(number, |last| last.number + 1);
        for number in next.max((number + 1).saturating_sub(SECONDS_MAX as u64))..=number {
            self.seconds.push_back(SecondCounts { number, in_flight_max: level, ..SecondCounts::default() });
        }
        while self.seconds.len() > SECONDS_MAX {
            self.seconds.pop_front();
        }
        // An instant before the last second comes from a clock that was read a moment earlier. It counts in the existing seconds.
        let back = self.seconds.iter().rposition(|second| second.number <= number)?;
        self.seconds.get_mut(back)
    }

    fn integrate(&mut self, now_ns: u64) {
        let Some(origin_ns) = self.origin_ns else { return };
        while self.integrated_ns < now_ns {
            let (from, level) = (self.integrated_ns, self.level);
            let end = (origin_ns + ((from - origin_ns) / SECOND_NS + 1) * SECOND_NS).min(now_ns);
            if let Some(second) = self.at(from) {
                second.in_flight_ns += level * (end - from);
                second.in_flight_max = second.in_flight_max.max(level);
            }
            self.integrated_ns = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_in_flight_in_every_second_that_it_touches() {
        let mut seconds = Seconds::default();
        seconds.level(0, 1);
        seconds.begin(500, 500, 0);
        let at = |tenths: u64| 500 + tenths * SECOND_NS / 10;
        for (tenths, level) in [(5, 1), (8, 2), (23, 1), (25, 0)] {
            seconds.level(at(tenths), level);
            if tenths < 10 { seconds.arrived(at(tenths)) } else { seconds.ended(at(tenths), CallEnding::Answered, 15) }
        }
        let taken = seconds.take(at(41));
        let seen: Vec<_> =
            taken.iter().map(|s| (s.number, s.calls, s.in_flight_ns * 10 / SECOND_NS, s.in_flight_max, s.answered, s.held_ns)).collect();
        assert_eq!(seen, [(0, 2, 7, 2, 0, 0), (1, 0, 20, 2, 0, 0), (2, 0, 8, 2, 2, 30), (3, 0, 0, 0, 0, 0)]);
        assert!(seconds.take(at(42)).is_empty());
    }

    #[test]
    fn seconds_that_nobody_takes_are_bounded() {
        let mut seconds = Seconds::default();
        seconds.begin(0, 0, 0);
        seconds.level(10_000 * SECOND_NS, 1);
        assert!(seconds.seconds.len() <= SECONDS_MAX);
        assert_eq!(seconds.take(10_001 * SECOND_NS).last().unwrap().number, 10_000);
    }
}
