//! Journeys that have finished, for as long as news of their stages may come: who saw the end may tell of it at once, who sees a stage once a second.

use std::collections::VecDeque;

use super::event::FlowKey;
use super::table::Table;
use crate::clock::Nanos;

/// A finished journey.
struct Finished {
    start: Nanos,
    finish: Nanos,
    /// A bit per stage.
    reached: u32,
}

/// What becomes of news of a stage.
pub(super) enum LateStage {
    /// It was reached so long after the start. Nanoseconds.
    Reached(Nanos),
    /// It had been told before, or would have been reached after the finish.
    Repeated,
    /// Nobody of this key is remembered.
    Unknown,
}

/// The latest of one flow, in the order in which they finished. Some 60 to 120 bytes each.
pub(super) struct Lingering {
    journeys: Table<Finished>,
    /// Entries of journeys of which all is known stay until their time has come.
    order: VecDeque<(Nanos, FlowKey)>,
    /// A bit for each of the flow's stages.
    all: u32,
    span_ns: u64,
    max: usize,
}

impl Lingering {
    pub(super) fn new(stages: usize, max: usize, span_ns: u64) -> Self {
        let all = if stages == 0 { 0 } else { u32::MAX >> (u32::BITS as usize - stages) };
        Self { journeys: Table::default(), order: VecDeque::new(), all, span_ns, max }
    }

    /// Keeps one of which not all stages are known.
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

    /// The key begins anew.
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
