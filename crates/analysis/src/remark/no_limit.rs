//! The remark about a run in which nothing was limited: up to which load, how much room the observed resources leave, and what to compare it with.

use crate::facts::Facts;
use crate::facts::changes::Change;
use crate::facts::constant_load::ConstantLoad;
use crate::facts::growth::TimeGrowth;
use crate::facts::in_progress::InProgress;
use crate::facts::load_response::LoadResponse;
use crate::facts::signal_steps;
use crate::finding::{Remark, RemarkKind};
use crate::instant::clock;
use crate::{Grade, ResourceKind, RunTotals};

/// Growth of times that the run must rule out. A limit that was reached shows as far more (Sakasegawa 1977).
const GROWTH_RULED_OUT: f64 = 1.6;
/// Growth that is no limit, even where it is significant.
const SMALL_GROWTH_MAX: f64 = 1.1;
/// The lower end of the interval of their growth over a constant load, from which times clearly grew.
const DRIFT_LOW_MAX: f64 = 1.25;
/// Arrivals that may be unfinished at the end, as a part of all.
const CUT_OFF_PART_MAX: f64 = 0.02;
/// Seconds with a far slower request from which a few requests do not explain them. The remark reports fewer as well.
const SLOW_SECONDS_MIN: usize = 3;
/// Threads that wait for a core at any time.
const CORE_WAIT_MAX: f64 = 0.5;
/// Requests in flight below which hardly one waits for another.
const IN_FLIGHT_FEW: f64 = 1.0;

/// What the remark states of a run without a limit, apart from its times.
pub(super) struct Unlimited {
    /// `nothing failed`, or what did.
    pub(super) failed: String,
    /// The throughput that the run sustained. Requests per second.
    pub(super) top_rate: f64,
    pub(super) is_open: bool,
    /// Further statements.
    pub(super) next: Vec<String>,
}

/// `None`: times may have grown, or users may have waited all the time.
pub(super) fn of(facts: &Facts<'_>, totals: &RunTotals, unlimited: &Unlimited) -> Option<Remark> {
    let growth = facts.growth?;
    // Constant users of whom none waits show that by each fast request, and arrivals by their number in the system, whatever times of few requests rule out.
    let is_free = facts.constant_load.as_ref().is_some_and(|load| load.users.is_some() && (load.is_free() || load.is_far_from_limit()));
    let is_counted = is_free || facts.in_progress.is_some_and(|now| now.counts_exclude_a_backlog());
    let has_grown = growth.has_one_grown || (growth.low > 1.0 && growth.factor > SMALL_GROWTH_MAX);
    let may_have_grown = growth.may_one_have_grown || growth.high > GROWTH_RULED_OUT;
    let is_often_slow = facts.slow_seconds.as_ref().is_some_and(|slow| slow.count >= SLOW_SECONDS_MIN);
    if is_limited(facts) || is_often_slow || has_grown || (may_have_grown && !is_counted) {
        return None;
    }
    let served = if unlimited.is_open { all_served(totals)? } else { users_served(facts)? };
    let over = if growth.is_by_load { "as the load rose" } else { "over the run" };
    let times = format!("times {}", grew(growth, over));
    Some(remark(facts, unlimited, &served, &times, least_ceiling(facts, unlimited.top_rate)))
}

/// How times changed, as in `times …`.
fn grew(growth: TimeGrowth, over: &str) -> String {
    let change = match growth {
        _ if growth.high < 1.0 => "became shorter",
        _ if growth.low <= 1.0 => "did not measurably grow",
        _ if growth.factor <= SMALL_GROWTH_MAX => "hardly grew",
        _ => "grew",
    };
    format!(
        "{change} {over} ({} times as long, 95 % interval {} to {})",
        loadstone_units::number(growth.factor),
        loadstone_units::number(growth.low),
        loadstone_units::number(growth.high)
    )
}

/// ` without the 5 slow seconds`, where the growth of times is that of the others.
fn without_pauses(facts: &Facts<'_>) -> String {
    let differs = facts.growth.map(|growth| growth.factor) != facts.usual_growth.map(|growth| growth.factor);
    let slow = facts.slow_seconds.as_ref().filter(|_| differs);
    slow.map_or_else(String::new, |slow| match slow.count {
        1 => " without the slow second".to_owned(),
        count => format!(" without the {count} slow seconds"),
    })
}

/// Requests that began to take longer, by less than a limit does. The last part of the remark states them.
pub(super) fn small_changes(facts: &Facts<'_>) -> Option<Vec<String>> {
    let sentence = |change: &Change| {
        let (before, after) = (change.before.median, change.after.median);
        (change.is_slower() && after <= GROWTH_RULED_OUT * before).then(|| {
            format!(
                "But \"{}\" took {} from {} {}, and {} before.",
                change.of.name(),
                loadstone_units::seconds(after),
                clock(change.at),
                change.until.map_or_else(|| "on".to_owned(), |until| format!("to {}", clock(until))),
                loadstone_units::seconds(before)
            )
        })
    };
    facts.changes.found.iter().map(sentence).collect()
}

/// So few requests were in progress at any time that none waited for another. Their times may vary for other reasons. `None`: there were more.
pub(super) fn without_queue(facts: &Facts<'_>, totals: &RunTotals, unlimited: &Unlimited) -> Option<Remark> {
    let now = facts.in_progress.filter(InProgress::excludes_a_full_resource)?;
    if is_limited(facts) {
        return None;
    }
    let users = || users_served(facts).unwrap_or_else(|| "the requests of all users were served".to_owned());
    let served = if unlimited.is_open { all_served(totals)? } else { users() };
    let times = format!(
        "no more than {} requests were in progress on average over any five seconds, so that nothing on their path was in use all the time",
        loadstone_units::number(now.most)
    );
    let (from, to) = facts.strain.top_span();
    let ceiling = facts.strain.throughput(from, to) / now.top;
    let least = (now.top > 0.0 && ceiling > unlimited.top_rate).then(|| {
        format!(
            "At least {} would pass, even if all of the time in requests were spent in one queue (asymptotic bounds, {} times the sustained throughput).",
            loadstone_units::rate(ceiling),
            loadstone_units::number(ceiling / unlimited.top_rate)
        )
    });
    Some(remark(facts, unlimited, &served, &times, least))
}

/// Whether times clearly grew, apart from a few pauses.
fn have_clearly_grown(facts: &Facts<'_>) -> bool {
    facts.usual_growth.is_some_and(|growth| growth.low > DRIFT_LOW_MAX)
}

/// Constant arrivals that left no backlog were all carried, whatever their times did meanwhile. `None`: the load was another one, or times clearly grew.
pub(super) fn carried(facts: &Facts<'_>, totals: &RunTotals, unlimited: &Unlimited) -> Option<Remark> {
    let is_constant = facts.constant_load.as_ref().is_some_and(ConstantLoad::is_constant_without_queue);
    let now = facts.in_progress.filter(InProgress::counts_exclude_a_backlog)?;
    if !is_constant || !unlimited.is_open || facts.usual_growth.is_none() || have_clearly_grown(facts) || is_limited(facts) {
        return None;
    }
    let served = all_served(totals)?;
    let (expected, seen) = now.expected_and_seen()?;
    let times = format!(
        "no backlog grew (a limit 5 % below the load would have left {} more requests in the system, and there were at most {}){}",
        loadstone_units::number(expected),
        loadstone_units::number(seen),
        facts.usual_growth.map_or_else(String::new, |growth| format!(
            ", though times varied (the last third took {} times as long as the first{}, 95 % interval {} to {})",
            loadstone_units::number(growth.factor),
            without_pauses(facts),
            loadstone_units::number(growth.low),
            loadstone_units::number(growth.high)
        ))
    );
    Some(remark(facts, unlimited, &served, &times, None))
}

/// A rising load of arrivals of which so few are in the system that a limit clearly below it is excluded, however few requests show their times. `None`: users,
/// or times grew.
pub(super) fn carried_ramp(facts: &Facts<'_>, totals: &RunTotals, unlimited: &Unlimited) -> Option<Remark> {
    let excluded = facts.in_progress?.no_limit_below?;
    let is_often_slow = facts.slow_seconds.as_ref().is_some_and(|slow| slow.count >= SLOW_SECONDS_MIN);
    // The counts exclude no limit just below the highest load, and the load explains no growth of one request alone.
    let may_be_near = facts.usual_growth.is_some_and(|growth| growth.factor > GROWTH_RULED_OUT || growth.has_one_grown_alone);
    if !unlimited.is_open || is_limited(facts) || is_often_slow || may_be_near || have_clearly_grown(facts) {
        return None;
    }
    let served = all_served(totals)?;
    let over = format!("over the ramp{}", without_pauses(facts));
    let varied = facts.usual_growth.map_or_else(String::new, |growth| format!(", while times {}", grew(growth, &over)));
    let times = format!(
        "no backlog grew (a limit below {} arrivals per second would have left more requests in the system than there were){varied}",
        loadstone_units::number(excluded)
    );
    Some(remark(facts, unlimited, &served, &times, None))
}

fn remark(facts: &Facts<'_>, unlimited: &Unlimited, served: &str, times: &str, least_ceiling: Option<String>) -> Remark {
    let text = format!(
        "No limit was reached up to {} requests per second: {served}, {}, and {times}.",
        loadstone_units::number(unlimited.top_rate),
        unlimited.failed
    );
    let has_varied = facts.growth.map_or_else(|| facts.responses.iter().any(LoadResponse::load_has_varied), |growth| growth.is_by_load);
    let kind = if has_varied { RemarkKind::NoLimit } else { RemarkKind::Steady };
    Remark::new(kind, text).and(least_ceiling.into_iter().chain(unlimited.next.iter().cloned()))
}

fn is_limited(facts: &Facts<'_>) -> bool {
    let is_seen = facts.ceiling.is_some() || !facts.plateaus.limited.is_empty();
    is_seen || facts.generator.grade() == Grade::Invalid || waits_for_cores(facts).is_some()
}

/// An observed process whose threads waited for a core at the top of the load, by whose work that may be, and how many of them did at any time.
pub(super) fn waits_for_cores<'a>(facts: &'a Facts<'_>) -> Option<(&'a str, f64)> {
    let (from, to) = facts.strain.top_span();
    let processes = facts.path.of_kind(ResourceKind::Process);
    let waits = processes.filter_map(|process| Some((process.part.observer, process.waiting.as_ref()?.mean(from, to)?)));
    waits.filter(|(_, threads)| *threads >= CORE_WAIT_MAX).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// When the threads of a process began to wait for a core, if they did so in mid-run. Seconds since the run began.
pub(super) fn core_wait_since(facts: &Facts<'_>, observer: &str) -> Option<f64> {
    let process = facts.path.of_kind(ResourceKind::Process).find(|process| process.part.observer == observer)?;
    signal_steps::find(process.waiting.as_ref()?, facts.strain.loaded()?).filter(|step| step.after > step.before).map(|step| step.at)
}

fn all_served(totals: &RunTotals) -> Option<String> {
    let cut_off = totals.arrivals_due.saturating_sub(totals.arrivals_started) + totals.iterations_interrupted;
    (cut_off as f64 <= CUT_OFF_PART_MAX * totals.arrivals_due as f64).then(|| match cut_off {
        0 => "every arrival was served".to_owned(),
        cut => format!("every arrival was served but {} that the end of the run cut off", loadstone_units::count(cut)),
    })
}

/// A constant number of users must not have waited all the time: such times do not grow either.
fn users_served(facts: &Facts<'_>) -> Option<String> {
    match facts.constant_load.as_ref().filter(|load| load.users.is_some()) {
        Some(users) if !users.is_free() && !users.is_far_from_limit() && users.in_flight >= IN_FLIGHT_FEW => None,
        Some(users) => Some(format!(
            "{} users were served, {} requests at a time",
            loadstone_units::number(users.asked),
            loadstone_units::number(users.in_flight)
        )),
        None => facts.growth.filter(|growth| growth.is_by_load).map(|_| "throughput followed the users".to_owned()),
    }
}

/// What constant users show about the limit without any more load. A bound below the throughput that was sustained says nothing.
fn least_ceiling(facts: &Facts<'_>, sustained: f64) -> Option<String> {
    let users = facts.constant_load.as_ref()?;
    let each = users.requests.iter().map(|request| request.throughput).sum::<f64>() / users.iterations.max(1e-9);
    let ceiling = users.least_ceiling()? * each;
    (ceiling > sustained).then(|| {
        format!(
            "At least {} would pass, even if all of the time in requests were spent in one queue (mean-value analysis, {} times the sustained throughput).",
            loadstone_units::rate(ceiling),
            loadstone_units::number(ceiling / sustained)
        )
    })
}
