//! A bounded memory of journeys that have ended.

use super::event::FlowKey;
use super::table::Table;
use crate::clock::Nanos;

/// How a journey ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Finished,
    GivenUp,
}

/// Remembers each ended journey for `span_ns`, or until `max / 2` others have ended, and none for longer than two spans. 8 to 22 bytes each.
pub(super) struct Memory {
    young: Generation,
    /// Forgotten as a whole when the young generation becomes the old one.
    old: Generation,
    /// When the young generation began.
    since: Nanos,
    span_ns: u64,
    max: usize,
}

impl Memory {
    pub(super) fn new(max: usize, span_ns: u64) -> Self {
        Self { young: Generation::default(), old: Generation::default(), since: 0, span_ns, max }
    }

    /// Returns how many others were forgotten to make room. An existing entry of the same key is forgotten first.
    pub(super) fn remember(&mut self, key: FlowKey, over: Over, at: Nanos) -> u64 {
        let forgotten = if self.young.len() >= self.max.div_ceil(2) { self.turn(at) } else { 0 };
        self.young.of(over).or_insert(key, ());
        forgotten
    }

    /// Returns how many were forgotten because their time has passed.
    pub(super) fn forget_until(&mut self, now: Nanos) -> u64 {
        if now.saturating_sub(self.since) < self.span_ns { 0 } else { self.turn(now) }
    }

    pub(super) fn get(&self, key: FlowKey) -> Option<Over> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// A lost journey counts as finished from now on. Returns how it had ended.
    pub(super) fn finish(&mut self, key: FlowKey) -> Option<Over> {
        [&mut self.young, &mut self.old].into_iter().find_map(|generation| generation.finish(key))
    }

    /// Forgets the key, since it begins a new journey.
    pub(super) fn forget(&mut self, key: FlowKey) {
        for generation in [&mut self.young, &mut self.old] {
            generation.finished.remove(key);
            generation.given_up.remove(key);
        }
    }

    fn turn(&mut self, at: Nanos) -> u64 {
        let forgotten = self.old.len();
        // The old generation's slots are reused, so memory use does not fluctuate.
        self.old.finished.clear();
        self.old.given_up.clear();
        std::mem::swap(&mut self.young, &mut self.old);
        self.since = at;
        forgotten as u64
    }
}

/// Journeys that ended within one span of time.
#[derive(Default)]
struct Generation {
    finished: Table<()>,
    given_up: Table<()>,
}

impl Generation {
    fn len(&self) -> usize {
        self.finished.len() + self.given_up.len()
    }

    fn of(&mut self, over: Over) -> &mut Table<()> {
        match over {
            Over::Finished => &mut self.finished,
            Over::GivenUp => &mut self.given_up,
        }
    }

    fn get(&self, key: FlowKey) -> Option<Over> {
        if self.finished.contains(key) {
            return Some(Over::Finished);
        }
        self.given_up.contains(key).then_some(Over::GivenUp)
    }

    fn finish(&mut self, key: FlowKey) -> Option<Over> {
        let over = self.get(key)?;
        if over == Over::GivenUp {
            self.given_up.remove(key);
            self.finished.or_insert(key, ());
        }
        Some(over)
    }
}
