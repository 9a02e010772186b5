//! The remark: a conclusion when no rule reports a finding, or further observations next to findings. Without a finding it states that no limit was reached
//! at this load, if each request and flow shows that, or what to observe next. Each sentence rests on numbers of this run; there is no default sentence.

mod full_machine;
pub(crate) mod load_shape;
mod load_stages;
pub(crate) mod load_target;
mod no_limit;

use loadstone_metrics::{Role, SeriesKind};
use loadstone_run_directory::RunEnd;

use crate::advice_terms::WantedObserver;
use crate::capacity;
use crate::evidence::failed_objective;
use crate::evidence::growing_level;
use crate::evidence::headroom;
use crate::evidence::next_limit;
use crate::evidence::round_trips::TIME_SHARE;
use crate::evidence::time_place;
use crate::evidence::transactions;
use crate::evidence::users_time;
use crate::facts::Facts;
use crate::facts::changes::{CHANGE_MIN_S, Change, TimeVariation};
use crate::facts::exhausted::COLLECTING_NAMED_SHARE_MIN;
use crate::facts::growing_memory;
use crate::facts::hardly_answered::HardlyAnswered;
use crate::facts::load_blocks::LoadStretch;
use crate::facts::load_response::{LOAD_VARIED_FACTOR_MIN, LoadResponse, SLOWER_FACTOR_MIN};
use crate::facts::readings::SignalReadings;
use crate::facts::session_waits;
use crate::facts::signals::ObservedPart;
use crate::facts::timeline::TimelineOf;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::{MissingKnowledge, Remark, RemarkKind};
use crate::instant::{clock, named};
use crate::{Grade, RunTotals};
use load_shape::WantedLoad;
use load_target::LoadTarget;
use no_limit::Unlimited;

/// Failed share above which the remark is about failures only.
const FAILED_SHARE_MAX: f64 = 0.001;
/// Maximum growth of response times that counts as none.
const GROWTH_FACTOR_MAX: f64 = 1.25;
/// Part of the requested throughput that must have been reached: with an allowance for its error, and without.
const REACHED_PART_MIN: f64 = 0.95;
const REACHED_PART_STRICT_MIN: f64 = 0.8;
const REQUESTS_MIN: u64 = 100;
/// Requests from which counts and sums show that nothing was limited, although single times say little.
const FEW_REQUESTS_MIN: u64 = 30;
/// Probability of no failure among few requests at the highest share of failures that is stated.
const NO_FAILURE_P_VALUE: f64 = 0.05;
/// Requests of one kind in a stretch from which they show whether their times remained stable.
const STRETCH_REQUESTS_MIN: u64 = 8;
/// Journeys that replace the minimum of requests, since a request may start any number of them.
const JOURNEYS_MIN: u64 = 100;
/// Maximum part of the requests that may be too rare for their times to be examined.
const RARE_SHARE_MAX: f64 = 0.2;
/// How many times as long a run should take after one that was too short.
const LONGER_FACTOR: f64 = 5.0;
/// Part of the loaded time that a stretch of steady load must cover to represent the run.
const COVERED_PART_MIN: f64 = 0.7;
/// Active sessions of a database from which the remark names their statement.
const ACTIVE_SESSIONS_MIN: f64 = 0.5;
/// Threads waiting for a core from which the remark mentions them.
const WAITING_THREADS_MIN: f64 = 1.0;
/// Users that begin at once and can delay each other.
const CROWD_USERS_MIN: u64 = 5;
/// Part of the time in requests after their first bytes from which the remark mentions it, and the time of one request. Seconds.
const RECEIVING_SHARE_MIN: f64 = 0.7;
const RECEIVING_MIN_S: f64 = 0.1;
/// Idle cores below which no core counts as idle.
const IDLE_CORES_MIN: f64 = 0.05;

/// `habits`: what the system does for each request, which alone explains nothing.
pub(crate) fn of(facts: &Facts<'_>, habits: &[RankedFinding]) -> Remark {
    let totals = crate::summary::totals(facts.tally);
    let remark = without_warm_up(facts, &totals);
    let spent = facts.time_place.as_ref().map(|place| format!("{}.", time_place::sentence(place)));
    let remark = spent.into_iter().chain(failed_objective::sentence(facts)).fold(remark, Remark::with_answer);
    let warmed_up = facts.changes.warm_ups.first().map(|change| warming_up(facts, change));
    let further = [
        warmed_up,
        receiving(facts),
        full_machine::sentence(facts, remark.kind),
        growing_memory(facts),
        growing_level::sentence(facts, "But the"),
    ];
    let passing = transactions::in_passing(facts).filter(|_| habits.is_empty() && facts.hardly_answered.is_none());
    remark.and(further.into_iter().flatten().chain(passing).chain(habits.iter().map(|found| habit(facts, found))))
}

/// The claim of a habit, and the part of the time that it takes.
fn habit(facts: &Facts<'_>, found: &RankedFinding) -> String {
    let part = found.finding.quantities.iter().find(|quantity| quantity.name == TIME_SHARE);
    let part = part.map_or_else(String::new, |part| format!(", for {} of the time", loadstone_units::share(part.value)));
    let use_of_it = if facts.slows_down() {
        "This does not explain why requests became slower."
    } else {
        "Requests would hardly be faster without it."
    };
    format!("{}{part}. {use_of_it}", found.finding.claim)
}

/// Observations that no finding reports, and that may become a limit.
pub(crate) fn in_addition(facts: &Facts<'_>, found: &[RankedFinding]) -> Remark {
    let is_reported = |rules: &[&str]| found.iter().any(|found| rules.iter().any(|rule| found.finding.rule == *rule));
    // Waiting work takes memory.
    let is_held_up = !facts.waiting.is_empty() || !facts.plateaus.limited.is_empty();
    let memory = if is_held_up || is_reported(&["heap", "memory-per-connection"]) { None } else { growing_memory(facts) };
    let level = if is_reported(&["unstable-queue", "descriptors", "connection-pool", "unanswered"]) {
        None
    } else {
        growing_level::sentence(facts, "The")
    };
    let sentences: Vec<String> = without_limit(facts, found).into_iter().chain(memory).chain(level).collect();
    if sentences.is_empty() { Remark::default() } else { Remark::new(RemarkKind::Also, String::new()).and(sentences) }
}

/// That no limit was reached, if all findings are about defects of a system that carries the load: they say nothing about limits.
fn without_limit(facts: &Facts<'_>, found: &[RankedFinding]) -> Option<String> {
    let are_defects = found.iter().all(|found| matches!(found.standing, Standing::Fault | Standing::Habit));
    let carries = are_defects && facts.growing.is_empty() && facts.stalls.is_none();
    let remark = carries.then(|| without_warm_up(facts, &crate::summary::totals(facts.tally)))?;
    matches!(remark.kind, RemarkKind::NoLimit | RemarkKind::Steady).then_some(remark.summary)
}

/// Requests that took most of their time after the first byte.
fn receiving(facts: &Facts<'_>) -> Option<String> {
    let requests = facts.tally.of_kind(SeriesKind::Request).map(|series| &series.merged);
    let (count, whole, body) = requests.fold((0, 0.0, 0.0), |(count, whole, body), of| {
        (count + of.count, whole + of.service.sum() as f64 / 1e9, body + of.phases.body.sum() as f64 / 1e9)
    });
    let each = body / count.max(1) as f64;
    (body >= RECEIVING_SHARE_MIN * whole && each >= RECEIVING_MIN_S).then(|| {
        format!(
            "But {} of the time in requests passed after the first byte of the response, {} in each on average: look for a limit of bandwidth (a proxy, a \
             network) or a body that is generated slowly.",
            loadstone_units::share(body / whole),
            loadstone_units::seconds(each)
        )
    })
}

/// Memory that grew until the end.
fn growing_memory(facts: &Facts<'_>) -> Option<String> {
    let grown = growing_memory::find(&facts.signals, &facts.strain, None, facts.strain.loaded()?)?;
    Some(format!(
        "The memory of \"{}\" grew steadily from {} to {}, at the end by about {} per request: a leak, or a heap that is not full yet. \
         Run longer to see whether the growth stops.",
        grown.observer,
        loadstone_units::bytes(grown.first as u64),
        loadstone_units::bytes(grown.last as u64),
        loadstone_units::bytes(grown.each as u64)
    ))
}

fn without_warm_up(facts: &Facts<'_>, totals: &RunTotals) -> Remark {
    let has_few_requests = totals.requests < REQUESTS_MIN;
    let flows = facts.tally.flows();
    let is_short = totals.requests < FEW_REQUESTS_MIN || (has_few_requests && !flows.is_empty());
    if is_short && flows.iter().all(|flow| flow.merged.finished < JOURNEYS_MIN) {
        return too_few(facts, totals);
    }
    if totals.failure_share > FAILED_SHARE_MAX {
        return Remark::cannot_tell(MissingKnowledge::FailuresFirst, &failed(facts, totals), "Check the errors first.");
    }
    if facts.run.end != Some(RunEnd::Completed) {
        return Remark::cannot_tell(MissingKnowledge::IncompleteRun, "the run did not complete", "Let it run to its end.");
    }
    if facts.validity.grade == Grade::Invalid {
        return Remark::cannot_tell(MissingKnowledge::InvalidMeasurement, "the measurement is not valid", "See the validity checks.");
    }
    if let Some(waiting) = facts.waiting.first() {
        let why = format!(
            "{} waited from {} to {}, and no observed resource explains it",
            waiting.what(),
            clock(waiting.from),
            clock(waiting.to)
        );
        return Remark::cannot_tell(MissingKnowledge::UnexplainedWaiting, &why, &observe_next(facts));
    }
    if has_few_requests {
        let steady = || stable_at_constant_load(facts, totals);
        return steady().or_else(|| few_without_limit(facts, totals)).unwrap_or_else(|| too_few(facts, totals));
    }
    let unlimited =
        Unlimited { failed: failed(facts, totals), top_rate: top_rate(facts, totals), is_open: is_open(facts), next: room_and_next(facts) };
    let without_queue = || no_limit::without_queue(facts, totals, &unlimited).filter(|_| has_no_strain(facts));
    let grown: Vec<&LoadResponse> = facts.responses.iter().filter(|response| response.has_grown_with_load()).collect();
    if let [first, ..] = grown[..] {
        return without_queue().unwrap_or_else(|| shared(facts, &grown, first));
    }
    if let Some((first, top)) = facts.responses.iter().find_map(|response| Some((response, response.grown_top()?))) {
        return without_queue().unwrap_or_else(|| begins_to_grow(facts, first, &top));
    }
    let has_no_backlog = facts.in_progress.is_none_or(|now| now.excludes_a_backlog());
    if all_follow(facts) && has_no_strain(facts) && has_no_backlog {
        let text = format!(
            "No limit was reached at this load: throughput followed the load up to {} requests per second, response times did not grow \
             with it, and {}.",
            loadstone_units::number(top_rate(facts, totals)),
            failed(facts, totals)
        );
        return Remark::new(RemarkKind::NoLimit, text).and(headroom_and_next(facts));
    }
    if let Some(steady) = stable_at_constant_load(facts, totals) {
        return steady;
    }
    let stable_times = no_limit::of(facts, totals, &unlimited).filter(|_| has_no_strain(facts) && has_no_backlog);
    // Whatever arrives and leaves no backlog is carried, even if a request takes somewhat longer from an instant on.
    let changed = no_limit::small_changes(facts).filter(|_| is_undelayed(facts));
    let carried = || no_limit::carried(facts, totals, &unlimited).or_else(|| no_limit::carried_ramp(facts, totals, &unlimited));
    let carried = || changed.and_then(|changed| Some(carried()?.and(changed)));
    stable_times.or_else(without_queue).or_else(carried).unwrap_or_else(|| unclear(facts))
}

/// Few requests, none of which waited for another: by counts and sums, since single times say little.
fn few_without_limit(facts: &Facts<'_>, totals: &RunTotals) -> Option<Remark> {
    let failed_most = 1.0 - NO_FAILURE_P_VALUE.powf(1.0 / totals.requests.max(1) as f64);
    let failed = format!(
        "{} (of {} requests, so that up to {} may fail, 95 %)",
        failed(facts, totals),
        loadstone_units::count(totals.requests),
        loadstone_units::share(failed_most)
    );
    let unlimited = Unlimited { failed, top_rate: top_rate(facts, totals), is_open: is_open(facts), next: room_and_next(facts) };
    let has_no_backlog = facts.in_progress.is_some_and(|now| now.excludes_a_backlog());
    let stable_times = || no_limit::of(facts, totals, &unlimited).filter(|_| has_no_backlog);
    let remark = no_limit::without_queue(facts, totals, &unlimited).or_else(stable_times);
    remark.or_else(|| no_limit::carried_ramp(facts, totals, &unlimited)).filter(|_| has_no_strain(facts))
}

/// The load varied too little, or too fast, to see how the target responds to it.
fn unclear(facts: &Facts<'_>) -> Remark {
    if facts.responses.iter().any(has_varied) {
        return Remark::cannot_tell(
            MissingKnowledge::HigherLoad,
            "as the load rose, response times did not clearly remain stable, and throughput did not clearly stop",
            &with_observations(facts, &format!("Raise the load further and hold it there{}.", higher(facts))),
        );
    }
    if facts.responses.iter().any(LoadResponse::load_has_varied) {
        let next = format!("Raise the load more slowly, so that more requests end while it is low{}.", higher(facts));
        return Remark::cannot_tell(
            MissingKnowledge::VariedLoad,
            "too few requests ended at low load to see how the target responds to a higher one",
            &with_observations(facts, &next),
        );
    }
    let times = users_time::sentence(facts).unwrap_or_default();
    if let Some((observer, threads)) = no_limit::waits_for_cores(facts) {
        let since = no_limit::core_wait_since(facts, observer).map_or_else(String::new, |at| format!(" from {} on", clock(at)));
        let why = format!(
            "{} threads of \"{observer}\" waited for a core at any time{since}, so that its times may be those of the machine",
            loadstone_units::number(threads)
        );
        let next = format!("{times}Stop other programs on the machine, or give the service more cores, and run again.");
        return Remark::cannot_tell(MissingKnowledge::UnexplainedWaiting, &why, &with_observations(facts, &next));
    }
    Remark::cannot_tell(
        MissingKnowledge::VariedLoad,
        "the load did not vary enough to see how the target responds to it",
        &with_observations(facts, &format!("{times}Ramp the load from low to high{}.", higher(facts))),
    )
}

fn too_few(facts: &Facts<'_>, totals: &RunTotals) -> Remark {
    // Running longer would not help.
    if let Some(RunEnd::Failed(_)) = facts.run.end {
        return Remark::cannot_tell(
            MissingKnowledge::IncompleteRun,
            "the run failed before enough requests had ended",
            "Fix the cause of the failure.",
        );
    }
    if totals.requests == 0 && facts.tally.flows().iter().all(|flow| flow.merged.finished == 0) {
        return Remark::cannot_tell(MissingKnowledge::TooFewRequests, "no request ended", "See the validity checks.");
    }
    if let Some(stuck) = &facts.hardly_answered {
        return Remark::cannot_tell(MissingKnowledge::UnexplainedWaiting, &hardly_answered(stuck), &observe_next(facts));
    }
    let times = LONGER_FACTOR.max(2.0 * REQUESTS_MIN as f64 / totals.requests.max(1) as f64);
    Remark::cannot_tell(
        MissingKnowledge::TooFewRequests,
        "too few requests ended",
        &format!("Run longer{}.", load_shape::line(facts, WantedLoad::Longer(times))),
    )
}

/// A longer run would only have more requests that wait.
fn hardly_answered(stuck: &HardlyAnswered) -> String {
    let (number, (first, last)) = (loadstone_units::number, stuck.in_system);
    let in_system = match last >= 2.0 * first {
        true => format!("those in the system grew from {} to {}", number(first), number(last)),
        false => format!("{} were in the system", number(last)),
    };
    format!(
        "requests are hardly answered: {} of {} that began had ended when the run did, while {in_system} and {} ended",
        loadstone_units::count(stuck.ended),
        loadstone_units::count(stuck.ended + stuck.open),
        loadstone_units::rate(stuck.rate)
    )
}

fn shared(facts: &Facts<'_>, grown: &[&LoadResponse], first: &LoadResponse) -> Remark {
    let times = match (first.low, first.high) {
        (Some(low), Some(high)) => {
            format!(" (\"{}\" from {} to {})", first.name, loadstone_units::seconds(low.service), loadstone_units::seconds(high.service))
        }
        _ => String::new(),
    };
    if grown.len() > 1 {
        return Remark::cannot_tell(
            MissingKnowledge::UnexplainedWaiting,
            &format!("{} requests slow down together as the load rises{times}, which indicates a shared resource", grown.len()),
            &format!("{}{}", observe_next(facts), nearest_limit(facts)),
        );
    }
    if keeps_up(first) {
        return Remark::cannot_tell(
            MissingKnowledge::HigherLoad,
            &format!("response times grow with the load{times}, but throughput still follows it"),
            &with_observations(facts, &format!("Raise the load until throughput stops{}.", higher(facts))),
        );
    }
    let throughput = match (first.low, first.high) {
        (Some(low), Some(high)) => {
            let number = loadstone_units::number;
            format!(" ({} times the load, {} times the throughput)", number(high.load / low.load), number(high.throughput / low.throughput))
        }
        _ => String::new(),
    };
    Remark::cannot_tell(
        MissingKnowledge::VariedLoad,
        &format!(
            "response times grow with the load{times}, and throughput grows less than it{throughput}, for too short a time to see where it stops"
        ),
        &with_observations(facts, &format!("Raise the load more slowly{}.", higher(facts))),
    )
}

fn begins_to_grow(facts: &Facts<'_>, first: &LoadResponse, top: &LoadStretch) -> Remark {
    let low = first.low.map_or(0.0, |low| low.service);
    let how = if first.is_slower_on_average() { "times grow with the load" } else { "times began to grow only at the top of the load" };
    let why = format!("{how} (\"{}\" from {} to {})", first.name, loadstone_units::seconds(low), loadstone_units::seconds(top.service));
    let next = format!("Raise the load further and hold it there{}.{}", higher(facts), nearest_limit(facts));
    Remark::cannot_tell(MissingKnowledge::HigherLoad, &why, &with_observations(facts, &next))
}

/// The resource nearest to its limit at the top of the load, as a sentence.
fn nearest_limit(facts: &Facts<'_>) -> String {
    let nearest = next_limit::nearest(facts, facts.strain.top_span());
    nearest.map_or_else(String::new, |limit| format!(" Among the observed resources, {limit}."))
}

/// The load that shows where throughput stops and times grow, as a line of script.
fn higher(facts: &Facts<'_>) -> String {
    load_shape::line(facts, WantedLoad::Higher)
}

/// The room that the observed resources leave, then pauses to examine, or what to do next where nothing is wrong.
fn room_and_next(facts: &Facts<'_>) -> Vec<String> {
    let Some(slow) = slow_seconds(facts) else { return headroom_and_next(facts) };
    headroom::sentence(facts).map(|sentence| format!("{sentence}.")).into_iter().chain([slow]).collect()
}

/// The nearest observed limit, and what to do next where nothing is wrong.
fn headroom_and_next(facts: &Facts<'_>) -> Vec<String> {
    let headroom = match headroom::sentence(facts) {
        Some(sentence) => Some(format!("{sentence}.")),
        None => next_observer(facts).map(|observer| format!("To see how much room is left: {observer}")),
    };
    let baseline =
        format!("To see whether it became slower, compare it with a baseline: `loadstone compare BASELINE {}`.", facts.run.info.id);
    let more = format!("Only a higher load shows where the limit is{}.", higher(facts));
    headroom.into_iter().chain([baseline, more]).collect()
}

/// `nothing failed`, or all that did.
fn failed(facts: &Facts<'_>, totals: &RunTotals) -> String {
    let of = |count: u64, all: u64, what: &str| {
        (count > 0).then(|| format!("{} of {} {what} failed", loadstone_units::count(count), loadstone_units::count(all)))
    };
    let most = facts.failing.first().and_then(|failing| failing.kinds.first());
    let how = most.map_or_else(String::new, |kind| format!(" ({})", kind.text));
    let requests = of(totals.requests_failed, totals.requests, "requests").map(|text| format!("{text}{how}"));
    let iterations = if requests.is_none() { of(totals.iterations_failed, totals.iterations, "iterations") } else { None };
    let checks = of(totals.checks_failed, totals.checks_passed + totals.checks_failed, "checks");
    let flows = facts.tally.flows().iter().filter_map(|flow| {
        let merged = &flow.merged;
        (merged.timed_out > 0)
            .then(|| format!("{} journeys of \"{}\" were abandoned", loadstone_units::count(merged.timed_out), merged.name))
    });
    let all: Vec<String> = [requests, iterations, checks].into_iter().flatten().chain(flows).collect();
    if all.is_empty() { "nothing failed".to_owned() } else { all.join(", ") }
}

/// Whether the throughput of every request with enough samples followed the load, or its load stayed the same and it remained stable next to the others.
fn all_follow(facts: &Facts<'_>) -> bool {
    let frequent = facts.responses.iter().filter(|response| response.count >= REQUESTS_MIN);
    let (varied, others): (Vec<&LoadResponse>, Vec<&LoadResponse>) = frequent.partition(|response| has_varied(response));
    let all_hold = |response: &&LoadResponse| varied.iter().all(|other| holds_next_to(response, other));
    !varied.is_empty() && varied.iter().all(|response| follows(response)) && others.iter().all(all_hold)
}

fn has_varied(response: &LoadResponse) -> bool {
    matches!((response.low, response.high), (Some(low), Some(high)) if high.load >= LOAD_VARIED_FACTOR_MIN * low.load)
}

/// Whether as many of its requests ended, in the same time, at high load of another request as at low load.
fn holds_next_to(response: &LoadResponse, varied: &LoadResponse) -> bool {
    let (Some(low), Some(high)) = (varied.low, varied.high) else { return false };
    if low.from < high.to && high.from < low.to {
        return false;
    }
    let during = |of: LoadStretch| response.stretch_between((of.from, of.to)).filter(|stretch| stretch.count >= STRETCH_REQUESTS_MIN);
    let (Some(low), Some(high)) = (during(low), during(high)) else { return false };
    let throughput_min = REACHED_PART_MIN * low.throughput - 2.0 * low.throughput_error.hypot(high.throughput_error);
    high.service <= service_max(&low) && high.throughput >= throughput_min.max(REACHED_PART_STRICT_MIN * low.throughput)
}

/// Maximum mean time of a request that counts as not grown, with an allowance for the error under low load.
fn service_max(low: &LoadStretch) -> f64 {
    f64::min(GROWTH_FACTOR_MAX * (low.service + 2.0 * low.mean_error()), SLOWER_FACTOR_MIN * low.service)
}

/// No time changed, no journey was lost or remained open, and no arrival waited for a user.
fn has_no_strain(facts: &Facts<'_>) -> bool {
    facts.changes.found.is_empty() && is_undelayed(facts)
}

/// The same whatever times did.
fn is_undelayed(facts: &Facts<'_>) -> bool {
    let is_lost = |flow: &crate::FlowTally| flow.merged.timed_out > 0 || flow.merged.backlog > 0;
    let waited = facts.tally.leaves().iter().any(|leaf| leaf.waiting_max > 0);
    !waited && !facts.tally.flows().iter().any(is_lost)
}

/// Throughput grew with a load that at least doubled, and times did not.
fn follows(response: &LoadResponse) -> bool {
    let (Some(low), Some(high)) = (response.low, response.high) else { return false };
    has_varied(response) && high.service <= service_max(&low) && keeps_up(response)
}

fn keeps_up(response: &LoadResponse) -> bool {
    response.throughput_follows(REACHED_PART_MIN, REACHED_PART_STRICT_MIN)
}

/// For a constant load of arrivals: whether everything was served, and how stable the median of each request and flow was. With too few requests, only flows.
fn stable_at_constant_load(facts: &Facts<'_>, totals: &RunTotals) -> Option<Remark> {
    let has_few_requests = totals.requests < REQUESTS_MIN;
    let requests = || facts.tally.of_kind(SeriesKind::Request).map(|series| &series.merged);
    // The median of a few samples varies by chance.
    let is_rare = |of: &TimelineOf| requests().any(|one| one.count < REQUESTS_MIN && TimelineOf::Series(one.key.clone()) == *of);
    let is_examined = |one: &&TimeVariation| if has_few_requests { one.of.kind().is_none() } else { one.is_stable() || !is_rare(&one.of) };
    let examined: Vec<&TimeVariation> = facts.changes.variations.iter().filter(is_examined).collect();
    let first = examined.first()?;
    let loaded = facts.tally.seconds_with_arrivals();
    let is_served = has_no_strain(facts) && totals.arrivals_started >= totals.arrivals_due;
    if !is_open(facts) || !is_served || first.to - first.from < COVERED_PART_MIN * loaded {
        return None;
    }
    let was_examined = |of: &TimelineOf| examined.iter().any(|one| one.of == *of);
    let flows = facts.tally.flows().iter().filter(|flow| flow.merged.started > 0);
    let mut flows = flows.map(|flow| TimelineOf::Flow(flow.merged.name.to_string()));
    if !flows.all(|flow| was_examined(&flow)) || !examined.iter().all(|one| one.is_stable()) {
        return None;
    }
    let rare = requests().filter(|one| !was_examined(&TimelineOf::Series(one.key.clone())) && !facts.preparation.has(&one.key));
    let (names, counts): (Vec<&str>, Vec<u64>) = rare.map(|one| (&*one.key.name, one.count)).unzip();
    if !has_few_requests && counts.iter().sum::<u64>() as f64 > RARE_SHARE_MAX * totals.requests as f64 {
        return None;
    }
    let rare =
        if has_few_requests || names.is_empty() { String::new() } else { format!(" ({} had too few requests to judge)", named(&names)) };
    let served = match totals.iterations_interrupted {
        0 => "Every arrival was served".to_owned(),
        cut => format!("Every arrival was started, and the end of the run cut off {}", loadstone_units::count(cut)),
    };
    let held = format!("{served}, {}, and {}", failed(facts, totals), medians(facts, totals, &examined)) + &rare;
    // The maximum in the same report shows pauses that are too few for a finding.
    let steady = |text: String| Remark::new(RemarkKind::Steady, text);
    Some(match slow_seconds(facts) {
        Some(slow) => steady(format!("{held}.")).and([slow]),
        None => steady(format!("{held}: no limit was reached.")).and(headroom_and_next(facts)),
    })
}

/// Seconds in which single requests took far longer, as a sentence.
fn slow_seconds(facts: &Facts<'_>) -> Option<String> {
    let slow = facts.slow_seconds.as_ref()?;
    Some(format!(
        "But in {}, the slowest request took up to {} instead of {}: cannot tell what delayed it. Run longer to see whether that recurs{}.",
        loadstone_units::counted(slow.count as u64, "second"),
        loadstone_units::seconds(slow.longest_s),
        loadstone_units::seconds(slow.usual_longest_s),
        load_shape::line(facts, WantedLoad::Longer(LONGER_FACTOR))
    ))
}

/// Whether all load, apart from its preparation, consists of arrivals.
fn is_open(facts: &Facts<'_>) -> bool {
    let (set_ups, leaves) = (facts.run.plan.set_ups(), facts.run.plan.load.leaves());
    leaves.iter().zip(0_u32..).all(|(leaf, number)| leaf.profile.is_open() || set_ups.contains_key(&number))
}

/// The maximum difference between the medians of the thirds, and the load. A negligible difference is given as time, as its share would mislead.
fn medians(facts: &Facts<'_>, totals: &RunTotals, examined: &[&TimeVariation]) -> String {
    let most = |variations: &[&TimeVariation]| variations.iter().map(|one| one.within).fold(0.0, f64::max);
    let larger: Vec<&TimeVariation> = examined.iter().copied().filter(|one| one.range_s() > CHANGE_MIN_S).collect();
    let share = |within: f64| loadstone_units::share(within.max(0.001));
    let within = match (most(examined), larger.is_empty()) {
        (most, _) if most <= GROWTH_FACTOR_MAX - 1.0 => share(most),
        (_, true) => "1 ms".to_owned(),
        (_, false) => format!("{} or 1 ms", share(most(&larger))),
    };
    let rate = loadstone_units::number(totals.request_rate);
    let journeys: u64 = facts.tally.flows().iter().map(|flow| flow.merged.finished).sum();
    let finished = loadstone_units::number(journeys as f64 / totals.duration_seconds.max(1.0));
    if totals.requests < REQUESTS_MIN {
        let of = loadstone_units::counted(totals.requests, "request");
        return format!("each flow's median remained within {within} at {finished} journeys per second ({of} are too few to judge)");
    }
    if journeys == 0 {
        return format!("each request's median remained within {within} at {rate} requests per second");
    }
    format!("the median of each request and flow remained within {within} at {rate} requests and {finished} journeys per second")
}

/// If all users begin at once, the run does not show whether the system also had to warm up.
fn warming_up(facts: &Facts<'_>, change: &Change) -> String {
    let names = named(&[change.of.name()]);
    let why = match crowd(facts) {
        Some(users) => {
            format!("all {users} users began at once, which alone can make them wait. A ramp shows whether the system also had to warm up")
        }
        None => "the system warmed up".to_owned(),
    };
    format!(
        "{names} was slower until {} ({} instead of {}): {why}.",
        clock(change.at),
        loadstone_units::seconds(change.before.median),
        loadstone_units::seconds(change.after.median)
    )
}

/// Users of closed load who began together, where nearly all did.
fn crowd(facts: &Facts<'_>) -> Option<u64> {
    let asked = |slice: &loadstone_metrics::Snapshot| slice.leaves.iter().map(|leaf| leaf.users_asked).sum::<u64>();
    let first = facts.run.slices.iter().map(asked).find(|users| *users > 0)?;
    let most = facts.run.slices.iter().map(asked).max()?;
    (first >= CROWD_USERS_MIN && 10 * first >= 9 * most).then_some(first)
}

/// The throughput that the run sustained; of a short run, its mean.
fn top_rate(facts: &Facts<'_>, totals: &RunTotals) -> f64 {
    capacity::sustained(facts.run).unwrap_or(totals.request_rate)
}

/// The target's observed state, and the observer to add next. If none is missing, a load that shows more.
pub(crate) fn observe_next(facts: &Facts<'_>) -> String {
    let hold = || {
        let line = load_shape::line(facts, WantedLoad::Held);
        format!("Hold the highest load, so that a shortage has time to show{line}.")
    };
    after_observations(&observed(facts), &next_observer(facts).unwrap_or_else(hold))
}

/// The load of the next run, the target's observed state, and the observer to add next, if one is missing.
fn with_observations(facts: &Facts<'_>, load: &str) -> String {
    let rest = after_observations(&observed(facts), &next_observer(facts).unwrap_or_default());
    format!("{load} {rest}").trim_end().to_owned()
}

fn after_observations(observed: &[String], next: &str) -> String {
    if observed.is_empty() { next.to_owned() } else { format!("Observed: {}. {next}", observed.join("; ")) }
}

/// The most informative missing observer, as code for the next run.
fn next_observer(facts: &Facts<'_>) -> Option<String> {
    let is_observed = |role| facts.signals.parts_with(role).next().is_some();
    let target = LoadTarget::of_run(facts);
    let terms = facts.terms();
    if let Some(database) = target.observe_database(&facts.run.plan, &terms) {
        return Some(database);
    }
    if !is_observed(Role::ProcessCpu) {
        return Some(target.observe_process(&terms));
    }
    if !is_observed(Role::SessionsActive) && !is_observed(Role::PoolInUse) && !has_metrics(facts) {
        let metrics = format!("its own metrics, which count pools and threads ({})", terms.observing(&[WantedObserver::Prometheus]));
        return Some(match LoadTarget::database_behind(&facts.run.plan, &terms) {
            Some(database) => format!("Observe its dependencies: {database} or {metrics}."),
            None => format!("Observe {metrics}."),
        });
    }
    (!is_observed(Role::MachineIdle)).then(|| format!("Observe its machine: {}.", terms.observing(&[WantedObserver::Host])))
}

/// Whether the system's own metrics are observed.
fn has_metrics(facts: &Facts<'_>) -> bool {
    facts.run.plan.observers.iter().any(|observer| {
        let kind = observer.get("kind").and_then(serde_json::Value::as_str);
        matches!(kind, Some("prometheus" | "json" | "statsd"))
    })
}

/// The maximum use of the observed processes, machine and sessions, and the time for garbage collection.
fn observed(facts: &Facts<'_>) -> Vec<String> {
    let end = facts.tally.duration_seconds();
    let words = [(Role::ProcessCpu, "cores in use"), (Role::SessionsActive, "sessions active"), (Role::MachineIdle, "cores idle")];
    let highest = |role, words: &str| {
        let parts: Vec<_> = facts.signals.parts_with(role).collect();
        let readings = parts.into_iter().filter_map(|part| facts.signals.read(part, role)).collect::<Vec<_>>();
        let sentences = readings.into_iter().filter_map(|readings| {
            let most = readings.between(0.0, end).map(|(_, value)| value);
            let (most, edge) =
                if role == Role::MachineIdle { (most.reduce(f64::min)?, "at least") } else { (most.reduce(f64::max)?, "at most") };
            if role == Role::MachineIdle && most < IDLE_CORES_MIN {
                return Some(format!("\"{}\" had no idle core at times", readings.signal.observer));
            }
            let statement = if role == Role::SessionsActive { statement(facts, readings.signal.observer.as_str()) } else { None };
            let addition = if role == Role::ProcessCpu { waiting_for_a_core(facts, &readings) } else { statement };
            let addition = addition.unwrap_or_default();
            Some(format!("\"{}\" had {edge} {} {words}{addition}", readings.signal.observer, loadstone_units::number(most)))
        });
        sentences.collect::<Vec<String>>()
    };
    let highest = words.into_iter().flat_map(|(role, words)| highest(role, words));
    highest.chain(facts.signals.parts_with(Role::GarbageCollection).filter_map(|part| collecting(facts, part))).collect()
}

/// The statement that most active sessions of a database run at the top of the load.
fn statement(facts: &Facts<'_>, observer: &str) -> Option<String> {
    let (from, to) = facts.strain.top_span();
    let part = facts.signals.parts_with(Role::SessionsActive).find(|part| part.observer == observer)?;
    let active = facts.signals.mean(part, Role::SessionsActive, from, to).filter(|active| *active >= ACTIVE_SESSIONS_MIN)?;
    let (name, sessions, _) = session_waits::most_run(&facts.signals, part, active, (from, to))?;
    Some(format!(" (at the top of the load, {} of {} ran `{name}`)", loadstone_units::number(sessions), loadstone_units::number(active)))
}

/// Threads of a process that waited for a core at the top of the load.
fn waiting_for_a_core(facts: &Facts<'_>, cpu: &SignalReadings<'_>) -> Option<String> {
    let (from, to) = facts.strain.top_span();
    let part = facts.signals.parts_with(Role::ProcessRunDelay).find(|part| part.observer == cpu.signal.observer)?;
    let waited = facts.signals.mean(part, Role::ProcessRunDelay, from, to).filter(|threads| *threads >= WAITING_THREADS_MIN)?;
    Some(format!(" (at the top of the load, {} of its threads waited for a core)", loadstone_units::number(waited)))
}

/// Garbage collection at high load, if it takes much time.
fn collecting(facts: &Facts<'_>, part: ObservedPart<'_>) -> Option<String> {
    let (low, high) = facts.strain.low_and_high();
    let collectors = facts.signals.read_each(part, Role::GarbageCollection);
    let share = |spans: &[(f64, f64)]| collectors.iter().filter_map(|readings| readings.mean_inside(spans)).sum::<f64>();
    let before = if low.is_empty() { String::new() } else { format!(", and {} at low load", loadstone_units::share(share(&low))) };
    let at_high = share(&high);
    (at_high >= COLLECTING_NAMED_SHARE_MIN).then(|| {
        format!("\"{}\" collected garbage for {} of the time at high load{before}", part.observer, loadstone_units::share(at_high))
    })
}
