//! Owns a worker's measurements. Recording takes no lock and, after a series was created, allocates nothing.

use std::collections::HashMap;

use loadstone_units::text::stored;

use crate::clock::Nanos;
use crate::error_cause::ErrorText;
use crate::failure_sample::{FailureSample, SampledKinds};
use crate::flow::FlowEvent;
use crate::outcome::Outcome;
use crate::own_metric::{MetricBook, MetricId, MetricSlice};
use crate::sample::Sample;
use crate::series::{SeriesId, SeriesKey, SeriesKind};
use crate::snapshot::{ErrorGroup, GeneratorSlice, LeafChange, LeafSlice, Mark, MarkKind, SeriesSlice, SlowSample, Snapshot};
use crate::tagged::{TaggedBook, TaggedId};
use crate::tags::Tags;
use crate::trace::TraceId;

/// Collects the measurements of one worker. It is drained once a second.
#[derive(Debug)]
pub struct Recorder {
    series_max: usize,
    index: HashMap<SeriesKey, SeriesId>,
    series: Vec<SeriesSlice>,
    leaves: Vec<LeafSlice>,
    leaf_since: Vec<Nanos>,
    generator: GeneratorSlice,
    errors: Vec<ErrorGroup>,
    sampled: SampledKinds,
    slow: Vec<SlowSample>,
    slow_floor_ns: u64,
    marks: Vec<Mark>,
    flow_events: Vec<FlowEvent>,
    overflow: u64,
    metrics: MetricBook,
    tagged: TaggedBook,
    tags_overflow: u64,
    in_flight: u64,
    in_flight_since: Nanos,
    /// The part of the integral that was counted too much, before the current slice. Request-nanoseconds.
    in_flight_owed: u64,
}

impl Recorder {
    pub const OTHER: &'static str = "(other)";

    pub fn new(worker: u32, series_max: u32) -> Self {
        Self {
            series_max: series_max as usize,
            index: HashMap::new(),
            series: Vec::new(),
            leaves: Vec::new(),
            leaf_since: Vec::new(),
            generator: GeneratorSlice { worker, ..GeneratorSlice::default() },
            errors: Vec::new(),
            sampled: SampledKinds::default(),
            slow: Vec::new(),
            slow_floor_ns: 0,
            marks: Vec::new(),
            flow_events: Vec::new(),
            overflow: 0,
            metrics: MetricBook::default(),
            tagged: TaggedBook::default(),
            tags_overflow: 0,
            in_flight: 0,
            in_flight_since: 0,
            in_flight_owed: 0,
        }
    }

    /// The id of a series, which is created if it is new. Beyond the bound: the scenario's `(other)` series of that kind.
    pub fn series(&mut self, key: &SeriesKey) -> SeriesId {
        if let Some(id) = self.index.get(key) {
            return *id;
        }
        if let Some(stored) = key.stored() {
            return self.series(&stored);
        }
        if self.series.len() >= self.series_max && &*key.name != Self::OTHER {
            self.overflow += 1;
            let other = SeriesKey { name: Self::OTHER.into(), group: "".into(), ..key.clone() };
            return self.series(&other);
        }
        let id = SeriesId(self.series.len() as u32);
        self.series.push(SeriesSlice::new(key.clone()));
        self.index.insert(key.clone(), id);
        id
    }

    pub fn key(&self, id: SeriesId) -> &SeriesKey {
        &self.series[id.0 as usize].key
    }

    pub fn record(&mut self, id: SeriesId, sample: &Sample) {
        let series = &mut self.series[id.0 as usize];
        series.record(sample);
        let is_timed = sample.outcome != Outcome::Interrupted && !sample.outcome.is_unsent();
        if sample.response_ns() > self.slow_floor_ns && is_timed && series.key.kind == SeriesKind::Request {
            self.keep_slow(id, sample);
        }
    }

    /// The part of a series with these tags. `None`: the limit on separate tags is reached, and the loss is counted.
    pub fn tagged(&mut self, id: SeriesId, tags: &Tags) -> Option<TaggedId> {
        let tagged = self.tagged.id(id, &self.series[id.0 as usize].key, tags, self.series_max);
        self.tags_overflow += u64::from(tagged.is_none());
        tagged
    }

    /// Records a sample in a tagged part, in addition to [`Recorder::record`].
    pub fn record_tagged(&mut self, id: TaggedId, sample: &Sample) {
        self.tagged.record(id, sample);
    }

    /// Counts a check in a tagged part, in addition to [`Recorder::check`].
    pub fn check_tagged(&mut self, id: TaggedId, passed: bool) {
        self.tagged.check(id, passed);
    }

    /// The id of a custom metric, or of a tagged part of it, which is created from `empty` if it is new. `None` as for [`Recorder::tagged`].
    pub fn metric(&mut self, empty: &MetricSlice) -> Option<MetricId> {
        let id = self.metrics.id(empty, self.series_max);
        self.tags_overflow += u64::from(id.is_none());
        id
    }

    /// `value` is finite. For a rate, any value except zero is a hit.
    pub fn record_metric(&mut self, id: MetricId, at: Nanos, value: f64) {
        self.metrics.record(id, at, value);
    }

    #[cold]
    fn keep_slow(&mut self, id: SeriesId, sample: &Sample) {
        let phases = &sample.phases;
        let slow = SlowSample {
            key: self.series[id.0 as usize].key.clone(),
            started: sample.started,
            response_ns: sample.response_ns(),
            queue_ns: phases.queue,
            dns_ns: phases.dns,
            connect_ns: phases.connect,
            tls_ns: phases.tls,
            wait_ns: phases.wait,
            body_ns: phases.body,
            status: sample.status,
            outcome: sample.outcome,
            trace: sample.trace,
        };
        let place = self.slow.partition_point(|kept| kept.response_ns >= slow.response_ns);
        self.slow.insert(place, slow);
        self.slow.truncate(Snapshot::SLOW_MAX);
        if self.slow.len() == Snapshot::SLOW_MAX {
            self.slow_floor_ns = self.slow.last().map_or(0, |kept| kept.response_ns);
        }
    }

    /// Counts a `check` under its series.
    pub fn check(&mut self, id: SeriesId, passed: bool) {
        self.series[id.0 as usize].check(passed);
    }

    /// Counts a script error of an iteration. [`Recorder::error`] records its message.
    pub fn script_error(&mut self, id: SeriesId) {
        self.series[id.0 as usize].script_errors += 1;
    }

    /// Adds an error to the list of errors. `message` must omit the parts that differ from case to case.
    ///
    /// Messages may contain text of the target: they are stored bounded and printable, here and below.
    pub fn error<'m>(&mut self, id: SeriesId, outcome: Outcome, at: Nanos, error: impl Into<ErrorText<'m>>) {
        self.keep_error(id, outcome, at, error.into(), None);
    }

    /// Records why a sample failed and, for the first few of each kind, the response.
    pub fn failed_with<'m>(
        &mut self,
        id: SeriesId,
        sample: &Sample,
        error: impl Into<ErrorText<'m>>,
        answer: impl FnOnce() -> FailureSample,
    ) {
        let error = error.into();
        self.keep_error(id, sample.outcome, sample.ended, error, sample.trace);
        let message = &*stored(error.message);
        if self.sampled.take(id.0, sample.outcome, message)
            && let Some(error) = self.known_error(id, sample.outcome, message)
        {
            error.samples.push(FailureSample { at: sample.ended, ..answer() });
        }
    }

    fn known_error(&mut self, id: SeriesId, outcome: Outcome, message: &str) -> Option<&mut ErrorGroup> {
        let key = &self.series[id.0 as usize].key;
        self.errors.iter_mut().find(|error| error.outcome == outcome && &*error.message == message && error.key == *key)
    }

    /// Records why a sample failed.
    pub fn failed<'m>(&mut self, id: SeriesId, sample: &Sample, error: impl Into<ErrorText<'m>>) {
        self.keep_error(id, sample.outcome, sample.ended, error.into(), sample.trace);
    }

    fn keep_error(&mut self, id: SeriesId, outcome: Outcome, at: Nanos, error: ErrorText<'_>, trace: Option<TraceId>) {
        let message = &*stored(error.message);
        if let Some(error) = self.known_error(id, outcome, message) {
            error.count += 1;
            return;
        }
        if self.errors.len() < Snapshot::ERRORS_MAX {
            let key = self.series[id.0 as usize].key.clone();
            self.errors.push(ErrorGroup { cause: error.cause, trace, ..ErrorGroup::new(key, outcome, message, at) });
        } else {
            self.error_other(id, outcome, at);
        }
    }

    fn error_other(&mut self, id: SeriesId, outcome: Outcome, at: Nanos) {
        match self.errors.iter_mut().find(|error| error.is_rest) {
            Some(error) => error.count += 1,
            None => {
                let key = self.series[id.0 as usize].key.clone();
                self.errors.push(ErrorGroup::new(key, outcome, "", at).into_rest());
            }
        }
    }

    /// Counts one more request in flight. This count is independent of the samples, so that the two can be compared.
    ///
    /// Begins and ends need not come in the order of their instants. In a long turn, a response that was read early may be recorded after a request
    /// that began later.
    pub fn request_began(&mut self, at: Nanos) {
        self.integrate_in_flight(at);
        self.in_flight += 1;
        self.add_in_flight(self.in_flight_since - at);
    }

    pub fn request_ended(&mut self, at: Nanos) {
        self.integrate_in_flight(at);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.in_flight_owed += self.in_flight_since - at;
        self.add_in_flight(0);
    }

    /// Number of requests that have begun and not ended.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    fn integrate_in_flight(&mut self, at: Nanos) {
        self.add_in_flight(self.in_flight * at.saturating_sub(self.in_flight_since));
        self.in_flight_since = self.in_flight_since.max(at);
    }

    fn add_in_flight(&mut self, ns: u64) {
        let sum = self.generator.in_flight_ns + ns;
        let paid = sum.min(self.in_flight_owed);
        self.generator.in_flight_ns = sum - paid;
        self.in_flight_owed -= paid;
    }

    /// The counts of one leaf. For its active users use [`Recorder::users_active`].
    pub fn leaf(&mut self, leaf: u32) -> &mut LeafSlice {
        let index = match self.leaves.iter().position(|slice| slice.leaf == leaf) {
            Some(index) => index,
            None => {
                self.leaves.push(LeafSlice { leaf, ..LeafSlice::default() });
                self.leaf_since.push(0);
                self.leaves.len() - 1
            }
        };
        &mut self.leaves[index]
    }

    /// Records a change of a leaf's load. One worker records it for all.
    pub fn leaf_changed(&mut self, leaf: u32, change: LeafChange) {
        self.leaf(leaf).changes.push(change);
    }

    /// Sets how many users of the leaf have an iteration running from `at` on.
    pub fn users_active(&mut self, leaf: u32, at: Nanos, active: u64) {
        self.leaf(leaf);
        if let Some(index) = self.leaves.iter().position(|slice| slice.leaf == leaf) {
            let slice = &mut self.leaves[index];
            let since = &mut self.leaf_since[index];
            slice.active_ns += slice.users_active * at.saturating_sub(*since);
            *since = (*since).max(at);
            slice.users_active = active;
            slice.users_peak = slice.users_peak.max(active);
        }
    }

    pub fn generator(&mut self) -> &mut GeneratorSlice {
        &mut self.generator
    }

    pub fn mark(&mut self, at: Nanos, kind: MarkKind, text: impl Into<String>) {
        self.marks.push(Mark { at, kind, text: text.into() });
    }

    /// Records an event of a journey. It is sent with the next snapshot.
    pub fn flow(&mut self, event: FlowEvent) {
        self.flow_events.push(event);
    }

    /// Returns everything recorded since the last drain. Levels (users, waiting, connections) continue.
    pub fn drain(&mut self, slice: u32, start: Nanos, end: Nanos) -> Snapshot {
        self.integrate_in_flight(end);
        for index in 0..self.leaves.len() {
            let (leaf, active) = (self.leaves[index].leaf, self.leaves[index].users_active);
            self.users_active(leaf, end, active);
        }
        let series = self.series.iter_mut().filter(|series| !series.is_empty()).map(SeriesSlice::take).collect();
        let leaves = self.leaves.iter_mut().map(LeafSlice::take).collect();
        let kept = GeneratorSlice { worker: self.generator.worker, ..GeneratorSlice::default() };
        self.slow_floor_ns = 0;
        Snapshot {
            slice,
            start,
            end,
            series,
            leaves,
            generator: vec![std::mem::replace(&mut self.generator, kept)],
            errors: std::mem::take(&mut self.errors),
            slow: std::mem::take(&mut self.slow),
            marks: std::mem::take(&mut self.marks),
            flows: Vec::new(),
            flow_events: std::mem::take(&mut self.flow_events),
            series_overflow: std::mem::take(&mut self.overflow),
            metrics: self.metrics.take(),
            tagged: self.tagged.take(),
            tags_overflow: std::mem::take(&mut self.tags_overflow),
            agents: Vec::new(),
            record: None,
            folded: 0,
        }
    }
}

impl LeafSlice {
    fn take(&mut self) -> LeafSlice {
        let taken = self.clone();
        *self = LeafSlice {
            leaf: self.leaf,
            users_asked: self.users_asked,
            users_active: self.users_active,
            users_peak: self.users_active,
            waiting: self.waiting,
            ..LeafSlice::default()
        };
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Phases;

    fn key(name: &str) -> SeriesKey {
        SeriesKey { kind: SeriesKind::Request, scenario: "s".into(), group: "".into(), name: name.into() }
    }

    fn sample(scheduled: Nanos, started: Nanos, ended: Nanos, outcome: Outcome) -> Sample {
        Sample {
            scheduled,
            started,
            ended,
            phases: Phases::default(),
            outcome,
            status: 200,
            bytes_sent: 10,
            bytes_received: 20,
            retried: 0,
            trace: None,
        }
    }

    #[test]
    fn strings_of_the_target_are_stored_bounded_and_printable() {
        let mut recorder = Recorder::new(0, 10);
        let long = "x".repeat(400_000);
        let id = recorder.series(&key(&long));
        assert_eq!(recorder.series(&key(&long)), id);
        recorder.record(id, &sample(0, 0, 1, Outcome::Script));
        for number in 0..3 {
            recorder.error(id, Outcome::Script, 1, &format!("\u{1b}]0;t\u{7}{}{number}", "y".repeat(1_000_000)));
        }
        let snapshot = recorder.drain(0, 0, 1_000);
        assert!(snapshot.series[0].key.name.len() <= loadstone_units::text::FOREIGN_BYTES_MAX);
        let [error] = &snapshot.errors[..] else { panic!("{} kinds", snapshot.errors.len()) };
        assert!(error.message.starts_with("␛]0;t␇y") && error.message.len() <= loadstone_units::text::FOREIGN_BYTES_MAX);
        assert_eq!(error.count, 3);
    }

    #[test]
    fn response_counts_from_the_schedule_and_service_from_the_start() {
        let mut recorder = Recorder::new(0, 10);
        let id = recorder.series(&key("a"));
        recorder.record(id, &sample(100, 150, 400, Outcome::Passed));
        let snapshot = recorder.drain(0, 0, 1_000);
        let series = &snapshot.series[0];
        assert_eq!((series.response.max(), series.service.max(), series.lag.max()), (300, 250, 50));
        assert_eq!((series.count, series.failed, series.bytes_received), (1, 0, 20));
        assert!(recorder.drain(1, 1_000, 2_000).series.is_empty());
    }

    #[test]
    fn connection_waits_and_retries_add_up() {
        let slices = [1, 2].map(|retried| {
            let mut recorder = Recorder::new(0, 10);
            let id = recorder.series(&key("a"));
            let phases = Phases { queue: 40, ..Phases::default() };
            recorder.record(id, &Sample { retried, phases, ..sample(0, 0, 100, Outcome::Passed) });
            let first = recorder.drain(0, 0, 1_000);
            recorder.record(id, &sample(1_000, 1_000, 1_100, Outcome::Passed));
            let next = &recorder.drain(1, 1_000, 2_000).series[0];
            assert_eq!((next.retried, next.phases.queue.count()), (0, 0));
            assert_eq!(first.slow[0].queue_ns, 40);
            first
        });
        let [mut merged, other] = slices;
        merged.merge(other);
        assert_eq!((merged.series[0].retried, merged.series[0].phases.queue.sum()), (3, 80));
    }

    #[test]
    fn interrupted_is_censored_and_neither_passed_nor_failed() {
        let mut recorder = Recorder::new(0, 10);
        let id = recorder.series(&key("a"));
        recorder.record(id, &sample(0, 0, 500, Outcome::Interrupted));
        recorder.record(id, &sample(0, 0, 900, Outcome::Timeout));
        let series = &recorder.drain(0, 0, 1_000).series[0];
        assert_eq!((series.count, series.failed, series.response.count(), series.censored.count()), (1, 1, 1, 2));
    }

    #[test]
    fn an_unsent_request_counts_as_failed_and_has_no_time() {
        let mut recorder = Recorder::new(0, 10);
        let id = recorder.series(&key("a"));
        for (ended, outcome) in [(900, Outcome::Passed), (3, Outcome::PortsExhausted), (5, Outcome::DescriptorsExhausted)] {
            recorder.record(id, &sample(0, 0, ended, outcome));
        }
        let series = &recorder.drain(0, 0, 1_000).series[0];
        assert_eq!((series.count, series.failed, series.response.count(), series.response.min()), (3, 2, 1, 900));
        assert_eq!((series.service.count(), series.failed_response.count(), series.phases.wait.count()), (1, 0, 0));
    }

    #[test]
    fn a_request_that_the_generator_refused_is_no_request() {
        let mut recorder = Recorder::new(0, 10);
        let id = recorder.series(&key("a"));
        recorder.record(id, &sample(0, 0, 900, Outcome::Passed));
        recorder.record(id, &sample(0, 0, 3, Outcome::Unsendable));
        let snapshot = recorder.drain(0, 0, 1_000);
        let series = &snapshot.series[0];
        assert_eq!((series.count, series.failed, series.response.count(), series.failed_response.count()), (1, 0, 1, 0));
        assert!(series.outcomes.contains(&(Outcome::Unsendable, 1)), "{:?}", series.outcomes);
        assert_eq!(snapshot.slow.len(), 1);
    }

    #[test]
    fn names_beyond_the_bound_share_one_series_and_are_counted() {
        let mut recorder = Recorder::new(0, 2);
        for name in ["a", "b", "c", "d"] {
            let id = recorder.series(&key(name));
            recorder.record(id, &sample(0, 0, 1, Outcome::Passed));
        }
        let snapshot = recorder.drain(0, 0, 1);
        assert_eq!(snapshot.series.len(), 3);
        assert_eq!(snapshot.series_overflow, 2);
        assert_eq!(snapshot.series.iter().find(|s| &*s.key.name == Recorder::OTHER).unwrap().count, 2);
    }

    #[test]
    fn in_flight_integral_is_the_sum_of_the_times_in_flight() {
        let mut recorder = Recorder::new(0, 2);
        recorder.request_began(100);
        recorder.request_began(200);
        recorder.request_ended(500);
        assert_eq!(recorder.drain(0, 0, 1_000).generator[0].in_flight_ns, 400 + 300 + 500);
        assert_eq!(recorder.drain(1, 1_000, 2_000).generator[0].in_flight_ns, 1_000);
    }

    #[test]
    fn in_flight_integral_is_exact_for_instants_out_of_order() {
        let mut recorder = Recorder::new(0, 2);
        recorder.request_began(100);
        recorder.request_began(300);
        recorder.request_ended(250); // The first request: 150.
        recorder.request_began(200);
        recorder.request_ended(400); // The second request: 100.
        assert_eq!(recorder.drain(0, 0, 1_000).generator[0].in_flight_ns, 150 + 100 + 800);
        // The third request ended before the slice did, which becomes known only now. The excess is subtracted from later time.
        recorder.request_ended(900);
        assert_eq!(recorder.drain(1, 1_000, 2_000).generator[0].in_flight_ns, 0);
        recorder.request_began(2_000);
        recorder.request_ended(2_300);
        assert_eq!(recorder.drain(2, 2_000, 3_000).generator[0].in_flight_ns, 300 - 100);
    }

    #[test]
    fn users_between_two_drains_count_in_the_peak_and_the_integral() {
        let mut recorder = Recorder::new(0, 2);
        for (at, active) in [(100, 1), (200, 2), (300, 0)] {
            recorder.users_active(0, at, active);
        }
        let leaf = &recorder.drain(0, 0, 1_000).leaves[0];
        assert_eq!((leaf.users_active, leaf.users_peak, leaf.active_ns), (0, 2, 100 + 200));
        assert_eq!(recorder.drain(1, 1_000, 2_000).leaves[0].users_peak, 0);
    }

    #[test]
    fn the_slowest_samples_are_kept_in_descending_order() {
        let mut recorder = Recorder::new(0, 2);
        let id = recorder.series(&key("a"));
        for end in (1..=50).chain((51..=100).rev()) {
            recorder.record(id, &sample(0, 0, end, Outcome::Passed));
        }
        let slow: Vec<u64> = recorder.drain(0, 0, 1).slow.iter().map(|s| s.response_ns).collect();
        assert_eq!(slow, (91..=100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn an_error_keeps_its_first_trace_and_a_slow_sample_its_own() {
        let traced = |ended, low| Sample { trace: TraceId::new(7, low), ..sample(0, 0, ended, Outcome::Status) };
        let slices = [(500, 10), (300, 2)].map(|(ended, low)| {
            let mut recorder = Recorder::new(0, 2);
            let id = recorder.series(&key("a"));
            for later in [ended, ended + 1] {
                let sample = traced(later, low + later - ended);
                recorder.record(id, &sample);
                recorder.failed(id, &sample, "status 500");
            }
            recorder.drain(0, 0, 1_000)
        });
        let [mut merged, other] = slices;
        merged.merge(other);
        assert_eq!((merged.errors[0].count, merged.errors[0].first_at, merged.errors[0].trace), (4, 300, TraceId::new(7, 2)));
        assert_eq!(merged.slow[0].trace, TraceId::new(7, 11));
        assert_eq!(merged.slow.last().unwrap().trace, TraceId::new(7, 2));
    }
}
