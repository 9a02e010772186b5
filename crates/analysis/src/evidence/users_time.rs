//! The request that takes most of the users' time in closed load. The remark reports it if nothing shows the limit, since closed load asks for no more than it
//! gets.

use std::collections::BTreeMap;

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;

/// Minimum share of one request in the time of all, and minimum ratio of its mean to its fastest time.
const TIME_SHARE_MIN: f64 = 0.6;
const MEAN_RATIO_MIN: f64 = 3.0;
/// Maximum share of its count: a request that is nearly all of the load takes most of the time anyway.
const COUNT_SHARE_MAX: f64 = 0.5;

pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    if facts.run.plan.load.leaves().iter().any(|leaf| leaf.profile.is_open()) {
        return None;
    }
    let mut times: BTreeMap<&str, (u64, f64, f64)> = BTreeMap::new();
    for series in facts.tally.of_kind(SeriesKind::Request) {
        let service = &series.merged.service;
        let sum = times.entry(&series.merged.key.name).or_insert((0, 0.0, f64::INFINITY));
        *sum = (sum.0 + service.count(), sum.1 + service.sum() as f64 / 1e9, sum.2.min(service.min() as f64 / 1e9));
    }
    let (count, all) = times.values().fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let (name, (own, seconds, fastest)) = times.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let (share, mean) = (seconds / all.max(1e-9), seconds / own.max(1) as f64);
    (share >= TIME_SHARE_MIN && mean >= MEAN_RATIO_MIN * fastest && own as f64 <= COUNT_SHARE_MAX * count as f64).then(|| {
        format!(
            "\"{name}\" takes {} of the users' time in requests, {} on average and {} at least: find what it waits for. ",
            loadstone_units::share(share),
            loadstone_units::seconds(mean),
            loadstone_units::seconds(fastest)
        )
    })
}
