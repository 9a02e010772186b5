//! Requests, groups and checks counted again by their tags. A series contains everything under its name, and a tagged part contains the items with
//! certain tags. Code that does not need tags can therefore ignore them.

use std::collections::HashMap;

use crate::sample::Sample;
use crate::series::{SeriesId, SeriesKey};
use crate::snapshot::{SeriesSlice, TaggedSlice};
use crate::tags::Tags;

/// A part of a series of one recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedId(u32);

/// All parts of one recorder.
#[derive(Debug, Default)]
pub(crate) struct TaggedBook {
    parts: Vec<TaggedSlice>,
    index: HashMap<(SeriesId, Tags), TaggedId>,
}

impl TaggedBook {
    /// `None`: the limit on separate tags is reached.
    pub(crate) fn id(&mut self, of: SeriesId, key: &SeriesKey, tags: &Tags, max: usize) -> Option<TaggedId> {
        if let Some(id) = self.index.get(&(of, tags.clone())) {
            return Some(*id);
        }
        if self.parts.len() >= max {
            return None;
        }
        let id = TaggedId(self.parts.len() as u32);
        self.parts.push(TaggedSlice { tags: tags.clone(), series: SeriesSlice::new(key.clone()) });
        self.index.insert((of, tags.clone()), id);
        Some(id)
    }

    pub(crate) fn record(&mut self, id: TaggedId, sample: &Sample) {
        self.parts[id.0 as usize].series.record(sample);
    }

    pub(crate) fn check(&mut self, id: TaggedId, passed: bool) {
        self.parts[id.0 as usize].series.check(passed);
    }

    /// Returns what was recorded since the last call.
    pub(crate) fn take(&mut self) -> Vec<TaggedSlice> {
        let recorded = self.parts.iter_mut().filter(|part| !part.series.is_empty());
        recorded.map(|part| TaggedSlice { tags: part.tags.clone(), series: part.series.take() }).collect()
    }
}
