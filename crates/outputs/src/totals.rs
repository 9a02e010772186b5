//! The run so far as cumulative metrics, for Prometheus and OpenTelemetry. Their names are in [`OutputTotals::families`] and
//! docs/outputs/monitoring.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadstone_metrics::{FlowSlice, Histogram, MetricSlice, MetricValue, Nanos, Outcome, SeriesKey, SeriesKind, SeriesSlice};
use loadstone_plan::TestPlan;

use crate::family::{FamilyKind, FamilyUnit, MetricFamily, PointLabels, PointValue};
use crate::second::OutputSecond;
use crate::signals::SignalTotals;

/// Sums since the run began, and the levels of its last second.
#[derive(Debug)]
pub(crate) struct OutputTotals {
    /// Scenario of each leaf of the load.
    scenario_of_leaf: Vec<Arc<str>>,
    series: BTreeMap<SeriesKey, SeriesTotals>,
    /// By scenario.
    load: BTreeMap<Arc<str>, LoadTotals>,
    /// By name.
    flows: BTreeMap<Arc<str>, FlowTotals>,
    /// Custom metrics of the test.
    metrics: Vec<MetricSlice>,
    pub(crate) signals: SignalTotals,
    /// End of the last second.
    now: Nanos,
    cpu_ns: u64,
    connections: u64,
}

#[derive(Debug, Default)]
struct FlowTotals {
    started: u64,
    finished: u64,
    timed_out: u64,
    time: Histogram,
    backlog: u64,
    oldest_ns: u64,
}

#[derive(Debug, Default)]
struct SeriesTotals {
    outcomes: BTreeMap<Outcome, u64>,
    response: Histogram,
    sent: u64,
    received: u64,
}

/// One scenario: sums of arrivals and starts, levels of the last second.
#[derive(Debug, Default)]
pub(crate) struct LoadTotals {
    due: u64,
    started: u64,
    pub(crate) active: u64,
    pub(crate) asked: u64,
    pub(crate) waiting: u64,
}

impl OutputTotals {
    pub(crate) fn new(plan: &TestPlan) -> Self {
        let name = |run: &&loadstone_plan::ScenarioRun| {
            plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str()).into()
        };
        let scenario_of_leaf = plan.leaves().iter().map(name).collect();
        Self {
            scenario_of_leaf,
            series: BTreeMap::new(),
            load: BTreeMap::new(),
            flows: BTreeMap::new(),
            metrics: Vec::new(),
            signals: SignalTotals::default(),
            now: 0,
            cpu_ns: 0,
            connections: 0,
        }
    }

    pub(crate) fn add(&mut self, OutputSecond { load: second, signals }: &OutputSecond) {
        self.now = second.end;
        signals.iter().for_each(|(signal, point)| self.signals.add(signal, *point));
        for slice in &second.series {
            self.series.entry(slice.key.clone()).or_default().add(slice);
        }
        for load in self.load.values_mut() {
            (load.active, load.asked, load.waiting) = (0, 0, 0);
        }
        for leaf in &second.leaves {
            let scenario = self.scenario_of_leaf.get(leaf.leaf as usize).cloned().unwrap_or_else(|| "?".into());
            let load = self.load.entry(scenario).or_default();
            load.due += leaf.arrivals_due;
            load.started += leaf.started;
            load.active += leaf.users_active;
            load.asked += leaf.users_asked;
            load.waiting += leaf.waiting;
        }
        for flow in &second.flows {
            self.flows.entry(Arc::clone(&flow.name)).or_default().add(flow);
        }
        MetricSlice::merge_all(&mut self.metrics, second.metrics.clone());
        self.cpu_ns += second.generator.iter().map(|worker| worker.busy_ns).sum::<u64>();
        self.connections = second.generator.iter().map(|worker| worker.connections).sum();
    }

    pub(crate) fn load_by_scenario(&self) -> impl Iterator<Item = (&Arc<str>, &LoadTotals)> {
        self.load.iter()
    }

    /// All metrics with a point.
    pub(crate) fn families(&self) -> Vec<MetricFamily<'_>> {
        use FamilyKind::{Counter, Gauge};
        use FamilyUnit::{Bytes, One, Seconds};
        let mut all = Vec::new();
        for (kind, outcomes, times) in SERIES {
            all.push(self.outcomes(*kind, outcomes));
            if let Some((stem, help)) = *times {
                all.push(self.times(*kind, stem, help));
            }
        }
        let bytes = |stem, help, of: fn(&SeriesTotals) -> u64| {
            let requests = self.of_kind(SeriesKind::Request);
            family(stem, help, Counter, Bytes, requests.map(|(key, series)| (labels(key), PointValue::Number(of(series) as f64))).collect())
        };
        all.push(bytes("sent", "Bytes of requests.", |series| series.sent));
        all.push(bytes("received", "Bytes of responses.", |series| series.received));
        let load = |stem, help, kind, of: fn(&LoadTotals) -> u64| {
            let points =
                self.load.iter().map(|(scenario, load)| (vec![("scenario", Arc::clone(scenario))], PointValue::Number(of(load) as f64)));
            family(stem, help, kind, One, points.collect())
        };
        all.push(load("arrivals_due", "Arrivals that came due.", Counter, |load| load.due));
        all.push(load("iterations_started", "Iterations that started.", Counter, |load| load.started));
        all.push(load("users_active", "Users with an iteration running.", Gauge, |load| load.active));
        all.push(load("users_asked", "Users that the load profile asks for.", Gauge, |load| load.asked));
        all.push(load("arrivals_waiting", "Arrivals that are due and wait for a free user.", Gauge, |load| load.waiting));
        all.extend(self.flow_families());
        all.extend(self.metric_families());
        all.extend(self.signals.families(self.now));
        let cpu = PointValue::Number(self.cpu_ns as f64 / 1e9);
        all.push(family("generator_cpu", "CPU time of the load generator's workers.", Counter, Seconds, vec![(Vec::new(), cpu)]));
        let open = PointValue::Number(self.connections as f64);
        all.push(family("connections", "Connections that the load generator holds open.", Gauge, One, vec![(Vec::new(), open)]));
        all.retain(|family| !family.points.is_empty());
        all
    }

    fn flow_families(&self) -> [MetricFamily<'_>; 5] {
        let points = |of: fn(&FlowTotals) -> PointValue<'_>| -> Vec<(PointLabels, PointValue<'_>)> {
            self.flows.iter().map(|(name, flow)| (vec![("flow", Arc::clone(name))], of(flow))).collect()
        };
        let ended = self.flows.iter().flat_map(|(name, flow)| {
            [("finished", flow.finished), ("timeout", flow.timed_out)]
                .map(|(outcome, count)| (vec![("flow", Arc::clone(name)), ("outcome", outcome.into())], PointValue::Number(count as f64)))
        });
        let (started, open) = ("Journeys that started.", "Journeys that started and have not ended.");
        [
            family("flows_started", started, FamilyKind::Counter, FamilyUnit::One, points(|flow| PointValue::Number(flow.started as f64))),
            family("flows", "Journeys that finished or were given up.", FamilyKind::Counter, FamilyUnit::One, ended.collect()),
            family(
                "flow_time",
                "End-to-end time of journeys.",
                FamilyKind::Histogram,
                FamilyUnit::Seconds,
                points(|flow| PointValue::Times(&flow.time)),
            ),
            family("flows_open", open, FamilyKind::Gauge, FamilyUnit::One, points(|flow| PointValue::Number(flow.backlog as f64))),
            family(
                "flow_oldest",
                "Age of the oldest open journey.",
                FamilyKind::Gauge,
                FamilyUnit::Seconds,
                points(|flow| PointValue::Number(flow.oldest_ns as f64 / 1e9)),
            ),
        ]
    }

    /// Custom metrics of the run so far: how often each was recorded, sums of counters, and levels of the others.
    fn metric_families(&self) -> [MetricFamily<'_>; 3] {
        let (mut recorded, mut sums, mut levels) = (Vec::new(), Vec::new(), Vec::new());
        for metric in &self.metrics {
            let labels = metric_labels(metric);
            recorded.push((labels.clone(), PointValue::Number(metric.value.count() as f64)));
            for (figure, value) in metric.value.figures() {
                match metric.value {
                    MetricValue::Counter { .. } => sums.push((labels.clone(), PointValue::Number(value))),
                    _ => levels.push(([labels.clone(), vec![("stat", figure.into())]].concat(), PointValue::Number(value))),
                }
            }
        }
        [
            family("metric_recorded", "How often a metric of the test was recorded.", FamilyKind::Counter, FamilyUnit::One, recorded),
            family("metric_sum", "Sum of a counter of the test.", FamilyKind::Counter, FamilyUnit::One, sums),
            family("metric", "A trend, gauge or rate of the test, over the run so far.", FamilyKind::Gauge, FamilyUnit::One, levels),
        ]
    }

    fn of_kind(&self, kind: SeriesKind) -> impl Iterator<Item = (&SeriesKey, &SeriesTotals)> {
        self.series.iter().filter(move |(key, _)| key.kind == kind)
    }

    fn outcomes(&self, kind: SeriesKind, (stem, help): &(&'static str, &'static str)) -> MetricFamily<'_> {
        let mut points = Vec::new();
        for (key, series) in self.of_kind(kind) {
            for (outcome, count) in &series.outcomes {
                let mut labels = labels(key);
                labels.push(("outcome", name_of(*outcome).into()));
                points.push((labels, PointValue::Number(*count as f64)));
            }
        }
        family(stem, help, FamilyKind::Counter, FamilyUnit::One, points)
    }

    fn times(&self, kind: SeriesKind, stem: &'static str, help: &'static str) -> MetricFamily<'_> {
        let points = self.of_kind(kind).map(|(key, series)| (labels(key), PointValue::Times(&series.response))).collect();
        family(stem, help, FamilyKind::Histogram, FamilyUnit::Seconds, points)
    }
}

type Named = (&'static str, &'static str);

/// Series that are counted by outcome, and those with times.
const SERIES: &[(SeriesKind, Named, Option<Named>)] = &[
    (
        SeriesKind::Request,
        ("requests", "Requests that ended."),
        Some(("response_time", "Response time of requests, from when they were due.")),
    ),
    (SeriesKind::Group, ("groups", "Groups that ended."), Some(("group_time", "Time of groups."))),
    (SeriesKind::Iteration, ("iterations", "Iterations that ended."), Some(("iteration_time", "Time of iterations."))),
    (SeriesKind::Check, ("checks", "Checks of responses."), None),
];

impl FlowTotals {
    fn add(&mut self, slice: &FlowSlice) {
        self.started += slice.started;
        self.finished += slice.finished;
        self.timed_out += slice.timed_out;
        self.time.merge(&slice.time);
        (self.backlog, self.oldest_ns) = (slice.backlog, slice.oldest_ns);
    }
}

impl SeriesTotals {
    fn add(&mut self, slice: &SeriesSlice) {
        for (outcome, count) in &slice.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        self.response.merge(&slice.response);
        self.sent += slice.bytes_sent;
        self.received += slice.bytes_received;
    }
}

fn family<'a>(
    stem: &'static str,
    help: &'static str,
    kind: FamilyKind,
    unit: FamilyUnit,
    points: Vec<(PointLabels, PointValue<'a>)>,
) -> MetricFamily<'a> {
    MetricFamily { stem, help, kind, unit, points }
}

/// `scenario`, `group` (inside a group) and `name` (if it differs from the scenario's).
pub(crate) fn labels(key: &SeriesKey) -> PointLabels {
    let mut labels = vec![("scenario", Arc::clone(&key.scenario))];
    if !key.group.is_empty() {
        labels.push(("group", Arc::clone(&key.group)));
    }
    if key.kind != SeriesKind::Iteration {
        labels.push(("name", Arc::clone(&key.name)));
    }
    labels
}

/// `metric`, `unit`, and `tags` of a part.
pub(crate) fn metric_labels(metric: &MetricSlice) -> PointLabels {
    let mut labels = vec![("metric", Arc::clone(&metric.name))];
    if !metric.unit.is_empty() {
        labels.push(("unit", Arc::clone(&metric.unit)));
    }
    if !metric.tags.is_empty() {
        labels.push(("tags", metric.tags.to_string().into()));
    }
    labels
}

/// As in summary.json.
pub(crate) fn name_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Status => "status",
        Outcome::Expect => "expect",
        Outcome::Timeout => "timeout",
        Outcome::Dns => "dns",
        Outcome::Refused => "refused",
        Outcome::Reset => "reset",
        Outcome::Closed => "closed",
        Outcome::Connect => "connect",
        Outcome::NotConnected => "not_connected",
        Outcome::Tls => "tls",
        Outcome::Protocol => "protocol",
        Outcome::Script => "script",
        Outcome::Step => "step",
        Outcome::PortsExhausted => "ports_exhausted",
        Outcome::DescriptorsExhausted => "descriptors_exhausted",
        Outcome::Unsendable => "unsendable",
        Outcome::Interrupted => "interrupted",
    }
}
