//! The bound on series over the whole run. Each worker enforces it alone, but together they may know more names.

use std::collections::HashSet;
use std::sync::Arc;

use loadstone_metrics::{MetricSlice, Recorder, SeriesKey, SeriesSlice, Snapshot, TaggedSlice, Tags};

/// The names that a run keeps apart.
#[derive(Debug)]
pub(crate) struct SeriesBound {
    max: usize,
    kept: HashSet<SeriesKey>,
    tagged: HashSet<(SeriesKey, Tags)>,
    /// By metric and tags.
    metrics: HashSet<(Arc<str>, Tags)>,
}

impl SeriesBound {
    pub(crate) fn new(series_max: u32) -> Self {
        Self { max: series_max as usize, kept: HashSet::new(), tagged: HashSet::new(), metrics: HashSet::new() }
    }

    /// Moves series beyond the bound into `(other)`. Call it in the order of the slices.
    pub(crate) fn hold(&mut self, snapshot: &mut Snapshot) {
        let (kept, beyond): (Vec<_>, Vec<_>) = std::mem::take(&mut snapshot.series).into_iter().partition(|series| self.keeps(&series.key));
        snapshot.series = kept;
        for series in beyond {
            snapshot.series_overflow += series.count;
            let key = SeriesKey { name: Recorder::OTHER.into(), group: "".into(), ..series.key.clone() };
            match snapshot.series.iter_mut().find(|other| other.key == key) {
                Some(other) => other.merge(&series),
                None => snapshot.series.push(SeriesSlice { key, ..series }),
            }
        }
        self.hold_tags(snapshot);
    }

    /// Removes tagged parts beyond the bound, and counts them. The untagged whole already contains them.
    fn hold_tags(&mut self, snapshot: &mut Snapshot) {
        let (max, mut beyond) = (self.max, 0);
        let tagged = &mut self.tagged;
        snapshot.tagged.retain(|TaggedSlice { tags, series }| {
            let keeps = keeps_part(tagged, (series.key.clone(), tags.clone()), max);
            beyond += if keeps { 0 } else { series.count };
            keeps
        });
        let metrics = &mut self.metrics;
        snapshot.metrics.retain(|MetricSlice { name, tags, value, .. }| {
            let keeps = tags.is_empty() || keeps_part(metrics, (name.clone(), tags.clone()), max);
            beyond += if keeps { 0 } else { value.count() };
            keeps
        });
        snapshot.tags_overflow += beyond;
    }

    fn keeps(&mut self, key: &SeriesKey) -> bool {
        &*key.name == Recorder::OTHER || self.kept.contains(key) || self.kept.len() < self.max && self.kept.insert(key.clone())
    }
}

fn keeps_part<K: Eq + std::hash::Hash>(kept: &mut HashSet<K>, key: K, max: usize) -> bool {
    kept.contains(&key) || kept.len() < max && kept.insert(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::{Outcome, Phases, Sample, SeriesKind};

    /// One second of one worker: one request under each name.
    fn second(worker: u32, names: &[&str]) -> Snapshot {
        let mut recorder = Recorder::new(worker, 2);
        for name in names {
            let key = SeriesKey { kind: SeriesKind::Request, scenario: "s".into(), group: "".into(), name: (*name).into() };
            let id = recorder.series(&key);
            let sample = Sample {
                scheduled: 0,
                started: 0,
                ended: 5,
                phases: Phases::default(),
                outcome: Outcome::Passed,
                status: 200,
                bytes_sent: 1,
                bytes_received: 1,
                retried: 0,
                trace: None,
            };
            recorder.record(id, &sample);
        }
        recorder.drain(0, 0, 1_000)
    }

    #[test]
    fn two_workers_together_stay_within_the_bound_on_names() {
        let mut names = SeriesBound::new(2);
        let mut merged = second(0, &["a", "b"]);
        merged.merge(second(1, &["c", "d"]));
        for _ in 0..2 {
            names.hold(&mut merged);
            let counts: Vec<(&str, u64)> = merged.series.iter().map(|series| (&*series.key.name, series.count)).collect();
            assert_eq!(counts, [("a", 1), ("b", 1), (Recorder::OTHER, 2)]);
            assert_eq!(merged.series_overflow, 2);
        }
        // A later second, in which the names appear in another order.
        let mut later = second(1, &["d", "b"]);
        names.hold(&mut later);
        let kept: Vec<&str> = later.series.iter().map(|series| &*series.key.name).collect();
        assert_eq!(kept, ["b", Recorder::OTHER]);
    }

    #[test]
    fn tags_beyond_the_bound_are_counted_and_dropped() {
        let part = |tag: &str| {
            let mut series = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "s", "a"));
            series.count = 3;
            TaggedSlice { tags: Tags::new([("item", tag)]), series }
        };
        let metric = |tags: Tags| MetricSlice {
            name: "Orders".into(),
            unit: "".into(),
            tags,
            value: loadstone_metrics::MetricValue::Counter { count: 5, sum: 5.0 },
        };
        let items = |of: &[&str]| of.iter().map(|item| metric(Tags::new([("item", *item)]))).collect::<Vec<_>>();
        let mut bound = SeriesBound::new(2);
        let mut snapshot = Snapshot {
            tagged: vec![part("1"), part("2"), part("3")],
            metrics: [vec![metric(Tags::default())], items(&["1", "2", "3", "4"])].concat(),
            ..Snapshot::default()
        };
        bound.hold(&mut snapshot);
        assert_eq!((snapshot.tagged.len(), snapshot.metrics.len(), snapshot.tags_overflow), (2, 3, 3 + 5 + 5));
        let mut later = Snapshot { tagged: vec![part("3"), part("2")], ..Snapshot::default() };
        bound.hold(&mut later);
        assert_eq!(later.tagged, [part("2")]);
    }
}
