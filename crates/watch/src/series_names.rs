//! The series and sets of tags of a record by name, so that an entry of a known series allocates nothing. Both are bounded.

use std::collections::{HashMap, HashSet};

use loadstone_metrics::{Recorder, SeriesKey, SeriesKind, Tags};
use loadstone_units::text;

use crate::entry::EntryTag;

/// The identity of a series.
#[derive(Clone, Copy)]
pub(crate) struct SeriesOf<'a> {
    pub(crate) kind: SeriesKind,
    pub(crate) scenario: &'a str,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
}

/// The series of a run: the names that come first, up to a limit. All entries of a later name share `(other)`, so that the numbers of a name are never
/// only a part of its requests.
pub(crate) struct NameBook {
    series_max: usize,
    numbers: HashMap<String, usize>,
    /// By number.
    pub(crate) keys: Vec<SeriesKey>,
    wanted: String,
    /// Entries whose name shares a series.
    overflow: u64,
}

impl NameBook {
    pub(crate) fn new(series_max: usize) -> Self {
        Self { series_max, numbers: HashMap::new(), keys: Vec::new(), wanted: String::new(), overflow: 0 }
    }

    pub(crate) fn number(&mut self, of: SeriesOf<'_>) -> usize {
        if let Some(number) = self.known(of) {
            return number;
        }
        if self.keys.len() < self.series_max {
            return self.add(of);
        }
        self.overflow += 1;
        let other = SeriesOf { group: "", name: Recorder::OTHER, ..of };
        if let Some(number) = self.known(other) {
            return number;
        }
        // Names of scenarios come from the record, too.
        if self.keys.len() < 2 * self.series_max {
            return self.add(other);
        }
        let of_all = SeriesOf { scenario: Recorder::OTHER, ..other };
        self.known(of_all).unwrap_or_else(|| self.add(of_all))
    }

    fn known(&mut self, SeriesOf { kind, scenario, group, name }: SeriesOf<'_>) -> Option<usize> {
        self.wanted.clear();
        self.wanted.push(char::from(b'0' + kind as u8));
        for part in [scenario, group] {
            self.wanted.push_str(part);
            self.wanted.push('\u{1f}');
        }
        self.wanted.push_str(name);
        self.numbers.get(&self.wanted).copied()
    }

    /// Adds the series that was just looked up.
    fn add(&mut self, SeriesOf { kind, scenario, group, name }: SeriesOf<'_>) -> usize {
        self.keys.push(SeriesKey { kind, scenario: text::stored(scenario).into(), group: group.into(), name: name.into() });
        self.numbers.insert(self.wanted.clone(), self.keys.len() - 1);
        self.keys.len() - 1
    }

    /// Entries since the last call whose name shares a series.
    pub(crate) fn take_overflow(&mut self) -> u64 {
        std::mem::take(&mut self.overflow)
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
