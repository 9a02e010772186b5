//! Puts the events of all journeys together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::event::{FlowDefinition, FlowEvent, FlowKey, FlowStep};
use super::lingering::{LateStage, Lingering};
use super::memory::{Memory, Over};
use super::slice::{FlowSlice, FlowStageSlice};
use super::table::Table;
use crate::clock::Nanos;

/// Bounds on what a book holds of each flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowLimits {
    /// Open journeys; further starts are counted as unfollowed. Some 50 to 80 bytes each.
    pub open_max: usize,
    /// Journeys that are over and remembered, so that a repeated finish is known as one. 8 to 22 bytes each.
    pub over_max: usize,
    /// For how long they are remembered at least, while half of `over_max` are not exceeded. Nanoseconds.
    pub over_ns: u64,
    /// Finished journeys of which news of stages is still taken, in a flow that has stages. Some 60 to 120 bytes each.
    pub late_max: usize,
    /// For how long it is taken. Nanoseconds.
    pub late_ns: u64,
    /// Keys with a stage or finish that wait for their start; the oldest is given up for a new one. Some 100 to 190 bytes each.
    pub early_max: usize,
    /// For how long they wait in a flow without a timeout. News of a start may be late by as long as its request takes. Nanoseconds.
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

/// All journeys of a run. Single owner; events may come late and in any order, and are counted in the order of their instants as far as
/// they are known at the end of each slice.
pub struct FlowBook {
    ledgers: Vec<Ledger>,
    /// Events that were not counted yet.
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

    /// Takes events; they are counted by the next [`FlowBook::drain`] that reaches their instant.
    pub fn take(&mut self, events: impl IntoIterator<Item = FlowEvent>) {
        self.events.extend(events);
    }

    /// Counts everything up to `until` and hands over what became known since the last call: a slice per flow, in their order.
    pub fn drain(&mut self, until: Nanos) -> Vec<FlowSlice> {
        let mut due: Vec<FlowEvent> = self.events.extract_if(.., |event| event.at <= until).collect();
        // A start and a finish of the same instant stand in that order.
        due.sort_by_key(|event| (event.at, event.step));
        for event in due {
            if let Some(ledger) = self.ledgers.get_mut(event.flow as usize) {
                ledger.apply(event.key, event.step, event.at);
            }
        }
        self.ledgers.iter_mut().for_each(|ledger| ledger.expire(until));
        self.ledgers.iter_mut().map(|ledger| ledger.hand_over(until)).collect()
    }

    /// The last slice of a run: as [`FlowBook::drain`], and journeys that are still open enter it with their age, as lower bounds of
    /// their times. Keys that still wait for their start are given up.
    pub fn close(&mut self, at: Nanos) -> Vec<FlowSlice> {
        let until = self.events.iter().map(|event| event.at).fold(at, Nanos::max);
        let mut slices = self.drain(until);
        for (ledger, slice) in self.ledgers.iter().zip(&mut slices) {
            ledger.open.values().for_each(|open| open.bound_by(until.saturating_sub(open.start), slice));
            slice.left_open = ledger.open.len() as u64;
            ledger.early.values().for_each(|early| early.give_up(slice));
        }
        slices
    }

    /// Entries of the queue of the first flow, those of ended journeys included.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.ledgers[0].starts.len()
    }

    /// Finished journeys of the first flow whose stages may still be told of.
    #[cfg(test)]
    pub(super) fn lingering(&self) -> usize {
        self.ledgers[0].lingering.len()
    }

    /// Places for open journeys of the first flow, taken or not.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.ledgers[0].open.places()
    }

    /// Open journeys of each flow, as of the last drain.
    pub fn open(&self) -> Vec<(Arc<str>, u64)> {
        self.ledgers.iter().map(|ledger| (Arc::clone(&ledger.flow.name), ledger.open.len() as u64)).collect()
    }
}

/// An open journey.
struct Open {
    start: Nanos,
    /// A bit per stage.
    reached: u32,
}

impl Open {
    /// Where it stands: 0 before any stage, else one more than the number of its furthest stage.
    fn place(&self) -> usize {
        (u32::BITS - self.reached.leading_zeros()) as usize
    }

    /// It has not ended in this time, nor come to the stages that it has not reached.
    fn bound_by(&self, ns: u64, slice: &mut FlowSlice) {
        slice.censored.record(ns);
        for (stage, slice) in slice.stages.iter_mut().enumerate() {
            if self.reached & (1 << stage) == 0 {
                slice.censored.record(ns);
            }
        }
    }
}

/// A key whose start is not known yet.
#[derive(Default)]
struct Early {
    stages: Vec<(u8, Nanos)>,
    /// When it finished, and the latest start of all that had finished before it.
    finish: Option<(Nanos, Nanos)>,
    /// Journeys had been forgotten when it was first heard of.
    unclear: bool,
}

impl Early {
    fn give_up(&self, slice: &mut FlowSlice) {
        slice.unmatched += 1;
        slice.unclear += u64::from(self.unclear);
    }
}

/// The journeys of one flow.
struct Ledger {
    flow: FlowDefinition,
    limits: FlowLimits,
    open: Table<Open>,
    /// Open journeys by start. Entries of journeys that are over are dropped when they come up, or when they are more than a fifth.
    starts: BinaryHeap<Reverse<(Nanos, FlowKey)>>,
    over: Memory,
    lingering: Lingering,
    has_forgotten: bool,
    early: Table<Early>,
    /// By the instant at which they were first heard of.
    early_order: VecDeque<(Nanos, FlowKey)>,
    /// Open journeys by [`Open::place`].
    places: Vec<u64>,
    /// Latest start of all finished journeys.
    newest: Nanos,
    slice: FlowSlice,
}

impl Ledger {
    fn new(flow: FlowDefinition, limits: FlowLimits) -> Self {
        let places = vec![0; flow.stages.len() + 1];
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
            places,
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

    /// A key whose journey is over begins anew.
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
        self.places[0] += 1;
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
            self.places[open.place()] -= 1;
            open.reached |= bit;
            self.places[open.place()] += 1;
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

    /// Of a journey whose start is not known yet.
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

    /// `newest`: the latest start of all that had finished when this one did.
    fn finish_open(&mut self, key: FlowKey, at: Nanos, newest: Nanos) {
        let Some(open) = self.open.remove(key) else { return };
        self.places[open.place()] -= 1;
        let took = at.saturating_sub(open.start);
        let forgotten = self.over.remember(key, Over::Finished, at);
        self.forgot(forgotten);
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

    fn forgot(&mut self, journeys: u64) {
        self.slice.forgotten += journeys;
        self.has_forgotten |= journeys > 0;
    }

    /// The entry of a key that waits for its start.
    fn early(&mut self, key: FlowKey, at: Nanos) -> &mut Early {
        if !self.early.contains(key) {
            if self.early.len() >= self.limits.early_max {
                self.give_up_early();
            }
            self.early_order.push_back((at, key));
        }
        self.early.or_insert(key, Early { unclear: self.has_forgotten, ..Early::default() })
    }

    /// Gives up the key that has waited longest for its start.
    fn give_up_early(&mut self) {
        while let Some((_, key)) = self.early_order.pop_front() {
            if let Some(early) = self.early.remove(key) {
                early.give_up(&mut self.slice);
                return;
            }
        }
    }

    /// Gives up what has waited too long, and forgets what ended long ago.
    fn expire(&mut self, now: Nanos) {
        self.expire_early(now);
        if let Some(timeout) = self.flow.timeout_ns {
            self.expire_open(now, timeout);
        }
        let forgotten = self.over.forget_until(now);
        self.forgot(forgotten);
        self.lingering.forget_until(now);
    }

    fn expire_open(&mut self, now: Nanos, timeout: u64) {
        while let Some((start, key)) = self.oldest().filter(|(start, _)| start.saturating_add(timeout) < now) {
            let Some(open) = self.open.remove(key) else { break };
            debug_assert_eq!(open.start, start);
            self.places[open.place()] -= 1;
            self.slice.timed_out += 1;
            open.bound_by(timeout, &mut self.slice);
            let forgotten = self.over.remember(key, Over::GivenUp, now);
            self.forgot(forgotten);
        }
    }

    fn expire_early(&mut self, now: Nanos) {
        let patience = self.flow.timeout_ns.unwrap_or(self.limits.early_ns);
        while let Some((at, key)) = self.early_order.front().copied() {
            // Entries of keys whose start has come are swept on the way.
            if self.early.contains(key) && at.saturating_add(patience) >= now {
                break;
            }
            self.early_order.pop_front();
            if let Some(early) = self.early.remove(key) {
                early.give_up(&mut self.slice);
            }
        }
    }

    /// The open journey that started first.
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
        self.tidy();
        let oldest = self.oldest();
        let mut slice = std::mem::replace(&mut self.slice, Self::blank(&self.flow));
        slice.backlog = self.open.len() as u64;
        slice.oldest_ns = oldest.map_or(0, |(start, _)| now.saturating_sub(start));
        slice.early = self.early.len() as u64;
        for (stage, backlog) in slice.stages.iter_mut().zip(self.places.iter().skip(1)) {
            stage.backlog = *backlog;
        }
        slice
    }

    /// Sweeps queues in which more than a fifth are entries of journeys that have ended.
    fn tidy(&mut self) {
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
