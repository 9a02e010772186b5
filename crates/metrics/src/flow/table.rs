//! A hash table whose size depends only on how much it holds at once.

use super::event::FlowKey;

/// Places of a new table; a power of two.
const FIRST_PLACES: usize = 8;

/// Values by key. Linear probing; a removal moves up what follows (Knuth, *The Art of Computer Programming* 3, 1998, algorithm 6.4R).
///
/// The standard library's map marks the places of removed keys instead. Where keys come and go at a constant number, the marks fill it, and it grows to
/// twice what it needs after hours.
pub(super) struct Table<V> {
    /// A power of two of them, at most three quarters taken. Keys are hashes already, so the last bits of one say where it belongs.
    places: Vec<Option<(FlowKey, V)>>,
    len: usize,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { places: empty(FIRST_PLACES), len: 0 }
    }
}

fn empty<V>(places: usize) -> Vec<Option<(FlowKey, V)>> {
    std::iter::repeat_with(|| None).take(places).collect()
}

impl<V> Table<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn contains(&self, key: FlowKey) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn get(&self, key: FlowKey) -> Option<&V> {
        self.places[self.place(key)].as_ref().map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: FlowKey) -> Option<&mut V> {
        let place = self.place(key);
        self.places[place].as_mut().map(|(_, value)| value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.places.iter().flatten().map(|(_, value)| value)
    }

    /// The value that the key has, or else this one.
    pub(super) fn or_insert(&mut self, key: FlowKey, value: V) -> &mut V {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let place = self.place(key);
        self.len += usize::from(self.places[place].is_none());
        let (_, value) = self.places[place].get_or_insert((key, value));
        value
    }

    pub(super) fn remove(&mut self, key: FlowKey) -> Option<V> {
        let mut hole = self.place(key);
        let (_, value) = self.places[hole].take()?;
        self.len -= 1;
        let mask = self.mask();
        let mut next = (hole + 1) & mask;
        while let Some((held, _)) = &self.places[next] {
            // It may move where a search that begins at its home still comes by.
            let from_home = next.wrapping_sub(home(*held, mask)) & mask;
            if from_home >= next.wrapping_sub(hole) & mask {
                self.places.swap(hole, next);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        Some(value)
    }

    /// Keeps its places.
    pub(super) fn clear(&mut self) {
        self.places.fill_with(|| None);
        self.len = 0;
    }

    /// Where the key is, or the empty place where it belongs.
    fn place(&self, key: FlowKey) -> usize {
        let mask = self.mask();
        let mut place = home(key, mask);
        while self.places[place].as_ref().is_some_and(|(held, _)| *held != key) {
            place = (place + 1) & mask;
        }
        place
    }

    fn mask(&self) -> usize {
        self.places.len() - 1
    }

    fn grow(&mut self) {
        let more = empty(self.places.len() * 2);
        let held = std::mem::replace(&mut self.places, more);
        for (key, value) in held.into_iter().flatten() {
            let place = self.place(key);
            self.places[place] = Some((key, value));
        }
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.places.len()
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
        /// Few keys of few homes, so that searches run into each other and over the end.
        #[test]
        fn holds_what_the_standard_map_holds(steps in proptest::collection::vec((0u64..40, any::<bool>(), any::<u32>()), 1..400)) {
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
    fn keys_that_come_and_go_need_no_more_places() {
        let mut table = Table::default();
        let key = |number: u64| FlowKey::of(&number.to_string());
        for number in 0..1_500 {
            table.or_insert(key(number), ());
        }
        let places = table.places();
        for number in 0..50_000 {
            table.remove(key(number));
            table.or_insert(key(number + 1_500), ());
        }
        assert_eq!((table.len(), table.places(), places), (1_500, 2_048, 2_048));
    }
}
