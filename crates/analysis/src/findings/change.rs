//! Times that changed while the load stayed the same, or by more than it explains: a step, a drift, or a part of the requests, from an instant on.
//!
//! *"Ingredients" went from 400 µs to 401 ms at 0:20 while the load stayed the same (30/s).*
//!
//! Looked at: each request, group, scenario and flow, in every stretch of 15 seconds or more in which every leaf of the load asked for the same, within 3
//! %; by its median, its p90 and its mean for each second (or longer, where a second has fewer than five samples). What a higher load had left behind,
//! and is worked off in such a stretch, is no change.
//!
//! - **Steps, and stretches that end again:** circular binary segmentation (Olshen, Venkatraman, Lucito & Wise 2004) on clipped values. Chance is what
//!   permutations give, with the scores taken down by the factor by which neighbouring seconds that resemble each other inflate the variance of sums. Few
//!   seconds have few orders, however far two levels lie apart: where one stretch lies wholly beyond the rest, both of five seconds or more, chance is at
//!   most e^−g for each stretch there is, with g the gap over the mean distance of logarithms from their own level (tails that fall exponentially, of a
//!   power law). The instant of a step to slower is when the first slow request began.
//! - **Drifts:** Theil–Sen and Mann–Kendall with the variance of Hamed and Rao (1998), where a line fits better than a step. Told are the medians of its
//!   first quarter and its last, and as instants the middles of these. One of less than half a minute has never high confidence: a level may wander that
//!   long. Where fewer end than are asked for in both halves, it says how many pass (*11.6/s end, and the rest piles up*): that is a limit; nothing need
//!   have changed.
//! - **A part of the requests:** where the median stays and the mean does not, the finding says which share takes how long, before and after.
//! - The chance of a false discovery in a run is held at 0.3 % over all that was looked at (Benjamini & Hochberg 1995).
//! - A change below 25 % or below a millisecond is none: machines waver by as much by themselves.
//!
//! **While the load changes**, times follow it, and only what it does not explain is told, at a false discovery rate of 0.5 %. Each request's median and
//! mean are held against its own load response, the monotone line through its times over the load (isotonic regression in least absolute deviations;
//! Barlow, Bartholomew, Bremner & Brunk 1972); what is left goes to the same tests.
//!
//! - **slower for a while, or from an instant on**: the load was as high and as low at other times, when it took a quarter less; as it began, it was not
//!   slow yet. For ten seconds a higher load may still be felt, and is not held against it; nor is a time in which a tenth of the requests failed, since
//!   the others met less load than was asked for. Says: *more than the load explains (18/s to 25/s)*; at most medium where, the changed time left out, it
//!   takes half as much again at high load as at low, and the change is no more than five times that: a queue near its limit grows and shrinks by itself,
//!   and its wait is distributed exponentially there (Kingman 1962)
//! - **a drift**: eight instants of the first third have one of equal load (10 %) in the last, and took less. Says: *at equal loads*
//! - **a step under a load that had never been as high**: at once (70 % of it within five points), level before and after, and in the end it adds no more
//!   than half as much again as at first; the load itself made no step, and throughput goes on following it, of users too (N users get N / (R + Z) done,
//!   Little 1961): no queue does that; not of fewer than ten users, of whom one more is a step. Says: *all at once, while the load rose past 20/s*; at
//!   most medium, as something that begins at that load is not ruled out
//!
//! Under a load that only rises, a drift and a load response are one and the same, and nothing is said.
//!
//! Where an observed database's sessions in one wait became as many more as the requests in the system (60 to 170 % of rate × added time, Little's law),
//! the claim says that the time is spent there.
//!
//! The finding says what changed with it, which requests kept their times, which phase holds the added time, and which signals moved at that instant (by
//! the distance of the medians before and after, over the interquartile range before) and which did not.
//!
//! Not a finding: a slow beginning of at most a third of the run and a minute. The remark calls it a warm-up, unless five users or more of closed load
//! began all at once. Journeys that queue are told by the rules about waiting.

use loadstone_metrics::{LeafSlice, MarkKind, SeriesKind, SeriesSlice};

use crate::evidence::added_time;
use crate::finding::Alternative;
use crate::remark::load_shape::{self, WantedLoad};
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::changes::{Change, LoadMeanwhile, Shape};
use crate::facts::load_response::SLOWER_FACTOR_MIN;
use crate::facts::signal_moves::{self, SignalMove};
use crate::facts::timeline::TimelineOf;
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Findings that are made, and signals that are named in each.
const FINDINGS_MAX: usize = 3;
const SIGNALS_MAX: usize = 3;
/// Seconds between instants that are taken for the same.
const TOGETHER_S: f64 = 3.0;
/// How many times as much makes a change sure.
const SURE: f64 = 1.5;
const SURE_P: f64 = 1e-3;
/// Seconds for which a level may wander one way by itself: neighbours resemble each other, and so few do not show by how much.
const WANDERS_S: f64 = 30.0;
/// How many times the generator's p99 of lag a change must be to be the target's at all, and to rule the generator out.
const BEYOND_LAG: f64 = 3.0;
const DWARFED: f64 = 10.0;
/// How many times its mean a wait near the limit may be for a while: it is distributed exponentially there (Kingman 1962), and exceeds that in one of 150
/// cases.
const WANDERS: f64 = 5.0;
/// Part of the arrivals that does not leave, from which work piles up.
const PILES_UP: f64 = 0.04;
/// How far what a scenario takes longer may be from what a request does, for the one to say no more than the other.
const ECHO: f64 = 0.1;
/// Part of the added time that a phase must hold to be named.
const PHASE_SHARE: f64 = 0.6;

pub(super) const RULE: Rule = Rule {
    ids: &["change"],
    title: "Times changed",
    says: "times changed while the load stayed the same, or by more than the load explains",
    needs: &[],
    settings: &[],
    precedence: 20,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    let is_told =
        |change: &&Change| !is_of_failures(facts, change) && !is_of_backlog(facts, change) && is_beyond_lag(facts, change, BEYOND_LAG);
    let mut left: Vec<&Change> = facts.changes.found.iter().filter(is_told).collect();
    let mut found = Vec::new();
    while found.len() < FINDINGS_MAX && !left.is_empty() {
        // Groups, scenarios and journeys change with the requests in them.
        let lead = left.iter().position(|change| change.of.kind() == Some(SeriesKind::Request)).unwrap_or(0);
        let lead = left.remove(lead);
        let (with, others): (Vec<&Change>, Vec<&Change>) = left.into_iter().partition(|other| are_together(lead, other));
        left = others;
        found.push(told(facts, lead, &with));
    }
    found
}

fn are_together(a: &Change, b: &Change) -> bool {
    let both_drift = a.shape == Shape::Drift && b.shape == Shape::Drift;
    a.is_slower() == b.is_slower() && (both_drift || (a.at - b.at).abs() <= TOGETHER_S + a.at_error + b.at_error)
}

/// Failures that begin at the same instant are the finding; they say how times changed with them.
pub(super) fn is_of_failures(facts: &Facts<'_>, change: &Change) -> bool {
    let onsets = facts.failing.iter().filter_map(|failing| failing.when.onset());
    onsets.into_iter().any(|at| (at - change.at).abs() <= TOGETHER_S + change.at_error)
}

/// Journeys that take longer because they queue: other rules say what holds the queue up.
fn is_of_backlog(facts: &Facts<'_>, change: &Change) -> bool {
    let TimelineOf::Flow(name) = &change.of else { return false };
    facts.waiting.iter().any(|waiting| waiting.flow.as_ref() == Some(name) && waiting.from < change.to && change.from < waiting.to)
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

fn told(facts: &Facts<'_>, change: &Change, with: &[&Change]) -> RankedFinding {
    let requests: Vec<&Change> = with.iter().copied().filter(|other| other.of.kind() == Some(SeriesKind::Request)).collect();
    let names: Vec<&str> = requests.iter().map(|other| other.of.name()).collect();
    let beside = if names.is_empty() { String::new() } else { format!(", and {} with it,", named(&names)) };
    let what_changed = what(change);
    let what_changed = if beside.is_empty() { what_changed.as_str() } else { what_changed.trim_end_matches(',') };
    let all: Vec<&Change> = std::iter::once(change).chain(requests.iter().copied()).collect();
    let added_time = if change.is_slower() && change.shape == Shape::Step { added_time::find(facts, &all) } else { None };
    let piles_up = change.shape == Shape::Drift && change.is_slower() && piles_up(facts, change, (change.from, change.to));
    let passed = if piles_up { passed_of_more(facts, change) } else { None };
    let where_to = match (&added_time, passed) {
        (Some(added), _) => format!(": {}", added.claim),
        (None, Some(rate)) => format!(": {} end, and the rest piles up", loadstone_units::rate(rate)),
        (None, None) => String::new(),
    };
    let claim = format!("{what_changed}{beside}{}{where_to}", under_load(facts, change, !beside.is_empty()));
    let standing = match (change.is_slower(), piles_up) {
        (true, false) => Standing::Symptom,
        (true, true) => Standing::Consequence,
        (false, _) => Standing::Passing,
    };
    let dwarfs = is_beyond_lag(facts, change, DWARFED);
    let is_long = change.shape != Shape::Drift || change.to - change.from >= WANDERS_S;
    let is_sure = change.factor() >= SURE && change.p_value <= SURE_P && dwarfs && is_long;
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let mut found =
        RankedFinding::new(standing, "change", subject(change, &names), confidence, claim).rests_on(numbers(change), columns(change), span(change));
    // A scenario changes as its request does, and often has its name.
    let added = |of: &Change| of.after.mean - of.before.mean;
    let is_echo = |other: &Change| {
        let is_like = |request: &&Change| (added(other) - added(request)).abs() <= ECHO * added(request).abs();
        other.of.kind().is_some_and(|kind| kind != SeriesKind::Request) && all.iter().any(is_like)
    };
    for other in with.iter().filter(|other| !is_echo(other)) {
        found = found.rests_on(format!("{}: {}", what(other).trim_end_matches(','), numbers(other)), columns(other), span(other));
    }
    let mut what_to_do = None;
    if let Some(added) = added_time {
        found = found.rests_on(added.evidence, added.series, span(change));
        what_to_do = added.next;
    }
    if let Some(phase) = phase(facts, change) {
        found = found.rests_on(phase, vec!["phases/wait".to_owned()], span(change));
    }
    found = beside_it(facts, change, found);
    if piles_up {
        found = found.rests_on("meanwhile more iterations started than ended: work piled up".to_owned(), Vec::new(), span(change));
    }
    found = found.weigh(by_load(facts, change)).weigh(by_generator(facts, change, dwarfs));
    let found = by_queue(facts, change).into_iter().fold(found, RankedFinding::weigh);
    let moved = !moves(facts, change).iter().any(SignalMove::has_moved);
    let what_to_do = what_to_do.or_else(|| passed.map(|rate| below(facts, rate)));
    let found = found.try_next(what_to_do.unwrap_or_else(|| next(change, moved)));
    let uncertainty = if dwarfs && facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    RankedFinding { uncertainty, ..found }
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
                "{} of \"{name}\" took {} or longer {since} (about {}), {} before,",
                loadstone_units::share(after),
                loadstone_units::seconds(from_s),
                loadstone_units::seconds(typical_s),
                loadstone_units::share(before)
            )
        }
    }
}

/// When a drift had the times that are told of it. Under equal load these are the medians of its first quarter and its last, which a steady growth has in
/// their middle.
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

fn columns(change: &Change) -> Vec<String> {
    match &change.of {
        TimelineOf::Flow(name) => vec![format!("flow/{name}/p50")],
        TimelineOf::Series(_) => vec!["response/p50".to_owned()],
    }
}

/// What the evidence rests on: the changed stretch.
fn span(change: &Change) -> (f64, f64) {
    (change.at, change.until.unwrap_or(change.to))
}

/// What the load did meanwhile, at the end of the claim.
fn under_load(facts: &Facts<'_>, change: &Change, ends_in_comma: bool) -> String {
    let comma = if ends_in_comma || matches!(change.shape, Shape::Part { .. }) { "" } else { "," };
    match change.load {
        LoadMeanwhile::Same => format!(" while the load stayed the same ({})", load(facts, change)),
        LoadMeanwhile::Compared { from, to } if change.shape == Shape::Drift => {
            format!("{comma} at equal loads ({})", loads(facts, from, to))
        }
        LoadMeanwhile::Compared { from, to } => format!("{comma} more than the load explains ({})", loads(facts, from, to)),
        LoadMeanwhile::Reached { load } => format!("{comma} all at once, while the load rose past {}", loads(facts, load, load)),
    }
}

/// The load, as another cause.
fn by_load(facts: &Facts<'_>, change: &Change) -> Alternative {
    match change.load {
        LoadMeanwhile::Same => Alternative::ruled_out("The load", format!("it stayed at {}", load(facts, change))),
        LoadMeanwhile::Compared { .. } => {
            Alternative::ruled_out("The load", "it was as high and as low at other times, when requests took less")
        }
        LoadMeanwhile::Reached { load } => Alternative::not_ruled_out(
            format!("Something that begins at {}, such as a limit that delays", loads(facts, load, load)),
            "the load had not been as high before. It is no queue: that would go on growing",
        ),
    }
}

/// A queue, as another cause, where the load changed meanwhile and high load makes requests wait as long: near its limit, one grows and shrinks by itself.
fn by_queue(facts: &Facts<'_>, change: &Change) -> Option<Alternative> {
    let TimelineOf::Series(key) = &change.of else { return None };
    let is_beside = matches!(change.load, LoadMeanwhile::Compared { .. }) && change.shape == Shape::Step && change.is_slower();
    let response = facts.responses.iter().find(|response| *response.name == *key.name).filter(|_| is_beside)?;
    let (low, high) = response.low_and_high_outside(span(change))?;
    let may_queue = high >= SLOWER_FACTOR_MIN * low && change.after.mean <= WANDERS * high;
    may_queue.then(|| {
        let since = format!(
            "its times grow with the load, from {} to {} on average",
            loadstone_units::seconds(low),
            loadstone_units::seconds(high)
        );
        Alternative::not_ruled_out("A queue near its limit, which grows and shrinks by itself", since)
    })
}

/// The load generator, as another cause.
fn by_generator(facts: &Facts<'_>, change: &Change, dwarfs: bool) -> Alternative {
    let late = loadstone_units::seconds(lag(facts));
    let by = loadstone_units::seconds(moved_by(change));
    if dwarfs {
        Alternative::ruled_out("The load generator", format!("it was late by {late} at most in 99 % of requests, and the change is {by}"))
    } else {
        Alternative::not_ruled_out(
            "The load generator",
            format!("it was late by up to {late}, and the change is {by}; see the validity checks"),
        )
    }
}

/// Arrivals per second, or users.
fn loads(facts: &Facts<'_>, from: f64, to: f64) -> String {
    let is_open = facts.run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open());
    let one = |load: f64| if is_open { loadstone_units::rate(load) } else { loadstone_units::counted(load.round() as u64, "user") };
    if from.round() == to.round() { one(to) } else { format!("{} to {}", one(from), one(to)) }
}

/// Arrivals per second or users of the stretch, of what makes the request.
fn load(facts: &Facts<'_>, change: &Change) -> String {
    let inside = facts.run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= change.from && slice.end as f64 / 1e9 <= change.to);
    let leaves: Vec<(u64, &LeafSlice)> = inside
        .flat_map(|slice| slice.leaves.iter().map(|leaf| (u64::from(slice.seconds()), leaf)))
        .filter(|(_, leaf)| makes_it(facts, change, leaf))
        .collect();
    let length = (change.to - change.from).max(1.0);
    let arrivals: u64 = leaves.iter().map(|(_, leaf)| leaf.arrivals_due).sum();
    let active = |leaf: &LeafSlice| if arrivals > 0 { 0 } else { leaf.users_active };
    let users: u64 = leaves.iter().map(|(seconds, leaf)| seconds * leaf.users_asked.max(active(leaf))).sum();
    if arrivals > 0 {
        loadstone_units::rate(arrivals as f64 / length)
    } else {
        loadstone_units::counted((users as f64 / length).round() as u64, "user")
    }
}

/// Whether a part of the load makes what changed, as far as that is known.
fn makes_it(facts: &Facts<'_>, change: &Change, leaf: &LeafSlice) -> bool {
    let TimelineOf::Series(key) = &change.of else { return true };
    let (plan, parts) = (&facts.run.plan, facts.run.plan.load.leaves());
    let part = parts.get(leaf.leaf as usize).and_then(|part| plan.scenarios.get(part.scenario.0 as usize));
    part.is_none_or(|scenario| *scenario.name == *key.scenario)
}

/// Whether clearly fewer of the iterations that make what changed ended in a stretch than came due.
fn piles_up(facts: &Facts<'_>, change: &Change, (from, to): (f64, f64)) -> bool {
    let inside = facts.run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to);
    let (mut due, mut ended) = (0, 0);
    for leaf in inside.flat_map(|slice| &slice.leaves).filter(|leaf| makes_it(facts, change, leaf)) {
        due += leaf.arrivals_due;
        ended += leaf.ended;
    }
    due > 0 && due.saturating_sub(ended) as f64 >= PILES_UP * due as f64
}

/// How many of a request end per second where more are asked for from the beginning on: it is served no faster, and nothing need have changed for it to
/// wait ever longer.
fn passed_of_more(facts: &Facts<'_>, change: &Change) -> Option<f64> {
    let TimelineOf::Series(key) = &change.of else { return None };
    let (from, to) = (change.from, change.to);
    let halves = [(from, from.midpoint(to)), (from.midpoint(to), to)];
    if change.load != LoadMeanwhile::Same
        || key.kind != SeriesKind::Request
        || !halves.into_iter().all(|half| piles_up(facts, change, half))
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

/// What to do where more comes than is served.
fn below(facts: &Facts<'_>, rate: f64) -> String {
    format!(
        "More is asked for than is served. Ramp the load from below {} to see how many are served at a time{}, and observe what the request waits for.",
        loadstone_units::rate(rate),
        load_shape::line(facts, WantedLoad::Higher)
    )
}

/// Whether the change is so many times as large as the generator was late.
fn is_beyond_lag(facts: &Facts<'_>, change: &Change, times: f64) -> bool {
    moved_by(change) >= times * lag(facts)
}

/// The generator's p99 of lag, whichever is larger, of sending or of reading. Seconds.
fn lag(facts: &Facts<'_>) -> f64 {
    let read_lag = facts.tally.workers().iter().filter_map(|worker| worker.read_lag.quantile(0.99)).max().unwrap_or(0);
    let lag = facts.tally.together(SeriesKind::Request).and_then(|all| all.lag.quantile(0.99)).unwrap_or(0);
    lag.max(read_lag) as f64 / 1e9
}

/// By how much those that changed did. Seconds.
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
    (by / added >= PHASE_SHARE).then(|| {
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

/// What else changed there, and what did not.
fn beside_it(facts: &Facts<'_>, change: &Change, mut found: RankedFinding) -> RankedFinding {
    let kept: Vec<&str> = facts.changes.stable_around(change).map(|kept| kept.of.name()).collect();
    if !kept.is_empty() && change.load == LoadMeanwhile::Same {
        found = found.rests_on(format!("{} kept the same times", named(&kept)), Vec::new(), span(change));
    }
    for slice in &facts.run.slices {
        let near = slice.marks.iter().filter(|mark| (mark.at as f64 / 1e9 - change.at).abs() <= TOGETHER_S);
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
    let still = moves.iter().filter(|moved| !moved.has_moved() && signal_moves::is_of_resource(moved.signal));
    let still: Vec<String> = still.take(SIGNALS_MAX).map(SignalMove::phrase).collect();
    if !still.is_empty() {
        found = found.rests_on(format!("not moved: {}", still.join("; ")), Vec::new(), span(change));
    }
    found
}

fn next(change: &Change, nothing_moved: bool) -> String {
    let when = clock(change.at);
    match (change.shape, change.is_slower()) {
        (Shape::Drift, true) => {
            "Something fills up or grows as the run goes on: a table without an index, a cache, a queue, memory. Compare what a \
             request does at the end with what it does at the beginning."
                .to_owned()
        }
        (_, false) => format!("Look for what held it up until {when}: a job, a lock, a cold cache."),
        (_, true) if nothing_moved => format!(
            "Look for what happened in the system at {when}: a deployment, a job, a lock, a dependency, a cache that ran out. None of the signals that \
             were read moved with it; observe what this request uses."
        ),
        (_, true) => format!("Look for what happened in the system at {when}; begin with what moved at the same time."),
    }
}
