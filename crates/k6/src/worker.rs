//! State that the VUs of one worker share: clock, recorder, network, and the recorder's ids of metrics.

use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use loadstone_engine::WorkerContext;
use loadstone_metrics::clock::Clock;
use loadstone_metrics::{GaugeValue, MetricId, MetricSlice, MetricValue, Recorder, SeriesId, SeriesKey, SeriesKind, Tags, ValueHistogram};
use loadstone_plan::{DeclaredMetric, MetricKind, ScenarioId};
use loadstone_protocol::Network;
use loadstone_protocol::http::PreparedRequest;
use loadstone_secrets::LearntCredentials;
use url::Url;

use crate::instance_counts::WorkerCounts;
use crate::options::PlannedMetric;
use crate::sinks::K6Sinks;
use crate::step_counts::StepCounts;
use crate::test::K6Test;

/// Parsed URLs that a worker keeps.
const PARSED_URLS_MAX: usize = 256;

/// State of one worker. Its recorder is reached through a [`crate::turn::Turn`].
pub(crate) struct Worker {
    pub(crate) clock: Clock,
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) network: Rc<Network>,
    pub(crate) test: Arc<K6Test>,
    pub(crate) sinks: K6Sinks,
    /// Credentials that requests and responses contained.
    pub(crate) learnt: LearntCredentials,
    /// Whether the plan has a metric of requests.
    pub(crate) records_requests: bool,
    /// Parsed URLs, as scripts write them. Most scripts send to few.
    pub(crate) urls: RefCell<HashMap<Box<str>, Url>>,
    /// Requests that are only a method and a URL, by the written URL.
    plain: RefCell<HashMap<Box<str>, Vec<Rc<PlainRequest>>>>,
    no_group: Arc<str>,
    known: RefCell<KnownSeries>,
    /// Only this worker writes to it during the run, so the lock is free.
    steps: Arc<Mutex<StepCounts>>,
    pub(crate) counts: Arc<WorkerCounts>,
}

/// A request without headers, body and parameters of the script, ready to be sent by any VU of the worker.
pub(crate) struct PlainRequest {
    pub(crate) method: Box<str>,
    pub(crate) prepared: PreparedRequest,
    /// The name that it is recorded under.
    pub(crate) name: Rc<str>,
    /// The URL, unless parts of the written one are not sent.
    pub(crate) url: Option<Rc<str>>,
}

/// By group, then by name.
type SeriesIds = HashMap<Arc<str>, HashMap<Box<str>, SeriesId>>;

/// The recorder's ids, found once.
#[derive(Default)]
struct KnownSeries {
    whole: Vec<Option<MetricId>>,
    parts: HashMap<(usize, Tags), Option<MetricId>>,
    /// By kind and scenario.
    series: HashMap<(SeriesKind, u32), SeriesIds>,
}

impl Worker {
    pub(crate) fn new(context: &WorkerContext, network: Rc<Network>, test: Arc<K6Test>, sinks: K6Sinks) -> Self {
        let (clock, recorder) = (context.clock.clone(), Rc::clone(&context.recorder));
        let steps = Arc::<Mutex<StepCounts>>::default();
        if let Ok(mut all) = test.shared.steps.lock() {
            all.push(Arc::clone(&steps));
        }
        let counts = Arc::<WorkerCounts>::default();
        if let Ok(mut all) = test.shared.counts.lock() {
            all.push(Arc::clone(&counts));
        }
        let records_requests = test.metric_numbers.keys().any(|name| name.starts_with("http_req") || name.starts_with("data_"));
        let (learnt, urls, plain, known) = (LearntCredentials::default(), RefCell::default(), RefCell::default(), RefCell::default());
        Self { clock, recorder, network, test, sinks, learnt, records_requests, urls, plain, no_group: "".into(), known, steps, counts }
    }

    /// A plain request that was sent before.
    pub(crate) fn plain(&self, method: &str, written: &str) -> Option<Rc<PlainRequest>> {
        self.plain.borrow().get(written)?.iter().find(|plain| &*plain.method == method).cloned()
    }

    /// Keeps a plain request for later.
    pub(crate) fn keep_plain(&self, written: &str, plain: &Rc<PlainRequest>) {
        let mut known = self.plain.borrow_mut();
        if known.len() < PARSED_URLS_MAX || known.contains_key(written) {
            known.entry(written.into()).or_default().push(Rc::clone(plain));
        }
    }

    /// Keeps a parsed URL for later requests.
    pub(crate) fn keep_url(&self, written: &str, url: &Url) {
        let mut urls = self.urls.borrow_mut();
        if urls.len() < PARSED_URLS_MAX && !urls.contains_key(written) {
            urls.insert(written.into(), url.clone());
        }
    }

    /// The group of what is outside of groups.
    pub(crate) fn no_group(&self) -> Arc<str> {
        Arc::clone(&self.no_group)
    }

    /// Counts groups and checks, if a summary will need them.
    pub(crate) fn count_steps(&self, count: impl FnOnce(&mut StepCounts)) {
        if self.test.summarizes
            // As in k6, the summary has checks and groups by their tags.
            && self.test.settings.system_tags.contains("group")
            && let Ok(mut steps) = self.steps.lock()
        {
            count(&mut steps);
        }
    }

    /// The recorder, when no JavaScript runs and nothing is waited for.
    pub(crate) fn recorder_at_end(&self) -> RefMut<'_, Recorder> {
        self.recorder.borrow_mut()
    }

    /// The series of a name in a group of a scenario. `None`: the set-up or tear-down.
    pub(crate) fn series(&self, recorder: &mut Recorder, kind: SeriesKind, scenario: ScenarioId, group: &Arc<str>, name: &str) -> SeriesId {
        let mut known = self.known.borrow_mut();
        let groups = known.series.entry((kind, scenario.0)).or_default();
        if let Some(id) = groups.get(group).and_then(|names| names.get(name)) {
            return *id;
        }
        let key = SeriesKey { kind, scenario: self.test.scenario_name(scenario).into(), group: Arc::clone(group), name: name.into() };
        let id = recorder.series(&key);
        // The recorder bounds its series, so it is asked each time beyond the bound.
        if groups.values().map(HashMap::len).sum::<usize>() < self.test.plan.options.series_max as usize {
            groups.entry(Arc::clone(group)).or_default().insert(name.into(), id);
        }
        id
    }

    /// Records a value of a metric. `tag` yields the value of a tag.
    pub(crate) fn record<'t>(
        &self,
        recorder: &mut Recorder,
        metric: usize,
        value: f64,
        tag: &dyn Fn(&str) -> Option<std::borrow::Cow<'t, str>>,
    ) {
        let Some(PlannedMetric { declared, tags }) = self.test.metrics.get(metric) else { return };
        let at = self.clock.now();
        let mut known = self.known.borrow_mut();
        if known.whole.len() <= metric {
            known.whole.resize(metric + 1, None);
        }
        if known.whole[metric].is_none() {
            known.whole[metric] = recorder.metric(&empty(declared, Tags::default()));
        }
        let part = (!tags.is_empty()).then(|| Tags::new(tags.iter().filter_map(|name| Some((name.as_str(), tag(name)?.into_owned())))));
        let part = part.filter(|tags| !tags.is_empty()).and_then(|tags| {
            let id = known.parts.get(&(metric, tags.clone())).copied();
            id.unwrap_or_else(|| {
                let id = recorder.metric(&empty(declared, tags.clone()));
                if known.parts.len() < self.test.plan.options.series_max as usize {
                    known.parts.insert((metric, tags), id);
                }
                id
            })
        });
        for id in known.whole[metric].into_iter().chain(part) {
            recorder.record_metric(id, at, value);
        }
    }

    /// The same for a metric of k6, if the plan has it.
    pub(crate) fn record_own<'t>(
        &self,
        recorder: &mut Recorder,
        name: &str,
        value: f64,
        tag: &dyn Fn(&str) -> Option<std::borrow::Cow<'t, str>>,
    ) {
        if let Some(metric) = self.test.metric(name) {
            self.record(recorder, metric, value, tag);
        }
    }
}

fn empty(declared: &DeclaredMetric, tags: Tags) -> MetricSlice {
    let value = match declared.kind {
        MetricKind::Trend => MetricValue::Trend(ValueHistogram::default()),
        MetricKind::Counter => MetricValue::Counter { count: 0, sum: 0.0 },
        MetricKind::Gauge => MetricValue::Gauge(GaugeValue::default()),
        MetricKind::Rate => MetricValue::Rate { count: 0, hits: 0 },
    };
    MetricSlice { name: declared.name.as_str().into(), unit: declared.unit.as_str().into(), tags, value }
}
