//! An agent's part of numbers that all agents share. It takes numbers from its loans, and requests more ahead of time.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The sequence to which numbers belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberSource {
    /// Calls of this feeder of the test.
    Feeder(u64),
    /// Iterations of this leaf.
    Leaf(u32),
}

/// An agent's request for numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberRequest {
    pub source: NumberSource,
    /// How many numbers there are in total. `None`: unlimited.
    pub end: Option<u64>,
    /// How many numbers it requests.
    pub wanted: u64,
    /// A user waits, and the agent has no number left. Otherwise it requests ahead.
    pub urgent: bool,
}

/// The lent numbers that an agent holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldNumbers {
    pub source: NumberSource,
    /// Number of loans received so far. Later loans have not arrived yet.
    pub loans: u64,
    /// Unused numbers.
    pub ranges: Vec<Range<u64>>,
}

/// Smallest number of numbers to request at once.
const WANTED_MIN: u64 = 4;
const WANTED_MAX: u64 = 1 << 20;

/// The numbers of one source on one agent. Plain state: its owner sends the requests, and waits if necessary.
#[derive(Debug)]
pub struct LocalNumbers {
    source: NumberSource,
    end: Option<u64>,
    ranges: VecDeque<Range<u64>>,
    loans: u64,
    /// A request is pending. The value is whether it is urgent.
    pending: Option<bool>,
    /// A request ahead returned nothing.
    scarce: bool,
    /// All numbers are used, or the controller can no longer be asked.
    is_over: bool,
    wanted: u64,
    used: u64,
    /// Requests since the last second.
    requests: u32,
    /// Numbers that no agent had, as of the last answer.
    left: u64,
    /// Something has changed since the last report to the controller.
    is_news: bool,
}

/// The result of taking a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenNumber {
    Number(u64),
    /// Wait for the pending request.
    Wait,
    /// There are no more.
    None,
}

impl LocalNumbers {
    /// `end`: how many numbers there are. `None`: unlimited.
    pub fn new(source: NumberSource, end: Option<u64>) -> Self {
        Self {
            source,
            end,
            ranges: VecDeque::new(),
            loans: 0,
            pending: None,
            scarce: false,
            is_over: false,
            wanted: WANTED_MIN,
            used: 0,
            requests: 0,
            left: end.unwrap_or(u64::MAX),
            is_news: false,
        }
    }

    /// Takes a number, if there is one, and returns the request to send.
    pub fn take(&mut self) -> (TakenNumber, Option<NumberRequest>) {
        let number = self.ranges.front_mut().and_then(Iterator::next);
        while self.ranges.front().is_some_and(Range::is_empty) {
            self.ranges.pop_front();
        }
        if number.is_some() {
            self.used += 1;
            self.is_news = true;
        }
        self.found(number)
    }

    /// Like [`Self::take`], but leaves the number in place.
    pub fn look(&mut self) -> (TakenNumber, Option<NumberRequest>) {
        self.found(self.ranges.front().map(|range| range.start))
    }

    fn found(&mut self, number: Option<u64>) -> (TakenNumber, Option<NumberRequest>) {
        let request = self.request(number.is_none());
        let taken = match number {
            Some(number) => TakenNumber::Number(number),
            None if self.is_over => TakenNumber::None,
            None => TakenNumber::Wait,
        };
        (taken, request)
    }

    fn request(&mut self, urgent: bool) -> Option<NumberRequest> {
        let is_short = urgent || (!self.scarce && self.holds() < self.wanted.div_ceil(2));
        if self.is_over || self.pending.is_some() || !is_short {
            return None;
        }
        self.requests += 1;
        // More than one request per second: the agent uses more than it expected.
        if self.requests > 1 {
            self.wanted = (2 * self.wanted).min(WANTED_MAX);
        }
        self.pending = Some(urgent);
        Some(NumberRequest { source: self.source, end: self.end, wanted: self.wanted, urgent })
    }

    /// Handles an answer of the controller.
    pub fn give(&mut self, from: u64, to: u64, left: u64) {
        let pending = self.pending.take();
        self.left = left;
        if from < to {
            self.loans += 1;
            self.is_news = true;
            self.ranges.push_back(from..to);
        } else if pending == Some(false) {
            self.scarce = true;
        } else {
            self.is_over = true;
        }
    }

    /// Removes and returns all unused numbers, except those that waiting users are about to take.
    pub fn give_back(&mut self, waiting: u64) -> HeldNumbers {
        let mut kept = VecDeque::new();
        let mut missing = waiting;
        while missing > 0
            && let Some(range) = self.ranges.pop_front()
        {
            let cut = range.end.min(range.start + missing);
            missing -= cut - range.start;
            kept.push_back(range.start..cut);
            if cut < range.end {
                self.ranges.push_front(cut..range.end);
            }
        }
        let ranges = std::mem::replace(&mut self.ranges, kept).into();
        self.is_news = true;
        HeldNumbers { source: self.source, loans: self.loans, ranges }
    }

    /// Call it every second. Returns the report for the controller.
    pub fn second(&mut self) -> Option<HeldNumbers> {
        self.wanted = self.used.clamp(WANTED_MIN, WANTED_MAX);
        (self.used, self.requests) = (0, 0);
        std::mem::take(&mut self.is_news).then(|| HeldNumbers {
            source: self.source,
            loans: self.loans,
            ranges: self.ranges.iter().cloned().collect(),
        })
    }

    /// Ends the source: the controller no longer answers.
    pub fn close(&mut self) {
        self.is_over = true;
        self.ranges.clear();
    }

    /// Whether [`Self::take`] would return without waiting.
    pub(crate) fn has_some(&self) -> bool {
        self.is_over || !self.ranges.is_empty() || self.pending.is_none()
    }

    /// Numbers that this agent holds.
    fn holds(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Numbers that may still be taken, as far as this agent knows: it does not count those that others hold. `None`: unlimited.
    pub fn remaining(&self) -> Option<u64> {
        self.end.map(|_| self.holds() + if self.is_over { 0 } else { self.left })
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "the list may contain several ranges")]
mod tests {
    use super::*;

    fn here(end: Option<u64>) -> LocalNumbers {
        LocalNumbers::new(NumberSource::Leaf(0), end)
    }

    #[test]
    fn requests_are_sent_ahead_and_grow_with_the_usage() {
        let mut here = here(None);
        let (taken, request) = here.take();
        assert_eq!((taken, request.unwrap().wanted, request.unwrap().urgent), (TakenNumber::Wait, 4, true));
        assert_eq!(here.take(), (TakenNumber::Wait, None), "only one request");
        here.give(0, 4, u64::MAX);
        assert_eq!(here.take(), (TakenNumber::Number(0), None));
        assert_eq!(here.take(), (TakenNumber::Number(1), None));
        let (taken, request) = here.take();
        assert_eq!((taken, request.unwrap().wanted, request.unwrap().urgent), (TakenNumber::Number(2), 8, false));
        here.give(10, 18, u64::MAX);
        assert_eq!([here.take().0, here.take().0], [TakenNumber::Number(3), TakenNumber::Number(10)]);
        assert_eq!(here.second().unwrap().ranges, [11..18]);
        assert_eq!(here.second(), None, "nothing has changed");
    }

    #[test]
    fn numbers_end_only_when_an_urgent_request_returns_none() {
        let mut here = here(Some(1));
        here.take();
        here.give(0, 1, 0);
        let (taken, ahead) = here.take();
        assert_eq!((taken, ahead.unwrap().urgent), (TakenNumber::Number(0), false));
        assert_eq!(here.take(), (TakenNumber::Wait, None));
        here.give(0, 0, 0);
        let (taken, urgent) = here.take();
        assert_eq!((taken, urgent.unwrap().urgent), (TakenNumber::Wait, true));
        here.give(0, 0, 0);
        assert_eq!(here.take(), (TakenNumber::None, None));
        assert_eq!(here.remaining(), Some(0));
    }

    #[test]
    fn returned_numbers_are_not_used_locally() {
        let mut here = here(Some(100));
        here.take();
        here.give(10, 20, 50);
        assert_eq!((here.take().0, here.remaining()), (TakenNumber::Number(10), Some(59)));
        let back = here.give_back(2);
        assert_eq!((back.loans, back.ranges), (1, vec![13..20]));
        assert_eq!([here.take().0, here.take().0, here.take().0], [TakenNumber::Number(11), TakenNumber::Number(12), TakenNumber::Wait]);
    }
}
