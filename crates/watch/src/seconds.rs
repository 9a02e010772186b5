//! Turns entries of a record into the seconds of a run, as the engine produces them for its own load.
//!
//! An entry arrives after its request has ended, so a second is complete only some time after its end: when the record has reached a time
//! [`HELD_SECONDS`] later. Until then it is open, and takes the requests that ended in it and the starts of requests that ended later. Memory does not
//! depend on the length of the record.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use loadstone_metrics::{
    Histogram, LeafChange, LeafSlice, MarkKind, Nanos, Outcome, RecordSlice, Recorder, Sample, SeriesId, SeriesKey, SeriesKind, Snapshot,
    StatedPercentile, StatedTimes,
};
use loadstone_plan::LoadModel;
use loadstone_units::text;

use crate::entry::{Entry, RecordTime, Timed};
use crate::wall_clock::WallClock;

/// Seconds that stay open after the record has passed them. A request of at most this time is counted where it started.
pub const HELD_SECONDS: u32 = 10;
/// Time by which an entry may be ahead of the clock. Nanoseconds.
const AHEAD_NS_MAX: i128 = 2_000_000_000;
/// Distinct names that are looked up. Later ones share one series.
const NAMES_MAX: usize = 10_000;
/// Bytes of an unreadable line that are shown.
const SHOWN_BYTES_MAX: usize = 200;

const S: u64 = 1_000_000_000;

/// How the entries are to be counted.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    pub(crate) scenario: Arc<str>,
    pub(crate) model: LoadModel,
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
    users: BTreeMap<u32, u64>,
    /// Requests that had started and not ended at the end of the last completed second.
    in_flight: u64,
    record: RecordSlice,
    /// Times of all requests as the tool's own summary counts them.
    times_of_tool: Histogram,
    /// The latest end of an entry.
    reached: Nanos,
    ends_at: Option<Nanos>,
    has_begun: bool,
}

struct OpenSecond {
    recorder: Recorder,
    ids: Vec<Option<SeriesId>>,
    due: u64,
    started: u64,
    ended: u64,
    failed: u64,
    dropped: u64,
    in_flight_ns: u64,
    users: BTreeMap<u32, u64>,
    first_start: Option<Nanos>,
}

/// The series of a run by name, so that an entry allocates nothing.
#[derive(Default)]
struct NameBook {
    numbers: HashMap<String, usize>,
    keys: Vec<SeriesKey>,
    wanted: String,
}

impl NameBook {
    fn number(&mut self, scenario: &Arc<str>, kind: SeriesKind, group: &str, name: &str) -> usize {
        self.wanted.clear();
        self.wanted.push(char::from(b'0' + kind as u8));
        self.wanted.push_str(group);
        self.wanted.push('\u{1f}');
        self.wanted.push_str(name);
        if let Some(number) = self.numbers.get(&self.wanted) {
            return *number;
        }
        if self.numbers.len() >= NAMES_MAX && name != Recorder::OTHER {
            return self.number(scenario, kind, "", Recorder::OTHER);
        }
        self.keys.push(SeriesKey { kind, scenario: Arc::clone(scenario), group: group.into(), name: name.into() });
        self.numbers.insert(self.wanted.clone(), self.keys.len() - 1);
        self.keys.len() - 1
    }
}

impl RecordedSeconds {
    pub(crate) fn new(counting: Counting, clock: WallClock, started_at: Nanos) -> Self {
        Self {
            counting,
            open: VecDeque::new(),
            pool: Vec::new(),
            first: 0,
            clock,
            started_at,
            names: NameBook::default(),
            users: BTreeMap::new(),
            in_flight: 0,
            record: RecordSlice::default(),
            times_of_tool: Histogram::new(),
            reached: 0,
            ends_at: None,
            has_begun: false,
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
            let start = &line[..line.len().min(4 * SHOWN_BYTES_MAX)];
            let shown = String::from_utf8_lossy(start);
            self.record.unreadable_line = Some(text::printable(&text::bounded(&shown, SHOWN_BYTES_MAX)).into_owned());
            self.record.unreadable_at = Some(at()).filter(|at| !at.is_empty()).map(|at| text::stored(&at).into_owned());
        }
    }

    /// Adds an entry that was read at `now`, and passes on the seconds that it completes.
    pub(crate) fn take(&mut self, entry: &Entry<'_>, now: Nanos, complete: &mut dyn FnMut(Snapshot)) {
        let at = match entry {
            Entry::Request(timed) | Entry::Group(timed) | Entry::Iteration(timed) => timed.ended,
            Entry::Check { at, .. } | Entry::Users { at, .. } | Entry::Dropped { at, .. } => *at,
            Entry::Stated { metric, percentiles } => return self.stated(None, metric, percentiles),
            Entry::Sampled { share } => {
                self.record.sampled_share = Some(*share);
                return;
            }
            Entry::Unreadable(part) => return self.unreadable(part, String::new),
        };
        let at = match at {
            RecordTime::Wall(wall_ns) => self.clock.instant(wall_ns),
            RecordTime::SinceStart(ns) => i128::from(self.started_at) + i128::from(ns),
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
        self.record.entries += 1;
        self.reached = self.reached.max(at);
        while self.reached / S > u64::from(self.first + HELD_SECONDS) {
            complete(self.complete_first(None));
        }
        match entry {
            Entry::Request(timed) => {
                self.timed(SeriesKind::Request, timed, at);
                self.times_of_tool.record(timed.stated_ns.unwrap_or(timed.duration_ns));
                if !self.counting.has_iterations {
                    self.leaf(timed, at);
                }
                self.add_in_flight(at.saturating_sub(timed.duration_ns), at);
            }
            Entry::Group(timed) => self.timed(SeriesKind::Group, timed, at),
            Entry::Iteration(timed) => {
                self.timed(SeriesKind::Iteration, timed, at);
                self.leaf(timed, at);
            }
            Entry::Check { name, group, passed, .. } => {
                let number = self.names.number(&self.counting.scenario, SeriesKind::Check, group, name);
                let key = self.names.keys[number].clone();
                let second = self.second(at);
                let id = second.id(number, &key);
                second.recorder.check(id, *passed);
            }
            Entry::Users { source, count, .. } => _ = self.second(at).users.insert(*source, *count),
            Entry::Dropped { count, .. } => {
                self.record.dropped += count;
                self.second(at).dropped += count;
            }
            Entry::Stated { .. } | Entry::Sampled { .. } | Entry::Unreadable(_) => {}
        }
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
        let name = if kind == SeriesKind::Iteration { &*self.counting.scenario } else { timed.name };
        let number = self.names.number(&self.counting.scenario, kind, timed.group, name);
        let key = self.names.keys[number].clone();
        let is_before = ended / S < u64::from(self.first);
        self.record.ended_early += u64::from(is_before && kind == SeriesKind::Request);
        let started = ended.saturating_sub(timed.duration_ns);
        let sample = Sample {
            scheduled: started.saturating_sub(timed.late_ns),
            started,
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
        if timed.outcome.is_failure() && kind == SeriesKind::Request {
            let of_status = format!("status {}", timed.status);
            let message = if timed.message.is_empty() && timed.status > 0 { of_status.as_str() } else { timed.message };
            second.recorder.failed(id, &sample, message);
        }
    }

    /// Counts the start and the end of what is the unit of the load.
    fn leaf(&mut self, timed: &Timed<'_>, ended: Nanos) {
        let started = ended.saturating_sub(timed.duration_ns);
        if started / S < u64::from(self.first) {
            self.record.started_early += 1;
        }
        self.second(started.saturating_sub(timed.late_ns)).due += 1;
        let second = self.second(started);
        second.started += 1;
        second.first_start = Some(second.first_start.map_or(started, |first| first.min(started)));
        let second = self.second(ended);
        second.ended += 1;
        second.failed += u64::from(timed.outcome != Outcome::Passed);
    }

    fn add_in_flight(&mut self, started: Nanos, ended: Nanos) {
        let mut from = started.max(u64::from(self.first) * S);
        while from < ended {
            let to = ended.min((from / S + 1) * S);
            self.second(from).in_flight_ns += to - from;
            from = to;
        }
    }

    /// The open second that contains this instant, or the first open one after it.
    fn second(&mut self, at: Nanos) -> &mut OpenSecond {
        let index = (at / S).saturating_sub(u64::from(self.first)) as usize;
        while self.open.len() <= index {
            let (recorder, ids) = self.pool.pop().unwrap_or_else(|| (Recorder::new(0, self.counting.series_max), Vec::new()));
            self.open.push_back(OpenSecond {
                recorder,
                ids,
                due: 0,
                started: 0,
                ended: 0,
                failed: 0,
                dropped: 0,
                in_flight_ns: 0,
                users: BTreeMap::new(),
                first_start: None,
            });
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
        self.first += 1;
        self.users.append(&mut second.users);
        self.in_flight = (self.in_flight + second.started).saturating_sub(second.ended);
        let mut snapshot = second.recorder.drain(number, begin, end_ns);
        let users = match (self.counting.model, self.users.is_empty()) {
            (LoadModel::Arrivals, _) => self.in_flight,
            (LoadModel::Users, false) => self.users.values().sum(),
            // Nothing states the users: the requests in flight are a lower bound.
            (LoadModel::Users, true) => self.counting.users.unwrap_or_else(|| second.in_flight_ns.div_ceil(S)),
        };
        let is_open = self.counting.model == LoadModel::Arrivals;
        let mut leaf = LeafSlice {
            started: second.started,
            ended: second.ended,
            failed: second.failed,
            arrivals_due: if is_open { second.due + second.dropped } else { 0 },
            users_asked: if is_open { 0 } else { users },
            users_active: users,
            users_peak: users,
            active_ns: if is_open { second.in_flight_ns } else { users * (end_ns - begin) },
            ..LeafSlice::default()
        };
        if !self.has_begun && (second.started > 0 || end.is_some()) {
            self.has_begun = true;
            let at = second.first_start.unwrap_or(begin);
            leaf.changes.push(LeafChange::Began { at, scenario: Arc::clone(&self.counting.scenario) });
            snapshot.marks.push(loadstone_metrics::Mark { at, kind: MarkKind::LeafBegan, text: self.counting.scenario.to_string() });
        }
        if end.is_some() {
            leaf.changes.push(LeafChange::LoadEnded { at: self.reached });
        }
        snapshot.leaves = vec![leaf];
        if let Some(generator) = snapshot.generator.first_mut() {
            (generator.wall_ns, generator.in_flight_ns) = (end_ns - begin, second.in_flight_ns);
        }
        snapshot.record = Some(std::mem::take(&mut self.record));
        self.pool.push((second.recorder, second.ids));
        snapshot
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
