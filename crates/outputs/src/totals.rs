//! A run so far as cumulative metrics: what Prometheus and OpenTelemetry take. Their names stand in [`Totals::families`] and docs/outputs.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use metrics::{FlowSlice, Histogram, Nanos, Outcome, SeriesKey, SeriesKind, SeriesSlice};
use plan::TestPlan;

use crate::second::Second;
use crate::signals::Signals;

/// Name and value of what tells points of one metric apart.
pub(crate) type Labels = Vec<(&'static str, Arc<str>)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    One,
    Seconds,
    Bytes,
}

/// One metric with all its points.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    /// Without the prefix, the unit and `total`: `requests`, `response_time`.
    pub(crate) stem: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    pub(crate) points: Vec<(Labels, Value<'a>)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(f64),
    /// Nanoseconds.
    Times(&'a Histogram),
}

impl Family<'_> {
    /// As Prometheus writes it: `loadstone_response_time_seconds`, `loadstone_requests_total`.
    pub(crate) fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            Unit::One => "",
            Unit::Seconds => "_seconds",
            Unit::Bytes => "_bytes",
        };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("loadstone_{}{unit}{total}", self.stem)
    }
}

/// Sums since the run began, and the levels of its last second.
#[derive(Debug)]
pub(crate) struct Totals {
    /// Scenario of each leaf of the load.
    scenario_of_leaf: Vec<Arc<str>>,
    series: BTreeMap<SeriesKey, SeriesTotals>,
    /// By scenario.
    load: BTreeMap<Arc<str>, LoadTotals>,
    /// By name.
    flows: BTreeMap<Arc<str>, FlowTotals>,
    pub(crate) signals: Signals,
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

/// Of one scenario: sums of arrivals and starts, levels of the last second.
#[derive(Debug, Default)]
pub(crate) struct LoadTotals {
    due: u64,
    started: u64,
    pub(crate) active: u64,
    pub(crate) asked: u64,
    pub(crate) waiting: u64,
}

impl Totals {
    pub(crate) fn new(plan: &TestPlan) -> Self {
        let name =
            |run: &&plan::ScenarioRun| plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str()).into();
        let scenario_of_leaf = plan.load.leaves().iter().map(name).collect();
        Self {
            scenario_of_leaf,
            series: BTreeMap::new(),
            load: BTreeMap::new(),
            flows: BTreeMap::new(),
            signals: Signals::default(),
            now: 0,
            cpu_ns: 0,
            connections: 0,
        }
    }

    pub(crate) fn add(&mut self, Second { load: second, signals }: &Second) {
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
        self.cpu_ns += second.generator.iter().map(|worker| worker.busy_ns).sum::<u64>();
        self.connections = second.generator.iter().map(|worker| worker.connections).sum();
    }

    pub(crate) fn load_by_scenario(&self) -> impl Iterator<Item = (&Arc<str>, &LoadTotals)> {
        self.load.iter()
    }

    /// Every metric that has a point.
    pub(crate) fn families(&self) -> Vec<Family<'_>> {
        use Kind::{Counter, Gauge};
        use Unit::{Bytes, One, Seconds};
        let mut all = Vec::new();
        for (kind, outcomes, times) in SERIES {
            all.push(self.outcomes(*kind, outcomes));
            if let Some((stem, help)) = *times {
                all.push(self.times(*kind, stem, help));
            }
        }
        let bytes = |stem, help, of: fn(&SeriesTotals) -> u64| {
            let requests = self.of_kind(SeriesKind::Request);
            family(stem, help, Counter, Bytes, requests.map(|(key, series)| (labels(key), Value::Number(of(series) as f64))).collect())
        };
        all.push(bytes("sent", "Bytes of requests.", |series| series.sent));
        all.push(bytes("received", "Bytes of answers.", |series| series.received));
        let load = |stem, help, kind, of: fn(&LoadTotals) -> u64| {
            let points =
                self.load.iter().map(|(scenario, load)| (vec![("scenario", Arc::clone(scenario))], Value::Number(of(load) as f64)));
            family(stem, help, kind, One, points.collect())
        };
        all.push(load("arrivals_due", "Arrivals that came due.", Counter, |load| load.due));
        all.push(load("iterations_started", "Iterations that started.", Counter, |load| load.started));
        all.push(load("users_active", "Users with an iteration running.", Gauge, |load| load.active));
        all.push(load("users_asked", "Users that the load profile asks for.", Gauge, |load| load.asked));
        all.push(load("arrivals_waiting", "Arrivals that are due and wait for a free user.", Gauge, |load| load.waiting));
        all.extend(self.flow_families());
        all.extend(self.signals.families(self.now));
        let cpu = Value::Number(self.cpu_ns as f64 / 1e9);
        all.push(family("generator_cpu", "CPU time of the load generator's workers.", Counter, Seconds, vec![(Vec::new(), cpu)]));
        let open = Value::Number(self.connections as f64);
        all.push(family("connections", "Connections that the load generator holds open.", Gauge, One, vec![(Vec::new(), open)]));
        all.retain(|family| !family.points.is_empty());
        all
    }

    fn flow_families(&self) -> [Family<'_>; 5] {
        let points = |of: fn(&FlowTotals) -> Value<'_>| -> Vec<(Labels, Value<'_>)> {
            self.flows.iter().map(|(name, flow)| (vec![("flow", Arc::clone(name))], of(flow))).collect()
        };
        let ended = self.flows.iter().flat_map(|(name, flow)| {
            [("finished", flow.finished), ("timeout", flow.timed_out)]
                .map(|(outcome, count)| (vec![("flow", Arc::clone(name)), ("outcome", outcome.into())], Value::Number(count as f64)))
        });
        let (started, open) = ("Journeys that started.", "Journeys that started and have not ended.");
        [
            family("flows_started", started, Kind::Counter, Unit::One, points(|flow| Value::Number(flow.started as f64))),
            family("flows", "Journeys that finished, or were given up.", Kind::Counter, Unit::One, ended.collect()),
            family("flow_time", "End-to-end time of journeys.", Kind::Histogram, Unit::Seconds, points(|flow| Value::Times(&flow.time))),
            family("flows_open", open, Kind::Gauge, Unit::One, points(|flow| Value::Number(flow.backlog as f64))),
            family(
                "flow_oldest",
                "Age of the oldest open journey.",
                Kind::Gauge,
                Unit::Seconds,
                points(|flow| Value::Number(flow.oldest_ns as f64 / 1e9)),
            ),
        ]
    }

    fn of_kind(&self, kind: SeriesKind) -> impl Iterator<Item = (&SeriesKey, &SeriesTotals)> {
        self.series.iter().filter(move |(key, _)| key.kind == kind)
    }

    fn outcomes(&self, kind: SeriesKind, (stem, help): &(&'static str, &'static str)) -> Family<'_> {
        let mut points = Vec::new();
        for (key, series) in self.of_kind(kind) {
            for (outcome, count) in &series.outcomes {
                let mut labels = labels(key);
                labels.push(("outcome", name_of(*outcome).into()));
                points.push((labels, Value::Number(*count as f64)));
            }
        }
        family(stem, help, Kind::Counter, Unit::One, points)
    }

    fn times(&self, kind: SeriesKind, stem: &'static str, help: &'static str) -> Family<'_> {
        let points = self.of_kind(kind).map(|(key, series)| (labels(key), Value::Times(&series.response))).collect();
        family(stem, help, Kind::Histogram, Unit::Seconds, points)
    }
}

type Named = (&'static str, &'static str);

/// What is counted by outcome, and whose times are kept.
const SERIES: &[(SeriesKind, Named, Option<Named>)] = &[
    (
        SeriesKind::Request,
        ("requests", "Requests that ended."),
        Some(("response_time", "Response time of requests, from when they were due.")),
    ),
    (SeriesKind::Group, ("groups", "Groups that ended."), Some(("group_time", "Time of groups."))),
    (SeriesKind::Iteration, ("iterations", "Iterations that ended."), Some(("iteration_time", "Time of iterations."))),
    (SeriesKind::Check, ("checks", "Checks of answers."), None),
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

fn family<'a>(stem: &'static str, help: &'static str, kind: Kind, unit: Unit, points: Vec<(Labels, Value<'a>)>) -> Family<'a> {
    Family { stem, help, kind, unit, points }
}

/// `scenario`, `group` (inside one) and `name` (where it is not the scenario's own).
pub(crate) fn labels(key: &SeriesKey) -> Labels {
    let mut labels = vec![("scenario", Arc::clone(&key.scenario))];
    if !key.group.is_empty() {
        labels.push(("group", Arc::clone(&key.group)));
    }
    if key.kind != SeriesKind::Iteration {
        labels.push(("name", Arc::clone(&key.name)));
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
        Outcome::Tls => "tls",
        Outcome::Protocol => "protocol",
        Outcome::Script => "script",
        Outcome::PortsExhausted => "ports_exhausted",
        Outcome::DescriptorsExhausted => "descriptors_exhausted",
        Outcome::Interrupted => "interrupted",
    }
}
