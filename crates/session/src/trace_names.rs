//! Adds request names to the traces of a run: a trace identifies its request only by a label.

use std::collections::HashMap;
use std::sync::Arc;

use loadstone_metrics::span::{RequestLabel, SpanKind, TraceBatch};
use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_secrets::Secrets;

/// Scenario and name of each request that has ended, by label.
#[derive(Debug, Default)]
pub(crate) struct TraceNames(HashMap<RequestLabel, (Arc<str>, Arc<str>)>);

impl TraceNames {
    /// Stores the names of a second, which are not masked yet.
    pub(crate) fn learn(&mut self, snapshot: &Snapshot) {
        for series in snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
            let key = &series.key;
            self.0.entry(RequestLabel::of(&key.scenario, &key.name)).or_insert_with(|| (Arc::clone(&key.scenario), Arc::clone(&key.name)));
        }
    }

    /// Adds the names and masks secrets. Spans arrive after the end of their request, when its name is known.
    pub(crate) fn put_into(&self, batch: &mut TraceBatch, secrets: &Secrets) {
        let names = |label| self.0.get(&label).cloned().unwrap_or_else(|| (Arc::default(), "(unknown)".into()));
        for path in batch.paths.iter_mut().filter(|path| path.kind == SpanKind::Request) {
            (path.scenario, path.name) = names(path.label);
        }
        for trace in &mut batch.kept {
            (trace.scenario, trace.name) = names(trace.label);
        }
        batch.hide(secrets);
    }
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::span::SpanPath;
    use loadstone_metrics::{SeriesKey, SeriesSlice};

    use super::*;

    #[test]
    fn a_label_becomes_the_name_of_the_request_and_secrets_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.learn("hunter2hunter2");
        let mut names = TraceNames::default();
        let series = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "Shop", "List hunter2hunter2"));
        names.learn(&Snapshot { series: vec![series], ..Snapshot::default() });
        let label = RequestLabel::of("Shop", "List hunter2hunter2");
        let request = |label| SpanPath { kind: SpanKind::Request, label, ..SpanPath::default() };
        let span = SpanPath { parent: Some(0), name: "GET /hunter2hunter2".into(), ..SpanPath::default() };
        let mut batch = TraceBatch { paths: vec![request(label), span, request(RequestLabel(1))], ..TraceBatch::default() };
        names.put_into(&mut batch, &secrets);
        let names: Vec<(&str, &str)> = batch.paths.iter().map(|path| (&*path.scenario, &*path.name)).collect();
        assert_eq!(names, [("Shop", "List •••"), ("", "GET /•••"), ("", "(unknown)")]);
    }
}
