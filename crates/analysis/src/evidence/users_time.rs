//! Where the users of closed load spend their time, told where nothing says what limits them: they ask for no more than they get, so that the request
//! with most of their time is where to look.

use std::collections::BTreeMap;

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;

/// Part of the time in requests that one of them must take, and how many times its fastest it must take on average.
const MOST: f64 = 0.6;
const LONGER: f64 = 3.0;
/// How many of all requests it may be: what is nearly all that is asked for takes most of the time anyway.
const COUNT_MAX: f64 = 0.5;

pub(crate) fn told(facts: &Facts<'_>) -> Option<String> {
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
    (share >= MOST && mean >= LONGER * fastest && own as f64 <= COUNT_MAX * count as f64).then(|| {
        format!(
            "Of the users' time in requests, {} goes to \"{name}\", which takes {} on average and {} at the least: look for what it waits for. ",
            loadstone_units::share(share),
            loadstone_units::seconds(mean),
            loadstone_units::seconds(fastest)
        )
    })
}
