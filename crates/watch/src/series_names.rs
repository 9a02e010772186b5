//! The series and sets of tags of a record by name, so that an entry of a known series allocates nothing. Both are bounded.

use std::collections::{HashMap, HashSet};

use loadstone_metrics::{Recorder, SeriesKey, SeriesKind, Tags};
use loadstone_units::text;

use crate::entry::EntryTag;

/// Distinct names that are looked up. Later ones share one series.
const NAMES_MAX: usize = 10_000;

/// The identity of a series.
#[derive(Clone, Copy)]
pub(crate) struct SeriesOf<'a> {
    pub(crate) kind: SeriesKind,
    pub(crate) scenario: &'a str,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
}

/// The series of a run.
#[derive(Default)]
pub(crate) struct NameBook {
    numbers: HashMap<String, usize>,
    /// By number.
    pub(crate) keys: Vec<SeriesKey>,
    wanted: String,
}

impl NameBook {
    pub(crate) fn number(&mut self, of: SeriesOf<'_>) -> usize {
        let SeriesOf { kind, scenario, group, name } = of;
        self.wanted.clear();
        self.wanted.push(char::from(b'0' + kind as u8));
        for part in [scenario, group] {
            self.wanted.push_str(part);
            self.wanted.push('\u{1f}');
        }
        self.wanted.push_str(name);
        if let Some(number) = self.numbers.get(&self.wanted) {
            return *number;
        }
        if self.numbers.len() >= NAMES_MAX && name != Recorder::OTHER {
            return self.number(SeriesOf { group: "", name: Recorder::OTHER, ..of });
        }
        // Names of scenarios come from the record, too.
        if self.numbers.len() >= 2 * NAMES_MAX && scenario != Recorder::OTHER {
            return self.number(SeriesOf { kind, scenario: Recorder::OTHER, group: "", name: Recorder::OTHER });
        }
        self.keys.push(SeriesKey { kind, scenario: text::stored(scenario).into(), group: group.into(), name: name.into() });
        self.numbers.insert(self.wanted.clone(), self.keys.len() - 1);
        self.keys.len() - 1
    }
}

/// The sets of tags of a run, by series.
pub(crate) struct TagBook {
    sets_max: usize,
    known: HashSet<(usize, Tags)>,
    /// Entries whose tags are not counted apart.
    overflow: u64,
}

impl TagBook {
    pub(crate) fn new(sets_max: usize) -> Self {
        Self { sets_max, known: HashSet::new(), overflow: 0 }
    }

    /// The tags of an entry of this series. `None`: it has none, or its tags are not counted apart, because the series of the run have too many sets.
    pub(crate) fn known(&mut self, series: usize, tags: &[EntryTag<'_>]) -> Option<Tags> {
        if tags.is_empty() {
            return None;
        }
        if tags.len() > Tags::MAX {
            self.overflow += 1;
            return None;
        }
        let tags = Tags::new(tags.iter().map(|(name, value)| (text::stored(name), text::stored(value))));
        let set = (series, tags);
        if !self.known.contains(&set) {
            if self.known.len() >= self.sets_max {
                self.overflow += 1;
                return None;
            }
            self.known.insert(set.clone());
        }
        Some(set.1)
    }

    /// Entries since the last call whose tags are not counted apart.
    pub(crate) fn take_overflow(&mut self) -> u64 {
        std::mem::take(&mut self.overflow)
    }
}
