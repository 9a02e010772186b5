//! The sums of a run: series, leaves and workers over the whole run.
//!
//! The memory of a [`RunTally`] grows with the number of series, not with the length of the run. Adding a slice takes time in proportion to
//! that slice. The live view and the final summary use the same tally.

use std::collections::{BTreeMap, HashMap};

use loadstone_metrics::{
    AgentSlice, ErrorGroup, GeneratorSlice, Histogram, LeafChange, MarkKind, Nanos, RecordSlice, SeriesKey, SeriesKind, SeriesSlice,
    Snapshot, TaggedSlice, Tags,
};

use crate::flows::FlowTally;
use crate::load_time::{LoadTime, LoadTimes, RateSpan};
use crate::own_metrics::MetricTallies;

/// Everything measured so far.
#[derive(Debug, Clone, Default)]
pub struct RunTally {
    series: Vec<SeriesTally>,
    index: HashMap<SeriesKey, usize>,
    leaves: Vec<LeafTally>,
    workers: Vec<WorkerTally>,
    errors: Vec<ErrorGroup>,
    flows: Vec<FlowTally>,
    load_end: Option<Nanos>,
    load_times: LoadTimes,
    /// All requests together.
    requests: RateSpan,
    seconds: SecondTotals,
    /// Number of recorded seconds, and the number after the last of them.
    recorded: u64,
    next_second: u64,
    users_max: u64,
    end: Nanos,
    series_overflow: u64,
    tags_overflow: u64,
    metrics: MetricTallies,
    tagged: BTreeMap<(SeriesKey, Tags), SeriesTally>,
    connections_opened: u64,
    tls_handshakes: u64,
    tls_resumed: u64,
    retransmits: u64,
    syn_retransmits: u64,
    agents: Vec<AgentSlice>,
    record: Option<RecordSlice>,
}

/// One series over the whole run.
#[derive(Debug, Clone)]
pub struct SeriesTally {
    pub merged: SeriesSlice,
    ended: RateSpan,
}

/// One leaf of the load tree over the whole run.
#[derive(Debug, Clone, Default)]
pub struct LeafTally {
    pub leaf: u32,
    pub arrivals_due: u64,
    pub started: u64,
    pub ended: u64,
    pub interrupted: u64,
    /// At the end of its last slice.
    pub users_active: u64,
    pub users_active_max: u64,
    /// Closed: at the end of its last slice.
    pub users_asked: u64,
    pub waiting: u64,
    /// The maximum number of arrivals that waited at the end of a slice.
    pub waiting_max: u64,
    /// Sums over slices: users that the profile asks for, and users that had an iteration in progress.
    pub users_asked_sum: u64,
    pub users_active_sum: u64,
    /// Number of slices in which the profile asks for users.
    pub slices_asked: u64,
    /// End of the first slice in which an iteration found its data used up.
    pub exhausted_at: Option<Nanos>,
    /// Arrivals that the generator started only after the end of the load because it was late.
    pub late: u64,
    /// When its load began and ended, where that is known.
    pub began: Option<Nanos>,
    pub load_ended: Option<Nanos>,
    /// Changes of its scale during the run: `(time, factor)`.
    pub scales: Vec<(Nanos, f64)>,
    /// Starts and users of each second, of a record with several scenarios.
    pub(crate) seconds: SecondTotals,
}

/// One worker of the generator over the whole run.
#[derive(Debug, Clone, Default)]
pub struct WorkerTally {
    pub worker: u32,
    pub wall_ns: u64,
    pub busy_ns: u64,
    pub run_queue_ns: u64,
    pub steal_ns: u64,
    pub throttled_ns: u64,
    pub in_flight_ns: u64,
    /// Wall time by CLOCK_MONOTONIC_RAW; 0 for all workers except worker 0.
    pub raw_ns: u64,
    /// The kernel counted neither waits for a core, steal, throttling and retransmissions, nor a second clock.
    pub lacks_kernel_counters: bool,
    pub timer_lag: Histogram,
    pub read_lag: Histogram,
    pub stalls: Histogram,
    pub collections: Histogram,
    /// Highest share of CPU over [`WorkerTally::WINDOW`] consecutive slices, 0 to 1.
    pub busiest_share: f64,
    slices: usize,
    /// `(busy, wall)` of the last slices, at most [`WorkerTally::WINDOW`].
    recent: Vec<(u64, u64)>,
}

/// The sums of each second (in a long run, of several seconds), for trends.
#[derive(Debug, Clone, Copy, Default)]
pub struct SliceTotals {
    pub slice: u32,
    /// Number of seconds in this entry.
    pub seconds: u32,
    pub start: Nanos,
    pub end: Nanos,
    pub requests: u64,
    pub failed: u64,
    pub response_sum_ns: u64,
    pub arrivals_due: u64,
    pub started: u64,
    pub users_active: u64,
    /// Of scenarios with closed load: the users that the load asks for at the end. 0 for open load, and where a number of iterations is the load.
    pub users_asked: u64,
}

impl RunTally {
    /// Maximum number of distinct errors of a run.
    const ERRORS_MAX: usize = 1000;
    pub fn push(&mut self, slice: &Snapshot) {
        self.load_times.push(slice);
        let span =
            SliceTotals { slice: slice.slice, seconds: slice.seconds(), start: slice.start, end: slice.end, ..SliceTotals::default() };
        let mut second = span;
        let is_mixed_record = slice.record.is_some() && slice.leaves.len() > 1;
        for series in &slice.series {
            if series.key.kind == SeriesKind::Request {
                second.requests += series.count;
                second.failed += series.failed;
                second.response_sum_ns += u64::try_from(series.response.sum()).unwrap_or(u64::MAX);
            }
            self.push_series(series, (slice.start, slice.end), self.load_times.of(Some(&series.key.scenario)));
        }
        self.requests.push((slice.start, slice.end), second.requests, self.load_times.of(None));
        let mut peak = 0;
        for leaf in &slice.leaves {
            peak += leaf.users_peak.max(leaf.users_active);
            second.arrivals_due += leaf.arrivals_due;
            second.started += leaf.started;
            second.users_active += leaf.users_active;
            second.users_asked += leaf.users_asked;
            let tally = self.leaf(leaf.leaf);
            tally.push(leaf, (slice.start, slice.end));
            if is_mixed_record {
                let totals = SliceTotals { started: leaf.started, users_active: leaf.users_active, ..span };
                tally.seconds.push(totals);
            }
        }
        self.users_max = self.users_max.max(peak);
        for worker in &slice.generator {
            self.connections_opened += worker.connections_opened;
            self.tls_handshakes += worker.tls_handshakes;
            self.tls_resumed += worker.tls_resumed;
            self.retransmits += worker.retransmits;
            self.syn_retransmits += worker.syn_retransmits;
            self.worker(worker.worker).push(worker);
        }
        slice.agents.iter().for_each(|agent| self.push_agent(agent));
        RecordSlice::add(&mut self.record, slice.record.clone());
        slice.errors.iter().for_each(|error| self.push_error(error));
        let load_end = slice.marks.iter().find(|mark| mark.kind == MarkKind::LoadEnded);
        self.load_end = self.load_end.or(load_end.map(|mark| mark.at));
        for flow in &slice.flows {
            let index = self.flows.iter().position(|mine| mine.merged.name == flow.name).unwrap_or_else(|| {
                self.flows.push(FlowTally::of(&flow.name));
                self.flows.len() - 1
            });
            self.flows[index].push(flow, slice, self.load_end);
        }
        self.series_overflow += slice.series_overflow;
        self.push_tagged(slice);
        self.end = self.end.max(slice.end);
        self.recorded += u64::from(second.seconds);
        self.next_second = self.next_second.max(u64::from(slice.slice) + u64::from(second.seconds));
        self.seconds.push(second);
    }

    fn push_tagged(&mut self, slice: &Snapshot) {
        let span = (slice.start, slice.end);
        self.tags_overflow += slice.tags_overflow;
        for metric in &slice.metrics {
            self.metrics.push(metric, span, self.load_times.of(None));
        }
        for TaggedSlice { tags, series } in &slice.tagged {
            let load = self.load_times.of(Some(&series.key.scenario));
            let empty = || SeriesTally { merged: SeriesSlice::new(series.key.clone()), ended: RateSpan::default() };
            let tally = self.tagged.entry((series.key.clone(), tags.clone())).or_insert_with(empty);
            tally.merged.merge(series);
            tally.ended.push(span, series.count, load);
        }
    }

    /// Adds all slices of a run.
    pub fn of(slices: &[Snapshot]) -> Self {
        let mut tally = Self::default();
        slices.iter().for_each(|slice| tally.push(slice));
        tally
    }

    fn push_series(&mut self, series: &SeriesSlice, span: (Nanos, Nanos), load: LoadTime) {
        let index = match self.index.get(&series.key) {
            Some(index) => {
                self.series[*index].merged.merge(series);
                *index
            }
            None => {
                self.index.insert(series.key.clone(), self.series.len());
                self.series.push(SeriesTally { merged: series.clone(), ended: RateSpan::default() });
                self.series.len() - 1
            }
        };
        self.series[index].ended.push(span, series.count, load);
    }

    fn push_error(&mut self, error: &ErrorGroup) {
        let is_full = self.errors.len() >= Self::ERRORS_MAX;
        let same = |mine: &ErrorGroup| mine.key == error.key && mine.outcome == error.outcome && mine.message == error.message;
        let others = |mine: &ErrorGroup| is_full && mine.is_rest;
        let index = self.errors.iter().position(same).or_else(|| self.errors.iter().position(others));
        match index {
            Some(index) => {
                let mine = &mut self.errors[index];
                mine.merge(error);
            }
            None if is_full => self.errors.push(error.clone().into_rest()),
            None => self.errors.push(error.clone()),
        }
    }

    fn leaf(&mut self, leaf: u32) -> &mut LeafTally {
        let index = self.leaves.iter().position(|mine| mine.leaf == leaf).unwrap_or_else(|| {
            self.leaves.push(LeafTally { leaf, ..LeafTally::default() });
            self.leaves.len() - 1
        });
        &mut self.leaves[index]
    }

    fn worker(&mut self, worker: u32) -> &mut WorkerTally {
        let index = self.workers.iter().position(|mine| mine.worker == worker).unwrap_or_else(|| {
            self.workers.push(WorkerTally { worker, ..WorkerTally::default() });
            self.workers.len() - 1
        });
        &mut self.workers[index]
    }

    /// All series in the order in which they first appeared.
    pub fn series(&self) -> &[SeriesTally] {
        &self.series
    }

    pub fn of_kind(&self, kind: SeriesKind) -> impl Iterator<Item = &SeriesTally> {
        self.series.iter().filter(move |series| series.merged.key.kind == kind)
    }

    /// Scenarios whose users all failed before their first iteration, in `onStart`: each with its most frequent error and the number of all its errors.
    pub(crate) fn failed_starts(&self) -> Vec<(&ErrorGroup, u64)> {
        let has_iterations =
            |name: &str| self.of_kind(SeriesKind::Iteration).any(|series| series.merged.count > 0 && *series.merged.key.name == *name);
        let mut found: Vec<(&ErrorGroup, u64)> = Vec::new();
        for error in self.errors.iter().filter(|error| error.key.kind == SeriesKind::Iteration && !has_iterations(&error.key.name)) {
            match found.iter_mut().find(|(known, _)| known.key.name == error.key.name) {
                Some((most, count)) => {
                    *count += error.count;
                    *most = if error.count > most.count { error } else { most };
                }
                None => found.push((error, error.count)),
            }
        }
        found
    }

    pub fn leaves(&self) -> &[LeafTally] {
        &self.leaves
    }

    pub fn workers(&self) -> &[WorkerTally] {
        &self.workers
    }

    pub fn errors(&self) -> &[ErrorGroup] {
        &self.errors
    }

    /// In the order of the plan.
    pub fn flows(&self) -> &[FlowTally] {
        &self.flows
    }

    /// When all load had ended, if the run continued because journeys were open.
    pub fn load_end(&self) -> Option<Nanos> {
        self.load_end
    }

    /// One entry per second. In a run of hours, an entry covers several seconds.
    pub fn seconds(&self) -> &[SliceTotals] {
        &self.seconds.entries
    }

    /// Number of seconds in which arrivals were due.
    pub(crate) fn seconds_with_arrivals(&self) -> f64 {
        self.seconds.entries.iter().filter(|second| second.arrivals_due > 0).map(|second| f64::from(second.seconds)).sum()
    }

    /// Maximum number of users that had an iteration in progress at the end of a slice.
    pub fn users_max(&self) -> u64 {
        self.users_max
    }

    /// End of the last slice. Seconds since the run began.
    pub fn duration_seconds(&self) -> f64 {
        self.end as f64 / 1e9
    }

    /// Number of missing slices: later ones were recorded.
    pub fn missing_slices(&self) -> u64 {
        // The first slice of a run is 0.
        self.next_second.saturating_sub(self.recorded)
    }

    /// Number of recorded seconds.
    pub fn recorded_seconds(&self) -> u64 {
        self.recorded
    }

    /// Number of samples with a new name after the limit on series was reached.
    pub fn series_overflow(&self) -> u64 {
        self.series_overflow
    }

    /// Number of values and samples with new tags after their limit was reached.
    pub fn tags_overflow(&self) -> u64 {
        self.tags_overflow
    }

    pub(crate) fn metrics(&self) -> &MetricTallies {
        &self.metrics
    }

    /// The parts of series by their tags.
    pub(crate) fn tagged(&self) -> impl Iterator<Item = (&Tags, &SeriesTally)> {
        self.tagged.iter().map(|((_, tags), tally)| (tags, tally))
    }

    /// TLS handshakes, and those of them that resumed a session.
    pub(crate) fn tls_handshakes(&self) -> (u64, u64) {
        (self.tls_handshakes, self.tls_resumed)
    }

    pub fn connections_opened(&self) -> u64 {
        self.connections_opened
    }

    /// The agents of a fleet, each with its largest clock skew; empty without a fleet.
    pub fn agents(&self) -> &[AgentSlice] {
        &self.agents
    }

    /// What the record of another tool showed about itself. `None`: Loadstone generated the load.
    pub(crate) fn record(&self) -> Option<&RecordSlice> {
        self.record.as_ref()
    }

    fn push_agent(&mut self, slice: &AgentSlice) {
        let Some(mine) = self.agents.iter_mut().find(|mine| mine.agent == slice.agent) else { return self.agents.push(slice.clone()) };
        let lost = mine.lost || slice.lost;
        if slice.skew_max_ns() > mine.skew_max_ns() {
            *mine = slice.clone();
        }
        mine.lost = lost;
    }

    /// TCP segments that the machine retransmitted.
    pub fn retransmits(&self) -> u64 {
        self.retransmits
    }

    /// SYN retransmissions of the machine.
    pub fn syn_retransmits(&self) -> u64 {
        self.syn_retransmits
    }

    /// All series of a kind together; `None` when there is none.
    pub fn together(&self, kind: SeriesKind) -> Option<SeriesSlice> {
        let mut all = self.of_kind(kind);
        let mut together = all.next()?.merged.clone();
        all.for_each(|series| together.merge(&series.merged));
        Some(together)
    }

    /// Requests ended per second; 0 without any.
    pub fn request_rate(&self) -> f64 {
        let (count, sum) = self
            .of_kind(SeriesKind::Request)
            .fold((0, 0), |(count, sum), series| (count + series.merged.response.count(), sum + series.merged.response.sum()));
        self.requests.rate(sum as f64 / count.max(1) as f64).unwrap_or(0.0)
    }
}

impl SeriesTally {
    /// Events ended per second, over the time span that docs/metrics.md defines.
    pub fn rate(&self) -> f64 {
        self.ended.rate(self.merged.response.mean().unwrap_or(0.0)).unwrap_or(0.0)
    }
}

/// The sums of the seconds of a run, or of a leaf. Its memory is bounded.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecondTotals {
    entries: Vec<SliceTotals>,
    /// Number of seconds in each entry. 0: one.
    entry_seconds: u32,
}

impl SecondTotals {
    /// Maximum number of entries. Beyond it, neighbours are merged.
    const ENTRIES_MAX: usize = 9_000;

    fn push(&mut self, second: SliceTotals) {
        if let Some(last) = self.entries.last_mut()
            && last.seconds < self.entry_seconds
        {
            *last = SliceTotals::merged(&[*last, second]);
            return;
        }
        if self.entries.len() == Self::ENTRIES_MAX {
            self.entry_seconds = 2 * self.entry_seconds.max(1);
            self.entries = self.entries.chunks(2).map(SliceTotals::merged).collect();
        }
        self.entries.push(second);
    }
}

impl SliceTotals {
    /// Merges neighbours; levels are those of the later entry.
    fn merged(neighbours: &[SliceTotals]) -> SliceTotals {
        neighbours[1..].iter().fold(neighbours[0], |before, later| SliceTotals {
            slice: before.slice,
            seconds: before.seconds + later.seconds,
            start: before.start,
            end: later.end,
            requests: before.requests + later.requests,
            failed: before.failed + later.failed,
            response_sum_ns: before.response_sum_ns + later.response_sum_ns,
            arrivals_due: before.arrivals_due + later.arrivals_due,
            started: before.started + later.started,
            users_active: later.users_active,
            users_asked: later.users_asked,
        })
    }
}

impl LeafTally {
    /// Starts and users of each second. Empty unless the load is that of another tool with several scenarios.
    pub(crate) fn seconds(&self) -> &[SliceTotals] {
        &self.seconds.entries
    }

    fn push(&mut self, slice: &loadstone_metrics::LeafSlice, (start, end): (Nanos, Nanos)) {
        self.arrivals_due += slice.arrivals_due;
        self.started += slice.started;
        self.ended += slice.ended;
        self.interrupted += slice.interrupted;
        self.users_active = slice.users_active;
        self.users_asked = slice.users_asked;
        self.users_active_max = self.users_active_max.max(slice.users_active);
        self.waiting = slice.waiting;
        self.waiting_max = self.waiting_max.max(slice.waiting_most());
        if slice.users_asked > 0 {
            self.users_asked_sum += slice.users_asked;
            self.users_active_sum += slice.users_active;
            self.slices_asked += 1;
        }
        if slice.exhausted {
            self.exhausted_at = Some(self.exhausted_at.map_or(end, |at| at.min(end)));
        }
        for change in &slice.changes {
            match change {
                LeafChange::Began { at, .. } => self.began = Some(*at),
                LeafChange::Scaled { at, factor } => self.scales.push((*at, *factor)),
                LeafChange::LoadEnded { at } => self.load_ended = Some(*at),
            }
        }
        // A late generator starts the remaining arrivals evenly. Of the second in which the load ended, this is the share after its end.
        let after_ns = self.load_ended.map_or(0, |ended| end.saturating_sub(ended.max(start)));
        self.late += (slice.held_back as f64 * after_ns as f64 / end.saturating_sub(start).max(1) as f64).round() as u64;
    }
}

impl WorkerTally {
    /// Number of slices of [`WorkerTally::busiest_share`]: long enough to smooth out start-up (compiling a script), short enough to show a
    /// saturated stage.
    pub const WINDOW: usize = 10;

    fn push(&mut self, slice: &GeneratorSlice) {
        self.wall_ns += slice.wall_ns;
        self.busy_ns += slice.busy_ns;
        self.run_queue_ns += slice.run_queue_ns;
        self.steal_ns += slice.steal_ns;
        self.throttled_ns += slice.throttled_ns;
        self.in_flight_ns += slice.in_flight_ns;
        self.raw_ns += slice.raw_ns;
        self.lacks_kernel_counters |= slice.lacks_kernel_counters;
        self.timer_lag.merge(&slice.timer_lag);
        self.read_lag.merge(&slice.read_lag);
        self.stalls.merge(&slice.stalls);
        self.collections.merge(&slice.collections);
        if self.recent.len() == Self::WINDOW {
            self.recent.remove(0);
        }
        self.recent.push((slice.busy_ns, slice.wall_ns));
        let (busy, wall) = self.recent.iter().fold((0, 0), |(busy, wall), slice| (busy + slice.0, wall + slice.1));
        let share = if wall > 0 { busy as f64 / wall as f64 } else { 0.0 };
        // Until the first window is full, the mean so far is used.
        self.slices += 1;
        self.busiest_share = if self.slices <= Self::WINDOW { share } else { self.busiest_share.max(share) };
    }
}
