//! Calls of the system that a dependency left unanswered while more requests failed: as many more as requests.
//!
//! A call that fails may fail the request that needs it. Callers in between can answer in another way, so the dependency in which the failures begin has no
//! fewer failed calls than those that call it. A caller that repeats its calls has more of them than requests fail.

use super::called::CalledEndpoint;
use super::failures::{FailedWhen, Failing};
use super::readings::SignalReadings;
use super::strain::Strain;
use crate::statistics::{mean, variance};

/// Standard deviations by which the unanswered calls must exceed those of the other seconds.
const DEVIATIONS_MIN: f64 = 4.0;
/// And the factor of their share of the calls.
const SHARE_FACTOR_MIN: f64 = 2.0;
/// Unanswered calls for each request that fails: one at least, and at most a call and three repetitions.
const CALLS_PER_FAILURE_MAX: f64 = 4.0;
/// Standard errors of the number for each request.
const ERRORS: f64 = 2.0;
/// Readings in the other seconds.
const READINGS_OUTSIDE_MIN: usize = 10;

/// A dependency that left more calls unanswered while requests of one name failed.
pub(crate) struct FailedCalls<'a> {
    /// The requests' index among the failing ones.
    pub(crate) failing: usize,
    pub(crate) endpoint: &'a str,
    /// Unanswered calls per second in the other seconds, and meanwhile.
    pub(crate) rates: (f64, f64),
    /// Unanswered calls and failed requests, each without as many as in the other seconds.
    pub(crate) more: f64,
    pub(crate) failed: f64,
    pub(crate) series: Vec<String>,
    /// Seconds since the run began.
    pub(crate) stretch: (f64, f64),
}

/// For each failing request, the dependency with the most unanswered calls first.
pub(super) fn find<'a>(called: &[CalledEndpoint<'a>], strain: &Strain, failing: &[Failing<'_>]) -> Vec<FailedCalls<'a>> {
    let Some(loaded) = strain.loaded() else { return Vec::new() };
    let of_request = |(index, failing): (usize, &Failing<'_>)| {
        let more = more_failed(failing, loaded);
        let of_endpoint = |endpoint: &CalledEndpoint<'a>| {
            let ((from, to), failed, failed_deviation) = more?;
            let unanswered = UnansweredCalls::of(endpoint, (from, to), loaded)?;
            let each = unanswered.more / failed;
            let error = ERRORS * each * (unanswered.deviation / unanswered.more).hypot(failed_deviation / failed);
            let is_alike = each + error >= 1.0 && each - error <= CALLS_PER_FAILURE_MAX;
            is_alike.then(|| FailedCalls {
                failing: index,
                endpoint: endpoint.name,
                rates: unanswered.rates,
                more: unanswered.more,
                failed,
                series: endpoint.calls.iter().chain(&endpoint.answered).map(SignalReadings::name).collect(),
                stretch: (from, to),
            })
        };
        let mut found: Vec<FailedCalls<'a>> = called.iter().filter_map(of_endpoint).collect();
        found.sort_by(|a, b| b.more.total_cmp(&a.more));
        found
    };
    failing.iter().enumerate().flat_map(of_request).collect()
}

/// The stretch in which more requests failed, how many more, and the standard deviation of that number. `None`: they failed in no separate stretch.
fn more_failed(failing: &Failing<'_>, (begin, end): (f64, f64)) -> Option<((f64, f64), f64, f64)> {
    if matches!(failing.when, FailedWhen::Throughout | FailedWhen::Within(..)) {
        return None;
    }
    let (from, to) = failing.when.span(end);
    let (length, outside) = (to - from, end - begin - (to - from));
    let inside = failing.while_failing.0 as f64;
    let usual = failing.failed.saturating_sub(failing.while_failing.0) as f64 * length / outside.max(1.0);
    let more = inside - usual;
    (outside > 0.0 && more > 0.0).then(|| ((from, to), more, (inside + usual).sqrt()))
}

struct UnansweredCalls {
    rates: (f64, f64),
    /// Calls beyond those that the other seconds let expect, and the standard deviation of that number.
    more: f64,
    deviation: f64,
}

impl UnansweredCalls {
    /// `None`: not clearly more than in the other seconds.
    fn of(endpoint: &CalledEndpoint<'_>, (from, to): (f64, f64), (begin, end): (f64, f64)) -> Option<Self> {
        let (calls, answered) = (endpoint.calls.as_ref()?, endpoint.answered.as_ref()?);
        let in_stretch = |from: f64, to: f64| calls.paired_with(answered, from, to);
        let inside = in_stretch(from, to);
        let outside: Vec<(f64, f64)> = in_stretch(begin, from).into_iter().chain(in_stretch(to, end)).collect();
        if inside.is_empty() || outside.len() < READINGS_OUTSIDE_MIN {
            return None;
        }
        let left = |pairs: &[(f64, f64)]| pairs.iter().map(|(calls, answered)| (calls - answered).max(0.0)).collect::<Vec<f64>>();
        let share = |pairs: &[(f64, f64)]| left(pairs).iter().sum::<f64>() / pairs.iter().map(|(calls, _)| calls).sum::<f64>().max(1e-9);
        let (during, usual) = (left(&inside), left(&outside));
        let (rate, usual_rate, length) = (mean(&during), mean(&usual), to - from);
        let more = (rate - usual_rate) * length;
        // Counts of independent failures scatter as much as their number; others more.
        let expected = (f64::max(variance(&usual), usual_rate) * length).sqrt();
        let is_more = more >= DEVIATIONS_MIN * expected.max(1.0) && share(&inside) >= SHARE_FACTOR_MIN * share(&outside);
        is_more.then(|| Self { rates: (usual_rate, rate), more, deviation: expected.hypot((rate * length).sqrt()) })
    }
}
