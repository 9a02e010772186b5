//! The charts of one request, for a reader who selects it in the table.
//!
//! They are coarser than the charts of the whole run, because there may be many requests: at most [`POINTS_MAX`] steps, and only for the most
//! frequent requests. Their steps are whole multiples of the timeline's step.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use loadstone_metrics::{Histogram, Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};

use super::digest::PERCENTILES;
use super::panels::outcome_id;
use super::{column, percentile_columns};
use crate::view::{ChartColumn, Panel, RequestCharts};

/// Maximum number of steps of a request's charts.
const POINTS_MAX: usize = 150;
/// Maximum number of requests with charts.
const REQUESTS_MAX: usize = 60;
/// Buckets of each step: over a range of 1 to 30, a value is read within 3.1 %, mostly half of that.
const BUCKETS_MAX: usize = 200;

#[derive(Debug, Clone, Default)]
pub(super) struct RequestStep {
    pub(super) response: Histogram,
    /// `None`: the same as the response times, so that nothing is stored twice.
    service: Option<Histogram>,
    failures: Vec<(Outcome, u64)>,
    /// Total time in each phase, in the order of [`PHASES`](super::panels::PHASES). Nanoseconds.
    pub(super) phase_ns: [u128; 6],
}

/// The data for the charts of each request. The step length doubles as the run grows, like that of the timeline.
#[derive(Debug, Default)]
pub(crate) struct RequestLines {
    pub(super) step_seconds: u32,
    /// Time that each step covers. Nanoseconds.
    pub(super) covered_ns: Vec<u64>,
    pub(super) series: HashMap<SeriesKey, Vec<RequestStep>>,
}

impl RequestLines {
    pub(crate) fn new() -> Self {
        Self { step_seconds: 1, ..Self::default() }
    }

    pub(crate) fn push(&mut self, slice: &Snapshot) {
        while (slice.slice / self.step_seconds) as usize >= POINTS_MAX {
            self.coarsen();
        }
        let index = (slice.slice / self.step_seconds) as usize;
        if self.covered_ns.len() <= index {
            self.covered_ns.resize(index + 1, 0);
            // Complete steps are packed: dense histograms of all requests would take a hundred megabytes.
            self.series.values_mut().filter_map(|line| line.last_mut()).for_each(RequestStep::pack);
        }
        self.covered_ns[index] += slice.end.saturating_sub(slice.start);
        for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
            if !self.series.contains_key(&series.key) {
                self.series.insert(series.key.clone(), Vec::new());
            }
            let Some(line) = self.series.get_mut(&series.key) else { continue };
            if line.len() <= index {
                line.resize_with(index + 1, RequestStep::default);
            }
            line[index].add(series);
        }
    }

    fn coarsen(&mut self) {
        self.step_seconds *= 2;
        self.covered_ns = self.covered_ns.chunks(2).map(|pair| pair.iter().sum()).collect();
        for line in self.series.values_mut() {
            let mut finer = std::mem::take(line).into_iter();
            while let Some(mut step) = finer.next() {
                if let Some(second) = finer.next() {
                    step.merge(&second);
                    step.pack();
                }
                line.push(step);
            }
        }
    }

    /// Charts in the order of `keys`, each of which comes with its number of requests. Empty for requests that are too rare.
    pub(crate) fn charts(&self, keys: &[(&SeriesKey, u64)]) -> Vec<RequestCharts> {
        let mut most: Vec<u64> = keys.iter().map(|(_, count)| *count).collect();
        most.sort_by_key(|count| Reverse(*count));
        let least = most.get(REQUESTS_MAX - 1).copied().unwrap_or(0);
        let chart = |(key, count): &(&SeriesKey, u64)| {
            let line = self.series.get(*key).filter(|_| *count >= least);
            let panels = line.map_or_else(Vec::new, |line| self.panels(line));
            RequestCharts { step_seconds: f64::from(self.step_seconds), panels }
        };
        keys.iter().map(chart).collect()
    }

    fn panels(&self, line: &[RequestStep]) -> Vec<Panel> {
        let steps = || self.covered_ns.iter().enumerate().map(|(index, covered)| (line.get(index), *covered));
        let rate = |count: u64, covered: u64| (covered > 0).then(|| count as f64 / (covered as f64 / 1e9));
        let of = |id: &str, label: &str, count: &dyn Fn(&RequestStep) -> u64| -> ChartColumn {
            column(id, label, steps().map(|(step, covered)| rate(step.map_or(0, count), covered)))
        };
        let failed = |step: &RequestStep| step.failures.iter().map(|(_, count)| count).sum::<u64>();
        let rates = vec![of("rate/requests", "requests", &RequestStep::requests), of("rate/failures", "failed", &failed)];
        let times: Vec<&Histogram> = line.iter().map(|step| &step.response).collect();
        let mut response = percentile_columns("response", &PERCENTILES, &times, self.step_seconds, |_| None);
        let max = times.iter().map(|times| (!times.is_empty()).then(|| times.max() as f64 / 1e9));
        response.push(column("response/max", "max", max));
        let outcomes: BTreeSet<Outcome> = line.iter().flat_map(|step| step.failures.iter().map(|(outcome, _)| *outcome)).collect();
        let failures = outcomes.into_iter().map(|outcome| {
            let count = move |step: &RequestStep| step.failures.iter().find(|(known, _)| *known == outcome).map_or(0, |(_, count)| *count);
            of(&format!("failures/{}", outcome_id(outcome)), outcome.label(), &count)
        });
        let panel = |id: &str, title: &str, unit: &str, stacked: bool, columns: Vec<ChartColumn>| Panel {
            id: id.to_owned(),
            title: title.to_owned(),
            unit: unit.to_owned(),
            stacked,
            columns,
        };
        vec![
            panel("rate", "Rate", "/s", false, rates),
            panel("response", "Response time", "s", false, response),
            panel("failures", "Failures", "/s", true, failures.collect()),
        ]
    }
}

impl RequestStep {
    fn add(&mut self, slice: &SeriesSlice) {
        // Service is never longer than response, so equal sums mean equal times.
        let is_same = slice.service.sum() == slice.response.sum() && slice.service.count() == slice.response.count();
        self.merge_service(if is_same { None } else { Some(&slice.service) }, &slice.response);
        self.response.merge(&slice.response);
        let phases = &slice.phases;
        let phases = [&phases.queue, &phases.dns, &phases.connect, &phases.tls, &phases.wait, &phases.body];
        self.phase_ns.iter_mut().zip(phases).for_each(|(mine, theirs)| *mine += theirs.sum());
        for (outcome, count) in slice.outcomes.iter().filter(|(outcome, _)| outcome.is_failure()) {
            self.count(*outcome, *count);
        }
    }

    /// Number of ended requests, including those that could not be sent and have no response time.
    pub(super) fn requests(&self) -> u64 {
        let unsent = self.failures.iter().filter(|(outcome, _)| outcome.is_unsent());
        self.response.count() + unsent.map(|(_, count)| count).sum::<u64>()
    }

    pub(super) fn failed(&self) -> u64 {
        self.failures.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn failed_as(&self, outcome: Outcome) -> u64 {
        self.failures.iter().find(|(known, _)| *known == outcome).map_or(0, |(_, count)| *count)
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.failures.iter().map(|(outcome, _)| *outcome)
    }

    pub(super) fn service(&self) -> &Histogram {
        self.service.as_ref().unwrap_or(&self.response)
    }

    /// Called before the response times of the same requests are merged.
    fn merge_service(&mut self, service: Option<&Histogram>, response: &Histogram) {
        match (&mut self.service, service) {
            (None, None) => {}
            (Some(mine), theirs) => mine.merge(theirs.unwrap_or(response)),
            (mine @ None, Some(theirs)) => {
                let mut known = self.response.clone();
                known.merge(theirs);
                *mine = Some(known);
            }
        }
    }

    fn pack(&mut self) {
        self.response = self.response.to_packed_within(BUCKETS_MAX);
        self.service = self.service.take().map(|service| service.to_packed_within(BUCKETS_MAX));
    }

    pub(super) fn merge(&mut self, other: &RequestStep) {
        self.merge_service(other.service.as_ref(), &other.response);
        self.response.merge(&other.response);
        self.phase_ns.iter_mut().zip(other.phase_ns).for_each(|(mine, theirs)| *mine += theirs);
        other.failures.iter().for_each(|(outcome, count)| self.count(*outcome, *count));
    }

    fn count(&mut self, outcome: Outcome, count: u64) {
        match self.failures.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, mine)) => *mine += count,
            None => self.failures.push((outcome, count)),
        }
    }
}
