//! Finished journeys for which stages may still be reported. A finish may be reported at once by its observer, a stage only once a second by another.

use std::collections::VecDeque;

use super::event::FlowKey;
use super::table::Table;
use crate::clock::Nanos;

/// A finished journey.
struct Finished {
    start: Nanos,
    finish: Nanos,
    /// One bit per stage.
    reached: u32,
}

/// The result of a late report of a stage.
pub(super) enum LateStage {
    /// The stage was reached this long after the start. Nanoseconds.
    Reached(Nanos),
    /// The stage was reported before, or lies after the finish.
    Repeated,
    /// No journey with this key is remembered.
    Unknown,
}

/// The latest finished journeys of one flow, in the order in which they finished. About 60 to 120 bytes each.
pub(super) struct Lingering {
    journeys: Table<Finished>,
    /// Entries of completely known journeys remain until their time has passed.
    order: VecDeque<(Nanos, FlowKey)>,
    /// One bit for each of the flow's stages.
    all: u32,
    span_ns: u64,
    max: usize,
}

impl Lingering {
    pub(super) fn new(stages: usize, max: usize, span_ns: u64) -> Self {
        let all = if stages == 0 { 0 } else { u32::MAX >> (u32::BITS as usize - stages) };
        Self { journeys: Table::default(), order: VecDeque::new(), all, span_ns, max }
    }

    /// Remembers a journey some of whose stages are unknown.
    pub(super) fn keep(&mut self, key: FlowKey, (start, finish): (Nanos, Nanos), reached: u32) {
        if reached == self.all {
            return;
        }
        if self.order.len() >= self.max {
            self.drop_oldest();
        }
        self.journeys.remove(key);
        self.journeys.or_insert(key, Finished { start, finish, reached });
        self.order.push_back((finish, key));
    }

    pub(super) fn stage(&mut self, key: FlowKey, stage: u8, at: Nanos) -> LateStage {
        let Some(journey) = self.journeys.get_mut(key) else { return LateStage::Unknown };
        let bit = 1 << stage;
        if journey.reached & bit != 0 || at > journey.finish {
            return LateStage::Repeated;
        }
        journey.reached |= bit;
        let took = at.saturating_sub(journey.start);
        if journey.reached == self.all {
            self.journeys.remove(key);
        }
        LateStage::Reached(took)
    }

    /// Forgets the key, since it begins a new journey.
    pub(super) fn forget(&mut self, key: FlowKey) {
        self.journeys.remove(key);
    }

    pub(super) fn forget_until(&mut self, now: Nanos) {
        while self.order.front().is_some_and(|(finish, _)| finish.saturating_add(self.span_ns) < now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((finish, key)) = self.order.pop_front()
            && self.journeys.get(key).is_some_and(|journey| journey.finish == finish)
        {
            self.journeys.remove(key);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}
