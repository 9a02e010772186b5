//! Times that changed while the load was constant, or by more than the load explains: a step, a drift, or a share of the requests.
//!
//! The rule examines the median, p90, mean and shares of slow ones per second of each request, group, scenario and flow. A change has a factor of at least
//! {changes::CHANGE_FACTOR_MIN} and {changes::CHANGE_MIN_S:ms}.
//!
//! | load | method | false discoveries |
//! |---|---|---|
//! | constant for {load_stretches::SECONDS_MIN} s | binary segmentation (Olshen 2004), Mann–Kendall, Theil–Sen | {changes::FALSE_DISCOVERY_SHARE_MAX:%} |
//! | changing | the same, after isotonic regression on the load (Barlow 1972) | {changing_load::FALSE_DISCOVERY_SHARE_MAX:%} |
//!
//! A changing load needs one of these in addition:
//!
//! - **slower for a while**: at equal load, the request was faster at other times
//! - **a drift**: {changing_load::PAIRS_MIN} instants of the first third were faster than instants of equal load in the last third
//! - **a step** at a load that was never reached before, while throughput still follows the load
//!
//! High confidence needs a factor of {SURE_FACTOR_MIN}, p ≤ {SURE_P_VALUE_MAX}, {SURE_LAG_FACTOR_MIN} times the generator's lag and, for a drift,
//! {SURE_DRIFT_MIN_S} s. The evidence names the phase with {PHASE_PART_MIN:%} of the added time.
//!
//! If a process began to use {CORES_RISEN_MIN} cores more up to {EARLIER_MAX_S} s before, the claim has that instant: it is nearer to the cause.
//!
//! If sessions of a database wait for locks from the instant of the change on ({LOCKED_SESSIONS_MIN} on average or more), and hardly did before, the claim
//! names the statement and the session that holds the lock.
//!
//! If a part of the requests takes a fixed time longer, or a multiple of it, the claim has that time ({fixed_pause::SHARE_MIN:%} of the slow ones, within
//! {fixed_pause::WITHIN_PART:%}). Queues and locks add times that scatter, and a pause before a repeated call does not.
//!
//! While the load only rises, a drift looks like the load response, and the rule reports nothing. A slow start is a warm-up, which the remark reports. Near
//! its limit, a queue grows and shrinks by itself (Kingman 1962); the finding then lists that alternative.

use loadstone_metrics::{LeafSlice, MarkKind, Role, SeriesKind, SeriesSlice};
use loadstone_units::number;

use crate::Evidence;
use crate::evidence::added_time;
use crate::evidence::changed_series::{drawn, span};
use crate::evidence::fixed_pause::FixedPause;
use crate::facts::Facts;
use crate::facts::changes::{Change, LoadMeanwhile, Shape};
use crate::facts::load_response::SLOWER_FACTOR_MIN;
use crate::facts::readings::SignalReadings;
use crate::facts::sessions;
use crate::facts::signal_moves::{self, SignalMove};
use crate::facts::signal_steps;
use crate::facts::timeline::TimelineOf;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, QuantityUnit, Subject};
use crate::instant::{clock, named};
use crate::remark::load_shape::{self, WantedLoad};
use crate::{Confidence, Grade, ResourceKind};

/// Findings that are reported, and signals that each of them names.
const FINDINGS_MAX: usize = 3;
const SIGNALS_MAX: usize = 3;
/// Seconds between instants that count as the same.
const SAME_INSTANT_MAX_S: f64 = 3.0;
/// Factor and p-value of a change with high confidence.
const SURE_FACTOR_MIN: f64 = 1.5;
const SURE_P_VALUE_MAX: f64 = 1e-3;
/// Length of a drift with high confidence. In a shorter time a level may move one way by itself: neighbouring seconds resemble each other, and so few of them
/// do not show by how much. Seconds.
const SURE_DRIFT_MIN_S: f64 = 30.0;
/// Size of a change that is reported, and of one that rules out the generator, as a multiple of the generator's p99 of lag.
const LAG_FACTOR_MIN: f64 = 3.0;
const SURE_LAG_FACTOR_MIN: f64 = 10.0;
/// Up to this multiple of its mean, a wait may be that of a queue near its limit: it has an exponential distribution there (Kingman 1962), which exceeds the
/// multiple in one of 150 cases.
const QUEUE_WAIT_FACTOR_MAX: f64 = 5.0;
/// Part of the arrivals that does not end, from which a backlog grows.
const BACKLOG_PART_MIN: f64 = 0.04;
/// Difference between the time that a scenario and a request gain, as a part of the latter, up to which both show the same change.
const SAME_CHANGE_DIFFERENCE_MAX: f64 = 0.1;
/// Seconds before a change in which the use of cores may have risen for the same reason, and by how many cores.
const EARLIER_MAX_S: f64 = 15.0;
const CORES_RISEN_MIN: f64 = 0.3;
/// Sessions that wait for locks after a change, mean, for the claim to name what they wait for.
const LOCKED_SESSIONS_MIN: f64 = 0.25;
/// Part of the added time that a phase must hold to be named.
const PHASE_PART_MIN: f64 = 0.6;

pub(super) const RULE: Rule = Rule {
    ids: &["change"],
    page: "change",
    title: "Times changed",
    says: "times changed while the load was constant, or by more than the load explains",
    example: Example { run: "examples/change", claim: "\"Buy\" went from 8.15 ms to 2.01 s at 0:12 while the load was constant (8/s)" },
    needs: &[],
    settings: &[],
    precedence: 20,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    let is_reported = |change: &&Change| {
        let is_of_other = is_of_failures(facts, change) || is_of_backlog(facts, change) || is_of_queue(facts, change);
        !is_of_other && is_beyond_lag(facts, change, LAG_FACTOR_MIN)
    };
    let mut left: Vec<&Change> = facts.changes.found.iter().filter(is_reported).collect();
    let mut found = Vec::new();
    while found.len() < FINDINGS_MAX && !left.is_empty() {
        // Groups, scenarios and journeys change with the requests in them.
        let lead = left.iter().position(|change| change.of.kind() == Some(SeriesKind::Request)).unwrap_or(0);
        let lead = left.remove(lead);
        let (with, others): (Vec<&Change>, Vec<&Change>) = left.into_iter().partition(|other| are_together(lead, other));
        left = others;
        found.push(finding(facts, lead, &with));
    }
    found
}

fn are_together(a: &Change, b: &Change) -> bool {
    let both_drift = a.shape == Shape::Drift && b.shape == Shape::Drift;
    a.is_slower() == b.is_slower() && (both_drift || (a.at - b.at).abs() <= SAME_INSTANT_MAX_S + a.at_error + b.at_error)
}

/// Whether failures began at the same instant. Their finding then includes the change.
fn is_of_failures(facts: &Facts<'_>, change: &Change) -> bool {
    let onsets = facts.failing.iter().filter_map(|failing| failing.when.onset());
    onsets.into_iter().any(|at| (at - change.at).abs() <= SAME_INSTANT_MAX_S + change.at_error)
}

/// Whether journeys take longer because they queue. Other rules report what holds up the queue.
fn is_of_backlog(facts: &Facts<'_>, change: &Change) -> bool {
    let TimelineOf::Flow(name) = &change.of else { return false };
    facts.waiting.iter().any(|waiting| waiting.flow.as_ref() == Some(name) && waiting.from < change.to && change.from < waiting.to)
}

/// Whether requests of a constant load wait for each other all the time. The queue of users grows and shrinks by itself, as they happen to be between
/// requests, and that of arrivals only grows.
fn is_of_queue(facts: &Facts<'_>, change: &Change) -> bool {
    let Some(load) = facts.constant_load.as_ref().filter(|load| load.queue().is_some()) else { return false };
    // A queue that grows by chance for a while looks like a step.
    let is_step_of_queue = || change.shape == Shape::Step && load.users.is_none() && load.waited_at(change.of.name(), change.before.median);
    change.shape == Shape::Drift || is_step_of_queue()
}

/// The request, flow or other series that changed, and the requests that changed with it.
fn subject(change: &Change, with: &[&str]) -> Subject {
    let name = change.of.name();
    match (&change.of, change.of.kind()) {
        (TimelineOf::Flow(_), _) => Subject::flow(name),
        (_, Some(SeriesKind::Group)) => Subject::Group { name: name.to_owned() },
        (_, Some(SeriesKind::Iteration)) => Subject::Scenario { name: name.to_owned() },
        _ => Subject::requests(std::iter::once(name).chain(with.iter().copied())),
    }
}

fn finding(facts: &Facts<'_>, change: &Change, with: &[&Change]) -> RankedFinding {
    let requests: Vec<&Change> = with.iter().copied().filter(|other| other.of.kind() == Some(SeriesKind::Request)).collect();
    let names: Vec<&str> = requests.iter().map(|other| other.of.name()).collect();
    let with_it = if names.is_empty() { String::new() } else { format!(", and {} with it,", named(&names)) };
    let what_changed = what(change);
    let all: Vec<&Change> = std::iter::once(change).chain(requests.iter().copied()).collect();
    let added_time = if change.is_slower() && change.shape == Shape::Step { added_time::find(facts, &all) } else { None };
    let locks = if added_time.is_none() { locked_since(facts, change) } else { None };
    let has_backlog = change.shape == Shape::Drift && change.is_slower() && backlog_grows(facts, change, (change.from, change.to));
    let passed = if has_backlog { passed_of_more(facts, change) } else { None };
    let pause = if locks.is_none() && change.is_slower() { FixedPause::after(facts.run, change) } else { None };
    let shown = added_time.as_ref().map(|added| added.claim.clone()).or_else(|| locks.as_ref().map(|locks| locks.text.clone()));
    let shown = shown.or_else(|| pause.map(FixedPause::claim));
    let where_to = match (shown, passed) {
        (Some(shown), _) => format!(": {shown}"),
        (None, Some(rate)) => format!(": {} end, and the backlog grows", loadstone_units::rate(rate)),
        (None, None) => String::new(),
    };
    let earlier = earlier_step(facts, change);
    let where_to = match &earlier {
        Some((sentence, _)) if where_to.is_empty() => format!(": {sentence}"),
        Some((sentence, _)) => format!("{where_to}; {sentence}"),
        None => where_to,
    };
    let claim = format!("{what_changed}{with_it}{}{where_to}", under_load(facts, change, !with_it.is_empty()));
    let standing = match (change.is_slower(), has_backlog) {
        (true, false) if !facts.began_with_retry_storm(change.at) => Standing::Symptom,
        (true, _) => Standing::Consequence,
        (false, _) => Standing::Passing,
    };
    let dwarfs = is_beyond_lag(facts, change, SURE_LAG_FACTOR_MIN);
    let is_long = change.shape != Shape::Drift || change.to - change.from >= SURE_DRIFT_MIN_S;
    let is_sure = change.factor() >= SURE_FACTOR_MIN && change.p_value <= SURE_P_VALUE_MAX && dwarfs && is_long;
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let found = RankedFinding::new(standing, "change", subject(change, &names), confidence, claim);
    let found = quantities(facts, change, passed).into_iter().fold(found, RankedFinding::with);
    let mut found = with_others(found.rests_on_drawn(drawn(change, numbers(change))), with, &all);
    if let Some((sentence, series)) = earlier {
        found = found.rests_on(sentence, vec![series], (change.from, change.until.unwrap_or(change.to)));
    }
    let mut what_to_do = None;
    if let Some(added) = added_time {
        found = found.rests_on(added.evidence, added.series, span(change));
        what_to_do = added.next;
    }
    if let Some(locks) = locks {
        what_to_do = Some(format!("Find out what that session does from {} on, and why it holds its locks for so long.", clock(change.at)));
        found = found.rests_on_drawn(locks);
    }
    if let Some(pause) = pause {
        what_to_do = Some(pause.next());
        found = found.with(Quantity::seconds("pause", pause.pause_s)).rests_on_drawn(drawn(change, pause.text()));
    }
    if let Some(phase) = phase(facts, change) {
        found = found.rests_on_drawn(Evidence::new(phase, vec!["phases/wait".to_owned()], span(change)).of_requests([change.of.name()]));
    }
    found = with_context(facts, change, found);
    if has_backlog {
        found = found.rests_on("meanwhile more iterations started than ended, so a backlog grew".to_owned(), Vec::new(), span(change));
    }
    found = found.weigh(load_alternative(facts, change)).weigh(generator_alternative(facts, change, dwarfs));
    let found = queue_alternative(facts, change).into_iter().fold(found, RankedFinding::weigh);
    let moved = !moves(facts, change).iter().any(SignalMove::has_moved);
    let what_to_do = what_to_do.or_else(|| passed.map(|rate| lower_load_advice(facts, rate)));
    let found = found.try_next(what_to_do.unwrap_or_else(|| next(change, moved)));
    let uncertainty =
        if dwarfs && facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    RankedFinding { uncertainty, ..found }
}

/// Adds what else changed. A scenario changes with its request, and often has the same name.
fn with_others(found: RankedFinding, with: &[&Change], requests: &[&Change]) -> RankedFinding {
    let added = |of: &Change| of.after.mean - of.before.mean;
    let is_echo = |other: &Change| {
        let is_like = |request: &&Change| (added(other) - added(request)).abs() <= SAME_CHANGE_DIFFERENCE_MAX * added(request).abs();
        other.of.kind().is_some_and(|kind| kind != SeriesKind::Request) && requests.iter().any(is_like)
    };
    let others = with.iter().filter(|other| !is_echo(other));
    others.fold(found, |found, other| found.rests_on_drawn(drawn(other, format!("{}: {}", what(other), numbers(other)))))
}

/// Sessions that wait for locks from the instant of a change on, and hardly did before: as a sentence with its series.
fn locked_since(facts: &Facts<'_>, change: &Change) -> Option<Evidence> {
    let span = (change.at + change.at_error, change.until.unwrap_or(change.to));
    facts.signals.parts_with(Role::SessionsWaitingForLock).find_map(|part| {
        let waiting = SignalReadings::sum(&facts.signals.read_each(part, Role::SessionsWaitingForLock))?;
        let since = sessions::waiting_since(&facts.signals, &waiting, change).filter(|since| *since >= LOCKED_SESSIONS_MIN)?;
        let blocked = sessions::most_blocked(&facts.signals, part, &[span])?;
        let text = format!("{} sessions of its database wait for a lock from then on, most in {}", number(since), blocked.phrase());
        Some(Evidence::new(text, vec![blocked.readings.name()], span))
    })
}

/// What a process or database began to do shortly before the times changed, as a sentence and its series. Times of few requests show a cause late, and the use
/// of a resource at once.
fn earlier_step(facts: &Facts<'_>, change: &Change) -> Option<(String, String)> {
    if change.shape != Shape::Step || !change.is_slower() {
        return None;
    }
    let used = facts.path.of_kind(ResourceKind::Process).filter_map(|process| {
        let used = process.used.as_ref()?;
        let step = signal_steps::find(used, (change.from, change.until.unwrap_or(change.to)))?;
        let is_shortly_before = step.at + SAME_INSTANT_MAX_S < change.at - change.at_error && step.at + EARLIER_MAX_S >= change.at;
        (step.after >= step.before + CORES_RISEN_MIN && is_shortly_before).then(|| {
            let (process, when) = (process.part.observer, clock(step.at));
            let sentence = format!("\"{process}\" used {} instead of {} cores from {when} on", number(step.after), number(step.before));
            (step.after - step.before, sentence, used.name())
        })
    });
    used.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, sentence, series)| (sentence, series))
}

fn what(change: &Change) -> String {
    let name = change.of.name();
    let (before, after) = (loadstone_units::seconds(change.before.median), loadstone_units::seconds(change.after.median));
    let when = match change.until {
        Some(until) => format!("from {} to {}", clock(change.at), clock(until)),
        None => format!("at {}", clock(change.at)),
    };
    match (change.shape, change.until) {
        (Shape::Step, None) if !change.is_slower() => {
            format!("\"{name}\" was slower until {} ({before} instead of {after})", clock(change.at))
        }
        (Shape::Step, None) => format!("\"{name}\" went from {before} to {after} {when}"),
        (Shape::Step, Some(_)) => format!("\"{name}\" took {after} instead of {before} {when}"),
        (Shape::Drift, _) => {
            let verb = if change.is_slower() { "grew" } else { "fell" };
            let (from, to) = drift_instants(change);
            format!("\"{name}\" {verb} steadily from {before} to {after} between {} and {}", clock(from), clock(to))
        }
        (Shape::Part { from_s, before, after, typical_s }, until) => {
            let since = if until.is_some() { when } else { format!("from {} on", clock(change.at)) };
            format!(
                "{} of \"{name}\" took {} or longer {since} (about {}), {} before",
                loadstone_units::share(after),
                loadstone_units::seconds(from_s),
                loadstone_units::seconds(typical_s),
                loadstone_units::share(before)
            )
        }
    }
}

/// The numbers of the claim.
fn quantities(facts: &Facts<'_>, change: &Change, passed: Option<f64>) -> Vec<Quantity> {
    let mut quantities = match change.shape {
        Shape::Step | Shape::Drift => {
            vec![Quantity::seconds("before", change.before.median), Quantity::seconds("after", change.after.median)]
        }
        Shape::Part { from_s, before, after, typical_s } => vec![
            Quantity::share("slow_share_before", before),
            Quantity::share("slow_share_after", after),
            Quantity::seconds("slow_from", from_s),
            Quantity::seconds("slow_typical", typical_s),
        ],
    };
    let (at, until) = match change.shape {
        Shape::Drift => {
            let (from, to) = drift_instants(change);
            (from, Some(to))
        }
        _ => (change.at, change.until),
    };
    quantities.push(Quantity::seconds("at", at));
    quantities.extend(until.map(|until| Quantity::seconds("until", until)));
    quantities.extend(passed.map(|rate| Quantity::rate("throughput", rate)));
    let load = |name, value| if is_open(facts) { Quantity::rate(name, value) } else { Quantity::count(name, value) };
    quantities.extend(match change.load {
        LoadMeanwhile::Same => vec![same_load(facts, change)],
        LoadMeanwhile::Compared { from, to } => vec![load("load_min", from), load("load_max", to)],
        LoadMeanwhile::Reached { load: reached } => vec![load("load", reached)],
    });
    quantities
}

/// The instants at which a drift had the times of the claim. Under constant load these are the medians of its first quarter and its last, which a steady growth
/// has in their middle.
fn drift_instants(change: &Change) -> (f64, f64) {
    let eighth = if matches!(change.load, LoadMeanwhile::Same) { (change.to - change.from) / 8.0 } else { 0.0 };
    (change.from + eighth, change.to - eighth)
}

fn numbers(change: &Change) -> String {
    let (before, after) = (change.before, change.after);
    let when = if matches!(change.load, LoadMeanwhile::Compared { .. }) {
        "at loads as high and as low, and meanwhile".to_owned()
    } else if change.shape == Shape::Drift {
        "in the first quarter and the last".to_owned()
    } else if change.at_error > 0.0 {
        format!("before and after {} ± {}", clock(change.at), loadstone_units::seconds(change.at_error))
    } else {
        format!("before and after {}", clock(change.at))
    };
    format!(
        "p50 {} → {}, mean {} → {}, of {} and {} samples {when}",
        loadstone_units::seconds(before.median),
        loadstone_units::seconds(after.median),
        loadstone_units::seconds(before.mean),
        loadstone_units::seconds(after.mean),
        loadstone_units::count(before.count),
        loadstone_units::count(after.count)
    )
}

/// The load meanwhile, as the end of the claim.
fn under_load(facts: &Facts<'_>, change: &Change, ends_in_comma: bool) -> String {
    let comma = if ends_in_comma { "" } else { "," };
    match change.load {
        // The share before the change is an insertion, which a comma ends.
        LoadMeanwhile::Same if matches!(change.shape, Shape::Part { .. }) => {
            format!("{comma} while the load was constant ({})", load(facts, change))
        }
        LoadMeanwhile::Same => format!(" while the load was constant ({})", load(facts, change)),
        LoadMeanwhile::Compared { from, to } if change.shape == Shape::Drift => {
            format!("{comma} at equal loads ({})", loads(facts, from, to))
        }
        LoadMeanwhile::Compared { from, to } => format!("{comma} more than the load explains ({})", loads(facts, from, to)),
        LoadMeanwhile::Reached { load } => format!("{comma} all at once, while the load rose past {}", loads(facts, load, load)),
    }
}

/// The load, as another cause.
fn load_alternative(facts: &Facts<'_>, change: &Change) -> Alternative {
    match change.load {
        LoadMeanwhile::Same => Alternative::ruled_out("The load", format!("it was constant at {}", load(facts, change))),
        LoadMeanwhile::Compared { .. } => {
            Alternative::ruled_out("The load", "it was as high and as low at other times, when requests were faster")
        }
        LoadMeanwhile::Reached { load } => Alternative::not_ruled_out(
            format!("Something that begins at {}, such as a rate limit that delays", loads(facts, load, load)),
            "the load had not been as high before. It is not a queue, which would continue to grow",
        ),
    }
}

/// A queue, as another cause, where the load changed meanwhile and high load makes requests wait as long. Near its limit, a queue grows and shrinks by itself.
fn queue_alternative(facts: &Facts<'_>, change: &Change) -> Option<Alternative> {
    let TimelineOf::Series(key) = &change.of else { return None };
    let is_possible = matches!(change.load, LoadMeanwhile::Compared { .. }) && change.shape == Shape::Step && change.is_slower();
    let response = facts.responses.iter().find(|response| *response.name == *key.name).filter(|_| is_possible)?;
    let (low, high) = response.low_and_high_outside(span(change))?;
    let may_queue = high >= SLOWER_FACTOR_MIN * low && change.after.mean <= QUEUE_WAIT_FACTOR_MAX * high;
    may_queue.then(|| {
        let because = format!(
            "its times grow with the load, from {} to {} on average",
            loadstone_units::seconds(low),
            loadstone_units::seconds(high)
        );
        Alternative::not_ruled_out("A queue near its limit, which grows and shrinks by itself", because)
    })
}

/// The load generator, as another cause.
fn generator_alternative(facts: &Facts<'_>, change: &Change, dwarfs: bool) -> Alternative {
    let late = loadstone_units::seconds(lag(facts));
    let by = loadstone_units::seconds(moved_by(change));
    let source = facts.load_source().title();
    if dwarfs {
        Alternative::ruled_out(source, format!("it was at most {late} late in 99 % of requests, and the change is {by}"))
    } else {
        Alternative::not_ruled_out(source, format!("it was up to {late} late, and the change is {by}; see the validity checks"))
    }
}

/// Whether the load is arrivals, not users.
fn is_open(facts: &Facts<'_>) -> bool {
    facts.run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open())
}

/// Arrivals per second, or users.
fn loads(facts: &Facts<'_>, from: f64, to: f64) -> String {
    let one = |load: f64| if is_open(facts) { loadstone_units::rate(load) } else { loadstone_units::counted(load.round() as u64, "user") };
    if from.round() == to.round() { one(to) } else { format!("{} to {}", one(from), one(to)) }
}

fn load(facts: &Facts<'_>, change: &Change) -> String {
    let load = same_load(facts, change);
    match load.unit {
        QuantityUnit::PerSecond => loadstone_units::rate(load.value),
        _ => loadstone_units::counted(load.value as u64, "user"),
    }
}

/// Arrivals per second or users in the stretch, of the scenarios that send the request.
fn same_load(facts: &Facts<'_>, change: &Change) -> Quantity {
    let inside = facts.run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= change.from && slice.end as f64 / 1e9 <= change.to);
    let leaves: Vec<(u64, &LeafSlice)> = inside
        .flat_map(|slice| slice.leaves.iter().map(|leaf| (u64::from(slice.seconds()), leaf)))
        .filter(|(_, leaf)| is_source(facts, change, leaf))
        .collect();
    let length = (change.to - change.from).max(1.0);
    let arrivals: u64 = leaves.iter().map(|(_, leaf)| leaf.arrivals_due).sum();
    let active = |leaf: &LeafSlice| if arrivals > 0 { 0 } else { leaf.users_active };
    let users: u64 = leaves.iter().map(|(seconds, leaf)| seconds * leaf.users_asked.max(active(leaf))).sum();
    if arrivals > 0 { Quantity::rate("load", arrivals as f64 / length) } else { Quantity::count("load", (users as f64 / length).round()) }
}

/// Whether a part of the load sends the requests that changed, as far as that is known.
fn is_source(facts: &Facts<'_>, change: &Change, leaf: &LeafSlice) -> bool {
    let TimelineOf::Series(key) = &change.of else { return true };
    let (plan, parts) = (&facts.run.plan, facts.run.plan.load.leaves());
    let part = parts.get(leaf.leaf as usize).and_then(|part| plan.scenarios.get(part.scenario.0 as usize));
    part.is_none_or(|scenario| *scenario.name == *key.scenario)
}

/// Whether clearly fewer of the iterations with the changed request ended in a stretch than were due.
fn backlog_grows(facts: &Facts<'_>, change: &Change, (from, to): (f64, f64)) -> bool {
    let inside = facts.run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to);
    let (mut due, mut ended) = (0, 0);
    for leaf in inside.flat_map(|slice| &slice.leaves).filter(|leaf| is_source(facts, change, leaf)) {
        due += leaf.arrivals_due;
        ended += leaf.ended;
    }
    due > 0 && due.saturating_sub(ended) as f64 >= BACKLOG_PART_MIN * due as f64
}

/// How many requests of a name end per second where more are due from the beginning on. They are served no faster, so they wait longer and longer without any
/// change.
fn passed_of_more(facts: &Facts<'_>, change: &Change) -> Option<f64> {
    let TimelineOf::Series(key) = &change.of else { return None };
    let (from, to) = (change.from, change.to);
    let halves = [(from, from.midpoint(to)), (from.midpoint(to), to)];
    if change.load != LoadMeanwhile::Same
        || key.kind != SeriesKind::Request
        || !halves.into_iter().all(|half| backlog_grows(facts, change, half))
    {
        return None;
    }
    let inside = facts.run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to);
    let (ended, seconds) = inside.fold((0, 0), |(ended, seconds), slice| {
        let own = slice.series.iter().filter(|series| series.key == *key).map(|series| series.count).sum::<u64>();
        (ended + own, seconds + slice.seconds())
    });
    (ended > 0).then(|| ended as f64 / f64::from(seconds))
}

/// The advice where the load exceeds what is served.
fn lower_load_advice(facts: &Facts<'_>, rate: f64) -> String {
    format!(
        "The load exceeds what is served. Ramp the load from below {} to see how many requests are served at a time{}, and observe what they wait for.",
        loadstone_units::rate(rate),
        load_shape::line(facts, WantedLoad::Higher)
    )
}

/// Whether the change is at least this many times the generator's lag.
fn is_beyond_lag(facts: &Facts<'_>, change: &Change, times: f64) -> bool {
    moved_by(change) >= times * lag(facts)
}

/// The generator's p99 of lag: the larger one of sending and reading. Seconds.
fn lag(facts: &Facts<'_>) -> f64 {
    let read_lag = facts.tally.workers().iter().filter_map(|worker| worker.read_lag.quantile(0.99)).max().unwrap_or(0);
    let lag = facts.tally.together(SeriesKind::Request).and_then(|all| all.lag.quantile(0.99)).unwrap_or(0);
    lag.max(read_lag) as f64 / 1e9
}

/// The size of the change. Seconds.
fn moved_by(change: &Change) -> f64 {
    match change.shape {
        Shape::Part { typical_s, .. } => typical_s,
        Shape::Step | Shape::Drift => (change.after.median - change.before.median).abs(),
    }
}

/// The phase that holds most of the added time.
fn phase(facts: &Facts<'_>, change: &Change) -> Option<String> {
    let TimelineOf::Series(key) = &change.of else { return None };
    let mean = |from: f64, to: f64, outside: bool| {
        let mut sums = [0.0_f64; 6];
        let mut count = 0;
        for slice in &facts.run.slices {
            let (start, end) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
            let inside = start >= from && end <= to;
            if inside == outside || start < change.from || end > change.to {
                continue;
            }
            for series in slice.series.iter().filter(|series: &&SeriesSlice| series.key == *key) {
                count += series.count;
                series.phases.all().iter().zip(&mut sums).for_each(|((_, times), sum)| *sum += times.sum() as f64 / 1e9);
            }
        }
        (count > 0).then(|| sums.map(|sum| sum / count as f64))
    };
    let (from, to) = span(change);
    let (before, after) = (mean(from, to, true)?, mean(from, to, false)?);
    let added = change.after.mean - change.before.mean;
    let words =
        ["the wait for a connection", "resolving the name", "connecting", "the TLS handshake", "waiting for the first byte", "the body"];
    let most = (0..words.len())
        .max_by(|a, b| ((after[*a] - before[*a]) * added.signum()).total_cmp(&((after[*b] - before[*b]) * added.signum())))?;
    let by = after[most] - before[most];
    (by / added >= PHASE_PART_MIN).then(|| {
        format!(
            "{} went from {} to {} per request on average",
            words[most],
            loadstone_units::seconds(before[most]),
            loadstone_units::seconds(after[most])
        )
    })
}

fn moves<'a>(facts: &'a Facts<'_>, change: &Change) -> Vec<SignalMove<'a>> {
    signal_moves::around(&facts.run.signals, change.at, change.from, change.until.unwrap_or(change.to))
}

/// Adds what else changed at that instant, and what did not.
fn with_context(facts: &Facts<'_>, change: &Change, mut found: RankedFinding) -> RankedFinding {
    let stable: Vec<&str> = facts.changes.stable_around(change).map(|stable| stable.of.name()).collect();
    if !stable.is_empty() && change.load == LoadMeanwhile::Same {
        found = found.rests_on(format!("the times of {} remained stable", named(&stable)), Vec::new(), span(change));
    }
    for slice in &facts.run.slices {
        let near = slice.marks.iter().filter(|mark| (mark.at as f64 / 1e9 - change.at).abs() <= SAME_INSTANT_MAX_S);
        for mark in near.filter(|mark| matches!(mark.kind, MarkKind::Adjusted | MarkKind::Warning)) {
            found = found.rests_on(format!("at {}: {}", clock(mark.at as f64 / 1e9), mark.text), Vec::new(), span(change));
        }
    }
    if change.shape == Shape::Drift {
        return found;
    }
    let moves = moves(facts, change);
    for moved in moves.iter().filter(|moved| moved.has_moved()).take(SIGNALS_MAX) {
        found = found.rests_on(format!("{} at the same time", moved.phrase()), vec![moved.signal.name.clone()], span(change));
    }
    let unmoved = moves.iter().filter(|moved| moved.has_remained() && !moved.has_moved() && signal_moves::is_of_resource(moved.signal));
    let unmoved: Vec<String> = unmoved.take(SIGNALS_MAX).map(SignalMove::phrase).collect();
    if !unmoved.is_empty() {
        found = found.rests_on(format!("unchanged: {}", unmoved.join("; ")), Vec::new(), span(change));
    }
    found
}

fn next(change: &Change, nothing_moved: bool) -> String {
    let when = clock(change.at);
    match (change.shape, change.is_slower()) {
        (Shape::Drift, true) => "Something grows during the run: a table without an index, a cache, a queue, memory. Compare what a \
             request does at the end with what it does at the beginning."
            .to_owned(),
        (_, false) => format!("Find out what slowed it down until {when}: a job, a lock, a cold cache."),
        (_, true) if nothing_moved => format!(
            "Find out what happened in the system at {when}: a deployment, a job, a lock, a dependency, an expired cache. No observed signal changed at \
             the same time, so observe what this request uses."
        ),
        (_, true) => format!("Find out what happened in the system at {when}. Start with the signals that changed at the same time."),
    }
}
