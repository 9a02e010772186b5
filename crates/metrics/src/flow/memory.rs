//! Maps by hashed key, and a bounded memory of journeys that are over.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::event::FlowKey;

/// Keys are hashes already.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(super) type ByKey<T> = HashMap<FlowKey, T, BuildHasherDefault<AsIs>>;

/// How a journey came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Finished,
    GivenUp,
}

/// Remembers the journeys that ended last. Some 50 bytes each.
pub(super) struct Memory {
    over: ByKey<Over>,
    /// In the order in which they ended. A key that has begun anew since stands in it all the same.
    order: VecDeque<FlowKey>,
    max: usize,
}

impl Memory {
    pub(super) fn new(max: usize) -> Self {
        Self { over: ByKey::default(), order: VecDeque::new(), max }
    }

    /// Remembers a journey; returns how many others were forgotten for it.
    pub(super) fn remember(&mut self, key: FlowKey, over: Over) -> u64 {
        self.over.insert(key, over);
        self.order.push_back(key);
        let mut forgotten = 0;
        while self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            forgotten += u64::from(self.over.remove(&oldest).is_some());
        }
        forgotten
    }

    pub(super) fn get_mut(&mut self, key: FlowKey) -> Option<&mut Over> {
        self.over.get_mut(&key)
    }

    /// The key begins anew.
    pub(super) fn forget(&mut self, key: FlowKey) {
        self.over.remove(&key);
    }
}
