//! Correlates the events of all journeys.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::event::{FlowDefinition, FlowEvent, FlowKey, FlowStep};
use super::lingering::{LateStage, Lingering};
use super::memory::{Memory, Over};
use super::slice::{FlowSlice, FlowStageSlice};
use super::table::Table;
use crate::clock::Nanos;

/// Limits on the memory that a book uses for each flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowLimits {
    /// Open journeys. Further starts are counted as unfollowed. About 50 to 80 bytes each.
    pub open_max: usize,
    /// Ended journeys that are remembered, so that a repeated finish is recognised. 8 to 22 bytes each.
    pub over_max: usize,
    /// Minimum time for which they are remembered while no more than half of `over_max` are in use. Nanoseconds.
    pub over_ns: u64,
    /// Finished journeys for which late reports of stages are accepted, in a flow with stages. About 60 to 120 bytes each.
    pub late_max: usize,
    /// How long such reports are accepted. Nanoseconds.
    pub late_ns: u64,
    /// Keys with a stage or finish that wait for their start. Beyond this number the oldest is dropped. About 100 to 190 bytes each.
    pub early_max: usize,
    /// How long they wait in a flow without a timeout. The report of a start may be delayed by the duration of its request. Nanoseconds.
    pub early_ns: u64,
}

impl Default for FlowLimits {
    fn default() -> Self {
        let half_an_hour = 1_800_000_000_000;
        Self {
            open_max: 4_000_000,
            over_max: 1_500_000,
            over_ns: half_an_hour,
            late_max: 500_000,
            late_ns: 10_000_000_000,
            early_max: 1_000_000,
            early_ns: half_an_hour,
        }
    }
}

/// All journeys of a run. It has a single owner. Events may be late and in any order. They are counted in the order of their instants, as far as they
/// are known at the end of each slice.
pub struct FlowBook {
    ledgers: Vec<Ledger>,
    /// Events that have not been counted yet.
    events: Vec<FlowEvent>,
}

impl std::fmt::Debug for FlowBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowBook").field("flows", &self.ledgers.len()).field("open", &self.open()).finish_non_exhaustive()
    }
}

impl FlowBook {
    pub fn new(flows: impl IntoIterator<Item = FlowDefinition>) -> Self {
        Self::with_limits(flows, FlowLimits::default())
    }

    pub fn with_limits(flows: impl IntoIterator<Item = FlowDefinition>, limits: FlowLimits) -> Self {
        Self { ledgers: flows.into_iter().map(|flow| Ledger::new(flow, limits)).collect(), events: Vec::new() }
    }

    /// Adds events. The next [`FlowBook::drain`] that reaches their instant counts them.
    pub fn take(&mut self, events: impl IntoIterator<Item = FlowEvent>) {
        self.events.extend(events);
    }

    /// Counts all events up to `until` and returns what became known since the last call: a slice per flow, in their order.
    pub fn drain(&mut self, until: Nanos) -> Vec<FlowSlice> {
        let mut due: Vec<FlowEvent> = self.events.extract_if(.., |event| event.at <= until).collect();
        // A start sorts before a finish of the same instant.
        due.sort_by_key(|event| (event.at, event.step));
        for event in due {
            if let Some(ledger) = self.ledgers.get_mut(event.flow as usize) {
                ledger.apply(event.key, event.step, event.at);
            }
        }
        self.ledgers.iter_mut().for_each(|ledger| ledger.expire(until));
        self.ledgers.iter_mut().map(|ledger| ledger.hand_over(until)).collect()
    }

    /// The last slice of a run. Works like [`FlowBook::drain`]; in addition, open journeys enter the slice with their age, as lower bounds of their
    /// times. Keys that still wait for their start are dropped.
    pub fn close(&mut self, at: Nanos) -> Vec<FlowSlice> {
        let until = self.events.iter().map(|event| event.at).fold(at, Nanos::max);
        let mut slices = self.drain(until);
        for (ledger, slice) in self.ledgers.iter().zip(&mut slices) {
            ledger.open.values().for_each(|open| open.bound_by(until.saturating_sub(open.start), slice));
            slice.left_open = ledger.open.len() as u64;
            ledger.early.values().for_each(|early| early.drop_unstarted(slice));
        }
        slices
    }

    /// Entries in the queue of the first flow, including those of ended journeys.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.ledgers[0].starts.len()
    }

    /// Finished journeys of the first flow for which late stages are accepted.
    #[cfg(test)]
    pub(super) fn lingering(&self) -> usize {
        self.ledgers[0].lingering.len()
    }

    /// Slots for open journeys of the first flow, used or not.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.ledgers[0].open.slots()
    }

    /// Open journeys of each flow, as of the last drain.
    pub fn open(&self) -> Vec<(Arc<str>, u64)> {
        self.ledgers.iter().map(|ledger| (Arc::clone(&ledger.flow.name), ledger.open.len() as u64)).collect()
    }
}

/// An open journey.
struct Open {
    start: Nanos,
    /// One bit per stage.
    reached: u32,
}

impl Open {
    /// The journey's position: 0 before any stage, otherwise one more than the number of its furthest stage.
    fn position(&self) -> usize {
        (u32::BITS - self.reached.leading_zeros()) as usize
    }

    /// Records lower bounds: the journey has not ended within this time, nor reached its remaining stages.
    fn bound_by(&self, ns: u64, slice: &mut FlowSlice) {
        slice.censored.record(ns);
        for (stage, slice) in slice.stages.iter_mut().enumerate() {
            if self.reached & (1 << stage) == 0 {
                slice.censored.record(ns);
            }
        }
    }
}

/// A key whose start has not been reported yet.
#[derive(Default)]
struct Early {
    stages: Vec<(u8, Nanos)>,
    /// When it finished, and the latest start of all journeys that had finished before it.
    finish: Option<(Nanos, Nanos)>,
    /// When it was first reported, ended journeys had already been forgotten.
    unclear: bool,
}

impl Early {
    fn drop_unstarted(&self, slice: &mut FlowSlice) {
        slice.unmatched += 1;
        slice.unclear += u64::from(self.unclear);
    }
}

/// The journeys of one flow.
struct Ledger {
    flow: FlowDefinition,
    limits: FlowLimits,
    open: Table<Open>,
    /// Open journeys by start. Entries of ended journeys are dropped when they come up, or when they exceed a fifth of the queue.
    starts: BinaryHeap<Reverse<(Nanos, FlowKey)>>,
    over: Memory,
    lingering: Lingering,
    has_forgotten: bool,
    early: Table<Early>,
    /// By the instant of their first report.
    early_order: VecDeque<(Nanos, FlowKey)>,
    /// Number of open journeys by [`Open::position`].
    open_by_position: Vec<u64>,
    /// Latest start of all finished journeys.
    newest: Nanos,
    slice: FlowSlice,
}

impl Ledger {
    fn new(flow: FlowDefinition, limits: FlowLimits) -> Self {
        let open_by_position = vec![0; flow.stages.len() + 1];
        Self {
            slice: Self::blank(&flow),
            lingering: Lingering::new(flow.stages.len(), limits.late_max, limits.late_ns),
            flow,
            limits,
            open: Table::default(),
            starts: BinaryHeap::new(),
            over: Memory::new(limits.over_max, limits.over_ns),
            has_forgotten: false,
            early: Table::default(),
            early_order: VecDeque::new(),
            open_by_position,
            newest: 0,
        }
    }

    fn blank(flow: &FlowDefinition) -> FlowSlice {
        let stages = flow.stages.iter().map(|name| FlowStageSlice { name: Arc::clone(name), ..FlowStageSlice::default() }).collect();
        FlowSlice { name: Arc::clone(&flow.name), stages, ..FlowSlice::default() }
    }

    fn apply(&mut self, key: FlowKey, step: FlowStep, at: Nanos) {
        match step {
            FlowStep::Start => self.start(key, at),
            FlowStep::Stage(stage) if usize::from(stage) < self.flow.stages.len() => self.stage(key, stage, at),
            FlowStep::Stage(_) => {}
            FlowStep::Finish => self.finish(key, at),
        }
    }

    /// A key whose journey has ended begins a new journey.
    fn start(&mut self, key: FlowKey, at: Nanos) {
        if self.open.contains(key) {
            self.slice.duplicates += 1;
            return;
        }
        let early = self.early.remove(key);
        if self.open.len() >= self.limits.open_max {
            self.slice.unfollowed += 1;
            return;
        }
        self.over.forget(key);
        self.lingering.forget(key);
        self.slice.started += 1;
        self.open.or_insert(key, Open { start: at, reached: 0 });
        self.open_by_position[0] += 1;
        self.starts.push(Reverse((at, key)));
        if let Some(Early { stages, finish, .. }) = early {
            stages.into_iter().for_each(|(stage, at)| self.stage(key, stage, at));
            if let Some((at, newest)) = finish {
                self.finish_open(key, at, newest);
            }
        }
    }

    fn stage(&mut self, key: FlowKey, stage: u8, at: Nanos) {
        if let Some(open) = self.open.get_mut(key) {
            let bit = 1 << stage;
            if open.reached & bit != 0 {
                self.slice.duplicates += 1;
                return;
            }
            self.open_by_position[open.position()] -= 1;
            open.reached |= bit;
            self.open_by_position[open.position()] += 1;
            self.slice.stages[usize::from(stage)].time.record(at.saturating_sub(open.start));
            return;
        }
        match self.lingering.stage(key, stage, at) {
            LateStage::Reached(took) => self.slice.stages[usize::from(stage)].time.record(took),
            LateStage::Repeated => self.slice.duplicates += 1,
            LateStage::Unknown if self.over.get(key).is_some() => self.slice.duplicates += 1,
            LateStage::Unknown => self.early_stage(key, stage, at),
        }
    }

    /// Records a stage of a journey whose start is unknown so far.
    fn early_stage(&mut self, key: FlowKey, stage: u8, at: Nanos) {
        let early = self.early(key, at);
        if early.stages.iter().any(|(known, _)| *known == stage) {
            self.slice.duplicates += 1;
        } else {
            early.stages.push((stage, at));
        }
    }

    fn finish(&mut self, key: FlowKey, at: Nanos) {
        let newest = self.newest;
        if self.open.contains(key) {
            self.finish_open(key, at, newest);
        } else if let Some(over) = self.over.finish(key) {
            match over {
                Over::Finished => self.slice.duplicates += 1,
                Over::GivenUp => self.slice.late += 1,
            }
        } else {
            let early = self.early(key, at);
            if early.finish.is_some() {
                self.slice.duplicates += 1;
            } else {
                early.finish = Some((at, newest));
            }
        }
    }

    /// `newest`: the latest start of all journeys that had finished before this one.
    fn finish_open(&mut self, key: FlowKey, at: Nanos, newest: Nanos) {
        let Some(open) = self.open.remove(key) else { return };
        self.open_by_position[open.position()] -= 1;
        let took = at.saturating_sub(open.start);
        let forgotten = self.over.remember(key, Over::Finished, at);
        self.count_forgotten(forgotten);
        if let Some(timeout) = self.flow.timeout_ns.filter(|timeout| took > *timeout) {
            self.slice.timed_out += 1;
            open.bound_by(timeout, &mut self.slice);
            self.slice.late += 1;
            return;
        }
        self.lingering.keep(key, (open.start, at), open.reached);
        self.slice.finished += 1;
        self.slice.time.record(took);
        self.slice.last_finish = self.slice.last_finish.max(at);
        if newest > open.start {
            self.slice.overtaken.record(newest - open.start);
        }
        self.newest = self.newest.max(open.start);
    }

    fn count_forgotten(&mut self, journeys: u64) {
        self.slice.forgotten += journeys;
        self.has_forgotten |= journeys > 0;
    }

    /// The entry of a key that waits for its start.
    fn early(&mut self, key: FlowKey, at: Nanos) -> &mut Early {
        if !self.early.contains(key) {
            if self.early.len() >= self.limits.early_max {
                self.drop_oldest_early();
            }
            self.early_order.push_back((at, key));
        }
        self.early.or_insert(key, Early { unclear: self.has_forgotten, ..Early::default() })
    }

    /// Drops the key that has waited longest for its start.
    fn drop_oldest_early(&mut self) {
        while let Some((_, key)) = self.early_order.pop_front() {
            if let Some(early) = self.early.remove(key) {
                early.drop_unstarted(&mut self.slice);
                return;
            }
        }
    }

    /// Drops keys that have waited too long, and forgets journeys that ended long ago.
    fn expire(&mut self, now: Nanos) {
        self.expire_early(now);
        if let Some(timeout) = self.flow.timeout_ns {
            self.expire_open(now, timeout);
        }
        let forgotten = self.over.forget_until(now);
        self.count_forgotten(forgotten);
        self.lingering.forget_until(now);
    }

    fn expire_open(&mut self, now: Nanos, timeout: u64) {
        while let Some((start, key)) = self.oldest().filter(|(start, _)| start.saturating_add(timeout) < now) {
            let Some(open) = self.open.remove(key) else { break };
            debug_assert_eq!(open.start, start);
            self.open_by_position[open.position()] -= 1;
            self.slice.timed_out += 1;
            open.bound_by(timeout, &mut self.slice);
            let forgotten = self.over.remember(key, Over::GivenUp, now);
            self.count_forgotten(forgotten);
        }
    }

    fn expire_early(&mut self, now: Nanos) {
        let patience = self.flow.timeout_ns.unwrap_or(self.limits.early_ns);
        while let Some((at, key)) = self.early_order.front().copied() {
            // Entries of keys whose start has arrived are removed here, too.
            if self.early.contains(key) && at.saturating_add(patience) >= now {
                break;
            }
            self.early_order.pop_front();
            if let Some(early) = self.early.remove(key) {
                early.drop_unstarted(&mut self.slice);
            }
        }
    }

    /// The open journey with the earliest start.
    fn oldest(&mut self) -> Option<(Nanos, FlowKey)> {
        loop {
            let Reverse((start, key)) = *self.starts.peek()?;
            if self.open.get(key).is_some_and(|open| open.start == start) {
                return Some((start, key));
            }
            self.starts.pop();
        }
    }

    fn hand_over(&mut self, now: Nanos) -> FlowSlice {
        self.compact_queues();
        let oldest = self.oldest();
        let mut slice = std::mem::replace(&mut self.slice, Self::blank(&self.flow));
        slice.backlog = self.open.len() as u64;
        slice.oldest_ns = oldest.map_or(0, |(start, _)| now.saturating_sub(start));
        slice.early = self.early.len() as u64;
        for (stage, backlog) in slice.stages.iter_mut().zip(self.open_by_position.iter().skip(1)) {
            stage.backlog = *backlog;
        }
        slice
    }

    /// Compacts queues in which more than a fifth of the entries belong to ended journeys.
    fn compact_queues(&mut self) {
        if is_stale(self.starts.len(), self.open.len()) {
            let open = &self.open;
            self.starts.retain(|Reverse((start, key))| open.get(*key).is_some_and(|open| open.start == *start));
        }
        if is_stale(self.early_order.len(), self.early.len()) {
            let early = &self.early;
            self.early_order.retain(|(_, key)| early.contains(*key));
        }
    }
}

fn is_stale(queued: usize, alive: usize) -> bool {
    queued > alive + alive / 4 + 1024
}
