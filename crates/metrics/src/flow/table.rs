//! A hash table whose size depends only on its largest number of entries at one time.

use super::event::FlowKey;

/// Slots of a new table. A power of two.
const INITIAL_SLOTS: usize = 8;

/// Values by key. It uses linear probing, and a removal shifts the following entries back (Knuth, *The Art of Computer Programming* 3, 1998,
/// algorithm 6.4R).
///
/// The standard library's map leaves tombstones for removed keys instead. If keys come and go at a constant number, tombstones fill the map, and
/// after hours it grows to twice the size it needs.
pub(super) struct Table<V> {
    /// A power of two, at most three quarters used. Keys are hashes already, so their last bits are the home slot.
    slots: Vec<Option<(FlowKey, V)>>,
    len: usize,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { slots: empty(INITIAL_SLOTS), len: 0 }
    }
}

fn empty<V>(slots: usize) -> Vec<Option<(FlowKey, V)>> {
    std::iter::repeat_with(|| None).take(slots).collect()
}

impl<V> Table<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn contains(&self, key: FlowKey) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn get(&self, key: FlowKey) -> Option<&V> {
        self.slots[self.slot(key)].as_ref().map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: FlowKey) -> Option<&mut V> {
        let slot = self.slot(key);
        self.slots[slot].as_mut().map(|(_, value)| value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().flatten().map(|(_, value)| value)
    }

    /// The value of the key. Inserts `value` if the key has none.
    pub(super) fn or_insert(&mut self, key: FlowKey, value: V) -> &mut V {
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot(key);
        self.len += usize::from(self.slots[slot].is_none());
        let (_, value) = self.slots[slot].get_or_insert((key, value));
        value
    }

    pub(super) fn remove(&mut self, key: FlowKey) -> Option<V> {
        let mut hole = self.slot(key);
        let (_, value) = self.slots[hole].take()?;
        self.len -= 1;
        let mask = self.mask();
        let mut next = (hole + 1) & mask;
        while let Some((held, _)) = &self.slots[next] {
            // The entry may move to where a search from its home slot still finds it.
            let from_home = next.wrapping_sub(home(*held, mask)) & mask;
            if from_home >= next.wrapping_sub(hole) & mask {
                self.slots.swap(hole, next);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        Some(value)
    }

    /// Removes all entries and keeps the allocated slots.
    pub(super) fn clear(&mut self) {
        self.slots.fill_with(|| None);
        self.len = 0;
    }

    /// The slot of the key, or the empty slot where it would be inserted.
    fn slot(&self, key: FlowKey) -> usize {
        let mask = self.mask();
        let mut slot = home(key, mask);
        while self.slots[slot].as_ref().is_some_and(|(held, _)| *held != key) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    fn grow(&mut self) {
        let more = empty(self.slots.len() * 2);
        let held = std::mem::replace(&mut self.slots, more);
        for (key, value) in held.into_iter().flatten() {
            let slot = self.slot(key);
            self.slots[slot] = Some((key, value));
        }
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}

fn home(key: FlowKey, mask: usize) -> usize {
    key.number() as usize & mask
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few keys with few home slots, so that searches collide and wrap around.
        #[test]
        fn behaves_like_the_standard_map(steps in proptest::collection::vec((0u64..40, any::<bool>(), any::<u32>()), 1..400)) {
            let (mut table, mut map) = (Table::default(), HashMap::new());
            for (number, inserts, value) in steps {
                let key = FlowKey::numbered(1 + number % 5 + (number / 5) * 64 + 5);
                if inserts {
                    prop_assert_eq!(table.or_insert(key, value), map.entry(key).or_insert(value));
                } else {
                    prop_assert_eq!(table.remove(key), map.remove(&key));
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(table.values().count(), map.len());
                for (key, value) in &map {
                    prop_assert_eq!(table.get(*key), Some(value));
                }
            }
        }
    }

    #[test]
    fn insertions_and_removals_need_no_more_slots() {
        let mut table = Table::default();
        let key = |number: u64| FlowKey::of(&number.to_string());
        for number in 0..1_500 {
            table.or_insert(key(number), ());
        }
        let slots = table.slots();
        for number in 0..50_000 {
            table.remove(key(number));
            table.or_insert(key(number + 1_500), ());
        }
        assert_eq!((table.len(), table.slots(), slots), (1_500, 2_048, 2_048));
    }
}
