//! Adds the uncertainty to the numbers of a summary, and lists the percentiles that decide the grade of a run without thresholds on times.

use std::collections::HashMap;

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind};

use super::shortfall::missing_rate;
use super::{SeriesUncertainty, UNCERTAIN_SHARE_MIN, UncertaintyTally, matters};
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
    pub(crate) uncertainty: f64,
}

impl JudgedPercentile {
    pub(crate) fn is_uncertain(&self) -> bool {
        matters(self.value, self.uncertainty)
    }
}

pub(crate) fn judged_percentiles(tally: &RunTally, uncertainties: &UncertaintyTally) -> Vec<JudgedPercentile> {
    let of_request = |series: &SeriesTally| {
        let merged = &series.merged;
        let uncertainty = uncertainties.of_series(&merged.key, merged.count).unwrap_or_default();
        let judged = JUDGED_QUANTILES.into_iter().filter(|quantile| merged.response.count() >= samples_needed(*quantile).max(SAMPLES_MIN));
        let percentile = |quantile| match CensoredTimes::response(merged).quantile(quantile) {
            Quantile::Known(value) => {
                let uncertainty = value - uncertainty.least(quantile, value, &merged.response);
                Some(JudgedPercentile { request: merged.key.name.to_string(), quantile, value, uncertainty })
            }
            Quantile::Beyond(_) | Quantile::NoData => None,
        };
        judged.filter_map(percentile).collect::<Vec<_>>()
    };
    tally.of_kind(SeriesKind::Request).flat_map(of_request).collect()
}

/// Marks each time, rate and count that the generator can have changed by an amount that matters.
pub(crate) fn mark_numbers(numbers: &mut Numbers, tally: &RunTally, uncertainties: &UncertaintyTally) {
    let measured: HashMap<&SeriesKey, &Histogram> =
        tally.series().iter().map(|series| (&series.merged.key, &series.merged.response)).collect();
    for row in [&mut numbers.requests, &mut numbers.groups, &mut numbers.scenarios].into_iter().flatten() {
        if let (Some(measured), Some(uncertainty)) = (measured.get(&row.key), uncertainties.of_series(&row.key, row.count)) {
            mark(&mut row.response, &uncertainty, measured);
        }
    }
    for row in [&mut numbers.requests, &mut numbers.groups, &mut numbers.scenarios].into_iter().flatten() {
        let missing = missing_rate(row.rate, uncertainties.shortfall_of(&row.key.scenario, tally.leaves()));
        row.rate_uncertainty = (missing > UNCERTAIN_SHARE_MIN * row.rate).then_some(missing);
        let late = uncertainties.timeouts_read_late(|key| *key == row.key).min(row.failed);
        row.failed_uncertainty = (late as f64 > UNCERTAIN_SHARE_MIN * row.failed as f64).then_some(late);
    }
    for row in &mut numbers.flows {
        if let Some(flow) = tally.flows().iter().find(|flow| *flow.merged.name == *row.name) {
            mark(&mut row.time, &uncertainties.of_flow(&flow.merged.time), &flow.merged.time);
        }
    }
    if let Some(all) = tally.together(SeriesKind::Request) {
        let requests = tally.of_kind(SeriesKind::Request).map(|series| (&series.merged.key, series.merged.count));
        mark(&mut numbers.response, &uncertainties.of_all(requests), &all.response);
    }
}

fn mark(times: &mut TimeStats, uncertainty: &SeriesUncertainty, measured: &Histogram) {
    let marked = |value: f64, uncertainty: f64| matters(value, uncertainty).then_some(uncertainty);
    for percentile in &mut times.percentiles {
        percentile.uncertainty =
            percentile.value.and_then(|value| marked(value, value - uncertainty.least(percentile.quantile, value, measured)));
    }
    times.mean_uncertainty = times.mean.and_then(|mean| marked(mean, uncertainty.of_mean(measured)));
    times.max_uncertainty = times.max.and_then(|max| marked(max, max - uncertainty.least_max()));
}
