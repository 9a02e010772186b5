//! The parts of a measurement that may contain a secret: names and messages. A new field with text in it belongs here, too.
//!
//! The crate `secrets` finds and masks secrets.

use std::borrow::Cow;
use std::sync::Arc;

use loadstone_secrets::Secrets;

use crate::span::TraceBatch;
use crate::{LeafChange, SeriesKey, Signal, SignalNotice, Snapshot, Tags};

impl Snapshot {
    /// The snapshot in the form that everything except the load itself may see. Series whose names differed only by secrets become one.
    pub fn hiding<'a>(snapshot: Cow<'a, Snapshot>, secrets: &Secrets) -> Cow<'a, Snapshot> {
        if !quotes_any(&snapshot, secrets) {
            return snapshot;
        }
        let mut hidden = snapshot.into_owned();
        let (series, errors) = (std::mem::take(&mut hidden.series), std::mem::take(&mut hidden.errors));
        let hide = |text: &mut Arc<str>| hide_shared(text, secrets);
        let hide_key = |key: &mut SeriesKey| [&mut key.scenario, &mut key.group, &mut key.name].into_iter().for_each(hide);
        hidden.slow.iter_mut().for_each(|slow| hide_key(&mut slow.key));
        for change in hidden.leaves.iter_mut().flat_map(|leaf| &mut leaf.changes) {
            if let LeafChange::Began { scenario, .. } = change {
                hide(scenario);
            }
        }
        hidden.marks.iter_mut().for_each(|mark| mark.text = secrets.hide(&mark.text).into_owned());
        for flow in &mut hidden.flows {
            hide(&mut flow.name);
            flow.stages.iter_mut().for_each(|stage| hide(&mut stage.name));
        }
        for mut part in std::mem::take(&mut hidden.tagged) {
            hide_key(&mut part.series.key);
            part.tags = part.tags.map(|text| secrets.hide(text).into());
            hidden.merge(Snapshot { tagged: vec![part], ..empty_at(&hidden) });
        }
        for mut metric in std::mem::take(&mut hidden.metrics) {
            hide(&mut metric.name);
            hide(&mut metric.unit);
            metric.tags = metric.tags.map(|text| secrets.hide(text).into());
            hidden.merge(Snapshot { metrics: vec![metric], ..empty_at(&hidden) });
        }
        for mut series in series {
            hide_key(&mut series.key);
            hidden.merge(Snapshot { series: vec![series], ..empty_at(&hidden) });
        }
        for mut error in errors {
            hide_key(&mut error.key);
            hide(&mut error.message);
            for sample in &mut error.samples {
                let headers = sample.headers.iter_mut().flat_map(|(name, value)| [name, value]);
                headers.chain([&mut sample.body]).for_each(|text| *text = secrets.hide(text).into_owned());
            }
            hidden.merge(Snapshot { errors: vec![error], ..empty_at(&hidden) });
        }
        Cow::Owned(hidden)
    }
}

impl Signal {
    /// The signal in the form that every output may show.
    pub fn hiding(&self, secrets: &Secrets) -> Signal {
        let hide = |text: &str| secrets.hide(text).into_owned();
        Signal {
            name: hide(&self.name),
            observer: hide(&self.observer),
            help: hide(&self.help),
            part: hide(&self.part),
            labels: self.labels.iter().map(|(name, value)| (hide(name), hide(value))).collect(),
            ..self.clone()
        }
    }
}

impl TraceBatch {
    /// Masks secrets in the batch, so that every output may show it.
    pub fn hide(&mut self, secrets: &Secrets) {
        let hide = |text: &mut Arc<str>| hide_shared(text, secrets);
        for path in &mut self.paths {
            [&mut path.scenario, &mut path.service, &mut path.name].into_iter().for_each(hide);
        }
        for trace in &mut self.kept {
            [&mut trace.scenario, &mut trace.name].into_iter().for_each(hide);
            trace.spans.iter_mut().flat_map(|span| [&mut span.service, &mut span.name]).for_each(hide);
        }
    }
}

impl SignalNotice {
    /// The notice in the form that every output may show.
    pub fn hiding(&self, secrets: &Secrets) -> SignalNotice {
        let mut shown = self.clone();
        hide_shared(&mut shown.observer, secrets);
        shown.message = secrets.hide(&self.message).into_owned();
        shown.reason = secrets.hide(&self.reason).into_owned();
        shown
    }
}

fn hide_shared(text: &mut Arc<str>, secrets: &Secrets) {
    if let Cow::Owned(hidden) = secrets.hide(text) {
        *text = hidden.into();
    }
}

/// An empty snapshot for [`Snapshot::merge`], which takes the earlier start and the later end.
fn empty_at(snapshot: &Snapshot) -> Snapshot {
    Snapshot { start: snapshot.start, end: snapshot.end, ..Snapshot::default() }
}

fn quotes_any(snapshot: &Snapshot, secrets: &Secrets) -> bool {
    let keys = snapshot.series.iter().map(|series| &series.key).chain(snapshot.slow.iter().map(|slow| &slow.key));
    let keys = keys.chain(snapshot.errors.iter().map(|error| &error.key));
    let flows = snapshot.flows.iter().flat_map(|flow| std::iter::once(&flow.name).chain(flow.stages.iter().map(|stage| &stage.name)));
    let begun = snapshot.leaves.iter().flat_map(|leaf| &leaf.changes).filter_map(|change| match change {
        LeafChange::Began { scenario, .. } => Some(scenario),
        LeafChange::Scaled { .. } | LeafChange::LoadEnded { .. } => None,
    });
    let keys = keys.chain(snapshot.tagged.iter().map(|part| &part.series.key));
    let metrics = snapshot.metrics.iter().flat_map(|metric| [&metric.name, &metric.unit]);
    let tags = snapshot.tagged.iter().map(|part| &part.tags).chain(snapshot.metrics.iter().map(|metric| &metric.tags));
    let tags = tags.flat_map(Tags::iter).flat_map(|(name, value)| [name, value]);
    let names = keys.flat_map(|key| [&key.scenario, &key.group, &key.name]).chain(flows).chain(begun).chain(metrics).chain(tags);
    let texts = names.chain(snapshot.errors.iter().map(|error| &error.message)).map(|text| &**text);
    let samples = snapshot.errors.iter().flat_map(|error| &error.samples);
    let answers = samples.flat_map(|sample| sample.headers.iter().flat_map(|(name, value)| [name, value]).chain([&sample.body]));
    let texts = texts.chain(answers.map(String::as_str));
    let mut texts = texts.chain(snapshot.marks.iter().map(|mark| mark.text.as_str()));
    texts.any(|text| matches!(secrets.hide(text), Cow::Owned(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_of_a_failure_hides_secrets() {
        let mut secrets = Secrets::default();
        secrets.learn("hunter2hunter2");
        let mut recorder = crate::Recorder::new(0, 10);
        let id = recorder.series(&SeriesKey::new(crate::SeriesKind::Request, "s", "a"));
        let headers = [("x-echo", "hunter2hunter2")];
        let long = format!("{}hunter2hunter2", "x".repeat(2_040));
        let sample = crate::Sample {
            scheduled: 0,
            started: 0,
            ended: 1,
            phases: crate::Phases::default(),
            outcome: crate::Outcome::Status,
            status: 500,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        recorder.failed_with(id, &sample, "status 500", || crate::FailureSample::new(500, headers.into_iter(), long.as_bytes()));
        let hidden = Snapshot::hiding(Cow::Owned(recorder.drain(0, 0, 1)), &secrets).into_owned();
        // Also if the end of the sample cuts the secret in two.
        assert!(!format!("{hidden:?}").contains("hunter2"), "{:?}", hidden.errors);
        assert_eq!(hidden.errors[0].samples[0].headers, [("x-echo".to_owned(), "•••".to_owned())]);
    }

    #[test]
    fn metrics_and_tags_that_differ_only_by_secrets_become_one() {
        let mut secrets = Secrets::default();
        secrets.learn("hunter2hunter2");
        secrets.learn("correct-horse");
        let metric = |value: &str| crate::MetricSlice {
            name: "Logins".into(),
            unit: "".into(),
            tags: Tags::new([("token", value)]),
            value: crate::MetricValue::Counter { count: 1, sum: 1.0 },
        };
        let part = |value: &str| crate::TaggedSlice {
            tags: Tags::new([("token", value)]),
            series: crate::SeriesSlice::new(SeriesKey::new(crate::SeriesKind::Request, "s", "a")),
        };
        let snapshot = Snapshot {
            metrics: vec![metric("hunter2hunter2"), metric("correct-horse")],
            tagged: vec![part("hunter2hunter2"), part("correct-horse")],
            ..Snapshot::default()
        };
        let hidden = Snapshot::hiding(Cow::Owned(snapshot), &secrets).into_owned();
        assert_eq!((hidden.metrics.len(), hidden.tagged.len(), hidden.metrics[0].value.count()), (1, 1, 2));
        assert_eq!((hidden.metrics[0].tags.get("token"), hidden.tagged[0].tags.get("token")), (Some("•••"), Some("•••")));
    }

    #[test]
    fn a_signal_hides_secrets_in_all_its_strings() {
        let mut secrets = Secrets::default();
        secrets.learn("hunter2");
        let signal = Signal {
            name: "shop/pool{name=hunter2}".to_owned(),
            part: "hunter2".to_owned(),
            labels: vec![("name".to_owned(), "hunter2".to_owned())],
            ..Signal::default()
        };
        assert!(!format!("{:?}", signal.hiding(&secrets)).contains("hunter2"));
    }
}
