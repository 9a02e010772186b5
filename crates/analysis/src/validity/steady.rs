//! Was the target steady under steady load? A trend is not a fault of the measurement, so this check only warns: while times still move, percentiles depend
//! on the length of the run.

use super::check::{CheckInfo, CheckInput};
use crate::statistics::{mean, median, trend};
use crate::{Grade, SliceTotals, ValidityCheck};

/// Seconds of the second half that the check needs.
const SECONDS_MIN: usize = 15;
/// Part by which the load may vary within that half to count as constant.
const LOAD_SPREAD_MAX: f64 = 0.10;
/// Growth over that half, relative to its median, from which the check warns.
const GROWTH_MIN: f64 = 0.25;
/// Probability of such a trend by chance: that of three standard deviations.
const P_VALUE_MAX: f64 = 0.0027;

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "steady",
    title: "Steady state",
    limits: "a warning, never a grade: under constant load, the mean response time of the second half moved by more than 25 %",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    // Responses of seconds after the load belong to a load that ends.
    let has_plan = input.tally.seconds().iter().any(|second| planned(second) > 0);
    let has_load = |second: &&SliceTotals| second.requests > 0 && (!has_plan || planned(second) > 0);
    let seconds: Vec<&SliceTotals> = input.tally.seconds().iter().filter(has_load).collect();
    let half = &seconds[seconds.len() / 2..];
    // The last second is often incomplete, and users stop in it.
    let half = &half[..half.len().saturating_sub(1)];
    if half.len() < SECONDS_MIN {
        return INFO.nothing("too short to see a trend");
    }
    if !is_constant(half, has_plan) {
        return INFO.nothing("the load was not constant in the second half");
    }
    let times: Vec<f64> = half.iter().map(|second| second.response_sum_ns as f64 / second.requests as f64 / 1e9).collect();
    let growth = |slope: f64| slope * (times.len() - 1) as f64 / median(&times);
    let trend = trend::find(&times).filter(|trend| trend.p_value <= P_VALUE_MAX).map(|trend| growth(trend.slope));
    let Some(growth) = trend.filter(|growth| growth.abs() >= GROWTH_MIN) else {
        return INFO.graded(Grade::Valid, "no trend in the second half", "");
    };
    let direction = if growth > 0.0 { "rose" } else { "fell" };
    let evidence = format!(
        "under constant load, response times {direction} by {} over the second half ({} s)",
        loadstone_units::share(growth.abs()),
        times.len()
    );
    let advice =
        "The target had not settled: percentiles depend on the length of the run. Run longer, or judge thresholds after a warm-up.";
    INFO.with(Some(Grade::Valid), evidence, advice)
}

fn planned(second: &SliceTotals) -> u64 {
    second.arrivals_due + second.users_asked
}

/// Whether arrivals and users both remained constant. Where neither is planned, as with a number of iterations, users and starts are the load.
fn is_constant(half: &[&SliceTotals], has_plan: bool) -> bool {
    let load = |second: &SliceTotals| {
        if has_plan { [second.arrivals_due, second.users_asked] } else { [second.started.max(second.users_active), 0] }
    };
    (0..2).all(|kind| {
        let levels: Vec<f64> = half.iter().map(|second| load(second)[kind] as f64).collect();
        let third = levels.len() / 3;
        let (early, late) = (mean(&levels[..third]), mean(&levels[levels.len() - third..]));
        (late - early).abs() <= LOAD_SPREAD_MAX * early.max(late)
    })
}
