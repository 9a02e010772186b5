//! Custom metrics: `add` and `set` of the objects that `metric.trend(…)` and the other kinds return.

use std::cell::RefCell;
use std::sync::Arc;

use loadstone_metrics::{GaugeValue, MetricId, MetricSlice, MetricValue, Recorder, Tags, ValueHistogram};
use loadstone_plan::{DeclaredMetric, MetricKind};
use rquickjs::{Ctx, Exception, Function, Object, Value};

use crate::runtime::capability::Capability;
use crate::runtime::home::RealmHome;
use crate::runtime::parts::StateParts;
use crate::tags;

pub(super) struct Metrics;

impl Capability for Metrics {
    /// Puts `metric(number, value, tags)` on the native object.
    fn install_for_users<'js>(&self, ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
        native.set("metric", Function::new(ctx.clone(), record)?)
    }

    fn open_realm(&self, _: &Ctx<'_>, parts: &mut StateParts) -> rquickjs::Result<()> {
        parts.insert(KnownMetrics::default());
        Ok(())
    }
}

/// The recorder's ids of whole metrics, by their number in the plan.
#[derive(Default)]
struct KnownMetrics(RefCell<Vec<Option<MetricId>>>);

impl KnownMetrics {
    fn id(&self, number: usize, spec: &DeclaredMetric, recorder: &mut Recorder) -> Option<MetricId> {
        let mut known = self.0.borrow_mut();
        if known.len() <= number {
            known.resize(number + 1, None);
        }
        if known[number].is_none() {
            known[number] = recorder.metric(&empty(spec, Tags::default()));
        }
        known[number]
    }
}

fn empty(spec: &DeclaredMetric, tags: Tags) -> MetricSlice {
    let value = match spec.kind {
        MetricKind::Trend => MetricValue::Trend(ValueHistogram::default()),
        MetricKind::Counter => MetricValue::Counter { count: 0, sum: 0.0 },
        MetricKind::Gauge => MetricValue::Gauge(GaugeValue::default()),
        MetricKind::Rate => MetricValue::Rate { count: 0, hits: 0 },
    };
    MetricSlice { name: spec.name.as_str().into(), unit: spec.unit.as_str().into(), tags, value }
}

/// `value` is finite: its class has checked it.
fn record<'js>(ctx: Ctx<'js>, number: usize, value: f64, tags: Value<'js>) -> rquickjs::Result<()> {
    let Some(home) = ctx.userdata::<RealmHome>() else { return Err(outside(&ctx)) };
    let realm = home.realm(&ctx, "recording a metric")?;
    let loaded = Arc::clone(&home.worker.loaded);
    let Some(spec) = loaded.plan.metrics.get(number) else { return Err(outside(&ctx)) };
    let tags = tags::read(&ctx, &tags, &format_args!("metric \"{}\"", spec.name))?;
    let at = home.worker.clock.now();
    let mut recorder = home.worker.recorder.borrow_mut();
    let whole = realm.parts.get::<KnownMetrics>().id(number, spec, &mut recorder);
    let part = if tags.is_empty() { None } else { recorder.metric(&empty(spec, tags)) };
    for id in whole.into_iter().chain(part) {
        recorder.record_metric(id, at, value);
    }
    Ok(())
}

pub(crate) fn outside(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, "record metrics inside scenarios, not at the top level of the file or in functions of stubs")
}
