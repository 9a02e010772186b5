//! A queue before any work: every request waits about as long, also one that takes next to no time itself. Request threads, an event loop and the accept queue
//! are such queues. A pool or a lock delays only the requests that need it, which may be all of them. If the service's own metrics endpoint stops answering
//! meanwhile, its readings wait in the same queue, and a pool is excluded.

use std::collections::BTreeMap;

use loadstone_metrics::NoticeKind;

use crate::facts::Facts;
use crate::statistics::quantile;

/// Requests of one name in the stretch.
const REQUESTS_MIN: u64 = 8;
/// Longest mean wait of a name over the shortest.
const SAME_WAIT_FACTOR_MAX: f64 = 1.3;
/// The wait over the shortest time of the quickest name.
const QUICKEST_WAIT_FACTOR_MIN: f64 = 10.0;
/// Longest of the shortest times over the shortest of them: alike names prove nothing.
const UNLIKE_FACTOR_MIN: f64 = 2.0;
/// Readings of an observer in the stretch, as a part of the usual number, below which it was silent.
const SILENT_PART_MAX: f64 = 0.5;
/// Readings before that show the usual number.
const READINGS_MIN: usize = 5;
/// Seconds from the last reading on in which requests need not wait yet.
const SILENT_BEFORE_MAX_S: f64 = 5.0;

/// Seconds.
pub(crate) struct CommonWait {
    pub(crate) least_s: f64,
    pub(crate) most_s: f64,
    pub(crate) quickest: String,
    pub(crate) quickest_s: f64,
    /// Observers that got no answer meanwhile, quoted: they may wait in the same queue.
    silent: Vec<String>,
}

impl CommonWait {
    /// Whether an endpoint that does none of the requests' work waits, too.
    pub(crate) fn reaches_an_observer(&self) -> bool {
        !self.silent.is_empty()
    }

    /// Who waits with the requests, as a part of a claim.
    pub(crate) fn also(&self) -> String {
        let quickest = format!("also \"{}\", which takes {}", self.quickest, loadstone_units::seconds(self.quickest_s));
        match self.silent.as_slice() {
            [] => quickest,
            names => format!("{quickest}, and the endpoint that {} reads", names.join(" and ")),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        let silent = match self.silent.as_slice() {
            [] => ", or for a pool that each of them uses".to_owned(),
            names => format!(". The observer {} got few or no answers meanwhile, as if it waited in the same queue", names.join(" and ")),
        };
        format!(
            "every request waited for {} to {}, also \"{}\", which takes {} without waiting: they queue before any work{silent}",
            loadstone_units::seconds(self.least_s),
            loadstone_units::seconds(self.most_s),
            self.quickest,
            loadstone_units::seconds(self.quickest_s)
        )
    }
}

/// `None`: fewer than two names, names that are alike, or unequal waits.
pub(crate) fn find(facts: &Facts<'_>, span: (f64, f64)) -> Option<CommonWait> {
    let names = facts.responses.iter().filter_map(|response| {
        let part = response.stretch_between(span).filter(|part| part.count >= REQUESTS_MIN)?;
        Some((response.name.clone(), response.shortest, part.service - response.shortest))
    });
    let names: Vec<(String, f64, f64)> = names.collect();
    let bounds = |of: fn(&(String, f64, f64)) -> f64| {
        names.iter().map(of).fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((shortest_s, longest_s), (least_s, most_s)) = (bounds(|name| name.1), bounds(|name| name.2));
    let (quickest, ..) = names.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_common = names.len() >= 2
        && most_s <= SAME_WAIT_FACTOR_MAX * least_s
        && least_s >= QUICKEST_WAIT_FACTOR_MIN * shortest_s
        && longest_s >= UNLIKE_FACTOR_MIN * shortest_s;
    is_common.then(|| CommonWait { least_s, most_s, quickest: quickest.clone(), quickest_s: shortest_s, silent: silent(facts, span) })
}

/// Observers that read at their interval before the stretch, until requests waited, and hardly in it. One that was refused waits for nothing. If all are
/// silent, so is the machine.
fn silent(facts: &Facts<'_>, (from, to): (f64, f64)) -> Vec<String> {
    let mut readings: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for series in &facts.run.signals {
        let all = readings.entry(&series.signal.observer).or_default();
        all.extend(series.points.iter().map(|point| point.at as f64 / 1e9));
    }
    let (free, _) = facts.strain.free_and_held();
    let is_silent = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all.dedup_by(|a, b| (*a - *b).abs() < 0.1);
        let before: Vec<f64> = all.iter().copied().filter(|at| *at < from).collect();
        let intervals: Vec<f64> = before.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let interval = quantile(&intervals, 0.5).max(1e-9);
        let inside = all.iter().filter(|at| (from..to).contains(*at)).count() as f64;
        let silent_from = before.last().copied().unwrap_or(0.0) + f64::max(SILENT_BEFORE_MAX_S, 2.0 * interval);
        let was_silent_before = free.iter().any(|(at, _)| *at >= silent_from && *at < from);
        before.len() >= READINGS_MIN && !was_silent_before && inside < SILENT_PART_MAX * (to - from) / interval
    };
    let was_refused = |name: &str| facts.run.notices.iter().any(|notice| &*notice.observer == name && notice.kind == NoticeKind::Failed);
    let (silent, reading): (Vec<_>, Vec<_>) = readings.into_iter().partition(|(_, all)| is_silent(&mut all.clone()));
    let is_machine = reading.is_empty() && silent.len() > 1;
    silent.into_iter().filter(|(name, _)| !is_machine && !was_refused(name)).map(|(name, _)| format!("\"{name}\"")).collect()
}
