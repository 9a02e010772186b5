//! Turns entries of a record into the seconds of a run, as the engine produces them for its own load.
//!
//! An entry arrives after its request has ended, so a second is complete only some time after its end: when the record has reached a time
//! [`HELD_SECONDS`] later. Until then it is open, and takes the requests that ended in it and the starts of requests that ended later. Memory does not
//! depend on the length of the record.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use loadstone_metrics::{
    Histogram, LeafChange, LeafSlice, MarkKind, Nanos, ProxyDelays, RecordSlice, Recorder, Sample, SeriesId, SeriesKey, SeriesKind,
    Snapshot, StatedPercentile, StatedTimes,
};
use loadstone_plan::LoadModel;
use loadstone_units::text;

use crate::entry::{Entry, RecordTime, Timed};
use crate::late_starts::StartCounts;
use crate::series_names::{NameBook, SeriesOf, TagBook};
use crate::tool_scenarios::ToolScenario;
use crate::wall_clock::WallClock;

/// Seconds that stay open after the record has passed them. A request of at most this time is counted where it started.
pub const HELD_SECONDS: u32 = 10;
/// Time by which an entry may be ahead of the clock. Nanoseconds.
const AHEAD_NS_MAX: i128 = 2_000_000_000;
/// Bytes of an unreadable line that are shown.
const SHOWN_BYTES_MAX: usize = 200;

const S: u64 = 1_000_000_000;

/// How the entries are to be counted.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    /// Entries without a scenario belong to it, if the tool has several.
    pub(crate) tool: Arc<str>,
    /// At least one. Of one alone, all entries are part.
    pub(crate) scenarios: Vec<ToolScenario>,
    pub(crate) has_iterations: bool,
    /// The tool's constant number of users, where the record does not have it.
    pub(crate) users: Option<u64>,
    pub(crate) series_max: u32,
    /// The smallest difference of times in the record. Times are cut to it. Nanoseconds.
    pub(crate) resolution_ns: u64,
}

/// The open seconds of a run.
pub(crate) struct RecordedSeconds {
    counting: Counting,
    open: VecDeque<OpenSecond>,
    /// Recorders of completed seconds, for reuse.
    pool: Vec<(Recorder, Vec<Option<SeriesId>>)>,
    /// The number of the first open second.
    first: u32,
    clock: WallClock,
    /// Where `RecordTime::SinceStart` counts from.
    started_at: Nanos,
    names: NameBook,
    tags: TagBook,
    users: BTreeMap<u32, u64>,
    /// In the order of the scenarios.
    leaves: Vec<LeafState>,
    /// When the tool's scenarios began to count, by the earliest start and the plan. `None`: nothing has started.
    test_began: Option<Nanos>,
    record: RecordSlice,
    /// Times of all requests as the tool's own summary counts them.
    times_of_tool: Histogram,
    /// The latest end of an entry.
    reached: Nanos,
    ends_at: Option<Nanos>,
}

/// One scenario so far.
#[derive(Default)]
struct LeafState {
    starts: StartCounts,
    /// Started and not ended at the end of the last completed second.
    in_flight: u64,
    has_begun: bool,
    /// The latest end of an entry.
    reached: Nanos,
}

struct OpenSecond {
    recorder: Recorder,
    ids: Vec<Option<SeriesId>>,
    leaves: Vec<LeafSecond>,
    /// Of all requests.
    in_flight_ns: u64,
    users: BTreeMap<u32, u64>,
    proxy: Option<Box<ProxyDelays>>,
}

/// One scenario in one second.
#[derive(Debug, Clone, Default)]
struct LeafSecond {
    due: u64,
    started: u64,
    ended: u64,
    failed: u64,
    dropped: u64,
    in_flight_ns: u64,
    first_start: Option<Nanos>,
}

impl RecordedSeconds {
    pub(crate) fn new(counting: Counting, clock: WallClock, started_at: Nanos) -> Self {
        let leaves = counting.scenarios.iter().map(|_| LeafState::default()).collect();
        let (names, tags) = (NameBook::new(counting.series_max as usize), TagBook::new(counting.series_max as usize));
        Self {
            counting,
            open: VecDeque::new(),
            pool: Vec::new(),
            first: 0,
            clock,
            started_at,
            names,
            tags,
            users: BTreeMap::new(),
            leaves,
            test_began: None,
            record: RecordSlice::default(),
            times_of_tool: Histogram::new(),
            reached: 0,
            ends_at: None,
        }
    }

    /// Adds a reading of both clocks. Returns the size of a step.
    pub(crate) fn observe(&mut self, reading: (Nanos, u64)) -> Option<u64> {
        let step = self.clock.observe(reading);
        self.record.clock_step_ns += step.unwrap_or(0);
        step
    }

    /// Entries that end after this instant are not part of the run.
    pub(crate) fn end_at(&mut self, at: Nanos) {
        self.ends_at = Some(at);
    }

    /// The facts about the record that the next completed second will carry.
    pub(crate) fn record(&mut self) -> &mut RecordSlice {
        &mut self.record
    }

    /// Counts a line that its reader does not understand. `at`: where it is, or an empty string.
    pub(crate) fn unreadable(&mut self, line: &[u8], at: impl FnOnce() -> String) {
        self.record.unreadable += 1;
        if self.record.unreadable_line.is_none() {
            self.record.unreadable_line = Some(shown(line));
            self.record.unreadable_at = Some(at()).filter(|at| !at.is_empty()).map(|at| text::stored(&at).into_owned());
        }
    }

    /// Adds an entry that was read at `now`, and passes on the seconds that it completes.
    pub(crate) fn take(&mut self, entry: &Entry<'_>, now: Nanos, complete: &mut dyn FnMut(Snapshot)) {
        let at = match entry {
            Entry::Request(timed) | Entry::Group(timed) | Entry::Iteration(timed) => timed.ended,
            Entry::Check { at, .. } | Entry::Users { at, .. } | Entry::Dropped { at, .. } | Entry::NoRequest { at, .. } => *at,
            Entry::Stated { metric, percentiles } => return self.stated(None, metric, percentiles),
            Entry::Target { url } => {
                self.record.target = self.record.target.take().or_else(|| origin(url));
                return;
            }
            Entry::Sampled { share } => {
                self.record.sampled_share = Some(*share);
                return;
            }
            Entry::Unreadable(part) => return self.unreadable(part, String::new),
        };
        let at = match at {
            RecordTime::Wall(wall_ns) => self.clock.instant(wall_ns),
            RecordTime::SinceStart(ns) => i128::from(self.started_at) + i128::from(ns),
            RecordTime::Run(ns) => i128::from(ns),
        };
        // A time that was cut to whole seconds may lie before the start of the run, although the request ended after it.
        let at = if at < 0 && -at < i128::from(self.counting.resolution_ns) { 0 } else { at };
        if at < 0 || at > i128::from(now) + AHEAD_NS_MAX {
            self.record.outside += 1;
            return;
        }
        let at = at as Nanos;
        if self.ends_at.is_some_and(|end| at > end) {
            return;
        }
        // The proxy and some tools state their users each second, whether they send requests or not.
        self.record.entries += u64::from(!matches!(entry, Entry::Users { .. }));
        self.reached = self.reached.max(at);
        while self.reached / S > u64::from(self.first + HELD_SECONDS) {
            complete(self.complete_first(None));
        }
        self.count(entry, at);
    }

    fn count(&mut self, entry: &Entry<'_>, at: Nanos) {
        match entry {
            Entry::Request(timed) => {
                self.timed(SeriesKind::Request, timed, at);
                self.times_of_tool.record(timed.stated_ns.unwrap_or(timed.duration_ns));
                let leaf = self.leaf_of(timed.scenario);
                if let Some(leaf) = leaf {
                    self.begins(leaf, at.saturating_sub(timed.duration_ns), at);
                    if !self.counting.has_iterations {
                        self.leaf(leaf, timed, at);
                    }
                }
                self.add_in_flight(leaf, at.saturating_sub(timed.duration_ns), at);
            }
            Entry::Group(timed) => self.timed(SeriesKind::Group, timed, at),
            Entry::Iteration(timed) => {
                self.timed(SeriesKind::Iteration, timed, at);
                if let Some(leaf) = self.leaf_of(timed.scenario) {
                    self.begins(leaf, at.saturating_sub(timed.duration_ns), at);
                    self.leaf(leaf, timed, at);
                }
            }
            Entry::Check { name, scenario, group, passed, tags, .. } => {
                let (number, key) = self.series(SeriesKind::Check, scenario, group, name);
                let tags = self.tags.known(number, tags);
                let second = self.second(at);
                let id = second.id(number, &key);
                second.recorder.check(id, *passed);
                if let Some(part) = tags.and_then(|tags| second.recorder.tagged(id, &tags)) {
                    second.recorder.check_tagged(part, *passed);
                }
            }
            Entry::Users { source, count, .. } => _ = self.second(at).users.insert(*source, *count),
            Entry::Dropped { scenario, count, .. } => {
                self.record.dropped += count;
                if let Some(leaf) = self.leaf_of(scenario) {
                    if self.counting.scenarios[leaf].has_pace() {
                        self.leaves[leaf].starts.dropped(at, self.first, *count);
                    }
                    self.second(at).leaves[leaf].dropped += count;
                }
            }
            Entry::NoRequest { line, .. } => {
                self.record.no_requests += 1;
                if self.record.no_request_line.is_none() {
                    self.record.no_request_line = Some(shown(line));
                }
            }
            Entry::Stated { .. } | Entry::Sampled { .. } | Entry::Target { .. } | Entry::Unreadable(_) => {}
        }
    }

    /// The scenario with this name. A tool with one scenario need not name it.
    fn leaf_of(&self, scenario: &str) -> Option<usize> {
        match self.counting.scenarios.as_slice() {
            [only] if scenario.is_empty() || !only.is_named => Some(0),
            all => all.iter().position(|one| *one.name == *scenario),
        }
    }

    /// The number and the key of a series.
    fn series(&mut self, kind: SeriesKind, scenario: &str, group: &str, name: &str) -> (usize, SeriesKey) {
        let scenario = match self.leaf_of(scenario) {
            Some(leaf) => Arc::clone(&self.counting.scenarios[leaf].name),
            None if scenario.is_empty() => Arc::clone(&self.counting.tool),
            None => scenario.into(),
        };
        let name = if kind == SeriesKind::Iteration { &*scenario } else { name };
        let number = self.names.number(SeriesOf { kind, scenario: &scenario, group, name });
        (number, self.names.keys[number].clone())
    }

    /// An entry of a scenario shows when the test began at the latest.
    fn begins(&mut self, leaf: usize, started: Nanos, ended: Nanos) {
        let began = started.saturating_sub(self.counting.scenarios[leaf].first_start_ns());
        self.test_began = Some(self.test_began.map_or(began, |known| known.min(began)));
        self.leaves[leaf].reached = self.leaves[leaf].reached.max(ended);
    }

    /// Adds percentiles that a tool states, next to those of the requests so far. `tool`: if it is not the one that wrote the record.
    pub(crate) fn stated(&mut self, tool: Option<&str>, metric: &str, percentiles: &[(f64, u64)]) {
        let next_to = |&(quantile, stated_ns): &(f64, u64)| {
            let recorded_ns = self.times_of_tool.quantile(quantile)?;
            Some(StatedPercentile { quantile, stated_ns, recorded_ns })
        };
        let percentiles: Vec<StatedPercentile> = percentiles.iter().filter_map(next_to).collect();
        if !percentiles.is_empty() {
            self.record.stated = Some(StatedTimes { tool: tool.map(str::to_owned), metric: metric.to_owned(), percentiles });
        }
    }

    /// Passes on seconds that ended this long ago, because the record has been silent since.
    pub(crate) fn pass(&mut self, now: Nanos, silent_seconds: u32, complete: &mut dyn FnMut(Snapshot)) {
        while u64::from(self.first + silent_seconds) < now / S {
            complete(self.complete_first(None));
        }
    }

    /// Completes everything up to the end of the run, and returns the last second.
    pub(crate) fn finish(mut self, now: Nanos, complete: &mut dyn FnMut(Snapshot)) -> Snapshot {
        let end = now.max(self.reached);
        while u64::from(self.first) < end / S {
            complete(self.complete_first(None));
        }
        self.complete_first(Some(end))
    }

    fn timed(&mut self, kind: SeriesKind, timed: &Timed<'_>, ended: Nanos) {
        let (number, key) = self.series(kind, timed.scenario, timed.group, timed.name);
        let tags = self.tags.known(number, timed.tags);
        let is_before = ended / S < u64::from(self.first);
        self.record.ended_early += u64::from(is_before && kind == SeriesKind::Request);
        let started = ended.saturating_sub(timed.duration_ns);
        // What the proxy adds delays a request as a late generator does: the response time contains it, and the service time does not.
        let proxy_ns = timed.proxy_delay.map_or(0, |delay| delay.of_request + delay.of_response);
        let sample = Sample {
            scheduled: started.saturating_sub(timed.late_ns),
            started: started + proxy_ns.min(timed.duration_ns),
            ended: started + timed.duration_ns,
            phases: timed.phases,
            outcome: timed.outcome,
            status: timed.status,
            bytes_sent: timed.bytes_sent,
            bytes_received: timed.bytes_received,
            retried: 0,
            trace: None,
        };
        let second = self.second(ended);
        let id = second.id(number, &key);
        second.recorder.record(id, &sample);
        if let Some(delay) = timed.proxy_delay {
            let delays = second.proxy.get_or_insert_default();
            delays.of_requests.record(delay.of_request);
            delays.of_responses.record(delay.of_response);
            delays.of_both.record(delay.of_request + delay.of_response);
        }
        if let Some(part) = tags.and_then(|tags| second.recorder.tagged(id, &tags)) {
            second.recorder.record_tagged(part, &sample);
        }
        if timed.outcome.is_failure() && kind == SeriesKind::Request {
            let of_status = format!("status {}", timed.status);
            let message = if timed.message.is_empty() && timed.status > 0 { of_status.as_str() } else { timed.message };
            second.recorder.failed(id, &sample, message);
        }
    }

    /// Counts the start and the end of what is the unit of the load.
    fn leaf(&mut self, leaf: usize, timed: &Timed<'_>, ended: Nanos) {
        let started = ended.saturating_sub(timed.duration_ns);
        if started / S < u64::from(self.first) {
            self.record.started_early += 1;
        }
        if self.counting.scenarios[leaf].has_pace() {
            self.leaves[leaf].starts.started(started, self.first);
        }
        self.second(started.saturating_sub(timed.late_ns)).leaves[leaf].due += 1;
        let of_start = &mut self.second(started).leaves[leaf];
        of_start.started += 1;
        of_start.first_start = Some(of_start.first_start.map_or(started, |first| first.min(started)));
        let of_end = &mut self.second(ended).leaves[leaf];
        of_end.ended += 1;
        of_end.failed += u64::from(timed.outcome.is_failure());
    }

    fn add_in_flight(&mut self, leaf: Option<usize>, started: Nanos, ended: Nanos) {
        let mut from = started.max(u64::from(self.first) * S);
        while from < ended {
            let to = ended.min((from / S + 1) * S);
            let second = self.second(from);
            second.in_flight_ns += to - from;
            if let Some(leaf) = leaf {
                second.leaves[leaf].in_flight_ns += to - from;
            }
            from = to;
        }
    }

    /// The open second that contains this instant, or the first open one after it.
    fn second(&mut self, at: Nanos) -> &mut OpenSecond {
        let index = (at / S).saturating_sub(u64::from(self.first)) as usize;
        while self.open.len() <= index {
            // The books of names and tags hold the limits over the whole run. A recorder's own limit would be one of its seconds.
            let (recorder, ids) = self.pool.pop().unwrap_or_else(|| (Recorder::new(0, u32::MAX), Vec::new()));
            let leaves = vec![LeafSecond::default(); self.counting.scenarios.len()];
            self.open.push_back(OpenSecond { recorder, ids, leaves, in_flight_ns: 0, users: BTreeMap::new(), proxy: None });
        }
        &mut self.open[index]
    }

    /// `end`: the end of the run, if this is the last second.
    fn complete_first(&mut self, end: Option<Nanos>) -> Snapshot {
        let number = self.first;
        let begin = u64::from(number) * S;
        let end_ns = end.unwrap_or(begin + S).max(begin);
        self.second(begin);
        let mut second = self.open.pop_front().expect("the line above opened it");
        self.users.append(&mut second.users);
        let mut snapshot = second.recorder.drain(number, begin, end_ns);
        for (leaf, of_leaf) in second.leaves.iter().enumerate() {
            let mut slice = self.leaf_slice(leaf, of_leaf, (begin, end_ns));
            let scenario = &self.counting.scenarios[leaf];
            let state = &mut self.leaves[leaf];
            if scenario.has_pace() {
                let began = self.test_began.map(|began| began.saturating_add(scenario.starts_after_ns));
                state.starts.complete(number, scenario, began, &mut self.record.late_starts);
            }
            let is_only = self.counting.scenarios.len() == 1;
            if !state.has_begun && (of_leaf.started > 0 || (end.is_some() && is_only)) {
                state.has_begun = true;
                let at = of_leaf.first_start.unwrap_or(begin);
                slice.changes.push(LeafChange::Began { at, scenario: Arc::clone(&scenario.name) });
                snapshot.marks.push(loadstone_metrics::Mark { at, kind: MarkKind::LeafBegan, text: scenario.name.to_string() });
            }
            if end.is_some() && state.has_begun {
                slice.changes.push(LeafChange::LoadEnded { at: if is_only { self.reached } else { state.reached } });
            }
            snapshot.leaves.push(slice);
        }
        self.first += 1;
        if let Some(generator) = snapshot.generator.first_mut() {
            (generator.wall_ns, generator.in_flight_ns) = (end_ns - begin, second.in_flight_ns);
        }
        snapshot.series_overflow += self.names.take_overflow();
        snapshot.tags_overflow += self.tags.take_overflow();
        self.record.proxy = second.proxy;
        snapshot.record = Some(std::mem::take(&mut self.record));
        self.pool.push((second.recorder, second.ids));
        snapshot
    }

    /// One scenario in the second that is completed.
    fn leaf_slice(&mut self, leaf: usize, second: &LeafSecond, (begin, end): (Nanos, Nanos)) -> LeafSlice {
        let in_flight = (self.leaves[leaf].in_flight + second.started).saturating_sub(second.ended);
        self.leaves[leaf].in_flight = in_flight;
        let is_open = self.counting.scenarios[leaf].model == LoadModel::Arrivals;
        let users = if is_open { in_flight } else { self.users_of(leaf, second, begin) };
        LeafSlice {
            leaf: leaf as u32,
            started: second.started,
            ended: second.ended,
            failed: second.failed,
            arrivals_due: if is_open { second.due + second.dropped } else { 0 },
            users_asked: if is_open { 0 } else { users },
            users_active: users,
            users_peak: users,
            active_ns: if is_open { second.in_flight_ns } else { users * (end - begin) },
            ..LeafSlice::default()
        }
    }

    /// Users of a scenario with closed load.
    fn users_of(&self, leaf: usize, second: &LeafSecond, begin: Nanos) -> u64 {
        if self.counting.scenarios.len() > 1 {
            // The tool counts the users of all scenarios together: those of each are what is planned, as long as it has requests.
            let scenario = &self.counting.scenarios[leaf];
            let is_active = begin <= self.leaves[leaf].reached;
            let began = self.test_began.filter(|_| is_active).map(|began| began.saturating_add(scenario.starts_after_ns));
            return began.map_or(0, |began| scenario.users_at((begin as f64 + S as f64 / 2.0 - began as f64) / 1e9).round() as u64);
        }
        if self.users.is_empty() {
            // Nothing states the users: the requests in flight are a lower bound.
            return self.counting.users.unwrap_or_else(|| second.in_flight_ns.div_ceil(S));
        }
        self.users.values().sum()
    }
}

impl OpenSecond {
    fn id(&mut self, number: usize, key: &SeriesKey) -> SeriesId {
        if self.ids.len() <= number {
            self.ids.resize(number + 1, None);
        }
        *self.ids[number].get_or_insert_with(|| self.recorder.series(key))
    }
}

/// `http://shop:8080` of a URL, without its credentials.
pub(crate) fn origin(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url.origin().ascii_serialization())
}

/// A line of the record as it is stored.
fn shown(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN_BYTES_MAX)]);
    text::printable(&text::bounded(&start, SHOWN_BYTES_MAX)).into_owned()
}
