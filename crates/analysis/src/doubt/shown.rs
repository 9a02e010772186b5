//! Adds the uncertainty to the numbers of a summary, and lists the percentiles that decide the grade of a run without thresholds on times.

use std::collections::HashMap;

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind};

use super::shortfall::missing_rate;
use super::{DoubtTally, SeriesDoubt, UNCERTAIN_SHARE_MIN, matters};
use crate::censored::{CensoredTimes, Quantile};
use crate::statistics::samples_needed;
use crate::summary::Numbers;
use crate::{RunTally, SeriesTally, TimeStats};

/// The percentiles that every surface shows first for a request.
const JUDGED_QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
/// With fewer samples, not even a median is judged.
const SAMPLES_MIN: u64 = 20;

/// A percentile of a request's response times that has enough samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JudgedPercentile {
    pub(crate) request: String,
    pub(crate) quantile: f64,
    /// Both in seconds.
    pub(crate) value: f64,
    pub(crate) doubt: f64,
}

impl JudgedPercentile {
    pub(crate) fn is_uncertain(&self) -> bool {
        matters(self.value, self.doubt)
    }
}

pub(crate) fn judged_percentiles(tally: &RunTally, doubts: &DoubtTally) -> Vec<JudgedPercentile> {
    let of_request = |series: &SeriesTally| {
        let merged = &series.merged;
        let doubt = doubts.of_series(&merged.key, merged.count).unwrap_or_default();
        let judged = JUDGED_QUANTILES.into_iter().filter(|quantile| merged.response.count() >= samples_needed(*quantile).max(SAMPLES_MIN));
        let percentile = |quantile| match CensoredTimes::response(merged).quantile(quantile) {
            Quantile::Known(value) => {
                let doubt = value - doubt.least(quantile, value, &merged.response);
                Some(JudgedPercentile { request: merged.key.name.to_string(), quantile, value, doubt })
            }
            Quantile::Beyond(_) | Quantile::NoData => None,
        };
        judged.filter_map(percentile).collect::<Vec<_>>()
    };
    tally.of_kind(SeriesKind::Request).flat_map(of_request).collect()
}

/// Marks each time, rate and count that the generator can have changed by an amount that matters.
pub(crate) fn mark_numbers(numbers: &mut Numbers, tally: &RunTally, doubts: &DoubtTally) {
    let measured: HashMap<&SeriesKey, &Histogram> =
        tally.series().iter().map(|series| (&series.merged.key, &series.merged.response)).collect();
    for row in [&mut numbers.requests, &mut numbers.groups, &mut numbers.scenarios].into_iter().flatten() {
        if let (Some(measured), Some(doubt)) = (measured.get(&row.key), doubts.of_series(&row.key, row.count)) {
            mark(&mut row.response, &doubt, measured);
        }
    }
    for row in [&mut numbers.requests, &mut numbers.groups, &mut numbers.scenarios].into_iter().flatten() {
        let missing = missing_rate(row.rate, doubts.shortfall_of(&row.key.scenario, tally.leaves()));
        row.rate_doubt = (missing > UNCERTAIN_SHARE_MIN * row.rate).then_some(missing);
        let late = doubts.timeouts_read_late(|key| *key == row.key).min(row.failed);
        row.failed_doubt = (late as f64 > UNCERTAIN_SHARE_MIN * row.failed as f64).then_some(late);
    }
    for row in &mut numbers.flows {
        if let Some(flow) = tally.flows().iter().find(|flow| *flow.merged.name == *row.name) {
            mark(&mut row.time, &doubts.of_flow(&flow.merged.time), &flow.merged.time);
        }
    }
    if let Some(all) = tally.together(SeriesKind::Request) {
        let requests = tally.of_kind(SeriesKind::Request).map(|series| (&series.merged.key, series.merged.count));
        mark(&mut numbers.response, &doubts.of_all(requests), &all.response);
    }
}

fn mark(times: &mut TimeStats, doubt: &SeriesDoubt, measured: &Histogram) {
    let marked = |value: f64, doubt: f64| matters(value, doubt).then_some(doubt);
    for percentile in &mut times.percentiles {
        percentile.doubt = percentile.value.and_then(|value| marked(value, value - doubt.least(percentile.quantile, value, measured)));
    }
    times.mean_doubt = times.mean.and_then(|mean| marked(mean, doubt.of_mean(measured)));
    times.max_doubt = times.max.and_then(|max| marked(max, max - doubt.least_max()));
}
