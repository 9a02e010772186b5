//! Requests that only prepared the load, such as those that fill a table before it. They do not show how the system carries the load.

use std::collections::HashSet;

use loadstone_metrics::{LeafSlice, SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

/// Requests that all ended before, or in, the second in which the load began. Empty where nothing prepares the load.
pub(crate) struct Preparation(HashSet<SeriesKey>);

impl Preparation {
    pub(super) fn of(run: &Run) -> Self {
        let set_ups = run.plan.set_ups();
        let is_load = |leaf: &LeafSlice| leaf.started > 0 && !set_ups.contains_key(&leaf.leaf);
        let began = run.slices.iter().position(|slice| slice.leaves.iter().any(is_load));
        let (Some(began), false) = (began, set_ups.is_empty()) else { return Self(HashSet::new()) };
        let (before, after) = run.slices.split_at(began + 1);
        let series = before.iter().flat_map(|slice| &slice.series);
        let mut found: HashSet<SeriesKey> =
            series.filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.key.clone()).collect();
        for slice in after {
            let ended_in = |key: &SeriesKey| slice.series.iter().any(|series| series.count > 0 && series.key == *key);
            found.retain(|key| !ended_in(key));
        }
        Self(found)
    }

    pub(crate) fn has(&self, request: &SeriesKey) -> bool {
        self.0.contains(request)
    }
}
