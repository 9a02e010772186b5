//! The numbers of one block, with the same definitions as those of a run.

use loadstone_metrics::{SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

use super::model::BlockRecord;
use crate::summary::Numbers;
use crate::uncertainty::{self, UncertaintyTally};
use crate::{ComparedMetric, Grade, RequestRow, RunTally, SubjectKind, TimeStats};

/// The numbers that are compared.
pub(super) const METRICS: [ComparedMetric; 6] =
    [ComparedMetric::Rate, ComparedMetric::Failures, ComparedMetric::Mean, ComparedMetric::P50, ComparedMetric::P95, ComparedMetric::P99];

/// The identity of a measured subject in all blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubjectKey {
    pub(super) kind: SubjectKind,
    pub(super) series: Option<SeriesKey>,
}

impl SubjectKey {
    pub(super) fn name(&self) -> &str {
        self.series.as_ref().map_or("all requests", |key| &key.name)
    }
}

#[derive(Debug, Clone)]
pub(super) struct BlockSubject {
    pub(super) key: SubjectKey,
    pub(super) count: u64,
    /// In the order of [`METRICS`]; `None`: too few samples, or none.
    numbers: [Option<f64>; 6],
    /// For each number, the maximum share of it that the generator may have added.
    uncertainties: [f64; 6],
}

impl BlockSubject {
    pub(super) fn of(key: SubjectKey, (count, failed): (u64, u64), seconds: f64, times: &TimeStats) -> Self {
        let at = |quantile: f64| times.percentiles.iter().find(|shown| (shown.quantile - quantile).abs() < 1e-9);
        let value = |quantile: f64| at(quantile).and_then(|shown| shown.value);
        let share =
            |uncertainty: Option<f64>, value: Option<f64>| uncertainty.zip(value).map_or(0.0, |(uncertainty, value)| uncertainty / value);
        let uncertainty = |quantile: f64| share(at(quantile).and_then(|shown| shown.uncertainty), value(quantile));
        Self {
            key,
            count,
            numbers: [
                Some(count as f64 / seconds),
                (count > 0).then(|| failed as f64 / count as f64),
                times.mean,
                value(0.5),
                value(0.95),
                value(0.99),
            ],
            uncertainties: [0.0, 0.0, share(times.mean_uncertainty, times.mean), uncertainty(0.5), uncertainty(0.95), uncertainty(0.99)],
        }
    }

    pub(super) fn number(&self, metric: ComparedMetric) -> Option<f64> {
        METRICS.iter().position(|known| *known == metric).and_then(|index| self.numbers[index])
    }

    pub(super) fn uncertainty(&self, metric: ComparedMetric) -> f64 {
        METRICS.iter().position(|known| *known == metric).map_or(0.0, |index| self.uncertainties[index])
    }

    /// Sum of all response times. Seconds.
    pub(super) fn time(&self) -> f64 {
        self.count as f64 * self.number(ComparedMetric::Mean).unwrap_or(0.0)
    }
}

/// One block without its warm-up.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) record: BlockRecord,
    pub(super) subjects: Vec<BlockSubject>,
}

impl Block {
    /// `seconds`: length of the load. Requests that end after it belong to no block, since their number depends on the course of the block.
    pub(super) fn of(record: BlockRecord, mut run: Run, warm_up: usize, seconds: usize) -> Self {
        run.slices.retain(|slice| (warm_up..seconds).contains(&(slice.slice as usize)));
        let tally = RunTally::of(&run.slices);
        let mut numbers = Numbers::of(&run, &tally);
        uncertainty::mark_numbers(&mut numbers, &tally, &UncertaintyTally::of(&run.plan, &run.slices, |_| true));
        let seconds = seconds.saturating_sub(warm_up).max(1) as f64;
        let of_row = |kind: SubjectKind, row: &RequestRow| {
            BlockSubject::of(SubjectKey { kind, series: Some(row.key.clone()) }, (row.count, row.failed), seconds, &row.response)
        };
        let requests = tally
            .of_kind(SeriesKind::Request)
            .fold((0, 0), |(count, failed), series| (count + series.merged.count, failed + series.merged.failed));
        let all = BlockSubject::of(SubjectKey { kind: SubjectKind::All, series: None }, requests, seconds, &numbers.response);
        let kinds =
            [(SubjectKind::Request, &numbers.requests), (SubjectKind::Group, &numbers.groups), (SubjectKind::Scenario, &numbers.scenarios)];
        let rows = kinds.into_iter().flat_map(|(kind, rows)| rows.iter().map(move |row| (kind, row)));
        let subjects = std::iter::once(all).chain(rows.map(|(kind, row)| of_row(kind, row))).collect();
        Self { record, subjects }
    }

    pub(super) fn subject(&self, key: &SubjectKey) -> Option<&BlockSubject> {
        self.subjects.iter().find(|subject| subject.key == *key)
    }

    pub(super) fn number(&self, key: &SubjectKey, metric: ComparedMetric) -> Option<f64> {
        self.subject(key)?.number(metric)
    }

    /// An invalid measurement is no evidence.
    pub(super) fn counts(&self) -> bool {
        self.record.grade != Grade::Invalid
    }
}

/// The mean response time of each second in which any request ended. It reveals the warm-up.
pub(super) fn course(run: &Run, seconds: usize) -> Vec<f64> {
    let loaded = run.slices.iter().filter(|slice| (slice.slice as usize) < seconds);
    let mean = |slice: &loadstone_metrics::Snapshot| {
        let of_requests = || slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        let count: u64 = of_requests().map(|series| series.count).sum();
        let time: f64 = of_requests().map(|series| series.response.sum() as f64 / 1e9).sum();
        (count > 0).then(|| time / count as f64)
    };
    loaded.filter_map(mean).collect()
}
