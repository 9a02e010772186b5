//! Secrets that become known while a test runs.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::find::SecretValues;

/// The most values kept. Beyond it the oldest are forgotten, so that a test that logs in with every visit for days uses little memory.
const LATER_VALUES_MAX: usize = 100_000;

/// Scripts add values on their threads; code that writes or shows something searches for them.
#[derive(Default)]
pub(crate) struct LaterSecrets {
    /// Not yet searchable. Stored separately, so that a script never waits for a search.
    added: Mutex<Vec<Arc<[u8]>>>,
    known: Mutex<LaterValues>,
}

#[derive(Default)]
struct LaterValues {
    values: SecretValues,
    oldest_first: VecDeque<Arc<[u8]>>,
}

impl LaterSecrets {
    pub(crate) fn add(&self, value: &str) {
        lock(&self.added).push(value.as_bytes().into());
    }

    pub(crate) fn find(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        self.known().values.find(text, spans);
    }

    pub(crate) fn len(&self) -> usize {
        self.known().values.len()
    }

    /// All values, including those added since the last search.
    fn known(&self) -> MutexGuard<'_, LaterValues> {
        let mut known = lock(&self.known);
        let added = std::mem::take(&mut *lock(&self.added));
        added.into_iter().for_each(|value| known.keep(value, LATER_VALUES_MAX));
        known
    }
}

impl LaterValues {
    fn keep(&mut self, value: Arc<[u8]>, values_max: usize) {
        if !self.values.insert(Arc::clone(&value)) {
            return;
        }
        self.oldest_first.push_back(value);
        if self.oldest_first.len() > values_max
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.values.remove(&oldest);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_beyond_the_bound() {
        let mut known = LaterValues::default();
        for value in ["first", "second", "first", "third", "fourth"] {
            known.keep(value.as_bytes().into(), 3);
        }
        let mut spans = Vec::new();
        known.values.find("first second third fourth", &mut spans);
        assert_eq!(spans, [6..12, 13..18, 19..25]);
    }
}
