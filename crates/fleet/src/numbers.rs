//! An agent's part of what is numbered over all agents: it takes number after number from what it was lent, and asks for more in time.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What is numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberSource {
    /// Calls of this feeder of the test.
    Feeder(u64),
    /// Iterations of this leaf.
    Leaf(u32),
}

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberRequest {
    pub source: NumberSource,
    /// How many numbers there are; `None`: without end.
    pub end: Option<u64>,
    /// Numbers that it would like to have.
    pub wanted: u64,
    /// Somebody waits, and it has none left. Otherwise it asks ahead.
    pub urgent: bool,
}

/// What an agent has of the numbers that it was lent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldNumbers {
    pub source: NumberSource,
    /// Loans that it has received so far; later ones are still on their way to it.
    pub loans: u64,
    /// Not used.
    pub ranges: Vec<Range<u64>>,
}

/// Fewest numbers that are asked for at once.
const WANTED_MIN: u64 = 4;
const WANTED_MAX: u64 = 1 << 20;

/// The numbers of one source on one agent. Plain state: whoever has it sends what it asks, and waits where it has to.
#[derive(Debug)]
pub struct LentHere {
    source: NumberSource,
    end: Option<u64>,
    ranges: VecDeque<Range<u64>>,
    loans: u64,
    /// A request is on its way, or waits for its answer; and whether it is urgent.
    asked: Option<bool>,
    /// Nothing was left to ask ahead for.
    scarce: bool,
    /// All numbers are used, or nobody can be asked any more.
    is_over: bool,
    wanted: u64,
    used: u64,
    /// Requests since the last second.
    requests: u32,
    /// That nobody had, when it was last told.
    left: u64,
    /// Something has changed since the controller was told.
    is_news: bool,
}

/// What comes of taking a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenNumber {
    Number(u64),
    /// One has to wait for what was asked for.
    Wait,
    /// There are no more.
    None,
}

impl LentHere {
    /// `end`: how many numbers there are; `None`: without end.
    pub fn new(source: NumberSource, end: Option<u64>) -> Self {
        Self {
            source,
            end,
            ranges: VecDeque::new(),
            loans: 0,
            asked: None,
            scarce: false,
            is_over: false,
            wanted: WANTED_MIN,
            used: 0,
            requests: 0,
            left: end.unwrap_or(u64::MAX),
            is_news: false,
        }
    }

    /// Takes a number, where there is one, and says what is to be asked for.
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

    /// The same without taking it.
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
        if self.is_over || self.asked.is_some() || !is_short {
            return None;
        }
        self.requests += 1;
        // More often than once a second: it uses more than it thought.
        if self.requests > 1 {
            self.wanted = (2 * self.wanted).min(WANTED_MAX);
        }
        self.asked = Some(urgent);
        Some(NumberRequest { source: self.source, end: self.end, wanted: self.wanted, urgent })
    }

    /// An answer of the controller.
    pub fn give(&mut self, from: u64, to: u64, left: u64) {
        let asked = self.asked.take();
        self.left = left;
        if from < to {
            self.loans += 1;
            self.is_news = true;
            self.ranges.push_back(from..to);
        } else if asked == Some(false) {
            self.scarce = true;
        } else {
            self.is_over = true;
        }
    }

    /// Takes all that is not used, but what those who wait here are about to take.
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

    /// To be called every second. What the controller is to know.
    pub fn second(&mut self) -> Option<HeldNumbers> {
        self.wanted = self.used.clamp(WANTED_MIN, WANTED_MAX);
        (self.used, self.requests) = (0, 0);
        std::mem::take(&mut self.is_news).then(|| HeldNumbers {
            source: self.source,
            loans: self.loans,
            ranges: self.ranges.iter().cloned().collect(),
        })
    }

    /// Nobody answers any more.
    pub fn close(&mut self) {
        self.is_over = true;
        self.ranges.clear();
    }

    /// Whether [`Self::take`] would not wait.
    pub(crate) fn has_some(&self) -> bool {
        self.is_over || !self.ranges.is_empty() || self.asked.is_none()
    }

    /// Numbers that are here.
    fn holds(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Numbers that may still be taken, as far as it is known here: those that others hold are not among them. `None`: without end.
    pub fn remaining(&self) -> Option<u64> {
        self.end.map(|_| self.holds() + if self.is_over { 0 } else { self.left })
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range of several that there may be")]
mod tests {
    use super::*;

    fn here(end: Option<u64>) -> LentHere {
        LentHere::new(NumberSource::Leaf(0), end)
    }

    #[test]
    fn it_asks_ahead_and_for_more_the_faster_it_uses_them() {
        let mut here = here(None);
        let (taken, request) = here.take();
        assert_eq!((taken, request.unwrap().wanted, request.unwrap().urgent), (TakenNumber::Wait, 4, true));
        assert_eq!(here.take(), (TakenNumber::Wait, None), "asked once");
        here.give(0, 4, u64::MAX);
        assert_eq!(here.take(), (TakenNumber::Number(0), None));
        assert_eq!(here.take(), (TakenNumber::Number(1), None));
        let (taken, request) = here.take();
        assert_eq!((taken, request.unwrap().wanted, request.unwrap().urgent), (TakenNumber::Number(2), 8, false));
        here.give(10, 18, u64::MAX);
        assert_eq!([here.take().0, here.take().0], [TakenNumber::Number(3), TakenNumber::Number(10)]);
        assert_eq!(here.second().unwrap().ranges, [11..18]);
        assert_eq!(here.second(), None, "no news");
    }

    #[test]
    fn numbers_are_at_an_end_only_when_somebody_needed_one_and_nobody_had_any() {
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
    fn what_is_given_back_is_not_used_here() {
        let mut here = here(Some(100));
        here.take();
        here.give(10, 20, 50);
        assert_eq!((here.take().0, here.remaining()), (TakenNumber::Number(10), Some(59)));
        let back = here.give_back(2);
        assert_eq!((back.loans, back.ranges), (1, vec![13..20]));
        assert_eq!([here.take().0, here.take().0, here.take().0], [TakenNumber::Number(11), TakenNumber::Number(12), TakenNumber::Wait]);
    }
}
